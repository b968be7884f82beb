"""What the contract is tested over: an example of every part in the dicts, and some that people combine."""

import itertools
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention import Causal, Dense, Lengths, NoSelf, Position, Relative, Window

HEADS, FEATURE, VALUE, BATCH = 2, 5, 3, 2


def shifted(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """A mask of a user's own: it depends on all four indices."""
    return (key + 2 * query + batch + head) % 3 != 0


def distance(query: Tensor, key: Tensor) -> Tensor:
    """A score of a user's own: minus the squared distance."""
    return -(query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)


def squared(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """A normaliser of a user's own."""
    finite = torch.where(scores == -torch.inf, 0.0, scores)
    return finite.square()


@dataclass(frozen=True)
class AllHooks(Position):
    """A position scheme of a user's own that uses every hook, with an operand."""

    strength: Tensor

    def heads(self, query, key, at):
        return query * (1 + 0.1 * at.query.to(query.dtype)), key * self.strength

    def scores(self, scores, query, key, at):
        return scores - self.strength * at.offset.abs().to(scores.dtype)

    def outputs(self, output, weights, at):
        return output + self.strength * (weights * at.offset.to(weights.dtype)).sum(-1, keepdim=True)


@dataclass(frozen=True)
class Size:
    """Queries and keys, and how many of them each item really has."""

    queries: int
    keys: int
    query_lengths: tuple[int, int]
    key_lengths: tuple[int, int]

    @property
    def lengths(self) -> Lengths:
        return Lengths(query=list(self.query_lengths), key=list(self.key_lengths))


SELF = Size(13, 13, (13, 7), (13, 7))
CROSS = Size(7, 11, (4, 7), (11, 0))
LONGER = Size(11, 7, (11, 5), (6, 7))
SIZES = {"self": SELF, "cross": CROSS, "longer": LONGER}

MASK_EXAMPLES = {
    "dense": lambda size: Dense(),
    "causal": lambda size: Causal(),
    "window": lambda size: Window(2, 1),
    "lengths": lambda size: size.lengths,
    "no_self": lambda size: NoSelf(),
    "own function": lambda size: shifted,
    "causal & lengths": lambda size: Causal() & size.lengths,
    "window & causal & lengths": lambda size: Window(3, 3) & Causal() & size.lengths,
    "window | own function": lambda size: Window(1, 0) | shifted,
    "~causal": lambda size: ~Causal(),
    "~(window | lengths)": lambda size: ~(Window(1, 1) | size.lengths),
    "no_self & lengths": lambda size: NoSelf() & size.lengths,
    "nothing": lambda size: ~Dense(),
}

POSITION_EXAMPLES = {
    "none": lambda dtype: None,
    "relative": lambda dtype: relative(2, None, dtype),
    "relative by head": lambda dtype: relative(1, HEADS, dtype),
    "own": lambda dtype: AllHooks(torch.tensor(0.3, dtype=dtype, requires_grad=True)),
}

SCORE_EXAMPLES: dict[str, Any] = {"dot": "dot", "scaled_dot": "scaled_dot", "own function": distance}
WEIGHTS_EXAMPLES: dict[str, Any] = {"softmax": "softmax", "relu": "relu", "own function": squared}


def relative(reach: int, heads: int | None, dtype: torch.dtype) -> Relative:
    torch.manual_seed(5)
    return Relative(FEATURE, reach, heads).to(dtype)


def tensors(size: Size, dtype: torch.dtype = torch.float64, seed: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value that want gradients."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (size.queries, FEATURE), (size.keys, FEATURE), (size.keys, VALUE)
    query, key, value = (
        torch.randn(BATCH, HEADS, *shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in shapes
    )
    return query, key, value


def product() -> list[tuple[str, str, str, str, str]]:
    """Every combination: score, weights, mask, position, size."""
    return list(itertools.product(SCORE_EXAMPLES, WEIGHTS_EXAMPLES, MASK_EXAMPLES, POSITION_EXAMPLES, SIZES))
