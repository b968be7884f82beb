"""`regard classify`, `translate` and `transcribe`: short names for `regard predict` with a bundled model."""

import os.path
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer

from regard.cli.answering.model_checks import load_of_kind, model_by_language
from regard.cli.arguments.command import command_with
from regard.cli.predict import Wanted, answer_all
from regard.errors import ArgumentError

__all__ = ["SHORT_NAMES", "ShortName", "command_of"]


class ShortName(NamedTuple):
    """A command that uses a bundled model.

    Args:
        kind: the kind of the model.
        models: the default model, and the model for texts with a Chinese character.
        summary: the summary in the list of commands, up to 50 characters.
        help: the help of the command.
        reads_texts: whether its sources are texts, which may be Chinese.
    """

    kind: str
    models: tuple[str, str]
    summary: str
    help: str
    reads_texts: bool = True


SHORT_NAMES = {
    "classify": ShortName(
        "classifier",
        ("english-sentiment", "chinese-sentiment"),
        "Say whether a text is in favour or against.",
        """Say whether a text is in favour or against, and show which words the model attended to.

A short name for regard predict with a classifier. Unless --model names one, each text has the model of its language:
chinese-sentiment if it has a Chinese character, else english-sentiment.

\b
Examples:
  regard classify "a warm , funny , engaging film ." --top 5
  regard classify "房间 很 干净" --map
  regard classify --model digits/ recordings/*.wav
""",
    ),
    "translate": ShortName(
        "seq2seq",
        ("german-english", "chinese-english"),
        "Translate texts into English.",
        """Translate texts into English, and show which words each word attended to.

A short name for regard predict with a seq2seq model. Unless --model names one, each text has the model of its
language: chinese-english if it has a Chinese character, else german-english. Each text has one line of output; that of
an empty text is empty.

\b
Examples:
  regard translate "Zwei Männer spielen im Park Fußball."
  regard translate "他在看书。" --map
  regard translate "他在讀書。" --script simplified
  regard translate --model mine/ -f sentences.txt --format csv > translations.csv
""",
    ),
    "transcribe": ShortName(
        "seq2seq",
        ("spoken-strings", "spoken-strings"),
        "Write down the speech in recordings.",
        """Write down the speech in recordings, and show when each part of it was spoken.

A short name for regard predict with a seq2seq model. Unless --model names one, it is spoken-strings, which knows the
ten English digits. Each recording has one line of output; that of an empty recording is empty.

\b
Examples:
  regard transcribe number.wav
  regard transcribe number.wav --map
  regard transcribe --model mine/ recordings/*.wav --format json
""",
        reads_texts=False,
    ),
}
"""The short names."""


_Model = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="A model's name, or its folder  [default: see above]"),
]


def command_of(name: str) -> Callable[..., None]:
    """The command of a short name."""
    short = SHORT_NAMES[name]

    def run(model: _Model = None, *, options: Wanted) -> None:
        if model is None and options.sources and len(options.sources) > 1:
            _tell_of_model(options.sources[0])
        load = partial(_load, kind=short.kind, asked=model is not None)
        answer_all(model_by_language(model, short.models, load), options, f"regard {name}")

    return command_with(run, Wanted, without=() if short.reads_texts else ("script",))


def _tell_of_model(source: str) -> None:
    """Print a note if the first source is the name of a model, as in `regard predict`."""
    from regard.tasks import bundled
    from regard.tasks.saving.store import DESCRIPTION

    # Not a method of Path, which raises for a text longer than a file name. A run has its model in a folder of its own.
    folders = (source, os.path.join(source, "model"))
    if source in bundled() or any(os.path.isfile(os.path.join(folder, DESCRIPTION)) for folder in folders):
        typer.echo(
            f"Note: {source} is taken for a source. If you mean the model, name it by --model {source}.", err=True
        )


def _load(name: str, kind: str, *, asked: bool) -> Any:
    from regard.tasks import bundled

    if not asked and name not in bundled():
        raise ArgumentError(
            f"the model {name} doesn't come with this version of regard; {', '.join(bundled())} do. Name one of your "
            f"own by `--model`; regard train {kind} makes one."
        )
    return load_of_kind(name, kind)
