"""PyTorch's interface to the letter: what a notebook imports, names, and passes on; compiled and transformed."""

import inspect

import pytest
import torch
import torch.nn.attention.flex_attention as theirs
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import regard
from flex.cases import drawn
from regard import flex

pytestmark = pytest.mark.usefixtures("only_on_a_cpu")

LENGTH = 140
X = drawn(2, 2, LENGTH, 4)
TABLE = drawn(2, 2 * LENGTH - 1)
CAUSAL = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, LENGTH, LENGTH, device="cpu")


def relative(score, b, h, q, k):
    return score + TABLE[h, q - k + LENGTH - 1]


def loss(x: Tensor, call=flex.flex_attention) -> Tensor:
    return call(x, x, x, relative, CAUSAL).square().sum()


def test_all_names_are_there():
    assert set(theirs.__all__) <= set(flex.__all__)
    for name in {"BlockMask", "AuxOutput", "AuxRequest", "and_masks", "or_masks", "noop_mask", "FlexKernelOptions"}:
        assert getattr(flex, name) is getattr(theirs, name)


@pytest.mark.parametrize("name", ["flex_attention", "create_block_mask", "create_mask"])
def test_arguments_are_those_of_pytorch(name):
    """Older versions lack the last ones of `create_block_mask`."""
    ours, other = (list(inspect.signature(getattr(each, name)).parameters.values()) for each in (flex, theirs))
    for one, another in zip(ours, other, strict=name != "create_block_mask"):
        assert (one.name, one.kind, one.default) == (another.name, another.kind, another.default)
    assert len(ours) >= len(other)


def test_pytorch_takes_a_block_mask_made_here(monkeypatch):
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
    x = X.detach()
    torch.testing.assert_close(theirs.flex_attention(x, x, x, None, CAUSAL), flex.flex_attention(x, x, x, None, CAUSAL))


def test_the_default_device_is_the_accelerator_or_else_the_cpu():
    """Where PyTorch is built for a GPU that isn't there, it is the CPU."""
    made = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, 3, 3)
    expected = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    assert made.kv_indices.device.type == expected.type
    assert flex.create_mask(lambda b, h, q, k: q >= k, None, None, 3, 3).device == made.kv_indices.device


def test_a_causal_mask_mod_runs_as_the_causal_mask():
    """By the same engine, so its result is the same to the last bit."""
    assert flex.plan(X, X, X, block_mask=CAUSAL).engine == "fused"
    assert torch.equal(flex.flex_attention(X, X, X, block_mask=CAUSAL), regard.attend(X, X, X, mask="causal"))


def test_the_plan_says_what_mods_became():
    plan = flex.plan(X, X, X, relative, CAUSAL)
    assert (plan.engine, plan.parts["mask"]) == ("blocked", "Causal()")
    assert plan.parts["position"] == "score_mod relative, with gradients of 1 tensor"
    apart = flex.create_block_mask(lambda b, h, q, k: (q - k) % 3 == 0, None, None, LENGTH, LENGTH, device="cpu")
    assert flex.plan(X, X, X, block_mask=apart).parts["mask"] == "Tiles(0 hidden, 0 full, 4 partial, 4 patterns)"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # PyTorch's compiler asks
def test_compiled():
    """With a graph break: PyTorch's compiler leaves these calls as they are."""

    def model(x):
        block_mask = flex.create_block_mask(lambda b, h, q, k: q >= k, None, None, LENGTH, LENGTH, device="cpu")
        return 3 * flex.flex_attention(2 * x, x, x, relative, block_mask)

    for function, call in (
        (model, torch.compile(model, backend="eager")),
        (loss, lambda x: loss(x, torch.compile(flex.flex_attention, backend="eager"))),
    ):
        found, expected = (torch.autograd.grad(each(X).sum(), (X, TABLE)) for each in (call, function))
        torch.testing.assert_close(found, expected)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="flex_attention"):
        torch.compile(flex.flex_attention, fullgraph=True, backend="eager")(X, X, X)


def test_transforms():
    expected = torch.autograd.grad(loss(X), (X, TABLE))

    def of(x: Tensor, table: Tensor) -> Tensor:
        def mod(score, b, h, q, k):
            return score + table[h, q - k + LENGTH - 1]

        return flex.flex_attention(x, x, x, mod, CAUSAL)

    found = torch.func.grad(lambda *given: of(*given).square().sum(), argnums=(0, 1))(X.detach(), TABLE.detach())
    torch.testing.assert_close(found, expected)
    tables = drawn(3, *TABLE.shape, grad=False)
    found = torch.vmap(of, in_dims=(None, 0))(X.detach(), tables)
    torch.testing.assert_close(found, torch.stack([of(X, table) for table in tables]))


# PyTorch's own: the first use of its forward mode.
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is ")
@pytest.mark.parametrize("way", ["torch.func", "dual numbers"])
def test_forward_mode(way):
    """Of the input and of what the mod captures, together; against finite differences."""
    x, table = X.detach(), TABLE.detach()
    moved = drawn(*x.shape, grad=False), drawn(*table.shape, grad=False)

    def of(x: Tensor, table: Tensor) -> Tensor:
        return flex.flex_attention(
            x, x, x, lambda score, b, h, q, k: score.tanh() + table[h, q - k + LENGTH - 1], CAUSAL
        )

    if way == "torch.func":
        found = torch.func.jvp(of, (x, table), moved)[1]
    else:
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(of(*map(forward_ad.make_dual, (x, table), moved))).tangent
    step = 1e-6
    ahead, behind = (of(x + by * moved[0], table + by * moved[1]) for by in (step, -step))
    torch.testing.assert_close(found, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-7)


def test_checkpointed():
    """Recomputed by PyTorch, which calls the function again."""
    found = torch.utils.checkpoint.checkpoint(loss, X, use_reentrant=False)
    torch.testing.assert_close(torch.autograd.grad(found, (X, TABLE)), torch.autograd.grad(loss(X), (X, TABLE)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dtypes(dtype):
    x = X.detach().to(dtype)
    output, lse = flex.flex_attention(x, x, x, relative, CAUSAL, return_lse=True)
    expected = flex.flex_attention(x.double(), x.double(), x.double(), relative, CAUSAL)
    assert (output.dtype, lse.dtype) == (dtype, torch.float32)
    torch.testing.assert_close(output.double(), expected, rtol=0, atol=16 * torch.finfo(dtype).eps)


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor holds that any operation makes, forward or backward."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for each in tree_leaves(result):
            if isinstance(each, Tensor):
                # A view, or what is expanded, is as large as what it is a view of.
                self.numbers = max(self.numbers, each.untyped_storage().nbytes() // each.element_size())
        return result


def test_memory_is_linear(monkeypatch):
    """No tensor holds a number for each pair: with a gradient for a table, and a mask of scattered keys."""
    monkeypatch.setattr("regard.flex.rules.BUDGET", 2**18)
    length = 2000
    x = drawn(1, 1, length, 8)
    table = drawn(2 * length - 1)

    def mod(score, b, h, q, k):
        return score + table[q - k + length - 1]

    with Largest() as largest:
        block_mask = flex.create_block_mask(
            lambda b, h, q, k: (q - k) % 3 == 0, None, None, length, length, device="cpu"
        )
        flex.flex_attention(x, x, x, mod, block_mask).sum().backward()
    assert 0 < largest.numbers <= 2**20 < length**2 / 3
