"""Effective weights: the matrix by which a state-space layer mixes its inputs, though it has no attention.

A selective state-space layer reads its inputs one after another,

    h_t = exp(d_t A) h_(t-1) + d_t B_t x_t,        y_t = C_t h_t,

so that y_t = sum_(s <= t) w_ts x_s with w_ts = sum_n C_tn exp(A_n (d_(s+1) + ... + d_t)) d_s B_sn. These numbers may be
negative, and a row needn't sum to 1.

Source: Ali, Zimerman and Wolf 2024, The Hidden Attention of Mamba Models (arXiv 2403.01590), section 3, where the
outputs are written as a product of a matrix and the inputs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from regard.attention import Index, Position

__all__ = ["Effective", "Gated", "StateSpace", "split_sums"]


@dataclass(frozen=True)
class Effective:
    """Weights that are the scores themselves, and effective ones: not normalised, and of either sign."""

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return scores if allowed is None else torch.where(allowed, scores, 0.0)


@dataclass(frozen=True)
class StateSpace(Position):
    """The effective weights of a selective state-space layer, in the place of the scores.

    They need two numbers of each query and three of each key, as `split_sums` makes them: the sum of the steps up to
    it, in two parts, and of a key its own step.

    Args:
        reads: (batch, group, length, state), C: how an output reads the state.
        writes: (batch, group, length, state), B: how an input is written to the state.
        rates: (head, state), A, below 0: how fast each number of the state decays; (head, 1) if all decay alike.
        group: (head,), which of the groups a head has.

    Example:
        >>> steps = torch.tensor([[[1.0, 2.0, 1.0]]])
        >>> part = StateSpace(torch.ones(1, 1, 3, 1), torch.ones(1, 1, 3, 1), torch.tensor([[-1.0]]), torch.tensor([0]))
        >>> from regard.attention import weigh
        >>> weigh(*split_sums(steps), weights=Effective(), mask="causal", position=part)[0, 0]
        tensor([[1.0000, 0.0000, 0.0000],
                [0.1353, 2.0000, 0.0000],
                [0.0498, 0.7358, 1.0000]])
    """

    reads: Tensor
    writes: Tensor
    rates: Tensor
    group: Tensor

    adds: ClassVar[bool] = False
    formulas: ClassVar[Mapping[str, str]] = {}

    @property
    def is_of_channels(self) -> bool:
        """Whether each head is one channel, whose numbers decay each by itself, as in the first Mamba."""
        return self.rates.shape[1] > 1

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        group = self.group[at.head]
        reads = self.reads[at.batch, group, at.query].squeeze(-2).to(query.dtype)
        writes = self.writes[at.batch, group, at.key].squeeze(-3).to(key.dtype) * key[..., 2:3]
        # Large sums cancel in the first part, and what it lost of them is in the second.
        passed = (query[..., 0].unsqueeze(-1) - key[..., 0].unsqueeze(-2)) + (
            query[..., 1].unsqueeze(-1) - key[..., 1].unsqueeze(-2)
        )
        # Keys that come later are hidden; without a bound their exponentials overflow.
        passed = passed.clamp(min=0.0)
        rates = self.rates[at.head].flatten(0, -2).unsqueeze(1).unsqueeze(1).to(query.dtype)
        if not self.is_of_channels:
            return ((reads @ writes.mT) * torch.exp(rates[..., 0] * passed)).to(scores.dtype)
        found = torch.zeros_like(passed)
        # One number of the state at a time: all of them would take as many times the memory.
        for number in range(self.rates.shape[1]):
            decay = torch.exp(rates[..., number] * passed)
            found += reads[..., number].unsqueeze(-1) * decay * writes[..., number].unsqueeze(-2)
        return found.to(scores.dtype)

    def of_heads(self, heads: slice) -> "StateSpace":
        """The part of some heads, which count from 0 then."""
        return replace(self, rates=self.rates[heads], group=self.group[heads])


@dataclass(frozen=True)
class Gated:
    """What a state-space layer does to the outputs of its heads: (o_t + D x_t) g_t.

    Args:
        skip: (head,), D: the share of its own input that each output gets besides.
        gate: (batch, head, length, feature), g; None: there is none.
    """

    skip: Tensor
    gate: Tensor | None = None

    def __call__(self, outputs: Tensor, value: Tensor, rows: Tensor) -> Tensor:
        """The outputs (batch, head, row, feature) of some queries, given the inputs of all."""
        found = outputs + self.skip[:, None, None].to(outputs.dtype) * value[:, :, rows]
        return found if self.gate is None else found * self.gate[:, :, rows].to(found.dtype)


def split_sums(steps: Tensor) -> tuple[Tensor, Tensor]:
    """What `StateSpace` needs of steps (batch, head, length): queries and keys (batch, head, length, 3).

    Sums are added up in float64 and kept as two numbers of float32, since the exponent of a decay is a difference of
    two large sums.
    """
    sums = steps.double().cumsum(-1)
    first = sums.float()
    rest = (sums - first.double()).float()
    query = torch.stack([first, rest, torch.zeros_like(first)], -1)
    return query, torch.stack([first, rest, steps.float()], -1)
