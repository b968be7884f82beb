"""Classifiers of long sources by variants of attention, as in the Long Range Arena, at a small size.

Source: Tay et al. 2021, Long Range Arena (arXiv 2011.04006), section 2.2, for the tasks.
"""

import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from regard.errors import UnknownNameError
from regard.lab.study import Claim, Setting
from regard.lab.synthetic.list_operations import list_operations
from regard.lab.training import first_examples, train_and_measure
from regard.tasks import Recipe

__all__ = ["FULL_SIZE", "SETTINGS", "VARIANTS", "claims", "classify_long", "examples_of"]

VARIANTS: Mapping[str, Setting] = {
    "full": {},
    "local": {"mask": "window", "attention_window": 32},
    "longformer": {"mask": "longformer", "attention_window": 32},
    "bigbird": {"mask": "bigbird", "attention_window": 32},
    "linear": {"approximation": "linear"},
    "performer": {"approximation": "performer", "approximation_size": 64},
    "linformer": {"approximation": "linformer", "approximation_size": 64},
    "nystromformer": {"approximation": "nystromformer", "approximation_size": 32},
    "reformer": {"approximation": "reformer", "approximation_size": 32, "projections": "shared_query_key"},
    "sinkhorn": {"approximation": "sinkhorn", "approximation_size": 32},
    "synthesizer": {"approximation": "synthesizer", "approximation_size": 8},
}
"""Full attention, masks of some pairs, and approximations, with the fields of a recipe that choose them.

"strided" isn't among them: with padding it computes all pairs, and so is only slower than full attention.
"""

SETTINGS: Setting = {
    "width": 64,
    "heads": 2,
    "hidden": 128,
    "layers": 2,
    "position": "sinusoidal",
    "attention_dropout": 0.0,
    "dropout": 0.1,
    "max_length": 1024,
    "learning_rate": 2e-3,
    "batch_items": 8 * 1024,
    "patience": 100,
}
"""The fields of the recipe that all variants share."""

FULL_SIZE: Setting = {"width": 512, "hidden": 2048, "heads": 8, "layers": 6, "epochs": 20}
"""Those that differ in the full size: the network of the paper's lists of operations."""


def claims(margin: float) -> tuple[Claim, ...]:
    """Whether full attention is better than each other variant, by more than a margin."""
    names = [name for name in VARIANTS if name != "full"]
    # The study's own question is about the variant that its authors call linear.
    names.sort(key=lambda name: name != "linear")
    texts = ["", *(f"Is full attention better than {name}?" for name in names[1:])]
    return tuple(Claim("full", name, margin=margin, text=text) for name, text in zip(names, texts, strict=True))


def classify_long(setting: Setting, seed: int) -> dict[str, float]:
    """Train a classifier, and measure it on test.

    Args:
        setting: `source`, the name of a kind of sources in `examples_of`; `examples`, the number of examples; and the
            fields of a recipe that differ.
        seed: of the training; the examples are the same for each.
    """
    source, count = setting.pop("source"), setting.pop("examples")
    examples, dev, test = examples_of(source, count)
    recipe = Recipe(task={"kind": "classifier", "pooling": "attention"}, input=_INPUTS[source])
    return train_and_measure(recipe, examples, dev, seed, setting, evaluate=test)


@cache
def examples_of(source: str, count: int) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    """Examples for training, for choosing the epoch, and for the test.

    Args:
        source: "lists": expressions of 500 to 1,000 characters, and their values; those for training have 8 to 1,000,
            because no variant learns from long ones alone in this time; "bytes": hotel reviews, cut off after 1,024
            bytes of UTF-8, and their sentiment; "pixels": the 784 pixels of a written digit, row by row.
        count: the number of examples for training.

    Raises:
        UnknownNameError: there is no such source.
    """
    if source not in _INPUTS:
        raise UnknownNameError("source", source, _INPUTS)
    if source == "lists":
        drawn = ((count, 8), (250, 500), (2000, 500))
        splits = enumerate(drawn)
        return tuple(list_operations(size, seed, shortest=least, longest=1000) for seed, (size, least) in splits)  # pyright: ignore[reportReturnType]
    if source == "bytes":
        splits = [first_examples("chinese-hotel-reviews", split) for split in ("train", "dev", "test")]
        cut = [[(_first_bytes(review.source, 1024), review.target) for review in split] for split in splits]
        # The files are sorted by label.
        random.Random(0).shuffle(cut[0])
        return cut[0][:count], cut[1], cut[2]
    return tuple(
        [(picture.source, picture.target) for picture in first_examples("mnist", split, size)]
        for split, size in (("train", count), ("dev", 250), ("test", 2000))
    )  # pyright: ignore[reportReturnType]


_INPUTS: Mapping[str, Setting] = {
    "lists": {"kind": "texts", "vocabulary": "characters", "piece_dropout": 0.0},
    "bytes": {"kind": "texts", "vocabulary": "bytes", "piece_dropout": 0.1},
    "pixels": {"kind": "pictures", "patch": 1, "height": 28, "width": 28, "waves": 0},
}


def _first_bytes(text: str, most: int) -> str:
    return text.encode("utf-8")[:most].decode("utf-8", "ignore")
