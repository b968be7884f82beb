"""The dtype of new tensors (`torch.set_default_dtype`) says nothing of the dtype of a call's tensors."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from attention.cases import Arguments, kernels, numbers, rotation
from attention.test_default_device import computed, said, same
from regard.attention import INPUT_POSITIONS, Causal, Lengths, attend, plan
from regard.attention.engines import ENGINES
from regard.modules import MultiHeadAttention

DEFAULTS = pytest.mark.parametrize("default", [torch.float64, torch.bfloat16], ids=str)


@contextmanager
def by_default(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def hold(arguments: Arguments, default: torch.dtype, orders: int = 1) -> None:
    query, value = arguments.query, arguments.value
    upward = numbers(*query.shape[:3], value.shape[3], seed=1, dtype=query.dtype, grad=False)
    for engine in ENGINES:
        outside = computed(arguments, upward, engine, orders)
        with by_default(default):
            inside = computed(arguments, upward, engine, orders)
        assert (inside is None) == (outside is None)
        if inside is not None and outside is not None:
            assert [tensor.dtype for tensor in inside] == [tensor.dtype for tensor in outside]
            same(inside, outside)


@DEFAULTS
@pytest.mark.parametrize("case", [*rotation(45, dropout=(0.0, 0.3)), *kernels("even", step=11)], ids=str)
def test_every_engine(case, default):
    hold(case.make(torch.float32), default)


@DEFAULTS
@pytest.mark.parametrize("case", rotation(45, sizes=["tiny"], dropout=(0.0, 0.3))[::4], ids=str)
def test_the_second_order(case, default):
    hold(case.make(torch.float32), default, orders=2)


@DEFAULTS
@pytest.mark.parametrize("case", rotation(45)[::4], ids=str)
def test_hidden_numbers_that_are_none(case, default):
    """Tiles that keep pairs apart."""
    arguments = case.make(torch.float32)
    with torch.no_grad():
        arguments.key[:, :, 4] = torch.nan
    hold(arguments, default)


@DEFAULTS
@pytest.mark.parametrize("case", rotation(45)[::2], ids=str)
def test_plan_weigh_and_summarise(case, default):
    arguments = case.make(torch.float32)
    three = arguments.query.detach(), arguments.key.detach(), arguments.value.detach()
    planned, outside = arguments(plan), said(*three, arguments.parts)
    with by_default(default):
        assert arguments(plan) == planned
        inside = said(*three, arguments.parts)
    assert [tensor.dtype for tensor in inside] == [tensor.dtype for tensor in outside]
    same(inside, outside)


@DEFAULTS
def test_under_a_transform(default):
    query, key, value = (numbers(2, 2, 5, 4, seed=seed, dtype=torch.float32, grad=False) for seed in range(3))

    def loss(query: Tensor) -> Tensor:
        return attend(query, key, value, mask="causal", weights="relu", dropout=0.4, seed=5).square().sum()

    expected = torch.func.grad(loss)(query)
    with by_default(default):
        same([torch.func.grad(loss)(query)], [expected])


@DEFAULTS
@pytest.mark.parametrize("parts", [{}, {"position": "alibi"}, {"score": "additive", "weights": "entmax"}], ids=str)
def test_a_module_in_training(parts, default):
    attention = MultiHeadAttention(8, heads=2, dropout=0.2, **parts)
    vectors = numbers(2, 9, 8, seed=0, dtype=torch.float32)

    def trained() -> list[Tensor]:
        torch.manual_seed(3)
        output = attention(vectors, mask=Causal() & Lengths([9, 4]))
        return [output, *torch.autograd.grad(output.square().sum(), [vectors, *attention.parameters()])]

    expected = trained()
    with by_default(default):
        same(trained(), expected)


@DEFAULTS
@pytest.mark.parametrize("name", [name for name in INPUT_POSITIONS if name != "flow"])
def test_positions_of_inputs(name, default):
    encoding = INPUT_POSITIONS[name](6)
    vectors = numbers(2, 5, 6, seed=0, dtype=torch.float32, grad=False)
    expected = encoding(vectors)
    with by_default(default):
        same([encoding(vectors).detach()], [expected.detach()])


def test_this_can_fail():
    """Two numbers make a tensor of the default dtype."""
    with by_default(torch.float64):
        assert torch.where(torch.tensor(True), 1.0, 0.0).dtype == torch.float64
