"""Position schemes as pieces of the kernels: what is added to the scores of a tile."""

import triton
import triton.language as tl

__all__ = ["guided", "pair_bias"]


@triton.jit
def guided(score, rows, columns, offset, batch, head, queries, keys, operands):
    # operands: -1 / (2 width^2), the items' own lengths
    queries_of_item, keys_of_item = tl.load(operands[1] + batch), tl.load(operands[2] + batch)
    row = rows[:, None].to(score.dtype) / tl.maximum(queries_of_item, 1).to(score.dtype)
    column = columns[None, :].to(score.dtype) / tl.maximum(keys_of_item, 1).to(score.dtype)
    strength = tl.load(operands[0]).to(score.dtype)
    return score + (row - column) * (row - column) * strength


@triton.jit
def pair_bias(score, rows, columns, offset, batch, head, queries, keys, operands):
    # operands: the table, and its strides from item to item, head to head, row to row, key to key
    place = batch.to(tl.int64) * operands[1] + head.to(tl.int64) * operands[2]
    pairs = place + rows[:, None].to(tl.int64) * operands[3] + columns[None, :].to(tl.int64) * operands[4]
    there = (rows[:, None] < queries) & (columns[None, :] < keys)
    return score + tl.load(operands[0] + pairs, mask=there, other=0.0).to(score.dtype)
