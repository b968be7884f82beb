"""Cold starts: the time for `import regard` and `regard tag` relative to importing torch, in fresh processes."""

import os
import subprocess
import sys
import tempfile

from measuring import conditions, interleaved, save

COMMANDS = {
    "python -c 'import torch'": [sys.executable, "-c", "import torch"],
    "python -c 'import regard'": [sys.executable, "-c", "import regard"],
    "python -c 'from regard import attend'": [sys.executable, "-c", "from regard import attend"],
    "regard --help": [sys.executable, "-m", "regard", "--help"],
    "regard tag 'I saw a saw.'": [sys.executable, "-m", "regard", "tag", "I saw a saw."],
}


def main() -> None:
    # With bytecode, as in an installed package, even if the environment prevents Python from writing it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = folder

        def start(command):
            return lambda: subprocess.run(command, check=True, capture_output=True, env=environment)

        seconds = interleaved({name: start(command) for name, command in COMMANDS.items()}, rounds=15)
    torch = seconds["python -c 'import torch'"]
    rows = [(f"`{name}`", f"{time:.2f} s", f"{time / torch:.2f}") for name, time in seconds.items()]
    save("startup", ["command", "median of 15", "of importing torch"], rows, conditions("regard", "typer", "rich"))
    for row in rows:
        print(*row, sep="\t")


if __name__ == "__main__":
    main()
