"""The blocks of a page: plain values that are independent of terminals and HTML.

A view (room `inspection`) turns a record into a `Page`; a renderer of this room turns the page into text, into
sentences for a screen reader, or into one offline HTML file. The text of a block is raw: each renderer escapes it.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

from regard.errors import ArgumentError
from regard.page.charts.chart import Chart, Point, Series
from regard.page.messages import say
from regard.page.numbers import percent
from regard.page.pictures.picture import Box, Picture, Pictures
from regard.page.scale import full_bar

__all__ = [
    "Bar",
    "Bars",
    "Block",
    "Box",
    "Chart",
    "Code",
    "ComparedItem",
    "Comparison",
    "Heading",
    "HeatMap",
    "Item",
    "Items",
    "Page",
    "Picture",
    "Pictures",
    "Point",
    "Prose",
    "Ranking",
    "Series",
    "Table",
]

Alignment = Literal["left", "right"]


@dataclass(frozen=True)
class Heading:
    """A heading inside a page; level 1 is the page's own title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines of a program, as they are: never wrapped, so that they can be copied."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of text under named columns.

    Args:
        columns: the name of each column.
        rows: one tuple of texts for each row, as many texts as there are columns.
        alignment: "left" or "right" for each column; left by default.

    Raises:
        ArgumentError: a row, or the alignment, has another length than `columns`.

    Example:
        >>> Table(("word", "times"), (("saw", "2"), ("a", "1")), ("left", "right")).aligned(1)
        'right'
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alignment: tuple[Alignment, ...] = ()

    def __post_init__(self) -> None:
        if self.alignment and len(self.alignment) != len(self.columns):
            raise ArgumentError(f"`alignment` must have {len(self.columns)} entries, but has {len(self.alignment)}.")
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise ArgumentError(
                    f"`rows` must have {len(self.columns)} texts in each row, but row {number} has {len(row)}."
                )

    def aligned(self, column: int) -> Alignment:
        """The alignment of a column, given by its index from 0."""
        return self.alignment[column] if self.alignment else "left"


@dataclass(frozen=True)
class Item:
    """A word, patch, frame or node; its label; and a short note, such as the probability of the label.

    A page marks the item that it is about.
    """

    text: str
    label: str = ""
    note: str = ""
    marked: bool = False


@dataclass(frozen=True)
class Items:
    """A sequence of items, each with its label beneath, wrapped to the available width."""

    items: tuple[Item, ...]
    noun: str = "word"


@dataclass(frozen=True)
class Bar:
    """One entry of a ranking: its label, its value, and the cumulative sum of the values up to it."""

    label: str
    value: float
    total: float


@dataclass(frozen=True)
class Ranking:
    """A ranked list: the largest values of one item, and the sum of the others.

    Args:
        label: the item that the list belongs to.
        bars: the entries, the largest first.
        rest: the sum of the values that aren't listed.
        others: the number of values that aren't listed.
        note: a few words about the item, such as its label.
    """

    label: str
    bars: tuple[Bar, ...]
    rest: float = 0.0
    others: int = 0
    note: str = ""

    @property
    def total(self) -> float:
        """The sum of everything, listed or not."""
        return (self.bars[-1].total if self.bars else 0.0) + self.rest


@dataclass(frozen=True)
class Bars:
    """Rankings one below the other, drawn to one scale.

    Args:
        title: what is ranked; for weights it names the layer and the head.
        rankings: one ranked list for each item.
        noun: the name of an item, such as "word".
        verb: the verb between an item and its entries.

    Example:
        >>> ranking = Ranking("I", (Bar("saw", 0.5, 0.5), Bar("a", 0.25, 0.75)), rest=0.25, others=2)
        >>> ranking.total, Bars("Layer 1 of 1, head 1 of 1", (ranking,)).high
        (1.0, 1.0)
    """

    title: str
    rankings: tuple[Ranking, ...]
    noun: str = "word"
    verb: str = "attends to"

    @property
    def high(self) -> float:
        """The value of a full bar: 1, or the largest value if it exceeds 1."""
        values = [bar.value for ranking in self.rankings for bar in ranking.bars if bar.value < float("inf")]
        return max(1.0, *values) if values else 1.0


@dataclass(frozen=True)
class ComparedItem:
    """An item with two values: how much it was attended to, and how much it mattered.

    Args:
        label: the item.
        first, second: the values; the second is None if it wasn't measured.
        written: `second` as text, which may have a sign or a unit.
        note: a few words about it.
        first_written: `first` as text, where it is no percentage of at least 0.
    """

    label: str
    first: float
    second: float | None = None
    written: str = ""
    note: str = ""
    first_written: str = ""


@dataclass(frozen=True)
class Comparison:
    """Two values of each item side by side, each drawn to a scale of its own.

    The full bar reaches from the smallest value below 0 to the largest; of weights it is at least twice what equal
    weights would be, and of second values at least `least`.

    Args:
        title: what is compared; for weights it names the layer and the head.
        rows: the items.
        noun: the name of an item.
        others: a sentence about the items that aren't listed; "" if all are.
        first, second, third: the names of the two values and of the notes; "" for no notes.
        equal: what each item would have of equal weights, if the first values are weights that sum to 1; else 0.
        among: over how many items the equal weights are spread, if a mask hides others; 0: over all.
        least: the smallest full bar of second values, so that changes too small to be seen in percent have short bars.

    Example:
        >>> rows = ComparedItem("a", 0.5, -0.75, "80% -> 5%", "VERB 55%"), ComparedItem("saw", 0.25, 0.25, "70% -> 95%")
        >>> comparison = Comparison("Layer 1 of 1, head 1 of 1", rows)
        >>> comparison.highs, comparison.zeros
        ((0.5, 1.0), (0.0, 0.75))
    """

    title: str
    rows: tuple[ComparedItem, ...]
    noun: str = "word"
    others: str = ""
    first: str = say("attended")
    second: str = say("mattered")
    third: str = ""
    equal: float = 0.0
    least: float = 0.0
    among: int = 0

    @property
    def highs(self) -> tuple[float, float]:
        """The values of the full bars."""
        first, second = (high - low for low, high in self._ends)
        return full_bar(first, 1 / self.equal) if self.equal else first, max(self.least, second)

    @property
    def zeros(self) -> tuple[float, float]:
        """Where the bars of either value begin, as a share of the full bar: those below 0 go to the left."""
        first, second = (abs(low) / (high - low) if high > low else 0.0 for low, high in self._ends)
        return first, second

    @property
    def _ends(self) -> list[tuple[float, float]]:
        values = [row.first for row in self.rows], [row.second for row in self.rows if row.second is not None]
        known = ([0.0, *filter(math.isfinite, each)] for each in values)
        return [(min(each), max(each)) for each in known]

    @property
    def rest(self) -> str:
        """About the items that aren't listed, and what equal weights would be; "" if there is nothing to say."""
        message = "equalWeightsEachAllowed" if self.among else "equalWeightsEach"
        equal = say(message, share=percent(self.equal), count=self.among) if self.equal else ""
        return " ".join(filter(None, (self.others, equal)))

    @property
    def measured(self) -> bool:
        """Whether there is a second value."""
        return any(row.second is not None for row in self.rows)


@dataclass(frozen=True)
class HeatMap:
    """A matrix of values of at least 0; None is masked, and NaN is shown as NaN.

    Args:
        title: what is shown; for weights it names the layer and the head.
        rows: the label of each row.
        columns: the label of each column.
        values: a tuple for each row; None if a mask hides the cell.
        high: the value at the top of the colour scale, which the legend shows.
        equal: what each item would have of equal weights, which the legend shows too; 0 if the values are none that sum
            to 1.
        verb: the verb between a row and its columns; "" if rows and columns are those of a picture.
        note: what the legend says besides, such as what equal weights would be where that depends on the row.

    Raises:
        ArgumentError: `values` doesn't have the shape of `rows` by `columns`, or `high` isn't a number above 0.

    Example:
        >>> HeatMap("causal", ("I", "saw"), ("I", "saw"), ((1.0, None), (0.25, 0.75))).values[1]
        (0.25, 0.75)
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...] = field(repr=False)
    high: float = 1.0
    verb: str = "attends to"
    equal: float = 0.0
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.values) != len(self.rows):
            raise ArgumentError(f"`values` must have {len(self.rows)} rows as `rows` has, but has {len(self.values)}.")
        for number, row in enumerate(self.values, start=1):
            if len(row) != len(self.columns):
                raise ArgumentError(
                    f"`values` must have {len(self.columns)} columns as `columns` has, but row {number} has {len(row)}."
                )
        if not 0.0 < self.high < float("inf"):
            raise ArgumentError(f"`high` must be a finite number above 0, but is {self.high}.")


Block = Heading | Prose | Code | Table | Items | Bars | Comparison | HeatMap | Chart | Pictures


@dataclass(frozen=True)
class Page:
    """A title and blocks in reading order.

    Example:
        >>> Page("Two words", (Items((Item("hello", "INTJ"), Item("world", "NOUN"))),)).blocks[0].items[1].label
        'NOUN'
    """

    title: str
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, title: str, *pages: "Page") -> "Page":
        """Join the blocks of several pages to one page."""
        return cls(title, tuple(block for page in pages for block in page.blocks))
