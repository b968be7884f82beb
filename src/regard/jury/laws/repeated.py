"""The same call again: the same bits, and inputs as they were."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from regard.jury.cases import Case
from regard.jury.claims import Claims
from regard.jury.law import Finding, Law
from regard.jury.subject import Subject

__all__ = ["DETERMINISM", "INPUTS"]

_TIMES = 6


def _cases(claims: Claims) -> Iterator[Case]:
    case = Case(dtype=claims.usual)
    yield case
    yield replace(case, queries=129, keys=257, feature=32, value=32)
    if claims.grouped:
        yield replace(case, heads=6, key_heads=2, queries=33, keys=65)
    if claims.mask:
        yield replace(case, mask="some", queries=33, keys=65)
    if claims.bias:
        yield replace(case, bias="table", batch=2, queries=33, keys=65)


def _judge(subject: Subject, case: Case) -> Finding:
    inputs, gradients = subject.make(case), subject.claims.gradients
    first = subject.outcome(inputs, gradients=gradients)
    for _ in range(_TIMES - 1):
        again = subject.outcome(inputs, gradients=gradients)
        for name, tensor in first.items():
            if not torch.equal(tensor, again[name]):
                apart = (tensor.double() - again[name].double()).abs()
                at = int(apart.nan_to_num(torch.inf).argmax())
                where = tuple(int(i) for i in torch.unravel_index(torch.tensor(at, device="cpu"), apart.shape))
                one, other = float(again[name].flatten()[at]), float(tensor.flatten()[at])
                note = "the same call gives other bits"
                return Finding(float(apart.flatten()[at]), 0.0, name, where, one, other, note)
    return Finding(0.0, 0.0, "output")


def _judge_inputs(subject: Subject, case: Case) -> Finding:
    inputs, gradients = subject.make(case), subject.claims.gradients
    before = {**inputs.wanted, "what comes from above": inputs.upward}
    before |= {} if inputs.mask is None else {"mask": inputs.mask}
    kept = {name: tensor.clone() for name, tensor in before.items()}
    # First without gradients: PyTorch refuses to change a leaf that wants one.
    subject.outcome(inputs, gradients=False)
    if gradients:
        subject.outcome(inputs)
    for name, tensor in before.items():
        if not torch.equal(tensor, kept[name]):
            apart = (tensor.double() - kept[name].double()).abs()
            at = int(apart.nan_to_num(torch.inf).argmax())
            where = tuple(int(i) for i in torch.unravel_index(torch.tensor(at, device="cpu"), apart.shape))
            got, right = float(tensor.flatten()[at]), float(kept[name].flatten()[at])
            return Finding(float(apart.flatten()[at]), 0.0, name, where, got, right, "the call changed it")
    return Finding(0.0, 0.0, "query")


DETERMINISM = Law(
    "determinism",
    "The same call gives the same bits, forward and backward.",
    "Runs can't be repeated, and a bisection of a bad run finds nothing.",
    _cases,
    _judge,
    script="repeated",
)
INPUTS = Law(
    "inputs",
    "Inputs are left as they are, and so are the mask and the gradient that comes from above.",
    "What else uses the same tensor, such as a residual connection, computes with changed numbers.",
    _cases,
    _judge_inputs,
    script="unchanged",
)
