"""From sources to answers, some at a time: what `regard predict` and its short names do once torch is there."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from regard.cli.broken_lines import BrokenLines, with_option
from regard.cli.reading import Line, until_broken
from regard.errors import ArgumentError, DataError, MissingExtraError, OutOfDistribution, RegardError
from regard.inputs import read_vectors
from regard.inspection import Record
from regard.tasks import Prediction

__all__ = ["Answered", "answers"]

# Reading files takes longer than answering; a person who waits wants to see that it goes on.
_TOGETHER, _FILES_TOGETHER = 256, 16
# Attention takes time that grows with the square: 30 000 items are a minute, 300 000 are hours.
_MOST_ITEMS = 30_000


class Answered(NamedTuple):
    """A prediction, whose source is what to call it, and, if the model was watched, the record."""

    prediction: Prediction
    record: Record | None


def answers(
    model_of: Callable[[Line], Any],
    lines: Iterable[Line],
    origin: str,
    *,
    watch: bool,
    live: bool,
    skipped: BrokenLines | None = None,
) -> Iterator[Answered]:
    """Answer for each source, in their order.

    Args:
        model_of: the model for a source.
        lines: the sources, or the names of their files.
        origin: the file that they are listed in, for messages; "" where they stand on the command line.
        watch: keep records with the attention weights.
        live: answer each before the next is read.
        skipped: takes the lines that can't be used, which are then left out; None where they are an error.

    Raises:
        RegardError: a source that can't be used; names it. Those before it have been answered.
    """
    broken: list[Exception] = []
    pairs = until_broken(((model_of(line), line) for line in lines), broken)
    for model, neighbours in groupby(pairs, itemgetter(0)):
        together = _TOGETHER if model.recipe.input.given == "text" else _FILES_TOGETHER
        # Attention weights take memory, and people read them one by one.
        while group := [line for _, line in islice(neighbours, 1 if live or watch else together)]:
            yield from _answers(model, group, origin, watch, skipped)
    if broken:
        raise broken[0]


def _answers(
    model: Any, lines: Sequence[Line], origin: str, watch: bool, skipped: BrokenLines | None
) -> Iterator[Answered]:
    try:
        pairs = [pair for line in lines for pair in _sources(model, line.text)]
        sources = [source for _, source in pairs]
        if watch:
            found: list[Any] = [
                (model.prediction(None, record.answer), record) for record in model.look(sources, longest=_MOST_ITEMS)
            ]
        else:
            found = [(prediction, None) for prediction in model.predict(sources, longest=_MOST_ITEMS)]
    except RegardError as error:
        if len(lines) == 1:
            located = _located(error, model, lines[0], origin)
            if skipped is None or not isinstance(located, DataError):
                raise with_option(located) if origin and isinstance(located, DataError) else located from error
            skipped.add(located, lines[0].text)
            return
        # One of them is broken: asked one by one, it shows which, and those before it have their answers.
        for line in lines:
            yield from _answers(model, [line], origin, watch, skipped)
        return
    for (name, _), (prediction, record) in zip(pairs, found, strict=True):
        yield Answered(replace(prediction, source=name), record)


def _sources(model: Any, text: str) -> list[tuple[str, Any]]:
    """The sources that a text or the name of a file stands for, each with what to call it."""
    source = model.recipe.input
    if source.given != "text" and not text.strip():
        raise ArgumentError(f"a source must be the name of a {source.given}, but is empty.")
    if source.kind == "vectors":
        read = read_vectors(text)
        several = len(read) > 1
        return [
            (f"{text}: {name}" if several else text, vectors)
            for name, vectors in zip(read.names, read.sequences, strict=True)
        ]
    if source.given == "text" and len(text) < 256 and os.path.isfile(text):
        warnings.warn(
            f"{text} is a file, but its name is taken for a text. -f {text} answers each of its lines.",
            OutOfDistribution,
            stacklevel=2,
        )
    return [(text, source.names(model.encoder, text) if source.kind == "words" else text)]


def _located(error: RegardError, model: Any, line: Line, origin: str) -> RegardError:
    if isinstance(error, MissingExtraError):
        return error
    if origin:
        return DataError(str(error), path=origin, line=line.number)
    if model.recipe.input.given != "text" and not isinstance(error, DataError):
        return DataError(str(error), path=line.text)
    return error
