"""The console entry, and `python -m regard`: it imports next to nothing, so that Ctrl-C is heard from the start."""

import sys

__all__ = ["run"]


def run() -> None:
    """Run the command line of this process.

    Raises:
        SystemExit: always, with the exit code.
    """
    try:
        # Here and not above: Ctrl-C while this is imported must end in a word, not in a traceback.
        from regard.cli.main import main

        code = main()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("regard: interrupted\n")
        code = 130
    raise SystemExit(code)


if __name__ == "__main__":
    run()
