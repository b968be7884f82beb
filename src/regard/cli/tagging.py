"""From lines to records, and from a record to a page or to JSON: what `regard tag` does once torch is there."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, NamedTuple

from regard.attention import Learned
from regard.cli.reading import Line, is_chinese
from regard.errors import DataError
from regard.inputs import split_chinese, split_words
from regard.inspection import MOST_WORDS, Record, choose, heatmap, look, rank, ranked, words
from regard.page import Page, Prose
from regard.tasks import Tagger

__all__ = ["Show", "answers", "as_json", "as_page"]

# Attention takes time that grows with the square: 10 000 words are seconds, a million are hours.
_MOST_TAGGED = 10_000
_TOGETHER = 256


class Show(NamedTuple):
    """Which weights to show: the layer and head from 1 (None: the last, and their average), and how many words."""

    layer: int | None
    head: int | None
    top: int


def answers(
    tagger_of: Callable[[Line], Tagger], lines: Iterable[Line], source: str, *, watch: bool, live: bool
) -> Iterator[tuple[Line, Record]]:
    """Tag lines, in their order.

    Args:
        tagger_of: the model for a line.
        lines: the sentences.
        source: the file's name, for messages; "" where there is none.
        watch: keep what each word looked at; else the records hold no layers.
        live: answer each line before the next is read, instead of several at a time.

    Raises:
        DataError: a sentence is too long, or holds nothing but unseen characters.
    """
    for tagger, neighbours in groupby(lines, tagger_of):
        yield from (_watched if watch else _tagged)(tagger, neighbours, source, live)


def _watched(tagger: Tagger, lines: Iterable[Line], source: str, live: bool) -> Iterator[tuple[Line, Record]]:
    waiting: deque[Line] = deque()

    def split() -> Iterator[Sequence[str]]:
        for line, parts in _split(tagger, lines, source):
            waiting.append(line)
            yield parts

    for group in ([each] for each in split()) if live else (split(),):
        for record in look(tagger, group):
            yield waiting.popleft(), record


def _tagged(tagger: Tagger, lines: Iterable[Line], source: str, live: bool) -> Iterator[tuple[Line, Record]]:
    pairs = _split(tagger, lines, source)
    while group := list(islice(pairs, 1 if live else _TOGETHER)):
        for (line, _), result in zip(group, tagger.tag([parts for _, parts in group]), strict=True):
            texts, labels, scores = zip(*result, strict=True)
            yield line, Record(texts, labels, scores, (), tagger.name)


def as_page(record: Record, title: str, show: Show, *, rankings: bool = True, map: bool = False) -> Page:
    """The words with their labels; what each attended to; and the heat map, if asked for."""
    pages = [words(record)]
    if (rankings or map) and not record.layers:
        pages.append(Page("", (Prose(_why_nothing(record)),)))
    elif record.layers:
        if rankings:
            pages.append(ranked(record, layer=show.layer, head=show.head, top=show.top))
        if map:
            pages.append(heatmap(record, layer=show.layer, head=show.head))
    return Page.of(title, *pages)


def as_json(record: Record, show: Show) -> dict[str, Any]:
    """The record as plain values. Positions count from 1; a weight that isn't a finite number is null.

    Where there are no weights though they were asked for, `why_no_attention` says why.
    """
    choice = choose(record, show.layer, show.head) if record.layers and show.top else None
    items = []
    for index, (text, label, score) in enumerate(zip(record.items, record.labels, record.scores, strict=True)):
        keys = rank(choice.weights[index], show.top).keys if choice else ()
        attends = [
            {"text": record.items[key], "position": key + 1, "weight": _number(weight)} for key, weight, _ in keys
        ]
        items.append({"text": text, "label": label, "score": _number(score), "attends": attends})
    layer = (show.layer or len(record.layers)) if choice else None
    return {
        "model": record.model,
        "layer": layer,
        "head": show.head if choice else None,
        "shown": choice.title if choice else None,
        **({"why_no_attention": _why_nothing(record)} if show.top and not record.layers else {}),
        "items": items,
    }


def _split(tagger: Tagger, lines: Iterable[Line], source: str) -> Iterator[tuple[Line, Sequence[str]]]:
    known = frozenset(tagger.reader.vocabulary)
    learned = [len(part.table) for part in tagger.network.modules() if isinstance(part, Learned)]
    for line in lines:
        where = {"path": source or None, "line": line.number if source else None}
        parts = split_chinese(line.text, known) if is_chinese(line.text) else split_words(line.text)
        if not parts:
            raise DataError("there is no word in it, only characters that can't be seen. Write a sentence.", **where)
        if len(parts) > _MOST_TAGGED:
            raise DataError(
                f"the sentence has {len(parts):,} words, but may have {_MOST_TAGGED:,}. Put one sentence on a line.",
                **where,
            )
        if learned and len(parts) > min(learned):
            raise DataError(
                f"the sentence has {len(parts):,} words, but {tagger.name} has learned {min(learned):,} positions. "
                "Put one sentence on a line.",
                **where,
            )
        yield line, parts


def _why_nothing(record: Record) -> str:
    count = len(record.items)
    if count > MOST_WORDS:
        return f"The sentence has {count:,} words; what they attended to is kept for {MOST_WORDS:,} at most."
    return "This model has no attention: each word was tagged on its own."


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
