"""A page as complete sentences, for a screen reader: nothing is drawn, and nothing depends on alignment."""

import re
import unicodedata
from collections.abc import Iterator

from regard.page.blocks import (
    Bars,
    Block,
    Chart,
    Code,
    ComparedItem,
    Comparison,
    Heading,
    HeatMap,
    Item,
    Items,
    Page,
    Pictures,
    Point,
    Prose,
    Ranking,
    Series,
    Table,
)
from regard.page.charts.axes import written
from regard.page.charts.chart_numbers import interval_text
from regard.page.numbers import counted, percent
from regard.page.pictures.picture_numbers import picture_text
from regard.page.visible import visible

__all__ = ["sentences"]


def sentences(page: Page) -> Iterator[str]:
    """Read a page as sentences, one or a few in each line.

    Example:
        >>> from regard.page import Item, Items
        >>> list(sentences(Page("Tags", (Items((Item("saw", "VERB", "98%"),)),))))
        ['Tags.', '1 word.', 'Word 1, saw: VERB, 98 percent.']
    """
    if page.title:
        yield _ended(page.title)
    for block in page.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Heading() | Prose():
            yield _ended(block.text)
        case Code():
            yield from (visible(line) for line in block.text.splitlines() if line.strip())
        case Table():
            for row in block.rows:
                cells = [
                    f"{name}: {cell}" if name else cell for name, cell in zip(block.columns, row, strict=True) if cell
                ]
                yield _ended("; ".join(cells))
        case Items():
            yield f"{counted(len(block.items), block.noun)}."
            for position, item in enumerate(block.items, start=1):
                yield _item(item, position, block.noun)
        case Bars():
            yield _ended(block.title)
            for ranking in block.rankings:
                yield _ranking(ranking, block.verb)
        case Comparison():
            yield _ended(block.title)
            for row in block.rows:
                yield _compared(row, block)
            if block.rest:
                yield _number_words(block.rest)
        case HeatMap():
            yield _ended(block.title)
            for label, row in zip(block.rows, block.values, strict=True):
                names = [_named(name) if block.verb else f"column {name}" for name in block.columns]
                cells = ", ".join(f"{name} {_spoken(value)}" for name, value in zip(names, row, strict=True))
                yield _ended(f"{_named(label)} {block.verb} {cells}" if block.verb else f"Row {label}: {cells}")

        case Chart():
            yield _ended(block.title)
            yield _axes(block)
            for series in block.series:
                yield _series(series, block)
        case Pictures():
            if block.title:
                yield _ended(block.title)
            for number, picture in enumerate(block.pictures, start=1):
                name = f"Picture {number}, {picture.caption}" if picture.caption else f"Picture {number}"
                yield _ended(_number_words(f"{name}: {picture_text(picture)}"))


def _item(item: Item, position: int, noun: str) -> str:
    details = ", ".join(part.replace("%", " percent") for part in (item.label, item.note) if part)
    mark = ", which this is about" if item.marked else ""
    return _ended(f"{noun.capitalize()} {position}, {_named(item.text)}{mark}" + (f": {details}" if details else ""))


def _ranking(ranking: Ranking, verb: str) -> str:
    if not ranking.bars and not ranking.others:
        return _ended(f"{_named(ranking.label)} {verb} nothing")
    entries = ", ".join(f"{_named(bar.label)} {_spoken(bar.value)}" for bar in ranking.bars)
    if len(ranking.bars) > 1:
        entries += f", together {_spoken(ranking.bars[-1].total)}"
    if ranking.others:
        others = "the 1 other has" if ranking.others == 1 else f"the {ranking.others} others share"
        entries += f"; {others} {_spoken(ranking.rest)}" if entries else f"{others} {_spoken(ranking.rest)}"
    return _ended(f"{_named(ranking.label)} {verb} {entries}")


def _compared(row: ComparedItem, block: Comparison) -> str:
    first = _signed(row.first_written) if row.first_written else _spoken(row.first)
    parts = [f"{block.first} {first}"]
    if row.second is not None:
        parts.append(f"{block.second} {_signed(row.written)}")
    if row.note and block.third:
        parts.append(f"{block.third} {row.note.replace('%', ' percent')}")
    return _ended(f"{_named(row.label)}: {', '.join(parts)}")


def _axes(block: Chart) -> str:
    sizes = f", with {block.size} as size" if block.size else ""
    return _ended(f"{block.y} against {block.x}{sizes}")


def _series(series: Series, block: Chart) -> str:
    points = "; ".join(_point(point, block) for point in series.points)
    return _ended(f"{_named(series.name)}: {points}")


def _point(point: Point, block: Chart) -> str:
    text = f"at {written(point.x)}, {written(point.y, block.share)}"
    if point.interval is not None:
        text += f", interval {interval_text(block, point)}"
    if point.size is not None:
        text += f", size {written(point.size)}"
    return _number_words(text)


def _number_words(text: str) -> str:
    """Write a minus, < or > before a number, and % after one, as words."""
    text = re.sub(r"(?<!\S)-(?=[<\d])", "minus ", text)
    text = re.sub(r"(?<!\S)<(?=\d)", "less than ", text)
    text = re.sub(r"(?<!\S)>(?=\d)", "more than ", text)
    return re.sub(r"(?<=\d)%", " percent", text)


def _signed(text: str) -> str:
    return _number_words(text.replace(" -> ", " to "))


def _named(text: str) -> str:
    """Add the names of its characters to bare punctuation, because a screen reader skips a full stop."""
    if len(text) > 3 or any(character.isalnum() for character in text):
        return text
    names = [unicodedata.name(character, "").lower() for character in text]
    return f"{text} ({', '.join(name for name in names if name)})" if any(names) else text


def _spoken(value: float | None) -> str:
    text = percent(value)
    if text == "NaN":
        return "not a number"
    return text.replace("<", "less than ").replace(">", "more than ").replace("%", " percent")


def _ended(text: str) -> str:
    text = visible(text)
    return text if text.endswith((".", "!", "?", ":", "。")) else text + "."
