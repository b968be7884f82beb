"""`regard evaluate`: how often a model is right where the answer is known, and where it isn't."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import ColourOption, Format, FormatOption, PlainOption, WidthOption
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.page import Page
    from regard.tasks import Classifier, Judged, Scores

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model's name, or its folder.")],
    data: Annotated[str, typer.Option(metavar="NAME|PATH", help="A data set, a file, or a folder of files.")],
    split: Annotated[str, typer.Option(help="Which split: train, dev or test.")] = "test",
    label: Annotated[str | None, typer.Option(help="The column with the true labels  [default: the model's]")] = None,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="How many labels and confusions to list.")] = 8,
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Let a model answer where the answer is known, and compare: how often it is right, and where it isn't.

    Of a tagger, the words are those of the data; the model doesn't split text here. A single file is taken whole,
    whatever --split says. The interval is what another sample of as many examples would give, 19 times out of 20.

    \b
    Examples:
      regard evaluate english-pos --data ud-english-ewt
      regard evaluate english-pos --data ud-english-ewt --split dev --format json
      regard evaluate my-run/ --data my-treebank/ --label xpos
      regard evaluate sentiment/ --data sst2
    """
    # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
    from regard.cli.console import output_console
    from regard.datasets import read, read_examples, resolve
    from regard.page import show
    from regard.tasks import load

    tagger = load(model)
    if tagger.kind == "classifier":
        judged = tagger.evaluate(read_examples(data, split, label or tagger.about.get("data", {}).get("label") or None))
        if format is Format.json:
            about = {"model": tagger.name, "data": data, "split": split}
            typer.echo(json.dumps({**about, **judged.to_json()}, ensure_ascii=False, indent=2))
        else:
            page = _answers_page(f"{tagger.name} on {data}, {split}", tagger, judged, top)
            show(page, output_console(width=width, colour=color), plain=plain)
        return
    label = label or tagger.about.get("data", {}).get("label") or resolve(data).label
    sentences = read(data, split, label)
    # Two columns can share a label or two (SYM, X): the right one shares most.
    known = [name in tagger.labels for sentence in sentences for name in sentence.labels]
    if sum(known) < len(known) / 2:
        raise ArgumentError(
            f"`--label` must be the column with the model's labels ({', '.join(tagger.labels[:8])}, ...), "
            f"but only {sum(known):,} of {len(known):,} words of {data} have one of them in the column {label}."
        )
    scores = tagger.evaluate(sentences)
    seconds = scores.seconds or 0.0
    if format is Format.json:
        about = {"model": tagger.name, "data": data, "split": split, "label": label}
        typer.echo(
            json.dumps({**about, **scores.to_json(), "seconds": round(seconds, 3)}, ensure_ascii=False, indent=2)
        )
        return
    title = f"{tagger.name} on {data}, {split}"
    show(_page(title, scores, seconds, top), output_console(width=width, colour=color), plain=plain)


def _page(title: str, scores: "Scores", seconds: float, top: int) -> "Page":
    from regard.page import Block, Heading, Page, Prose, Table

    low, high = scores.interval
    said = [
        f"{100 * scores.accuracy:.2f}% of {scores.words:,} words in {scores.sentences:,} sentences are right "
        f"(95% interval {100 * low:.2f} to {100 * high:.2f}; {scores.method}).",
        f"The mean F1 of {len(scores.labels)} labels is {100 * scores.macro_f1:.2f}%.",
    ]
    if scores.unseen_accuracy is not None:
        said.append(
            f"Of {scores.unseen_words:,} words that training never had, {100 * scores.unseen_accuracy:.2f}% are right."
        )
    said.append(f"Tagging took {seconds:.2f} s, {scores.words / seconds:,.0f} words a second.")
    hardest = sorted(scores.labels.items(), key=lambda item: item[1].f1)[:top]
    numbers = tuple(
        (name, f"{100 * s.f1:.1f}%", f"{100 * s.precision:.1f}%", f"{100 * s.recall:.1f}%", f"{s.words:,}")
        for name, s in hardest
    )
    columns = ("hardest labels", "F1", "precision", "recall", "words")
    blocks: list[Block] = [Prose(" ".join(said))]
    if numbers:
        blocks += [Table(columns, numbers, ("left", "right", "right", "right", "right"))]
    if top and scores.confusions:
        confusions = tuple((true, given, f"{count:,}") for true, given, count in scores.confusions[:top])
        blocks += [
            Heading("Most frequent confusions"),
            Table(("true label", "label given", "words"), confusions, ("left", "left", "right")),
        ]
    return Page(title, tuple(blocks))


def _answers_page(title: str, model: "Classifier", judged: "Judged", top: int) -> "Page":
    from regard.page import Block, Heading, Page, Prose, Table

    said = model.answer.measure.said
    low, high = map(said, judged.interval)
    seconds = judged.seconds or 0.0
    text = (
        f"The {judged.measure} on {judged.examples:,} examples is {said(judged.score)} (95% interval {low} to {high}; "
        f"{judged.method})."
    )
    if judged.macro_f1 is not None:
        text += f" The mean F1 of the labels is {100 * judged.macro_f1:.2f}%."
    if judged.empty:
        text += f" {judged.empty:,} sources held nothing and were left out."
    text += f" Answering took {seconds:.2f} s."
    blocks: list[Block] = [Prose(text)]
    if top and judged.confusions:
        rows = tuple((true, given, f"{count:,}") for true, given, count in judged.confusions[:top])
        blocks += [
            Heading("Most frequent confusions"),
            Table(("true label", "label given", "examples"), rows, ("left", "left", "right")),
        ]
    return Page(title, tuple(blocks))
