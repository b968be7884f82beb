"""Weights and their statistics over several processes against those of one process, by their definition."""

from typing import Any

import pytest
import torch
from torch import Tensor

from attention.cases import Case, numbers, pairwise_with
from attention.comparing import request_of
from attention.test_summarise import FIELDS, allowed_in, defined
from distributed.ranks import together
from distributed.test_contract import CUTS, own
from regard import distributed
from regard.attention import Causal, Documents, Lengths, Summary, Window, weigh
from regard.errors import ArgumentError, RefusedError, RegardError, UnknownNameError

TOP, POOL = 5, 4
WORST = 1e-12


def order_of(cut: str) -> str:
    return "zigzag" if cut == "zigzag" else "contiguous"


def gaps(case: Case, cut: str, rank: int, ranks: int) -> dict[str, float]:
    """How far this rank's part of each field is from that of one process, as a share of its largest number."""
    arguments = case.make()
    query, key, parts = arguments.query, arguments.key, arguments.parts
    with torch.no_grad():
        weights = weigh(query, key, **parts)
        every = defined(weights, *allowed_in(request_of(arguments)), TOP, POOL, [])
        mine = [own(each.detach(), rank, ranks, cut) for each in (query, key)]
        rows = [mine[0].shape[2] - 1, 0] if mine[0].shape[2] else []
        shared = {**parts, "order": order_of(cut)}
        found = distributed.summarise(*mine, **shared, top=TOP, pool=POOL, rows=rows)
        table = distributed.weigh(*mine, **shared)
    own_weights = own(weights, rank, ranks, cut)
    expected = {name: getattr(every, name) for name in FIELDS}
    expected |= {name: own(expected[name], rank, ranks, cut) for name in ("top_weight", "entropy", "distance", "zeros")}
    expected["received"] = own(every.received, rank, ranks, cut)
    expected["rows"] = own_weights[:, :, rows]
    far = {name: gap(getattr(found, name), expected[name]) for name in FIELDS}
    # The index is of a key with that weight, whichever of two that rounding makes equal.
    there = torch.where(found.top_index < 0, 0.0, own_weights.gather(-1, found.top_index.clamp(min=0)))
    far["top_index"] = gap(there, found.top_weight)
    far["missing"] = float((found.top_index < 0).ne(own(every.top_index < 0, rank, ranks, cut)).any())
    far["weigh"] = gap(table, own_weights)
    return far


def gap(actual: Tensor, expected: Tensor) -> float:
    """The largest difference, as a share of the largest number; infinite where one is NaN alone."""
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    if not actual.numel():
        return 0.0
    far = (actual - expected).abs().max().item() / max(1.0, expected.abs().max().item())
    return far if far == far else float("inf")


def every_gap(rank: int, ranks: int, every: list[tuple[Case, str]]) -> list[dict[str, float]]:
    return [gaps(case, cut, rank, ranks) for case, cut in every]


@pytest.mark.parametrize(
    ("ranks", "step"),
    [
        (2, 9),
        *(pytest.param(ranks, 4, marks=pytest.mark.slow) for ranks in (2, 4)),
        *(pytest.param(ranks, 1, marks=pytest.mark.exhaustive) for ranks in (2, 4)),
    ],
)
def test_ranks_have_the_statistics_of_one_process(ranks, step):
    every = pairwise_with(CUTS)[::step]
    assert {cut for _, cut in every} == set(CUTS)
    wrong = [
        f"{case}, {cut}: {name} of rank {rank} is off by {far:.2g}"
        for rank, found in enumerate(together(ranks, every_gap, ranks, every))
        for (case, cut), each in zip(every, found, strict=True)
        for name, far in each.items()
        if not far <= WORST
    ]
    assert not wrong, "\n".join(wrong)


def laws(rank: int) -> dict[str, Any]:
    """Everything else that is asked of two ranks, so that they start once."""
    return {
        "counted": counted(),
        "again": again(),
        "memory": memory(),
        "gradient": gradient(rank),
        "refused": refused(rank),
    }


def halves(length: int, heads: int = 2, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    return [distributed.shard(numbers(1, heads, length, 8, seed=seed, grad=False).to(dtype)) for seed in (1, 2)]


def counted() -> dict[str, int]:
    """The bytes of keys that this rank sends, by mask."""
    masks = {"full": None, "window": Window(3, 0), "documents": Documents.of_lengths([32, 32]), "causal": Causal()}
    found, exchange = {}, distributed.peers.Peers.exchange
    for name, mask in masks.items():
        sent: list[int] = []

        def count(peers: Any, outgoing: Any, *rest: Any, **more: Any) -> Any:
            sent.append(sum(tensor.nbytes for tensors in outgoing.values() for tensor in tensors))  # noqa: B023
            return exchange(peers, outgoing, *rest, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distributed.peers.Peers, "exchange", count)
            distributed.summarise(*halves(64), mask=mask)
        found[name] = sent[0]
    return found


def again() -> bool:
    """Two calls give the same bits."""
    query, key = halves(200, dtype=torch.float32)
    one, other = (distributed.summarise(query, key, mask="causal", pool=7) for _ in range(2))
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in (*FIELDS[:-1], "top_index"))


def memory() -> list[int]:
    """The largest tensor that this rank makes, in numbers, for two lengths: no table of all pairs."""
    found = []
    for length in (2048, 4096):
        with Largest() as seen:
            distributed.summarise(*halves(length), top=2, pool=4, engine="blocked")
        found.append(seen.numbers)
    return found


class Largest(torch.utils._python_dispatch.TorchDispatchMode):
    """Notes how many numbers the largest tensor has that is made inside of the block."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.numbers = max(self.numbers, result.untyped_storage().nbytes() // result.element_size())
        return result


def gradient(rank: int) -> float:
    """`weigh` has the gradients of one process, and `summarise` takes tensors that require gradients on some ranks."""
    whole = [numbers(1, 2, 9, 4, seed=seed) for seed in (1, 2)]
    weigh(*whole, mask="causal").square().sum().backward()
    mine = [distributed.shard(each.detach()).clone().requires_grad_() for each in whole]
    distributed.weigh(*mine, mask="causal").square().sum().backward()
    distributed.summarise(mine[0].detach().requires_grad_(rank == 0), mine[1].detach())
    return max(gap(one.grad, distributed.shard(other.grad)) for one, other in zip(mine, whole, strict=True))


def refused(rank: int) -> dict[str, list[str]]:
    """What is said of arguments that can't be used: every rank gets an error, and the group can go on."""
    query, key = halves(8)
    told: dict[str, list[str]] = {}

    def try_out(name: str, *tensors: Any, function: Any = distributed.summarise, **named: Any) -> None:
        try:
            function(*tensors, **named)
            told[name] = ["", "nothing was raised"]
        except RegardError as error:
            told[name] = [type(error).__name__, str(error)]

    try_out("top", query, key, top=0)
    try_out("top of a rank", query, key, top=3 + rank)
    try_out("pool", query, key, pool=1 + rank)
    try_out("rows of a rank", query, key, rows=[4 * rank])
    try_out("rows of a rank, weighed", query, key, rows=[4 * rank], function=distributed.weigh)
    try_out("function", query, key, function=distributed.weigh if rank else distributed.summarise)
    try_out("engine", query, key, engine="fast")
    try_out("keyword", query, key, is_causal=True)
    try_out("values", query, key, value=key)
    try_out("triton", query, key, engine="triton")
    try_out("lengths", query, key, mask=Lengths([99]))
    try_out("shapes", query[0], key)
    finite = distributed.summarise(query, key).entropy.isfinite().all()
    told["goes on"] = [str(bool(finite))]
    return told


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    return together(2, laws)


def test_the_mask_decides_which_keys_are_sent(found):
    """Of 64 keys with 2 heads of 8 features in float64, a rank has 32: a key takes 128 bytes."""
    kinds = "full", "window", "documents", "causal"
    sent = [[each["counted"][kind] for kind in kinds] for each in found]
    assert sent == [[32 * 128, 3 * 128, 0, 32 * 128], [32 * 128, 0, 0, 0]]


def test_the_same_bits_again(found):
    assert all(each["again"] for each in found)


def test_memory_is_linear(found):
    """A table of all pairs of a rank would have 2 x 1024 x 2048 numbers, and four times as many at twice the length."""
    for each in found:
        short, long = each["memory"]
        assert short < 2 * 1024 * 2048
        assert long <= 2 * short


def test_weights_have_gradients(found):
    assert all(each["gradient"] < WORST for each in found), [each["gradient"] for each in found]


def test_what_cannot_be_used_is_refused_on_every_rank(found):
    for rank, each in enumerate(found):
        told = each["refused"]
        kinds = {name: said[0] for name, said in told.items()}
        assert kinds.pop("goes on") == "True"
        for name in ("rows of a rank", "rows of a rank, weighed"):
            assert kinds.pop(name) == (ArgumentError if rank else RegardError).__name__
        assert kinds.pop("engine") == UnknownNameError.__name__
        assert kinds.pop("triton") == RefusedError.__name__
        assert set(kinds.values()) == {ArgumentError.__name__}, kinds
        assert "`top` must be 1 or more" in told["top"][1]
        assert "`top` must be equal on all ranks, but ranks [1] have another" in told["top of a rank"][1]
        assert "ranks [1] call another function than rank 0" in told["function"][1]
        assert "Pass mask='causal'" in told["keyword"][1]
        assert "Rank 1 refused its arguments" in found[0]["refused"]["rows of a rank"][1]


def test_one_process_alone_is_one_process():
    with pytest.raises(ArgumentError, match="torchrun"):
        distributed.summarise(*halves_alone())


def halves_alone() -> list[Tensor]:
    return [numbers(1, 2, 4, 3, seed=seed, grad=False) for seed in (1, 2)]


def test_what_a_summary_is_made_of_is_compared():
    assert set(FIELDS) == set(Summary.__dataclass_fields__) - {"top_index"}
