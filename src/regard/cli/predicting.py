"""From lines to what is printed: what the commands that ask a model do once torch is there."""

import csv
import io
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from regard.cli.broken_lines import BrokenLines, with_option
from regard.cli.reading import Line, until_broken
from regard.cli.showing import DEFAULT_TOP, Show, as_json, as_page
from regard.errors import ArgumentError, DataError, MissingExtraError, OutOfDistribution, RegardError
from regard.inputs import read_vectors
from regard.page import Page
from regard.tasks import Prediction

__all__ = ["Answered", "Predicting"]

# Reading files takes longer than answering; a person who waits wants to see that it goes on.
_TOGETHER, _FILES_TOGETHER = 256, 16
# Attention takes time that grows with the square: 30 000 items are a minute, 300 000 are hours.
_MOST_ITEMS = 30_000


class Answered(NamedTuple):
    """A prediction, whose source is what to call it, and, if the model was watched, the record."""

    prediction: Prediction
    record: Any


@dataclass(frozen=True)
class Predicting:
    """How lines become predictions, and predictions what is printed; `regard tag` has a way of its own, `Tagging`.

    Args:
        model_of: the model for a line.
        show: what to show of the attention.
        origin: the file that the sources are listed in, for messages; "" where they stand on the command line.
        watch: keep records with the attention weights.
        live: answer each before the next is read.
        skipped: takes the lines that can't be used, which are then left out; None where they are an error.
    """

    model_of: Callable[[Line], Any]
    show: Show
    origin: str
    watch: bool
    live: bool
    skipped: BrokenLines | None = None

    doing: ClassVar[str] = "answering"
    attended: ClassVar[str] = "what it attended to"
    # Fewer bytes of a file are done before a progress bar could be read.
    worth_a_bar: ClassVar[int] = 20_000

    @property
    def headed(self) -> bool:
        """Whether each source has a heading on the HTML page."""
        return True

    def answers(self, lines: Iterable[Line]) -> Iterator[Answered]:
        """Answer for each source, in their order.

        Args:
            lines: the sources, or the names of their files.

        Raises:
            RegardError: a source that can't be used; names it. Those before it have been answered.
        """
        broken: list[Exception] = []
        pairs = until_broken(((self.model_of(line), line) for line in lines), broken)
        for model, neighbours in groupby(pairs, itemgetter(0)):
            together = 1 if self.live else self.together(model)
            while group := [line for _, line in islice(neighbours, together)]:
                yield from self._answers(model, group)
        if broken:
            raise broken[0]

    def _answers(self, model: Any, lines: Sequence[Line]) -> Iterator[Answered]:
        try:
            pairs = [pair for line in lines for pair in self.sources(model, line)]
            found = self.ask(model, [source for _, source in pairs])
        except RegardError as error:
            if len(lines) == 1:
                located = _located(error, model, lines[0], self.origin)
                if self.skipped is None or not isinstance(located, DataError):
                    raise with_option(located) if self.origin and isinstance(located, DataError) else located from error
                self.skipped.add(located, lines[0].text)
                return
            # One of them is broken: asked one by one, it shows which, and those before it have their answers.
            for line in lines:
                yield from self._answers(model, [line])
            return
        for (name, _), (prediction, record) in zip(pairs, found, strict=True):
            yield Answered(replace(prediction, source=name), record)

    def together(self, model: Any) -> int:
        """How many lines are answered at a time."""
        # Attention weights take memory, and people read them one by one.
        return 1 if self.watch else _TOGETHER if model.recipe.input.argument == "text" else _FILES_TOGETHER

    def sources(self, model: Any, line: Line) -> list[tuple[str, Any]]:
        """The sources that a line, a text or the name of a file, stands for, each with what to call it."""
        source, text = model.recipe.input, line.text
        if source.argument != "text" and not text.strip():
            raise ArgumentError(f"a source must be the name of a {source.argument}, but is empty.")
        if source.kind == "vectors":
            read = read_vectors(text)
            several = len(read) > 1
            return [
                (f"{text}: {name}" if several else text, vectors)
                for name, vectors in zip(read.names, read.sequences, strict=True)
            ]
        if source.argument == "text" and len(text) < 256 and os.path.isfile(text):
            warnings.warn(
                f"{text} is a file, but its name is taken for a text. -f {text} answers each of its lines.",
                OutOfDistribution,
                stacklevel=2,
            )
        return [(text, source.names(model.encoder, text) if source.kind == "words" else text)]

    def ask(self, model: Any, sources: Sequence[Any]) -> Iterable[Answered]:
        """The predictions for sources, in their order."""
        if not self.watch:
            return [Answered(prediction, None) for prediction in model.predict(sources, longest=_MOST_ITEMS)]
        records = model.look(sources, longest=_MOST_ITEMS)
        return [Answered(model.prediction(None, record.answer), record) for record in records]

    def page(self, answered: Answered) -> Page | None:
        """What the terminal shows of a prediction; None where its text is enough."""
        if not (self.show.shows_attention or self.show.plain):
            return None
        return as_page(answered.record, answered.prediction.source, self.show)

    def html_page(self, answered: Answered) -> Page:
        """What the HTML page shows of it: the items with the most attention, and the map."""
        show = self.show._replace(top=self.show.top or DEFAULT_TOP, map=True)
        return as_page(answered.record, answered.prediction.source or "an empty text", show)

    def json(self, answered: Answered) -> str:
        """It as JSON, with what was attended to where that is shown."""
        seen = as_json(answered.record, self.show) if self.show.shows_attention else {}
        return json.dumps(answered.prediction.to_json() | seen, ensure_ascii=False)

    def csv(self, answered: Answered, *, header: bool) -> str:
        """It as lines of CSV, with a header above the first."""
        held = io.StringIO()
        writer = csv.DictWriter(held, ["source", *answered.prediction.columns], lineterminator="\n", restval="")
        if header:
            writer.writeheader()
        writer.writerows(answered.prediction.rows)
        return held.getvalue()


def _located(error: RegardError, model: Any, line: Line, origin: str) -> RegardError:
    if isinstance(error, MissingExtraError):
        return error
    if origin:
        return DataError(str(error), path=origin, line=line.number)
    if model.recipe.input.argument != "text" and not isinstance(error, DataError):
        return DataError(str(error), path=line.text)
    return error
