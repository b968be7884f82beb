"""Rotary positions: query and key are rotated by angles proportional to position, so that only the distance matters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from regard.attention.positions.position import Position
from regard.attention.precision import wide_dtype
from regard.attention.validation import check_count, check_number
from regard.errors import ArgumentError

__all__ = ["Rotary"]


@dataclass(frozen=True)
class Rotary(Position):
    """Rotates each pair of features of the vector at position p by the angle p base^(-2i/size), for pair i = 0, 1, ...

    The inner product of two rotated vectors depends on their positions only through the distance, and their norms don't
    change. No parameters; any length. Positions are counted so that the last query has the position of the last key, so
    a cache works: store keys unrotated; they are rotated when they are used.

    Args:
        size: how many features are rotated, the first ones; None rotates all.
        base: how fast the angles fall from pair to pair. For texts s times as long as those trained on, the "NTK-aware"
            choice is base x s^(size / (size - 2)).
        pairs: which two features make a pair: "halves", i and i + size/2 (GPT-NeoX; Llama as Hugging Face stores it),
            or "neighbours", 2i and 2i + 1 (the paper; GPT-J). Trained weights work only with the pairs of training.
        stretch: the divisor of positions: "linear position interpolation" for texts so many times as long.

    Raises:
        ArgumentError: the sizes or the name can't be used.

    Source: Su et al. 2021 (arXiv 2104.09864), equation 15 and section 3.4.2; stretch: Chen et al. 2023 (arXiv
        2306.15595), equation 4; NTK-aware: Peng et al. 2023 (arXiv 2309.00071), section 3.1.

    Example:
        >>> query = torch.tensor([[[[1.0, 0.0]] * 3]])
        >>> position = torch.arange(3)
        >>> rotated, _ = Rotary().heads(query, query, position, position)
        >>> rotated[0, 0]
        tensor([[ 1.0000,  0.0000],
                [ 0.5403,  0.8415],
                [-0.4161,  0.9093]])
    """

    size: int | None = None
    base: float = 10_000.0
    pairs: str = "halves"
    stretch: float = 1.0

    by_offset: ClassVar[bool] = True
    formulas: ClassVar[Mapping[str, str]] = {"heads": "rotate({x})"}

    def __post_init__(self) -> None:
        if self.size is not None:
            check_count("size", self.size, "how many features to rotate in pairs", least=0)
            if self.size % 2:
                raise ArgumentError(
                    f"`size` must be an even number of features to rotate in pairs, but is {self.size}."
                )
        if self.pairs not in ("halves", "neighbours"):
            raise ArgumentError(f"`pairs` must be 'halves' or 'neighbours', but is {self.pairs!r}.")
        for name in ("base", "stretch"):
            check_number(name, getattr(self, name))
            if not getattr(self, name) > 0:
                raise ArgumentError(f"`{name}` must be more than 0, but is {getattr(self, name)}.")

    def heads(self, query: Tensor, key: Tensor, query_position: Tensor, key_position: Tensor) -> tuple[Tensor, Tensor]:
        return self._rotated(query, query_position), self._rotated(key, key_position)

    def _rotated(self, vectors: Tensor, position: Tensor) -> Tensor:
        width = vectors.shape[-1]
        size = width if self.size is None else self.size
        if size > width or size % 2:
            raise ArgumentError(
                f"`position` must rotate an even number of features, {width} at most in heads of that size, but turns "
                f"{size}. Rotary(size) rotates the first `size` of them."
            )
        if not size:
            return vectors
        wide = vectors[..., :size].to(wide_dtype(vectors))
        angle = self._angles(position, size)
        cosine, sine = angle.cos().to(wide), angle.sin().to(wide)
        # (..., size) -> (..., pair), the first and the second feature of every pair.
        first, second = wide.chunk(2, -1) if self.pairs == "halves" else (wide[..., ::2], wide[..., 1::2])
        rotated = first * cosine - second * sine, second * cosine + first * sine
        together = torch.cat(rotated, -1) if self.pairs == "halves" else torch.stack(rotated, -1).flatten(-2)
        return torch.cat([together.to(vectors.dtype), vectors[..., size:]], -1)

    def _angles(self, position: Tensor, size: int) -> Tensor:
        """(..., length, pair). In float64 if the device has it: in float32, an angle at a million is off by 0.06."""
        if position.device.type == "mps":
            position = position.cpu()
        pair = torch.arange(0, size, 2, dtype=torch.float64, device=position.device)
        return (position.double() / self.stretch).unsqueeze(-1) * self.base ** (-pair / size)
