"""What comes out does not depend on how a request is cut, and is the same bits at every call."""

import importlib

import pytest
import torch

from attention.cases import covering, kernels, pairwise, rotation
from attention.comparing import OTHERS, Cut, compare, explained, gaps, outcome
from regard.errors import RefusedError

# The name in the package is that of the function in it.
tiles = importlib.import_module("regard.attention.engines.blocked.tiles")

# Rows and numbers in a tile, and how close two stretches of keys must be to be taken as one.
CUTS = covering((1, 3, 5, 256), (1, 40, 10**9), (0, 64))


def compare_cut(case, rows, budget, near, monkeypatch):
    monkeypatch.setattr(tiles, "NEAR", near)
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
    for case in pairwise():
        compare_cut(case, *cut, monkeypatch)


@pytest.mark.parametrize("case", rotation(45, sizes=["long"], dropout=(0.0, 0.3))[::5], ids=str)
def test_many_tiles_equal_the_definition(case):
    compare(case, [torch.float64])


@pytest.mark.slow
@pytest.mark.parametrize("case", rotation(181, sizes=["long"], dropout=(0.0, 0.3)), ids=str)
def test_many_more_tiles_equal_the_definition(case):
    compare(case)


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
