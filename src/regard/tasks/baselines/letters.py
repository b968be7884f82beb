"""Rules of letters: what each letter of a word becomes, by the letters around it."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from regard.tasks.examples import Pair, spread

__all__ = ["LetterRules"]

_LONGEST = 2
_MOST = 25_000
_ALIGNED_FIRST = 3_000
_ROUNDS = 4
_FLOOR = math.log(1e-6)
_PAD = "\0"
# (letters before, letters after): from the letter alone to a window of seven.
_WINDOWS = ((0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3))

Chunk = tuple[str, ...]


class LetterRules:
    """What a letter becomes, by the longest window of letters around it that is known, smoothed by shorter windows.

    Training words are aligned so that each letter becomes none, one or two units of the text: its words, such as
    phonemes, if most texts have several and most sources have one; else its characters. The alignment is found by hard
    expectation maximisation. Of more than 25,000 examples, so many are used, evenly spaced.

    Args:
        pairs: the training examples.

    Source: after Black, Lenzo and Pagel 1998, Issues in building general letter to sound rules (ESCA workshop on speech
        synthesis), sections 3 and 4; smoothing after Witten and Bell 1991, IEEE Transactions on Information Theory 37.

    Example:
        >>> rules = LetterRules([("cat", "K AE T"), ("tack", "T AE K"), ("at", "AE T")] * 3)
        >>> rules.write(["tat", "act"])
        ['T AE T', 'AE K T']
    """

    name = "rules of letters"

    def __init__(self, pairs: Sequence[Pair]):
        pairs = spread(pairs, _MOST)
        spaced = sum(" " in text for _, text in pairs) - sum(" " in source.strip() for source, _ in pairs)
        self._join = " " if 2 * spaced > len(pairs) else ""
        words = [(source, tuple(text.split() if self._join else text)) for source, text in pairs]
        costs = _costs(words)
        counts: defaultdict[tuple[int, str], Counter[Chunk]] = defaultdict(Counter)
        for source, units in words:
            for place, chunk in enumerate(_aligned(source, units, costs)):
                for context in _contexts(source, place):
                    counts[context][chunk] += 1
        self._counts = counts

    def write(self, sources: Sequence[str]) -> list[str]:
        """A text for each source."""
        return [
            self._join.join(unit for place in range(len(source)) for unit in self._chunk(source, place))
            for source in sources
        ]

    def _chunk(self, source: str, place: int) -> Chunk:
        likely: dict[Chunk, float] = {}
        for context in _contexts(source, place):
            if context not in self._counts:
                break
            found = self._counts[context]
            # As much goes to shorter windows as the window has different answers.
            total = found.total() + len(found)
            kept = len(found) / total
            likely = {chunk: kept * share for chunk, share in likely.items()}
            for chunk, count in found.items():
                likely[chunk] = likely.get(chunk, 0.0) + count / total
        # A letter that was never seen stands for itself where texts are made of characters.
        likely = likely or {() if self._join else (source[place],): 1.0}
        return max(likely, key=lambda chunk: (likely[chunk], chunk))


def _contexts(source: str, place: int) -> Iterator[tuple[int, str]]:
    """The letter with ever more of its neighbours."""
    padded, at = f"{_PAD * 3}{source}{_PAD * 3}", place + 3
    for window, (before, after) in enumerate(_WINDOWS):
        yield window, padded[at - before : at + after + 1]


def _costs(words: Sequence[tuple[str, Chunk]]) -> dict[tuple[str, Chunk], float]:
    """The logarithms of the probabilities of what a letter becomes."""
    counts: Counter[tuple[str, Chunk]] = Counter()
    some = spread(words, _ALIGNED_FIRST)
    for source, units in some:
        # At first, a letter becomes what stands near its place, most often one unit.
        for place, letter in enumerate(source):
            near = round(place * len(units) / len(source))
            for start in (near - 1, near, near + 1):
                for size in range(_LONGEST + 1):
                    if start >= 0 and start + size <= len(units):
                        counts[letter, units[start : start + size]] += 4 if size == 1 else 1
    for _ in range(_ROUNDS):
        costs = _logarithms(counts)
        counts = Counter(
            (letter, chunk)
            for source, units in some
            for letter, chunk in zip(source, _aligned(source, units, costs), strict=False)
        )
    return _logarithms(counts)


def _logarithms(counts: Counter[tuple[str, Chunk]]) -> dict[tuple[str, Chunk], float]:
    totals: Counter[str] = Counter()
    for (letter, _), count in counts.items():
        totals[letter] += count
    return {(letter, chunk): math.log(count / totals[letter]) for (letter, chunk), count in counts.items()}


def _aligned(source: str, units: Chunk, costs: dict[tuple[str, Chunk], float]) -> list[Chunk]:
    """The likeliest chunk of units for each letter; none if there are too many units."""
    if len(units) > _LONGEST * len(source):
        return []
    best: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]
    for letter in source:
        row: dict[int, tuple[float, int]] = {}
        for end, (score, _) in best[-1].items():
            for size in range(min(_LONGEST, len(units) - end) + 1):
                # A pair that was never seen has the lowest score, and the more units it has the lower.
                cost = costs.get((letter, units[end : end + size]), _FLOOR * (1 + size))
                if (found := score + cost) > row.get(end + size, (-math.inf, 0))[0]:
                    row[end + size] = found, size
        best.append(row)
    chunks: list[Chunk] = []
    end = len(units)
    for row in reversed(best[1:]):
        size = row[end][1]
        chunks.append(units[end - size : end])
        end -= size
    return chunks[::-1]
