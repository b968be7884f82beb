"""The compiled loops of `edges`: over the rows of a graph, forward and backward, and over its columns, backward.

Arrays are flat; a node's numbers begin at ((block * nodes + node) * steps) * 16, an edge's at (block * edges + edge)
times how many numbers it has. A row's scores, then weights, stand in a buffer, sixteen to an edge.
"""

import math
from typing import NamedTuple

import numpy as np

from regard.attention.engines.jit.compiling import compiled, in_parallel
from regard.attention.engines.jit.dropout import mixed
from regard.attention.engines.jit.lanes import (
    LANES,
    all_of,
    exponentials,
    fold,
    larger,
    load,
    load_heads,
    store,
    store_heads,
    where,
)
from regard.attention.engines.jit.thresholds import entmax_row, pull_row

__all__ = ["SCORES", "WEIGHTS", "Graph", "Hash", "Rule", "Tokens", "attend_rows", "pull_columns", "pull_rows"]

DOT, TANH, LEAKY_RELU = range(3)
SOFTMAX, RELU, SIGMOID, HARD, ENTMAX = range(5)
SCORES = {"dot": DOT, "tanh": TANH, "leaky_relu": LEAKY_RELU}
WEIGHTS = {"softmax": SOFTMAX, "relu": RELU, "sigmoid": SIGMOID, "hard": HARD, "entmax": ENTMAX}


class Rule(NamedTuple):
    """What is computed, in numbers."""

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
    """The edges row by row and column by column, and where the pieces of work are cut."""

    starts: np.ndarray
    keys: np.ndarray
    row_cuts: np.ndarray
    key_starts: np.ndarray
    queries: np.ndarray
    places: np.ndarray
    column_cuts: np.ndarray


class Tokens(NamedTuple):
    """Queries, keys, values, and what belongs to a block of heads: u (step, lane) and the bias (lane)."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    vector: np.ndarray
    bias: np.ndarray


class Hash(NamedTuple):
    """What dropout adds for an index, (group, query), (group,), (query,), (key,), and from which state on it keeps."""

    batch: np.ndarray
    head: np.ndarray
    query: np.ndarray
    key: np.ndarray
    state: np.uint32
    threshold: np.uint32
    scale: np.floating


@compiled(keep=False)
def _longest(starts, first, last):
    longest = 1
    for row in range(first, last):
        longest = max(longest, starts[row + 1] - starts[row])
    return longest


@compiled(keep=False)
def _tanh(x, one):
    return one - (one + one) / (one + exponentials(x + x))


@compiled(keep=False)
def _score(row, block, graph, rule, tokens, scores):
    """The scores of a row's edges."""
    number = tokens.query.dtype.type
    zero, one, slope = all_of(number(0)), all_of(number(1)), all_of(rule.slope)
    size = rule.steps * LANES
    queries, keys = graph.starts.size - 1, graph.key_starts.size - 1
    at_query, at_vector = (block * queries + row) * size, block * size
    first = graph.starts[row]
    for edge in range(first, graph.starts[row + 1]):
        at_key = (block * keys + graph.keys[edge]) * size
        total = zero
        for step in range(0, size, LANES):
            a, b = load(tokens.query, at_query + step), load(tokens.key, at_key + step)
            if rule.score == DOT:
                total += a * b
            elif rule.score == TANH:
                total += load(tokens.vector, at_vector + step) * _tanh(a + b, one)
            else:
                total += load(tokens.vector, at_vector + step) * where(a + b, a + b, (a + b) * slope)
        store(scores, (edge - first) * LANES, fold(total, rule.heads))


@compiled(keep=False)
def _normalise(block, degree, rule, tokens, scores, line, spare):
    """Scores of a row to weights, in place. `line`, `spare`: room for a row of one head."""
    number = tokens.query.dtype.type
    zero, one = all_of(number(0)), all_of(number(1))
    size = degree * LANES
    if rule.weights == SOFTMAX:
        top = all_of(number(-np.inf))
        for at in range(0, size, LANES):
            top = larger(top, load(scores, at))
        total = zero
        for at in range(0, size, LANES):
            weight = exponentials(load(scores, at) - top)
            total += weight
            store(scores, at, weight)
        total = one / total
        for at in range(0, size, LANES):
            store(scores, at, load(scores, at) * total)
    elif rule.weights == RELU:
        share = all_of(number(1 / degree))
        for at in range(0, size, LANES):
            store(scores, at, larger(load(scores, at), zero) * share)
    elif rule.weights == SIGMOID:
        shift = load(tokens.bias, block * LANES) if rule.biased else all_of(number(-math.log(degree)))
        for at in range(0, size, LANES):
            store(scores, at, one / (one + exponentials(zero - load(scores, at) - shift)))
    elif rule.weights == HARD:
        top = all_of(number(-np.inf))
        for at in range(0, size, LANES):
            top = larger(top, load(scores, at))
        left = one + (top - top)  # NaN where the maximum is no number
        for at in range(0, size, LANES):
            weight = where(top - load(scores, at), zero, left)
            left -= weight
            store(scores, at, weight)
    else:
        for head in range(rule.heads):
            for edge in range(degree):
                line[edge] = scores[edge * LANES + head]
            entmax_row(line[:degree], line[:degree], rule.alpha, spare)
            for edge in range(degree):
                for lane in range(head, LANES, rule.heads):
                    scores[edge * LANES + lane] = line[edge]


@compiled(keep=False)
def _unnormalise(degree, rule, weights, grads, line, other):
    """Gradients of a row's weights to gradients of its scores, in place."""
    number = weights.dtype.type
    zero, one = all_of(number(0)), all_of(number(1))
    size = degree * LANES
    if rule.weights == SOFTMAX:
        mean = zero
        for at in range(0, size, LANES):
            mean += load(weights, at) * load(grads, at)
        for at in range(0, size, LANES):
            store(grads, at, load(weights, at) * (load(grads, at) - mean))
    elif rule.weights == RELU:
        share = all_of(number(1 / degree))
        for at in range(0, size, LANES):
            store(grads, at, where(load(weights, at), load(grads, at) * share, zero))
    elif rule.weights == SIGMOID:
        for at in range(0, size, LANES):
            weight = load(weights, at)
            store(grads, at, weight * (one - weight) * load(grads, at))
    elif rule.weights == HARD:
        for at in range(0, size, LANES):
            store(grads, at, zero)
    else:
        for head in range(rule.heads):
            for edge in range(degree):
                line[edge], other[edge] = weights[edge * LANES + head], grads[edge * LANES + head]
            pull_row(other[:degree], line[:degree], other[:degree], rule.alpha)
            for edge in range(degree):
                for lane in range(head, LANES, rule.heads):
                    grads[edge * LANES + lane] = other[edge]


@compiled(keep=False)
def _keep(row, block, graph, rule, hash, scales):
    """What to multiply the weights of a row by."""
    first = graph.starts[row]
    zero = scales.dtype.type(0)
    for head in range(rule.heads):
        group = block * rule.heads + head
        begun = mixed(np.uint32(mixed(hash.state) + hash.batch[group, row]))
        begun = mixed(np.uint32(mixed(np.uint32(begun + hash.head[group])) + hash.query[row]))
        for edge in range(first, graph.starts[row + 1]):
            kept = mixed(np.uint32(begun + hash.key[graph.keys[edge]])) >= hash.threshold
            for lane in range(head, LANES, rule.heads):
                scales[(edge - first) * LANES + lane] = hash.scale if kept else zero


@compiled(keep=False)
def _attend_pieces(start, stop, graph, rule, tokens, hash, output, kept):
    number = tokens.query.dtype
    zero = all_of(number.type(0))
    pieces = graph.row_cuts.size - 1
    queries, keys, size = graph.starts.size - 1, graph.key_starts.size - 1, rule.value_steps * LANES
    for piece in range(start, stop):
        block, cut = piece // pieces, piece % pieces
        longest = _longest(graph.starts, graph.row_cuts[cut], graph.row_cuts[cut + 1])
        weights, scales = np.empty(longest * LANES, number), np.empty(longest * LANES * rule.drops, number)
        line, spare = np.empty(longest, number), np.empty(longest, np.float64)
        for row in range(graph.row_cuts[cut], graph.row_cuts[cut + 1]):
            first, degree = graph.starts[row], graph.starts[row + 1] - graph.starts[row]
            if degree:
                _score(row, block, graph, rule, tokens, weights)
                _normalise(block, degree, rule, tokens, weights, line, spare)
            if rule.drops:
                _keep(row, block, graph, rule, hash, scales)
                for at in range(0, degree * LANES, LANES):
                    store(weights, at, load(weights, at) * load(scales, at))
            if kept.size:
                for edge in range(degree):
                    at = (block * graph.keys.size + first + edge) * rule.heads
                    store_heads(kept, at, load(weights, edge * LANES), rule.heads)
            at_output = (block * queries + row) * size
            for step in range(0, size, LANES):
                total = zero
                for edge in range(degree):
                    at_value = (block * keys + graph.keys[first + edge]) * size
                    total += load(weights, edge * LANES) * load(tokens.value, at_value + step)
                store(output, at_output + step, total)


@compiled()
def attend_rows(length, grain, count, *arguments):
    """Fill the output, and the weights of edges (block, edge, head) if there is room for them."""
    in_parallel(_attend_pieces, length, grain, count, arguments)


@compiled(keep=False)
def _pull_row_pieces(start, stop, graph, rule, tokens, hash, grad_output, edges, grad_query, grad_vector, grad_bias):
    number = tokens.query.dtype
    zero, one, slope = all_of(number.type(0)), all_of(number.type(1)), all_of(rule.slope)
    pieces = graph.row_cuts.size - 1
    queries, keys = graph.starts.size - 1, graph.key_starts.size - 1
    size, value_size = rule.steps * LANES, rule.value_steps * LANES
    for piece in range(start, stop):
        block, cut = piece // pieces, piece % pieces
        longest = _longest(graph.starts, graph.row_cuts[cut], graph.row_cuts[cut + 1])
        weights, grads = np.empty(longest * LANES, number), np.empty(longest * LANES, number)
        scales = np.empty(longest * LANES * rule.drops, number)
        line, other, spare = np.empty(longest, number), np.empty(longest, number), np.empty(longest, np.float64)
        for row in range(graph.row_cuts[cut], graph.row_cuts[cut + 1]):
            first, degree = graph.starts[row], graph.starts[row + 1] - graph.starts[row]
            if degree:
                _score(row, block, graph, rule, tokens, weights)
                _normalise(block, degree, rule, tokens, weights, line, spare)
            at_output = (block * queries + row) * value_size
            for edge in range(degree):
                at_value = (block * keys + graph.keys[first + edge]) * value_size
                total = zero
                for step in range(0, value_size, LANES):
                    total += load(grad_output, at_output + step) * load(tokens.value, at_value + step)
                store(grads, edge * LANES, fold(total, rule.heads))
            if rule.drops:
                _keep(row, block, graph, rule, hash, scales)
                for at in range(0, degree * LANES, LANES):
                    store(grads, at, load(grads, at) * load(scales, at))
            if degree:
                _unnormalise(degree, rule, weights, grads, line, other)
            total = load(grad_bias, piece * LANES)
            for edge in range(degree):
                weight, grad = load(weights, edge * LANES), load(grads, edge * LANES)
                if rule.drops:
                    weight *= load(scales, edge * LANES)
                at = (block * graph.keys.size + first + edge) * 2 * rule.heads
                store_heads(edges, at, weight, rule.heads)
                store_heads(edges, at + rule.heads, grad, rule.heads)
                total += grad
            store(grad_bias, piece * LANES, total)
            at_query, at_vector = (block * queries + row) * size, block * size
            for step in range(0, size, LANES):
                total, moment = zero, zero
                a, u = load(tokens.query, at_query + step), load(tokens.vector, at_vector + step)
                for edge in range(degree):
                    b = load(tokens.key, (block * keys + graph.keys[first + edge]) * size + step)
                    grad = load(grads, edge * LANES)
                    if rule.score == DOT:
                        total += grad * b
                    elif rule.score == TANH:
                        t = _tanh(a + b, one)
                        total += grad * (one - t * t)
                        moment += grad * t
                    else:
                        grad *= where(a + b, one, slope)
                        total += grad
                        moment += grad * (a + b)
                if rule.score != DOT:
                    total *= u
                    at = piece * size + step
                    store(grad_vector, at, load(grad_vector, at) + moment)
                store(grad_query, at_query + step, total)


@compiled()
def pull_rows(length, grain, count, *arguments):
    """Fill the gradients of queries; of each edge the weight and the gradient of the score, (block, edge, 2, head); and
    the sums of each piece for the gradients of u and the bias."""
    in_parallel(_pull_row_pieces, length, grain, count, arguments)


@compiled(keep=False)
def _pull_column_pieces(start, stop, graph, rule, tokens, grad_output, edges, grad_key, grad_value):
    number = tokens.query.dtype
    zero, one, slope = all_of(number.type(0)), all_of(number.type(1)), all_of(rule.slope)
    pieces = graph.column_cuts.size - 1
    queries, keys = graph.starts.size - 1, graph.key_starts.size - 1
    size, value_size = rule.steps * LANES, rule.value_steps * LANES
    for piece in range(start, stop):
        block, cut = piece // pieces, piece % pieces
        longest = _longest(graph.key_starts, graph.column_cuts[cut], graph.column_cuts[cut + 1])
        weights, grads = np.empty(longest * LANES, number), np.empty(longest * LANES, number)
        for column in range(graph.column_cuts[cut], graph.column_cuts[cut + 1]):
            first, degree = graph.key_starts[column], graph.key_starts[column + 1] - graph.key_starts[column]
            for edge in range(degree):
                at = (block * graph.keys.size + graph.places[first + edge]) * 2 * rule.heads
                store(weights, edge * LANES, load_heads(edges, at, rule.heads))
                store(grads, edge * LANES, load_heads(edges, at + rule.heads, rule.heads))
            at_key, at_vector = (block * keys + column) * size, block * size
            for step in range(0, size, LANES):
                total = zero
                b, u = load(tokens.key, at_key + step), load(tokens.vector, at_vector + step)
                for edge in range(degree):
                    a = load(tokens.query, (block * queries + graph.queries[first + edge]) * size + step)
                    grad = load(grads, edge * LANES)
                    if rule.score == DOT:
                        total += grad * a
                    elif rule.score == TANH:
                        t = _tanh(a + b, one)
                        total += grad * (one - t * t)
                    else:
                        total += grad * where(a + b, one, slope)
                if rule.score != DOT:
                    total *= u
                store(grad_key, at_key + step, total)
            at_value = (block * keys + column) * value_size
            for step in range(0, value_size, LANES):
                total = zero
                for edge in range(degree):
                    at_output = (block * queries + graph.queries[first + edge]) * value_size
                    total += load(weights, edge * LANES) * load(grad_output, at_output + step)
                store(grad_value, at_value + step, total)


@compiled()
def pull_columns(length, grain, count, *arguments):
    """Fill the gradients of keys and values."""
    in_parallel(_pull_column_pieces, length, grain, count, arguments)
