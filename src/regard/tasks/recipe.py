"""Everything that decides what a trained tagger becomes, beside the data: one frozen `Recipe`, saved as JSON."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.attention import INPUT_POSITIONS, POSITIONS, SCORES, WEIGHTS
from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import WordFeatures
from regard.tasks.checks import CHECKS

__all__ = ["RECIPES", "Recipe"]

_FEATURES = WordFeatures(minimum_count=3, fold="ascii")
_POSITIONS = (*POSITIONS, *INPUT_POSITIONS, "none")


def _whole(default: int, low: int, high: int | None = None) -> Any:
    return field(default=default, metadata={"kind": "whole", "low": low, "high": high})


def _real(default: float, low: float, high: float | None = None, *, above: bool = False, below: bool = False) -> Any:
    """A number from `low` to `high`; `above` and `below` leave the ends out."""
    return field(default=default, metadata={"kind": "real", "low": low, "high": high, "above": above, "below": below})


def _share(default: float) -> Any:
    return _real(default, 0.0, 1.0, below=True)


@dataclass(frozen=True)
class Recipe:
    """How to train a tagger; the defaults are the English tagger's, without its auxiliary labels.

    Words to vectors (`regard.inputs`):
        features: what is read off a word: a `WordFeatures`, or those of its fields that differ from
            `Recipe().features`.
        word_width, affix_width, ngram_width, shape_width: the sizes of the learned vectors of each kind of feature.

    The net (`regard.modules`):
        width, layers, heads, hidden: of the encoder; `hidden` is the inner size of its fully connected parts.
        attention: False leaves the attention out and changes nothing else, for comparison.
        score, weights: of the attention, as in `regard.attend`.
        position: "relative" or another name of a position scheme, or "none".
        reach: how far apart two words still have a relative position of their own.

    Against overfitting:
        dropout: on the words' vectors, and on what each sublayer adds.
        attention_dropout: on the attention weights.
        embedding_dropout: on the learned vectors of features.
        word_dropout: how often a word counts as unknown during training, so that the net learns from its parts.
        feature_dropout: how often one beginning, end or piece of a word is left out.

    Training:
        epochs, batch_words, learning_rate, weight_decay, beta2, gradient_clip: of AdamW.
        warm_up: the share of training in which the learning rate rises; then it falls to zero by a half cosine,
            or in a straight line, as `schedule` says ("cosine" or "linear").
        smoothing: label smoothing.
        average: the decay of the moving average of the weights; 0: no average.
        auxiliary: further label sets that the same net learns beside its own, in training only: the name of each, and
            how much it counts beside 1 for its own.
        patience: stop after so many epochs without a better score on the dev sentences.
        minutes: stop after the epoch in which so many minutes have passed; None: no limit. A run that this
            stopped can't be repeated exactly.
        seed: of the first weights, the order of sentences and dropout.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.

    Example:
        >>> recipe = Recipe(width=64, heads=4, epochs=3)
        >>> Recipe.from_json(recipe.to_json()) == recipe
        True
        >>> Recipe.from_json({"widht": 64})
        Traceback (most recent call last):
            ...
        regard.errors.UnknownNameError: `recipe` has no 'widht'. Did you mean 'width'?
    """

    features: WordFeatures = field(default=_FEATURES, metadata={"kind": "features", "default": _FEATURES})
    word_width: int = _whole(48, 0)
    affix_width: int = _whole(64, 0)
    ngram_width: int = _whole(64, 0)
    shape_width: int = _whole(16, 0)

    width: int = _whole(128, 1)
    layers: int = _whole(2, 1)
    heads: int = _whole(4, 1)
    hidden: int = _whole(256, 1)
    attention: bool = field(default=True, metadata={"kind": "truth"})
    score: str = field(default="scaled_dot", metadata={"kind": "one of", "names": tuple(SCORES)})
    weights: str = field(default="softmax", metadata={"kind": "one of", "names": tuple(WEIGHTS)})
    position: str = field(default="relative", metadata={"kind": "one of", "names": _POSITIONS})
    reach: int = _whole(8, 0)

    dropout: float = _share(0.2)
    attention_dropout: float = _share(0.1)
    embedding_dropout: float = _share(0.2)
    word_dropout: float = _share(0.3)
    feature_dropout: float = _share(0.0)

    epochs: int = _whole(14, 1)
    batch_words: int = _whole(1500, 1)
    learning_rate: float = _real(3e-3, 0.0, above=True)
    weight_decay: float = _real(0.01, 0.0)
    beta2: float = _share(0.98)
    gradient_clip: float = _real(1.0, 0.0, above=True)
    warm_up: float = _share(0.1)
    schedule: str = field(default="cosine", metadata={"kind": "one of", "names": ("cosine", "linear")})
    smoothing: float = _share(0.0)
    average: float = _share(0.0)
    auxiliary: Mapping[str, float] = field(default_factory=dict, metadata={"kind": "shares"})
    patience: int = _whole(6, 1)
    minutes: float | None = field(default=None, metadata={"kind": "real or none", "low": 0.0, "above": True})
    seed: int = _whole(0, 0, 2**31 - 1)

    def __post_init__(self) -> None:
        for entry in dataclasses.fields(self):
            value = CHECKS[entry.metadata["kind"]](entry.name, getattr(self, entry.name), entry.metadata)
            object.__setattr__(self, entry.name, value)
        if self.width % self.heads:
            raise ArgumentError(f"`width` must be a multiple of `heads`, which is {self.heads}, but is {self.width}.")

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_json(), sort_keys=True))

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only view can't be copied or sent to another process; what it shows can.
        return Recipe.from_json, (self.to_json(),)

    def to_json(self) -> dict[str, Any]:
        """The recipe as plain values, for a JSON file."""
        values = {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}
        return {**values, "features": self.features.to_json(), "auxiliary": dict(self.auxiliary)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Recipe":
        """The recipe that these values describe; what is left out has its default.

        Raises:
            UnknownNameError: a key that a recipe doesn't have; names the nearest.
            ArgumentError: a value that can't be.
        """
        if not isinstance(values, Mapping):
            raise ArgumentError(f"`recipe` must be a JSON object, but is {values!r:.60}.")
        known = [entry.name for entry in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise _unknown_key(str(name), known)
        return cls(**values)

    @classmethod
    def read(cls, path: str | Path) -> "Recipe":
        """Read a recipe from a JSON file.

        Raises:
            ArgumentError: the file is missing, isn't JSON, or holds something else than a recipe.
        """
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ArgumentError(f"`recipe` must be a JSON file, but {path} can't be read: {error.strerror}.") from error
        except ValueError as error:
            raise ArgumentError(f"`recipe` must be a JSON file, but {path} isn't JSON: {error}.") from error
        try:
            return cls.from_json(values)
        except ArgumentError as error:
            error.args = (f"{path}: {error}",)
            raise


def _unknown_key(name: str, known: list[str]) -> UnknownNameError:
    """Say which name is near: with dozens of names, naming them all would hide the one that was meant."""
    error = UnknownNameError("recipe", name, known)
    _, asks, near = str(error).partition(" Did you mean")
    error.args = (
        f"`recipe` has no {name!r}.{asks}{near}" if near else f"`recipe` has no {name!r}, only {', '.join(known)}.",
    )
    return error


RECIPES = {
    "english-pos": Recipe(auxiliary={"xpos": 0.3, "feats": 0.3}),
    "chinese-pos": Recipe(
        features=WordFeatures(
            minimum_count=3,
            fold="width",
            prefixes=0,
            suffixes=0,
            first_characters=2,
            last_characters=2,
            shortest_ngram=1,
            longest_ngram=1,
            flags=False,
            length_buckets=6,
            affix_ids=8192,
            ngram_ids=8192,
        ),
        word_width=32,
        affix_width=48,
        ngram_width=48,
        epochs=30,
        # The last third of a half cosine is where it gains; six epochs of waiting would sometimes miss it.
        patience=12,
        auxiliary={"upos": 0.2, "deprel": 0.3},
    ),
}
