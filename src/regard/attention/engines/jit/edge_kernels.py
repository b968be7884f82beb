"""The compiled loops of `edge_attention`: forward over the rows of a graph, backward over its rows and its columns.

Arrays are flat. A node's numbers begin at ((block * nodes + node) * steps) * 16, an edge's at (block * edges + edge)
times the count of its numbers. The scores of a row, and then its weights, are in a buffer with sixteen per edge.
"""

import math
from typing import NamedTuple

import numpy as np

from regard.attention.engines.jit.compiling import compiled, parallel_for
from regard.attention.engines.jit.dropout import mix
from regard.attention.engines.jit.entmax import entmax_row, entmax_vjp_row
from regard.attention.engines.jit.simd import (
    SIMD_WIDTH,
    broadcast,
    exp,
    load,
    load_heads,
    maximum,
    store,
    store_heads,
    sum_heads,
    where,
)

__all__ = ["SCORES", "WEIGHTS", "DropoutHash", "Graph", "Settings", "Tokens", "attend_rows", "vjp_columns", "vjp_rows"]

DOT, TANH, LEAKY_RELU = range(3)
SOFTMAX, RELU, SIGMOID, HARD, ENTMAX = range(5)
SCORES = {"dot": DOT, "tanh": TANH, "leaky_relu": LEAKY_RELU}
WEIGHTS = {"softmax": SOFTMAX, "relu": RELU, "sigmoid": SIGMOID, "hard": HARD, "entmax": ENTMAX}


class Settings(NamedTuple):
    """The settings of a call as numbers."""

    score: int
    weights: int
    slope: np.floating
    alpha: float
    biased: bool
    drops: bool
    heads: int
    steps: int
    value_steps: int


class Graph(NamedTuple):
    """The edges in row order and in column order, and the bounds of the chunks of work."""

    starts: np.ndarray
    keys: np.ndarray
    row_chunks: np.ndarray
    key_starts: np.ndarray
    queries: np.ndarray
    csc_to_csr: np.ndarray
    column_chunks: np.ndarray


class Tokens(NamedTuple):
    """Queries, keys and values, and the parameters of each block of heads: u (step, lane) and the bias (lane)."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    vector: np.ndarray
    bias: np.ndarray


class DropoutHash(NamedTuple):
    """The indices' increments of the hash, (group, query), (group,), (query,), (key,), and the least hash to keep."""

    batch: np.ndarray
    head: np.ndarray
    query: np.ndarray
    key: np.ndarray
    state: np.uint32
    threshold: np.uint32
    scale: np.floating


@compiled(cache=False)
def _longest(starts, first, last):
    longest = 1
    for row in range(first, last):
        longest = max(longest, starts[row + 1] - starts[row])
    return longest


@compiled(cache=False)
def _tanh(x, one):
    return one - (one + one) / (one + exp(x + x))


@compiled(cache=False)
def _score(row, block, graph, settings, tokens, scores):
    """The scores of a row's edges."""
    number = tokens.query.dtype.type
    zero, one, slope = broadcast(number(0)), broadcast(number(1)), broadcast(settings.slope)
    size = settings.steps * SIMD_WIDTH
    queries, keys = graph.starts.size - 1, graph.key_starts.size - 1
    at_query, at_vector = (block * queries + row) * size, block * size
    first = graph.starts[row]
    for edge in range(first, graph.starts[row + 1]):
        at_key = (block * keys + graph.keys[edge]) * size
        total = zero
        for step in range(0, size, SIMD_WIDTH):
            a, b = load(tokens.query, at_query + step), load(tokens.key, at_key + step)
            if settings.score == DOT:
                total += a * b
            elif settings.score == TANH:
                total += load(tokens.vector, at_vector + step) * _tanh(a + b, one)
            else:
                total += load(tokens.vector, at_vector + step) * where(a + b, a + b, (a + b) * slope)
        store(scores, (edge - first) * SIMD_WIDTH, sum_heads(total, settings.heads))


@compiled(cache=False)
def _top(scores, size):
    """The largest score of each lane; where all are minus infinity, the lowest number, so that no weight is NaN."""
    top = broadcast(-np.finfo(scores.dtype).max)
    for at in range(0, size, SIMD_WIDTH):
        top = maximum(top, load(scores, at))
    return top


@compiled(cache=False)
def _normalise(block, degree, settings, tokens, scores, line, spare):
    """Turn the scores of a row into weights, in place. `line`, `spare`: buffers for a row of one head."""
    number = tokens.query.dtype.type
    zero, one = broadcast(number(0)), broadcast(number(1))
    size = degree * SIMD_WIDTH
    if settings.weights == SOFTMAX:
        top = _top(scores, size)
        total = zero
        for at in range(0, size, SIMD_WIDTH):
            weight = exp(load(scores, at) - top)
            total += weight
            store(scores, at, weight)
        # The largest score adds 1 to the total, unless all are minus infinity.
        total = one / maximum(total, broadcast(number(0.5)))
        for at in range(0, size, SIMD_WIDTH):
            store(scores, at, load(scores, at) * total)
    elif settings.weights == RELU:
        factor = broadcast(number(1 / degree))
        for at in range(0, size, SIMD_WIDTH):
            store(scores, at, maximum(load(scores, at), zero) * factor)
    elif settings.weights == SIGMOID:
        shift = load(tokens.bias, block * SIMD_WIDTH) if settings.biased else broadcast(number(-math.log(degree)))
        for at in range(0, size, SIMD_WIDTH):
            store(scores, at, one / (one + exp(zero - load(scores, at) - shift)))
    elif settings.weights == HARD:
        top = _top(scores, size)
        left = one + (top - top)  # NaN if the maximum isn't finite
        for at in range(0, size, SIMD_WIDTH):
            weight = where(top - load(scores, at), zero, left)
            left -= weight
            store(scores, at, weight)
    else:
        for head in range(settings.heads):
            for edge in range(degree):
                line[edge] = scores[edge * SIMD_WIDTH + head]
            entmax_row(line[:degree], line[:degree], settings.alpha, spare)
            for edge in range(degree):
                for lane in range(head, SIMD_WIDTH, settings.heads):
                    scores[edge * SIMD_WIDTH + lane] = line[edge]


@compiled(cache=False)
def _normalise_vjp(degree, settings, weights, grads, line, other):
    """Turn the gradients of a row's weights into those of its scores, in place."""
    number = weights.dtype.type
    zero, one = broadcast(number(0)), broadcast(number(1))
    size = degree * SIMD_WIDTH
    if settings.weights == SOFTMAX:
        mean = zero
        for at in range(0, size, SIMD_WIDTH):
            mean += load(weights, at) * load(grads, at)
        for at in range(0, size, SIMD_WIDTH):
            store(grads, at, load(weights, at) * (load(grads, at) - mean))
    elif settings.weights == RELU:
        factor = broadcast(number(1 / degree))
        for at in range(0, size, SIMD_WIDTH):
            store(grads, at, where(load(weights, at), load(grads, at) * factor, zero))
    elif settings.weights == SIGMOID:
        for at in range(0, size, SIMD_WIDTH):
            weight = load(weights, at)
            store(grads, at, weight * (one - weight) * load(grads, at))
    elif settings.weights == HARD:
        for at in range(0, size, SIMD_WIDTH):
            store(grads, at, zero)
    else:
        for head in range(settings.heads):
            for edge in range(degree):
                line[edge], other[edge] = weights[edge * SIMD_WIDTH + head], grads[edge * SIMD_WIDTH + head]
            entmax_vjp_row(other[:degree], line[:degree], other[:degree], settings.alpha)
            for edge in range(degree):
                for lane in range(head, SIMD_WIDTH, settings.heads):
                    grads[edge * SIMD_WIDTH + lane] = other[edge]


@compiled(cache=False)
def _dropout_scales(row, block, graph, settings, dropout_hash, scales):
    """The factors by which dropout multiplies the weights of a row."""
    first = graph.starts[row]
    zero = scales.dtype.type(0)
    for head in range(settings.heads):
        group = block * settings.heads + head
        begun = mix(np.uint32(mix(dropout_hash.state) + dropout_hash.batch[group, row]))
        begun = mix(np.uint32(mix(np.uint32(begun + dropout_hash.head[group])) + dropout_hash.query[row]))
        for edge in range(first, graph.starts[row + 1]):
            kept = mix(np.uint32(begun + dropout_hash.key[graph.keys[edge]])) >= dropout_hash.threshold
            for lane in range(head, SIMD_WIDTH, settings.heads):
                scales[(edge - first) * SIMD_WIDTH + lane] = dropout_hash.scale if kept else zero


@compiled(cache=False)
def _attend_chunks(start, stop, graph, settings, tokens, dropout_hash, output, kept):
    number = tokens.query.dtype
    zero = broadcast(number.type(0))
    chunks = graph.row_chunks.size - 1
    queries, keys, size = graph.starts.size - 1, graph.key_starts.size - 1, settings.value_steps * SIMD_WIDTH
    for chunk in range(start, stop):
        block, part = chunk // chunks, chunk % chunks
        longest = _longest(graph.starts, graph.row_chunks[part], graph.row_chunks[part + 1])
        weights, scales = (
            np.empty(longest * SIMD_WIDTH, number),
            np.empty(longest * SIMD_WIDTH * settings.drops, number),
        )
        line, spare = np.empty(longest, number), np.empty(longest, np.float64)
        for row in range(graph.row_chunks[part], graph.row_chunks[part + 1]):
            first, degree = graph.starts[row], graph.starts[row + 1] - graph.starts[row]
            if degree:
                _score(row, block, graph, settings, tokens, weights)
                _normalise(block, degree, settings, tokens, weights, line, spare)
            if settings.drops:
                _dropout_scales(row, block, graph, settings, dropout_hash, scales)
                for at in range(0, degree * SIMD_WIDTH, SIMD_WIDTH):
                    store(weights, at, load(weights, at) * load(scales, at))
            if kept.size:
                for edge in range(degree):
                    at = (block * graph.keys.size + first + edge) * settings.heads
                    store_heads(kept, at, load(weights, edge * SIMD_WIDTH), settings.heads)
            at_output = (block * queries + row) * size
            for step in range(0, size, SIMD_WIDTH):
                total = zero
                for edge in range(degree):
                    at_value = (block * keys + graph.keys[first + edge]) * size
                    total += load(weights, edge * SIMD_WIDTH) * load(tokens.value, at_value + step)
                store(output, at_output + step, total)


@compiled()
def attend_rows(length, grain, count, *arguments):
    """Write the output, and the weights of the edges (block, edge, head) unless their array is empty."""
    parallel_for(_attend_chunks, length, grain, count, arguments)


@compiled(cache=False)
def _vjp_row_chunks(
    start, stop, graph, settings, tokens, dropout_hash, grad_output, edges, grad_query, grad_vector, grad_bias
):
    number = tokens.query.dtype
    zero, one, slope = broadcast(number.type(0)), broadcast(number.type(1)), broadcast(settings.slope)
    chunks = graph.row_chunks.size - 1
    queries, keys = graph.starts.size - 1, graph.key_starts.size - 1
    size, value_size = settings.steps * SIMD_WIDTH, settings.value_steps * SIMD_WIDTH
    for chunk in range(start, stop):
        block, part = chunk // chunks, chunk % chunks
        longest = _longest(graph.starts, graph.row_chunks[part], graph.row_chunks[part + 1])
        weights, grads = np.empty(longest * SIMD_WIDTH, number), np.empty(longest * SIMD_WIDTH, number)
        scales = np.empty(longest * SIMD_WIDTH * settings.drops, number)
        line, other, spare = np.empty(longest, number), np.empty(longest, number), np.empty(longest, np.float64)
        for row in range(graph.row_chunks[part], graph.row_chunks[part + 1]):
            first, degree = graph.starts[row], graph.starts[row + 1] - graph.starts[row]
            if degree:
                _score(row, block, graph, settings, tokens, weights)
                _normalise(block, degree, settings, tokens, weights, line, spare)
            at_output = (block * queries + row) * value_size
            for edge in range(degree):
                at_value = (block * keys + graph.keys[first + edge]) * value_size
                total = zero
                for step in range(0, value_size, SIMD_WIDTH):
                    total += load(grad_output, at_output + step) * load(tokens.value, at_value + step)
                store(grads, edge * SIMD_WIDTH, sum_heads(total, settings.heads))
            if settings.drops:
                _dropout_scales(row, block, graph, settings, dropout_hash, scales)
                for at in range(0, degree * SIMD_WIDTH, SIMD_WIDTH):
                    store(grads, at, load(grads, at) * load(scales, at))
            if degree:
                _normalise_vjp(degree, settings, weights, grads, line, other)
            total = load(grad_bias, chunk * SIMD_WIDTH)
            for edge in range(degree):
                weight, grad = load(weights, edge * SIMD_WIDTH), load(grads, edge * SIMD_WIDTH)
                if settings.drops:
                    weight *= load(scales, edge * SIMD_WIDTH)
                at = (block * graph.keys.size + first + edge) * 2 * settings.heads
                store_heads(edges, at, weight, settings.heads)
                store_heads(edges, at + settings.heads, grad, settings.heads)
                total += grad
            store(grad_bias, chunk * SIMD_WIDTH, total)
            at_query, at_vector = (block * queries + row) * size, block * size
            for step in range(0, size, SIMD_WIDTH):
                total, moment = zero, zero
                a, u = load(tokens.query, at_query + step), load(tokens.vector, at_vector + step)
                for edge in range(degree):
                    b = load(tokens.key, (block * keys + graph.keys[first + edge]) * size + step)
                    grad = load(grads, edge * SIMD_WIDTH)
                    if settings.score == DOT:
                        total += grad * b
                    elif settings.score == TANH:
                        t = _tanh(a + b, one)
                        total += grad * (one - t * t)
                        moment += grad * t
                    else:
                        grad *= where(a + b, one, slope)
                        total += grad
                        moment += grad * (a + b)
                if settings.score != DOT:
                    total *= u
                    at = chunk * size + step
                    store(grad_vector, at, load(grad_vector, at) + moment)
                store(grad_query, at_query + step, total)


@compiled()
def vjp_rows(length, grain, count, *arguments):
    """Write the gradients of queries; the weight and the score's gradient of each edge, (block, edge, 2, head); and
    each chunk's sums for the gradients of u and the bias."""
    parallel_for(_vjp_row_chunks, length, grain, count, arguments)


@compiled(cache=False)
def _vjp_column_chunks(start, stop, graph, settings, tokens, grad_output, edges, grad_key, grad_value):
    number = tokens.query.dtype
    zero, one, slope = broadcast(number.type(0)), broadcast(number.type(1)), broadcast(settings.slope)
    chunks = graph.column_chunks.size - 1
    queries, keys = graph.starts.size - 1, graph.key_starts.size - 1
    size, value_size = settings.steps * SIMD_WIDTH, settings.value_steps * SIMD_WIDTH
    for chunk in range(start, stop):
        block, part = chunk // chunks, chunk % chunks
        longest = _longest(graph.key_starts, graph.column_chunks[part], graph.column_chunks[part + 1])
        weights, grads = np.empty(longest * SIMD_WIDTH, number), np.empty(longest * SIMD_WIDTH, number)
        for column in range(graph.column_chunks[part], graph.column_chunks[part + 1]):
            first, degree = graph.key_starts[column], graph.key_starts[column + 1] - graph.key_starts[column]
            for edge in range(degree):
                at = (block * graph.keys.size + graph.csc_to_csr[first + edge]) * 2 * settings.heads
                store(weights, edge * SIMD_WIDTH, load_heads(edges, at, settings.heads))
                store(grads, edge * SIMD_WIDTH, load_heads(edges, at + settings.heads, settings.heads))
            at_key, at_vector = (block * keys + column) * size, block * size
            for step in range(0, size, SIMD_WIDTH):
                total = zero
                b, u = load(tokens.key, at_key + step), load(tokens.vector, at_vector + step)
                for edge in range(degree):
                    a = load(tokens.query, (block * queries + graph.queries[first + edge]) * size + step)
                    grad = load(grads, edge * SIMD_WIDTH)
                    if settings.score == DOT:
                        total += grad * a
                    elif settings.score == TANH:
                        t = _tanh(a + b, one)
                        total += grad * (one - t * t)
                    else:
                        total += grad * where(a + b, one, slope)
                if settings.score != DOT:
                    total *= u
                store(grad_key, at_key + step, total)
            at_value = (block * keys + column) * value_size
            for step in range(0, value_size, SIMD_WIDTH):
                total = zero
                for edge in range(degree):
                    at_output = (block * queries + graph.queries[first + edge]) * value_size
                    total += load(weights, edge * SIMD_WIDTH) * load(grad_output, at_output + step)
                store(grad_value, at_value + step, total)


@compiled()
def vjp_columns(length, grain, count, *arguments):
    """Write the gradients of keys and values."""
    parallel_for(_vjp_column_chunks, length, grain, count, arguments)
