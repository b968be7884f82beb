"""The console entry point, also for `python -m regard`. It imports little, so that Ctrl-C works from the start."""

import sys

__all__ = ["run"]


def run() -> None:
    """Run the command line with the arguments of this process.

    Raises:
        SystemExit: always, with the exit code.
    """
    try:
        # Imported here, so that Ctrl-C during the import ends in a message, not in a traceback.
        from regard.cli.main import main

        code = main()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("regard: interrupted\n")
        code = 130
    raise SystemExit(code)


if __name__ == "__main__":
    run()
