"""Statistics of a sequence of vectors: what a linear model can know of it as a whole."""

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["item_statistics"]

_PARTS = 4


def item_statistics(vectors: Float[Tensor, "item feature"]) -> Float[Tensor, " statistic"]:
    """The mean, spread, minimum and maximum of each feature, and its mean in each quarter of the sequence.

    Args:
        vectors: the sequence. No vector counts as one of zeros, and a quarter without a vector has the mean of all.

    Returns:
        eight numbers for each feature: first the means, then the spreads, and so on.

    Example:
        >>> item_statistics(torch.tensor([[0.0], [1.0], [2.0], [5.0]])).tolist()[:4]
        [2.0, 1.8708287477493286, 0.0, 5.0]
    """
    some = vectors if len(vectors) else vectors.new_zeros(1, vectors.shape[1])
    mean = some.mean(0)
    quarters = [part.mean(0) if len(part) else mean for part in some.tensor_split(_PARTS)]
    return torch.cat([mean, some.std(0, correction=0), some.amin(0), some.amax(0), *quarters])
