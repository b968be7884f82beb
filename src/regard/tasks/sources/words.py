"""Sentences, split into words: the features of each word, and their embedding."""

import random
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from regard.inputs import (
    FOLDINGS,
    Batch,
    WordEmbedding,
    WordEncoder,
    WordFeatures,
)
from regard.inputs.text.hashed_affixes import hashed_affixes
from regard.page.numbers import counted
from regard.tasks.judging.out_of_distribution import Statistic
from regard.tasks.settings import boolean, features, fraction, integer, one_of
from regard.tasks.sources.texts import mostly_unspaced
from regard.tasks.sources.word_source import CUTS, LinearWordSource, linear_rows

if TYPE_CHECKING:
    from regard.tasks.linear_part import LinearPart

__all__ = ["Words"]


# For scripts without spaces, tuned on Chinese reviews: what stands between two punctuation marks is an item, with its
# characters and pairs of them as features.
_UNSPACED = {
    "features": {
        "fold": "width",
        "prefixes": 0,
        "suffixes": 0,
        "shortest_ngram": 1,
        "longest_ngram": 2,
        "most_ngrams": 100,
        "ngram_ids": 32768,
        "shape": False,
        "flags": False,
    },
    "word_width": 16,
    "affix_width": 0,
    "ngram_width": 32,
    "shape_width": 0,
    "word_dropout": 0.4,
    "feature_dropout": 0.3,
    "linear_ngrams": "characters",
}
_MOST_CHARACTERS = 10_000_000


@dataclass(frozen=True)
class Words(LinearWordSource):
    """Sources that are sentences: sequences of words, or texts, which are split into words.

    Args:
        cut: how a text is split, a name in `CUTS`. A sequence of words isn't split further.
        features: the features of a word: a `WordFeatures`, or a mapping of its fields that differ from
            `Words().features`.
        word_width, affix_width, ngram_width, shape_width: the sizes of the learned vectors of each kind of feature.
        embedding_dropout: dropout on the learned vectors.
        word_dropout: the probability that a word counts as unknown in training, so that the network learns from its
            affixes and n-grams.
        feature_dropout: the probability that a single affix or n-gram is left out in training.
        linear: of a classifier or tagger: whether a linear model stands beside the network (`tasks.linear_ngrams`,
            `tasks.linear_words`).
        linear_ngrams: its features. For a classifier: "words" has words, pairs of words, and two to five characters of
            a word; "characters" has one to three characters, for a script without spaces between words. For a tagger:
            "affixes" has the spelling of each word and of its neighbours.
        linear_rows: the number of rows of each table of the linear part; features with the same hash share a row.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "words"
    vectors: ClassVar[str] = "a learned vector for each of a word's features"
    limits: ClassVar[str] = "It knows one language and one kind of annotation. How the text is cut into words matters."
    encoding: ClassVar[str] = (
        "A word has an id if it is in the vocabulary; its affixes, n-grams and shape are hashed by crc32. The Python "
        "file does it, with the splitting of texts into words."
    )
    modalities: ClassVar[Mapping[str, int]] = {"text": 3, "molecule": 1}

    cut: str = one_of("words", *CUTS)
    features: WordFeatures = features(WordFeatures(minimum_count=3, fold="ascii"))
    word_width: int = integer(48, 0)
    affix_width: int = integer(64, 0)
    ngram_width: int = integer(64, 0)
    shape_width: int = integer(16, 0)
    embedding_dropout: float = fraction(0.2)
    word_dropout: float = fraction(0.3)
    feature_dropout: float = fraction(0.0)
    linear: bool = boolean(False)
    linear_ngrams: str = one_of("words", "words", "characters", "affixes")
    linear_rows: int = integer(65536, 2)

    @classmethod
    def suits(cls, source: Any) -> int:
        return 3 if isinstance(source, str | list | tuple) else 0

    @classmethod
    def fitted(cls, pairs: Sequence[tuple[Any, Any]]) -> Mapping[str, Any]:
        texts = [source for source, _ in pairs if isinstance(source, str)]
        unspaced = _UNSPACED if mostly_unspaced(texts) else {}
        characters = sum(map(len, texts))
        # The counts of all n-grams of more text would take gigabytes.
        absent = {"linear": False} if characters > _MOST_CHARACTERS else {}
        return {"input": {**unspaced, **absent, "linear_rows": linear_rows(pairs)}}

    def fit(self, sources: Iterable[str | Sequence[str]]) -> WordEncoder:
        return WordEncoder.fit((self.words(source) for source in sources), features=self.features)

    def encoder(self, saved: Any) -> WordEncoder:
        return WordEncoder.from_json(saved)

    def item(self, encoder: WordEncoder, source: str | Sequence[str]) -> Sequence[str]:
        # The encoder caches each word, so encoding again in every epoch costs almost nothing.
        return self.words(source)

    def item_keys(self, sources: Iterable[str | Sequence[str]]) -> Tensor:
        """A 32-bit key for each word after folding, the same on every machine.

        Example:
            >>> Words(features={"fold": "nothing"}).item_keys([["saw"]]).tolist()
            [-1687047838]
        """
        fold = FOLDINGS[self.features.fold]
        words = (fold(word).encode("utf-8", "surrogatepass") for source in sources for word in self.words(source))
        # crc32 is unsigned; int32, the type that safetensors and torch share, is not.
        return torch.tensor([zlib.crc32(word) - 2**31 for word in words], dtype=torch.int32)

    def batch(self, encoder: WordEncoder, items: Sequence[Sequence[str]]) -> Batch:
        batch = encoder.encode(items)
        if not self.linear:
            return batch
        return replace(batch, ngrams=self.ngrams(items))

    def random_items(self, encoder: WordEncoder, lengths: Sequence[int]) -> list[Sequence[str]]:
        draws = random.Random(0)
        known = [*encoder.vocabulary[:1000], "Unheard-of", "x1", "a"]
        return [[draws.choice(known) for _ in range(length)] for length in lengths]

    def encoder_file(self, encoder: WordEncoder) -> str:
        return "words"

    def ngrams(self, items: Sequence[Sequence[str]]) -> Tensor:
        """The ids of the n-grams or affixes of each word, (text, word, id), for the linear part."""
        if self.linear_ngrams == "affixes":
            fold = FOLDINGS[self.features.fold]
            return hashed_affixes([[fold(word) for word in words] for words in items], self.linear_rows)
        return super().ngrams(items)

    def ood_statistics(self, encoder: WordEncoder, source: str | Sequence[str]) -> tuple[Statistic, ...]:
        words = self.words(source)
        if not words:
            return ()
        unknown = encoder.count_unknown(words)
        said = f"{unknown:,} of its {counted(len(words), 'word')} {'is' if unknown == 1 else 'are'} unknown to it"
        always = unknown == len(words) > 1
        of_set = "{} of their words are unknown to it"
        return (Statistic("unknown words", unknown, len(words), said, 2, always, of_set),)

    def known_text(self, encoder: WordEncoder) -> str:
        return "".join(encoder.vocabulary)

    @property
    def linear_model(self) -> str:
        if self.linear_ngrams == "affixes":
            return "a linear model of the spelling of each word and of its neighbours, whose outputs are added"
        return super().linear_model

    def linear_part(self, encoder: WordEncoder, outputs: int) -> "LinearPart | None":
        from regard.tasks.linear_words import LinearWords

        if self.linear and self.linear_ngrams == "affixes":
            return LinearWords(self.linear_rows, outputs)
        return super().linear_part(encoder, outputs)

    def embedding(self, encoder: WordEncoder, width: int) -> WordEmbedding:
        return WordEmbedding(
            encoder,
            width,
            word_width=self.word_width,
            affix_width=self.affix_width,
            ngram_width=self.ngram_width,
            shape_width=self.shape_width,
            word_dropout=self.word_dropout,
            feature_dropout=self.feature_dropout,
            dropout=self.embedding_dropout,
        )
