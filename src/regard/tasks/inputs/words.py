"""Sentences, cut into words: features of each word, and their learned vectors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.inputs import WordEmbedding, WordEncoder, WordFeatures
from regard.tasks.settings import Settings, features, share, whole

__all__ = ["Words"]


@dataclass(frozen=True)
class Words(Settings):
    """Sources that are sentences, each a sequence of words.

    Args:
        features: what is read off a word: a `WordFeatures`, or those of its fields that differ from
            `Words().features`.
        word_width, affix_width, ngram_width, shape_width: the sizes of the learned vectors of each kind of feature.
        embedding_dropout: on the learned vectors of features.
        word_dropout: how often a word counts as unknown during training, so that the net learns from its parts.
        feature_dropout: how often one beginning, end or piece of a word is left out.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "words"

    features: WordFeatures = features(WordFeatures(minimum_count=3, fold="ascii"))
    word_width: int = whole(48, 0)
    affix_width: int = whole(64, 0)
    ngram_width: int = whole(64, 0)
    shape_width: int = whole(16, 0)
    embedding_dropout: float = share(0.2)
    word_dropout: float = share(0.3)
    feature_dropout: float = share(0.0)

    def fit(self, sources: Iterable[Sequence[str]]) -> WordEncoder:
        """What reads sentences, having learned the vocabulary of these."""
        return WordEncoder.fit(sources, features=self.features)

    def reader(self, saved: Any) -> WordEncoder:
        """What reads sentences, as a model's description holds it.

        Raises:
            ModelError: something is missing or isn't what `to_json` writes.
        """
        return WordEncoder.from_json(saved)

    def embedding(self, reader: WordEncoder, width: int) -> WordEmbedding:
        """The module that makes vectors of this size of what the reader gives."""
        return WordEmbedding(
            reader,
            width,
            word_width=self.word_width,
            affix_width=self.affix_width,
            ngram_width=self.ngram_width,
            shape_width=self.shape_width,
            word_dropout=self.word_dropout,
            feature_dropout=self.feature_dropout,
            dropout=self.embedding_dropout,
        )
