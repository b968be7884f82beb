"""Vectors of words: counted from their neighbours in sentences without labels, or drawn; and how near words are."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from regard.inputs import WordVectors

__all__ = ["closeness", "counted_vectors", "drawn_vectors", "usual_labels"]

_CONTEXTS = 500


def counted_vectors(sentences: Iterable[Sequence[str]], width: int, minimum: int = 2) -> WordVectors:
    """Vectors of words by their neighbours: words between the same neighbours get similar vectors.

    The positive pointwise mutual information of each word with the 500 most frequent words before it, and after it,
    is reduced to `width` numbers by a singular value decomposition.

    Args:
        sentences: sentences; letters count as lower case.
        width: the size of a vector.
        minimum: how often a word must occur to get a vector.

    Source: Levy & Goldberg 2014, Neural word embedding as implicit matrix factorization, section 4.

    Example:
        >>> words = counted_vectors([["the", animal, "sleeps"] for animal in ("cat", "dog")] * 2, 2)
        >>> words.nearest("cat", 1)[0][0]
        'dog'
    """
    rows = [["", *(word.lower() for word in sentence), ""] for sentence in sentences]
    counts = Counter(word for row in rows for word in row)
    places = {word: at for at, word in enumerate(word for word in counts if word and counts[word] >= minimum)}
    frequent = {word: at for at, (word, _) in enumerate(counts.most_common(_CONTEXTS))}
    pairs: Counter[tuple[int, int]] = Counter()
    for row in rows:
        for at in range(1, len(row) - 1):
            if (place := places.get(row[at])) is not None:
                for side, other in enumerate((row[at - 1], row[at + 1])):
                    if other in frequent:
                        pairs[place, frequent[other] + side * len(frequent)] += 1
    table = torch.zeros(len(places), 2 * len(frequent))
    table[tuple(torch.tensor(list(pairs)).T)] = torch.tensor(list(pairs.values()), dtype=torch.float32)
    expected = table.sum(1, keepdim=True) * table.sum(0) / table.sum()
    information = torch.where(table > 0, (table / expected).log(), 0.0).clamp(min=0)
    # The columns are few: their products give the singular vectors sooner than the matrix itself.
    _, vectors = torch.linalg.eigh(information.T @ information)
    return WordVectors(tuple(places), information @ vectors[:, -width:])


def drawn_vectors(words: Sequence[str], width: int, seed: int) -> WordVectors:
    """Vectors of independent normal numbers, which tell words apart and mean nothing.

    Example:
        >>> drawn_vectors(["cat", "dog"], 3, seed=0).vectors.shape
        torch.Size([2, 3])
    """
    drawn = torch.Generator().manual_seed(seed)
    return WordVectors(tuple(words), torch.randn(len(words), width, generator=drawn))


def usual_labels(pairs: Iterable[tuple[Sequence[str], Sequence[str]]], minimum: int = 5) -> dict[str, str]:
    """The most frequent label of each word, in lower case, that occurs often enough.

    Example:
        >>> usual_labels([(["Saw", "saw", "it"], ["VERB", "VERB", "PRON"])], minimum=2)
        {'saw': 'VERB'}
    """
    counts: dict[str, Counter[str]] = {}
    for words, labels in pairs:
        for word, label in zip(words, labels, strict=True):
            counts.setdefault(word.lower(), Counter())[label] += 1
    return {word: labels.most_common(1)[0][0] for word, labels in counts.items() if labels.total() >= minimum}


def closeness(vectors: Float[Tensor, "word width"], labels: Sequence[str]) -> float:
    """The mean cosine of two words of the same label, minus that of two words of different labels.

    Example:
        >>> closeness(torch.eye(4), ["NOUN", "NOUN", "VERB", "VERB"])
        0.0
        >>> closeness(torch.tensor([[1.0, 0], [2, 0], [0, 1], [0, 1]]), ["NOUN", "NOUN", "VERB", "VERB"])
        1.0
    """
    cosines = normalize(vectors.double(), dim=1) @ normalize(vectors.double(), dim=1).T
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    ids = torch.tensor([numbers[label] for label in labels])
    same, other = ids[:, None] == ids, torch.ones(len(labels), len(labels), dtype=torch.bool).triu(1)
    near, far = (float(cosines[pairs & other].mean()) for pairs in (same, ~same))
    return near - far if math.isfinite(near - far) else 0.0
