"""The keys with the highest scores of each row, for softmax over a given number of them.

What a row keeps are its limits, three numbers: a key is taken if its score lies above the second, or if it lies above
the first and the key's number isn't above the third. They are found by passes over the row's tiles. Each counts the
scores above four numbers, and keeps the quarter that holds the last score to be taken; the search ends where as many
scores as are to be taken lie above one of them. So it depends on how close the scores lie, not on how many bits they
have: a tile of rows of thousands of keys needs about eight passes, with four sums each, where a radix search by three
bits needs eleven, with seven. Only scores that are equal need as many, until the quarter is as narrow as rounding.

The gradient's kernels compute the scores again, by tiles of other sizes, so that a score may come out a little higher
or lower than here. Limits are therefore no scores, but lie halfway between two of them, so that the same keys are taken
again. Where two scores are closer than rounding, no number between them would say the same each time: they count as
equal, and of equal scores the first keys are taken, as the definition has it.
"""

import triton
import triton.language as tl

from regard.attention.engines.triton.arithmetic import scalar
from regard.attention.engines.triton.pairs import scores_of
from regard.attention.engines.triton.tiles import FAR, is_seen, load_rows, shown_pairs

__all__ = ["between", "limits_of", "narrowed", "quarter", "rounding_of", "starts_at"]


@triton.jit
def starts_at(lowest, highest, WIDE: tl.constexpr, TOLERANCE: tl.constexpr):
    """A number below all scores whose weight beside the highest isn't zero."""
    REACH: tl.constexpr = 1024.0 if WIDE == tl.float64 else 128.0
    low = tl.maximum(lowest, highest - REACH)
    return low - rounding_of(low, lowest, highest, TOLERANCE)


@triton.jit
def rounding_of(score, lowest, highest, TOLERANCE: tl.constexpr):
    """How far apart two scores about this one may be that would be equal without rounding.

    A score is rounded as the terms are that it is a sum of. How far the row's scores lie apart says how large those
    are, but for scores that are far below, such as those of keys that a bias of -1e9 hides.
    """
    apart = tl.minimum(highest - lowest, 16.0)
    return 8.0 * TOLERANCE * tl.maximum(tl.maximum(tl.abs(score), tl.abs(highest)), apart) + 1e-37


@triton.jit
def quarter(low, high):
    return 0.25 * (high - low)


@triton.jit
def narrowed(
    low, high, active, count, over0, over1, over2, over3, lowest, highest, TOLERANCE: tl.constexpr
):  # fmt: skip
    """The quarter that holds the last score to be taken, and where the search goes on.

    over0 to over3: how many scores lie above the lower end of each quarter. Both ends are one where that is `count`.
    """
    step = quarter(low, high)
    over = tl.where(over3 >= count, over3, tl.where(over2 >= count, over2, tl.where(over1 >= count, over1, over0)))
    at = tl.where(over3 >= count, 3, tl.where(over2 >= count, 2, tl.where(over1 >= count, 1, 0))).to(low.dtype)
    start = low + at * step
    stop = tl.where(over <= count, start, tl.where(at == 3, high, low + (at + 1) * step))
    low, high = tl.where(active, start, low), tl.where(active, stop, high)
    return low, high, active & (high - low > rounding_of(high, lowest, highest, TOLERANCE))


@triton.jit
def between(lower, upper):
    """Halfway between two numbers; below the upper one, whatever rounding does."""
    middle = 0.5 * lower + 0.5 * upper
    return tl.where((middle < upper) | (upper == float("inf")), middle, lower)


@triton.jit
def shown_scores(query, K, rows, columns, head, call, KIND: tl.constexpr):
    """The scores of a tile, minus infinity where they are hidden."""
    key = load_rows(K, columns, call.keys, call.strides[5], KIND.size, KIND.size_block)
    _, score, _ = scores_of(query, key, rows, columns, head, call, KIND, False)
    return tl.where(shown_pairs(rows, columns, head, call, KIND, False), score, -float("inf"))


@triton.jit
def limits_of(query, K, rows, first, last, head, call, KIND: tl.constexpr):
    """The limits of each row; minus infinity where all keys are taken."""
    ROWS: tl.constexpr = KIND.rows
    count = scalar(call.search[0], head.head, KIND.wide)
    highest = tl.full([ROWS], -float("inf"), KIND.wide)
    lowest = tl.full([ROWS], float("inf"), KIND.wide)
    seen = tl.zeros([ROWS], tl.int32)
    nan = tl.zeros([ROWS], tl.int32)
    for begin in range(first, last, KIND.columns):
        columns = begin + tl.arange(0, KIND.columns)
        if is_seen(rows, columns, head, call, KIND):
            score = shown_scores(query, K, rows, columns, head, call, KIND)
            there = score > -float("inf")
            highest = tl.maximum(highest, tl.max(score, 1))
            lowest = tl.minimum(lowest, tl.min(tl.where(there, score, float("inf")), 1))
            seen += tl.sum(tl.where(there, 1, 0), 1)
            # A maximum passes over NaN.
            nan += tl.sum(tl.where(score != score, 1, 0), 1)
    # NaN and infinity make a row NaN, whichever keys are taken.
    searched = (seen > count) & (nan == 0) & (highest < float("inf"))
    highest = tl.where(searched, highest, 0.0)
    lowest = tl.where(searched, lowest, 0.0)
    low, high = starts_at(lowest, highest, KIND.wide, KIND.tolerance), highest
    active = searched
    passes = 0
    while (tl.max(tl.where(active, 1, 0), 0) > 0) & (passes < 32):
        over0 = tl.zeros([ROWS], tl.int32)
        over1, over2, over3 = over0, over0, over0
        step = quarter(low, high)
        for begin in range(first, last, KIND.columns):
            columns = begin + tl.arange(0, KIND.columns)
            if is_seen(rows, columns, head, call, KIND):
                score = shown_scores(query, K, rows, columns, head, call, KIND)
                over0 += tl.sum(tl.where(score > low[:, None], 1, 0), 1)
                over1 += tl.sum(tl.where(score > (low + step)[:, None], 1, 0), 1)
                over2 += tl.sum(tl.where(score > (low + 2.0 * step)[:, None], 1, 0), 1)
                over3 += tl.sum(tl.where(score > (low + 3.0 * step)[:, None], 1, 0), 1)
        low, high, active = narrowed(
            low, high, active, count, over0, over1, over2, over3, lowest, highest, KIND.tolerance
        )
        passes += 1

    # The scores about the two ends: those that count as equal, and the next ones above and below.
    beside = rounding_of(high, lowest, highest, KIND.tolerance)
    least, most = low - beside, high + beside
    above = tl.full([ROWS], float("inf"), KIND.wide)
    top = tl.full([ROWS], -float("inf"), KIND.wide)
    bottom, below = above, top
    over = tl.zeros([ROWS], tl.int32)
    equal = over
    some = tl.max(tl.where(searched, 1, 0), 0) > 0
    for begin in range(first, tl.where(some, last, first), KIND.columns):
        columns = begin + tl.arange(0, KIND.columns)
        if is_seen(rows, columns, head, call, KIND):
            score = shown_scores(query, K, rows, columns, head, call, KIND)
            is_over, is_under = score > most[:, None], score <= least[:, None]
            above = tl.minimum(above, tl.min(tl.where(is_over, score, float("inf")), 1))
            top = tl.maximum(top, tl.max(tl.where(is_over, -float("inf"), score), 1))
            bottom = tl.minimum(bottom, tl.min(tl.where(is_under, float("inf"), score), 1))
            below = tl.maximum(below, tl.max(tl.where(is_under, score, -float("inf")), 1))
            over += tl.sum(tl.where(is_over, 1, 0), 1)
            equal += tl.sum(tl.where(is_over | is_under, 0, 1), 1)
    least, most = between(below, bottom), between(top, above)
    room = count - over.to(KIND.wide)
    place = tl.where(room < equal.to(KIND.wide), -1, FAR)
    divided = searched & (room > 0.0) & (place < 0)
    if tl.max(tl.where(divided, 1, 0), 0) > 0:
        taken = tl.zeros([ROWS], tl.int32)
        for begin in range(first, last, KIND.columns):
            columns = begin + tl.arange(0, KIND.columns)
            if is_seen(rows, columns, head, call, KIND):
                score = shown_scores(query, K, rows, columns, head, call, KIND)
                is_equal = tl.where((score > least[:, None]) & (score <= most[:, None]), 1, 0)
                number = taken[:, None] + tl.cumsum(is_equal, 1)
                is_last = (is_equal > 0) & (number == room[:, None]) & divided[:, None]
                place = tl.maximum(place, tl.max(tl.where(is_last, columns[None, :], -1), 1))
                taken += tl.sum(is_equal, 1)
    least = tl.where(searched, least, -float("inf"))
    most = tl.where(searched, most, -float("inf"))
    return least, most, place.to(KIND.wide)
