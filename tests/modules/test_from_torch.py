"""PyTorch's nn.MultiheadAttention, copied: equal output for every argument that its constructor and forward take."""

import itertools
import math

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.inspection import watch
from regard.modules import MultiHeadAttention, Pairs, torch_masks

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 3, 5, 7, 12
DOUBLE = torch.float64

MODULES = {
    "plain": {},
    "without bias": {"bias": False},
    "other key and value widths": {"kdim": 11, "vdim": 13},
    "other widths without bias": {"kdim": 11, "vdim": 13, "bias": False},
    "another value width": {"vdim": 13},
    "bias_k and bias_v": {"add_bias_kv": True},
    "zero attention": {"add_zero_attn": True},
    "both": {"add_bias_kv": True, "add_zero_attn": True},
    "both, other widths": {"add_bias_kv": True, "add_zero_attn": True, "kdim": 11, "vdim": 13},
    "dropout": {"dropout": 0.5},
}


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


def pair(batch_first=True, **options):
    """Theirs, with no parameter left at zero, and ours."""
    torch.manual_seed(2)
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=batch_first, dtype=DOUBLE, **options).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.5)
    return theirs, MultiHeadAttention.from_torch(theirs)


def inputs(theirs):
    return numbers(BATCH, QUERIES, WIDTH), numbers(BATCH, KEYS, theirs.kdim), numbers(BATCH, KEYS, theirs.vdim, seed=4)


HIDDEN = numbers(BATCH * HEADS, QUERIES, KEYS, seed=5) > 0.5
# Every query sees its first key, so that no row is hidden whole: that is a test of its own.
HIDDEN[..., 0] = False
PADDING = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
ATTENTION_MASKS = {
    "none": None,
    "bool 2-D": HIDDEN[0],
    "bool 3-D": HIDDEN,
    "float 2-D": numbers(QUERIES, KEYS),
    "float 3-D": numbers(BATCH * HEADS, QUERIES, KEYS),
    "float 2-D with infinity": numbers(QUERIES, KEYS).masked_fill(HIDDEN[1], -math.inf),
    "float 3-D with infinity": numbers(BATCH * HEADS, QUERIES, KEYS).masked_fill(HIDDEN, -math.inf),
}
PADDING_MASKS = {
    "none": None,
    "bool": PADDING,
    "float": numbers(BATCH, KEYS),
    "float with infinity": torch.zeros(BATCH, KEYS, dtype=DOUBLE).masked_fill(PADDING, -math.inf),
}


@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("options", MODULES.values(), ids=MODULES)
@pytest.mark.parametrize(("attn_mask", "padding"), list(itertools.product(ATTENTION_MASKS, PADDING_MASKS)))
def test_every_mask_on_every_module(options, attn_mask, padding):
    theirs, ours = pair(**options)
    query, key, value = inputs(theirs)
    masks = {"attn_mask": ATTENTION_MASKS[attn_mask], "key_padding_mask": PADDING_MASKS[padding]}
    with watch(ours) as seen:
        output = ours(query, key, value, **torch_masks(**masks, heads=HEADS))
    for need_weights, average in ((True, True), (True, False), (False, True)):
        expected, weights = theirs(query, key, value, need_weights=need_weights, average_attn_weights=average, **masks)
        torch.testing.assert_close(output, expected)
        if need_weights:
            # Extra keys stand in front here, behind there.
            extra = 0 if ours.extra is None else ours.extra.count
            mine = torch.cat([seen[0].weights()[..., extra:], seen[0].weights()[..., :extra]], -1)
            torch.testing.assert_close(mine.mean(1) if average else mine, weights)
        else:
            assert weights is None


@pytest.mark.parametrize("options", [{}, {"add_bias_kv": True, "add_zero_attn": True}], ids=["plain", "extra"])
def test_gradients(options):
    theirs, ours = pair(**options)
    sources = inputs(theirs)
    for module in (theirs, ours):
        module.zero_grad()
        output = module(*sources)
        (output if module is ours else output[0]).square().sum().backward()
    packed = torch.cat([ours.query.weight.grad, ours.key.weight.grad, ours.value.weight.grad])
    torch.testing.assert_close(packed, theirs.in_proj_weight.grad)
    torch.testing.assert_close(ours.output.bias.grad, theirs.out_proj.bias.grad)
    if options:
        torch.testing.assert_close(ours.extra.key.grad.flatten(), theirs.bias_k.grad.flatten())
        torch.testing.assert_close(ours.extra.value.grad.flatten(), theirs.bias_v.grad.flatten())


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_is_causal_is_a_rule_here(padded, need_weights):
    """There it is a hint that goes with the table; here it is the rule, and needs none."""
    theirs, ours = pair()
    x = numbers(BATCH, KEYS, WIDTH)
    table = nn.Transformer.generate_square_subsequent_mask(KEYS, dtype=DOUBLE)
    padding = PADDING_MASKS["float with infinity"] if padded else None
    expected, _ = theirs(x, x, x, attn_mask=table, is_causal=True, key_padding_mask=padding, need_weights=need_weights)
    own = torch_masks(key_padding_mask=padding, heads=HEADS)["mask"]
    torch.testing.assert_close(ours(x, mask="causal" if own is None else own & "causal"), expected)
    torch.testing.assert_close(ours(x, **torch_masks(table, padding, heads=HEADS)), expected)


def test_not_batch_first_wants_a_transpose():
    theirs, ours = pair(batch_first=False, kdim=11)
    query, key, value = inputs(theirs)
    expected, _ = theirs(*(tensor.transpose(0, 1) for tensor in (query, key, value)), key_padding_mask=PADDING)
    torch.testing.assert_close(
        ours(query, key, value, **torch_masks(key_padding_mask=PADDING, heads=HEADS)).transpose(0, 1), expected
    )


@pytest.mark.parametrize("batch_first", [False, True])
def test_a_single_sequence_wants_a_batch_of_one(batch_first):
    theirs, ours = pair(batch_first=batch_first)
    query, key, value = (tensor[0] for tensor in inputs(theirs))
    for attn_mask in (HIDDEN[0], HIDDEN[:HEADS], None):
        expected, _ = theirs(query, key, value, attn_mask=attn_mask, key_padding_mask=PADDING[1])
        masks = torch_masks(attn_mask, PADDING[1], heads=HEADS)
        torch.testing.assert_close(ours(query[None], key[None], value[None], **masks)[0], expected)


def test_the_masks_of_one_sequence_are_refused_for_a_batch():
    """PyTorch refuses them too; broadcast, they would hide the same places in every item."""
    theirs, ours = pair()
    query, key, value = inputs(theirs)
    added = numbers(HEADS, QUERIES, KEYS)
    for masks in (
        {"key_padding_mask": PADDING[1]},
        {"attn_mask": HIDDEN[:HEADS]},
        {"attn_mask": added},
        {"key_padding_mask": added[0, 0]},
    ):
        with pytest.raises((AssertionError, RuntimeError)):
            theirs(query, key, value, **masks)
        with pytest.raises(
            ArgumentError, match=f"`mask` must be for {BATCH} items, but is made of PyTorch's masks for 1"
        ):
            ours(query, key, value, **torch_masks(**masks, heads=HEADS))
    with pytest.raises(ArgumentError, match="must be for as many items, but are for 1 and"):
        torch_masks(HIDDEN[:HEADS], PADDING, heads=HEADS)


def test_a_row_hidden_whole_gives_nan_there_and_zeros_here():
    theirs, ours = pair()
    query, key, value = inputs(theirs)
    hidden = HIDDEN[0].clone()
    hidden[3] = True
    expected, _ = theirs(query, key, value, attn_mask=hidden)
    output = ours(query, key, value, **torch_masks(hidden, heads=HEADS))
    assert expected[:, 3].isnan().all()
    torch.testing.assert_close(output[:, 3], ours.output.bias.expand(BATCH, -1))
    others = torch.arange(QUERIES) != 3
    torch.testing.assert_close(output[:, others], expected[:, others])


def test_the_fast_path_of_theirs_is_the_same_function():
    theirs = nn.MultiheadAttention(WIDTH, 4, batch_first=True).eval()
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(BATCH, KEYS, WIDTH)
    with torch.no_grad():
        expected, weights = theirs(x, x, x, key_padding_mask=PADDING)
        with watch(ours) as seen:
            output = ours(x, **torch_masks(key_padding_mask=PADDING, heads=4))
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(seen[0].weights().mean(1), weights)


def test_what_else_is_carried_over():
    theirs = nn.MultiheadAttention(WIDTH, HEADS, dropout=0.25, dtype=torch.bfloat16)
    theirs.in_proj_weight.requires_grad_(False)
    ours = MultiHeadAttention.from_torch(theirs)
    assert ours.dropout == 0.25
    assert ours.training
    assert not MultiHeadAttention.from_torch(theirs.eval()).training
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.bfloat16}
    assert not ours.query.weight.requires_grad
    assert ours.query.bias.requires_grad
    with torch.no_grad():
        before = ours.query.weight.clone()
        theirs.in_proj_weight.zero_()
    assert torch.equal(ours.query.weight, before), "a copy, not a view"


def test_dropout_of_everything_leaves_the_last_bias():
    theirs, _ = pair(dropout=1.0)
    ours = MultiHeadAttention.from_torch(theirs).train()
    x = numbers(BATCH, KEYS, WIDTH)
    torch.testing.assert_close(ours(x), ours.output.bias.expand(BATCH, KEYS, -1))
    torch.testing.assert_close(theirs.train()(x, x, x)[0], ours(x))


class TestErrors:
    def test_a_subclass_that_computes_something_else(self):
        class Other(nn.MultiheadAttention):
            def forward(self, *arguments, **options):
                return super().forward(*arguments, **options)

        class Same(nn.MultiheadAttention):
            pass

        with pytest.raises(ArgumentError, match="Other has a forward of its own"):
            MultiHeadAttention.from_torch(Other(12, 3))
        MultiHeadAttention.from_torch(Same(12, 3))

    def test_another_module(self):
        with pytest.raises(ArgumentError, match=r"`module` must be a torch.nn.MultiheadAttention, but is Linear"):
            MultiHeadAttention.from_torch(nn.Linear(2, 2))

    @pytest.mark.parametrize(
        ("masks", "message"),
        [
            ({"attn_mask": torch.zeros(5, 7, dtype=torch.long)}, "`attn_mask` must be bool or float"),
            ({"attn_mask": torch.zeros(7)}, "`attn_mask` must be bool or float, of 2 or 3 axes"),
            ({"attn_mask": torch.zeros(4, 5, 7)}, "4 is no multiple of 3 heads"),
            ({"key_padding_mask": torch.zeros(2, 5, 7)}, "`key_padding_mask` must be bool or float, of 1 or 2 axes"),
        ],
    )
    def test_masks(self, masks, message):
        with pytest.raises(ArgumentError, match=message):
            torch_masks(**masks, heads=3)

    def test_tables(self):
        with pytest.raises(ArgumentError, match="`table` must be bool"):
            Pairs(torch.zeros(2, 2))
        with pytest.raises(ArgumentError, match="two to four axes"):
            Pairs(torch.zeros(2, dtype=torch.bool))
