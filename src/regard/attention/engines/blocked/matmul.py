"""The matrix products of a tile, by the fastest exact routine available. N and T say which factor is transposed.

PyTorch multiplies float32 matrices on a CPU by the library it was built with, MKL, which on CPUs other than Intel's
reaches half the speed of oneDNN. oneDNN is part of the same build, behind PyTorch's fused linear layer, which computes
x w^T for any view x and a w that is contiguous or transposed; so each product is put in that form. On Intel CPUs MKL is
as fast, multiplies several groups at once, and doesn't keep compiled code for each shape.
"""

import platform
from pathlib import Path

import torch
from torch import Tensor

from regard.attention.pytorch_internals import onednn_linear

__all__ = ["InnerProduct", "matmul_nn", "matmul_nt", "matmul_tn"]

SMALL = 2**20  # multiplications per group below which the overhead exceeds what is saved


class InnerProduct:
    """The score `Dot` on tiles."""

    def __init__(self, scale: float):
        self.scale = scale

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return matmul_nt(query if self.scale == 1.0 else query * self.scale, key)

    def vjp(self, grad_scores: Tensor, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of query and key."""
        # The smaller matrix is scaled, before or after the product.
        return matmul_nn(grad_scores, key).mul_(self.scale), matmul_tn(grad_scores, query * self.scale)


def matmul_nt(query: Tensor, key: Tensor) -> Tensor:
    """Q K^T: (group, row, size), (group, column, size) -> (group, row, column)."""
    if not _linear_pays(query, key.shape[1]):
        return torch.bmm(query, key.mT)
    return _stacked([_linear(rows, columns) for rows, columns in zip(query, key, strict=True)])


def matmul_nn(weights: Tensor, value: Tensor) -> Tensor:
    """W V: (group, row, column), (group, column, size) -> (group, row, size)."""
    if not _linear_pays(weights, value.shape[2]):
        return torch.bmm(weights, value)
    return _stacked([_linear(rows, columns.T) for rows, columns in zip(weights, value, strict=True)])


def matmul_tn(matrix: Tensor, query: Tensor) -> Tensor:
    """M^T Q: (group, row, column), (group, row, size) -> (group, column, size)."""
    if not _linear_pays(matrix, query.shape[2]):
        return torch.bmm(matrix.mT, query)
    # The small matrix is the one that is transposed in memory.
    return _stacked([_linear(q.T.contiguous(), m.T) for q, m in zip(query, matrix, strict=True)]).mT


def _stacked(products: list[Tensor]) -> Tensor:
    return products[0].unsqueeze(0) if len(products) == 1 else torch.stack(products)


def _linear(rows: Tensor, columns: Tensor) -> Tensor:
    # Heads that are interleaved, as linear layers leave them, have gaps between their rows. oneDNN handles gaps in
    # `rows`, but multiplies `columns` with gaps a thousand times more slowly, so they are copied in their memory order.
    if not (columns.is_contiguous() or columns.T.is_contiguous()):
        columns = columns.T.contiguous().T if columns.stride(0) == 1 else columns.contiguous()
    return onednn_linear(rows, columns, None, "none", [], "")


def _linear_pays(left: Tensor, size: int) -> bool:
    if left.dtype != torch.float32 or left.device.type != "cpu" or not _LINEAR_IS_FASTER:
        return False
    return left.shape[1] * left.shape[2] * size >= SMALL


def _is_intel() -> bool:
    try:
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return "GenuineIntel" in platform.processor()


_LINEAR_IS_FASTER = onednn_linear is not None and not _is_intel()
