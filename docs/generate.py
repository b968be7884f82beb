"""Write what is generated in the documents, in place: each block between `<!-- generated: NAME -->` and `<!-- end -->`.

    python docs/generate.py            write
    python docs/generate.py --check    say what is stale, and exit with 1 if anything is

NAME is `help: COMMAND` (a command's --help), `run: COMMAND` (a command's output), `parts` (the operator's parts)
or `benchmark: NAME` (a table from benchmarks/results/NAME.json).
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def run(command: str, **settings: str) -> str:
    """A command's output, 100 columns wide; as it looks piped, if the settings don't say otherwise."""
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"} | settings
    arguments = [sys.executable, "-m", "regard", *shlex.split(command)[1:]]
    ran = subprocess.run(arguments, capture_output=True, text=True, env=environment, cwd=ROOT)
    if ran.returncode:
        raise SystemExit(f"docs: `{command}` failed: {ran.stderr}")
    return "\n".join(line.rstrip() for line in ran.stdout.splitlines())


def shown(command: str) -> str:
    """A command and its output, as a terminal shows them."""
    return f"```text\n$ {command}\n{run(command)}\n```\n"


def parts() -> str:
    """What can be combined: every part by kind, with the first line of its documentation."""
    from regard import attention

    lines = ["| kind | name | what it computes |", "| --- | --- | --- |"]
    for kind, known in (
        ("score", attention.SCORES),
        ("weights", attention.WEIGHTS),
        ("mask", attention.MASKS),
        ("position in the operator", attention.POSITIONS),
        ("position on the inputs", attention.INPUT_POSITIONS),
    ):
        for name, part in known.items():
            summary = (part.__doc__ or "").strip().splitlines()[0]
            lines.append(f"| {kind} | `{name}` | {summary} |")
    return "\n".join(lines) + "\n"


def benchmark(name: str) -> str:
    """A benchmark's table, from the figures that its run left behind."""
    result = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    lines = [f"| {' | '.join(result['columns'])} |", "| " + " | ".join("---" for _ in result["columns"]) + " |"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in result["rows"]]
    return "\n".join(lines) + f"\n\n{result['conditions']}\n"


KINDS: dict[str, Callable[[str], str]] = {
    "help": lambda command: shown(f"{command} --help"),
    "run": shown,
    "parts": lambda _: parts(),
    "benchmark": benchmark,
}


def picture(command: str, columns: int) -> str:
    """A command's output in colour, as a vector picture that loads nothing from outside."""
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console
    from rich.text import Text

    output = run(f"{command} --color --width {columns}", NO_COLOR="", COLORTERM="truecolor", TERM="xterm-256color")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=columns, file=nowhere, color_system="truecolor")
        console.print(Text.from_ansi(output))
    # Rich's frame would fetch a font from the network.
    frame = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title=command, code_format=frame, unique_id="tag")


PICTURES = {"tag.svg": ('regard tag "I saw a saw ." --map', 64)}


def generated(text: str) -> str:
    """A document with every generated block written anew."""

    def write(match: re.Match[str]) -> str:
        kind, _, rest = match["name"].partition(":")
        return f"{match[1]}{KINDS[kind.strip()](rest.strip())}{match[4]}"

    return BLOCK.sub(write, text)


def same(old: str, new: str) -> bool:
    """Whether two texts say the same: words to the letter, numbers up to another machine's rounding."""
    if NUMBER.sub("#", old).split() != NUMBER.sub("#", new).split():
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(abs(float(one) - float(two)) <= 0.02 * max(1.0, abs(float(two))) for one, two in pairs)


def stale() -> Iterator[str]:
    """The documents whose generated blocks don't say what the project now says."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        if not same(text, generated(text)):
            yield str(path.relative_to(ROOT))
    for name, (command, columns) in PICTURES.items():
        path = ROOT / "docs" / "pictures" / name
        # The words in the picture; places and colours follow from the numbers.
        if not same(_words_of(path.read_text(encoding="utf-8")), _words_of(picture(command, columns))):
            yield str(path.relative_to(ROOT))


def _words_of(svg: str) -> str:
    return " ".join(re.findall(r">([^<]+)</text>", svg))


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        found = list(stale())
        for name in found:
            sys.stderr.write(f"{name} is stale: run `make docs`\n")
        return 1 if found else 0
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        new = generated(text)
        if new != text:
            path.write_text(new, encoding="utf-8")
    for name, (command, columns) in PICTURES.items():
        path = ROOT / "docs" / "pictures" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture(command, columns), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
