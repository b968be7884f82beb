"""`regard tag`: how sentences are split into words, and how their tags are printed."""

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

from regard.cli.answering.model_checks import load_tagger_of_words
from regard.cli.answering.predicting import Answered, Predicting
from regard.cli.answering.reading import Line, is_chinese
from regard.cli.answering.showing import as_json, as_page
from regard.errors import DataError, OutOfDistribution
from regard.inputs import is_spaced, split_chinese, split_words
from regard.inspection import Record
from regard.page import Page
from regard.tasks.tagger.segmenting import segment

__all__ = ["Tagging"]

# The time for attention grows with the square of the length: 10,000 words take seconds, a million take hours.
_MOST_TAGGED = 10_000
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
        """The words of a sentence, whose name is its line number, because the output shows the words.

        Raises:
            DataError: it is too long, or has only invisible characters.
        """
        words = self._words(model, line.text)
        if not words:
            raise DataError("there is no word in it, only invisible characters. Write a sentence.")
        count = f"the sentence has {len(words):,} words"
        if len(words) > _MOST_TAGGED:
            raise DataError(f"{count}, but may have {_MOST_TAGGED:,}. Put one sentence on a line.")
        if model.position_limit is not None and len(words) > model.position_limit:
            raise DataError(
                f"{count}, but {model.name} has learned {model.position_limit:,} positions. Put one sentence on a line."
            )
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

    def _words(self, model: Any, text: str) -> list[str]:
        if not is_chinese(text):
            return split_words(text)
        spaced = is_spaced(text)
        if self.split and not spaced:
            with warnings.catch_warnings():
                # The tagger already warns of the script.
                warnings.filterwarnings("ignore", message=".* is in .* characters", category=OutOfDistribution)
                return segment(self._segmenter, [text])[0]
        words = split_chinese(text, _known(model.encoder))
        if len(words) > 1 and not spaced:
            warnings.warn(
                "the text has no spaces, so it is split into the longest words that the tagger knows. Use --split for "
                "a trained segmenter, or put spaces between the words.",
                OutOfDistribution,
                stacklevel=2,
            )
        return words


@cache
def _known(encoder: Any) -> frozenset[str]:
    """The vocabulary of a tagger, cached for all sentences."""
    return frozenset(encoder.vocabulary)


def _unwatched(model: Any, sources: Sequence[Any]) -> Iterator[Record]:
    for tags in model.tag(sources):
        texts, labels, scores = zip(*tags, strict=True)
        yield Record(texts, labels, scores, model=model.name, answer=tags, noun="word")
