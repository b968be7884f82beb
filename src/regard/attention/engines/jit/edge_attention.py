"""Attention along the edges of a graph, forward and backward in O(edges), with scores and weights of one row at a time.

The sums of an edge are short and its memory accesses scattered, so compilers can't vectorise them. Instead, up to
sixteen heads are computed at once, one head per SIMD lane; with fewer heads, the features of each head are distributed
over several lanes. One access to a key then reads all its heads, which are adjacent in memory: (block of heads, node,
step, lane), where lane l belongs to head l mod `heads`, and step and l // `heads` determine the feature.

The backward pass runs over the rows (gradients of queries; it stores the weight and the score's gradient of each edge)
and then over the columns (gradients of keys and values). Each sum is computed by one thread, in one order, without
atomics.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from regard.attention.engines.jit import edge_kernels
from regard.attention.engines.jit.compiling import scalar, threads
from regard.attention.engines.jit.dropout import hash_increments, initial_state, threshold_and_scale
from regard.attention.engines.jit.edge_kernels import DropoutHash, Graph, Settings, Tokens
from regard.attention.engines.jit.simd import SIMD_WIDTH
from regard.attention.gradients.reduction import ReducedGradients
from regard.attention.pairs.csr import Csr
from regard.attention.parts import declares, operands
from regard.attention.request import Request
from regard.attention.scores import Additive
from regard.attention.weights import Entmax, Hard, Relu, Sigmoid, Softmax, Sparsemax
from regard.errors import ArgumentError

__all__ = ["Gradients", "PairIndices", "Problem", "attend", "backward", "forward", "refuse", "vjp", "weigh"]

_CHUNK = 4096  # edges and rows in a chunk of work


@dataclass(frozen=True, eq=False)
class PairIndices:
    """Identifies pairs for dropout: batch (group, query) or (group, 1), head (group,), query (query,), key (key,)."""

    batch: Tensor
    head: Tensor
    query: Tensor
    key: Tensor


@dataclass(frozen=True, eq=False)
class Problem:
    """One call. Tensors are float32 or float64, on the CPU.

    Attributes:
        graph: the edges, the same for all groups.
        query: (group, query, feature).
        key: (group, key, feature).
        value: (group, key, value).
        score: "dot" for scale * q . k; "tanh" or "leaky_relu" for u . act(q + k) with that activation.
        weights: how scores are normalised; "entmax" with alpha 2 is sparsemax; relu divides by the number of edges.
        vector: (group, feature), u of an additive score.
        bias: (group,), of sigmoid; None: minus the logarithm of the number of a query's edges.
        pair_indices: required for dropout.
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
    pair_indices: PairIndices | None = None

    def __post_init__(self) -> None:
        # Compiled loops check no bounds.
        queries, keys = len(self.graph.starts) - 1, len(self.graph.key_starts) - 1
        if (queries, keys) != (self.query.shape[1], self.key.shape[1]) or keys != self.value.shape[1]:
            raise ArgumentError(
                f"`graph` must connect as many queries and keys as there are, {self.query.shape[1]} and "
                f"{self.key.shape[1]} (and {self.value.shape[1]} values), but connects {queries} and {keys}."
            )
        if self.dropout and self.pair_indices is None:
            raise ArgumentError("`pair_indices` must be given where there is dropout, but is None.")


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradients of the tensors in `Problem`; None where there is no such tensor."""

    query: Tensor
    key: Tensor
    value: Tensor
    vector: Tensor | None
    bias: Tensor | None


def attend(problem: Problem) -> Tensor:
    """The output, (group, query, value); zeros where a query has no edges."""
    return _attend(problem, None)


def weigh(problem: Problem) -> Tensor:
    """The weights of each edge after dropout, in row order: (group, edge)."""
    groups, edges = len(problem.query), len(problem.graph.keys)
    layout = _SimdLayout.of(groups)
    weights = problem.query.new_empty(layout.blocks, edges, layout.heads)
    _attend(replace(problem, value=problem.value[..., :0]), weights)
    return weights.transpose(1, 2).flatten(0, 1)[:groups]


def vjp(problem: Problem, grad_output: Tensor) -> Gradients:
    """The gradients, given that of the output."""
    layout, (graph, settings, tokens, dropout_hash) = _arguments(problem)
    query, key, value = problem.query, problem.key, problem.value
    grads = layout.pack(grad_output)
    edges = query.new_empty(layout.blocks * graph.keys.size * 2 * layout.heads)
    rows, columns = graph.row_chunks.size - 1, graph.column_chunks.size - 1
    grad_query, grad_key, grad_value = (query.new_empty(part.size) for part in (tokens.query, tokens.key, tokens.value))
    # Each chunk of rows has its own sums, added afterwards in an order that doesn't depend on the number of threads.
    grad_vector = query.new_zeros(layout.blocks, rows, settings.steps * SIMD_WIDTH)
    grad_bias = query.new_zeros(layout.blocks, rows, SIMD_WIDTH)
    results = (part.view(-1).numpy() for part in (edges, grad_query, grad_vector, grad_bias))
    edge_kernels.vjp_rows(layout.blocks * rows, 1, threads(), graph, settings, tokens, dropout_hash, grads, *results)
    results = (part.numpy() for part in (edges, grad_key, grad_value))
    edge_kernels.vjp_columns(layout.blocks * columns, 1, threads(), graph, settings, tokens, grads, *results)
    return Gradients(
        layout.unpack(grad_query, query.shape).mul_(problem.scale),
        layout.unpack(grad_key, key.shape),
        layout.unpack(grad_value, value.shape),
        None
        if problem.vector is None
        else layout.unpack(grad_vector.sum(1), (len(query), 1, query.shape[2])).squeeze(1),
        None if problem.bias is None else grad_bias.sum(1)[:, : layout.heads].flatten()[: len(query)],
    )


@dataclass(frozen=True)
class _SimdLayout:
    """How groups are assigned to SIMD lanes: `blocks` of `heads` groups, each group in `parts` lanes."""

    blocks: int
    heads: int
    parts: int

    @classmethod
    def of(cls, groups: int) -> "_SimdLayout":
        heads = min(SIMD_WIDTH, 1 << max(groups - 1, 0).bit_length())
        return cls(-(-groups // heads), heads, SIMD_WIDTH // heads)

    def steps(self, features: int) -> int:
        return -(-features // self.parts)

    def pack(self, tensor: Tensor) -> np.ndarray:
        """(group, node, feature) to (block, node, step, lane), flat; lanes without a group or feature hold zeros."""
        groups, _, features = tensor.shape
        steps = self.steps(features)
        more_features, more_groups = steps * self.parts - features, self.blocks * self.heads - groups
        tensor = tensor.detach()
        if more_features or more_groups:  # padding by nothing would still copy
            tensor = torch.nn.functional.pad(tensor, (0, more_features, 0, 0, 0, more_groups))
        tensor = tensor.unflatten(2, (steps, self.parts)).unflatten(0, (self.blocks, self.heads))
        # An expanded number, as the gradient of a sum, would remain a view after reshape.
        return tensor.permute(0, 2, 3, 4, 1).reshape(-1).contiguous().numpy()

    def unpack(self, flat: Tensor, shape: tuple[int, ...]) -> Tensor:
        """The inverse of `pack`, with the groups of each node adjacent in memory."""
        groups, nodes, features = shape
        steps = self.steps(features)
        tensor = flat.view(self.blocks, nodes, steps, self.parts, self.heads).permute(1, 0, 4, 2, 3)
        tensor = tensor.reshape(nodes, self.blocks * self.heads, steps * self.parts)
        return tensor[:, :groups, :features].transpose(0, 1)


def _attend(problem: Problem, weights: Tensor | None) -> Tensor:
    """The output; also writes the weights (block, edge, head) if they aren't None."""
    layout, (graph, settings, tokens, dropout_hash) = _arguments(problem)
    groups, queries, _ = problem.query.shape
    output = problem.query.new_empty(layout.blocks * queries * settings.value_steps * SIMD_WIDTH)
    weights = output[:0] if weights is None else weights.view(-1)
    chunks = layout.blocks * (graph.row_chunks.size - 1)
    edge_kernels.attend_rows(
        chunks, 1, threads(), graph, settings, tokens, dropout_hash, output.numpy(), weights.numpy()
    )
    return layout.unpack(output, (groups, queries, problem.value.shape[2]))


def _arguments(problem: Problem) -> tuple[_SimdLayout, tuple[Graph, Settings, Tokens, DropoutHash]]:
    """The problem in the kernels' form."""
    query, key, value = problem.query, problem.key, problem.value
    groups, _, features = query.shape
    layout = _SimdLayout.of(groups)
    settings = Settings(
        edge_kernels.SCORES[problem.score],
        edge_kernels.WEIGHTS[problem.weights],
        scalar(problem.slope, query.dtype),
        float(problem.alpha),
        problem.bias is not None,
        problem.dropout > 0,
        layout.heads,
        layout.steps(features),
        layout.steps(value.shape[2]),
    )
    vector = query.new_zeros(groups, features) if problem.vector is None else problem.vector
    bias = query.new_zeros(groups) if problem.bias is None else problem.bias.detach()
    bias = torch.nn.functional.pad(bias, (0, layout.blocks * layout.heads - groups)).view(layout.blocks, layout.heads)
    tokens = Tokens(
        layout.pack(query * problem.scale if problem.score == "dot" else query),
        layout.pack(key),
        layout.pack(value),
        layout.pack(vector.unsqueeze(1)),
        bias.repeat(1, layout.parts).reshape(-1).numpy(),
    )
    return layout, (_graph(problem.graph), settings, tokens, _dropout_hash(problem, layout))


def _graph(graph: Csr) -> Graph:
    starts, keys, key_starts, queries, csc_to_csr = (
        part.numpy() for part in (graph.starts, graph.keys, graph.key_starts, graph.queries, graph.csc_to_csr)
    )
    return Graph(starts, keys, _chunks(starts), key_starts, queries, csc_to_csr, _chunks(key_starts))


def _chunks(starts: np.ndarray) -> np.ndarray:
    """Divide rows into chunks with about the same number of edges and rows, whatever the number of threads."""
    work = starts + np.arange(len(starts))
    chunks = max(1, round(int(work[-1]) / _CHUNK))
    return np.searchsorted(work, np.linspace(0, work[-1], chunks + 1))


def _dropout_hash(problem: Problem, layout: _SimdLayout) -> DropoutHash:
    threshold, scale = threshold_and_scale(problem.dropout, problem.query.dtype)
    if problem.pair_indices is None:
        nothing = np.zeros(0, np.uint32)
        return DropoutHash(nothing.reshape(0, 0), nothing, nothing, nothing, np.uint32(0), threshold, scale)
    pair_indices, queries = problem.pair_indices, problem.query.shape[1]
    more = layout.blocks * layout.heads - len(problem.query)
    batch = torch.nn.functional.pad(pair_indices.batch.expand(-1, queries), (0, 0, 0, more))
    head = torch.nn.functional.pad(pair_indices.head, (0, more))
    query, key = hash_increments(pair_indices.query), hash_increments(pair_indices.key)
    return DropoutHash(
        hash_increments(batch), hash_increments(head), query, key, initial_state(problem.seed), threshold, scale
    )


_NAMES = {Softmax: "softmax", Relu: "relu", Sigmoid: "sigmoid", Hard: "hard", Entmax: "entmax", Sparsemax: "entmax"}


def refuse(request: Request) -> str | None:
    """Why the kernel along edges can't run this request, or None."""
    parts = request.parts
    if not declares(type(parts.score), "inner_product") and type(parts.score) is not Additive:
        return "along edges it computes only inner products and additive scores"
    weights = parts.weights
    if type(weights) not in _NAMES:
        return "along edges it computes only the package's own normalisers"
    if isinstance(weights, Softmax) and isinstance(weights.temperature, Tensor):
        return "along edges the temperature must be one number"
    if isinstance(weights, Entmax) and isinstance(weights.alpha, Tensor):
        return "along edges alpha must be one number"
    if isinstance(weights, Relu) and weights.divisor is not None:
        return "along edges relu always divides by the number of edges"
    if parts.position.acts_in_tiles:
        return "along edges it has no position on scores or outputs"
    return None


def forward(reduced: Request) -> Tensor:
    """The output, (batch, head, query, value)."""
    return attend(_problem(reduced)).unflatten(0, reduced.query.shape[:2])


def backward(reduced: Request, grad_output: Tensor) -> ReducedGradients:
    """The gradients of a reduced request."""
    found = vjp(_problem(reduced), grad_output.flatten(0, 1))
    shape = reduced.query.shape[:2]
    query, key, value = (grad.unflatten(0, shape) for grad in (found.query, found.key, found.value))
    score: Any = reduced.parts.score
    # The kernel was given the vector divided by the temperature, see below.
    of_vector = None if found.vector is None else found.vector / _temperature(reduced)
    of_score = [] if of_vector is None else [_to_operand(of_vector, score.vector, shape)]
    bias = getattr(reduced.parts.weights, "bias", None)
    weights = [_to_operand(found.bias, bias, shape)] if isinstance(bias, Tensor) else []
    return ReducedGradients(
        query, key, value, None, None, of_score, weights, [None] * len(operands(reduced.parts.position))
    )


def _problem(reduced: Request) -> Problem:
    parts = reduced.parts
    score: Any = parts.score
    weights: Any = parts.weights
    batch, heads, queries, _ = reduced.query.shape
    query, key, value = (tensor.flatten(0, 1) for tensor in (reduced.query, reduced.key, reduced.value))
    # Softmax(s / T): the temperature divides what the score is linear in.
    temperature = _temperature(reduced)
    bias = getattr(weights, "bias", None)
    if bias is not None:
        bias = torch.as_tensor(bias, dtype=query.dtype, device="cpu").expand(batch, heads).reshape(-1)
    additive = type(score) is Additive
    activation: Any = score.activation if additive else "dot"
    name: Any = _NAMES[type(weights)]
    pair_indices = None
    if reduced.dropout:
        items, head, row, column = (torch.arange(size, device="cpu") for size in (batch, heads, queries, key.shape[1]))
        pair_indices = PairIndices(items.repeat_interleave(heads).unsqueeze(1), head.repeat(batch), row, column)
    graph: Any = reduced.edges
    alpha: Any = weights.alpha if type(weights) is Entmax else 2.0
    return Problem(
        graph,
        query,
        key,
        value,
        score=activation,
        weights=name,
        scale=1.0 if additive else score.scale / temperature,
        slope=score.slope if additive else 0.0,
        alpha=alpha,
        vector=(score.vector / temperature).to(query.dtype).expand(batch, heads, -1).flatten(0, 1)
        if additive
        else None,
        bias=bias,
        dropout=reduced.dropout,
        seed=reduced.seed,
        pair_indices=pair_indices,
    )


def _temperature(reduced: Request) -> float:
    return getattr(reduced.parts.weights, "temperature", 1.0)


def _to_operand(grad: Tensor | None, operand: Tensor, shape: torch.Size) -> Tensor | None:
    """The gradient of an operand, shared by all heads or per head, from that of each group."""
    return None if grad is None else grad.unflatten(0, shape).sum_to_size(operand.shape)
