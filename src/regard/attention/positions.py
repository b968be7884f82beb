"""Positions: where an item stands, made known to attention, which by itself sees a set.

Two kinds. On inputs: a module that adds a vector to each item before anything else; `attend` never sees it.
In the operator: a part with up to three hooks - on the heads, on the scores, on the outputs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.frames import Index
from regard.errors import ArgumentError

__all__ = ["INPUT_POSITIONS", "POSITIONS", "Learned", "Position", "Relative", "RelativeKeys", "Sinusoidal"]


class Position:
    """A position scheme inside the operator; each hook does nothing unless a subclass says otherwise.

    Tensors arrive as tiles: query (group, query, feature), key (group, key, feature), where a group is one head of one
    item; `at` says which rows and columns of the whole the tile holds.
    """

    def heads(self, query: Tensor, key: Tensor, at: Index) -> tuple[Tensor, Tensor]:
        """Change queries and keys before they are scored (rotary)."""
        return query, key

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        """Change the scores before they are normalised (relative keys, distance penalties)."""
        return scores

    def outputs(self, output: Tensor, weights: Tensor, at: Index) -> Tensor:
        """Change the weighted sum (relative values)."""
        return output


@dataclass(frozen=True)
class RelativeKeys(Position):
    """score_ij += q_i . r_c / sqrt(d), where c = clip(j - i, -reach, reach) picks one of 2 reach + 1 learned vectors.

    Args:
        table: (2 reach + 1, feature), or (head, 2 reach + 1, feature) for vectors that each head has to itself.

    Source: Shaw et al. 2018 (arXiv 1803.02155), equations 3 and 4, on keys.
    """

    table: Tensor

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        reach = (self.table.shape[-2] - 1) // 2
        if self.table.shape[-1] != query.shape[-1] or self.table.shape[-2] % 2 == 0:
            raise ArgumentError(
                f"`position` must have a table (2 reach + 1, {query.shape[-1]}) for heads of that size, "
                f"but its table is {tuple(self.table.shape)}."
            )
        if self.table.ndim == 3 and len(self.table) <= int(at.head.max()):
            raise ArgumentError(f"`position` must have vectors for every head, but has them for {len(self.table)}.")
        table = self.table if self.table.ndim == 2 else self.table[at.head.flatten()]
        # The products with all 2 reach + 1 vectors first, then one gather: n x reach work, and no n x n x d tensor.
        products = (query / math.sqrt(max(query.shape[-1], 1))) @ table.to(query.dtype).mT
        distance = at.offset.clamp(-reach, reach) + reach
        return scores + products.gather(-1, distance.expand(scores.shape))


class Relative(nn.Module):
    """Learned vectors for relative positions, on keys: what two items say to each other depends on their distance.

    Beyond `reach` items every distance is the same, so any length works, those never trained on too.

    Args:
        head_size: the feature size of a head.
        reach: the largest distance that has a vector of its own.
        heads: with a number, every head has vectors of its own; otherwise all heads share them.

    Raises:
        ArgumentError: `reach` is negative.

    Source: Shaw et al. 2018 (arXiv 1803.02155), section 3.2.

    Example:
        >>> from regard import attend
        >>> x = torch.zeros(1, 2, 5, 8)
        >>> attend(x, x, x, position=Relative(8, reach=3)).shape
        torch.Size([1, 2, 5, 8])
    """

    def __init__(self, head_size: int, reach: int = 16, heads: int | None = None):
        super().__init__()
        if reach < 0:
            raise ArgumentError(f"`reach` must be a distance, 0 or more, but is {reach}.")
        shape = (2 * reach + 1, head_size) if heads is None else (heads, 2 * reach + 1, head_size)
        self.table = nn.Parameter(torch.empty(shape))
        nn.init.normal_(self.table, std=head_size**-0.5)

    def part(self) -> RelativeKeys:
        """The part for `attend`, with the table as its operand."""
        return RelativeKeys(self.table)


class Sinusoidal(nn.Module):
    """Adds fixed waves to the inputs: sin(p / 10000^(2i/d)) in the even features, cos in the odd ones. Any length.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5.

    Example:
        >>> Sinusoidal(4)(torch.zeros(1, 2, 4))[0]
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
    """

    def __init__(self, width: int):
        super().__init__()
        self.width = width

    def forward(self, vectors: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        # In float64, on the CPU: some devices have none, and float32 is off by a radian at a million.
        place = torch.arange(vectors.shape[1], dtype=torch.float64).unsqueeze(1)
        pair = torch.arange(0, self.width, 2, dtype=torch.float64)
        angle = place / 10000 ** (pair / self.width)
        # (length pair 2) -> (length width): sine and cosine stand side by side; an odd width drops the last cosine.
        wave = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, : self.width]
        return vectors + wave.to(vectors)


class Learned(nn.Module):
    """Adds a learned vector to each input, one for each position up to `length`.

    Raises:
        ArgumentError: an input is longer than `length`: there is no vector for position 129 of 128.

    Source: Gehring et al. 2017 (arXiv 1705.03122), section 3.1.
    """

    def __init__(self, width: int, length: int = 512):
        super().__init__()
        self.table = nn.Parameter(torch.empty(length, width))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, vectors: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        if vectors.shape[1] > len(self.table):
            raise ArgumentError(
                f"`vectors` must be at most {len(self.table)} long, as many positions as were learned, "
                f"but is {vectors.shape[1]} long. Sinusoidal and Relative take any length."
            )
        return vectors + self.table[: vectors.shape[1]]


POSITIONS: dict[str, Callable[..., Position | nn.Module]] = {
    "relative": Relative,
}

INPUT_POSITIONS: dict[str, Callable[..., nn.Module]] = {
    "sinusoidal": Sinusoidal,
    "learned": Learned,
}
