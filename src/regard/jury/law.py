"""A law: one sentence that must hold of every attention function, and how it is judged on one case."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.jury.bounds import Precision
from regard.jury.cases import Case
from regard.jury.claims import Claims
from regard.jury.subject import Outcome, Subject

__all__ = ["Finding", "Law", "worst"]


@dataclass(frozen=True)
class Finding:
    """The worst of one case: how far a number is off, and how far it may be.

    Args:
        error, bound: the distance to what is right, and the largest that the law allows.
        what, where: which tensor of the outcome, and the index of the number in it.
        got, right: the number, and what it must be.
        note: what else was found.
    """

    error: float
    bound: float
    what: str = ""
    where: tuple[int, ...] = ()
    got: float = 0.0
    right: float = 0.0
    note: str = ""

    @property
    def ratio(self) -> float:
        """The error in units of the bound; infinite where it is NaN, or where the bound is 0 and the error isn't."""
        if math.isnan(self.error):
            return math.inf
        if self.bound == 0:
            return math.inf if self.error else 0.0
        return self.error / self.bound

    @property
    def holds(self) -> bool:
        return self.ratio <= 1


@dataclass(frozen=True)
class Law:
    """A law, and how to judge it.

    Args:
        name: one word for the command line.
        says: what must hold, in one sentence.
        matters: what it means for training where it doesn't, in one sentence.
        cases: what it is judged on, from small to large, of what a function claims; none if it doesn't offer what the
            law is about.
        judge: finds the worst of one case; raises `RefusedCase` where the function raises an error.
        needs: what a function must offer, in words, for the verdict "not offered".
        script: how a failing case is shown (script.py).
    """

    name: str
    says: str
    matters: str
    cases: Callable[[Claims], Iterable[Case]]
    judge: Callable[[Subject, Case], Finding]
    needs: str = ""
    script: str = "compared"


def worst(found: Outcome, right: Outcome, bounds: Outcome, dtype: torch.dtype) -> Finding:
    """The number that is furthest off in units of its bound, of all tensors of an outcome.

    Where the right number is NaN or infinite, none but such a one will do; where it is too large for the dtype,
    or nearly so, any will.
    """
    largest = Precision.of(dtype).largest
    worst_of_all = Finding(0.0, 0.0, next(iter(right), ""))
    for name, wanted in right.items():
        got = found[name].detach().cpu()
        if got.shape != wanted.shape:
            note = f"{name} has the shape {tuple(got.shape)}, and must have {tuple(wanted.shape)}"
            return Finding(math.inf, 0.0, name, note=note)
        if got.dtype != dtype:
            return Finding(math.inf, 0.0, name, note=f"{name} is in {got.dtype}, and must be in {dtype}")
        if not wanted.numel():
            continue
        one = _worst_number(name, got.double(), wanted, bounds[name], largest)
        if (one.ratio, one.error) > (worst_of_all.ratio, worst_of_all.error):
            worst_of_all = one
    return worst_of_all


def _worst_number(name: str, got: Tensor, wanted: Tensor, bound: Tensor, largest: float) -> Finding:
    error = (got - wanted).abs()
    error = torch.where(got.isfinite() & wanted.isfinite(), error, torch.inf)
    # Not finite where it must not be is right, and so is either where rounding decides whether it overflows. A bound
    # that isn't finite excuses any number, but not NaN.
    both = ~wanted.isfinite() & ~got.isfinite()
    either = wanted.isfinite() & bound.isfinite() & (wanted.abs() + bound > largest)
    either |= wanted.isfinite() & ~bound.isfinite() & got.isfinite()
    error = torch.where(both | either, 0.0, error)
    bound = torch.where(bound.isfinite(), bound, 0.0)
    ratio = torch.where(error == 0, 0.0, error / bound)
    at = int(ratio.argmax())
    where = tuple(int(i) for i in torch.unravel_index(torch.tensor(at, device="cpu"), ratio.shape))
    return Finding(
        float(error.flatten()[at]),
        float(bound.flatten()[at]),
        name,
        where,
        float(got.flatten()[at]),
        float(wanted.flatten()[at]),
    )
