"""What a page draws of an input that is no text: a picture, a sound, a graph, a molecule or a table, as plain numbers.

Each kind is made when the record is made, so that drawing needs neither the model nor its libraries.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = [
    "DRAWN_INPUTS",
    "DrawnGraph",
    "DrawnInput",
    "DrawnMolecule",
    "DrawnPicture",
    "DrawnSound",
    "DrawnTable",
]

# The longer side of a picture, in pixels.
_LONGEST = 768


class DrawnInput:
    """The base of the kinds of inputs that are drawn. `kind` is the name of each."""

    kind: ClassVar[str]

    def check(self, items: int) -> None:
        """Whether this is an input of so many items.

        Raises:
            ArgumentError: it isn't.
        """
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The bytes of its arrays."""
        return sum(each.nbytes for each in vars(self).values() if isinstance(each, np.ndarray))


@dataclass(frozen=True, eq=False)
class DrawnPicture(DrawnInput):
    """A picture in patches.

    Args:
        pixels: (height, width, channel) uint8, one channel for grey or three for RGB, as the model was given them.
        grid: the number of rows and columns of the patches, which divide the height and the width.
        first: the number of the item that is the first patch, from 0. The patches follow row by row; items before and
            after them, such as a class token, have no place in the picture.

    Raises:
        ArgumentError: a wrong type or shape.

    Example:
        >>> DrawnPicture(np.zeros((4, 6, 1), np.uint8), grid=(2, 3)).size
        24
    """

    kind: ClassVar[str] = "picture"

    pixels: np.ndarray
    grid: tuple[int, int]
    first: int = 0

    def __post_init__(self) -> None:
        _check_array("pixels", self.pixels, np.uint8, "height width channel")
        if self.pixels.shape[2] not in (1, 3) or 0 in self.pixels.shape:
            raise ArgumentError(f"`pixels` must have one channel or three, but is {self.pixels.shape}.")
        if not (isinstance(self.grid, tuple) and len(self.grid) == 2 and all(_is_count(each, 1) for each in self.grid)):
            raise ArgumentError(f"`grid` must be the numbers of rows and columns, but is {self.grid!r:.60}.")
        if self.pixels.shape[0] % self.grid[0] or self.pixels.shape[1] % self.grid[1]:
            raise ArgumentError(
                f"`grid` must divide the height and the width of `pixels`, {self.pixels.shape[:2]}, but is {self.grid}."
            )
        if not _is_count(self.first):
            raise ArgumentError(f"`first` must be the number of an item, but is {self.first!r:.60}.")

    @classmethod
    def of_levels(cls, levels: Tensor, grid: tuple[int, int], first: int = 0) -> "DrawnPicture":
        """A picture of numbers from 0 to 1, scaled down if its longer side has more than 768 pixels.

        Args:
            levels: (height, width, channel).
            grid, first: as above.

        Example:
            >>> DrawnPicture.of_levels(torch.tensor([[[0.0], [1.0]]]), (1, 2)).pixels.tolist()
            [[[0], [255]]]
        """
        # (h w c) -> (c h w) and back
        channels = levels.detach().to("cpu", torch.float32).permute(2, 0, 1)
        sides = [size // parts for size, parts in zip(levels.shape[:2], grid, strict=True)]
        fit = [min(side, max(1, _LONGEST // max(grid))) for side in sides]
        if fit != sides:
            size = grid[0] * fit[0], grid[1] * fit[1]
            channels = torch.nn.functional.adaptive_avg_pool2d(channels, size)
        pixels = (255 * channels.permute(1, 2, 0).clamp(0, 1)).round().to(torch.uint8).numpy()
        return cls(np.ascontiguousarray(pixels), grid, first)

    def check(self, items: int) -> None:
        if self.first + math.prod(self.grid) > items:
            raise ArgumentError(
                f"`grid` must have patches that are items, of which there are {items}, but is {self.grid} from item "
                f"{self.first}."
            )


@dataclass(frozen=True, eq=False)
class DrawnSound(DrawnInput):
    """A sound whose items are equal parts of its time.

    Args:
        samples: (sample,) int16, one channel as the model was given it; full scale is 32768.
        rate: the sampling rate in Hz.
        step: the seconds between the beginnings of two items. The first one begins at 0.
        spectrogram: (frame, band) uint8 of the whole sound, from 0 for quiet to 255 for loud, the lowest band first;
            without frames there is none to draw.

    Raises:
        ArgumentError: a wrong type, shape or value.

    Example:
        >>> DrawnSound(np.zeros(800, np.int16), rate=8000, step=0.01).seconds
        0.1
    """

    kind: ClassVar[str] = "sound"

    samples: np.ndarray
    rate: int
    step: float
    spectrogram: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.uint8))

    def __post_init__(self) -> None:
        _check_array("samples", self.samples, np.int16, "sample")
        _check_array("spectrogram", self.spectrogram, np.uint8, "frame band")
        if not _is_count(self.rate, 1) or self.rate > 10**7:
            raise ArgumentError(f"`rate` must be a number of samples a second, but is {self.rate!r:.60}.")
        if not (isinstance(self.step, float) and math.isfinite(self.step) and self.step > 0):
            raise ArgumentError(f"`step` must be a number of seconds above 0, but is {self.step!r:.60}.")

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return len(self.samples) / self.rate

    def check(self, items: int) -> None:
        # The last item may be padded, but none may begin after the end, or time would run past the sound.
        if not items or (items - 1) * self.step > self.seconds + 1e-9:
            raise ArgumentError(
                f"`step` must be so short that all {items} items begin within {self.seconds:g} s, but is {self.step:g}."
            )


@dataclass(frozen=True, eq=False)
class DrawnGraph(DrawnInput):
    """A graph whose items are nodes.

    Args:
        edges: (2, edge) int32, as in `regard.inputs.Graph`: from the node that is attended to, to the one that attends.
        positions: (node, 2) float32, how far right and how far down each node is drawn, from 0 to 1. Without rows the
            graph is drawn as a map of its edges, as large graphs are.

    Raises:
        ArgumentError: a wrong type, shape or value.

    Example:
        >>> DrawnGraph(np.array([[0, 1], [1, 2]], np.int32), np.zeros((3, 2), np.float32)).size
        40
    """

    kind: ClassVar[str] = "graph"

    edges: np.ndarray
    positions: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.float32))

    def __post_init__(self) -> None:
        _check_array("edges", self.edges, np.int32, "2 edge")
        _check_array("positions", self.positions, np.float32, "node 2")

    def check(self, items: int) -> None:
        _check_nodes("edges", self.edges, items)
        if len(self.positions) not in (0, items):
            raise ArgumentError(
                f"`positions` must be {items}, one for each item, or none, but are {len(self.positions)}."
            )


@dataclass(frozen=True, eq=False)
class DrawnMolecule(DrawnInput):
    """A molecule whose items are atoms.

    Args:
        positions: (atom, 2) float32, how far right and how far down each atom is drawn, in any unit.
        bonds: (bond, 3) int32: two atoms, and how many lines join them, from 1 to 3; 0: another bond.
        symbols: what stands at each atom, such as "OH"; "" for a carbon that needs no letter.

    Raises:
        ArgumentError: a wrong type, shape or value.

    Example:
        >>> positions = np.array([[0, 0], [1, 0]], np.float32)
        >>> DrawnMolecule(positions, np.array([[0, 1, 1]], np.int32), ("", "OH")).symbols
        ('', 'OH')
    """

    kind: ClassVar[str] = "molecule"

    positions: np.ndarray
    bonds: np.ndarray
    symbols: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_array("positions", self.positions, np.float32, "atom 2")
        _check_array("bonds", self.bonds, np.int32, "bond 3")
        _check_texts("symbols", self.symbols)
        if ((self.bonds[:, 2] < 0) | (self.bonds[:, 2] > 3)).any():
            raise ArgumentError("`bonds` must have 0 to 3 lines each, but one has another number.")

    def check(self, items: int) -> None:
        _check_nodes("bonds", self.bonds[:, :2], items)
        for name in ("positions", "symbols"):
            if len(getattr(self, name)) != items:
                raise ArgumentError(f"`{name}` must be {items}, one for each item, but are {len(getattr(self, name))}.")


@dataclass(frozen=True, eq=False)
class DrawnTable(DrawnInput):
    """Vectors as the rows of a table.

    Args:
        values: (item, column) float32.
        columns: the name of each column; by default they have numbers.

    Raises:
        ArgumentError: a wrong type or shape.

    Example:
        >>> DrawnTable(np.zeros((5, 2), np.float32), ("height", "weight")).size
        40
    """

    kind: ClassVar[str] = "table"

    values: np.ndarray
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_array("values", self.values, np.float32, "item column", finite=False)
        _check_texts("columns", self.columns)
        if len(self.columns) not in (0, self.values.shape[1]):
            raise ArgumentError(
                f"`columns` must be {self.values.shape[1]} names, one for each column of `values`, or none, but are "
                f"{len(self.columns)}."
            )

    def check(self, items: int) -> None:
        if len(self.values) != items:
            raise ArgumentError(f"`values` must have {items} rows, one for each item, but has {len(self.values)}.")


DRAWN_INPUTS: dict[str, type[Any]] = {
    each.kind: each for each in (DrawnPicture, DrawnSound, DrawnGraph, DrawnMolecule, DrawnTable)
}
"""The kinds of inputs that are drawn, by name."""


def _is_count(value: Any, least: int = 0) -> bool:
    # `type` and not isinstance: True is an int.
    return type(value) is int and value >= least


def _check_array(name: str, value: Any, dtype: Any, shape: str, *, finite: bool = True) -> None:
    """Check an array whose shape is named by words, and by digits for axes of one size."""
    axes = shape.split()
    if (
        not isinstance(value, np.ndarray)
        or value.dtype != dtype
        or value.ndim != len(axes)
        or any(axis.isdigit() and size != int(axis) for axis, size in zip(axes, value.shape, strict=True))
    ):
        found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else f"{value!r:.60}"
        raise ArgumentError(f"`{name}` must be an array ({', '.join(axes)}) of {np.dtype(dtype)}, but is {found}.")
    if finite and value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ArgumentError(f"`{name}` must be finite, but holds a number that isn't.")


def _check_texts(name: str, value: Any) -> None:
    if not isinstance(value, tuple) or not all(isinstance(each, str) for each in value):
        raise ArgumentError(f"`{name}` must be texts, but is {value!r:.60}.")


def _check_nodes(name: str, numbers: np.ndarray, items: int) -> None:
    wrong = numbers[(numbers < 0) | (numbers >= items)]
    if wrong.size:
        raise ArgumentError(f"`{name}` must hold numbers of items below {items}, but holds {wrong[0]}.")
