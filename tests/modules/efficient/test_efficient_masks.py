"""Strided, Longformer and BigBird: hand-worked patterns, how many pairs they allow, and what that costs."""

import math

import numpy as np
import pytest
import torch

from regard.attention import Lengths, Sizes, plan, weigh
from regard.attention.pairs.csr import csr_of
from regard.errors import ArgumentError
from regard.inspection.record.part_json import describe, rebuild
from regard.modules import BigBird, Longformer, Strided


def allowed(mask, length, keys=None):
    """All pairs, (query, key), asked one by one."""
    keys = length if keys is None else keys
    item = torch.zeros(1, 1, 1, dtype=torch.long)
    rows, columns = torch.arange(length).view(1, -1, 1), torch.arange(keys).view(1, 1, -1)
    return mask.allows(Sizes(1, length, keys).index(item, item, rows, columns)).expand(1, length, keys)[0]


def picture(mask, length):
    return ["".join("x" if cell else "." for cell in row) for row in allowed(mask, length).tolist()]


PATTERNS = {
    # Two neighbours on each side; every second position.
    "strided 2": (Strided(2), 5, ["xxx.x", "xxxx.", "xxxxx", ".xxxx", "x.xxx"]),
    "strided 3": (
        Strided(3),
        7,
        ["xxxx..x", "xxxxx..", "xxxxxx.", "xxxxxxx", ".xxxxxx", "..xxxxx", "x..xxxx"],
    ),
    "strided 3, causal": (
        Strided(3) & "causal",
        7,
        ["x......", "xx.....", "xxx....", "xxxx...", ".xxxx..", "..xxxx.", "x..xxxx"],
    ),
    "strided 1": (Strided(1), 3, ["xxx"] * 3),
    "longformer": (Longformer(1, 1), 6, ["xxxxxx", "xxx...", "xxxx..", "x.xxx.", "x..xxx", "x...xx"]),
    "longformer, none global": (Longformer(1, 0), 4, ["xx..", "xxx.", ".xxx", "..xx"]),
    "longformer, here and there": (
        Longformer(0, [1, 4]),
        6,
        ["xx..x.", "xxxxxx", ".xx.x.", ".x.xx.", "xxxxxx", ".x..xx"],
    ),
    "longformer, global only": (Longformer(0, 2), 4, ["xxxx", "xxxx", "xxx.", "xx.x"]),
    # Three blocks of two and one of one: the first is global.
    "bigbird without random blocks": (
        BigBird(2, 1, 1, 0),
        7,
        ["xxxxxxx"] * 2 + ["xxxx..."] * 2 + ["xx..xx."] * 2 + ["xx....x"],
    ),
    "bigbird, windows": (
        BigBird(1, 3, 0, 0),
        5,
        ["xx...", "xxx..", ".xxx.", "..xxx", "...xx"],
    ),
    # Of five blocks each sees itself, and two others of four by chance.
    "bigbird, chance": (BigBird(1, 1, 0, 2, seed=0), 5, ["xxx..", ".xxx.", ".xxx.", "x..xx", "x..xx"]),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_the_pattern_is_that_of_the_paper(name):
    mask, length, expected = PATTERNS[name]
    assert picture(mask, length) == expected


@pytest.mark.parametrize(
    ("mask", "length", "pairs"),
    [
        # At offsets 0, 1, 2, 3 and 6, in both directions: 7 + 2 (6 + 5 + 4 + 1).
        (Strided(3), 7, 39),
        (Strided(3) & "causal", 7, 7 + 6 + 5 + 4 + 1),
        # A band of 6 + 2 * 5, and what the first row and the first column have beside it.
        (Longformer(1, 1), 6, 16 + 4 + 4),
        # Blocks: the global one sees 6; 3, 4, 4, 4 and 3 are near or global; each of these sees one more by chance.
        (BigBird(2, 3, 1, 1), 12, 4 * (6 + 3 + 4 + 4 + 4 + 3 + 5)),
    ],
    ids=str,
)
def test_pairs_counted_by_hand(mask, length, pairs):
    assert int(allowed(mask, length).sum()) == pairs


def counted(mask, length):
    return int(allowed(mask, length).sum())


def test_longformers_pairs_grow_linearly():
    """The band without its two corners, and what the global rows and columns have outside of it."""
    reach, tokens = 5, 3
    for length in (256, 512, 1024):
        band = length * (2 * reach + 1) - reach * (reach + 1)
        inside = sum(min(reach, row) + reach + 1 for row in range(tokens))
        both = tokens * length - inside
        assert counted(Longformer(reach, tokens), length) == band + 2 * both
    assert counted(Longformer(reach, [7, 100, 200]), 1024) < 2.1 * counted(Longformer(reach, [7, 100, 200]), 512)


def test_bigbirds_queries_see_equally_many_keys_at_any_length():
    mask = BigBird(4, 3, 2, 3)
    for length in (128, 512, 1024):
        seen = allowed(mask, length).sum(-1)
        assert (seen[:8] == length).all()  # the global blocks
        # Near a global block or the end, a window has fewer blocks of its own.
        assert (seen[16:-4] == 4 * (3 + 2 + 3)).all()
        assert (seen[8:] <= 4 * (3 + 2 + 3)).all()


def test_strideds_pairs_grow_as_n_sqrt_n():
    for length in (64, 256, 1024, 4096):
        stride = math.isqrt(length)
        pairs = counted(Strided(stride), length)
        # A band of 2 stride + 1, and at most n / stride others, for each query.
        assert length * stride < pairs <= length * (3 * stride + 1)
        assert counted(Strided(stride) & "causal", length) == (pairs + length) // 2


LONG = {"longformer": Longformer(64, 4), "longformer here and there": Longformer(64, [0, 700]), "bigbird": BigBird(32)}


def cost(mask, length, batch=1):
    tensor = torch.zeros(batch, 2, length, 16)
    return plan(tensor, tensor, tensor, mask=mask)


@pytest.mark.usefixtures("only_on_a_cpu")
@pytest.mark.parametrize("name", LONG)
def test_the_work_and_memory_grow_linearly(name):
    """The estimates of `plan` count the tiles that are computed."""
    first, second, full = cost(LONG[name], 4096), cost(LONG[name], 8192), cost(None, 8192)
    assert second.work < 2.2 * first.work
    assert second.memory < 2.2 * first.memory
    assert second.work < full.work / 4


@pytest.mark.usefixtures("only_on_a_cpu")
def test_strided_work_is_that_of_its_pairs():
    pytest.importorskip("numba")
    for length in (1024, 4096):
        stride = math.isqrt(length)
        found = cost(Strided(stride), length)
        assert found.engine == "jit"
        assert found.work == 2 * 2 * counted(Strided(stride), length) * (16 + 16)


@pytest.mark.usefixtures("only_on_a_cpu")
def test_items_of_different_lengths_have_most_random_blocks_in_common():
    lengths = Lengths([4096, 3900, 3500, 3100, 2800, 2600, 2300, 2048])
    alike = cost(BigBird(32) & Lengths([4096] * 8), 4096, batch=8)
    assert cost(BigBird(32) & lengths, 4096, batch=8).work < 1.5 * alike.work


def random_blocks(mask, blocks):
    """The random blocks of each block that isn't global."""
    everything, known = (
        allowed(each, blocks) for each in (mask, BigBird(1, mask.window_blocks, mask.global_blocks, 0))
    )
    return [row.nonzero().flatten().tolist() for row in everything & ~known][mask.global_blocks :]


def test_random_blocks_are_the_same_for_ever():
    """In saved models they are a part of the network, so these numbers must never change."""
    assert random_blocks(BigBird(1, 3, 2, 3, seed=0), 12) == [
        *([6, 7, 10], [5, 6, 7], [2, 6, 10], [2, 3, 8], [2, 3, 11]),
        *([2, 9, 11], [3, 4, 6], [6, 7, 11], [2, 6, 8], [3, 8, 9]),
    ]
    assert random_blocks(BigBird(1, 1, 0, 1, seed=7), 9) == [[8], [3], [6], [2], [1], [0], [2], [0], [1]]


def test_random_blocks_depend_on_the_seed_alone():
    mask = BigBird(1, 3, 1, 2, seed=3)
    torch.manual_seed(1)
    np.random.seed(1)
    first = random_blocks(mask, 40)
    torch.manual_seed(2)
    np.random.seed(2)
    assert random_blocks(mask, 40) == random_blocks(BigBird(1, 3, 1, 2, seed=3), 40) == first
    assert random_blocks(BigBird(1, 3, 1, 2, seed=4), 40) != first
    assert all(len(each) == 2 for each in first)
    # Every block, and not only the near ones.
    drawn = [block for each in first for block in each]
    assert len(set(drawn)) > 25


def test_random_blocks_of_a_shorter_item_are_those_of_a_longer_one():
    mask = BigBird(1, 1, 0, 3, seed=1)
    longer, shorter = random_blocks(mask, 50), random_blocks(mask, 40)
    for many, few in zip(longer, shorter, strict=False):
        assert {block for block in many if block < 40} <= set(few)
        assert len(few) == 3


def test_an_item_sees_what_it_sees_alone():
    """Items are padded to the longest, which must not change their random blocks."""
    mask, lengths = BigBird(2, 1, 0, 2, seed=2), [31, 13, 5, 0]
    x = torch.randn(4, 1, 31, 4)
    weights = weigh(x, x, mask=mask & Lengths(lengths))
    for item, length in enumerate(lengths):
        seen = weights[item, 0, :length, :length] > 0
        assert torch.equal(seen, allowed(mask, length))


def test_the_keys_of_a_few_queries_are_those_of_all_items():
    lengths = torch.tensor([31, 13, 5, 0])
    mask, sizes = BigBird(2, 1, 0, 2, seed=2), Sizes(4, 31, 31, lengths, lengths)
    item, place = torch.arange(4).view(-1, 1, 1), torch.arange(31)
    every = mask.allows(sizes.index(item, torch.zeros_like(item), place.view(1, -1, 1), place.view(1, 1, -1)))
    for first in range(31):
        rows = slice(first, first + 1)
        assert mask.columns(sizes, rows).tolist() == every[:, rows].any(0).any(0).nonzero().flatten().tolist()


@pytest.mark.parametrize(("stride", "length"), [(2, 7), (3, 11), (5, 41), (8, 64), (13, 29)])
def test_positions_are_at_most_two_layers_of_strided_attention_apart(stride, length):
    direct = allowed(Strided(stride), length).double()
    assert (direct @ direct).bool().all()
    assert length <= 2 * stride + 1 or not direct.all()


def test_sizes_may_be_integers_of_numpy():
    assert Longformer(np.int64(1), np.int64(2)) == Longformer(1, 2)
    assert str(Longformer(1, np.int64(2))) == "Longformer(window=1, global_tokens=2)"
    assert Longformer(1, [np.int64(0), np.int64(4)]) == Longformer(1, [0, 4])


@pytest.mark.parametrize(("queries", "keys"), [(11, 11), (7, 11), (11, 7), (1, 11), (11, 1), (0, 5), (5, 0)])
@pytest.mark.parametrize("stride", [1, 2, 3, 20])
def test_strided_lists_its_pairs(stride, queries, keys):
    expected = csr_of(allowed(Strided(stride), queries, keys).nonzero().T.flip(0), queries, keys)
    found = Strided(stride).edges(Sizes(1, queries, keys))
    for name in ("starts", "keys", "key_starts", "queries", "csc_to_csr"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize(
    "mask", [Strided(5), Strided(7), Longformer(1, [4, 9]), BigBird(2, 1, 0, 1), BigBird(3, 3, 1, 2, seed=4)], ids=str
)
@pytest.mark.parametrize(("queries", "keys"), [(23, 23), (9, 23), (23, 9)])
def test_the_keys_of_a_few_queries_are_those_that_they_see(mask, queries, keys):
    """No more, which would cost time, and no fewer."""
    every = allowed(mask, queries, keys)
    for first in range(queries):
        for count in (1, 2, 4):
            rows = slice(first, min(first + count, queries))
            columns = mask.columns(Sizes(1, queries, keys), rows)
            if columns is not None:
                assert columns.tolist() == every[rows].any(0).nonzero().flatten().tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Strided(0),
            "`stride` must be the number of positions between two keys of Strided, 1 or more, but is 0",
        ),
        (lambda: Strided(2.0), "but is 2.0"),
        (lambda: Longformer(-1), "`window` must be how many keys on each side a query of Longformer sees, 0 or more"),
        (lambda: Longformer(1, -1), "`global_tokens` must be how many positions of Longformer are global, 0 or more"),
        (
            lambda: Longformer(1, [2, -1]),
            "`global_tokens` must be numbers of positions of Longformer, 0 or more, but is -1",
        ),
        (
            lambda: Longformer(1, "first"),
            "`global_tokens` must be how many .*, or a list of their numbers, but is 'first'",
        ),
        (lambda: Longformer(1, True), "or a list of their numbers, but is True"),
        (lambda: BigBird(0), "`block` must be how many positions a block of BigBird has, 1 or more, but is 0"),
        (lambda: BigBird(4, 2), "`window_blocks` of BigBird must be odd, .* but is 2"),
        (lambda: BigBird(4, 3, -1), "`global_blocks` must be"),
        (lambda: BigBird(4, 3, 1, -1), "`random_blocks` must be"),
        (lambda: BigBird(4, seed=1.5), "`seed` must be"),
    ],
)
def test_what_is_no_mask(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize("mask", [Strided(3), Longformer(2, 1), Longformer(2, [3, 9]), BigBird(4, seed=9)], ids=str)
def test_masks_are_values(mask):
    """They stand in specs, which are compared and hashed, and in records, which are saved as JSON."""
    again = rebuild(describe(mask, str), lambda name: torch.zeros(()))
    assert again == mask
    assert hash(again) == hash(mask)
    assert again != Strided(4)


def test_global_positions_at_the_start_are_their_number():
    assert Longformer(2, [1, 0, 1]) == Longformer(2, 2)
    assert Longformer(2, []) == Longformer(2, 0)
    assert Longformer(2, [4, 1, 4]).global_tokens == (1, 4)
