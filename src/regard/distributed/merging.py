"""How the outputs of a row over several slices of keys become its output over all of them.

Only some normalisers allow that: softmax, whose rows are merged by their log-sums, and those that give each key a
weight of its own, sigmoid and ReLU, whose outputs are added.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention.positions import Position
from regard.attention.positions.position import Both
from regard.attention.request import Parts, Request
from regard.attention.sizes import Index
from regard.attention.weights import Relu, Sigmoid, Softmax
from regard.distributed.kernel_gradients import kernel_gradients

__all__ = ["LogSums", "Merged", "Merging", "Sums", "merges", "merging_of"]

Counts = Callable[[], Tensor]
"""Gives how many keys each of this rank's queries may see, (batch or 1, head or 1, query); 1 for none."""


class Merged(NamedTuple):
    """The rows of some queries over all keys so far, in float32 or wider.

    Attributes:
        output: (batch, head, query, value).
        log_sums: (batch, head, query); (batch, head, 0) if results have none.
    """

    output: Tensor
    log_sums: Tensor

    def rows(self, rows: slice) -> "Merged":
        """Those of some queries, not copied."""
        return Merged(self.output[:, :, rows], self.log_sums[:, :, rows])


class Merging(ABC):
    """How to merge. Results are (batch, head, query, value), with a further column of log-sums if there are any."""

    def __init__(self, parts: Parts):
        self.parts = parts

    def parts_of(self, parts: Parts, rows: slice, first: int) -> Parts:
        """The parts for a slice of queries: those in `rows` of this rank, of which the first has this number."""
        return parts

    def nothing(self, shape: tuple[int, ...], like: Tensor, dtype: torch.dtype) -> Merged:
        """The rows over no key. `shape`: of the output."""
        output = torch.zeros(shape, dtype=dtype, device=like.device)
        return Merged(output, output.new_zeros(*shape[:2], 0))

    @abstractmethod
    def add(self, total: Merged, result: Tensor) -> None:
        """Merge a result into the total, in place."""

    @abstractmethod
    def cotangent(self, total: Merged, result: Tensor, grad_output: Tensor) -> Tensor:
        """The gradient of a result that was merged into the total, given that of the merged output."""

    def gradients(self, request: Request, total: Merged, grad_output: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
        """The gradients of query, key and value of a block, without computing it again; None where that can't be."""
        return None

    def finished(self, output: Tensor) -> Tensor:
        """The output, of what was merged."""
        return output


class LogSums(Merging):
    """out = sum_b exp(L_b - L) out_b, with L = log sum_b exp(L_b).

    Source: Milakov and Gimelshein 2018 (arXiv 1805.02867), section 3; over devices: Liu et al. 2023, Ring Attention
    (arXiv 2310.01889), section 3.
    """

    def __init__(self, parts: Parts):
        super().__init__(dataclasses.replace(parts, log_sums=True))

    def nothing(self, shape: tuple[int, ...], like: Tensor, dtype: torch.dtype) -> Merged:
        log_sums = torch.full(shape[:-1], -torch.inf, dtype=dtype, device=like.device)
        return super().nothing(shape, like, dtype)._replace(log_sums=log_sums)

    def add(self, total: Merged, result: Tensor) -> None:
        output, before, own = total.output, total.log_sums, result[..., -1]
        both = torch.logaddexp(before, own)
        output.mul_(_share(before, both).unsqueeze(-1))
        output.addcmul_(result[..., :-1], _share(own, both).unsqueeze(-1))
        before.copy_(both)

    def cotangent(self, total: Merged, result: Tensor, grad_output: Tensor) -> Tensor:
        share = _share(result[..., -1], total.log_sums).unsqueeze(-1)
        # A row that sees none of these keys passes no gradient, even if the incoming one is NaN.
        of_output = torch.where(share == 0, 0.0, grad_output * share)
        of_log_sums = (of_output * (result[..., :-1] - total.output)).sum(-1, keepdim=True)
        return torch.cat([of_output, of_log_sums], -1)

    def gradients(self, request: Request, total: Merged, grad_output: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
        return kernel_gradients(request, total.output, total.log_sums, grad_output)


def _share(own: Tensor, total: Tensor) -> Tensor:
    """exp(own - total); 0 where there is nothing."""
    return torch.where(own == -torch.inf, 0.0, (own - total).exp())


class Sums(Merging):
    """out = sum_b out_b, where a key's weight depends on its own score, and perhaps on how many keys there are."""

    def __init__(self, parts: Parts, counts: Counts):
        weights, self._factor, self._bias = parts.weights, None, None
        if type(weights) is Relu and weights.divisor is None:
            self._factor = 1.0 / counts().unsqueeze(-1)
            weights = Relu(1.0)
        elif type(weights) is Sigmoid and weights.bias is None:
            self._bias = -counts().log()
            weights = Sigmoid(0.0)
        super().__init__(dataclasses.replace(parts, weights=weights))

    def parts_of(self, parts: Parts, rows: slice, first: int) -> Parts:
        if self._bias is None:
            return parts
        bias = _RowBias(self._bias[..., rows], first)
        plain = type(parts.position) is Position
        return dataclasses.replace(parts, position=bias if plain else Both(parts.position, bias))

    def add(self, total: Merged, result: Tensor) -> None:
        total.output.add_(result)

    def cotangent(self, total: Merged, result: Tensor, grad_output: Tensor) -> Tensor:
        return grad_output

    def finished(self, output: Tensor) -> Tensor:
        return output if self._factor is None else output * self._factor


@dataclass(frozen=True)
class _RowBias(Position):
    """score_ij += b_i for a slice of queries, (batch or 1, head or 1, query), constant. Its heads are the request's."""

    table: Tensor
    first: int

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        item, head = (
            axis if size > 1 else 0 for axis, size in zip((at.batch, at.head), self.table.shape[:2], strict=True)
        )
        return scores + self.table[item, head, at.query - self.first].to(scores.dtype)

    def scores_vjp(self, grad_scores: Tensor, query: Tensor, key: Tensor, at: Index) -> tuple[Any, ...]:
        return None, None, None


def merges(parts: Parts) -> bool:
    """Whether the rows of these parts merge."""
    return type(parts.weights) in (Softmax, Relu, Sigmoid)


def merging_of(parts: Parts, counts: Counts) -> Merging:
    """How the rows of parts that merge do."""
    return LogSums(parts) if type(parts.weights) is Softmax else Sums(parts, counts)
