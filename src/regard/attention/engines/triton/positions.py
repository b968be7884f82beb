"""Position schemes as pieces of the kernels: what is added to the scores of a tile."""

import triton
import triton.language as tl

__all__ = ["guided"]


@triton.jit
def guided(score, rows, columns, offset, batch, head, queries, keys, operands):
    # operands: -1 / (2 width^2), the items' own lengths
    queries_of_item, keys_of_item = tl.load(operands[1] + batch), tl.load(operands[2] + batch)
    row = rows[:, None].to(score.dtype) / tl.maximum(queries_of_item, 1).to(score.dtype)
    column = columns[None, :].to(score.dtype) / tl.maximum(keys_of_item, 1).to(score.dtype)
    strength = tl.load(operands[0]).to(score.dtype)
    return score + (row - column) * (row - column) * strength
