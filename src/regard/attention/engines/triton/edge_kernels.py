"""Kernels along the edges of a graph: a program owns a node, and all heads of it, and walks along its edges.

`forward` and `backward_of_queries` go by rows: for a query, along the keys that lead to it. `backward_of_keys` goes by
columns, for which the kernel before it has left two numbers for each edge and head. No two programs write to one place.

A row with very many edges is cut into segments, of which each has a program of its own; `merge` adds up what they
found, in order. The scores of a node are a tile (head, edge), so the pieces are those of the kernels on tiles.
"""

import triton
import triton.language as tl

from regard.attention.engines.triton.arithmetic import keep_scale, newton_step, scalar
from regard.attention.engines.triton.pairs import taken_scores
from regard.attention.engines.triton.tiles import COUNT, FAR, HIGHEST, LOG_COUNT, NUMBER, SOFTMAX, THRESHOLD
from regard.attention.engines.triton.top_keys import between, narrowed, quarter, rounding_of, starts_at

LOG2E = tl.constexpr(1.4426950408889634)

__all__ = ["backward_of_keys", "backward_of_queries", "forward", "merge"]

# What isn't specialised changes from graph to graph: kernels aren't compiled anew for it.


@triton.jit
def work_of(program, starts, listed, segments, segment_count, LONGEST: tl.constexpr):
    """What a program works on: the node, its first edge there, how many of them, how many edges the node has, and
    whether these are all. Nodes from `listed` on have no edges."""
    node = program.to(tl.int64)
    if len(segments) > 0:
        is_segment = program < segment_count
        row = tl.load(segments[0] + program, mask=is_segment, other=0)
        node = tl.where(is_segment, row, node - segment_count)
    there = node < listed
    first = tl.load(starts + node, mask=there, other=0)
    stop = tl.load(starts + node + 1, mask=there, other=0)
    degree = (stop - first).to(tl.int32)
    count = degree
    whole = degree >= 0
    if len(segments) > 0:
        first = tl.where(is_segment, tl.load(segments[1] + program, mask=is_segment, other=0), first)
        rest = tl.minimum((stop - first).to(tl.int32), LONGEST)
        whole = (program >= segment_count) & (degree <= LONGEST)
        count = tl.where(is_segment, rest, tl.where(whole, degree, 0))
    return node, first, count, degree, whole


@triton.jit
def of_heads(number, heads, head_count, WIDE: tl.constexpr):
    """A number for each of these heads, (head,)."""
    here = tl.minimum(heads, head_count - 1)
    return tl.zeros([heads.shape[0]], WIDE) + scalar(number, here, WIDE)


@triton.jit
def columns_of(
    first_head, HEAD_BLOCK: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr, TIMES: tl.constexpr = 1,
    OVER: tl.constexpr = 1,
):  # fmt: skip
    """Where the numbers of a node's heads lie, one head after the other. Of another node it is head * TIMES // OVER
    that belongs to a head."""
    column = tl.arange(0, HEAD_BLOCK * BLOCK)
    return (first_head + column // BLOCK) * TIMES // OVER * SIZE + column % BLOCK


@triton.jit
def columns_there(first_head, head_count, HEAD_BLOCK: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    """Which of these there are."""
    column = tl.arange(0, HEAD_BLOCK * BLOCK)
    return (first_head + column // BLOCK < head_count) & (column % BLOCK < SIZE)


@triton.jit
def load_nodes(pointer, nodes, stride, there, columns, here, WIDE: tl.constexpr):
    """The vectors of some nodes, (edge, column); zeros for those that are not `there`."""
    place = pointer + (nodes * stride)[:, None] + columns[None, :]
    return tl.load(place, mask=there[:, None] & here[None, :], other=0.0).to(WIDE)


@triton.jit
def by_head(tile, HEAD_BLOCK: tl.constexpr):
    """(edge, column) as (edge, head, size). Loaded as such, some versions of Triton would spread edges over a warp."""
    return tl.reshape(tile, [tile.shape[0], HEAD_BLOCK, tile.shape[1] // HEAD_BLOCK])


@triton.jit
def store_node(pointer, row, width, tile, columns, here, shown):
    """Store (head, size) as a row of heads next to each other, if `shown`."""
    flat = tl.reshape(tile, [tile.shape[0] * tile.shape[1]]).to(pointer.dtype.element_ty)
    tl.store(pointer + row * width + columns, flat, mask=here & (columns < tl.where(shown, width, 0)))


@triton.jit
def store_heads(pointer, row, heads, head_count, numbers, shown):
    tl.store(pointer + row * head_count + heads, numbers, mask=heads < tl.where(shown, head_count, 0))


@triton.jit
def scores_of(
    query, key, vector, leak, scale, score_numbers, a, SCORE: tl.constexpr, ACTIVATION: tl.constexpr,
    SHARP: tl.constexpr,
):  # fmt: skip
    """The products of a node with its neighbours, and the scores, (head, edge).

    query and vector: (column,); key: (edge, column).
    """
    if len(ACTIVATION) > 0:
        terms = vector[None, :] * ACTIVATION[0](query[None, :] + key, leak)
    else:
        terms = query[None, :] * key
    product = tl.trans(tl.sum(by_head(terms, scale.shape[0]), 2)) * scale[:, None]
    score = SCORE[0](product, score_numbers[0][:, None], score_numbers[1][:, None])
    if SHARP:
        score *= a[:, None]
    return product, score


@triton.jit(do_not_specialize=["segment_count", "queries", "listed"])
def forward(
    Q, K, V, OUT, WIDE_OUT, HIGHEST_OUT, FOUND_OUT, LIMITS_OUT, PART_OUT, PART_HIGHEST, PART_SUMS, starts, neighbours,
    segments, segment_count, queries, listed, strides, scale_number, score_numbers, numbers, search, U, leak, dropout,
    SCORE: tl.constexpr, ACTIVATION: tl.constexpr, NORMALISER: tl.constexpr, FIND: tl.constexpr, SHARP: tl.constexpr,
    DROPS: tl.constexpr, SAVES: tl.constexpr, HEADS: tl.constexpr, REPEAT: tl.constexpr, SIZE: tl.constexpr,
    SIZE_BLOCK: tl.constexpr, VALUE: tl.constexpr, VALUE_BLOCK: tl.constexpr, HEAD_BLOCK: tl.constexpr,
    EDGES: tl.constexpr, LONGEST: tl.constexpr, WIDE: tl.constexpr, TOLERANCE: tl.constexpr,
    FROM_LOWEST: tl.constexpr, SOURCES: tl.constexpr,
):  # fmt: skip
    """The outputs of a node, and what their gradient needs to know of it: for each head the highest score, what the
    normaliser finds, and if not all keys are taken the limits, see top_keys.py. Of a segment: the sum of its values, by
    weights that aren't normalised yet."""
    program = tl.program_id(0)
    groups: tl.constexpr = (HEADS + HEAD_BLOCK - 1) // HEAD_BLOCK
    batch = tl.program_id(1) // groups
    first_head = tl.program_id(1) % groups * HEAD_BLOCK
    heads = first_head + tl.arange(0, HEAD_BLOCK)
    columns = columns_of(first_head, HEAD_BLOCK, SIZE, SIZE_BLOCK)
    here = columns_there(first_head, HEADS, HEAD_BLOCK, SIZE, SIZE_BLOCK)
    of_output = columns_of(first_head, HEAD_BLOCK, VALUE, VALUE_BLOCK)
    value_here = columns_there(first_head, HEADS, HEAD_BLOCK, VALUE, VALUE_BLOCK)
    of_key = columns_of(first_head, HEAD_BLOCK, SIZE, SIZE_BLOCK, 1, REPEAT)
    of_value = columns_of(first_head, HEAD_BLOCK, VALUE, VALUE_BLOCK, 1, REPEAT)
    node, first, count, degree, whole = work_of(program, starts, listed, segments, segment_count, LONGEST)
    item = batch.to(tl.int64)
    neighbours += first
    Q += item * strides[0]
    K += item * strides[2]
    V += item * strides[4]
    scale = of_heads(scale_number, heads, HEADS, WIDE)
    score_numbers = (of_heads(score_numbers[0], heads, HEADS, WIDE), of_heads(score_numbers[1], heads, HEADS, WIDE))
    a, b = of_heads(numbers[0], heads, HEADS, WIDE), of_heads(numbers[1], heads, HEADS, WIDE)
    leak = scalar(leak, 0, WIDE)
    query = tl.load(Q + node * strides[1] + columns, mask=here, other=0.0).to(WIDE)
    vector = tl.load(U + columns, mask=here, other=0.0) if len(ACTIVATION) > 0 else query

    highest = tl.zeros([HEAD_BLOCK], WIDE)
    found = tl.zeros([HEAD_BLOCK], WIDE)
    if FIND == SOFTMAX:
        highest = tl.full([HEAD_BLOCK], -float("inf"), WIDE)
    elif FIND == NUMBER:
        found += a
    elif FIND == COUNT:
        found += 1.0 / tl.maximum(degree, 1).to(WIDE)
    elif FIND == LOG_COUNT:
        found += -tl.log2(tl.maximum(degree, 1).to(WIDE)) / LOG2E
    elif FIND == THRESHOLD:
        total, below = of_heads(search[0], heads, HEADS, WIDE), of_heads(search[1], heads, HEADS, WIDE)
        highest, found = thresholds(
            query, K, neighbours, count, strides[3], of_key, here, vector, leak, scale, score_numbers, a, b, total,
            below, SCORE, ACTIVATION, NORMALISER, HEAD_BLOCK, EDGES, WIDE, TOLERANCE, FROM_LOWEST,
        )  # fmt: skip
    elif FIND == HIGHEST:
        highest = tl.full([HEAD_BLOCK], -float("inf"), WIDE)
        unknown = tl.zeros([HEAD_BLOCK], tl.int32)
        for begin in range(0, count, EDGES):
            edges = begin + tl.arange(0, EDGES)
            there = edges < count
            keys = tl.load(neighbours + edges, mask=there, other=0)
            key = load_nodes(K, keys, strides[3], there, of_key, here, WIDE)
            _, score = scores_of(query, key, vector, leak, scale, score_numbers, a, SCORE, ACTIVATION, SHARP)
            score = tl.where(there[None, :], score, -float("inf"))
            best = tl.max(score, 1)
            place = tl.min(tl.where(score == best[:, None], keys.to(tl.int32)[None, :], FAR), 1)
            found = tl.where(best > highest, place.to(WIDE), found)
            highest = tl.maximum(highest, best)
            unknown += tl.sum(tl.where(score == score, 0, 1), 1)
        # A maximum passes NaN by.
        highest = tl.where(unknown > 0, float("nan"), highest)
        found = tl.where(unknown > 0, float("nan"), found)

    limits = LIMITS_OUT
    if len(limits) > 0:
        limits = limits_of(
            query, K, neighbours, count, strides[3], of_key, here, vector, leak, scale, score_numbers, a,
            of_heads(search[0], heads, HEADS, WIDE), SCORE, ACTIVATION, SHARP, HEAD_BLOCK, EDGES, WIDE, TOLERANCE,
        )  # fmt: skip
    sums = tl.zeros([HEAD_BLOCK], WIDE)
    total_out = tl.zeros([HEAD_BLOCK, VALUE_BLOCK], WIDE)
    for begin in range(0, count, EDGES):
        edges = begin + tl.arange(0, EDGES)
        there = edges < count
        keys = tl.load(neighbours + edges, mask=there, other=0)
        key = load_nodes(K, keys, strides[3], there, of_key, here, WIDE)
        value = load_nodes(V, keys, strides[5], there, of_value, value_here, WIDE)
        _, score = scores_of(query, key, vector, leak, scale, score_numbers, a, SCORE, ACTIVATION, SHARP)
        if FIND == SOFTMAX:
            score = tl.where(there[None, :], score, -float("inf"))
            if len(limits) > 0:
                score = taken_scores(score, keys, limits, False)
            best = tl.maximum(highest, tl.max(score, 1))
            base = tl.where(best == -float("inf"), 0.0, best)
            weight = tl.exp2((score - base[:, None]) * LOG2E)
            rest = tl.exp2((highest - base) * LOG2E)
            highest = best
            sums = sums * rest + tl.sum(weight, 1)
            total_out *= rest[:, None]
        else:
            base = tl.where(highest == -float("inf"), 0.0, highest) if FIND == THRESHOLD else tl.zeros_like(found)
            small_keys = keys.to(tl.int32)[None, :]
            weight = NORMALISER[0](score - base[:, None], found[:, None], small_keys, a[:, None], b[:, None])
            weight = tl.where(there[None, :], weight, 0.0)
        if DROPS:
            factor = of_heads(dropout[2], heads, HEADS, WIDE)
            weight *= keep_scale(
                batch, heads[:, None], node, keys[None, :], dropout[0], dropout[1], factor[:, None], WIDE
            )
        total_out += tl.sum(tl.trans(weight)[:, :, None] * by_head(value, HEAD_BLOCK), 0)

    row = item * queries + node
    if len(segments) > 0:
        part = item * segment_count + program
        is_segment = program < segment_count
        store_node(PART_OUT, part, HEADS * VALUE, total_out, of_output, value_here, is_segment)
        if FIND == SOFTMAX:
            store_heads(PART_HIGHEST, part, heads, HEADS, highest, is_segment)
            store_heads(PART_SUMS, part, heads, HEADS, sums, is_segment)
    if FIND == SOFTMAX:
        found = 1.0 / tl.where(sums == 0.0, 1.0, sums)
        total_out *= found[:, None]
        highest = highest_of(highest, sums)
    if FIND == SOFTMAX or FIND == THRESHOLD or FIND == HIGHEST:
        # A row whose scores are all minus infinity is one that sees nothing.
        total_out = tl.where(highest[:, None] == -float("inf"), 0.0, total_out)
    store_node(OUT, row, HEADS * VALUE, total_out, of_output, value_here, whole)
    if SAVES:
        store_node(WIDE_OUT, row, HEADS * VALUE, total_out, of_output, value_here, whole)
    # All segments of a row know the same of it, but for softmax, where that is merged.
    knows = whole if FIND == SOFTMAX else degree >= 0
    store_heads(HIGHEST_OUT, row, heads, HEADS, highest, knows)
    store_heads(FOUND_OUT, row, heads, HEADS, found, knows)
    for i in tl.static_range(len(limits)):
        store_heads(LIMITS_OUT[i], row, heads, HEADS, limits[i], knows)


@triton.jit
def highest_of(highest, sums):
    """The highest score of a row, by the sum of its exponentials: minus infinity without one, NaN, which a maximum
    passes by, if one is."""
    return tl.where(sums == 0.0, -float("inf"), tl.where(sums == sums, highest, sums))


@triton.jit
def thresholds(
    query, K, neighbours, count, stride, of_key, here, vector, leak, scale, score_numbers, a, b, total, below,
    SCORE: tl.constexpr, ACTIVATION: tl.constexpr, NORMALISER: tl.constexpr, HEAD_BLOCK: tl.constexpr,
    EDGES: tl.constexpr, WIDE: tl.constexpr, TOLERANCE: tl.constexpr, FROM_LOWEST: tl.constexpr,
):  # fmt: skip
    """The highest score of each head, and the threshold below it: as in the kernels on tiles."""
    highest = tl.full([HEAD_BLOCK], -float("inf"), WIDE)
    lowest = tl.full([HEAD_BLOCK], float("inf"), WIDE)
    unknown = tl.zeros([HEAD_BLOCK], tl.int32)
    for begin in range(0, count, EDGES):
        edges = begin + tl.arange(0, EDGES)
        there = edges < count
        keys = tl.load(neighbours + edges, mask=there, other=0)
        key = load_nodes(K, keys, stride, there, of_key, here, WIDE)
        _, score = scores_of(query, key, vector, leak, scale, score_numbers, a, SCORE, ACTIVATION, False)
        highest = tl.maximum(highest, tl.max(tl.where(there[None, :], score, -float("inf")), 1))
        unknown += tl.sum(tl.where(there[None, :] & (score != score), 1, 0), 1)
        if FROM_LOWEST:
            shown = there[None, :] & (score > -float("inf"))
            lowest = tl.minimum(lowest, tl.min(tl.where(shown, score, float("inf")), 1))
    # A maximum passes NaN by.
    highest = tl.where(unknown > 0, float("nan"), highest)
    alive = highest != -float("inf")
    base = tl.where(alive, highest, 0.0)
    low = tl.where(alive, lowest - base - 1.0, -1.0) if FROM_LOWEST else tl.zeros_like(base) - below
    high = tl.zeros_like(base)
    found = low
    active = alive & (low == low) & (low > -float("inf"))
    passes = 0
    while (tl.max(tl.where(active, 1, 0), 0) > 0) & (passes < 128):
        of_weights = tl.zeros_like(base)
        of_slopes = tl.zeros_like(base)
        for begin in range(0, count, EDGES):
            edges = begin + tl.arange(0, EDGES)
            there = edges < count
            keys = tl.load(neighbours + edges, mask=there, other=0)
            key = load_nodes(K, keys, stride, there, of_key, here, WIDE)
            _, score = scores_of(query, key, vector, leak, scale, score_numbers, a, SCORE, ACTIVATION, False)
            score -= base[:, None]
            small_keys = keys.to(tl.int32)[None, :]
            weight = NORMALISER[0](score, found[:, None], small_keys, a[:, None], b[:, None])
            of_slope = NORMALISER[1](score, weight, found[:, None], small_keys, a[:, None], b[:, None])
            of_weights += tl.sum(tl.where(there[None, :], weight, 0.0), 1)
            of_slopes += tl.sum(tl.where(there[None, :], of_slope, 0.0), 1)
        found, low, high, active = newton_step(found, low, high, active, of_weights, of_slopes, total, TOLERANCE)
        passes += 1
    return highest, tl.where(alive, tl.where(highest == highest, found, highest), 0.0)


@triton.jit
def scores_there(
    query, K, neighbours, begin, count, stride, of_key, here, vector, leak, scale, score_numbers, a,
    SCORE: tl.constexpr, ACTIVATION: tl.constexpr, SHARP: tl.constexpr, EDGES: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Some keys of a node, and their scores, (head, edge), minus infinity beyond the last."""
    edges = begin + tl.arange(0, EDGES)
    there = edges < count
    keys = tl.load(neighbours + edges, mask=there, other=0)
    key = load_nodes(K, keys, stride, there, of_key, here, WIDE)
    _, score = scores_of(query, key, vector, leak, scale, score_numbers, a, SCORE, ACTIVATION, SHARP)
    return keys, tl.where(there[None, :], score, -float("inf"))


@triton.jit
def limits_of(
    query, K, neighbours, count, stride, of_key, here, vector, leak, scale, score_numbers, a, wanted,
    SCORE: tl.constexpr, ACTIVATION: tl.constexpr, SHARP: tl.constexpr, HEAD_BLOCK: tl.constexpr,
    EDGES: tl.constexpr, WIDE: tl.constexpr, TOLERANCE: tl.constexpr,
):  # fmt: skip
    """The limits of each head: as in the kernels on tiles."""
    highest = tl.full([HEAD_BLOCK], -float("inf"), WIDE)
    lowest = tl.full([HEAD_BLOCK], float("inf"), WIDE)
    seen = tl.zeros([HEAD_BLOCK], tl.int32)
    unknown = tl.zeros([HEAD_BLOCK], tl.int32)
    for begin in range(0, count, EDGES):
        _, score = scores_there(
            query, K, neighbours, begin, count, stride, of_key, here, vector, leak, scale, score_numbers, a, SCORE,
            ACTIVATION, SHARP, EDGES, WIDE,
        )  # fmt: skip
        there = score > -float("inf")
        highest = tl.maximum(highest, tl.max(score, 1))
        lowest = tl.minimum(lowest, tl.min(tl.where(there, score, float("inf")), 1))
        seen += tl.sum(tl.where(there, 1, 0), 1)
        unknown += tl.sum(tl.where(score != score, 1, 0), 1)
    searched = (seen > wanted) & (unknown == 0) & (highest < float("inf"))
    highest = tl.where(searched, highest, 0.0)
    lowest = tl.where(searched, lowest, 0.0)
    low, high = starts_at(lowest, highest, WIDE, TOLERANCE), highest
    active = searched
    passes = 0
    while (tl.max(tl.where(active, 1, 0), 0) > 0) & (passes < 32):
        over0 = tl.zeros([HEAD_BLOCK], tl.int32)
        over1, over2, over3 = over0, over0, over0
        step = quarter(low, high)
        for begin in range(0, count, EDGES):
            _, score = scores_there(
                query, K, neighbours, begin, count, stride, of_key, here, vector, leak, scale, score_numbers, a, SCORE,
                ACTIVATION, SHARP, EDGES, WIDE,
            )  # fmt: skip
            over0 += tl.sum(tl.where(score > low[:, None], 1, 0), 1)
            over1 += tl.sum(tl.where(score > (low + step)[:, None], 1, 0), 1)
            over2 += tl.sum(tl.where(score > (low + 2.0 * step)[:, None], 1, 0), 1)
            over3 += tl.sum(tl.where(score > (low + 3.0 * step)[:, None], 1, 0), 1)
        low, high, active = narrowed(low, high, active, wanted, over0, over1, over2, over3, lowest, highest, TOLERANCE)
        passes += 1

    beside = rounding_of(high, lowest, highest, TOLERANCE)
    least, most = low - beside, high + beside
    above = tl.full([HEAD_BLOCK], float("inf"), WIDE)
    top = tl.full([HEAD_BLOCK], -float("inf"), WIDE)
    bottom, below = above, top
    over = tl.zeros([HEAD_BLOCK], tl.int32)
    equal = over
    for begin in range(0, count, EDGES):
        _, score = scores_there(
            query, K, neighbours, begin, count, stride, of_key, here, vector, leak, scale, score_numbers, a, SCORE,
            ACTIVATION, SHARP, EDGES, WIDE,
        )  # fmt: skip
        is_over, is_under = score > most[:, None], score <= least[:, None]
        above = tl.minimum(above, tl.min(tl.where(is_over, score, float("inf")), 1))
        top = tl.maximum(top, tl.max(tl.where(is_over, -float("inf"), score), 1))
        bottom = tl.minimum(bottom, tl.min(tl.where(is_under, float("inf"), score), 1))
        below = tl.maximum(below, tl.max(tl.where(is_under, score, -float("inf")), 1))
        over += tl.sum(tl.where(is_over, 1, 0), 1)
        equal += tl.sum(tl.where(is_over | is_under, 0, 1), 1)
    least, most = between(below, bottom), between(top, above)
    room = wanted - over.to(WIDE)
    place = tl.where(room < equal.to(WIDE), -1, FAR)
    divided = searched & (room > 0.0) & (place < 0)
    taken = tl.zeros([HEAD_BLOCK], tl.int32)
    for begin in range(0, tl.where(tl.max(tl.where(divided, 1, 0), 0) > 0, count, 0), EDGES):
        keys, score = scores_there(
            query, K, neighbours, begin, count, stride, of_key, here, vector, leak, scale, score_numbers, a, SCORE,
            ACTIVATION, SHARP, EDGES, WIDE,
        )  # fmt: skip
        is_equal = tl.where((score > least[:, None]) & (score <= most[:, None]), 1, 0)
        number = taken[:, None] + tl.cumsum(is_equal, 1)
        is_last = (is_equal > 0) & (number == room[:, None]) & divided[:, None]
        place = tl.maximum(place, tl.max(tl.where(is_last, keys.to(tl.int32)[None, :], -1), 1))
        taken += tl.sum(is_equal, 1)
    least = tl.where(searched, least, -float("inf"))
    most = tl.where(searched, most, -float("inf"))
    return least, most, place.to(WIDE)


@triton.jit
def derivatives(
    query, K, V, grad_output, node, keys, there, batch, strides, heads, of_key, here, of_value, value_here, vector,
    leak, scale, score_numbers, a, b, highest, found, limits, dropout,
    SCORE: tl.constexpr, ACTIVATION: tl.constexpr, NORMALISER: tl.constexpr, SHARP: tl.constexpr, DROPS: tl.constexpr,
    HEADS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Of a node and some of its keys: the keys; and (head, edge) products, scores less the highest, weights, slopes,
    the gradient of the weights, the factors of dropout, and the pairs that count."""
    alive = (highest != -float("inf")) & (heads < HEADS)
    key = load_nodes(K, keys, strides[3], there, of_key, here, WIDE)
    value = load_nodes(V, keys, strides[5], there, of_value, value_here, WIDE)
    product, score = scores_of(query, key, vector, leak, scale, score_numbers, a, SCORE, ACTIVATION, SHARP)
    if len(limits) > 0:
        score = taken_scores(score, keys, limits, False)
    score -= tl.where(alive, highest, 0.0)[:, None]
    small_keys = keys.to(tl.int32)[None, :]
    weight = NORMALISER[0](score, found[:, None], small_keys, a[:, None], b[:, None])
    slope = NORMALISER[1](score, weight, found[:, None], small_keys, a[:, None], b[:, None])
    above = tl.trans(tl.sum(by_head(grad_output[None, :] * value, heads.shape[0]), 2))
    keep = tl.full([heads.shape[0], keys.shape[0]], 1.0, WIDE)
    if DROPS:
        factor = of_heads(dropout[2], heads, HEADS, WIDE)
        keep = keep_scale(batch, heads[:, None], node, keys[None, :], dropout[0], dropout[1], factor[:, None], WIDE)
        above *= keep
    return key, product, score, weight, slope, above, keep, there[None, :] & alive[:, None]


@triton.jit(do_not_specialize=["segment_count", "queries", "listed", "edge_count"])
def backward_of_queries(
    Q, K, V, WIDE_OUT, GRAD_OUT, GRAD_LOG_SUMS, HIGHEST_IN, FOUND_IN, LIMITS_IN, GRAD_Q, PART_GRAD_Q, OF_EDGES,
    GRAD_NUMBER, GRAD_SCORE_NUMBER, GRAD_VECTOR, starts, neighbours, segments, segment_count, queries, listed,
    edge_count, strides, scale_number, score_numbers, numbers, U, leak, dropout,
    SCORE: tl.constexpr, ACTIVATION: tl.constexpr, NORMALISER: tl.constexpr, FIND: tl.constexpr, CENTRED: tl.constexpr,
    SHARP: tl.constexpr, DROPS: tl.constexpr, HEADS: tl.constexpr, REPEAT: tl.constexpr, SIZE: tl.constexpr,
    SIZE_BLOCK: tl.constexpr, VALUE: tl.constexpr, VALUE_BLOCK: tl.constexpr, HEAD_BLOCK: tl.constexpr,
    EDGES: tl.constexpr, LONGEST: tl.constexpr, LOG_SUMS: tl.constexpr, WIDE: tl.constexpr,
    SOURCES: tl.constexpr,
):  # fmt: skip
    """The gradient of a query, its share in those of the parts' operands, and for each of its edges, (edge, 2, head),
    the gradient of the product and the weight after dropout."""
    program = tl.program_id(0)
    groups: tl.constexpr = (HEADS + HEAD_BLOCK - 1) // HEAD_BLOCK
    batch = tl.program_id(1) // groups
    first_head = tl.program_id(1) % groups * HEAD_BLOCK
    heads = first_head + tl.arange(0, HEAD_BLOCK)
    columns = columns_of(first_head, HEAD_BLOCK, SIZE, SIZE_BLOCK)
    here = columns_there(first_head, HEADS, HEAD_BLOCK, SIZE, SIZE_BLOCK)
    of_output = columns_of(first_head, HEAD_BLOCK, VALUE, VALUE_BLOCK)
    value_here = columns_there(first_head, HEADS, HEAD_BLOCK, VALUE, VALUE_BLOCK)
    of_key = columns_of(first_head, HEAD_BLOCK, SIZE, SIZE_BLOCK, 1, REPEAT)
    of_value = columns_of(first_head, HEAD_BLOCK, VALUE, VALUE_BLOCK, 1, REPEAT)
    node, first, count, degree, whole = work_of(program, starts, listed, segments, segment_count, LONGEST)
    item = batch.to(tl.int64)
    neighbours += first
    Q += item * strides[0]
    K += item * strides[2]
    V += item * strides[4]
    GRAD_OUT += item * strides[6]
    OF_EDGES += (item * edge_count + first) * 2 * HEADS
    scale = of_heads(scale_number, heads, HEADS, WIDE)
    score_numbers = (of_heads(score_numbers[0], heads, HEADS, WIDE), of_heads(score_numbers[1], heads, HEADS, WIDE))
    a, b = of_heads(numbers[0], heads, HEADS, WIDE), of_heads(numbers[1], heads, HEADS, WIDE)
    leak = scalar(leak, 0, WIDE)
    row = item * queries + node
    highest = tl.load(HIGHEST_IN + row * HEADS + heads, mask=heads < HEADS, other=0.0)
    found = tl.load(FOUND_IN + row * HEADS + heads, mask=heads < HEADS, other=0.0)
    limits = LIMITS_IN
    if len(limits) > 0:
        limits = (
            tl.load(LIMITS_IN[0] + row * HEADS + heads, mask=heads < HEADS, other=0.0),
            tl.load(LIMITS_IN[1] + row * HEADS + heads, mask=heads < HEADS, other=0.0),
            tl.load(LIMITS_IN[2] + row * HEADS + heads, mask=heads < HEADS, other=0.0),
        )
    query = tl.load(Q + node * strides[1] + columns, mask=here, other=0.0).to(WIDE)
    grad_output = tl.load(GRAD_OUT + node * strides[7] + of_output, mask=value_here, other=0.0).to(WIDE)
    vector = tl.load(U + columns, mask=here, other=0.0) if len(ACTIVATION) > 0 else query

    mean = tl.zeros([HEAD_BLOCK], WIDE)
    if FIND == SOFTMAX:
        output = tl.load(WIDE_OUT + row * (HEADS * VALUE) + of_output, mask=value_here, other=0.0)
        mean = tl.sum(tl.reshape(output * grad_output, [HEAD_BLOCK, VALUE_BLOCK]), 1)
        if LOG_SUMS:
            mean -= tl.load(GRAD_LOG_SUMS + row * HEADS + heads, mask=heads < HEADS, other=0.0).to(WIDE)
    elif CENTRED:
        of_slopes = tl.zeros([HEAD_BLOCK], WIDE)
        for begin in range(0, count, EDGES):
            edges = begin + tl.arange(0, EDGES)
            there = edges < count
            keys = tl.load(neighbours + edges, mask=there, other=0)
            _, _, _, _, slope, above, _, shown = derivatives(
                query, K, V, grad_output, node, keys, there, batch, strides, heads, of_key, here, of_value, value_here,
                vector, leak, scale, score_numbers, a, b, highest, found, limits, dropout, SCORE, ACTIVATION,
                NORMALISER, SHARP, DROPS, HEADS, WIDE,
            )  # fmt: skip
            of_slopes += tl.sum(tl.where(shown, slope, 0.0), 1)
            # Where a weight doesn't change, what it is multiplied by doesn't matter.
            mean += tl.sum(tl.where(shown & (slope != 0.0), slope * above, 0.0), 1)
        mean = mean / tl.where(of_slopes == 0.0, 1.0, of_slopes)

    grad_query = tl.zeros([HEAD_BLOCK, SIZE_BLOCK], WIDE)
    grad_vector = tl.zeros([HEAD_BLOCK, SIZE_BLOCK], WIDE)
    of_number = tl.zeros([HEAD_BLOCK], WIDE)
    of_score_number = tl.zeros([HEAD_BLOCK], WIDE)
    for begin in range(0, count, EDGES):
        edges = begin + tl.arange(0, EDGES)
        there = edges < count
        keys = tl.load(neighbours + edges, mask=there, other=0)
        key, product, score, weight, slope, above, keep, shown = derivatives(
            query, K, V, grad_output, node, keys, there, batch, strides, heads, of_key, here, of_value, value_here,
            vector, leak, scale, score_numbers, a, b, highest, found, limits, dropout, SCORE, ACTIVATION, NORMALISER,
            SHARP, DROPS, HEADS, WIDE,
        )  # fmt: skip
        change = above - mean[:, None]
        grad_score = tl.where(shown, slope * change, 0.0)
        if len(NORMALISER) > 2:
            small_keys = keys.to(tl.int32)[None, :]
            own = NORMALISER[2](score, weight, slope, found[:, None], small_keys, a[:, None], b[:, None])
            of_number += tl.sum(tl.where(shown, own * change, 0.0), 1)
        if SHARP:
            grad_score *= a[:, None]
        if len(SCORE) > 2:
            own = SCORE[2](product, score_numbers[0][:, None], score_numbers[1][:, None])
            of_score_number += tl.sum(tl.where(shown, own * grad_score, 0.0), 1)
        grad_score = SCORE[1](product, score_numbers[0][:, None], score_numbers[1][:, None]) * grad_score
        grad_product = tl.trans(tl.where(shown, grad_score, 0.0) * scale[:, None])
        if len(ACTIVATION) > 0:
            hidden = query[None, :] + key
            grad_vector += tl.sum(grad_product[:, :, None] * by_head(ACTIVATION[0](hidden, leak), HEAD_BLOCK), 0)
            grad_query += tl.sum(grad_product[:, :, None] * by_head(ACTIVATION[1](hidden, leak), HEAD_BLOCK), 0)
        else:
            grad_query += tl.sum(grad_product[:, :, None] * by_head(key, HEAD_BLOCK), 0)
        place = OF_EDGES + edges.to(tl.int64)[:, None] * (2 * HEADS) + heads[None, :]
        stored = there[:, None] & (heads < HEADS)[None, :]
        tl.store(place, grad_product, mask=stored)
        tl.store(place + HEADS, tl.trans(tl.where(shown, weight * keep, 0.0)), mask=stored)

    # A row that sees nothing passes no gradient, whatever comes in.
    alive = (highest != -float("inf"))[:, None]
    grad_query = tl.where(alive, grad_query, 0.0)
    if len(ACTIVATION) > 0:
        grad_query *= tl.reshape(vector, [HEAD_BLOCK, SIZE_BLOCK])
    store_node(GRAD_Q, row, HEADS * SIZE, grad_query, columns, here, whole)
    if len(segments) > 0:
        part = item * segment_count + program
        store_node(PART_GRAD_Q, part, HEADS * SIZE, grad_query, columns, here, program < segment_count)
    share = item * (queries + segment_count) + program
    if len(ACTIVATION) > 0:
        grad_vector = tl.where(alive, grad_vector, 0.0)
        store_node(GRAD_VECTOR, share, HEADS * SIZE, grad_vector, columns, here, degree >= 0)
    if len(NORMALISER) > 2:
        store_heads(GRAD_NUMBER, share, heads, HEADS, of_number, degree >= 0)
    if len(SCORE) > 2:
        store_heads(GRAD_SCORE_NUMBER, share, heads, HEADS, of_score_number, degree >= 0)


@triton.jit(do_not_specialize=["segment_count", "queries", "keys", "listed", "edge_count"])
def backward_of_keys(
    Q, K, GRAD_OUT, HIGHEST_IN, OF_EDGES, GRAD_K, GRAD_V, PART_GRAD_K, PART_GRAD_V, starts, neighbours, places,
    segments, segment_count, queries, keys, listed, edge_count, strides, U, leak,
    ACTIVATION: tl.constexpr, FIND: tl.constexpr, HEADS: tl.constexpr, REPEAT: tl.constexpr, SIZE: tl.constexpr,
    SIZE_BLOCK: tl.constexpr, VALUE: tl.constexpr, VALUE_BLOCK: tl.constexpr, HEAD_BLOCK: tl.constexpr,
    EDGES: tl.constexpr, LONGEST: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """The gradients of a key and of its value, from all heads of queries that share them. Here `neighbours` are the
    queries of a key's edges, and `places` the edges' numbers by row."""
    KEY_HEADS: tl.constexpr = HEADS // REPEAT
    MAY_SEE_NOTHING: tl.constexpr = FIND == SOFTMAX or FIND == THRESHOLD or FIND == HIGHEST
    program = tl.program_id(0)
    groups: tl.constexpr = (KEY_HEADS + HEAD_BLOCK - 1) // HEAD_BLOCK
    batch = tl.program_id(1) // groups
    first_head = tl.program_id(1) % groups * HEAD_BLOCK
    key_heads = first_head + tl.arange(0, HEAD_BLOCK)
    columns = columns_of(first_head, HEAD_BLOCK, SIZE, SIZE_BLOCK)
    here = columns_there(first_head, KEY_HEADS, HEAD_BLOCK, SIZE, SIZE_BLOCK)
    of_value = columns_of(first_head, HEAD_BLOCK, VALUE, VALUE_BLOCK)
    value_here = columns_there(first_head, KEY_HEADS, HEAD_BLOCK, VALUE, VALUE_BLOCK)
    of_query = columns_of(first_head, HEAD_BLOCK, SIZE, SIZE_BLOCK, REPEAT)
    of_output = columns_of(first_head, HEAD_BLOCK, VALUE, VALUE_BLOCK, REPEAT)
    node, first, count, _, whole = work_of(program, starts, listed, segments, segment_count, LONGEST)
    item = batch.to(tl.int64)
    neighbours += first
    places += first
    Q += item * strides[0]
    K += item * strides[2]
    GRAD_OUT += item * strides[6]
    HIGHEST_IN += item * queries * HEADS
    OF_EDGES += item * edge_count * 2 * HEADS
    leak = scalar(leak, 0, WIDE)
    key = tl.zeros([HEAD_BLOCK * SIZE_BLOCK], WIDE)
    if len(ACTIVATION) > 0:
        key = tl.load(K + node * strides[3] + columns, mask=here, other=0.0).to(WIDE)
    grad_key = tl.zeros([HEAD_BLOCK, SIZE_BLOCK], WIDE)
    grad_value = tl.zeros([HEAD_BLOCK, VALUE_BLOCK], WIDE)
    for member in range(REPEAT):
        heads = key_heads * REPEAT + member
        of_head = tl.zeros([HEAD_BLOCK, SIZE_BLOCK], WIDE)
        for begin in range(0, count, EDGES):
            edges = begin + tl.arange(0, EDGES)
            there = edges < count
            nodes = tl.load(neighbours + edges, mask=there, other=0)
            edge = tl.load(places + edges, mask=there, other=0)
            shown = there[:, None] & (key_heads < KEY_HEADS)[None, :]
            place = OF_EDGES + edge[:, None] * (2 * HEADS) + heads[None, :]
            grad_product = tl.load(place, mask=shown, other=0.0)
            weight = tl.load(place + HEADS, mask=shown, other=0.0)
            query = load_nodes(Q + member * SIZE, nodes, strides[1], there, of_query, here, WIDE)
            grad_output = load_nodes(GRAD_OUT + member * VALUE, nodes, strides[7], there, of_output, value_here, WIDE)
            if len(ACTIVATION) > 0:
                query = ACTIVATION[1](query + key[None, :], leak)
            terms = grad_product[:, :, None] * by_head(query, HEAD_BLOCK)
            value_terms = weight[:, :, None] * by_head(grad_output, HEAD_BLOCK)
            if MAY_SEE_NOTHING:
                # A row that sees nothing passes no gradient, whatever comes in.
                highest = tl.load(HIGHEST_IN + nodes[:, None] * HEADS + heads[None, :], mask=shown, other=0.0)
                alive = (highest != -float("inf"))[:, :, None]
                terms = tl.where(alive, terms, 0.0)
                value_terms = tl.where(alive, value_terms, 0.0)
            of_head += tl.sum(terms, 0)
            grad_value += tl.sum(value_terms, 0)
        if len(ACTIVATION) > 0:
            vector = tl.load(U + member * SIZE + of_query, mask=here, other=0.0)
            of_head *= tl.reshape(vector, [HEAD_BLOCK, SIZE_BLOCK])
        grad_key += of_head

    row = item * keys + node
    store_node(GRAD_K, row, KEY_HEADS * SIZE, grad_key, columns, here, whole)
    store_node(GRAD_V, row, KEY_HEADS * VALUE, grad_value, of_value, value_here, whole)
    if len(segments) > 0:
        part, is_segment = item * segment_count + program, program < segment_count
        store_node(PART_GRAD_K, part, KEY_HEADS * SIZE, grad_key, columns, here, is_segment)
        store_node(PART_GRAD_V, part, KEY_HEADS * VALUE, grad_value, of_value, value_here, is_segment)


@triton.jit(do_not_specialize=["segment_count", "rows"])
def merge(
    PARTS, PART_HIGHEST, PART_SUMS, OUT, WIDE_OUT, HIGHEST_OUT, FOUND_OUT, long_rows, bounds, segment_count, rows,
    MERGES_WEIGHTS: tl.constexpr, SAVES: tl.constexpr, HEADS: tl.constexpr, SIZE: tl.constexpr, COLUMNS: tl.constexpr,
    PARTS_AT_ONCE: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """The row of a node from those of its segments, in order: their sum, or for softmax their mean by the sums of
    exponentials."""
    long_row = tl.program_id(0)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    item = tl.program_id(2).to(tl.int64)
    heads = columns // SIZE
    here = columns < HEADS * SIZE
    node = tl.load(long_rows + long_row)
    first = tl.load(bounds + long_row)
    count = (tl.load(bounds + long_row + 1) - first).to(tl.int32)
    parts = item * segment_count + first
    highest = tl.full([COLUMNS], -float("inf"), WIDE)
    sums = tl.zeros([COLUMNS], WIDE)
    total = tl.zeros([COLUMNS], WIDE)
    if MERGES_WEIGHTS:
        for begin in range(0, count, PARTS_AT_ONCE):
            part = begin + tl.arange(0, PARTS_AT_ONCE)
            there = (part < count)[:, None] & here[None, :]
            place = (parts + part)[:, None] * HEADS + heads[None, :]
            highest = tl.maximum(highest, tl.max(tl.load(PART_HIGHEST + place, mask=there, other=-float("inf")), 0))
    for begin in range(0, count, PARTS_AT_ONCE):
        part = begin + tl.arange(0, PARTS_AT_ONCE)
        there = (part < count)[:, None] & here[None, :]
        numbers = tl.load(PARTS + (parts + part)[:, None] * (HEADS * SIZE) + columns[None, :], mask=there, other=0.0)
        if MERGES_WEIGHTS:
            place = (parts + part)[:, None] * HEADS + heads[None, :]
            base = tl.where(highest == -float("inf"), 0.0, highest)
            own = tl.load(PART_HIGHEST + place, mask=there, other=-float("inf"))
            share = tl.exp2((own - base[None, :]) * LOG2E)
            sums += tl.sum(share * tl.load(PART_SUMS + place, mask=there, other=0.0), 0)
            numbers *= share
        total += tl.sum(numbers, 0)
    row = item * rows + node
    if MERGES_WEIGHTS:
        found = 1.0 / tl.where(sums == 0.0, 1.0, sums)
        highest = highest_of(highest, sums)
        total = tl.where(highest == -float("inf"), 0.0, total * found)
        first_of_head = here & (columns % SIZE == 0)
        tl.store(HIGHEST_OUT + row * HEADS + heads, highest, mask=first_of_head)
        tl.store(FOUND_OUT + row * HEADS + heads, found, mask=first_of_head)
    place = row * (HEADS * SIZE) + columns
    tl.store(OUT + place, total.to(OUT.dtype.element_ty), mask=here)
    if SAVES:
        tl.store(WIDE_OUT + place, total.to(WIDE_OUT.dtype.element_ty), mask=here)
