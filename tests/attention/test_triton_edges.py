"""The `triton` engine along edges, in Triton's interpreter: there a segment of a long row has 8 edges."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attention.cases import MASK_EXAMPLES, SCORE_EXAMPLES, WEIGHTS_EXAMPLES, Arguments, Case, Size, numbers
from attention.comparing import compare_one, outcome, request_of
from attention.interpreting import interpret, taken
from regard.attention import Additive, Alibi, Budget, Causal, Edges, Entmax, Relu, Softmax, TopK, attend, plan
from regard.attention.engines import triton
from regard.attention.engines.triton.edges import graph_of
from regard.attention.engines.triton.segments import segments
from regard.attention.sizes import Sizes

F64 = torch.float64
# NumPy's, of the numbers that are hidden.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton.runtime.interpreter")


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    interpret(monkeypatch)


def hubs(size: Size) -> Edges:
    """A graph with a hub of queries and one of keys, edges that occur twice, and nodes without any, the last among
    them."""
    queries, keys = size.queries, size.keys
    key = torch.cat([torch.arange(keys), torch.full((queries,), 1), torch.tensor([0, 2, 2, 3, 0])])
    query = torch.cat([torch.full((keys,), 2), torch.arange(queries), torch.tensor([0, 0, 1, 1, 0])])
    kept = (query != 3) & (query < queries - 1) & (key < keys - 1)
    return Edges(torch.stack([key[kept], query[kept]]))


@pytest.fixture(autouse=True)
def mask_with_hubs(monkeypatch):
    monkeypatch.setitem(MASK_EXAMPLES, "hubs", hubs)


SCORES, WEIGHTS = taken("score", SCORE_EXAMPLES), taken("weights", WEIGHTS_EXAMPLES)
SIZES = "few queries", "few keys"


def cases(step: int) -> list[Case]:
    """All normalisers, with which scores and masks take turns."""
    columns = zip(itertools.cycle(SCORES[::step]), WEIGHTS, itertools.cycle(("hubs", "edges", "hubs")), strict=False)
    return [
        Case(score, weights, mask, "none", SIZES[i % 2], 0.3 * (i % 3 == 0))
        for i, (score, weights, mask) in enumerate(columns)
    ]


# One of each way to find what a row's weights need to know, and of each kind of score.
EACH_ONCE = [
    (Case("additive by head", "softmax by head", "hubs", size="few queries", dropout=0.3), F64),
    (Case("additive, leaky_relu", "entmax by head", "hubs", size="few keys"), F64),
    (Case("cosine by head", "sigmoid by head", "hubs", size="few queries"), torch.float32),
    (Case("dot, scaled", "relu", "edges", size="few keys", dropout=0.3), F64),
    (Case("bilinear", "hard", "hubs", size="few keys"), F64),
    (Case("cosine", "top_k", "hubs", size="few queries", dropout=0.3), F64),
]


@pytest.mark.parametrize(("case", "dtype"), EACH_ONCE, ids=str)
def test_it_equals_the_definition(case, dtype):
    assert graph_of(request_of(case.make())) is not None
    compare_one(case, "triton", dtype, outcome(case.make(), "dense"))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=mark, id=str(case))
        for mark, steps in ((pytest.mark.slow, (1, -1)), (pytest.mark.exhaustive, (2, -2)))
        for step in steps
        for case in cases(step)
    ],
)
def test_it_equals_the_definition_whichever_parts_meet(case):
    for dtype in (F64, torch.float32):
        compare_one(case, "triton", dtype, outcome(case.make(), "dense"))


def nodes(count: int, heads: int = 3, size: int = 3, seed: int = 1, batch: int = 1, dtype: torch.dtype = F64) -> Tensor:
    return numbers(batch, heads, count, size, seed=seed, dtype=dtype)


@pytest.mark.parametrize(
    ("heads", "key_heads", "size", "width", "batch"),
    [(1, 1, 1, 1, 1), (3, 3, 5, 2, 2), (6, 2, 4, 1, 1), (3, 1, 1, 6, 2)],
)
def test_sizes_that_are_no_powers_of_2(heads, key_heads, size, width, batch):
    query, key = nodes(4, heads, size, 1, batch), nodes(5, key_heads, size, 2, batch)
    value = nodes(5, key_heads, width, 3, batch)
    graph = Edges([[0, 1, 4, 2, 2, 4, 3], [0, 0, 0, 0, 2, 2, 2]])
    found, expected = (
        (*torch.autograd.grad(output.square().sum(), (query, key, value)), output)
        for output in (attend(query, key, value, mask=graph, engine=engine) for engine in ("triton", "dense"))
    )
    torch.testing.assert_close(found, expected)


def test_a_graph_without_edges_gives_zeros():
    x = nodes(2, 1, 2)
    output = attend(x, x, x, mask=Edges(torch.zeros(2, 0, dtype=torch.long)), engine="triton")
    (gradient,) = torch.autograd.grad(output.sum(), x)
    assert not output.any()
    assert not gradient.any()


@pytest.mark.parametrize("weights", [Softmax(), Relu(), Entmax(1.5), Budget(1.5), TopK(1), "sigmoid", "hard"], ids=repr)
def test_nan_is_seen_by_neighbours_alone(weights):
    """Node 1 holds NaN, and node 0 sees it; node 2 sees node 3, and node 3 nothing, though NaN comes in there."""
    x = nodes(4).detach()
    x[:, :, 1] = torch.nan
    x.requires_grad_()
    graph = Edges([[0, 1, 3], [0, 0, 2]])
    output = attend(x, x.detach(), x.detach(), mask=graph, weights=weights, engine="triton")
    seen = output.isnan().all(3).all(1)[0]
    assert seen.tolist() == [True, False, False, False]
    assert (output[:, :, [1, 3]] == 0).all()
    above = torch.ones_like(output)
    above[:, :, 3] = torch.nan
    (gradient,) = torch.autograd.grad(output, x, above)
    assert (gradient[:, :, [1, 3]] == 0).all()
    assert gradient[:, :, 2].isfinite().all()
    expected = attend(x, x.detach(), x.detach(), mask=graph, weights=weights, engine="dense")
    torch.testing.assert_close(output, expected, equal_nan=True)


def test_a_query_that_is_nan_is_seen():
    """Where all scores are NaN, so is their maximum."""
    x = nodes(2, 1, 2).detach()
    y = x.clone()
    y[:, :, 0] = torch.nan
    for weights in ("softmax", "sparsemax", "hard", "relu", "top_k"):
        output = attend(y, x, x, mask=Edges([[0, 1], [0, 1]]), weights=weights, engine="triton")
        assert output.isnan().all(3)[0, 0].tolist() == [True, False], weights


def test_log_sums():
    query, key = nodes(3, 2, 2), nodes(10, 2, 2, 2)
    temperature = torch.tensor([0.5, 2.0], dtype=F64, requires_grad=True)
    graph = Edges(torch.stack([torch.arange(10), torch.arange(10) // 9]))
    found = []
    for engine in ("triton", "dense"):
        output, log_sums = attend(
            query, key, key, mask=graph, weights=Softmax(temperature), engine=engine, log_sums=True
        )
        total = output.sum() + log_sums[:, :, :2].sin().sum()
        found.append([output, log_sums, *torch.autograd.grad(total, (query, key, temperature))])
    torch.testing.assert_close(*found)


class Looks(TorchDispatchMode):
    """The operations for which the host would wait for a GPU."""

    WAITING = ("_local_scalar_dense", "nonzero", "repeat_interleave", "item", "is_nonzero", "equal", "index")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in self.WAITING or (name == "_to_copy" and (kwargs or {}).get("device") is not None):
            self.found.append(name)
        return func(*args, **(kwargs or {}))


def test_the_host_looks_at_a_graph_once():
    query, key = nodes(2, 1, 2), nodes(9, 1, 2, 2)
    graph = Edges(torch.stack([torch.arange(9), torch.zeros(9, dtype=torch.long)]))
    score = Additive(nodes(1, 1, 2, 5).detach().flatten().requires_grad_())

    def step() -> list[str]:
        with Looks() as looks:
            assert not graph.hides_nothing(Sizes(1, 2, 9))
            attend(query, key, key, mask=graph, score=score, engine="triton").sum().backward()
        return looks.found

    assert "nonzero" in step()
    assert step() == []
    # What is kept of a graph is found again in the backward pass, and is let go of when the graph changes.
    graph.csr.starts.add_(0)
    assert "nonzero" in step()


def test_a_complete_graph_hides_nothing():
    every = torch.cartesian_prod(torch.arange(2), torch.arange(3)).T
    for graphs, sizes, expected in (
        (every, Sizes(2, 3, 2), True),
        ([every, every], Sizes(2, 3, 2), True),
        ([every, every[:, 1:]], Sizes(2, 3, 2), False),
        (every, Sizes(1, 4, 2), False),
        (torch.cat([every[:, 1:], every[:, 1:2]], 1), Sizes(1, 3, 2), False),
    ):
        assert Edges(graphs).hides_nothing(sizes) == expected


def test_what_goes_by_tiles():
    graph, two_graphs = Edges([[0, 1, 3], [0, 0, 2]]), Edges([torch.tensor([[0], [1]])] * 2)
    for mask, position, along_edges in (
        (graph, None, True),
        (graph & Causal(), None, False),
        (two_graphs, None, False),
        (graph, Alibi(3), False),
    ):
        x = nodes(4, batch=2)
        parts = {"score": "dot", "weights": "softmax", "mask": mask, "position": position}
        request = request_of(Arguments(x, x, x, parts, {"dropout": 0.0, "seed": 0}))
        assert triton.refuse(request) is None
        assert (graph_of(request) is not None) == along_edges


def test_the_plan_counts_edges():
    x = nodes(4)
    said = plan(x, x, x, mask=Edges([[0, 1, 3], [0, 0, 2]]), engine="triton")
    assert said.tiles == {"edges": 3}
    assert said.work == 2 * 3 * 3 * (3 + 3)


def test_long_rows_are_cut_into_segments():
    found = segments(torch.tensor([0, 3, 20, 20, 28, 37]))
    assert found.rows.tolist() == [1, 1, 1, 4, 4]
    assert found.firsts.tolist() == [3, 11, 19, 28, 36]
    assert found.long_rows.tolist() == [1, 4]
    assert found.bounds.tolist() == [0, 3, 5]
