"""The default recipe for static vectors: a head on them for few examples, and a network for many."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.inputs.text.static_table import table_width
from regard.tasks.sources.texts import mostly_unspaced
from regard.tasks.sources.word_source import linear_rows

__all__ = ["FEW", "examples_per_class", "static_defaults"]

FEW = 256
"""The number of examples a class up to which the head is fitted, and no network trained.

On dev of three sets of texts the head was 1.6 points better with 128 examples a class, and as good with 256.
"""

# On dev of five sets of texts, n-grams beside the vectors gained up to 4 points with 64 examples a class or more, and
# never lost; with 8 to 32 they lost 1 on average (benchmarks/few_shot.py).
_NGRAMS = 64


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
    """The fields of a default recipe for these examples.

    Args:
        vectors: the file or folder.
        pairs: the training examples.
        task: the kind of the task.
    """
    count, classifies = examples_per_class(pairs), task == "classifier"
    texts = [source for source, _ in pairs if isinstance(source, str)]
    unspaced = "characters" if mostly_unspaced(texts) else "words"
    ngrams = {"linear": classifies and count >= _NGRAMS, "linear_ngrams": unspaced, "linear_rows": linear_rows(pairs)}
    if count <= FEW:
        return {
            "network": "identity",
            "width": table_width(vectors),
            "heads": 1,
            "head": "fitted",
            "dropout": 0.0,
            "input": ngrams,
            **({"task": {"pooling": "normalised_mean"}} if classifies else {}),
        }
    return {
        # Of the network of a tagger each word needs more than its neighbours.
        "network": "convolution" if classifies else "bidirectional",
        "reach": 1,
        "layers": 1,
        "dropout": 0.4,
        "average": 0.98,
        "learning_rate": 1e-3,
        "best_by": "loss",
        "patience": 3,
        "input": {"trained": True, "word_dropout": 0.2, **ngrams},
        **({"task": {"pooling": "max"}} if classifies else {}),
    }
