"""Each mod gives PyTorch's outputs and log-sums, and the gradients of the same computation written out."""

import math

import pytest
import torch
import torch.nn.attention.flex_attention as theirs
from torch import Tensor

from flex.cases import BATCH, HEADS, LENGTH, MASKS, SCORES, SIZE, MaskCase, ScoreCase, drawn
from regard import flex
from regard.attention import Sizes
from regard.flex.block_masks import rule_of
from regard.flex.masks import AskedTiles, KeyIntervals, Tiles

pytestmark = pytest.mark.usefixtures("only_on_a_cpu")
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """PyTorch's own definition, which it would compile first."""
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def inputs(keys: int = LENGTH, key_heads: int = HEADS) -> tuple[Tensor, Tensor, Tensor]:
    return (
        drawn(BATCH, HEADS, LENGTH, SIZE),
        drawn(BATCH, key_heads, keys, SIZE, seed=1),
        drawn(BATCH, key_heads, keys, 7, seed=2),
    )


def written_out(tensors, score: ScoreCase | None, table: Tensor | None) -> tuple[Tensor, Tensor]:
    """The output and the log-sums, by plain PyTorch on all pairs."""
    query, key, value = tensors
    key, value = (each.repeat_interleave(HEADS // each.shape[1], 1) for each in (key, value))
    scores = query @ key.mT / math.sqrt(SIZE)
    if score is not None:
        sizes = BATCH, HEADS, LENGTH, key.shape[2]
        axes = [torch.arange(size).view([-1 if i == j else 1 for j in range(4)]) for i, size in enumerate(sizes)]
        scores = score.dense(scores, *axes)
    if table is not None:
        scores = scores.masked_fill(~table, -torch.inf)
    empty = (scores == -torch.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return weights @ value, scores.masked_fill(empty, 0.0).logsumexp(-1).masked_fill(empty.squeeze(-1), -torch.inf)


def check(tensors, score: ScoreCase | None, block_mask, table: Tensor | None, **options) -> None:
    """Outputs and log-sums are PyTorch's; their gradients to the second order are those of what is written out."""
    mod = None if score is None else score.mod
    wanted = [*tensors, *(() if score is None else score.trained)]
    output, lse = flex.flex_attention(*tensors, mod, block_mask, return_lse=True, **options)
    aux = theirs.AuxRequest(lse=True)
    with torch.no_grad():
        expected, expected_aux = theirs.flex_attention(
            *(each.detach() for each in tensors), mod, block_mask, return_aux=aux, **options
        )
    torch.testing.assert_close(output, expected, **CLOSE)
    torch.testing.assert_close(lse, expected_aux.lse, **CLOSE)
    oracle, oracle_lse = written_out(tensors, score, table)
    finite = torch.isfinite(lse)
    upward = drawn(*output.shape, seed=3, grad=False)
    found = [
        torch.autograd.grad([one, other[finite]], wanted, [upward, torch.ones_like(other[finite])], create_graph=True)
        for one, other in ((output, lse), (oracle, oracle_lse))
    ]
    torch.testing.assert_close(found[0], found[1], **CLOSE)
    second = [torch.autograd.grad(sum(each.square().sum() for each in grads), wanted) for grads in found]
    torch.testing.assert_close(second[0], second[1], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", SCORES)
def test_score_mods(name):
    case = SCORES[name]()
    check(inputs(), case, None, None)


@pytest.mark.parametrize("name", MASKS)
def test_mask_mods(name):
    case: MaskCase = MASKS[name]()
    sizes = BATCH if case.batch else None, HEADS if case.heads else None, LENGTH, case.keys
    block_mask = flex.create_block_mask(case.mod, *sizes, device="cpu")
    table = case.table()
    assert torch.equal(flex.create_mask(case.mod, *sizes, device="cpu"), table)
    assert type(rule_of(block_mask, BATCH, LENGTH, case.keys)).__name__ == case.became
    check(inputs(case.keys), None, block_mask, table)


@pytest.mark.parametrize(
    ("score", "mask"), [("alibi", "causal"), ("jagged", "packed_documents"), ("bias", "dilated"), ("paged", "nothing")]
)
def test_both(score, mask):
    masked = MASKS[mask]()
    sizes = BATCH if masked.batch else None, HEADS if masked.heads else None, LENGTH, masked.keys
    block_mask = flex.create_block_mask(masked.mod, *sizes, device="cpu")
    check(inputs(), SCORES[score](), block_mask, masked.table())


def test_heads_share_keys_and_the_scale_is_given():
    tensors = inputs(key_heads=1)
    scaled = [tensors[0] * 0.3 * math.sqrt(SIZE), *tensors[1:]]
    output = flex.flex_attention(*tensors, scale=0.3, enable_gqa=True)
    torch.testing.assert_close(output, written_out(scaled, None, None)[0], **CLOSE)
    check(tensors, SCORES["alibi"](), None, None, enable_gqa=True)


@pytest.mark.parametrize("size", [128, 32, (64, 16), 1000])
@pytest.mark.parametrize("name", MASKS)
def test_block_masks_have_the_tables_of_pytorch(name, size):
    case = MASKS[name]()
    sizes = BATCH if case.batch else None, HEADS if case.heads else None, LENGTH, case.keys
    ours, other = (make.create_block_mask(case.mod, *sizes, device="cpu", BLOCK_SIZE=size) for make in (flex, theirs))
    assert type(ours) is type(other)
    for one, another in zip(ours.as_tuple(), other.as_tuple(), strict=True):
        assert type(one) is type(another)
        assert torch.equal(one, another) if isinstance(one, Tensor) else one == another


@pytest.mark.parametrize("name", MASKS)
def test_a_block_mask_of_pytorch_is_the_same_rule(name):
    case = MASKS[name]()
    sizes = BATCH if case.batch else None, HEADS if case.heads else None, LENGTH, case.keys
    ours, other = (make.create_block_mask(case.mod, *sizes, device="cpu", BLOCK_SIZE=32) for make in (flex, theirs))
    tensors = [each.detach() for each in inputs(case.keys)]
    assert torch.equal(flex.flex_attention(*tensors, None, ours), flex.flex_attention(*tensors, None, other))


@pytest.mark.parametrize("name", ["dilated", "neighbourhood", "dilation_of_each_item_and_head", "table_of_pairs"])
@pytest.mark.parametrize("budget", [2**21, 1])
def test_a_mask_with_too_many_patterns_is_asked_each_time(name, budget, monkeypatch):
    monkeypatch.setattr("regard.flex.rules.MOST_PATTERNS", 0)
    monkeypatch.setattr("regard.flex.rules.BUDGET", budget)
    case = MASKS[name]()
    sizes = BATCH if case.batch else None, HEADS if case.heads else None, LENGTH, case.keys
    block_mask = flex.create_block_mask(case.mod, *sizes, device="cpu")
    assert type(rule_of(block_mask, BATCH, LENGTH, LENGTH)) is AskedTiles
    check(inputs(), SCORES["alibi"](), block_mask, case.table())


@pytest.mark.parametrize("name", MASKS)
def test_rows_and_heads_that_are_asked_apart(name, monkeypatch):
    """However few pairs are asked for at once, the rule and the tables are the same."""
    case = MASKS[name]()
    sizes = BATCH if case.batch else None, HEADS if case.heads else None, LENGTH, case.keys
    whole = flex.create_block_mask(case.mod, *sizes, device="cpu", BLOCK_SIZE=(48, 40))
    monkeypatch.setattr("regard.flex.rules.BUDGET", 1)
    parts = flex.create_block_mask(case.mod, *sizes, device="cpu", BLOCK_SIZE=(48, 40))
    assert torch.equal(whole.to_dense(), parts.to_dense())
    one, other = (rule_of(each, BATCH, LENGTH, case.keys) for each in (whole, parts))
    assert type(one) is type(other)
    if isinstance(one, KeyIntervals) and isinstance(other, KeyIntervals):
        assert torch.equal(one.starts, other.starts)
        assert torch.equal(one.stops, other.stops)
    if isinstance(one, Tiles) and isinstance(other, Tiles):
        assert torch.equal(one.patterns[one.table], other.patterns[other.table])


@pytest.mark.parametrize("kept", [2**11, 0])
def test_blocks_count_beside_the_mask_mod(kept, monkeypatch):
    """Full blocks aren't asked, and those in no list are hidden: as PyTorch's kernels have it, and its tables say."""
    monkeypatch.setattr("regard.flex.rules.MOST_PATTERNS", kept)
    counts = torch.tensor([[[1, 1, 0]]], dtype=torch.int32)
    columns = torch.tensor([[[[0, 1, 2], [1, 9, 9], [0, 1, 2]]]], dtype=torch.int32)
    full = torch.tensor([[[1, 0, 1]]], dtype=torch.int32)
    full_columns = torch.tensor([[[[2, 0, 0], [0, 0, 0], [0, 9, 9]]]], dtype=torch.int32)
    block_mask = flex.BlockMask.from_kv_blocks(
        counts, columns, full, full_columns, 50, lambda b, h, q, k: q % 2 == k % 2, (LENGTH, LENGTH), False
    )
    table = torch.zeros(LENGTH, LENGTH, dtype=torch.bool)
    same = torch.arange(LENGTH).unsqueeze(1) % 2 == torch.arange(LENGTH) % 2
    table[:50, :50], table[50:100, 50:100] = same[:50, :50], same[50:100, 50:100]
    table[:50, 100:] = table[100:, :50] = True
    tensors = inputs()
    output = flex.flex_attention(*tensors, None, block_mask)
    torch.testing.assert_close(output, written_out(tensors, None, table)[0], **CLOSE)


def test_items_share_the_keys_of_one():
    """As in paged attention: one item holds the keys of all, and the mask says whose they are."""
    query, key, value = inputs()
    owner = torch.arange(LENGTH) % BATCH
    block_mask = flex.create_block_mask(lambda b, h, q, k: owner[k] == b, BATCH, None, LENGTH, LENGTH, device="cpu")
    output = flex.flex_attention(query, key[:1], value[:1], block_mask=block_mask)
    table = (owner == torch.arange(BATCH).unsqueeze(1)).view(BATCH, 1, 1, LENGTH)
    shared = [each[:1].expand(BATCH, -1, -1, -1) for each in (key, value)]
    torch.testing.assert_close(output, written_out([query, *shared], None, table)[0], **CLOSE)


def test_auxiliary_outputs():
    tensors = inputs()
    block_mask = flex.create_block_mask(MASKS["documents_by_offsets"]().mod, None, None, LENGTH, LENGTH, device="cpu")
    case = SCORES["soft_cap"]()
    output, aux = flex.flex_attention(
        *tensors, case.mod, block_mask, return_aux=flex.AuxRequest(lse=True, max_scores=True)
    )
    plain, lse = flex.flex_attention(*tensors, case.mod, block_mask, return_lse=True)
    assert torch.equal(output, plain)
    assert torch.equal(aux.lse, lse)
    allowed = flex.create_mask(block_mask.mask_mod, None, None, LENGTH, LENGTH, device="cpu")
    scores = 2 * torch.tanh(tensors[0] @ tensors[1].mT / math.sqrt(SIZE) / 2)
    torch.testing.assert_close(aux.max_scores, scores.masked_fill(~allowed, -torch.inf).amax(-1), **CLOSE)
    assert flex.flex_attention(*tensors, return_aux=flex.AuxRequest())[1] == (None, None)


def test_create_mask_of_a_score_mod():
    case = SCORES["hidden_by_score"]()
    ours, other = (make.create_mask(case.mod, 2, 3, 11, 13, device="cpu") for make in (flex, theirs))
    assert torch.equal(ours, other)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own, where the compiler is imported
@pytest.mark.parametrize(
    ("score", "mask"),
    [("alibi_by_exponent", "causal"), ("soft_cap", "sliding_window"), (None, "neighbourhood"), ("relative", None)],
)
def test_equals_what_pytorch_compiles(score, mask):
    """Its kernel for CPUs, which has a forward pass only."""
    compiled = torch.compile(theirs.flex_attention)
    length = 256
    query, key, value = (drawn(1, HEADS, length, 32, seed=seed, grad=False, dtype=torch.float32) for seed in range(3))
    mod = None if score is None else SCORES[score]().mod
    block_mask = None
    if mask is not None:
        block_mask = flex.create_block_mask(MASKS[mask]().mod, None, None, length, length, device="cpu")
    with torch.no_grad():
        expected = compiled(query, key, value, mod, block_mask)
        output = flex.flex_attention(query, key, value, mod, block_mask)
    # A score as large as the length is rounded by this much on each side, and each weight by as much of itself.
    rounding = 2 * length * torch.finfo(torch.float32).eps
    torch.testing.assert_close(output, expected, rtol=0.0, atol=rounding * value.abs().max().item())


def test_scattered_tiles_are_left_out():
    """Of 9 tiles of keys a query sees every third, and of their keys every second."""
    length = 1100
    query, key, value = (drawn(1, 1, length, SIZE, seed=seed) for seed in range(3))
    block_mask = flex.create_block_mask(
        lambda b, h, q, k: (q // 128 % 3 == k // 128 % 3) & ((q - k) % 2 == 0), None, None, length, length, device="cpu"
    )
    at = torch.arange(length)
    table = (at.unsqueeze(1) // 128 % 3 == at // 128 % 3) & ((at.unsqueeze(1) - at) % 2 == 0)
    output = flex.flex_attention(query, key, value, block_mask=block_mask)
    expected = (query @ key.mT / math.sqrt(SIZE)).masked_fill(~table, -torch.inf).softmax(-1) @ value
    torch.testing.assert_close(output, expected, **CLOSE)
    found, other = (torch.autograd.grad(each.square().sum(), (query, key, value)) for each in (output, expected))
    torch.testing.assert_close(found, other, **CLOSE)
    rule = rule_of(block_mask, 1, length, length)
    keys = rule.columns(Sizes(1, length, length), slice(0, 128))
    assert keys is not None
    assert keys.tolist() == [*range(128), *range(384, 512), *range(768, 896)]
