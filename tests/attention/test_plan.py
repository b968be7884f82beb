"""What `auto` chooses, at what price, and what `plan` says of it."""

import pytest
import torch

from attention.cases import MASK_EXAMPLES, SIZES, Case, Size, seeded
from attention.comparing import request_of
from regard.attention import Additive, Budget, Edges, TopK, Window, attend, plan
from regard.attention.engines import ENGINES, blocked
from regard.attention.engines.blocked.tiles import extent, tiles
from regard.attention.request import Request
from regard.errors import RefusedError
from regard.modules.efficient import Strided


def heads(length: int, count: int = 2, size: int = 8) -> torch.Tensor:
    return torch.zeros(1, count, length, size)


@pytest.mark.parametrize("mask", MASK_EXAMPLES)
@pytest.mark.parametrize("size", SIZES)
def test_the_estimate_is_at_least_what_the_tiles_hold(mask, size):
    # Items in one tile take as many keys as the longest; alone, each takes its own.
    request = request_of(Case(mask=mask).make(size=SIZES[size].alone(0))).expanded
    count = request.query.shape[1]
    exact = sum(tile.pairs for tile in tiles(request.parts.mask, request.spans, request.sizes, count))
    assert extent(request.parts.mask, request.spans, request.edges, request.sizes, count).pairs >= exact


@pytest.mark.parametrize("mask", [None, "causal", Window(300, 20), Window(1, 1), "no_self"])
def test_where_rows_see_neighbours_the_estimate_is_exact(mask):
    query = heads(2048)
    request = request_of(Case(size="self").make())
    request = type(request).of(
        query, query, query, score="dot", weights="relu", mask=mask, position=None, dropout=0.0, seed=0
    )
    listed = list(tiles(request.parts.mask, request.spans, request.sizes, 2))
    found = extent(request.parts.mask, request.spans, request.edges, request.sizes, 2)
    assert found.pairs == sum(tile.pairs for tile in listed)
    assert len(listed) / 8 <= found.tiles <= len(listed) * 8


def test_an_edge_is_at_most_one_key_of_its_tile():
    graph = torch.randint(4000, (2, 8000), generator=seeded(0))
    request = request_of(Case(mask="edges").make())
    query = heads(4000)
    request = type(request).of(
        query, query, query, score="dot", weights="softmax", mask=Edges(graph), position=None, dropout=0.0, seed=0
    )
    found = extent(request.parts.mask, request.spans, request.edges, request.sizes, 2)
    assert found.pairs <= 2 * 8000 * 256


def test_to_choose_lists_no_tiles(monkeypatch):
    """It is done at every call: a list of them took longer than the attention itself."""

    def never(*arguments):
        raise AssertionError("tiles were listed")

    monkeypatch.setattr("regard.attention.engines.blocked.costs.tiles", never)
    graph = Edges(torch.randint(2000, (2, 8000)))
    for options in ({"mask": graph}, {"mask": Window(3, 3)}, {"weights": "entmax"}, {"mask": "causal", "dropout": 0.1}):
        query = heads(2000)
        assert attend(query, query, query, **options).shape == query.shape


@pytest.mark.usefixtures("only_on_a_cpu")
def test_the_sparse_and_the_compiled_win_where_they_should():
    query = heads(4096)
    assert plan(query, query, query).engine == "fused"
    assert plan(query, query, query, mask=Window(16, 16)).engine == "banded"
    assert plan(query, query, query, mask=Edges(torch.randint(4096, (2, 20_000)))).engine == "jit"
    assert plan(query, query, query, score=Additive(torch.ones(8))).engine == "jit"
    assert plan(query, query, query, weights="relu").engine == "blocked"


def test_more_work_takes_longer():
    requests = [
        request_of(Case(mask="causal", weights=weights, size="self").make(size=Size.of(length)))
        for length in (512, 4096)
        for weights in ("softmax", "entmax")
    ]
    for engine in ("blocked", "dense"):
        times = [ENGINES[engine].seconds(request) for request in requests]
        assert times == sorted(times), engine
        assert all(time > 0 for time in times)
    short, long = (ENGINES["blocked"].cost(request) for request in (requests[0], requests[2]))
    assert long.work > 32 * short.work


def test_a_function_that_is_called_for_every_pair_is_named():
    def even(batch, head, query, key):
        return (query + key) % 2 == 0

    query = heads(30, 8)
    found = plan(query, query, query, mask=Window(2, 2) & even | ~Window(1, 1) & even)
    assert found.slow == ("even is called for every pair of the tiles: write a Mask with spans",)
    assert str(found).count("even is called for every pair of the tiles") == 1
    assert not plan(query, query, query, mask=Window(2, 2)).slow


@pytest.mark.parametrize("weights", [Budget(3.0), TopK(4)])
def test_a_normaliser_that_searches_is_named(weights):
    query = heads(30, 8)
    assert f"slow    {weights} searches" in str(plan(query, query, query, weights=weights))


@pytest.mark.usefixtures("only_on_a_cpu")
def test_edges_that_a_mask_lists_are_counted():
    """Three lists of integers at least, and more while they are made and filtered."""
    query = heads(1000, 8)
    alone, filtered = (plan(query, query, query, mask=mask) for mask in (Strided(31), Strided(31) & "causal"))
    assert alone.engine == filtered.engine == "jit"
    assert alone.memory > alone.tiles["edges"] * 3 * 8
    assert filtered.memory > alone.memory


@pytest.mark.usefixtures("only_on_a_cpu")
def test_a_filtered_list_of_edges_is_counted():
    """Beside the mask's own list, which is there already, stands the list of those that another mask leaves."""
    graph, query = Edges(torch.randint(4000, (2, 80_000))), heads(4000, 8)
    alone, filtered = (plan(query, query, query, mask=mask) for mask in (graph, graph & "causal"))
    assert alone.engine == filtered.engine == "jit"
    assert filtered.memory - alone.memory > 80_000 * 3 * 8
    assert "for kernels, once in a process" in str(alone)
    assert alone.kernels > 100 * 2**20
    assert plan(query, query, query).kernels == 0


@pytest.mark.parametrize("engine", ["jit", "banded"])
def test_a_named_engine_refuses_what_is_not_for_it(engine):
    query = heads(3)
    with pytest.raises(RefusedError, match=f"`engine` '{engine}' can't do this request: .* Use engine='auto'"):
        attend(query, query, query, engine=engine)
    assert engine in plan(query, query, query).refused


def test_a_scaled_product_makes_no_copies_and_others_do():
    """Of the vectors, before the tiles: as the plan counts the memory."""
    x = torch.zeros(1, 2, 300, 8)
    memory = {score: plan(x, x, x, score=score, engine="blocked").memory for score in ("dot", "scaled_dot", "cosine")}
    assert memory["dot"] == memory["scaled_dot"] < memory["cosine"]


def test_normalisers_that_search_are_estimated_to_take_longer():
    x = torch.zeros(1, 1, 512, 8)
    parts = {"mask": None, "position": None, "dropout": 0.0, "seed": 0}
    names = "relu", "softmax", "top_k", "budget"
    times = [blocked.seconds(Request.of(x, x, x, score="dot", weights=each, **parts)) for each in names]
    assert times == sorted(times)
    assert len(set(times)) == len(times)
