"""Simple features of whole sources, and the estimators of scikit-learn that suit them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.extras import require
from regard.inputs import PictureVectors, item_statistics
from regard.tasks.sources.texts import mostly_unspaced

__all__ = ["ItemStatistics", "Pixels", "SimpleFeatures", "TextFeatures", "as_text"]

_MOST_SOURCES = 5_000
_MOST_TEXTS = 50_000
_MOST_CHARACTERS = 5_000_000
_MOST_NGRAMS = 200_000
_LONGEST = 2_000
_SIDE = 24


class SimpleFeatures(ABC):
    """Features of whole sources. The methods are those of a transformer of scikit-learn.

    Attributes:
        name: the features and the estimator, in a few words.
    """

    name: ClassVar[str]

    @property
    def rivals(self) -> "tuple[SimpleFeatures, ...]":
        """Others that may suit the sources better: which do is decided by cross-validation on the training examples."""
        return ()

    @abstractmethod
    def fit_transform(self, sources: Sequence[Any]) -> Any:
        """Fit to the training sources, and return their features (source, feature), dense or sparse."""

    @abstractmethod
    def transform(self, sources: Sequence[Any]) -> Any:
        """The features of other sources."""

    def most(self, sources: Sequence[Any]) -> int:
        """The largest number of these sources that the estimator is fitted to, so that it takes seconds."""
        return _MOST_SOURCES

    def classifier(self) -> Any:
        """An estimator that tells labels from these features."""
        return _scaled(require("sklearn.linear_model", extra="train").LogisticRegression(max_iter=100))

    def regressor(self) -> Any:
        """An estimator that predicts a number from these features."""
        return _scaled(require("sklearn.linear_model", extra="train").RidgeCV(np.logspace(-3, 3, 13)))


class TextFeatures(SimpleFeatures):
    """Tf-idf of words, pairs of words, and n-grams of characters.

    A script without spaces between words has shorter n-grams of characters. Of a long text the first 2,000 characters
    are read.

    Source: Wang and Manning 2012, Baselines and Bigrams (ACL 2012, P12-2018): n-grams with a linear model.

    Example:
        >>> TextFeatures().fit_transform(["a good film", "a bad film"]).shape[0]
        2
    """

    name: ClassVar[str] = "tf-idf of words and characters with a linear model"

    def __init__(self) -> None:
        self._parts: list[Any] = []

    def most(self, sources: Sequence[Any]) -> int:
        characters = sum(len(text) for text in _beginnings(sources))
        return max(1, min(_MOST_TEXTS, _MOST_CHARACTERS * len(sources) // max(1, characters)))

    def fit_transform(self, sources: Sequence[Any]) -> Any:
        texts = _beginnings(sources)
        vectorizer = require("sklearn.feature_extraction.text", extra="train").TfidfVectorizer
        analyzer, sizes = ("char", (1, 3)) if mostly_unspaced(texts) else ("char_wb", (2, 5))
        self._parts = [
            vectorizer(token_pattern=r"\S+", ngram_range=(1, 2), sublinear_tf=True),
            vectorizer(analyzer=analyzer, ngram_range=sizes, sublinear_tf=True, max_features=_MOST_NGRAMS),
        ]
        return self._joined([part.fit_transform(texts) for part in self._parts])

    def transform(self, sources: Sequence[Any]) -> Any:
        texts = _beginnings(sources)
        return self._joined([part.transform(texts) for part in self._parts])

    @staticmethod
    def _joined(parts: Sequence[Any]) -> Any:
        return require("scipy.sparse", extra="train").hstack(parts).tocsr()

    def classifier(self) -> Any:
        return require("sklearn.linear_model", extra="train").LogisticRegression(C=10.0, max_iter=300)

    def regressor(self) -> Any:
        return require("sklearn.linear_model", extra="train").Ridge(1.0)


class ItemStatistics(SimpleFeatures):
    """Mean, spread, minimum and maximum of each feature over the items of a source, and its means in four quarters.

    Args:
        kind: the settings of a kind of source (`Source.simple_items`).
        encoder: its encoder.
    """

    name: ClassVar[str] = "means and spreads of the features with a linear model"

    def __init__(self, kind: Any, encoder: Any):
        self._kind, self._encoder = kind, encoder

    def fit_transform(self, sources: Sequence[Any]) -> Any:
        return self.transform(sources)

    def transform(self, sources: Sequence[Any]) -> Any:
        return np.stack([self._of(self._kind.simple_items(self._encoder, source)) for source in sources])

    @staticmethod
    def _of(items: Any) -> Any:
        return item_statistics(torch.as_tensor(items).float()).numpy()


class Pixels(SimpleFeatures):
    """The pixels of a picture that is scaled to 24 x 24.

    Args:
        read: reads a source as a picture.
        channels: "grey" or "rgb".
    """

    name: ClassVar[str] = "pixels with a linear model"

    def __init__(self, read: Callable[[Any], Any], channels: str):
        self._read, self._pixels = read, PictureVectors(size=(_SIDE, _SIDE), channels=channels)

    def fit_transform(self, sources: Sequence[Any]) -> Any:
        return self.transform(sources)

    def transform(self, sources: Sequence[Any]) -> Any:
        return np.stack([self._pixels.vectors(self._read(source)).flatten().numpy() for source in sources])


def _scaled(estimator: Any) -> Any:
    """The estimator, with each feature standardised before."""
    scaler = require("sklearn.preprocessing", extra="train").StandardScaler()
    return require("sklearn.pipeline", extra="train").make_pipeline(scaler, estimator)


def as_text(source: Any) -> str:
    """A text, or words joined to one."""
    return source if isinstance(source, str) else " ".join(source)


def _beginnings(sources: Sequence[Any]) -> list[str]:
    """The texts, long ones cut off: tf-idf of all n-grams of a book takes minutes."""
    return [as_text(source)[:_LONGEST] for source in sources]
