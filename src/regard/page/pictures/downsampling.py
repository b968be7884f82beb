"""Downsampling of heat maps that preserves the sums of rows, or for pictures the total sum."""

import math
from collections.abc import Sequence
from dataclasses import replace

from regard.page.blocks import HeatMap

__all__ = ["downsample", "downsampling_note"]


def downsample(heat_map: HeatMap, factor: int) -> HeatMap:
    """Join `factor` by `factor` cells into one: columns are summed and rows averaged; for pictures both are summed.

    Thus each row keeps its sum, and a picture keeps its total sum. A cell is masked if all its parts are masked, and
    NaN if one part is NaN. The top of the scale is raised if a joined cell exceeds it.

    Example:
        >>> small = downsample(HeatMap("", ("a", "b"), ("a", "b"), ((0.25, 0.75), (0.5, 0.0))), 2)
        >>> small.values, small.rows
        (((0.75,),), ('a … b',))
    """
    if factor == 1:
        return heat_map
    values = tuple(
        tuple(
            _cell([row[left : left + factor] for row in heat_map.values[top : top + factor]], bool(heat_map.verb))
            for left in range(0, len(heat_map.columns), factor)
        )
        for top in range(0, len(heat_map.rows), factor)
    )
    largest = max((value for row in values for value in row if value is not None and value < math.inf), default=0.0)
    return replace(
        heat_map,
        rows=_spans(heat_map.rows, factor),
        columns=_spans(heat_map.columns, factor),
        values=values,
        high=max(heat_map.high, largest),
    )


def downsampling_note(heat_map: HeatMap, factor: int) -> str:
    """The sentence that tells the reader how the map was downsampled.

    Example:
        >>> downsampling_note(HeatMap("", ("1",), ("1",), ((0.5,),), verb=""), 2)
        '2 by 2 cells are joined into one and summed.'
    """
    joined = f"{factor} by {factor} cells are joined into one"
    if not heat_map.verb:
        return f"{joined} and summed."
    return f"{joined}: columns are summed and rows averaged, and a row still sums to what it summed."


def _cell(parts: Sequence[Sequence[float | None]], averaged: bool) -> float | None:
    shown = [value for part in parts for value in part if value is not None]
    return sum(shown) / (len(parts) if averaged else 1) if shown else None


def _spans(labels: tuple[str, ...], factor: int) -> tuple[str, ...]:
    groups = [labels[start : start + factor] for start in range(0, len(labels), factor)]
    return tuple(group[0] if len(group) == 1 else f"{group[0]} … {group[-1]}" for group in groups)
