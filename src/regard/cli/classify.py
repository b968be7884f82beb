"""`regard classify`: what the bundled classifier of a text's language says, or one of the user's own."""

from typing import Annotated, Any

import typer

from regard.cli.options import (
    ColourOption,
    HeadOption,
    HtmlOption,
    LayerOption,
    ListOption,
    MapOption,
    PlainOption,
    SourcesArgument,
    TopOption,
    WidthOption,
    Written,
    WrittenOption,
)
from regard.cli.predict import Wanted, answer_all
from regard.cli.reading import Line, is_chinese
from regard.errors import ArgumentError

__all__ = ["classify"]

_ENGLISH, _CHINESE = "english-sentiment", "chinese-sentiment"


def classify(
    sources: SourcesArgument = None,
    file: ListOption = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="A model's name, or its folder  [default: by language]"),
    ] = None,
    top: TopOption = None,
    map: MapOption = False,
    layer: LayerOption = None,
    head: HeadOption = None,
    html: HtmlOption = None,
    format: WrittenOption = Written.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Say whether a text is in favour or against, and show which words that was drawn from.

    A short name for regard predict with a classifier. Unless --model names one, each text has the model of its
    language: chinese-sentiment where it holds a Chinese character, else english-sentiment.

    \b
    Examples:
      regard classify "a warm , funny , engaging film ." --top 5
      regard classify "房间 很 干净" --map
      regard classify --model digits/ recordings/*.wav
    """
    wanted = Wanted(sources, file, top, map, layer, head, html, format, plain, width, color)
    loaded: dict[str, Any] = {}

    def model_of(line: Line) -> Any:
        name = model if model is not None else _CHINESE if is_chinese(line.text) else _ENGLISH
        if name not in loaded:
            loaded[name] = _load(name, by_language=model is None)
        return loaded[name]

    answer_all(model_of, wanted, "regard classify")


def _load(name: str, *, by_language: bool) -> Any:
    from regard.tasks import bundled, load

    if by_language and name not in bundled():
        raise ArgumentError(
            f"the model {name} doesn't come with this version of regard; {', '.join(bundled())} do. Name one of your "
            "own by `--model`; regard train classifier makes one."
        )
    found = load(name)
    if found.kind != "classifier":
        raise ArgumentError(f"`--model` must be a classifier, but {name} is a {found.kind}: ask it by regard predict.")
    return found
