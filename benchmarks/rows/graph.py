"""Attention on the edges of a graph: whole layers of PyTorch Geometric, projections included, at their best setting.

20 000 nodes with 64 features, 400 000 different edges, 8 heads of 8. torch_geometric runs here in pure Python, on
PyTorch's own scatter: its compiled companions (pyg-lib, torch-scatter) are not installed where there are no wheels.
"""

from typing import Any

import torch
from torch import Tensor, nn

from rows.row import Bench, Case, Maker, Outputs, Row, Work, backward, forward, part

__all__ = ["ROWS", "transformer"]

NODES, EDGES, HEADS, SIZE = 20_000, 400_000, 8, 8
WIDTH = HEADS * SIZE


def _edges(bench: Bench) -> Tensor:
    """(2, edge): from (key) and to (query), as PyTorch Geometric has them; all different, in no order."""
    nodes, edges = bench.size(NODES), bench.size(EDGES)
    pairs = torch.unique(torch.randint(nodes * nodes, (edges + edges // 50,)))
    pairs = pairs[torch.randperm(len(pairs))[:edges]]
    return torch.stack((pairs % nodes, pairs // nodes)).to(bench.device)


def _settings(layer: nn.Module, vectors: Tensor, edges: Tensor, wrap) -> dict[str, Maker]:
    """A layer of PyTorch Geometric: edges as they came, sorted by target, and compiled on top of that."""
    ordered = edges[:, edges[1].argsort(stable=True)]

    def indexed():
        from torch_geometric import EdgeIndex

        nodes = len(vectors)
        kept = EdgeIndex(ordered, sparse_size=(nodes, nodes), sort_order="col").fill_cache_()
        return wrap(lambda: layer(vectors, kept))

    def compiled():
        fused = torch.compile(layer, dynamic=False)
        return wrap(lambda: fused(vectors, ordered))

    return {
        "edge_index as it came": lambda: wrap(lambda: layer(vectors, edges)),
        "edges sorted by target": lambda: wrap(lambda: layer(vectors, ordered)),
        "EdgeIndex with its caches": indexed,
        "torch.compile, edges sorted by target": compiled,
    }


def _work(bench: Bench, projections: int, training: bool) -> Work:
    nodes, edges = bench.size(NODES), bench.size(EDGES)
    times = 3 if training else 1
    products = 2 * nodes * WIDTH**2 * projections * times + (14 if training else 4) * edges * WIDTH
    # A key and a value of each edge, fetched once in each direction.
    fetched = edges * WIDTH * 4 * 2 * (2 if training else 1)
    return Work(products, edges * HEADS * (2 if training else 1), fetched)


def _missing(error: ImportError) -> Maker:
    def make():
        raise error

    return make


def transformer(bench: Bench, training: bool = True, built: bool = False) -> Case:
    """A whole layer of scaled dot products, without biases, whose heads are its output."""
    edges, vectors = _edges(bench), bench.normal(bench.size(NODES), WIDTH, training=training)
    names = ("query", "key", "value")
    matrices = [bench.normal(WIDTH, WIDTH) / 8 for _ in names]

    def wrap(function, parameters):
        return backward(function, [vectors, *parameters]) if training else forward(function)

    def ours():
        from regard.modules import MultiHeadAttention

        layer = MultiHeadAttention(WIDTH, heads=HEADS, bias=False, output=False).to(bench.device)
        _fill([getattr(layer, name) for name in names], matrices)
        parameters = [getattr(layer, name).weight for name in names]

        def run(mask):
            return layer(vectors.unsqueeze(0), mask=mask).squeeze(0)

        if built:
            return wrap(lambda: run(part("Edges", edges)), parameters)
        mask = part("Edges", edges)
        return wrap(lambda: run(mask), parameters)

    try:
        from torch_geometric.nn import TransformerConv

        layer = TransformerConv(WIDTH, SIZE, heads=HEADS, root_weight=False, bias=False).to(bench.device)
        own = [getattr(layer, f"lin_{name}") for name in names]
        _fill(own, matrices)
        peers = _settings(layer, vectors, edges, lambda run: wrap(run, [linear.weight for linear in own]))
    except ImportError as error:
        peers = {"": _missing(error)}
    return Case(
        ours,
        peers,
        _work(bench, 3, training),
        exact=lambda: [(..., found) for found in _exact(vectors, edges, matrices, training)],
        engine=lambda: _planned(bench, part("Edges", edges)),
    )


def _exact(vectors: Tensor, edges: Tensor, matrices: list[Tensor], training: bool) -> Outputs:
    """What a layer computes, by the formula, edge by edge in float64."""
    vectors = vectors.detach().double().requires_grad_(training)
    weights = [matrix.detach().double().to(vectors.device).requires_grad_(training) for matrix in matrices]
    source, target = edges

    def run() -> Tensor:
        query, key, value = ((vectors @ weight.T).unflatten(-1, (HEADS, SIZE)) for weight in weights)
        scores = (query[target] * key[source]).sum(-1, keepdim=True) / SIZE**0.5
        powers = (scores - scores.max()).exp()
        sums, totals = (
            torch.zeros(len(vectors), HEADS, each.shape[-1], dtype=torch.float64, device=vectors.device).index_add(
                0, target, each
            )
            for each in (powers * value[source], powers)
        )
        return (sums / totals.clamp(min=1e-300)).flatten(1)

    return (backward(run, [vectors, *weights], rounded=torch.float32) if training else forward(run))()


def _planned(bench: Bench, mask: Any) -> str:
    from regard import plan

    heads = torch.empty(1, HEADS, bench.size(NODES), SIZE, device=bench.device)
    return plan(heads, heads, heads, mask=mask).engine


class _Additive(nn.Module):
    """A layer of GATv2, or with `split` of GAT: additive attention on edges, whose keys are the values too."""

    def __init__(self, split: bool):
        super().__init__()
        self.source = nn.Linear(WIDTH, WIDTH, bias=False)
        self.target = nn.Linear(WIDTH, WIDTH, bias=False)
        self.split = split

    def forward(self, vectors: Tensor, mask, *scorers: Tensor) -> Tensor:
        from regard import attend

        value = self.source(vectors).unflatten(-1, (HEADS, SIZE)).transpose(0, 1)
        if self.split:
            # GAT scores leaky_relu(a . v_i + b . v_j): additive attention of one feature, summed before.
            to, come = ((value * vector[:, None]).sum(-1, keepdim=True) for vector in scorers)
            score = part("Additive", torch.ones(1, device=vectors.device), activation="leaky_relu")
        else:
            to, come = self.target(vectors).unflatten(-1, (HEADS, SIZE)).transpose(0, 1), value
            score = part("Additive", scorers[0], activation="leaky_relu")
        output = attend(to[None], come[None], value[None], score=score, mask=mask)[0]
        return output.transpose(0, 1).flatten(1)


def _additive(bench: Bench, conv: str, built: bool = False) -> Case:
    edges, vectors = _edges(bench), bench.normal(bench.size(NODES), WIDTH, training=True)
    split = conv == "GATConv"
    matrices = [bench.normal(WIDTH, WIDTH) / 8 for _ in range(2)]
    scorers = [(bench.normal(HEADS, SIZE) / 2).requires_grad_() for _ in range(2 if split else 1)]

    def ours():
        layer = _Additive(split).to(bench.device)
        _fill([layer.source, layer.target], matrices)
        parameters = [layer.source.weight, *([] if split else [layer.target.weight]), *scorers]
        kept = None if built else part("Edges", edges)
        return backward(
            lambda: layer(vectors, part("Edges", edges) if built else kept, *scorers), [vectors, *parameters]
        )

    try:
        import torch_geometric.nn

        layer = getattr(torch_geometric.nn, conv)(WIDTH, SIZE, heads=HEADS, bias=False, add_self_loops=False)
        layer = layer.to(bench.device)
        if split:
            _fill([layer.lin], matrices)
            named = [layer.lin.weight, layer.att_dst, layer.att_src]
        else:
            _fill([layer.lin_l, layer.lin_r], matrices)
            named = [layer.lin_l.weight, layer.lin_r.weight, layer.att]
        with torch.no_grad():
            for parameter, scorer in zip(named[-len(scorers) :], scorers, strict=True):
                parameter.copy_(scorer)
        peers = _settings(layer, vectors, edges, lambda run: backward(run, [vectors, *named]))
    except ImportError as error:
        peers = {"": _missing(error)}
    return Case(ours, peers, _work(bench, 1 if split else 2, training=True))


def _fill(linears, matrices: list[Tensor]) -> None:
    with torch.no_grad():
        for linear, matrix in zip(linears, matrices, strict=False):
            linear.weight.copy_(matrix)


_WHAT = "graph of 20 000 nodes, 400 000 edges, 8 x 8, whole layer"

ROWS = (
    Row(
        "graph-training",
        f"{_WHAT}, forward + backward; CSR kept",
        "PyG TransformerConv",
        ("torch-geometric",),
        7.0,
        "0.095 s to 0.823 s in the prototypes, projections included",
        transformer,
        least=6,
    ),
    Row(
        "graph-training-built",
        f"{_WHAT}, forward + backward; CSR built in the call",
        "PyG TransformerConv",
        ("torch-geometric",),
        4.5,
        "building CSR and CSC sorts 400 000 edges: 0.066 s more",
        lambda bench: transformer(bench, built=True),
        least=4,
    ),
    Row(
        "graph-forward",
        f"{_WHAT}, forward; CSR kept",
        "PyG TransformerConv",
        ("torch-geometric",),
        6.0,
        "0.048 s to 0.323 s in the prototypes",
        lambda bench: transformer(bench, training=False),
    ),
    Row(
        "graph-additive",
        f"{_WHAT}, additive, forward + backward; CSR kept",
        "PyG GATv2Conv",
        ("torch-geometric",),
        8.0,
        "0.986 s to about 0.12 s: two projections, and the keys are the values, fetched once",
        lambda bench: _additive(bench, "GATv2Conv"),
        least=6,
    ),
    Row(
        "graph-additive-built",
        f"{_WHAT}, additive, forward + backward; CSR built in the call",
        "PyG GATv2Conv",
        ("torch-geometric",),
        5.0,
        "0.066 s more",
        lambda bench: _additive(bench, "GATv2Conv", built=True),
    ),
    Row(
        "graph-split",
        f"{_WHAT}, additive with one feature, forward + backward; CSR kept",
        "PyG GATConv",
        ("torch-geometric",),
        6.0,
        "1.05 s forward + backward; its scores need one number an edge and head, ours then too",
        lambda bench: _additive(bench, "GATConv"),
    ),
)
