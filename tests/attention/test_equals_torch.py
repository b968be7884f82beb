"""What people know: every argument of PyTorch's scaled_dot_product_attention, and its equivalent here.

| there | here |
|---|---|
| `attn_mask` bool, True = takes part | a rule, or `mask=Pairs(table)` where the table exists already |
| `attn_mask` float | `position=Bias(table)`; minus infinity: `mask=Pairs(table > -inf)` beside it |
| `is_causal=True`, as many queries as keys | `mask="causal"` |
| `is_causal=True`, unequal: counted from the start | `mask=lambda batch, head, query, key: key <= query` |
| `scale=s` | `score=Dot(s)` |
| `enable_gqa=True` | nothing: heads of queries are a multiple of heads of keys |
| `dropout_p` | `dropout`, which falls elsewhere: the random numbers are others |
| (batch, length, size), (length, size) | `unsqueeze` to (batch, head, length, size) |
| a batch of 1 against many | `expand` |
"""

import math

import pytest
import torch
import torch.nn.functional as F

from attention.cases import seeded
from regard.attention import Dot, attend
from regard.attention.positions import Bias
from regard.modules import Pairs

BATCH, HEADS, QUERIES, KEYS, FEATURE = 2, 3, 7, 11, 5


def table(*shape, seed=7):
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64)


def tensors(queries=QUERIES, keys=KEYS, heads=HEADS, key_heads=HEADS, value=FEATURE, dtype=torch.float64):
    sizes = (heads, queries, FEATURE), (key_heads, keys, FEATURE), (key_heads, keys, value)
    return [table(BATCH, *size, seed=seed).to(dtype).requires_grad_() for seed, size in enumerate(sizes)]


def float_mask(numbers):
    """The equivalent of a float mask that hides where it is minus infinity."""
    hidden = numbers == -math.inf
    return {"position": Bias(numbers.masked_fill(hidden, 0.0)), "mask": Pairs(~hidden)}


def from_start(batch, head, query, key):
    return key <= query


BOOL = {
    "query x key": (QUERIES, KEYS),
    "head x 1 x key": (HEADS, 1, KEYS),
    "1 x 1 x query x key": (1, 1, QUERIES, KEYS),
    "batch x 1 x 1 x key": (BATCH, 1, 1, KEYS),
    "1 x head x query x 1": (1, HEADS, QUERIES, 1),
    "batch x head x query x key": (BATCH, HEADS, QUERIES, KEYS),
}
HALF = table(BATCH, HEADS, QUERIES, KEYS) > 0
ROW_HIDDEN = HALF & (torch.arange(QUERIES) != 3).unsqueeze(1)
INFINITE = table(QUERIES, KEYS).masked_fill(HALF[0, 0], -math.inf).masked_fill(torch.arange(KEYS) == 4, 0.5)

CASES = {
    "plain": ({}, {}, {}),
    "self": ({"queries": KEYS}, {}, {}),
    "another value size": ({"value": 2}, {}, {}),
    "one query": ({"queries": 1}, {}, {}),
    "one key": ({"keys": 1}, {}, {}),
    "dropout of nothing": ({}, {"dropout_p": 0.0}, {"dropout": 0.0}),
    "scale": ({}, {"scale": 0.3}, {"score": Dot(0.3)}),
    "scale of one": ({}, {"scale": 1.0}, {"score": "dot"}),
    "negative scale": ({}, {"scale": -0.7}, {"score": Dot(-0.7)}),
    "causal": ({"queries": KEYS}, {"is_causal": True}, {"mask": "causal"}),
    "causal, more keys": ({}, {"is_causal": True}, {"mask": from_start}),
    "causal, more queries": ({"queries": 13, "keys": 5}, {"is_causal": True}, {"mask": from_start}),
    "causal and scale": ({"queries": KEYS}, {"is_causal": True, "scale": 0.3}, {"mask": "causal", "score": Dot(0.3)}),
    "grouped": ({"heads": 6, "key_heads": 2}, {"enable_gqa": True}, {}),
    "multi-query": ({"key_heads": 1}, {"enable_gqa": True}, {}),
    "grouped and causal": (
        {"heads": 6, "key_heads": 3, "queries": KEYS},
        {"enable_gqa": True, "is_causal": True},
        {"mask": "causal"},
    ),
    "grouped and mask": (
        {"heads": 6, "key_heads": 2},
        {"enable_gqa": True, "attn_mask": HALF[:, :1]},
        {"mask": Pairs(HALF[:, :1])},
    ),
    **{
        f"bool {name}": ({}, {"attn_mask": table(*shape) > -0.5}, {"mask": Pairs(table(*shape) > -0.5)})
        for name, shape in BOOL.items()
    },
    **{
        f"float {name}": ({}, {"attn_mask": table(*shape)}, {"position": Bias(table(*shape))})
        for name, shape in BOOL.items()
    },
    "bool as a function": (
        {},
        {"attn_mask": HALF},
        {"mask": lambda batch, head, query, key: HALF[batch, head, query, key]},
    ),
    "bool and scale": ({}, {"attn_mask": HALF, "scale": 2.0}, {"mask": Pairs(HALF), "score": Dot(2.0)}),
    "a row hidden whole": ({}, {"attn_mask": ROW_HIDDEN}, {"mask": Pairs(ROW_HIDDEN)}),
    "float with minus infinity": ({}, {"attn_mask": INFINITE}, float_mask(INFINITE)),
    "float and scale": ({}, {"attn_mask": table(QUERIES, KEYS), "scale": 0.3}, {
        "position": Bias(table(QUERIES, KEYS)),
        "score": Dot(0.3),
    }),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_every_argument_has_its_equivalent(case, dtype):
    sizes, there, here = CASES[case]
    query, key, value = tensors(**sizes, dtype=dtype)
    # PyTorch wants a float mask in the dtype of the query, or of float32.
    there = {
        name: what.to(dtype) if isinstance(what, torch.Tensor) and what.is_floating_point() else what
        for name, what in there.items()
    }
    expected = F.scaled_dot_product_attention(query, key, value, **there)
    output = attend(query, key, value, **here)
    assert output.dtype == expected.dtype
    if expected.is_cuda and there.get("scale", 1.0) < 0 and expected.isnan().any():
        pytest.skip("PyTorch's kernel on this GPU gives NaN for a negative scale")
    # In bfloat16 both round their outputs; PyTorch, the weights too.
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 3e-2}[dtype]
    torch.testing.assert_close(output, expected, rtol=tolerance, atol=tolerance)
    if dtype == torch.bfloat16:
        return
    above = table(*output.shape).to(dtype)
    found = torch.autograd.grad(output, (query, key, value), above)
    wanted = torch.autograd.grad(expected, (query, key, value), above)
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance)


def test_a_bias_gets_the_gradient_that_pytorch_gives_it():
    query, key, value = tensors()
    for shape in BOOL.values():
        bias = table(*shape).requires_grad_()
        above = table(BATCH, HEADS, QUERIES, FEATURE)
        expected = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        (wanted,) = torch.autograd.grad(expected, bias, above)
        (found,) = torch.autograd.grad(attend(query, key, value, position=Bias(bias)), bias, above)
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("axes", [2, 3, 5])
def test_fewer_or_more_axes_are_unsqueezed_or_flattened(axes):
    query, key, value = (tensor[0] if axes < 5 else tensor[:, :, None] for tensor in tensors())
    if axes == 2:
        query, key, value = query[0], key[0], value[0]
    expected = F.scaled_dot_product_attention(query, key, value)
    if axes == 5:
        output = attend(*(tensor.flatten(0, 1) for tensor in (query, key, value))).unflatten(0, (BATCH, HEADS))
    else:
        lead = (None,) * (4 - axes)
        output = attend(query[lead], key[lead], value[lead])[(0,) * (4 - axes)]
    torch.testing.assert_close(output, expected)


def test_a_batch_of_one_against_many_is_expanded():
    query, key, value = tensors()
    expected = F.scaled_dot_product_attention(query[:1], key, value)
    torch.testing.assert_close(attend(query[:1].expand(BATCH, -1, -1, -1), key, value), expected)


def test_dropout_keeps_the_same_share():
    """The numbers drawn are others; how many fall, and what the rest is scaled by, is the same."""
    query, key = torch.zeros(1, 1, 50, 4), torch.zeros(1, 1, 200, 4)
    value = torch.ones(1, 1, 200, 1)
    torch.manual_seed(0)
    there = F.scaled_dot_product_attention(query, key, value, dropout_p=0.3)
    here = attend(query, key, value, dropout=0.3, seed=1)
    assert abs(float(there.mean()) - 1) < 0.03
    assert abs(float(here.mean()) - 1) < 0.03
    assert abs(float(there.std()) - float(here.std())) < 0.02
