"""`python -m regard`: the command line, where the script isn't on the path."""

from regard.cli.main import run

if __name__ == "__main__":
    run()
