"""`regard tag`: the tags of sentences, and how they are printed."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from regard.cli.answering.model_checks import load_tagger_of_words
from regard.cli.answering.predicting import Answered, Predicting
from regard.cli.answering.reading import Line
from regard.cli.answering.sentences import words_of
from regard.cli.answering.showing import as_json, as_page
from regard.inspection import Record
from regard.page import Page

__all__ = ["Tagging"]

_TOGETHER = 256
_SEGMENTER = "chinese-segmentation"


@dataclass(frozen=True)
class Tagging(Predicting):
    """Tags sentences, and prints the tags below the words.

    Args:
        split: whether a trained segmenter splits Chinese without spaces into words; else it is split into the longest
            words that the tagger knows.
    """

    split: bool = False

    doing: ClassVar[str] = "tagging"
    attended: ClassVar[str] = "what each word attended to"
    worth_a_bar: ClassVar[int] = 200_000

    @property
    def headed(self) -> bool:
        return bool(self.origin)

    def together(self, model: Any) -> int:
        return _TOGETHER

    def sources(self, model: Any, line: Line) -> list[tuple[str, Any]]:
        """The words of a sentence, whose name is its line number, because the output shows the words."""
        words = words_of(model, line.text, (lambda: self._segmenter) if self.split else None)
        return [(f"{self.origin}, line {line.number}" if self.origin else model.name, words)]

    def ask(self, model: Any, sources: Sequence[Any]) -> Iterator[Answered]:
        # One by one: the records of hundreds of sentences would fill the memory. `sources` has refused invalid ones.
        for record in model.look(sources) if self.watch else _unwatched(model, sources):
            yield Answered(model.prediction(record.items, record.answer), record)

    def page(self, answered: Answered) -> Page:
        return as_page(answered.record, answered.prediction.source if self.show.shows_attention else "", self.show)

    def html_page(self, answered: Answered) -> Page:
        return as_page(answered.record, answered.prediction.source, self.show._replace(map=True))

    def json(self, answered: Answered) -> str:
        """One line; for a sentence on the command line, a line for each item, which is easier to read."""
        found = as_json(answered.record, self.show)
        if self.origin:
            return json.dumps(found, ensure_ascii=False)
        items = ",\n".join("  " + json.dumps(item, ensure_ascii=False) for item in found.pop("items"))
        return f'{json.dumps(found, ensure_ascii=False)[:-1]}, "items": [\n{items}\n]}}'

    @cached_property
    def _segmenter(self) -> Any:
        return load_tagger_of_words(_SEGMENTER)


def _unwatched(model: Any, sources: Sequence[Any]) -> Iterator[Record]:
    for tags in model.tag(sources):
        texts, labels, scores = zip(*tags, strict=True)
        yield Record(texts, labels, scores, model=model.name, answer=tags, noun="word")
