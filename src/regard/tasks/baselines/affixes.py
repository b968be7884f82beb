"""Rules of affixes: how the beginning and the end of a word change, by its suffix and by what stands beside it."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import product
from typing import Any, NamedTuple

from regard.tasks.examples import Pair, spread

__all__ = ["AffixRules", "held_out"]

_LONGEST = 24
_TUNED_ON = 10_000
_FEWEST = 20
_HELD = 300
_SEPARATORS = re.compile(r"[\s|#+;:,=/&]+")


def held_out(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """The examples to fit to, and every tenth, or 300 of many, to decide on.

    Example:
        >>> [len(each) for each in held_out([("a", "b")] * 40)]
        [36, 4]
    """
    step = max(10, len(pairs) // _HELD)
    return [pair for place, pair in enumerate(pairs) if place % step], list(pairs[::step])


class _Rule(NamedTuple):
    """What is cut off at the front and at the end of a stem, and what is put there."""

    cut_front: int
    front: str
    cut_end: int
    end: str

    def of(self, stem: str) -> str:
        return self.front + stem[self.cut_front : len(stem) - self.cut_end] + self.end


class AffixRules:
    """Rules such as "-y becomes -ied", counted for each suffix; the rule of the longest suffix that is known applies.

    The stem is the whole source or, if a source has several parts, such as "walk V;PST", its first or its last one; the
    other parts then decide together with the suffix. Which it is, how long a suffix may be and how often it must occur
    is decided on every tenth example, or on fewer of many. With fewer than 20 examples, the whole source is the stem.

    Args:
        pairs: the training examples.

    Source: after Cotterell et al. 2017, the baseline of the CoNLL-SIGMORPHON shared task (arXiv 1706.09031), section
        4.1.

    Example:
        >>> rules = AffixRules([(f"{stem} {tag}", stem + end) for stem in ("walk", "talk", "jump", "call", "pull")
        ...                     for tag, end in (("PST", "ed"), ("3SG", "s"), ("GER", "ing"), ("INF", ""))])
        >>> rules.write(["look PST", "look INF"])
        ['looked', 'look']
    """

    name = "rules of affixes"

    def __init__(self, pairs: Sequence[Pair]):
        self._place: int | None = None
        self._longest, self._least = _LONGEST, 1
        if len(pairs) >= _FEWEST:
            self._tune(*held_out(spread(pairs, _TUNED_ON)))
        self._count(pairs)

    def write(self, sources: Sequence[str]) -> list[str]:
        """A text for each source."""
        return [self._written(source) for source in sources]

    def _tune(self, pairs: Sequence[Pair], held: Sequence[Pair]) -> None:
        sources, texts = zip(*held, strict=True)
        several = any(len(_SEPARATORS.split(source)) > 1 for source in sources)
        best, found = -1, (None, _LONGEST, 1)
        for place in (None, 0, -1) if several else (None,):
            self._place = place
            self._count(pairs)
            for longest, least in product((_LONGEST, 6, 4), (1, 2, 3)):
                self._longest, self._least = longest, least
                right = sum(one == two for one, two in zip(self.write(sources), texts, strict=True))
                if right > best:
                    best, found = right, (place, longest, least)
        self._place, self._longest, self._least = found

    def _count(self, pairs: Sequence[Pair]) -> None:
        counts: defaultdict[Any, Counter[_Rule]] = defaultdict(Counter)
        for source, text in pairs:
            stem, beside = self._parts(source)
            rule = _rule(stem, text)
            for context in _contexts(stem, beside, _LONGEST):
                if len(context[1]) >= rule.cut_end:
                    counts[context][rule] += 1
        # Most suffixes occur in few words: a count and the best rule take less memory than a counter.
        self._rules = {
            context: (rules.total(), max(rules, key=lambda rule: (rules[rule], rule)))
            for context, rules in counts.items()
        }

    def _written(self, source: str) -> str:
        stem, beside = self._parts(source)
        for context in _contexts(stem, beside, self._longest):
            total, rule = self._rules.get(context, (0, None))
            # The last resort, without a suffix, needn't be frequent.
            if rule is not None and total >= (self._least if context[1] else 1):
                return rule.of(stem)
        return stem

    def _parts(self, source: str) -> tuple[str, Any]:
        """The stem, and what stands beside it; None: nothing does."""
        if self._place is None or len(parts := _SEPARATORS.split(source.strip())) < 2:
            return source, None
        beside = (*parts[1:],) if self._place == 0 else (*parts[:-1],)
        return parts[self._place], beside


def _contexts(stem: str, beside: Any, longest: int) -> Iterator[tuple[Any, str]]:
    """What a rule is counted for, the most particular first."""
    for each in (beside,) if beside is None else (beside, None):
        for size in range(min(len(stem), longest), -1, -1):
            yield each, stem[len(stem) - size :]


def _rule(stem: str, text: str) -> _Rule:
    """The rule that keeps the longest common part, or the common beginning if that is as long."""
    places = enumerate(zip(stem, text, strict=False))
    alike = next((place for place, (one, other) in places if one != other), min(len(stem), len(text)))
    # Few words change at the front, and to look for the longest part takes long.
    if 2 * alike >= min(len(stem), len(text)):
        return _Rule(0, "", len(stem) - alike, text[alike:])
    found = SequenceMatcher(None, stem, text, autojunk=False).find_longest_match()
    if found.size <= alike:
        return _Rule(0, "", len(stem) - alike, text[alike:])
    end = found.a + found.size
    return _Rule(found.a, text[: found.b], len(stem) - end, text[found.b + found.size :])
