"""Linear biases: the larger the distance, the lower the score, with a slope for each head."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attention.positions.offset_bias import OffsetBias
from regard.attention.positions.position import PositionModule, check_per_head
from regard.attention.precision import wide_dtype
from regard.attention.sizes import Sizes
from regard.attention.validation import check_count, check_tensor

__all__ = ["Alibi", "Slopes", "alibi_slopes"]


@dataclass(frozen=True)
class Slopes(OffsetBias):
    """score_ij -= slope |j - i|, with any slopes, which may be trained.

    Args:
        slopes: (head,), or a single number as a tensor without axes.
    """

    slopes: Tensor

    by_offset: ClassVar[bool] = True
    formulas: ClassVar[Mapping[str, str]] = {"scores": "-slope * |j - i|"}

    def __post_init__(self) -> None:
        check_tensor("slopes", self.slopes, "() or (head,)", (0, 1))

    def bias(self, offset: Tensor) -> Tensor:
        # In float32 or wider, because in half precision a distance of 277 would be rounded to 276 or 278.
        return -self.slopes.to(wide_dtype(self.slopes)).reshape(-1, 1, 1) * offset.abs()

    def bias_vjp(self, gradient: Tensor, offset: Tensor) -> tuple[Tensor | None, ...]:
        sums = -(gradient * offset.abs()).sum((1, 2))
        return (sums if self.slopes.ndim else sums.sum(),)

    def check(self, heads: int, sizes: Sizes) -> None:
        if self.slopes.ndim > 0:
            check_per_head(self.slopes, heads, "slopes")

    def select(self, heads: Tensor) -> "Slopes":
        per_head = self.slopes.ndim > 0
        return dataclasses.replace(self, slopes=self.slopes[heads]) if per_head else self


class Alibi(PositionModule):
    """score_ij -= slope_h |j - i|: no parameters, any length; the paper trains on short texts and tests on long ones.

    In the paper attention is causal, and |j - i| is how far back the key lies. Without a causal mask, keys after the
    query are lowered in the same way, so that both directions look the same.

    Args:
        heads: how many heads there are; their slopes fall geometrically, from steep (local) to gentle.

    Raises:
        ArgumentError: the number of heads is below 1.

    Source: Press et al. 2022 (arXiv 2108.12409), section 3; if `heads` isn't a power of two, as in its published code.

    Example:
        >>> from regard.attention import weigh
        >>> x = torch.zeros(1, 8, 3, 4)
        >>> weigh(x, x, mask="causal", position=Alibi(heads=8))[0, 0]
        tensor([[1.0000, 0.0000, 0.0000],
                [0.3775, 0.6225, 0.0000],
                [0.1863, 0.3072, 0.5065]])
    """

    slopes: Tensor

    def __init__(self, heads: int):
        super().__init__()
        self.register_buffer("slopes", _exact_slopes(heads, torch.get_default_device()), persistent=False)

    def _apply(self, *arguments: Any, **named: Any) -> "Alibi":
        # The slopes go where the module goes, but don't take its dtype: scores are wider than a narrow module.
        self.slopes = self.slopes.float()  # some devices have no float64
        super()._apply(*arguments, **named)
        self.slopes = _exact_slopes(len(self.slopes), self.slopes.device)
        return self

    def part(self) -> Slopes:
        """The part for `attend`."""
        return Slopes(self.slopes)


def alibi_slopes(heads: int) -> Tensor:
    """The slopes of ALiBi, (head,): a geometric sequence with first term and ratio 2^(-8/heads).

    If `heads` isn't a power of two: the slopes for the next lower power, then every other slope for the next higher.

    Example:
        >>> alibi_slopes(4)
        tensor([0.2500, 0.0625, 0.0156, 0.0039])
        >>> alibi_slopes(3)
        tensor([0.0625, 0.0039, 0.2500])
    """
    # Where a parameter would be made.
    return _exact_slopes(heads, torch.get_default_device()).to(torch.get_default_dtype())


def _exact_slopes(heads: int, device: torch.device) -> Tensor:
    """The slopes in float64, if the device has it."""
    check_count("heads", heads, "how many heads there are")
    lower = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * k / lower) for k in range(1, lower + 1)]
    between = [2 ** (-8 * k / (2 * lower)) for k in range(1, 2 * lower + 1, 2)]
    dtype = torch.float32 if device.type == "mps" else torch.float64
    return torch.tensor((slopes + between)[:heads], dtype=dtype, device=device)
