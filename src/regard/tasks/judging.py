"""How good answers are: the figure of their kind, with an interval, and beside it what else says something."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.extras import require
from regard.tasks.answers import Answer, Label, Number
from regard.tasks.calibration import Calibration
from regard.tasks.intervals import Interval, interval_of_share, resampled

__all__ = ["Judged", "judge"]

_RESAMPLES = 1000


@dataclass(frozen=True)
class Judged:
    """What a model's `evaluate` found.

    Args:
        measure: what the score is.
        score: the figure.
        interval: between which it lies with 95 % confidence; None where there are too few examples to say.
        method: how the interval was found, and of what: of examples; of a tagger sources, or, of a single one, its
            items.
        examples: how many were judged: those of which something is known; of a tagger, items.
        macro_f1: the mean F1 over the labels that truly occur; None where answers are no labels.
        confusions: (true label, label given, how often), most frequent first; of labels only.
        more: what else is usually told, by name: the chrF of translations.
        r2: of numbers, the share of their variance that is explained: 1 is perfect, 0 what their mean would do, and
            less is worse; None of others, and where the numbers wanted are all the same.
        spearman: of numbers, Spearman's rank correlation with those wanted: 1 if their order is right, -1 if it is
            turned round; None of others, and where it is undefined: either are all the same.
        calibration: how far the probabilities are from how often they come true; None where there are none.
        empty: sources that held nothing, which no answer was given for.
        seconds: how long answering took, without judging; None if it wasn't timed.
    """

    measure: str
    score: float
    interval: Interval
    method: str
    examples: int
    macro_f1: float | None = None
    confusions: tuple[tuple[str, str, int], ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    r2: float | None = None
    spearman: float | None = None
    calibration: Calibration | None = None
    empty: int = 0
    seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The scores as plain values."""
        return asdict(self)


def judge(answer: Answer, given: Tensor, wanted: Tensor, *, lengths: Sequence[int] | None = None) -> Judged:
    """Compare the numbers that a net gave with what is wanted.

    Args:
        answer: what the numbers mean.
        given: (thing, outputs) the numbers.
        wanted: (thing, ...) what is wanted, of which something is known.
        lengths: where the things are the items of sources, one source after the other, how many each has: items of
            one source are right or wrong together, so sources are drawn for the interval; of one alone, its items.

    Example:
        >>> judged = judge(Label(("a", "b")), torch.eye(2), torch.tensor([0, 0]))
        >>> judged.score, judged.confusions
        (0.5, (('a', 'b', 1),))
    """
    known = answer.known(wanted)
    given, wanted = given[known], wanted[known]
    counts = [] if lengths is None else [count for own in known.split([*lengths]) if (count := int(own.sum()))]
    if isinstance(answer, Label):
        right = (given.argmax(-1) == wanted).numpy()
        interval, method = interval_of_share(
            right, np.array(counts) if counts else None, ("sources", "examples" if lengths is None else "items")
        )
    else:
        called = "examples" if lengths is None else "sources" if len(counts) > 1 else "items"
        sources = torch.arange(len(given)).split(counts) if called == "sources" else ()

        def draw(count: int) -> list[float]:
            # One after the other: a thousand times the frames of an hour would take gigabytes.
            return [answer.judge(given[each], wanted[each]) for each in _drawn(count, sources)]

        interval, method = resampled(len(sources) or len(given), draw, called)
    more: dict[str, Any] = {"calibration": answer.calibration(given, wanted)}
    if isinstance(answer, Label):
        more |= _of_labels(answer, given, wanted)
    elif isinstance(answer, Number):
        more |= {"r2": _explained(given[:, 0], wanted), "spearman": _rank_correlation(given[:, 0], wanted)}
    score = answer.judge(given, wanted)
    return Judged(answer.measure.name, score, interval, method, len(given), **more)


def _drawn(count: int, sources: Sequence[Tensor]) -> Iterator[Tensor]:
    """As many as there are, again and again: of the things, or of the sources that hold them, if there are any."""
    generator = np.random.default_rng(0)
    for _ in range(_RESAMPLES):
        chosen = generator.integers(count, size=count)
        yield torch.cat([sources[each] for each in chosen.tolist()]) if sources else torch.from_numpy(chosen)


def _explained(given: Tensor, wanted: Tensor) -> float | None:
    if len(wanted.unique()) < 2:
        return None
    return float(require("sklearn.metrics", extra="train").r2_score(wanted.double(), given.double()))


def _rank_correlation(given: Tensor, wanted: Tensor) -> float | None:
    if len(given.unique()) < 2 or len(wanted.unique()) < 2:
        return None
    # SciPy comes with scikit-learn.
    return float(require("scipy.stats", extra="train").spearmanr(given.double(), wanted.double()).statistic)


def _of_labels(answer: Label, given: Tensor, wanted: Tensor) -> dict[str, Any]:
    best = given.argmax(-1)
    known = wanted >= 0
    kinds, counts = torch.stack([wanted[known], best[known]]).unique(dim=1, return_counts=True)
    table = torch.zeros(len(answer.names), len(answer.names), dtype=torch.int64)
    table[kinds[0], kinds[1]] = counts
    true, found, right = table.sum(1), table.sum(0), table.diagonal()
    f1 = 2 * right / (true + found).clamp(min=1)
    wrong = [
        (answer.names[a], answer.names[b], int(table[a, b])) for a, b in (table - torch.diag(right)).nonzero().tolist()
    ]
    return {
        "macro_f1": float(f1[true > 0].double().mean()) if known.any() else 0.0,
        "confusions": tuple(sorted(wrong, key=lambda each: (-each[2], each))),
    }
