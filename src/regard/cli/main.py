"""The program `regard`: runs a command, and turns every failure into one sentence and an exit code.

No slow module is imported here or at the top of a command's file: `regard --help` must not wait for torch.
"""

import errno
import os
import re
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from regard.cli import data, train
from regard.cli.arguments.command import Command
from regard.cli.arguments.trusted import edits_trusted
from regard.cli.arguments.usage import as_typed, is_usage_error, usage_sentence
from regard.cli.check import check
from regard.cli.compare import compare
from regard.cli.evaluate import evaluate
from regard.cli.export import export
from regard.cli.jury import jury
from regard.cli.lab import lab
from regard.cli.models import models
from regard.cli.output.standard_output import discard_output
from regard.cli.predict import predict
from regard.cli.replace import replace
from regard.cli.say import say
from regard.cli.see import see
from regard.cli.serve import serve
from regard.cli.short_names import SHORT_NAMES, command_of
from regard.cli.steps import steps
from regard.cli.tag import tag
from regard.errors import (
    ArgumentError,
    DataError,
    GuessedColumns,
    GuessedEncoding,
    RecordWarning,
    RegardError,
    UnreliablePrediction,
    is_out_of_memory,
)
from regard.version import __version__

__all__ = ["app", "main"]

USAGE, FAILURE, INTERRUPTED = 2, 1, 130

_TOLD = (UnreliablePrediction, RecordWarning, GuessedColumns, GuessedEncoding)  # warnings that are shown as sentences
_MOST_SHOWN = 3  # warnings of one kind; further ones are only counted

app = typer.Typer(
    name="regard",
    add_completion=False,
    # Plain help, without boxes: readable at 40 columns and by screen readers, and faster to print.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# The list of commands cuts summaries after 50 characters.
app.command(cls=Command, short_help="Tag words, and show what each attended to.")(tag)
for _name, _short in SHORT_NAMES.items():
    app.command(_name, cls=Command, help=_short.help, short_help=_short.summary)(command_of(_name))
app.command("predict", cls=Command, short_help="Predict with any model, and show what it attended to.")(predict)
app.command(cls=Command, short_help="Speak texts, and write WAV files.")(say)
app.command("see", cls=Command, short_help="See what any model attends to, and what matters.")(see)
app.command(cls=Command, short_help="The live page of a model, to type into.")(serve)
app.command("steps", cls=Command, short_help="Follow attention number by number.")(steps)
app.command(cls=Command, short_help="Check a record against what its layers gave.")(check)
app.command(cls=Command, short_help="Judge any attention function by its laws.")(jury)
app.command(cls=Command, short_help="List the bundled models, or print a card.")(models)
app.add_typer(train.app, name="train", short_help="Train a model on your own data.")
app.command(cls=Command, short_help="Compare a model's predictions with known targets.")(evaluate)
app.command(cls=Command, short_help="Write a model as an ONNX file, to use elsewhere.")(export)
app.command("compare", cls=Command, short_help="Find the recipe that is best on your data.")(compare)
app.command("replace", cls=Command, short_help="Swap one part of a recipe, side by side.")(replace)
app.command(cls=Command, short_help="Questions on attention, answered by experiment.")(lab)
app.add_typer(data.app, name="data", short_help="List, get and check data sets.")


@app.callback(invoke_without_command=True)
def _regard(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from (works anywhere).")] = False,
    trust_edits: Annotated[
        bool, typer.Option("--trust-edits", help="Load a model whose model.json was edited (works anywhere).")
    ] = False,
) -> None:
    """Train small self-attention models, use them, and see what they attended to.

    \b
    Examples:
      regard tag "I saw a saw ."               tags, and what each word attended to
      regard tag "I saw a saw ." --map         the same with a heat map
      regard tag -f novel.txt --format json    a file, one sentence on a line
      regard train classifier --data sst2 --out sentiment
      regard predict sentiment "a warm film"   the prediction of your own model
      regard see english-pos "I saw a saw ."   what it attended to, and what mattered
      regard serve                             the same live, in a browser
      regard steps --exercise                  attention by hand, number by number
      regard lab                               questions on attention, answered by experiment
      regard jury sdpa                         whether an attention function is right
      regard models                            the models that come with regard
      regard tag --help                        more about one command
    """
    if version:
        typer.echo(f"regard {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        argv: the words after `regard`; by default, those of the process.

    Returns:
        the exit code: 0, or 2 for an invalid command line, 1 for another failure, 130 for Ctrl-C.

    Example:
        >>> main(["--version"])
        regard 0.1.0
        0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    # --debug and --trust-edits are accepted anywhere, because users append them to a command that failed.
    end = words.index("--") if "--" in words else len(words)
    debug, trusting = "--debug" in words[:end], "--trust-edits" in words[:end]
    words = [word for word in words[:end] if word not in ("--debug", "--trust-edits")] + words[end:]
    # `regard help` and `regard version` work, as in other programs.
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    elif words == ["version"]:
        words = ["--version"]
    _mend_streams()
    _forget_invalid_size()
    try:
        _check_working_folder()
        with edits_trusted(trusting):
            code = _invoke(words)
        sys.stdout.flush()
    except SystemExit as error:
        # typer and rich exit like this for a broken pipe.
        code = error.code if isinstance(error.code, int) else FAILURE
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        else:
            _print_message(_sentence(error, words))
        code = _exit_code(error)
        if isinstance(error, OSError):
            _give_up_output()
    if code == INTERRUPTED:
        _print_message("interrupted")
    return code


def _invoke(words: list[str]) -> int:
    with warnings.catch_warnings():
        for kind in _TOLD:
            warnings.simplefilter("default", kind)
        show_as_python = warnings.showwarning
        counts: Counter[type[Warning]] = Counter()

        def show_warning(message: Any, category: type[Warning], *where: Any) -> None:
            if not issubclass(category, _TOLD):
                show_as_python(message, category, *where)
                return
            counts[category] += 1
            # A file in another language would give a warning for each line.
            if counts[category] <= _MOST_SHOWN:
                _print_message(str(message))

        warnings.showwarning = show_warning
        # Not standalone: errors are raised as exceptions, and typer's Exit returns its code.
        try:
            code = app(words, prog_name="regard", standalone_mode=False)
        finally:
            if not_shown := sum(max(0, count - _MOST_SHOWN) for count in counts.values()):
                _print_message(f"and {not_shown:,} more warnings of this kind.")
    return code if isinstance(code, int) else 0


def _check_working_folder() -> None:
    """Check that the working folder exists. Without it, libraries end the process with messages of their own.

    Raises:
        DataError: it was deleted.
    """
    try:
        os.getcwd()
    except OSError as error:
        raise DataError(f"the working folder can't be used ({error.strerror}). Change to one that is there.") from error


def _sentence(error: Exception, words: Sequence[str]) -> str:
    """The error message, in one line."""
    if is_usage_error(error):
        return usage_sentence(error, words)
    if isinstance(error, ArgumentError):
        return as_typed(str(error), typer.main.get_command(app), words)
    if isinstance(error, RegardError):
        return str(error)
    if isinstance(error, BrokenPipeError):
        return ""
    if isinstance(error, OSError):
        reason = error.strerror or str(error) or type(error).__name__
        return f"{error.filename}: {reason}." if error.filename is not None else f"{reason}."
    if is_out_of_memory(error):
        return "there isn't enough memory for this."
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return "the name of a file or folder can't have a zero byte. Name another."
    if isinstance(error, UnicodeEncodeError) and error.encoding == "utf-8":
        return f"what is written must be UTF-8, but {error.object[error.start :]!r:.60} isn't. Rename it."
    lines = str(error).strip().splitlines()
    reason = f": {lines[0]}" if lines else ""
    return f"{type(error).__name__}{reason}. This is an error in regard; add --debug to see where."


def _exit_code(error: Exception) -> int:
    return USAGE if isinstance(error, ArgumentError) or is_usage_error(error) else FAILURE


def _print_message(sentence: str) -> None:
    from regard.page.visible import visible  # imports rich, which a successful command may not need

    if sentence:
        # Messages contain names of files and words of data, which must not control the terminal.
        typer.echo(f"regard: {visible(sentence)}", err=True)


def _mend_streams() -> None:
    """Replace closed streams by /dev/null, and escape characters that the encoding of a terminal lacks."""
    # A closed stream is None in Python. /dev/null takes its file descriptor, so that no model file gets it.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            with suppress(ValueError, OSError):
                reconfigure(errors="backslashreplace")


def _forget_invalid_size() -> None:
    """Forget an invalid size of the terminal. A shell that doesn't know it sets 0, and rich would print nothing."""
    for name in ("COLUMNS", "LINES"):
        if (size := os.environ.get(name)) is not None and not re.fullmatch("[1-9][0-9]{0,3}", size):
            del os.environ[name]


def _give_up_output() -> None:
    """Discard the buffer of a standard output that can't be written."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if error.errno in (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF):
            discard_output()
