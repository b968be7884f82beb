"""The default recipe for static vectors: a head on them for few examples, and a network for many."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.inputs.text.static_table import table_width

__all__ = ["FEW", "examples_per_class", "static_defaults"]

FEW = 100
"""The number of examples a class below which a head on frozen vectors is better than a network."""


def examples_per_class(pairs: Sequence[tuple[Any, Any]]) -> float:
    """The number of targets for each label; of other targets, the number of all.

    Example:
        >>> examples_per_class([("a", "yes"), ("b", "no"), ("c", "yes"), ("d", None)])
        1.5
    """
    targets = [target for _, target in pairs if target is not None]
    known = [each for target in targets for each in (target if isinstance(target, list | tuple) else (target,))]
    labels = Counter(each for each in known if isinstance(each, str))
    return sum(labels.values()) / len(labels) if labels else float(len(targets))


def static_defaults(vectors: Path, pairs: Sequence[tuple[Any, Any]], task: str) -> Mapping[str, Any]:
    """The fields of a default recipe for these examples."""
    width = table_width(vectors)
    if examples_per_class(pairs) < FEW:
        pooling = {"task": {"pooling": "normalised_mean"}} if task == "classifier" else {}
        return {
            "network": "identity",
            "width": width,
            "heads": 1,
            "layers": 1,
            "head": "fitted",
            "dropout": 0.0,
            "position": "none",
            "epochs": 1,
            "patience": 1,
            **pooling,
        }
    return {
        "network": "identity",
        "width": width,
        "heads": 1,
        "layers": 1,
        "dropout": 0.4,
        "epochs": 10,
        "learning_rate": 1e-3,
        "best_by": "loss",
        "patience": 3,
        "average": 0.98,
        "input": {"trained": True, "word_dropout": 0.2},
    }
