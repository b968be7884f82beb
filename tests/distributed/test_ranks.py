"""What ranks do besides the product of parts: hidden numbers, dropout, bytes, derivatives, and what goes wrong."""

import time
from typing import Any

import pytest
import torch
from torch import Tensor

import regard
from distributed.ranks import together
from regard import distributed
from regard.attention import Bias, Causal, Documents, Lengths, Relative, Window
from regard.distributed import chunks
from regard.errors import ArgumentError, RefusedError, RegardError, UnknownNameError


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def three(length: int, heads: int = 2, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    return [numbers(1, heads, length, 8, seed=seed, dtype=dtype) for seed in range(3)]


def own(*tensors: Tensor, order: str = "contiguous") -> list[Tensor]:
    return [distributed.shard(each, order=order).clone().requires_grad_() for each in tensors]


def equal(one: Tensor, other: Tensor) -> bool:
    return torch.equal(one.nan_to_num(nan=1e9), other.nan_to_num(nan=1e9))


def laws(rank: int) -> dict[str, Any]:
    """Everything that is asked of two ranks, by name, so that they start once."""
    return {
        "poison": {exchange: poison(exchange) for exchange in distributed.EXCHANGES},
        "dropped": {exchange: dropped(rank, exchange) for exchange in distributed.EXCHANGES},
        "drawn": drawn(),
        "second": {exchange: second(exchange) for exchange in distributed.EXCHANGES},
        "narrow": narrow(),
        "whole": whole(),
        "bytes": counted(),
        "again": again(),
        "refused": refused(rank),
        "zeros": zeros(),
        "grouped": planned(),
        "relative": relative(),
        "in chunks": in_chunks(rank),
    }


def in_chunks(rank: int) -> dict[str, Any]:
    """The same where each call takes as few heads at a time as it can."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "LEAST_BYTES", 0)
        given = own(*three(64, heads=4))
        return {
            "second": {exchange: second(exchange, heads=4) for exchange in ("heads", "gather")},
            "dropped": {exchange: dropped(rank, exchange) for exchange in distributed.EXCHANGES},
            "twice": {exchange: twice(exchange) for exchange in distributed.EXCHANGES},
            "again": again(),
            "relative": relative(),
            "keys": list(distributed.plan(*given, exchange="ring").keys),
        }


def twice(exchange: str) -> bool:
    """A second backward pass through the same graph gives the same gradients, apart from those of the first."""
    given = own(*three(12, heads=4))
    output = distributed.attend(*given, exchange=exchange)
    first, other = (torch.autograd.grad(output.square().sum(), given, retain_graph=True) for _ in range(2))
    return all(torch.equal(a, b) and a.data_ptr() != b.data_ptr() for a, b in zip(first, other, strict=True))


def poison(exchange: str) -> list[bool]:
    """Hidden NaN and infinity reach neither outputs nor gradients, wherever they are; nor does a NaN gradient."""
    found = []
    for mask in (Causal(), Window(2, 1), Lengths([9]), Documents.of_lengths([5, 7])):
        query, key, value = three(12)
        clean = [each.clone().requires_grad_() for each in (query, key, value)]
        # Nobody but the last sees the last key of a causal mask; and so on.
        for bad in (torch.nan, torch.inf):
            dirty = [each.clone() for each in (query, key, value)]
            dirty[1][:, :, -1], dirty[2][:, :, -1] = bad, bad
            sees = regard.weigh(query, key, mask=mask)[0, 0, :, -1] > 0
            expected = regard.attend(*clean, mask=mask)
            upward = torch.ones_like(expected).masked_fill(sees[:, None], torch.nan)
            grads = torch.autograd.grad(expected[:, :, ~sees].sum(), clean)
            given = own(*dirty)
            output = distributed.attend(*given, mask=mask, exchange=exchange)
            hidden = distributed.shard(~sees, 0)
            rows = distributed.shard(expected)[:, :, hidden]
            found.append(torch.allclose(output[:, :, hidden], rows))
            output.backward(distributed.shard(upward))
            unseen = [distributed.shard(each) for each in grads]
            found.append(torch.allclose(given[0].grad[:, :, hidden], unseen[0][:, :, hidden]))
            # Keys that no row with a NaN gradient sees.
            spared = distributed.shard(~(regard.weigh(query, key, mask=mask)[0, 0, sees] > 0).any(0), 0)
            found += [
                torch.allclose(one.grad[:, :, spared], other[:, :, spared])
                for one, other in zip(given[1:], unseen[1:], strict=True)
            ]
    return found


def dropped(rank: int, exchange: str) -> bool:
    """Exactly the same weights are dropped: of values that are units, outputs are weights."""
    query, key, _ = three(8)
    value = torch.eye(8, dtype=query.dtype).expand(1, 2, 8, 8)
    expected = regard.attend(query, key, value, dropout=0.5, seed=11)
    found = distributed.attend(*own(query, key, value), dropout=0.5, seed=11, exchange=exchange)
    return torch.equal(found == 0, distributed.shard(expected) == 0) and bool((found == 0).any())


def drawn() -> bool:
    """Without a seed, one is drawn for all ranks, from the generator of the first."""
    torch.manual_seed(int(torch.distributed.get_rank()))
    given = own(*three(8))
    value = torch.eye(8, dtype=torch.float64).expand(1, 2, 8, 8)
    given[2] = distributed.shard(value).clone().requires_grad_()
    found = [distributed.attend(*given, dropout=0.5, exchange=each) for each in ("heads", "heads")]
    whole = [distributed.unshard(each.detach()) for each in found]
    share = float((whole[0] == 0).double().mean())
    return not torch.equal(whole[0], whole[1]) and 0.3 < share < 0.7


def second(exchange: str, heads: int = 2) -> str:
    """The gradient of a gradient, against that of one process; ring attention has none, and that is said."""
    clean = [each.requires_grad_() for each in three(6, heads)]
    given = own(*clean)

    def of(tensors: list[Tensor], attend: Any, **more: Any) -> list[Tensor]:
        output = attend(*tensors, mask="causal", **more)
        grads = torch.autograd.grad(output.square().sum(), tensors, create_graph=True)
        return list(torch.autograd.grad(sum(each.square().sum() for each in grads), tensors))

    expected = of(clean, regard.attend)
    try:
        found = of(given, distributed.attend, exchange=exchange)
    except RefusedError as error:
        return str(error)
    return str(all(torch.allclose(a, distributed.shard(b)) for a, b in zip(found, expected, strict=True)))


def narrow() -> list[float]:
    """In bfloat16, how far from float64 each exchange is, relative to what one process is."""
    wide = three(64)
    low = [each.bfloat16() for each in wide]
    expected = regard.attend(*[each.double() for each in low], mask="causal")
    single = (regard.attend(*low, mask="causal").double() - expected).abs().max()
    found = []
    for exchange in distributed.EXCHANGES:
        output = distributed.attend(*own(*low), mask="causal", exchange=exchange)
        assert output.dtype == torch.bfloat16
        found.append(float((distributed.unshard(output.detach()).double() - expected).abs().max() / single))
    return found


def whole() -> list[bool]:
    """Dividing and putting together, along any axis, and the gradients of it."""
    found = []
    for tensor, dim in ((torch.arange(7.0), 0), (numbers(3, 9), 1), (numbers(2, 3, 5), 0), (numbers(1, 2, 11, 3), 2)):
        for order in distributed.ORDERS:
            part = distributed.shard(tensor, dim, order=order).clone().requires_grad_()
            again_ = distributed.unshard(part, dim, order=order)
            found.append(torch.equal(again_, tensor))
            (again_ * tensor).sum().backward()
            # Each rank's loss holds the whole tensor.
            found.append(torch.allclose(part.grad, 2 * distributed.shard(tensor, dim, order=order)))
    return found


def counted() -> dict[str, list[int]]:
    """The bytes that this rank sends in a forward pass, by mask, and those that the plan says both receive."""
    given = own(*three(64, heads=4))
    masks = {"full": None, "window": Window(3, 0), "documents": Documents.of_lengths([32, 32]), "causal": Causal()}
    found = {}
    for name, mask in masks.items():
        for exchange in ("ring", "gather"):
            sent, dist = [0], torch.distributed
            post, swap = dist.batch_isend_irecv, dist.all_to_all_single

            def count(operations: list[Any]) -> Any:
                sent.extend(each.tensor.nbytes for each in operations if each.op is dist.isend)  # noqa: B023
                return post(operations)  # noqa: B023

            def count_all(received: Tensor, given: Tensor, *splits: Any, **more: Any) -> Any:
                sent.append(given.nbytes)  # noqa: B023
                return swap(received, given, *splits, **more)  # noqa: B023

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(dist, "batch_isend_irecv", count)
                patch.setattr(dist, "all_to_all_single", count_all)
                with torch.no_grad():
                    distributed.attend(*given, mask=mask, exchange=exchange)
            plan = distributed.plan(*given, mask=mask, exchange=exchange)
            found[f"{name}, {exchange}"] = [sum(sent), *plan.received]
    return found


def again() -> bool:
    """Two calls give the same bits, gradients too."""
    grads = []
    for _ in range(2):
        given = own(*three(40))
        distributed.attend(*given, exchange="ring", mask="causal").square().sum().backward()
        grads.append([each.grad for each in given])
    return all(torch.equal(a, b) for a, b in zip(*grads, strict=True))


def refused(rank: int) -> dict[str, list[str]]:
    """What is said of arguments that can't be used: every rank gets an error, and the group can go on."""
    query, key, value = own(*three(8))
    told: dict[str, list[str]] = {}

    def try_out(name: str, *tensors: Any, **named: Any) -> None:
        try:
            distributed.attend(*tensors, **named)
            told[name] = ["", "nothing was raised"]
        except RegardError as error:
            told[name] = [type(error).__name__, str(error)]

    try_out("heads differ", *(query[:, : 1 + rank], key, value))
    try_out("one rank's argument", query if rank else query[0], key, value)
    try_out("grad", *(each.detach().requires_grad_(rank == 0) for each in (query, key, value)))
    try_out("dtype", *(each.float() if rank else each for each in (query, key, value)))
    try_out("mask", query, key, value, mask="causal" if rank else None)
    try_out("dropout", query, key, value, dropout=0.1 * rank)
    try_out("seed", query, key, value, dropout=0.1, seed=rank)
    try_out("keyword", query, key, value, exhange="ring")
    try_out("exchange", query, key, value, exchange="rings")
    try_out("order", query, key, value, order="spiral")
    try_out("unmergeable", query, key, value, exchange="ring", weights="entmax")
    try_out("too many ranks", query[:, :1], key[:, :1], value[:, :1], exchange="heads")
    try_out("zigzag", *(each[:, :, : 2 + rank] for each in (query, key, value)), order="zigzag")
    try_out("rank's exchange", query, key, value, exchange="ring" if rank else "gather")
    try_out("lengths", query, key, value, mask=Lengths([99]))
    try_out("table", query, key, value, position=Bias(torch.zeros(4, 4)))
    output = distributed.attend(query, key, value)
    told["goes on"] = [str(bool(output.isfinite().all()))]
    return told


def zeros() -> list[bool]:
    """Rows without keys, and ranks without rows, give zeros and pass nothing on."""
    found = []
    for exchange in distributed.EXCHANGES:
        rank = torch.distributed.get_rank()
        query, key, value = (each[:, :, : 6 if rank else 0].clone().requires_grad_() for each in three(6))
        output = distributed.attend(query, key, value, mask=Documents([-1, 0, 0, 1, -1, 1]), exchange=exchange)
        output.backward(torch.full_like(output, torch.nan))
        found.append(output.shape[2] == (6 if rank else 0))
        if rank:
            hidden = torch.tensor([True, False, False, False, True, False])
            found += [bool((each[:, :, hidden] == 0).all()) for each in (output, query.grad, key.grad, value.grad)]
    return found


def planned() -> list[str]:
    """What is chosen: for full attention, a window, a normaliser whose rows don't merge, and a causal mask."""
    many, odd = own(*three(64, heads=4)), own(*three(64, heads=3))
    return [
        distributed.plan(*many).exchange,
        distributed.plan(*odd, mask=Window(2, 0)).exchange,
        distributed.plan(*odd, weights="entmax").exchange,
        distributed.plan(*own(*three(64, heads=3), order="zigzag"), mask="causal", order="zigzag").exchange,
        str(distributed.plan(*many, mask="causal")),
    ]


def relative() -> list[float]:
    """How far a table's gradients, summed over ranks, are from those of one process."""
    query, key, value = three(9)
    torch.manual_seed(0)
    table = Relative(8, 3).double()
    regard.attend(query, key, value, position=table).square().sum().backward()
    expected = [each.grad.clone() for each in table.parameters()]
    gaps = []
    for exchange in distributed.EXCHANGES:
        table.zero_grad()
        distributed.attend(*own(query, key, value), position=table, exchange=exchange).square().sum().backward()
        for one, other in zip(table.parameters(), expected, strict=True):
            torch.distributed.all_reduce(one.grad)
            gaps.append(float((one.grad - other).abs().max()))
    return [max(gaps)]


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    return together(2, laws)


def test_what_is_hidden_reaches_nothing(found):
    for each in found:
        assert all(all(flags) and len(flags) == 32 for flags in each["poison"].values()), each["poison"]


def test_the_same_weights_are_dropped(found):
    assert all(all(each["dropped"].values()) for each in found)
    assert all(each["drawn"] for each in found)


def test_gradients_of_gradients(found):
    for each in found:
        assert each["second"]["heads"] == each["second"]["gather"] == "True"
        assert "exchange='heads'" in each["second"]["ring"]


def test_a_few_heads_at_a_time_are_as_all_at_once(found):
    for each in found:
        told = each["in chunks"]
        assert told["second"] == {"heads": "True", "gather": "True"}
        assert all(told["dropped"].values())
        assert all(told["twice"].values())
        assert told["again"]
        assert told["relative"][0] < 1e-12
        # Its own 32, and those of a rank of one head in four.
        assert told["keys"] == [40, 40]


def test_half_precision_is_as_near_as_on_one_process(found):
    assert all(max(each["narrow"]) < 1.5 for each in found), [each["narrow"] for each in found]


def test_dividing_and_putting_together(found):
    assert all(all(each["whole"]) and len(each["whole"]) == 16 for each in found)


def test_masks_decide_what_is_sent(found):
    """Of 64 positions with 4 heads of 8 features and values in float64, a rank has 32: a key takes 512 bytes."""
    a_key = 4 * 16 * 8
    for exchange in ("ring", "gather"):
        sent = [
            [each["bytes"][f"{mask}, {exchange}"][0] for mask in ("full", "window", "documents", "causal")]
            for each in found
        ]
        assert sent == [[32 * a_key, 3 * a_key, 0, 32 * a_key], [32 * a_key, 0, 0, 0]]
        for mask in ("full", "window", "documents", "causal"):
            (first, *planned_), (second_, *_) = (each["bytes"][f"{mask}, {exchange}"] for each in found)
            assert planned_ == [second_, first]


def test_the_same_bits_again(found):
    assert all(each["again"] for each in found)


def test_what_cannot_be_used_is_refused_on_every_rank(found):
    for rank, each in enumerate(found):
        told = each["refused"]
        kinds = {name: said[0] for name, said in told.items()}
        assert kinds.pop("goes on") == "True"
        assert kinds.pop("one rank's argument") == ("RegardError" if rank else ArgumentError.__name__)
        assert kinds.pop("unmergeable") == kinds.pop("too many ranks") == RefusedError.__name__
        assert kinds.pop("exchange") == kinds.pop("order") == UnknownNameError.__name__
        assert set(kinds.values()) == {ArgumentError.__name__}, kinds
        assert "same heads, but have [1, 2]" in told["heads differ"][1]
        assert "`mask` must be equal on all ranks, but ranks [1] have another" in told["mask"][1]
        assert "`dropout` must be equal" in told["dropout"][1]
        assert "`seed` must be equal" in told["seed"][1]
        assert "`exchange` must be equal" in told["rank's exchange"][1]
        assert "Did you mean 'exchange'" in told["keyword"][1]
        assert "those of ranks [0] do" in told["grad"][1]
        assert "Did you mean 'ring'" in told["exchange"][1]
        assert "[2, 3]" in told["zigzag"][1]


def test_nothing_to_see_gives_zeros(found):
    assert all(all(each["zeros"]) for each in found)
    assert [len(each["zeros"]) for each in found] == [3, 15]


def test_the_plan_says_why(found):
    first, second_ = found
    assert first["grouped"] == second_["grouped"]
    full, window, entmax, causal, text = first["grouped"]
    # PyTorch's kernel doesn't take a causal mask with more keys than queries, as gathering in zigzag would have.
    assert (full, window, entmax, causal) == ("heads", "gather", "gather", "ring")
    # The last rank has three quarters of the pairs of a causal mask, unless heads are shared.
    assert text.startswith("attend on 2 ranks\n-> heads: ")
    assert "rank 1  receives 0.0156 MiB forward, computes 50% of the pairs, holds 64 keys at once" in text
    assert "not ring: by estimate it would take " in text


def leaves(rank: int) -> list[Any]:
    """Rank 1 ends; rank 0 waits for it."""
    given = own(*three(8))
    distributed.attend(*given)
    if rank:
        torch.distributed.destroy_process_group()
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        return []
    began = time.monotonic()
    try:
        distributed.attend(*given)
    except RegardError as error:
        return [str(error), time.monotonic() - began]
    return ["nothing was raised", 0.0]


def test_a_rank_that_ends_ends_the_others():
    (said, seconds), _ = together(2, leaves)
    assert said.startswith("Rank 0 of 2 waited for another rank in vain")
    assert seconds < 30


def test_without_a_group():
    with pytest.raises(ArgumentError, match="torchrun"):
        distributed.attend(*three(4))


def test_operands_get_their_share_of_the_gradient(found):
    (first,), (second_,) = (each["relative"] for each in found)
    assert first == second_ < 1e-12
