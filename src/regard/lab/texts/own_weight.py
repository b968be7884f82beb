"""How often a query attends most to its own position."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import weigh
from regard.inspection import Record
from regard.lab.texts.tagger import without_warnings
from regard.tasks import Tagger

__all__ = ["of_records", "of_vectors", "own_weight"]

_SHORTEST = 5


def own_weight(weights: Float[Tensor, "head query key"]) -> tuple[Tensor, Tensor]:
    """Whether each query attends most to its own position, (head, query), and how much it attends there, (head, query).

    Example:
        >>> largest, own = own_weight(torch.tensor([[[0.75, 0.25], [0.5, 0.5]]]))
        >>> largest.tolist(), own.tolist()
        ([[True, True]], [[0.75, 0.5]])
        >>> own_weight(torch.tensor([[[0.25, 0.75], [0.5, 0.5]]]))[0].tolist()
        [[False, True]]
    """
    own = weights.diagonal(dim1=-2, dim2=-1)
    return own >= weights.amax(-1), own


def of_records(records: Iterable[Record]) -> dict[str, float]:
    """The share of queries that attend most to their own position, and the mean weight there, over heads and layers."""
    with without_warnings():
        return _means(
            layer.weights() for record in records if len(record.items) >= _SHORTEST for layer in record.layers
        )


def of_vectors(tagger: Tagger, sentences: Iterable[Iterable[str]]) -> dict[str, float]:
    """The same where the words' embeddings are queries and keys, without a projection."""
    kept = [words for words in map(list, sentences) if len(words) >= _SHORTEST]
    with torch.no_grad(), without_warnings():
        # (1 n d) -> (1 1 n d): one head.
        vectors = [tagger.network.embedding(tagger.encode([words]).vectors)[:, None] for words in kept]
    return _means(weigh(words, words)[0] for words in vectors)


def _means(weights: Iterable[Tensor]) -> dict[str, float]:
    pairs = [own_weight(of_layer) for of_layer in weights]
    largest, own = (torch.cat([pair[part].flatten().float() for pair in pairs]) for part in (0, 1))
    return {"largest on the diagonal": float(largest.mean()), "weight on the diagonal": float(own.mean())}
