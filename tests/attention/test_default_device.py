"""Where a process puts new tensors (`torch.set_default_device`) says nothing of where a call's tensors are.

The default here is the device "meta", whose tensors have no values, while all inputs are elsewhere: a tensor that the
package makes without saying where can't meet them, and none of its values can be read.
"""

import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from attention.cases import Case, kernels, numbers, rotation
from regard.attention import (
    INPUT_POSITIONS,
    Causal,
    Documents,
    Edges,
    Guided,
    Lengths,
    Prefix,
    Window,
    attend,
    attend_rows,
    plan,
    summarise,
    weigh,
)
from regard.attention.compilation.call_text import as_text
from regard.attention.engines import ENGINES
from regard.attention.masks import Blocks
from regard.errors import RefusedError
from regard.modules import Cache, MultiHeadAttention
from regard.modules.dropout import Dropout


def computed(arguments: Any, upward: Tensor, engine: str, orders: int) -> list[Tensor] | None:
    """The output with its gradients, up to this order; None where the engine refuses."""
    try:
        output = arguments(attend, engine=engine)
    except RefusedError:
        return None
    if not output.requires_grad:
        return [output]
    wanted = list(arguments.named.values())
    grads = torch.autograd.grad(output, wanted, upward, create_graph=orders == 2, allow_unused=True)
    found = [grad for grad in grads if grad is not None]
    total = torch.stack([grad.square().sum() for grad in found]).sum()
    second = torch.autograd.grad(total, wanted, allow_unused=True) if total.requires_grad else ()
    return [output, *found, *(grad for grad in second if grad is not None)]


def same(inside: list[Tensor], outside: list[Tensor]) -> None:
    """Bit by bit: the default device changes nothing of what is computed, but where a GPU adds in another order."""
    exact = {} if outside[0].is_cuda else {"rtol": 0, "atol": 0}
    for one, other in zip(inside, outside, strict=True):
        torch.testing.assert_close(one, other, **exact, equal_nan=True)


def hold(case: Case, orders: int = 1, dtype: torch.dtype = torch.float64) -> None:
    for engine in ENGINES:
        arguments = case.make(dtype)
        queries, value = arguments.query, arguments.value
        upward = numbers(*queries.shape[:3], value.shape[3], seed=1, dtype=dtype, grad=False)
        outside = computed(arguments, upward, engine, orders)
        with torch.device("meta"):
            inside = computed(arguments, upward, engine, orders)
        assert (inside is None) == (outside is None)
        if inside is not None and outside is not None:
            same(inside, outside)


@pytest.mark.parametrize("case", [*rotation(45, dropout=(0.0, 0.3)), *kernels("even", step=11)], ids=str)
def test_every_engine(case):
    hold(case)


@pytest.mark.parametrize(
    "case", [*rotation(45, sizes=["long"], dropout=(0.0, 0.3))[::9], *kernels("even, long", step=19)], ids=str
)
def test_in_several_tiles(case):
    hold(case, dtype=torch.float32)


@pytest.mark.parametrize("case", rotation(45, sizes=["tiny"], dropout=(0.0, 0.3))[::4], ids=str)
def test_the_second_order(case):
    hold(case, orders=2)


@pytest.mark.parametrize("case", rotation(45)[::4], ids=str)
def test_hidden_numbers_that_are_none(case):
    """Tiles that keep pairs apart."""
    arguments = case.make()
    with torch.no_grad():
        arguments.key[:, :, 4] = torch.nan
    upward = torch.ones_like(arguments(attend))
    outside = computed(arguments, upward, "blocked", 1)
    with torch.device("meta"):
        inside = computed(arguments, upward, "blocked", 1)
    assert inside is not None
    assert outside is not None
    same(inside, outside)


def said(query: Tensor, key: Tensor, value: Tensor, parts: dict[str, Any]) -> list[Tensor]:
    """What the other functions find in a call."""
    found = [weigh(query, key, **parts), weigh(query, key, **parts, rows=[2, 0])]
    found.append(attend_rows(query, key, value, [1], **parts))
    for engine in ("auto", "blocked"):
        found += vars(summarise(query, key, **parts, rows=[1], pool=3, top=2, engine=engine)).values()
    return [tensor.detach() for tensor in found]


@pytest.mark.parametrize("case", rotation(45), ids=str)
def test_plan_weigh_and_summarise(case):
    arguments = case.make()
    three = arguments.query.detach(), arguments.key.detach(), arguments.value.detach()
    planned, outside = arguments(plan), said(*three, arguments.parts)
    with torch.device("meta"):
        assert arguments(plan) == planned
        same(said(*three, arguments.parts), outside)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Lengths([3, 2]),
        lambda: Lengths(query=[3, 2], key=[5, 0]),
        lambda: Prefix([1, 4]) | "causal",
        lambda: Documents([0, 0, 1, 1, 1]),
        lambda: Documents([0, 0, 1, 1, 1], query=[1, 0, 0]),
        lambda: Documents.of_lengths([[2, 3], [4]]),
        lambda: Guided(1, centres=[0.0, 1.5, 4.0]),
        lambda: Guided(0.3, centres=[0.0, 1.5, 4.0]) & Lengths(key=[5, 4]),
        lambda: Edges([[0, 1, 4], [0, 2, 2]]),
        lambda: Edges.with_loops([[0, 1, 4], [0, 2, 2]], 3),
        lambda: Blocks([[True, False, True], [False, True, True]], 2),
        lambda: Blocks([[0, 1], [1, 1]], 2),
    ],
)
def test_lists_given_to_a_mask(made):
    query, key, value = (numbers(2, 2, length, 4, seed=length) for length in (3, 5, 5))
    expected = attend(query, key, value, mask=made(), engine="dense")
    with torch.device("meta"):
        mask = made()
        for engine in ("auto", "dense", "blocked"):
            output = attend(query, key, value, mask=mask, engine=engine)
            torch.testing.assert_close(output, expected)
            (gradient,) = torch.autograd.grad(output, key, torch.ones_like(output))
            assert torch.isfinite(gradient).all()
        assert plan(query, key, value, mask=mask).tiles
        assert torch.isfinite(summarise(query, key, mask=mask).entropy).all()
        torch.testing.assert_close(weigh(query, key, mask=mask) @ value, expected)


def test_seeds_that_are_drawn():
    x = numbers(1, 2, 30, 4, seed=0)
    torch.manual_seed(1)
    expected = attend(x, x, x, dropout=0.5)
    torch.manual_seed(1)
    with torch.device("meta"):
        assert torch.equal(attend(x, x, x, dropout=0.5), expected)


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize(
    ("mask", "weights", "dropout"), [(None, "softmax", 0.0), ("causal", "relu", 0.4), (Window(1, 1), "entmax", 0.0)]
)
def test_under_a_transform(mask, weights, dropout):
    query, key, value = (numbers(2, 2, 5, 4, seed=seed, grad=False) for seed in range(3))

    def loss(query: Tensor) -> Tensor:
        return attend(query, key, value, mask=mask, weights=weights, dropout=dropout, seed=5).square().sum()

    def several() -> list[Tensor]:
        queries = torch.stack([query, -query])
        return [torch.func.grad(loss)(query), torch.func.vmap(torch.func.grad(loss))(queries)]

    expected = several()
    with torch.device("meta"):
        same(several(), expected)


def test_a_compiled_function():
    """Compiled code calls one operator, which makes the request when it runs."""
    arguments = Case(mask="window & causal & lengths", position="bucketed", dropout=0.3).make()
    three = arguments.query, arguments.key, arguments.value
    text, operands = as_text(tuple(arguments.parts.values()), 0.3, "auto")
    seed = torch.tensor(7, device="cpu")

    def run() -> list[Tensor]:
        output = torch.ops.regard.attend(*three, operands, seed, text)
        return [output, *torch.autograd.grad(output.square().sum(), three)]

    expected = run()
    with torch.device("meta"):
        same(run(), expected)


def decoded(attention: MultiHeadAttention, vectors: Tensor, lengths: Any) -> list[Tensor]:
    """Three calls with one cache, of items that grow at their own pace."""
    cache = Cache(2)
    with torch.no_grad():
        outputs = [
            attention(vectors[:, 3 * step : 3 * step + 3], mask="causal", cache=cache, lengths=lengths)
            for step in range(3)
        ]
    cache.reorder(torch.tensor([1, 0], device=vectors.device))
    return [*outputs, cache.key, cache.value]


@pytest.mark.parametrize("lengths", [None, [3, 1], torch.tensor([2, 3])], ids=str)
@pytest.mark.parametrize("parts", [{}, {"position": "rotary", "weights": "entmax"}, {"score": "additive"}], ids=str)
def test_a_module_with_a_cache(lengths, parts):
    attention = MultiHeadAttention(8, heads=2, **parts)
    vectors = numbers(2, 9, 8, seed=0, dtype=torch.float32, grad=False)
    expected = decoded(attention, vectors, lengths)
    with torch.device("meta"):
        same(decoded(attention, vectors, lengths), expected)


def test_a_module_in_training():
    attention = MultiHeadAttention(8, heads=2, dropout=0.2)
    vectors = numbers(2, 9, 8, seed=0, dtype=torch.float32)

    def trained() -> list[Tensor]:
        torch.manual_seed(3)
        output = Dropout(0.5)(attention(vectors, mask=Causal() & Lengths([9, 4])))
        return [output, *torch.autograd.grad(output.square().sum(), [vectors, *attention.parameters()])]

    expected = trained()
    with torch.device("meta"):
        same(trained(), expected)


@pytest.mark.parametrize("name", INPUT_POSITIONS)
def test_positions_of_inputs(name):
    if name == "flow":
        pytest.importorskip("torchdiffeq")
    encoding = INPUT_POSITIONS[name](6)
    vectors = numbers(2, 5, 6, seed=0, dtype=torch.float32, grad=False)
    expected = encoding(vectors)
    with torch.device("meta"):
        same([encoding(vectors).detach()], [expected.detach()])


def test_a_part_of_ones_own_finds_it_in_both_passes():
    """What a user's function makes stands on the user's default device, not on another one in the forward pass."""
    found = []

    def score(query: Tensor, key: Tensor) -> Tensor:
        found.append(torch.empty(0).device.type)
        return query @ key.mT

    x = numbers(1, 2, 5, 4, seed=0)
    with torch.device("meta"):
        output = attend(x, x, x, score=score)
        count = len(found)
        output.sum().backward()
    assert 0 < count < len(found)
    assert set(found) == {"meta"}


@pytest.mark.parametrize("order", [1, 2])
def test_a_part_of_ones_own_finds_it_in_another_thread(order):
    """Autograd computes the gradients of a GPU's tensors in a thread in which no default device is set."""
    found = []

    def score(query: Tensor, key: Tensor) -> Tensor:
        found.append(torch.empty(0).device.type)
        return query @ key.mT

    x = numbers(1, 2, 5, 4, seed=0).cpu().detach().requires_grad_()
    with torch.device("meta"):
        output = attend(x, x, x, score=score)
        if order == 2:
            (first,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
            output = first.square()
    count, results = len(found), []
    thread = threading.Thread(target=lambda: results.extend(torch.autograd.grad(output.sum(), x)))
    thread.start()
    thread.join()
    assert len(results) == 1
    assert 0 < count < len(found)
    assert set(found) == {"meta"}


def test_this_can_fail():
    """A tensor that is made without saying where has no values here."""
    with torch.device("meta"), pytest.raises(RuntimeError, match="meta"):
        torch.arange(3).tolist()
