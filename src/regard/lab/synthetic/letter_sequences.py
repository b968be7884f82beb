"""Synthetic sequences of letters, as one-hot vectors, in which a label depends on a letter at a known distance.

Each function returns pairs (vectors, labels) as `regard.train` takes them: float32 arrays (item, kind) and a label, or
None, for each item. The same seed gives the same sequences.
"""

from collections.abc import Sequence

import numpy as np

from regard.tasks import Recipe

__all__ = ["LETTERS", "LETTER_RECIPE", "clues", "distant_letters", "nearest_letters"]

LETTERS = "abcdefgh"
"""The letters, which are equally frequent: a model that knows nothing is right once in eight times."""

LETTER_RECIPE = Recipe(
    task="tagger",
    input="vectors",
    width=32,
    hidden=64,
    dropout=0.0,
    attention_dropout=0.0,
    batch_items=500,
    patience=100,
)
"""A small tagger of such vectors. Nothing is dropped, because there are as many sequences as it takes."""

Pairs = list[tuple[np.ndarray, list[str | None]]]


def distant_letters(count: int, length: int, distance: int, seed: int) -> Pairs:
    """Random letters, each labelled with the letter at a distance: after it, or before it if the distance is negative.

    Items without such a letter have no label.

    Args:
        count: the number of sequences.
        length: the number of letters in each.
        distance: from an item to the letter that is its label.
        seed: of the random numbers.

    Example:
        >>> vectors, labels = distant_letters(1, 4, -2, seed=0)[0]
        >>> "".join(LETTERS[place] for place in vectors.argmax(1)), labels
        ('gfec', [None, None, 'g', 'f'])
    """
    random = np.random.default_rng(seed)
    pairs: Pairs = []
    for _ in range(count):
        drawn = random.integers(len(LETTERS), size=length)
        labels = [LETTERS[drawn[i + distance]] if 0 <= i + distance < length else None for i in range(length)]
        pairs.append((_one_hot(drawn), labels))
    return pairs


def clues(count: int, distances: Sequence[int], seed: int, only: int | None = None) -> Pairs:
    """Noise with one letter, the clue, and a question at each distance from it: the answer to each is the letter.

    The clue comes before all questions in half of the sequences, and after them in the others. Up to 8 more items of
    noise at both ends keep it from being at the same position each time. Only questions have a label.

    Args:
        count: the number of sequences.
        distances: from the clue to each question, in items.
        seed: of the random numbers.
        only: the distance of the only question that has a label; None: all have.

    Example:
        >>> vectors, labels = clues(1, (1, 3), seed=1)[0]
        >>> kinds = [LETTERS[kind] if kind < 8 else "?" if kind == 8 else "." for kind in vectors.argmax(1).tolist()]
        >>> "".join(kinds), "".join(label or "-" for label in labels)
        ('......?.?d........', '------d-d---------')
    """
    random = np.random.default_rng(seed)
    question, noise = len(LETTERS), len(LETTERS) + 1
    pairs: Pairs = []
    for _ in range(count):
        kinds = np.full(max(distances) + 1, noise)
        letter = int(random.integers(len(LETTERS)))
        kinds[0] = letter
        kinds[list(distances)] = question
        if random.integers(2):
            kinds = kinds[::-1]
        before, after = random.integers(9, size=2)
        kinds = np.concatenate([np.full(before, noise), kinds, np.full(after, noise)])
        # Sixteen kinds of noise, so that the items between are as different from each other as letters are.
        kinds = np.where(kinds == noise, noise + random.integers(16, size=len(kinds)), kinds)
        asked = np.abs(np.arange(len(kinds)) - int(np.argmax(kinds < question)))
        labels = [
            LETTERS[letter] if kind == question and only in (None, far) else None
            for kind, far in zip(kinds.tolist(), asked.tolist(), strict=True)
        ]
        pairs.append((_one_hot(kinds, noise + 16), labels))
    return pairs


def nearest_letters(count: int, shortest: int, longest: int, seed: int) -> Pairs:
    """Blanks with some letters between them: the label of a blank is the letter nearest to it.

    A blank as far from one letter as from another one has no label, and neither has a letter. One item in five is a
    letter, on average.

    Args:
        count: the number of sequences.
        shortest, longest: the lengths of the sequences, which are drawn evenly.
        seed: of the random numbers.

    Example:
        >>> vectors, labels = nearest_letters(1, 12, 12, seed=17)[0]
        >>> "".join((LETTERS + ".")[kind] for kind in vectors.argmax(1)), "".join(label or "-" for label in labels)
        ('.a.......e..', 'a-aaa-eee-ee')
    """
    random = np.random.default_rng(seed)
    blank = len(LETTERS)
    pairs: Pairs = []
    for _ in range(count):
        length = int(random.integers(shortest, longest + 1))
        drawn = np.where(random.random(length) < 0.2, random.integers(blank, size=length), blank)
        places = np.flatnonzero(drawn < blank)
        labels: list[str | None] = []
        for i in range(length):
            far = np.abs(places - i)
            near = {int(drawn[place]) for place in places[far == far.min()]} if len(places) else set()
            labels.append(LETTERS[next(iter(near))] if drawn[i] == blank and len(near) == 1 else None)
        pairs.append((_one_hot(drawn, blank + 1), labels))
    return pairs


def _one_hot(kinds: np.ndarray, size: int = len(LETTERS)) -> np.ndarray:
    return np.eye(size, dtype=np.float32)[kinds]
