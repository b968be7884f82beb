"""From lines to records: what `regard tag` does once torch is there."""

import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter

from regard.cli.broken_lines import BrokenLines, with_option
from regard.cli.reading import Line, is_chinese, until_broken
from regard.errors import DataError, OutOfDistribution
from regard.inputs import is_spaced, split_chinese, split_words
from regard.inspection import Record
from regard.tasks import Tagger
from regard.tasks.tagger.segmenting import segment

__all__ = ["answers"]

# Attention takes time that grows with the square: 10 000 words are seconds, a million are hours.
_MOST_TAGGED = 10_000
_TOGETHER = 256

_Split = tuple[Line, Sequence[str]]


def answers(
    tagger_of: Callable[[Line], Tagger],
    lines: Iterable[Line],
    source: str,
    *,
    watch: bool,
    live: bool,
    segmenter: Tagger | None = None,
    skipped: BrokenLines | None = None,
) -> Iterator[tuple[Line, Record]]:
    """Tag lines, in their order.

    Args:
        tagger_of: the model for a line.
        lines: the sentences.
        source: the file's name, for messages; "" where there is none.
        watch: keep the attention of each word; otherwise the records hold no layers.
        live: answer each line before the next is read, instead of several at a time.
        segmenter: what finds the words of Chinese without spaces; None: the longest that the tagger knows.
        skipped: takes the lines that can't be tagged, which are then left out; None where they are an error.

    Raises:
        DataError: a sentence is too long, or holds nothing but unseen characters. Those before it have been answered.
    """
    broken: list[Exception] = []
    pairs = until_broken(((tagger_of(line), line) for line in lines), broken)
    for tagger, neighbours in groupby(pairs, itemgetter(0)):
        split = until_broken(_split(tagger, (line for _, line in neighbours), source, segmenter, skipped), broken)
        yield from (_watched if watch else _tagged)(tagger, split, live)
        if broken:
            break
    if broken:
        raise broken[0]


def _watched(tagger: Tagger, pairs: Iterator[_Split], live: bool) -> Iterator[tuple[Line, Record]]:
    waiting: deque[Line] = deque()

    def sentences() -> Iterator[Sequence[str]]:
        for line, parts in pairs:
            waiting.append(line)
            yield parts

    for group in ([each] for each in sentences()) if live else (sentences(),):
        for record in tagger.look(group):
            yield waiting.popleft(), record


def _tagged(tagger: Tagger, pairs: Iterator[_Split], live: bool) -> Iterator[tuple[Line, Record]]:
    while group := list(islice(pairs, 1 if live else _TOGETHER)):
        for (line, _), result in zip(group, tagger.tag([parts for _, parts in group]), strict=True):
            texts, labels, scores = zip(*result, strict=True)
            yield line, Record(texts, labels, scores, model=tagger.name, answer=result, noun="word")


def _split(
    tagger: Tagger, lines: Iterable[Line], source: str, segmenter: Tagger | None, skipped: BrokenLines | None
) -> Iterator[_Split]:
    known = frozenset(tagger.encoder.vocabulary)
    for line in lines:
        parts = _words(line.text, known, segmenter)
        wrong = None
        if not parts:
            wrong = "there is no word in it, only characters that can't be seen. Write a sentence."
        elif len(parts) > _MOST_TAGGED:
            wrong = f"the sentence has {len(parts):,} words, but may have {_MOST_TAGGED:,}. Put one sentence on a line."
        elif tagger.places is not None and len(parts) > tagger.places:
            wrong = (
                f"the sentence has {len(parts):,} words, but {tagger.name} has learned {tagger.places:,} positions. "
                "Put one sentence on a line."
            )
        if wrong is None:
            yield line, parts
        elif not source:
            raise DataError(wrong)
        elif skipped is None:
            raise with_option(DataError(wrong, path=source, line=line.number))
        else:
            skipped.add(DataError(wrong, path=source, line=line.number), line.text)


def _words(text: str, known: Collection[str], segmenter: Tagger | None) -> list[str]:
    if not is_chinese(text):
        return split_words(text)
    spaced = is_spaced(text)
    if segmenter is not None and not spaced:
        with warnings.catch_warnings():
            # Which script the text is in, the tagger tells.
            warnings.filterwarnings("ignore", message=".* is in .* characters", category=OutOfDistribution)
            return segment(segmenter, [text])[0]
    words = split_chinese(text, known)
    if len(words) > 1 and not spaced:
        warnings.warn(
            "the text has no spaces, so words are the longest that the tagger knows. Use --split for a trained "
            "segmenter, or put spaces between the words.",
            OutOfDistribution,
            stacklevel=2,
        )
    return words
