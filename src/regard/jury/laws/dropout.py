"""Dropout: what is kept, how much of it, the gradient behind it, and what a seed decides.

The values are unit vectors, so that an output row is its row of weights: dropped where 0, else scaled up.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from regard.jury.cases import Case, Inputs
from regard.jury.claims import Claims
from regard.jury.law import Finding, Law, worst
from regard.jury.subject import RefusedCase, Subject

__all__ = ["DROPOUT", "DROPOUT_GRADIENTS", "SEEDS"]


def _cases(claims: Claims) -> Iterator[Case]:
    if claims.dropout:
        for size, dropout in ((8, 0.5), (16, 0.2), (64, 0.1)):
            yield Case(
                dtype=claims.usual, queries=size, keys=size, feature=size, value=size, dropout=dropout, magnitude=0.3
            )


def _gradient_cases(claims: Claims) -> Iterator[Case]:
    if claims.gradients:
        yield from _cases(claims)


def _seeded(subject: Subject, inputs: Inputs, seed: int, *, gradients: bool) -> dict[str, Tensor]:
    """The outcome with a seed: of the function where it takes one, else of PyTorch's generator."""
    torch.manual_seed(seed)
    return subject.outcome(inputs, gradients=gradients, seed=seed)


def _judge(subject: Subject, case: Case) -> Finding:
    inputs = subject.make(case)
    plain = replace(inputs, case=replace(case, dropout=0.0))
    weights = subject.expected(plain, gradients=False)["output"]
    scaled = weights / (1 - case.dropout)
    bound = subject.bounds(plain)["output"] / (1 - case.dropout)
    findings, kept, draws = [], 0, 16
    for seed in range(draws):
        output = _seeded(subject, inputs, seed, gradients=False)["output"]
        there = output.cpu() != 0
        kept += int(there.sum())
        right = {"output": torch.where(there, scaled, 0.0)}
        findings.append(worst({"output": output}, right, {"output": bound}, inputs.query.dtype))
    furthest = max(findings, key=lambda finding: (finding.ratio, finding.error))
    if not furthest.holds:
        return replace(furthest, note="a weight is neither dropped nor scaled up by 1 / (1 - dropout)")
    count = draws * weights.numel()
    # Six standard deviations of a binomial's share: by chance once in five hundred million.
    share, spread = kept / count, 6 * math.sqrt(case.dropout * (1 - case.dropout) / count)
    right = 1 - case.dropout
    counted = Finding(abs(share - right), spread, "the share of weights that is kept", (), share, right)
    return max(furthest, counted, key=lambda finding: finding.ratio)


def _judge_gradients(subject: Subject, case: Case) -> Finding:
    inputs = subject.make(case)
    found = _seeded(subject, inputs, 3, gradients=True)
    # What was dropped shows in the output; the gradients must be those of the same draw.
    kept = (found["output"].cpu() != 0).double() / (1 - case.dropout)
    drawn = replace(inputs, kept=kept)
    return worst(found, subject.expected(drawn), subject.bounds(drawn), inputs.query.dtype)


def _judge_seeds(subject: Subject, case: Case) -> Finding:
    inputs = subject.make(case)
    draws = [_seeded(subject, inputs, seed, gradients=False)["output"] for seed in (1, 1, 2, 3)]
    again = float((draws[0].double() - draws[1].double()).abs().max())
    if again:
        return Finding(again, 0.0, "output", note="the same seed gives another result")
    if torch.equal(draws[0], draws[2]) or torch.equal(draws[2], draws[3]):
        return Finding(math.inf, 0.0, "output", note="another seed drops the same weights")
    torch.manual_seed(7)
    first, second = (subject.outcome(inputs, gradients=False)["output"] for _ in range(2))
    if torch.equal(first, second):
        return Finding(math.inf, 0.0, "output", note="two calls in turn, without a seed, drop the same weights")
    if (first != 0).all():
        raise RefusedCase("nothing was dropped")
    return Finding(0.0, 0.0, "output")


DROPOUT = Law(
    "dropout",
    "Dropout drops the given share of weights, and scales the others up by 1 / (1 - share).",
    "Outputs are larger or smaller on average in training than in use.",
    _cases,
    _judge,
    "dropout",
    script="dropout",
)
DROPOUT_GRADIENTS = Law(
    "dropout_gradients",
    "The gradients behind dropout are those of the draw that made the output.",
    "Weights learn from items that the output didn't use.",
    _gradient_cases,
    _judge_gradients,
    "dropout with a gradient",
    script="dropout gradients",
)
SEEDS = Law(
    "seeds",
    "The same seed drops the same weights; another seed, and the next call, drops others.",
    "Runs can't be repeated, or the same weights are dropped in every step.",
    _cases,
    _judge_seeds,
    "dropout",
    script="seeds",
)
