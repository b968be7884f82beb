"""What is computed of a tile of pairs: scores, weights, and their derivatives."""

import triton
import triton.language as tl

from regard.attention.engines.triton.additive import NONE, additive_scores, of_group
from regard.attention.engines.triton.arithmetic import dot, keep_scale, scalar
from regard.attention.engines.triton.tiles import Head, by_column, by_row, shift_of, shown_pairs

__all__ = [
    "bias_numbers_of",
    "by_offset",
    "derivatives",
    "head_of",
    "kept",
    "scores_of",
    "store_ends",
    "sum_by_offset",
    "taken_scores",
    "weights_of",
]


@triton.jit
def head_of(batch, head, call, KIND: tl.constexpr):
    """A head's own operands."""
    place = (batch.to(tl.int64) * call.heads + head) * call.queries
    products, value_products, additive = call.products, call.value_products, call.additive
    if KIND.relative > 0:
        products += place * KIND.relative
    if KIND.relative_values > 0:
        value_products += place * KIND.relative_values
    if KIND.additive != NONE:
        additive = of_group(
            additive, batch, head, call.heads, call.repeat, call.queries, call.keys, KIND.size, KIND.wide
        )
    return Head(
        batch,
        head,
        place,
        shift_of(call, batch, KIND),
        scalar(call.scale, head, KIND.wide),
        scalar(call.score_numbers[0], head, KIND.wide),
        scalar(call.score_numbers[1], head, KIND.wide),
        scalar(call.numbers[0], head, KIND.wide),
        scalar(call.numbers[1], head, KIND.wide),
        products,
        value_products,
        additive,
    )


@triton.jit
def by_offset(pointer, row, offset, queries, COUNT: tl.constexpr):
    """One number for each pair, of (row, 2 reach + 1): that of its distance, clipped. COUNT is 2 reach + 1."""
    reach: tl.constexpr = COUNT // 2
    clipped = tl.minimum(tl.maximum(offset, -reach), reach) + reach
    return tl.load(pointer + row.to(tl.int64) * COUNT + clipped, mask=row < queries, other=0.0)


@triton.jit
def sum_by_offset(pointer, tile, rows, offset, shown, before, after, COUNT: tl.constexpr):
    """Put a tile's numbers where their distance belongs, in (row, 2 reach + 1). In a row, each distance occurs once,
    except for those that share the two ends, whose sums are returned."""
    reach: tl.constexpr = COUNT // 2
    place = pointer + rows[:, None].to(tl.int64) * COUNT + (offset + reach)
    tl.store(place, tile.to(pointer.dtype.element_ty), mask=shown & (offset > -reach) & (offset < reach))
    if reach == 0:
        before += tl.sum(tl.where(shown, tile, 0.0), 1)
    else:
        before += tl.sum(tl.where(shown & (offset <= -reach), tile, 0.0), 1)
        after += tl.sum(tl.where(shown & (offset >= reach), tile, 0.0), 1)
    return before, after


@triton.jit
def store_ends(pointer, rows, queries, before, after, COUNT: tl.constexpr):
    """Put the sums of the two ends where they belong."""
    place = pointer + rows.to(tl.int64) * COUNT
    tl.store(place, before.to(pointer.dtype.element_ty), mask=rows < queries)
    if COUNT > 1:
        tl.store(place + COUNT - 1, after.to(pointer.dtype.element_ty), mask=rows < queries)


@triton.jit
def bias_numbers_of(head, call, KIND: tl.constexpr):
    """The numbers of the position's function."""
    numbers = call.bias_numbers
    return scalar(numbers[0], head.head, KIND.wide), scalar(numbers[1], head.head, KIND.wide)


@triton.jit
def scores_of(query, key, rows, columns, head, call, KIND: tl.constexpr, TURNED: tl.constexpr):
    """The products of a tile, its scores with what the position adds to them, and its distances."""
    row, column = by_row(rows.numbers, TURNED), by_column(columns, TURNED)
    if KIND.additive != NONE:
        product = additive_scores(
            rows.numbers, columns, call.queries, call.keys, head.additive, KIND.additive, KIND.size, KIND.wide,
            KIND.interpreted,
        )  # fmt: skip
        if TURNED:
            product = tl.trans(product)
    elif TURNED:
        nothing = tl.zeros([key.shape[0], query.shape[0]], KIND.wide)
        product = dot(key, tl.trans(query), nothing, KIND) * head.scale
    else:
        nothing = tl.zeros([query.shape[0], key.shape[0]], KIND.wide)
        product = dot(query, tl.trans(key), nothing, KIND) * head.scale
    score = KIND.score[0](product, head.score_a, head.score_b)
    offset = column - (row + head.shift)
    if len(call.line) > 0:
        there = (column < call.keys) & (row < call.queries)
        place = call.line[0] + head.head * call.line[1] + (offset + call.line[2])
        score += tl.load(place, mask=there, other=0.0).to(KIND.wide)
    if KIND.relative > 0:
        score += by_offset(head.products, row, offset, call.queries, KIND.relative).to(KIND.wide)
    if len(KIND.bias) > 0:
        a, b = bias_numbers_of(head, call, KIND)
        score = (score + KIND.bias[0](row + head.shift, column, a, b)).to(KIND.wide)
    for i in tl.static_range(len(KIND.others)):
        score = KIND.others[i](score, row, column, offset, head, call, call.others[i])
    if KIND.sharp:
        score *= head.a
    return product, score, offset


@triton.jit
def weights_of(score, found, columns, head, KIND: tl.constexpr, TURNED: tl.constexpr):
    """The weights of a tile of scores less the highest of their rows."""
    column = by_column(columns, TURNED)
    return KIND.normaliser[0](score, by_row(found, TURNED), column, head.a, head.b)


@triton.jit
def taken_scores(score, columns, limits, TURNED: tl.constexpr):
    """A tile's scores, minus infinity where the limits of a row leave a key out, see top_keys.py; never NaN, which
    shows."""
    least, most, last = by_row(limits[0], TURNED), by_row(limits[1], TURNED), by_row(limits[2], TURNED)
    limit = tl.where(by_column(columns, TURNED) > last, most, least)
    return tl.where(score <= limit, -float("inf"), score)


@triton.jit
def load_limits(rows, head, call):
    """The limits of rows, as the forward pass left them."""
    place, there = head.place + rows.numbers, rows.numbers < call.queries
    limits = call.limits
    return (
        tl.load(limits[0] + place, mask=there, other=0.0),
        tl.load(limits[1] + place, mask=there, other=0.0),
        tl.load(limits[2] + place, mask=there, other=0.0),
    )


@triton.jit
def kept(rows, columns, head, call, KIND: tl.constexpr, TURNED: tl.constexpr):
    """The factors of dropout."""
    row, column = by_row(rows.numbers, TURNED), by_column(columns, TURNED)
    factor = scalar(call.dropout[2], head.head, KIND.wide)
    return keep_scale(head.batch, head.head, row, column, call.dropout[0], call.dropout[1], factor, KIND.wide)


@triton.jit
def derivatives(
    query, key, value, grad_output, highest, found, rows, columns, head, call,
    KIND: tl.constexpr, PARTIAL: tl.constexpr, TURNED: tl.constexpr,
):  # fmt: skip
    """Of a tile: products, scores less the highest, weights, slopes, the gradient of the weights, the pairs that count,
    and their distances."""
    product, score, offset = scores_of(query, key, rows, columns, head, call, KIND, TURNED)
    row, column = by_row(rows.numbers, TURNED), by_column(columns, TURNED)
    alive = highest != -float("inf")
    if len(call.limits) > 0:
        score = taken_scores(score, columns, load_limits(rows, head, call), TURNED)
    score -= by_row(tl.where(alive, highest, 0.0), TURNED)
    found = by_row(found, TURNED)
    weight = KIND.normaliser[0](score, found, column, head.a, head.b)
    slope = KIND.normaliser[1](score, weight, found, column, head.a, head.b)
    if TURNED:
        nothing = tl.zeros([columns.shape[0], rows.numbers.shape[0]], KIND.wide)
        above = dot(value, tl.trans(grad_output), nothing, KIND)
    else:
        nothing = tl.zeros([rows.numbers.shape[0], columns.shape[0]], KIND.wide)
        above = dot(grad_output, tl.trans(value), nothing, KIND)
    if KIND.relative_values > 0:
        above += by_offset(head.value_products, row, offset, call.queries, KIND.relative_values).to(KIND.wide)
    if KIND.drops:
        above *= kept(rows, columns, head, call, KIND, TURNED)
    shown = (row < call.queries) & by_row(alive, TURNED)
    if PARTIAL:
        shown &= shown_pairs(rows, columns, head, call, KIND, TURNED)
    return product, score, weight, slope, above, shown, offset
