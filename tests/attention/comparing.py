"""An engine against the definition, and how far apart the two may be.

What is compared are outputs and gradients of one combination in one dtype with the definition in float64, on numbers
that both dtypes hold exactly. The error budget has two parts:

- rounding: `ROUNDING[dtype]` of the largest entry, a few dozen roundings;
- the combination's own sensitivity, where that is not enough: what the definition itself is off by in the dtype, or
  moves by when its inputs are moved by a few roundings of it. So a score beside the kink of relu or of a sparse
  normaliser, two equal best keys, or terms that cancel excuse just as much as they explain. How often they had to is
  counted.
"""

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention.cases import Arguments, Case, seeded
from regard.attention import attend
from regard.attention.engines import ENGINES, blocked
from regard.attention.engines.blocked.tiles import TileSize
from regard.attention.gradients.autograd import run_recomputing
from regard.attention.parts import flatten_part, unflatten_part
from regard.attention.request import Request
from regard.errors import RefusedError

ROUNDING = {torch.float64: 2e-13, torch.float32: 2e-5}
# On a CPU, test_triton.py runs Triton's kernels in an interpreter.
NOT_HERE = ["triton"] if torch.get_default_device().type == "cpu" else []
OTHERS = [name for name in ENGINES if name not in ("dense", *NOT_HERE)]

Outcome = dict[str, Tensor]


def request_of(arguments: Arguments) -> Request:
    """The request that `attend` would make of these arguments."""
    return arguments(Request.of)


class Cut:
    """The blocked engine with tiles of another size."""

    def __init__(self, rows: int, budget: int):
        size = TileSize(rows, budget)
        self.forward = partial(blocked.forward, size=size)
        self.backward = partial(blocked.backward, size=size)

    def __call__(self, arguments: Arguments) -> Tensor:
        return self.run(request_of(arguments))

    def run(self, request: Request) -> Tensor:
        return run_recomputing(request.expanded, self)


def run(arguments: Arguments, engine: Any) -> Tensor:
    return arguments(attend, engine=engine) if isinstance(engine, str) else engine(arguments)


def outcome(arguments: Arguments, engine: Any) -> Outcome:
    """The output, and the gradient of every tensor that wants one; by a named engine or by a function of arguments.

    An engine may take another way where no gradient is wanted: its output then, too.
    """
    output = run(arguments, engine)
    with torch.no_grad():
        alone = run(arguments, engine)
    upward = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    named = arguments.named
    if not output.requires_grad:
        gradients: tuple[Tensor | None, ...] = (None,) * len(named)
    else:
        gradients = torch.autograd.grad(output, list(named.values()), upward, allow_unused=True)
    found = {"output": output.detach(), "output without gradients": alone}
    for (name, tensor), gradient in zip(named.items(), gradients, strict=True):
        found[f"gradient of {name}"] = torch.zeros_like(tensor) if gradient is None else gradient
    return found


def gaps(actual: Outcome, expected: Outcome, dtype: torch.dtype) -> dict[str, tuple[float, float]]:
    """Where the two are further apart than rounding explains: name -> (gap, what rounding explains)."""
    found = {}
    assert actual.keys() == expected.keys()
    for name, one in actual.items():
        other = expected[name]
        assert one.shape == other.shape, f"{name} is {tuple(one.shape)}, not {tuple(other.shape)}"
        if not one.numel():
            continue
        gap = (one.double() - other.double()).abs().max().item()
        budget = ROUNDING[dtype] * max(0.1, other.abs().max().item())
        if not gap <= budget:  # NaN is no gap that is small enough
            found[name] = gap, budget
    return found


def moved(arguments: Arguments, share: float, seed: int) -> Arguments:
    """The same arguments, each number changed by about that share of itself."""
    generator = seeded(seed)

    def move(tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor.dtype)
        return (tensor.detach() * (1 + share * noise)).requires_grad_(tensor.requires_grad)

    spec, tensors = flatten_part(tuple(arguments.parts.values()))
    parts = dict(zip(arguments.parts, unflatten_part(spec, tuple(map(move, tensors))), strict=True))
    return Arguments(move(arguments.query), move(arguments.key), move(arguments.value), parts, arguments.rest)


def explained(case: Case, expected: Outcome, found: dict[str, tuple[float, float]], dtype: torch.dtype) -> bool:
    """Whether the definition is half as far off in this dtype, or moves as far when its inputs are moved by little."""
    share = 32 * torch.finfo(dtype).eps
    # A gradient that cancels to 0, as that of what is the same for all keys does, is left with its terms' roundings.
    own = outcome(case.make(dtype), "dense")
    most = Counter({name: 2 * (own[name].double() - expected[name]).abs().max().item() for name in found})
    for seed in range(24):
        other = outcome(moved(case.make(), share, seed), "dense")
        for name in found:
            most[name] = max(most[name], (other[name] - expected[name]).abs().max().item())
        if all(gap <= most[name] + budget for name, (gap, budget) in found.items()):
            return True
    return False


def compare_one(case: Case, engine: str, dtype: torch.dtype, expected: Outcome) -> Counter[str]:
    """Hold one engine in one dtype to what the definition gives; what there was to count.

    Raises:
        AssertionError: it is too far off.
    """
    actual = outcome(case.make(dtype), engine)
    assert all(tensor.dtype == dtype for tensor in actual.values())
    far = gaps(actual, expected, dtype)
    if far:
        assert explained(case, expected, far, dtype), f"{case}, {engine}, {dtype}: " + "; ".join(
            f"{name} is {gap:.2g} off, more than {budget:.2g}" for name, (gap, budget) in far.items()
        )
    return Counter({"comparisons": 1, "beside a kink": int(bool(far))})


def compare(case: Case, dtypes: Iterable[torch.dtype] = ROUNDING) -> Counter[str]:
    """Hold every engine that does this combination to the definition; what there was to count.

    Raises:
        AssertionError: one of them is too far off.
    """
    counted = Counter(combinations=1)
    expected = outcome(case.make(), "dense")
    assert all(torch.isfinite(tensor).all() for tensor in expected.values()), f"{case}: the definition is not finite"
    for engine in OTHERS:
        refuses = False
        for dtype in dtypes:
            try:
                counted += compare_one(case, engine, dtype, expected)
            except RefusedError as refusal:
                assert engine != "blocked", "blocked does everything"
                reason = ENGINES[engine].refuse(request_of(case.make(dtype)))
                assert reason and reason in str(refusal)  # noqa: PT017, PT018
                counted["refusals, each with a reason"] += not refuses
                refuses = True  # on a GPU, one dtype may be refused and the other not
    return counted
