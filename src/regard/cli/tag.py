"""`regard tag`: label the words of a sentence, and show what each of them attended to."""

from typing import Annotated, Any

import typer

from regard.cli.answering.model_checks import load_tagger_of_words, model_by_language
from regard.cli.answering.reading import check_text
from regard.cli.arguments.options import (
    MOST_LISTED,
    BothForceOption,
    ColourOption,
    ColumnOption,
    EncodingOption,
    FigureOption,
    Format,
    FormatOption,
    HeaderOption,
    PlainOption,
    ScriptOption,
    SkipBrokenOption,
    ViewOption,
    WidthOption,
    Written,
)
from regard.cli.predict import Wanted, answer_all
from regard.errors import ArgumentError

__all__ = ["tag"]

# The default model, and the model for texts with a Chinese character.
_MODELS = ("english-pos", "chinese-pos")


def tag(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="A sentence, or - for standard input.")] = None,
    *,
    file: Annotated[
        str | None,
        typer.Option(
            "--file", "-f", metavar="FILE", help="A file, one sentence on a line, or a table; blank lines are skipped."
        ),
    ] = None,
    column: ColumnOption = None,
    header: HeaderOption = None,
    encoding: EncodingOption = None,
    skip_broken: SkipBrokenOption = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="A model's name, or its folder  [default: by language]"),
    ] = None,
    split: Annotated[
        bool, typer.Option("--split", help="Split Chinese without spaces into words by a trained segmenter.")
    ] = False,
    script: ScriptOption = None,
    layer: Annotated[int | None, typer.Option(metavar="N", help="Which layer to show  [default: the last]")] = None,
    head: Annotated[int | None, typer.Option(metavar="N", help="Which head to show  [default: their average]")] = None,
    top: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST_LISTED, help="Words to list for each word; 0 only tags.")
    ] = 3,
    map: Annotated[bool, typer.Option("--map", help="Show all weights as a heat map.")] = False,
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write an offline page, for up to 50 sentences.")
    ] = None,
    figure: FigureOption = None,
    view: ViewOption = None,
    force: BothForceOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Tag the words of a sentence, and show which words each of them attended to.

    Unless --model names one, each line has the model of its language: chinese-pos if it has a Chinese character,
    else english-pos. Layers, heads and positions count from 1. A weight says how much a word attended to another,
    which need not be the reason for its label. JSON is one object for each sentence. Standard input is tagged line by
    line; a long text is faster as a file.

    \b
    Examples:
      regard tag "I saw a saw ."
      regard tag "我 一 进门 就 看见 常威 在 打 来福"
      regard tag "我一进门就看见常威在打来福" --split
      regard tag "他 在 讀書 。" --script simplified
      regard tag "I saw a saw ." --layer 1 --head 2 --map
      regard tag "I saw a saw ." --html saw.html
      regard tag "I saw a saw ." --figure saw.pdf --view map
      regard tag -f novel.txt --format json > novel.jsonl
      echo "I saw a saw ." | regard tag - --plain
    """
    if (text is None) == (file is None):
        raise ArgumentError("give one of the three: a text, -f FILE, or - for standard input. See regard tag --help.")
    if text is not None:
        check_text(text)
    if model is not None and not model.strip():
        raise ArgumentError("`--model` must be a model's name or its folder, but is empty. See regard models.")
    wanted = Wanted(
        sources=None if text is None else [text],
        file=file,
        column=column,
        header=header,
        encoding=encoding,
        script=script,
        skip_broken=skip_broken,
        top=top,
        map=map,
        layer=layer,
        head=head,
        html=html,
        figure=figure,
        view=view,
        force=force,
        format=Written(format),
        plain=plain,
        width=width,
        colour=color,
    )

    def way(*given: Any, **more: Any) -> Any:
        from regard.cli.answering.tagging import Tagging

        return Tagging(*given, **more, split=split)

    answer_all(model_by_language(model, _MODELS, load_tagger_of_words), wanted, "regard tag", way)
