"""What sources that are cut into words share: their items, and the linear part beside a network."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor

from regard.errors import ArgumentError
from regard.inputs import as_sentences, split_characters, split_words
from regard.inputs.text.hashed_ngrams import hashed_ngrams
from regard.tasks.examples import Example, as_examples
from regard.tasks.sources.source import Source

if TYPE_CHECKING:
    from regard.tasks.baselines import SimpleFeatures
    from regard.tasks.linear_part import LinearPart

__all__ = ["CUTS", "LinearWordSource", "WordSource", "linear_rows"]


CUTS = {"words": split_words, "characters": split_characters, "blanks": str.split}
"""The ways to split a text into words, by name."""

_MOST_WEIGHTS = 1 << 22


def linear_rows(pairs: Sequence[tuple[Any, Any]]) -> int:
    """The rows of each table of a linear part: several for each word of the texts, as each may begin a new pair."""
    words = sum(len(source.split() if isinstance(source, str) else source) for source, _ in pairs)
    labels = len({target for _, target in pairs if isinstance(target, str)})
    labels = max([labels, *(len(target) for _, target in pairs if isinstance(target, list | tuple))])
    most = 1 << min(18, (_MOST_WEIGHTS // max(1, labels)).bit_length() - 1)
    return max(1 << 12, min(most, 1 << (4 * words).bit_length()))


class WordSource(Source):
    """The base of kinds whose sources are texts, or lists of words. For a tagger a text is cut into words."""

    noun: ClassVar[str] = "word"
    source_noun: ClassVar[str] = "text"
    given: ClassVar[str] = "a text, or a list of words"
    counted: ClassVar[tuple[str, str]] = ("sentences", "words")
    is_text: ClassVar[bool] = True
    of_words: ClassVar[bool] = True
    example: ClassVar[str] = '"I saw a saw."'

    cut: str

    def words(self, source: str | Sequence[str]) -> Sequence[str]:
        """The words of a source.

        Raises:
            ArgumentError: it isn't a text or a list of words.
        """
        if isinstance(source, str):
            return CUTS[self.cut](source)
        if not isinstance(source, Sequence) or not all(isinstance(word, str) for word in source):
            raise ArgumentError(f"a source must be a text or a list of words, but is {source!r:.60}.")
        return source

    def itemised(self, source: str | Sequence[str]) -> Sequence[str]:
        return list(self.words(source)) if isinstance(source, str) else source

    def as_itemised(self, sources: Iterable[Sequence[str]]) -> list[Any]:
        return as_sentences(sources)

    def as_labelled(self, examples: Iterable[Any], *, argument: str = "examples") -> list[Example]:
        return as_examples(examples, argument=argument)

    def from_argument(self, encoder: Any, argument: str) -> list[tuple[str, Any]]:
        return [(argument, self.names(encoder, argument))]

    def names(self, encoder: Any, source: str | Sequence[str]) -> list[str]:
        return list(self.words(source))

    def simple_features(self, encoder: Any) -> "SimpleFeatures":
        from regard.tasks.baselines.features import TextFeatures

        return TextFeatures()


class LinearWordSource(WordSource):
    """The base of those with a linear part beside the network of a classifier."""

    linear: bool
    linear_ngrams: str
    linear_rows: int

    def ngrams(self, items: Sequence[Sequence[str]]) -> Tensor:
        """The ids of the n-grams of each word, (text, word, id), for the linear part."""
        return hashed_ngrams(items, self.linear_rows, unspaced=self.linear_ngrams == "characters")

    @property
    def linear_model(self) -> str:
        return "a linear model of n-grams, whose outputs are added"

    def linear_part(self, encoder: Any, outputs: int) -> "LinearPart | None":
        from regard.tasks.linear_ngrams import LinearNgrams

        return LinearNgrams(self.linear_rows, outputs) if self.linear else None

    def linear_words(self, item: Any) -> Sequence[str]:
        """The words of an encoded source."""
        return item

    def linear_inputs(self, encoder: Any, items: Sequence[Any]) -> Iterator[Tensor]:
        return (self.ngrams([self.linear_words(item)])[0] for item in items)

    def linear_key(self, encoder: Any, item: Any) -> Hashable:
        return tuple(self.linear_words(item))
