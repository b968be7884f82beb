"""Attention along the edges of a graph only: forward and backward in O(edges), scores and weights never leaving a row.

The sums of an edge are short, and edges lead anywhere in memory: neither becomes vector code by itself. So up to
sixteen heads are done at once, a head to a lane; with fewer heads the features of a head are dealt to several lanes.
One visit to a key then reads all its heads, which stand side by side: (block of heads, node, step, lane), where lane l
belongs to head l mod `heads`, and step and l // `heads` say which feature.

The backward pass goes over the rows (gradients of queries; weight and score gradient of each edge are kept) and then
over the columns (gradients of keys and values): each sum is one thread's, in one order, without atomics.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from regard.attention.engines.jit import edge_kernels
from regard.attention.engines.jit.compiling import number, threads
from regard.attention.engines.jit.dropout import kept, started, steps
from regard.attention.engines.jit.edge_kernels import Graph, Hash, Rule, Tokens
from regard.attention.engines.jit.lanes import LANES
from regard.attention.sparsity import Csr
from regard.errors import ArgumentError

__all__ = ["Gradients", "Places", "Problem", "attend", "pull", "weigh"]

_PIECE = 4096  # edges and rows to a piece of work


@dataclass(frozen=True, eq=False)
class Places:
    """What dropout knows a pair by: batch (group, query) or (group, 1), head (group,), query (query,), key (key,)."""

    batch: Tensor
    head: Tensor
    query: Tensor
    key: Tensor


@dataclass(frozen=True, eq=False)
class Problem:
    """One call: tensors are float32 or float64, on the CPU.

    Attributes:
        graph: the edges, the same for all groups.
        query: (group, query, feature).
        key: (group, key, feature).
        value: (group, key, value).
        score: "dot", scale * q . k; or u . act(q + k) with act "tanh" or "leaky_relu".
        weights: how scores are normalised; "entmax" at alpha 2 is sparsemax; relu divides by the number of edges.
        vector: (group, feature), u of an additive score.
        bias: (group,), of sigmoid; None: minus the logarithm of the number of a query's edges.
        places: needed for dropout.
    """

    graph: Csr
    query: Tensor
    key: Tensor
    value: Tensor
    score: Literal["dot", "tanh", "leaky_relu"] = "dot"
    weights: Literal["softmax", "relu", "sigmoid", "hard", "entmax"] = "softmax"
    scale: float = 1.0
    slope: float = 0.2
    alpha: float = 2.0
    vector: Tensor | None = None
    bias: Tensor | None = None
    dropout: float = 0.0
    seed: int = 0
    places: Places | None = None

    def __post_init__(self) -> None:
        # Compiled loops check no bounds.
        queries, keys = len(self.graph.starts) - 1, len(self.graph.key_starts) - 1
        if (queries, keys) != (self.query.shape[1], self.key.shape[1]) or keys != self.value.shape[1]:
            raise ArgumentError(
                f"`graph` must connect as many queries and keys as there are, {self.query.shape[1]} and "
                f"{self.key.shape[1]} (and {self.value.shape[1]} values), but connects {queries} and {keys}."
            )
        if self.dropout and self.places is None:
            raise ArgumentError("`places` must be given where there is dropout, but is None.")


@dataclass(frozen=True, eq=False)
class Gradients:
    """As their tensors in `Problem`; None where there is no such tensor."""

    query: Tensor
    key: Tensor
    value: Tensor
    vector: Tensor | None
    bias: Tensor | None


def attend(problem: Problem) -> Tensor:
    """The output, (group, query, value); zeros where a query has no edges."""
    return _attend(problem, None)


def weigh(problem: Problem) -> Tensor:
    """The weights, after dropout, of each edge in the order of the rows: (group, edge)."""
    groups, edges = len(problem.query), len(problem.graph.keys)
    lanes = _Lanes.of(groups)
    weights = problem.query.new_empty(lanes.blocks, edges, lanes.heads)
    _attend(replace(problem, value=problem.value[..., :0]), weights)
    return weights.transpose(1, 2).flatten(0, 1)[:groups]


def pull(problem: Problem, grad_output: Tensor) -> Gradients:
    """The gradients, given that of the output."""
    lanes, (graph, rule, tokens, hash) = _arguments(problem)
    query, key, value = problem.query, problem.key, problem.value
    grads = lanes.deal(grad_output)
    edges = query.new_empty(lanes.blocks * graph.keys.size * 2 * lanes.heads)
    rows, columns = graph.row_cuts.size - 1, graph.column_cuts.size - 1
    grad_query, grad_key, grad_value = (query.new_empty(part.size) for part in (tokens.query, tokens.key, tokens.value))
    # Every piece of rows has sums of its own, added afterwards in one order, however many threads there were.
    grad_vector = query.new_zeros(lanes.blocks, rows, rule.steps * LANES)
    grad_bias = query.new_zeros(lanes.blocks, rows, LANES)
    results = (part.view(-1).numpy() for part in (edges, grad_query, grad_vector, grad_bias))
    edge_kernels.pull_rows(lanes.blocks * rows, 1, threads(), graph, rule, tokens, hash, grads, *results)
    results = (part.numpy() for part in (edges, grad_key, grad_value))
    edge_kernels.pull_columns(lanes.blocks * columns, 1, threads(), graph, rule, tokens, grads, *results)
    return Gradients(
        lanes.collect(grad_query, query.shape).mul_(problem.scale),
        lanes.collect(grad_key, key.shape),
        lanes.collect(grad_value, value.shape),
        None
        if problem.vector is None
        else lanes.collect(grad_vector.sum(1), (len(query), 1, query.shape[2])).squeeze(1),
        None if problem.bias is None else grad_bias.sum(1)[:, : lanes.heads].flatten()[: len(query)],
    )


@dataclass(frozen=True)
class _Lanes:
    """How groups are dealt to lanes: `blocks` of `heads` groups, each group in `parts` lanes."""

    blocks: int
    heads: int
    parts: int

    @classmethod
    def of(cls, groups: int) -> "_Lanes":
        heads = min(LANES, 1 << max(groups - 1, 0).bit_length())
        return cls(-(-groups // heads), heads, LANES // heads)

    def steps(self, features: int) -> int:
        return -(-features // self.parts)

    def deal(self, tensor: Tensor) -> np.ndarray:
        """(group, node, feature) to (block, node, step, lane), flat; lanes without a group or feature hold zeros."""
        groups, _, features = tensor.shape
        steps = self.steps(features)
        more_features, more_groups = steps * self.parts - features, self.blocks * self.heads - groups
        tensor = tensor.detach()
        if more_features or more_groups:  # to pad by nothing would copy all the same
            tensor = torch.nn.functional.pad(tensor, (0, more_features, 0, 0, 0, more_groups))
        tensor = tensor.unflatten(2, (steps, self.parts)).unflatten(0, (self.blocks, self.heads))
        # One number that was expanded, as the gradient of a sum, stays a view of it through reshape.
        return tensor.permute(0, 2, 3, 4, 1).reshape(-1).contiguous().numpy()

    def collect(self, flat: Tensor, shape: tuple[int, ...]) -> Tensor:
        """The inverse of `deal`, with each node's groups side by side in memory."""
        groups, nodes, features = shape
        steps = self.steps(features)
        tensor = flat.view(self.blocks, nodes, steps, self.parts, self.heads).permute(1, 0, 4, 2, 3)
        tensor = tensor.reshape(nodes, self.blocks * self.heads, steps * self.parts)
        return tensor[:, :groups, :features].transpose(0, 1)


def _attend(problem: Problem, weights: Tensor | None) -> Tensor:
    """The output; and the weights (block, edge, head), if there is room for them."""
    lanes, (graph, rule, tokens, hash) = _arguments(problem)
    groups, queries, _ = problem.query.shape
    output = problem.query.new_empty(lanes.blocks * queries * rule.value_steps * LANES)
    weights = output[:0] if weights is None else weights.view(-1)
    pieces = lanes.blocks * (graph.row_cuts.size - 1)
    edge_kernels.attend_rows(pieces, 1, threads(), graph, rule, tokens, hash, output.numpy(), weights.numpy())
    return lanes.collect(output, (groups, queries, problem.value.shape[2]))


def _arguments(problem: Problem) -> tuple[_Lanes, tuple[Graph, Rule, Tokens, Hash]]:
    """A problem as the kernels take it."""
    query, key, value = problem.query, problem.key, problem.value
    groups, _, features = query.shape
    lanes = _Lanes.of(groups)
    rule = Rule(
        edge_kernels.SCORES[problem.score],
        edge_kernels.WEIGHTS[problem.weights],
        number(problem.slope, query.dtype),
        float(problem.alpha),
        problem.bias is not None,
        problem.dropout > 0,
        lanes.heads,
        lanes.steps(features),
        lanes.steps(value.shape[2]),
    )
    vector = query.new_zeros(groups, features) if problem.vector is None else problem.vector
    bias = query.new_zeros(groups) if problem.bias is None else problem.bias.detach()
    bias = torch.nn.functional.pad(bias, (0, lanes.blocks * lanes.heads - groups)).view(lanes.blocks, lanes.heads)
    tokens = Tokens(
        lanes.deal(query * problem.scale if problem.score == "dot" else query),
        lanes.deal(key),
        lanes.deal(value),
        lanes.deal(vector.unsqueeze(1)),
        bias.repeat(1, lanes.parts).reshape(-1).numpy(),
    )
    return lanes, (_graph(problem.graph), rule, tokens, _hash(problem, lanes))


def _graph(graph: Csr) -> Graph:
    starts, keys, key_starts, queries, places = (
        part.numpy() for part in (graph.starts, graph.keys, graph.key_starts, graph.queries, graph.places)
    )
    return Graph(starts, keys, _cuts(starts), key_starts, queries, places, _cuts(key_starts))


def _cuts(starts: np.ndarray) -> np.ndarray:
    """Cut rows into pieces of about the same number of edges and rows: the same ones for any number of threads."""
    work = starts + np.arange(len(starts))
    pieces = max(1, round(int(work[-1]) / _PIECE))
    return np.searchsorted(work, np.linspace(0, work[-1], pieces + 1))


def _hash(problem: Problem, lanes: _Lanes) -> Hash:
    threshold, scale = kept(problem.dropout, problem.query.dtype)
    if problem.places is None:
        nothing = np.zeros(0, np.uint32)
        return Hash(nothing.reshape(0, 0), nothing, nothing, nothing, np.uint32(0), threshold, scale)
    places, queries = problem.places, problem.query.shape[1]
    more = lanes.blocks * lanes.heads - len(problem.query)
    batch = torch.nn.functional.pad(places.batch.expand(-1, queries), (0, 0, 0, more))
    head = torch.nn.functional.pad(places.head, (0, more))
    indices = steps(batch), steps(head), steps(places.query), steps(places.key)
    return Hash(*indices, started(problem.seed), threshold, scale)
