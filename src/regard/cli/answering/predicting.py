"""Predictions for the lines of the command line or a file, and their output as text, JSON, CSV and HTML."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from regard.cli.answering.reading import Line, sources_of, until_broken
from regard.cli.answering.showing import DEFAULT_TOP, Show, as_json, as_page, with_warnings
from regard.cli.arguments.broken_lines import BrokenLines, with_option
from regard.errors import DataError, MissingExtraError, RegardError
from regard.page import Page
from regard.tasks import Prediction
from regard.tasks.judging.whole_sets import SourceTally, describe_unlike

__all__ = ["Answered", "Predicting"]

# Reading files takes longer than prediction, so small batches show progress sooner.
_TOGETHER, _FILES_TOGETHER = 256, 16
# The time for attention grows with the square of the length: 30,000 items take a minute, 300,000 take hours.
_MOST_ITEMS = 30_000


class Answered(NamedTuple):
    """A prediction, whose source is its name in the output, and the record if attention was recorded."""

    prediction: Prediction
    record: Any


@dataclass(frozen=True)
class Predicting:
    """Reads sources from lines, predicts, and formats the predictions; `regard tag` uses the subclass `Tagging`.

    Args:
        model_of: returns the model for a line.
        show: what to show of the attention.
        origin: the file with the sources, for messages; "" for sources on the command line.
        watch: whether to record attention weights.
        live: whether to predict for each line before the next is read.
        skipped: collects broken lines, which are skipped; None: they raise errors.
    """

    model_of: Callable[[Line], Any]
    show: Show
    origin: str
    watch: bool
    live: bool
    skipped: BrokenLines | None = None
    _tallies: dict[str, tuple[Any, SourceTally]] = field(default_factory=dict, repr=False)

    doing: ClassVar[str] = "predicting"
    attended: ClassVar[str] = "what it attended to"
    # Smaller files, in bytes, are done before anybody could read a progress bar.
    worth_a_bar: ClassVar[int] = 20_000

    @property
    def headed(self) -> bool:
        """Whether each source has a heading on the HTML page."""
        return True

    def answers(self, lines: Iterable[Line]) -> Iterator[Answered]:
        """Predict for each source, in their order.

        Args:
            lines: the sources, or the names of their files.

        Raises:
            RegardError: a source is invalid; the error names it. Those before it have their predictions.
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
            # One source of the batch is invalid. One by one, those before it get predictions and the error names it.
            for line in lines:
                yield from self._answers(model, [line])
            return
        _, tally = self._tallies.setdefault(model.name, (model, SourceTally()))
        for (name, source), (prediction, record) in zip(pairs, found, strict=True):
            if self.origin and prediction.value:
                model.count(tally, source, prediction.value)
            yield Answered(replace(prediction, source=name), record)

    def unlike(self) -> Iterator[str]:
        """A sentence for each model for which the sources of the file, all of which are answered, are unlike its data.

        Sources on the command line are told one by one.
        """
        for model, tally in self._tallies.values():
            if said := describe_unlike(model.unlike(tally), tally.sources, model.name):
                yield said

    def together(self, model: Any) -> int:
        """The number of lines in a batch."""
        # Attention weights take much memory, and are read one source at a time.
        return 1 if self.watch else _TOGETHER if model.recipe.input.argument == "text" else _FILES_TOGETHER

    def sources(self, model: Any, line: Line) -> list[tuple[str, Any]]:
        """The sources in a line, each with its name for the output."""
        return sources_of(model, line.text, self.origin)

    def ask(self, model: Any, sources: Sequence[Any]) -> Iterable[Answered]:
        """The predictions for sources, in their order."""
        if not self.watch:
            return [Answered(prediction, None) for prediction in model.predict(sources, longest=_MOST_ITEMS)]
        records = model.look(sources, longest=_MOST_ITEMS)
        return [Answered(model.prediction(None, record.answer), record) for record in records]

    def page(self, answered: Answered) -> Page | None:
        """The prediction as a page for the terminal; None if a line of text is enough."""
        if not (self.show.shows_attention or self.show.plain):
            return None
        return as_page(answered.record, answered.prediction.source, self.show)

    def html_page(self, answered: Answered) -> Page:
        """The prediction as a page for HTML, with the items with the most attention and the map."""
        show = self.show._replace(top=self.show.top or DEFAULT_TOP, map=True)
        page = as_page(answered.record, answered.prediction.source or "an empty text", show)
        return with_warnings(page, answered.record)

    def json(self, answered: Answered) -> str:
        """The prediction as JSON, with the attention if it is shown."""
        seen = as_json(answered.record, self.show) if self.show.shows_attention else {}
        return json.dumps(answered.prediction.to_json() | seen, ensure_ascii=False)

    def csv(self, answered: Answered, *, header: bool) -> str:
        """The prediction as lines of CSV, with a header before the first."""
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
