"""What a mod captures: frozen when it is handed over, compared from call to call; and what a mod must not do."""

import functools
import gc
import weakref

import pytest
import torch
from torch import Tensor, nn

from flex.cases import drawn
from regard import flex
from regard.errors import ArgumentError
from regard.flex.closures import frozen, state

pytestmark = pytest.mark.usefixtures("only_on_a_cpu")

X = drawn(1, 2, 5, 4)


def run(score_mod=None, block_mask=None, x: Tensor = X) -> Tensor:
    return flex.flex_attention(x, x, x, score_mod, block_mask)


def masked(mask_mod, length: int = 5, **options) -> flex.BlockMask:
    return flex.create_block_mask(mask_mod, None, None, length, length, device="cpu", **options)


# Variables.


def test_a_variable_that_is_bound_anew_before_the_gradient():
    """The gradient is that of what was computed, as where PyTorch compiles; not of what the loop ended with."""
    table = drawn(3)
    total = 0.0
    for layer in range(3):
        total = total + run(lambda score, b, h, q, k: score * table[layer]).square().sum()  # noqa: B023
    (late,) = torch.autograd.grad(total, table)
    one_by_one = []
    for layer in range(3):
        output = run(functools.partial(lambda score, b, h, q, k, *, own: score * table[own], own=layer))
        one_by_one.append(torch.autograd.grad(output.square().sum(), table)[0])
    torch.testing.assert_close(late, torch.stack(one_by_one).sum(0))
    assert bool((late != 0).all())


FACTOR = 2.0


def of_a_global(score, b, h, q, k):
    return helped(score)


def helped(score):
    return score * FACTOR


def test_a_global_of_a_function_that_it_calls(monkeypatch):
    output = run(of_a_global).square().sum()
    (expected,) = torch.autograd.grad(output, X)
    output = run(of_a_global).square().sum()
    monkeypatch.setattr("flex.test_mods.FACTOR", 3.0)
    assert torch.equal(torch.autograd.grad(output, X)[0], expected)
    assert not torch.equal(torch.autograd.grad(run(of_a_global).square().sum(), X)[0], expected)


def test_frozen_functions_keep_what_they_are():
    def outer(first, second=2, *, third=3):
        """Said."""
        return outer if first is None else (first, second, third, free)

    free = 4
    copy = frozen(outer)
    free = 5
    assert copy(1) == (1, 2, 3, 4)
    assert copy(1, third=0) == (1, 2, 0, 4)
    assert copy(None) is copy
    assert (copy.__name__, copy.__qualname__, copy.__module__) == (outer.__name__, outer.__qualname__, outer.__module__)
    assert frozen(len) is len
    assert frozen(functools.partial(outer, 0, third=1))() == (0, 2, 1, 5)
    a, b = frozen(flex.and_masks(lambda *at: at[0] >= free, lambda *at: at[0] <= free)), free
    free = 9
    at = torch.tensor(b)
    assert bool(a(at, at, at, at))

    def later():
        return not_yet

    assert frozen(later).__closure__[0] is not later.__closure__[0]
    not_yet = 1
    assert later() == 1


def test_tensors_that_change_before_the_gradient():
    for table in (drawn(2, grad=False), torch.arange(2)):
        output = run(lambda score, b, h, q, k: score * table[h])  # noqa: B023
        table.add_(1)
        with pytest.raises(ArgumentError, match=r"`score_mod` <lambda> captures a tensor that was modified in place"):
            output.sum().backward()
    trained = drawn(2)
    output = run(lambda score, b, h, q, k: score * trained[h])
    with torch.no_grad():
        trained.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_a_module_that_changes_is_computed_anew():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torch.tensor(1.0, dtype=torch.float64))

        def forward(self, score, b, h, q, k):
            return score * self.factor

    module = Scaled()
    first = run(module)
    with torch.no_grad():
        module.factor.fill_(0.0)
    assert not torch.equal(run(module), first)


def test_an_infinite_derivative_where_nothing_is_seen():
    """A division by zero at hidden pairs has no effect: the others' gradients are those of a mod without it."""
    x, causal = X.detach().requires_grad_(), masked(lambda b, h, q, k: q > k)
    found = [
        torch.autograd.grad(
            run(lambda score, b, h, q, k: score / (q - k).clamp(min=least), causal, x).square().sum(),  # noqa: B023
            x,
        )[0]
        for least in (0, 1)
    ]
    assert found[1].abs().max() > 1e-3
    torch.testing.assert_close(*found)


def test_nothing_outlives_the_call():
    def call() -> weakref.ref[Tensor]:
        table = drawn(2)
        run(lambda score, b, h, q, k: score * table[h]).sum().backward()
        run(block_mask=masked(lambda b, h, q, k: table[h] > -torch.inf))
        return weakref.ref(table)

    table = call()
    gc.collect()
    assert table() is None


# What a mask_mod became.


class Counting:
    """A mask_mod that counts how often it is asked, in a list, which isn't looked at."""

    def __init__(self, width):
        self.width = width

    calls = 0

    def __call__(self, b, h, q, k):
        type(self).calls += 1
        return (q - k).abs() < self.width


def asked(*, block_mask) -> bool:
    Counting.calls = 0
    run(block_mask=block_mask)
    return Counting.calls > 0


def test_a_mask_mod_is_asked_once():
    block_mask = masked(Counting(2))
    assert not asked(block_mask=block_mask)
    other = torch.nn.attention.flex_attention.create_block_mask(Counting(2), None, None, 5, 5, device="cpu")
    assert asked(block_mask=other)
    assert not asked(block_mask=other)


@pytest.mark.parametrize("inference", [False, True])
def test_a_mask_mod_whose_tensors_change_is_asked_again(inference):
    """In the blocks that are partial: which these are, the tables say, as in PyTorch."""
    with torch.inference_mode(inference):
        width = torch.tensor(2)
        block_mask = masked(lambda b, h, q, k: (q - k).abs() < width)
        x = X.detach().clone()
        before = run(block_mask=block_mask, x=x)
        width += 1
        after = run(block_mask=block_mask, x=x)
        assert not torch.equal(before, after)
        assert torch.equal(after, run(block_mask=masked(lambda b, h, q, k: (q - k).abs() < 3), x=x))


def test_a_mask_mod_whose_variables_change_is_asked_again():
    width = 2
    mask = Counting(2)
    block_mask, own = masked(lambda b, h, q, k: (q - k).abs() < width), masked(mask)
    before = run(block_mask=block_mask)
    width = mask.width = 3
    assert not torch.equal(before, run(block_mask=block_mask))
    assert torch.equal(run(block_mask=own), run(block_mask=block_mask))


def test_a_block_mask_that_changes_is_asked_again():
    block_mask = masked(lambda b, h, q, k: q >= k, BLOCK_SIZE=1)
    before = run(block_mask=block_mask)
    block_mask.full_kv_num_blocks[..., 4] = 1
    assert not torch.equal(before, run(block_mask=block_mask))
    block_mask = masked(lambda b, h, q, k: q >= k)
    assert torch.equal(before, run(block_mask=block_mask))
    block_mask.mask_mod = lambda b, h, q, k: q == k
    assert not torch.equal(before, run(block_mask=block_mask))


def test_a_cropped_block_mask():
    x, cropped = drawn(1, 2, 128, 4), masked(lambda b, h, q, k: q >= k, 300)._adjust(128, 128)
    assert torch.equal(run(block_mask=cropped, x=x), run(block_mask=masked(lambda b, h, q, k: q >= k, 128), x=x))


def test_a_sliced_block_mask_says_that_its_mask_mod_is_gone():
    block_mask = masked(lambda b, h, q, k: q >= k)[:, :, 0]
    with pytest.raises(RuntimeError, match="sliced BlockMask"):
        run(block_mask=block_mask)


def test_states_tell_what_a_function_gives():
    number, tensor = 1, torch.zeros(2)

    def function():
        return number, tensor, FACTOR

    first = state(function)
    assert first == state(function)
    number = True  # equal to 1, but no number
    assert first != state(function)
    number = 1
    assert first == state(function)
    tensor[0] = 1
    assert first != state(function)
    cyclic: list = [1]
    cyclic.append(cyclic)
    assert state(cyclic) == state(cyclic)
    assert state([1, 2]) != state([1], 2)
    assert state({"a": 1}) != state({"a": 2})
    assert state(object()) is None  # what it holds can't be told
    assert state(list(range(3)), [object()]) is None


# What a mod must not do.


def branching(score, b, h, q, k):
    return score if q >= k else score - 1


def counting(score, b, h, q, k):
    return score + sum(range(int(k)))


def drawing(score, b, h, q, k):
    return score + torch.rand(())


@pytest.mark.parametrize(
    ("mod", "says"),
    [
        (branching, r"branching branches on a number of a pair \(if, while, and, or, not, a < b < c\)"),
        (lambda score, b, h, q, k: torch.where(0 < q < 3, score, 0), "branches on a number"),
        (counting, "counting turns a number of a pair into a Python number"),
        (drawing, "drawing draws random numbers"),
        (
            lambda score, b, h, q, k: 1.0,
            r"must return a tensor \(\) of a real number, for one pair, but returned float",
        ),
        (lambda score, b, h, q, k: q >= k, r"but returned \(\) of torch.bool"),
        (lambda score, b, h, q, k: score + torch.zeros(3)[: k + 1], r"but returned \(1,\) of torch.float32"),
        (lambda b, h, q, k: q >= k, r"must take \(score, b, h, q_idx, kv_idx\), but <lambda> takes \(b, h, q, k\)"),
        ("causal", "must be a function"),
    ],
)
def test_errors_of_score_mods(mod, says):
    with pytest.raises(ArgumentError, match=rf"`score_mod`.*{says}"):
        run(mod)


@pytest.mark.parametrize(
    ("mod", "says"),
    [
        (lambda b, h, q, k: q >= k and q < 3, "branches on a number"),
        (lambda b, h, q, k: q - k, r"must return True = may attend, as a tensor \(\) of bools.*torch.int64"),
        (lambda b, h, q, k: True, "but returned bool"),
        (lambda score, b, h, q, k: score > 0, r"must take \(b, h, q_idx, kv_idx\)"),
        (None, "must be a function"),
    ],
)
def test_errors_of_mask_mods(mod, says):
    with pytest.raises(ArgumentError, match=rf"`mask_mod`.*{says}"):
        masked(mod)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            {"query": torch.zeros(2, 3, 4)},
            r"`query` must be a tensor \(batch, head, length, size\), but is \(2, 3, 4\)",
        ),
        ({"value": [1]}, "`value` must be a tensor .*, but is list"),
        (
            {"key": X[:, :1], "value": X[:, :1]},
            r"`key` must have as many heads as `query`, 2, but has 1. Pass enable_gqa",
        ),
        ({"key": X[..., :3]}, "feature size"),
        ({"query": X.expand(2, -1, -1, -1)}, "`key` must have the batch size of `query`, 2, or 1"),
        ({"block_mask": torch.ones(5, 5)}, "`block_mask` must be a BlockMask, but is Tensor"),
        ({"return_lse": True, "return_aux": flex.AuxRequest()}, "`return_lse` must not be given beside"),
        ({"scale": "half"}, "`scale` must be a number"),
    ],
)
def test_errors_of_arguments(arguments, says):
    with pytest.raises(ArgumentError, match=says):
        flex.flex_attention(**{"query": X, "key": X, "value": X} | arguments)


def test_errors_of_block_masks():
    with pytest.raises(ArgumentError, match=r"must be for 5 queries and 5 keys, as .* have, but is for 6 and 6"):
        run(block_mask=masked(lambda b, h, q, k: q >= k, 6))
    for sizes in ((2, None), (None, 3)):
        block_mask = flex.create_block_mask(lambda b, h, q, k: q >= k, *sizes, 5, 5, device="cpu")
        with pytest.raises(ArgumentError, match="must be for 1 items and 2 heads"):
            run(block_mask=block_mask)
    for size in (0, (1, 2, 3), "128"):
        with pytest.raises(ArgumentError, match="`BLOCK_SIZE` must be how many queries and keys a block has"):
            masked(lambda b, h, q, k: q >= k, BLOCK_SIZE=size)
    for make in (flex.create_block_mask, flex.create_mask):
        for sizes, name in (((-1, 5), "Q_LEN"), ((5, 2.5), "KV_LEN")):
            with pytest.raises(ArgumentError, match=f"`{name}` must be"):
                make(lambda b, h, q, k: q >= k, None, None, *sizes, device="cpu")
    with pytest.raises(ArgumentError, match="`compute_dq_write_order` must be False"):
        masked(lambda b, h, q, k: q >= k, compute_dq_write_order=True)
    with pytest.raises(ArgumentError, match="`mod_fn` must take"):
        flex.create_mask(lambda q, k: q >= k, None, None, 3, 3, device="cpu")
    nested = torch.nested.nested_tensor([torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)], layout=torch.jagged)
    with pytest.raises(ArgumentError, match=r"must not be a nested tensor. Put the sequences one after the other"):
        flex.flex_attention(nested, nested, nested)


def test_kernel_options_are_ignored_with_one_warning():
    flex.attention._warn_of_kernel_options.cache_clear()
    with pytest.warns(UserWarning, match="`kernel_options` are for PyTorch's kernels"):
        output = flex.flex_attention(X, X, X, kernel_options={"BLOCK_M": 64})
    assert torch.equal(output, flex.flex_attention(X, X, X, kernel_options={"BLOCK_M": 64}))  # without another


def test_nothing_to_attend_to():
    empty = X[:, :, :0]
    for query, key in ((empty, X), (X, empty)):
        block_mask = flex.create_block_mask(
            lambda b, h, q, k: q >= k, None, None, query.shape[2], key.shape[2], device="cpu"
        )
        output, lse = flex.flex_attention(query, key, key, lambda score, *at: score, block_mask, return_lse=True)
        assert torch.equal(output, torch.zeros_like(query))
        assert torch.equal(lse, torch.full(query.shape[:3], -torch.inf, dtype=lse.dtype))
