"""Compiled parts: faster implementations, tile by tile, of parts that aren't matrix products."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.engines.jit import additive, dropout, entmax
from regard.attention.entmax import entmax_alpha_vjp
from regard.attention.request import Parts
from regard.attention.scores import Additive
from regard.attention.sizes import Index
from regard.attention.weights import Entmax, Sparsemax

__all__ = ["CompiledAdditive", "CompiledEntmax", "drop", "parts"]


def parts(parts: Parts) -> Parts:
    """The same parts, compiled where a kernel exists. Exact types only: a subclass may compute something else."""
    score: Any = parts.score
    weights: Any = parts.weights
    if type(score) is Additive:
        activation: Any = score.activation
        score = CompiledAdditive(score.vector, activation, score.slope)
    if type(weights) is Sparsemax:
        weights = CompiledEntmax(2.0)
    elif type(weights) is Entmax:
        weights = CompiledEntmax(weights.alpha)
    return dataclasses.replace(parts, score=score, weights=weights)


def drop(weights: Tensor, at: Index, fraction: float, seed: int) -> Tensor:
    """The weights with a fraction of them set to 0 and the others scaled up, in place."""
    indices = at.batch.flatten(), at.whole_head.flatten(), at.query.flatten(), at.key.flatten()
    return dropout.drop(weights.contiguous(), fraction, seed, indices)


@dataclass(frozen=True)
class CompiledAdditive:
    """`Additive` without its bias, which has been added to the queries."""

    vector: Tensor
    activation: additive.Activation
    slope: float

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return additive.scores(query, key, self.vector.to(query.dtype), self.activation, self.slope)

    def vjp(self, grad_scores: Tensor, query: Tensor, key: Tensor) -> tuple[Tensor, ...]:
        return additive.vjp(grad_scores, query, key, self.vector.to(query.dtype), self.activation, self.slope)

    def select(self, heads: Tensor) -> "CompiledAdditive":
        return self if self.vector.ndim == 1 else dataclasses.replace(self, vector=self.vector[heads])


@dataclass(frozen=True)
class CompiledEntmax:
    """`Entmax`, and `Sparsemax` as alpha = 2. `alpha`: a number, () or (head,)."""

    alpha: float | Tensor

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return self._into(torch.empty_like(scores), scores)

    def normalise_(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        scores = scores.contiguous()
        return self._into(scores, scores)

    def vjp(self, grad_weights: Tensor, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, ...]:
        grad_weights = grad_weights.contiguous()
        if not isinstance(self.alpha, Tensor):
            return (entmax.vjp(grad_weights, weights, self.alpha, out=grad_weights),)
        alpha = self.alpha.to(weights.dtype).reshape(-1, 1, 1)
        grad_alpha = entmax_alpha_vjp(grad_weights, weights, alpha).view(self.alpha.shape)
        for grad, weight, number in zip(grad_weights, weights, self._numbers(weights), strict=True):
            entmax.vjp(grad, weight, number, out=grad)
        return grad_weights, grad_alpha

    def select(self, heads: Tensor) -> "CompiledEntmax":
        own = isinstance(self.alpha, Tensor) and self.alpha.ndim == 1
        return CompiledEntmax(self.alpha[heads]) if own else self  # pyright: ignore[reportIndexIssue]

    def _into(self, out: Tensor, scores: Tensor) -> Tensor:
        if not isinstance(self.alpha, Tensor):
            return entmax.entmax(scores, self.alpha, out=out)
        for result, score, number in zip(out, scores, self._numbers(scores), strict=True):
            if 1.0 < number < math.inf:
                entmax.entmax(score, number, out=result)
            else:
                result.fill_(torch.nan)
        return out

    def _numbers(self, scores: Tensor) -> list[float]:
        """Alpha for each group of a tile (group, row, column)."""
        return torch.as_tensor(self.alpha, dtype=scores.dtype, device="cpu").expand(len(scores)).tolist()
