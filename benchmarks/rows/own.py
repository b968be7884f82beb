"""Parts that a user writes, as the documents show them, beside the same parts built in."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from rows.row import Bench, Case, Row, Work, backward

__all__ = ["ROWS"]


def _near(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """A function is a mask; without spans nothing is skipped, as with no_self."""
    return query != key


def _softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    return torch.softmax(scores, -1)


@dataclass(frozen=True)
class _ScaledDot:
    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT / math.sqrt(query.shape[-1])


def _own(bench: Bench, own: dict, built_in: dict) -> Case:
    query, key, value = inputs = bench.heads(bench.size(4096), training=True)

    def side(parts: dict):
        def make():
            from regard import attend

            return backward(lambda: attend(query, key, value, engine="blocked", **parts), inputs)

        return make

    work = Work.of(8 * query.shape[2] ** 2, 64, training=True)
    return Case(side(own), {"engine=blocked": side(built_in)}, work)


ROWS = (
    Row(
        "own-mask",
        "a user's mask, n = 4096, forward + backward",
        "built-in no_self",
        ("regard",),
        1.02,
        "both ask pair by pair; only the way there differs",
        lambda bench: _own(bench, {"mask": _near}, {"mask": "no_self"}),
        most=1.1,
    ),
    Row(
        "own-weights",
        "a user's normaliser, n = 4096, forward + backward",
        "built-in softmax",
        ("regard",),
        1.05,
        "623 ms to 596 ms in the prototypes: products by hand, autograd on the tile for the normaliser",
        lambda bench: _own(bench, {"weights": _softmax}, {"weights": "softmax"}),
        most=1.1,
    ),
    Row(
        "own-score",
        "a user's score, n = 4096, forward + backward",
        "built-in scaled_dot",
        ("regard",),
        1.35,
        "838 ms to 596 ms in the prototypes: autograd on the tile for the score's two products",
        lambda bench: _own(bench, {"score": _ScaledDot()}, {"score": "scaled_dot"}),
        most=1.5,
    ),
)
