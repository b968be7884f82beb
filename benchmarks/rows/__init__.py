"""The rows of the table: one file a family, each with what was predicted before it was measured."""

from rows import (
    additive,
    decoding,
    dense,
    flex,
    forward_mode,
    gpu,
    graph,
    own,
    pointwise,
    positions,
    sparse,
    summarise,
    window,
)
from rows.row import Bench, Case, Maker, Outputs, Row, Run, Work

__all__ = ["GPU_ROWS", "ROWS", "Bench", "Case", "Maker", "Outputs", "Row", "Run", "Work"]

ROWS: tuple[Row, ...] = (
    *dense.ROWS,
    *window.ROWS,
    *additive.ROWS,
    *sparse.ROWS,
    *pointwise.ROWS,
    *graph.ROWS,
    *positions.ROWS,
    *summarise.ROWS,
    *decoding.ROWS,
    *own.ROWS,
    *forward_mode.ROWS,
    *flex.ROWS,
)
# What kernels on a GPU shall reach, a table of its own.
GPU_ROWS: tuple[Row, ...] = gpu.ROWS
