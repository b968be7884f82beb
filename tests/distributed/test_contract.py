"""What ranks compute together against one process with the whole sequence: over all parts two by two."""

import itertools
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from attention.cases import ALL_SIZES, Arguments, Case, covering, pairwise, pairwise_with
from attention.comparing import ROUNDING, outcome
from distributed.ranks import together
from regard.distributed import EXCHANGES, attend, chunks, shard
from regard.errors import RefusedError

CUTS = "even", "uneven", "one empty", "zigzag"
WAYS = covering((*EXCHANGES, "auto"), CUTS)
MERGED = "softmax", "relu", "sigmoid"


def counts(length: int, ranks: int, cut: str) -> list[int]:
    """How many items each rank holds."""
    if cut == "even":
        return [length // ranks + (rank < length % ranks) for rank in range(ranks)]
    if cut == "one empty":
        return [*counts(length, ranks - 1, "uneven"), 0]
    shares = list(range(1, ranks + 1))
    found = [length * share // sum(shares) for share in shares]
    return [*found[:-1], length - sum(found[:-1])]


def own(tensor: Tensor, rank: int, ranks: int, cut: str) -> Tensor:
    """A rank's part."""
    if cut == "zigzag":
        return shard(tensor, order="zigzag")
    return tensor.split(counts(tensor.shape[2], ranks, cut), 2)[rank]


def shared(arguments: Arguments, rank: int, ranks: int, exchange: str, cut: str) -> dict[str, Tensor]:
    """This rank's output and gradients, as `outcome` names them; of the operands, this rank's share of the sums."""
    three = [
        own(tensor, rank, ranks, cut).detach().clone().requires_grad_()
        for tensor in (arguments.query, arguments.key, arguments.value)
    ]
    parts = Arguments(*three, arguments.parts, arguments.rest)
    order = "zigzag" if cut == "zigzag" else "contiguous"
    output = parts(attend, exchange=exchange, order=order)
    whole = (*arguments.query.shape[:3], output.shape[-1])
    upward = torch.linspace(-1, 1, torch.Size(whole).numel(), dtype=output.dtype).view(whole)
    named = parts.named
    found = torch.autograd.grad(output, list(named.values()), own(upward, rank, ranks, cut), allow_unused=True)
    with torch.no_grad():
        result = {"output": output.detach(), "output without gradients": parts(attend, exchange=exchange, order=order)}
    for (name, tensor), gradient in zip(named.items(), found, strict=True):
        gradient = torch.zeros_like(tensor) if gradient is None else gradient
        if "operand" in name:
            torch.distributed.all_reduce(gradient)
        result[f"gradient of {name}"] = gradient
    return result


def expected_of(name: str, whole: Tensor, rank: int, ranks: int, cut: str) -> Tensor:
    return whole if "operand" in name else own(whole, rank, ranks, cut)


def gap(actual: Tensor, expected: Tensor) -> float:
    """The largest difference, as a share of the largest number; infinite where one is NaN alone."""
    assert actual.shape == expected.shape
    if not actual.numel():
        return 0.0
    far = (actual - expected).abs().max().item() / max(0.1, expected.abs().max().item())
    return far if far == far else float("inf")


def compare_all(rank: int, ranks: int, every: list[tuple[Case, Any]]) -> list[dict[str, Any]]:
    """Of each case, what was refused, or how far off it is at most, and where."""
    found = []
    for i, (case, (exchange, cut)) in enumerate(every):
        # Every other case one head of the keys at a time.
        chunks.LEAST_BYTES = (0, 2**22)[i % 2]
        arguments = case.make()
        expected = outcome(arguments, "dense")
        try:
            actual = shared(arguments, rank, ranks, exchange, cut)
        except RefusedError as error:
            found.append({"refused": str(error)})
            continue
        gaps = {name: gap(one, expected_of(name, expected[name], rank, ranks, cut)) for name, one in actual.items()}
        worst = max(gaps, key=lambda name: gaps[name])
        found.append({"gap": gaps[worst], "where": worst})
    return found


def may_refuse(case: Case, exchange: str, ranks: int) -> bool:
    """Whether an exchange that was asked for by name can't share a case."""
    if exchange == "ring":
        return not case.weights.startswith(MERGED)
    heads = ALL_SIZES[case.size].key_heads
    return exchange == "heads" and (heads % ranks > 0 or "hooks" in case.position or "own" in case.position)


@pytest.mark.parametrize(
    ("ranks", "step"),
    [
        (2, 9),
        *(pytest.param(ranks, 4, marks=pytest.mark.slow) for ranks in (2, 4)),
        *(pytest.param(ranks, 1, marks=pytest.mark.exhaustive) for ranks in (2, 4)),
    ],
)
def test_ranks_compute_what_one_process_does(ranks, step):
    every = pairwise_with(WAYS)[::step]
    found = together(ranks, compare_all, ranks, every)
    wrong, done = [], Counter()
    for i, (case, (exchange, cut)) in enumerate(every):
        told = [each[i] for each in found]
        what = f"{case}, {exchange}, {cut}"
        if "refused" in told[0]:
            assert may_refuse(case, exchange, ranks), f"{what}: {told[0]['refused']}"
            continue
        assert not may_refuse(case, exchange, ranks), f"{what} should be refused"
        done[exchange] += 1
        for rank, each in enumerate(told):
            if not each["gap"] <= 20 * ROUNDING[torch.float64]:
                wrong.append(f"{what}: {each['where']} of rank {rank} is off by {each['gap']:.2g}")
    assert not wrong, "\n".join(wrong)
    assert all(done[exchange] > 8 for exchange in (*EXCHANGES, "auto")), done


def test_every_part_meets_every_way():
    rows = [(case.mask, way) for case, way in pairwise_with(WAYS)]
    masks = {case.mask for case in pairwise()}
    assert set(rows) == set(itertools.product(masks, WAYS))
    assert {cut for _, cut in WAYS} == set(CUTS)
