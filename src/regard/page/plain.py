"""A page as whole sentences, for a screen reader: nothing drawn, nothing left to alignment, nothing left out."""

import unicodedata
from collections.abc import Iterator

from regard.page.blocks import Bars, Block, Heading, HeatMap, Item, Items, Page, Prose, Ranking, Table
from regard.page.numbers import counted, percent
from regard.page.visible import visible

__all__ = ["sentences"]


def sentences(page: Page) -> Iterator[str]:
    """Read a page out, a line a sentence or a few.

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
        case HeatMap():
            yield _ended(block.title)
            for label, row in zip(block.rows, block.values, strict=True):
                names = [_named(name) if block.verb else f"column {name}" for name in block.columns]
                said = ", ".join(f"{name} {_spoken(value)}" for name, value in zip(names, row, strict=True))
                yield _ended(f"{_named(label)} {block.verb} {said}" if block.verb else f"Row {label}: {said}")


def _item(item: Item, position: int, noun: str) -> str:
    said = ", ".join(part.replace("%", " percent") for part in (item.label, item.note) if part)
    return _ended(f"{noun.capitalize()} {position}, {_named(item.text)}" + (f": {said}" if said else ""))


def _ranking(ranking: Ranking, verb: str) -> str:
    if not ranking.bars and not ranking.others:
        return _ended(f"{_named(ranking.label)} {verb} nothing")
    said = ", ".join(f"{_named(bar.label)} {_spoken(bar.value)}" for bar in ranking.bars)
    if len(ranking.bars) > 1:
        said += f", together {_spoken(ranking.bars[-1].total)}"
    if ranking.others:
        share = "the 1 other has" if ranking.others == 1 else f"the {ranking.others} others share"
        said += f"; {share} {_spoken(ranking.rest)}" if said else f"{share} {_spoken(ranking.rest)}"
    return _ended(f"{_named(ranking.label)} {verb} {said}")


def _named(text: str) -> str:
    """Name punctuation: a screen reader swallows a bare full stop."""
    if len(text) > 3 or any(character.isalnum() for character in text):
        return text
    names = [unicodedata.name(character, "").lower() for character in text]
    return f"{text} ({', '.join(name for name in names if name)})" if any(names) else text


def _spoken(value: float | None) -> str:
    said = percent(value)
    if said == "NaN":
        return "not a number"
    return said.replace("<", "less than ").replace(">", "more than ").replace("%", " percent")


def _ended(text: str) -> str:
    text = visible(text)
    return text if text.endswith((".", "!", "?", ":", "。")) else text + "."
