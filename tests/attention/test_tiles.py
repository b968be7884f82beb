"""What comes out does not depend on how a request is cut, and is the same bits at every call."""

import importlib
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention.cases import covering, kernels, pairwise, pairwise_with, rotation
from attention.comparing import OTHERS, Cut, compare, explained, gaps, outcome
from attention.test_spans import BATCH, SIZES, drawn
from regard import attend
from regard.attention import Causal, Dense, Edges, Position, Prefix, Window
from regard.attention.engines.blocked.tile import take
from regard.attention.positions import RelativeKeys
from regard.attention.request import Request
from regard.attention.sizes import Sizes
from regard.errors import RefusedError
from regard.modules import BigBird, Longformer
from sampling import examples

# The name in the package is that of the function in it.
tiles = importlib.import_module("regard.attention.engines.blocked.tiles")

HEADS = 2

# Rows and numbers in a tile, and the gap below which two intervals of keys are merged.
CUTS = covering((1, 3, 5, 256), (1, 40, 10**9), (0, 64))


def compare_cut(case, rows, budget, near, monkeypatch):
    monkeypatch.setattr(tiles, "MAX_GAP", near)
    monkeypatch.setattr(tiles, "MAX_WIDTHS", 2)  # with the many that there are, keys so few are never widened
    expected = outcome(case.make(), "dense")
    far = gaps(outcome(case.make(), Cut(rows, budget)), expected, torch.float64)
    assert not far or explained(case, expected, far, torch.float64), far


@pytest.mark.parametrize(
    ("case", "cut"),
    [(case, CUTS[i % len(CUTS)]) for i, case in enumerate(rotation(45, dropout=(0.0, 0.3)))],
    ids=str,
)
def test_results_do_not_depend_on_tiles(case, cut, monkeypatch):
    compare_cut(case, *cut, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_results_do_not_depend_on_tiles_whatever_meets(cut, monkeypatch):
    for case in [case for case, own in pairwise_with(CUTS) if own == cut][::2]:
        compare_cut(case, *cut, monkeypatch)


@pytest.mark.exhaustive
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_results_do_not_depend_on_any_tiles_whatever_meets(cut, monkeypatch):
    for case in pairwise():
        compare_cut(case, *cut, monkeypatch)


@pytest.mark.parametrize("case", rotation(45, sizes=["long"], dropout=(0.0, 0.3))[::5], ids=str)
def test_many_tiles_equal_the_definition(case):
    compare(case, [torch.float64])


@pytest.mark.slow
@pytest.mark.parametrize("case", rotation(181, sizes=["long"], dropout=(0.0, 0.3)), ids=str)
def test_many_more_tiles_equal_the_definition(case):
    compare(case)


@settings(deadline=None, max_examples=examples(300))
@given(st.data(), SIZES)
def test_tiles_never_lie(data, size):
    """Each allowed pair stands in one tile, no pair in two, no tile beyond the keys; what is open is allowed to all."""
    queries, keys = size
    mask, sizes, every = drawn(data, size)
    times = torch.zeros(BATCH, HEADS, queries, keys, dtype=torch.int64)
    rows, budget = data.draw(st.integers(1, 12)), data.draw(st.sampled_from([1, 30, 10**9]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "MAX_GAP", data.draw(st.integers(0, 3)))
        patch.setattr(tiles, "MAX_WIDTHS", data.draw(st.integers(1, 12)))
        patch.setattr(tiles, "MIN_ROWS", 1)
        listed = list(tiles.tiles(mask, mask.spans(sizes), sizes, HEADS, tiles.TileSize(rows, budget, narrow=1)))
    for tile in listed:
        held = torch.arange(keys)[tile.keys]
        assert len(held) == tile.columns > 0
        for group in range(tile.groups.start, tile.groups.stop):
            item, head = divmod(group, HEADS)
            times[item, head, tile.rows, held] += 1
            assert every[item, tile.rows][:, held[tile.unmasked]].all()
    assert times.max() <= 1
    assert (times[every.unsqueeze(1).expand_as(times)] == 1).all()


@given(st.integers(0, 4), st.integers(0, 3), st.integers(0, 9), st.integers(0, 9), st.integers(1, 12))
def test_the_tile_of_a_small_request_is_the_one_that_it_is_cut_into(batch, heads, queries, keys, rows):
    sizes = Sizes(batch, queries, keys)
    for budget in (1, 30, 10**9):
        size = tiles.TileSize(rows, budget)
        only = tiles.single_tile(batch, heads, queries, keys, size)
        if only is not None:
            assert list(tiles.tiles(Dense(), Dense().spans(sizes), sizes, heads, size)) == [only]


def test_a_sentence_is_one_tile():
    assert tiles.single_tile(1, 4, 12, 12) == tiles.Tile(slice(0, 4), slice(0, 12), slice(0, 12), slice(0, 12))


@pytest.mark.parametrize("mask", [Causal(), Causal() & Window(3000, 0), Prefix(1001) | Causal()], ids=str)
def test_tiles_have_few_widths(mask):
    """Memory that was freed fits the next one only if sizes repeat, and so does a library's compiled product."""
    inputs = torch.zeros(1, 2, 8192, 4)
    request = Request.of(
        inputs, inputs, inputs, score="dot", weights="relu", mask=mask, position=None, dropout=0.0, seed=0
    )
    listed = list(tiles.tiles(request.parts.mask, request.spans, request.sizes, 2, tiles.TileSize(rows=16)))
    assert len(listed) > 500
    assert len({tile.columns for tile in listed}) <= tiles.MAX_WIDTHS + 1


@pytest.mark.parametrize("keys", [slice(3, 8), torch.tensor([1, 4])], ids=["neighbours", "picked"])
def test_a_tile_is_no_copy_of_the_whole(keys):
    """As a layer splits its heads, batch and head can't be one axis of a view."""
    whole = torch.randn(3, 10, 4, 5).transpose(1, 2)
    for groups in (slice(2, 4), slice(4, 12)):
        tile = tiles.Tile(groups, slice(0, 2), keys, slice(0, 0))
        for which, places in (("rows", slice(0, 2)), ("keys", keys)):
            found = take(whole, tile, which)
            assert torch.equal(found, whole.flatten(0, 1)[groups][:, places])
            shared = found.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
            assert shared or found.untyped_storage().nbytes() <= 4 * found.numel() * 3 / 2


def test_tiles_of_few_keys_are_tall():
    """Many queries of a short source: 256 rows at a time would be a thousand tiles of hardly any work."""
    inputs, few = torch.zeros(1, 2, 100_000, 4), torch.zeros(1, 2, 8, 4)
    request = Request.of(inputs, few, few, score="dot", weights="relu", mask=None, position=None, dropout=0.0, seed=0)
    listed = list(tiles.tiles(request.parts.mask, request.spans, request.sizes, 2))
    assert len(listed) <= 2 * 100_000 * 8 / 256**2 + 2
    assert all(tile.pairs <= tiles.ON_CPU.budget for tile in listed)


def rows_of_tiles(mask, length=4096):
    inputs = torch.zeros(1, 2, length, 4)
    request = Request.of(
        inputs, inputs, inputs, score="dot", weights="relu", mask=mask, position=None, dropout=0.0, seed=0
    )
    listed = list(tiles.tiles(request.parts.mask, request.spans, request.sizes, 2))
    return {tile.rows.stop - tile.rows.start for tile in listed}, sum(tile.pairs for tile in listed) / 2


@pytest.mark.parametrize(
    ("mask", "pairs"),
    [
        (Window(32, 32), 64 + 64),
        # The first rows see everything: 64 of them 4096 keys.
        (Longformer(32, global_tokens=5), 64 + 64 + 5 + 64),
        (Longformer(32, global_tokens=[0, 9]), 64 + 64 + 2 + 64),
        # Two blocks of a tile, one on each side, the global one, and a random one of each.
        (BigBird(32, 3, global_blocks=1, random_blocks=1), 32 * (2 + 2 + 1 + 2) + 64),
        (Edges(torch.stack([torch.arange(4096), torch.arange(4096) * 7 % 4096])), 64),
    ],
    ids=str,
)
def test_rows_that_share_few_keys_are_in_short_tiles(mask, pairs):
    """A tile holds the keys of all its rows, however few rows see everything."""
    rows, found = rows_of_tiles(mask)
    assert rows == {64}
    assert found <= 4096 * pairs


@pytest.mark.parametrize("mask", [None, "causal", Window(1000, 1000), Prefix(10) | Causal()], ids=str)
def test_rows_that_share_most_keys_are_in_tall_tiles(mask):
    assert rows_of_tiles(mask)[0] == {256}


# A GPU adds what index_add and the gradient of an embedding give in any order.
@pytest.mark.usefixtures("only_on_a_cpu")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "case", [*rotation(45, sizes=["long"], dropout=(0.0, 0.3))[1::8], *kernels("even, long", step=31)], ids=str
)
def test_the_gradients_are_the_same_bits_at_every_call(case, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for engine in OTHERS:
            try:
                first, again = (outcome(case.make(torch.float32), engine) for _ in range(2))
            except RefusedError:
                continue
            for name, tensor in first.items():
                assert torch.equal(tensor, again[name]), f"{engine}: {name}"
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("size", [1e18, 4e18])
@pytest.mark.parametrize("position", [None, "relative"])
def test_a_product_is_scaled_before_it_overflows(size, position):
    x = torch.full((1, 2, 3, 64), size)
    table = RelativeKeys(torch.zeros(5, 64)) if position else None
    output = attend(x, x, torch.ones(1, 2, 3, 4), position=table, engine="blocked")
    assert torch.equal(output, torch.ones(1, 2, 3, 4))


@pytest.mark.parametrize("turned", [False, True])
def test_an_output_is_laid_out_by_heads_and_is_not_what_a_users_position_keeps(turned):
    kept = []

    @dataclass(frozen=True)
    class Keeping(Position):
        def outputs(self, output, weights, at):
            kept.append(output.mT.contiguous().mT if turned else output)
            return kept[-1]

    x = torch.randn(2, 2, 3, 4)
    output = attend(x, x, x, position=Keeping())
    assert output.is_contiguous()
    output.zero_()
    assert kept[-1].any()


def test_a_gpu_gets_few_large_tiles():
    """Launching the kernels of a tile takes as long as much work, so a window isn't cut into short tiles."""
    assert tiles.tile_size(torch.device("cuda")) == tiles.ON_GPU
    assert tiles.tile_size(torch.device("cpu")) == tiles.ON_CPU
    inputs = torch.zeros(1, 8, 8192, 64)
    request = Request.of(
        inputs, inputs, inputs, score="dot", weights="relu", mask=Window(128, 128), position=None, dropout=0.0, seed=0
    )
    counts = [
        len(list(tiles.tiles(request.parts.mask, request.spans, request.sizes, 8, size)))
        for size in (tiles.ON_CPU, tiles.ON_GPU)
    ]
    assert counts == [64, 8]
