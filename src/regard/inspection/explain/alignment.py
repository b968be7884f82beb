"""Which item of one record is which of another one, so that the two can be compared."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Literal, NamedTuple

from regard.inspection.explain.outcomes import Outcomes
from regard.inspection.record.record import Record

__all__ = ["Alignment", "Pair", "align", "align_texts"]

Pair = tuple[int | None, int | None]
Obstacle = Literal["", "kinds", "sizes", "queries"]


class Alignment(NamedTuple):
    """Which items, queries and predictions of two records correspond.

    Each is a sequence of pairs: a number in the first record and one in the second, from 0, and None where there is no
    partner. Each number is in one pair, and those of either record stand in their order.

    Args:
        items: the items that are attended to.
        queries: the queries of the layers; the same as `items` where the items attend to each other.
        places: what is predicted for: the numbers of `Outcomes.places`; empty if a record has no outcomes.
        obstacle: why no item has a partner: the inputs are of different "kinds"; or no texts, and of different "sizes";
            or in one record other "queries" attend to the items. "" if items can have one.
        kinds: what the inputs are, such as "text" or "picture".
    """

    items: tuple[Pair, ...]
    queries: tuple[Pair, ...]
    places: tuple[Pair, ...]
    obstacle: Obstacle
    kinds: tuple[str, str]

    @property
    def is_apart(self) -> bool:
        """Whether no prediction has a partner, as the labels of words and that of the whole: these answer different
        questions."""
        return bool(self.places) and all(None in pair for pair in self.places)


def align(first: Record, second: Record) -> Alignment:
    """Find which items of two records correspond.

    Items of texts are aligned by their texts; see `align_texts`. Other inputs of one kind and of the same number of
    items, such as two pictures in 7 x 7 patches, correspond item by item. Others have no partners.

    Args:
        first, second: the records.

    Example:
        >>> found = align(Record(("I", "saw", "it")), Record(("I", "saw", "her", "there")))
        >>> found.items
        ((0, 0), (1, 1), (2, None), (None, 2), (None, 3))
    """
    kinds = _kind(first), _kind(second)
    obstacle: Obstacle = ""
    if kinds[0] != kinds[1]:
        obstacle = "kinds"
    elif (first.queries is None) != (second.queries is None):
        obstacle = "queries"
    elif kinds[0] != "text" and (len(first.items), first.grid) != (len(second.items), second.grid):
        obstacle = "sizes"
    if obstacle:
        items = _alone(len(first.items), len(second.items))
        queries = _alone(len(first.query_items), len(second.query_items))
    else:
        text = kinds[0] == "text"
        items = align_texts(first.items, second.items) if text else _each(len(first.items))
        # What is written is a text, whatever it was made from.
        queries = items if first.queries is None else align_texts(first.query_items, second.query_items)
    places: tuple[Pair, ...] = ()
    if first.outcomes is not None and second.outcomes is not None:
        places = tuple(_places(first.outcomes, second.outcomes, queries))
    return Alignment(items, queries, places, obstacle, kinds)


def align_texts(first: Sequence[str], second: Sequence[str]) -> tuple[Pair, ...]:
    """Align two texts: by the longest sequence of items that both have, in the same order.

    Of several such sequences one whose items are neighbours in both texts is taken. Between two of its items the
    remaining ones correspond one by one if both texts have as many there, as if each was replaced by the other; else
    they have no partner. Nor has one of them in texts of different lengths that the other text has elsewhere, too.
    Spaces at the ends of an item, which some tokenizers keep, are ignored.

    Args:
        first, second: the items.

    Example:
        >>> align_texts(("I", "saw", "a", "saw"), ("I", "saw", "a", "film"))
        ((0, 0), (1, 1), (2, 2), (3, 3))
        >>> align_texts(("a", "saw"), ("a", "big", "saw"))
        ((0, 0), (None, 1), (1, 2))
        >>> align_texts(("a", "dull", "plot", "a", "good", "end"), ("a", "good", "plot"))
        ((0, None), (1, None), (2, None), (3, 0), (4, 1), (5, None), (None, 2))
    """
    a, b = ([text.strip() or text for text in texts] for texts in (first, second))
    start, most = 0, min(len(a), len(b))
    while start < most and a[start] == b[start]:
        start += 1
    end = 0
    while end < most - start and a[-1 - end] == b[-1 - end]:
        end += 1
    inner = _common(a[start : len(a) - end], b[start : len(b) - end])
    common = [
        *((place, place) for place in range(start)),
        *((start + one, start + other) for one, other in inner),
        *((len(a) - end + place, len(b) - end + place) for place in range(end)),
    ]
    common = _beside_the_next(common, a, b)
    moved: set[str] = set()
    if len(a) != len(b):
        # In texts of the same length, items that changed places still stand for each other.
        left = [Counter(text) - Counter(text[pair[side]] for pair in common) for side, text in enumerate((a, b))]
        moved = {*left[0]} & {*left[1]}
    pairs: list[Pair] = []
    one = other = 0
    for next_one, next_other in (*common, (len(a), len(b))):
        between, opposite = range(one, next_one), range(other, next_other)
        if len(between) == len(opposite):
            for each, its in zip(between, opposite, strict=True):
                pairs += [(each, None), (None, its)] if moved & {a[each], b[its]} else [(each, its)]
        else:
            pairs += [*((each, None) for each in between), *((None, each) for each in opposite)]
        pairs.append((next_one, next_other))
        one, other = next_one + 1, next_other + 1
    return tuple(pairs[:-1])


def _beside_the_next(common: list[tuple[int, int]], a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """A common subsequence with each pair beside the next one where the texts allow it, if that makes more neighbours.

    The items before a pair are equal only if one of them is in the pair before: else the subsequence could be longer.
    """
    found = common[:]
    for place in range(len(found) - 2, -1, -1):
        one, other = found[place + 1]
        if a[one - 1] == b[other - 1]:
            found[place] = one - 1, other - 1
    return max(common, found, key=_neighbours)


def _neighbours(common: Sequence[tuple[int, int]]) -> int:
    """How many pairs stand right before the next one in both texts."""
    return sum((one + 1, other + 1) == after for (one, other), after in pairwise(common))


def _common(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of a longest common subsequence.

    Source: Heikki Hyyrö, "Bit-Parallel LCS-length Computation Revisited" (2004). A row of the table of lengths is one
    number of len(second) bits, of which bit j is 0 where the length grows between columns j and j + 1; so two texts of
    8,192 items take 8 MB and less than a second.
    """
    where: dict[str, int] = {}
    for place, text in enumerate(second):
        where[text] = where.get(text, 0) | 1 << place
    every = (1 << len(second)) - 1
    rows = [every]
    for text in first:
        row = rows[-1]
        equal = row & where.get(text, 0)
        rows.append((row + equal | row - equal) & every)
    found = []
    one, other = len(first), len(second)
    while one and other:
        column = 1 << other - 1
        if rows[one] & column:
            other -= 1
        elif not rows[one - 1] & column:
            one -= 1
        else:
            one, other = one - 1, other - 1
            found.append((one, other))
    return found[::-1]


def _kind(record: Record) -> str:
    if record.input is not None:
        return record.input.kind
    return "text" if record.grid is None else "picture"


def _each(count: int) -> tuple[Pair, ...]:
    return tuple((number, number) for number in range(count))


def _alone(first: int, second: int) -> tuple[Pair, ...]:
    return (*((number, None) for number in range(first)), *((None, number) for number in range(second)))


def _places(first: Outcomes, second: Outcomes, queries: tuple[Pair, ...]) -> Iterator[Pair]:
    """The predictions for corresponding queries, and those of the same name for the whole."""
    own, others = _by_query(first), _by_query(second)
    for one, other in queries:
        yield from zip_longest([] if one is None else own.get(one, []), [] if other is None else others.get(other, []))
    wholes = own.get(None, []), others.get(None, [])
    names = [
        [outcomes.places[number].name for number in numbers]
        for outcomes, numbers in zip((first, second), wholes, strict=True)
    ]
    for one, other in align_texts(*names):
        yield None if one is None else wholes[0][one], None if other is None else wholes[1][other]


def _by_query(outcomes: Outcomes) -> dict[int | None, list[int]]:
    found: dict[int | None, list[int]] = {}
    for number, place in enumerate(outcomes.places):
        found.setdefault(place.query, []).append(number)
    return found
