"""Position schemes as pieces of the kernels: what is added to the scores of a tile.

A piece gets the scores, the numbers of queries and keys, and their distances, all of which broadcast against the tile;
the head, the operands of the launch, and its own.
"""

import triton
import triton.language as tl

__all__ = ["guided", "pair_bias"]


@triton.jit
def guided(score, row, column, offset, head, call, operands):
    # operands: -1 / (2 width^2), the items' own lengths
    queries, keys = tl.load(operands[1] + head.batch), tl.load(operands[2] + head.batch)
    of_row = row.to(score.dtype) / tl.maximum(queries, 1).to(score.dtype)
    of_column = column.to(score.dtype) / tl.maximum(keys, 1).to(score.dtype)
    beside = of_row - of_column
    return score + beside * beside * tl.load(operands[0]).to(score.dtype)


@triton.jit
def pair_bias(score, row, column, offset, head, call, operands):
    # operands: the table, and its strides from item to item, head to head, row to row, key to key
    place = head.batch.to(tl.int64) * operands[1] + head.head.to(tl.int64) * operands[2]
    pairs = place + row.to(tl.int64) * operands[3] + column.to(tl.int64) * operands[4]
    there = (row < call.queries) & (column < call.keys)
    return score + tl.load(operands[0] + pairs, mask=there, other=0.0).to(score.dtype)
