"""Repetition: the ids that would say an n-gram a second time."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.validation import check_count
from regard.special_ids import PADDING

__all__ = ["block_repeated_ngrams", "check_ngram_size"]


def block_repeated_ngrams(
    log_probabilities: Float[Tensor, "row vocabulary"], said: Int[Tensor, "row length"], size: int
) -> Float[Tensor, "row vocabulary"]:
    """The logarithms of the probabilities, minus infinity for each id that would repeat an n-gram of its own row.

    An id is blocked where it stood behind the same `size` - 1 ids before. The other probabilities stay as they are:
    they don't sum to 1 any more. A row whose every possible id would be blocked keeps all of them.

    Args:
        log_probabilities: of the next id, `PADDING` already at minus infinity.
        said: the ids that each row has said.
        size: the n of the n-grams; 0 blocks nothing.

    Returns:
        a new tensor, or the one given if nothing is blocked.

    Source: Paulus et al. 2018 (arXiv 1705.04304), section 2.5, with trigrams.

    Example:
        >>> likely = torch.full((1, 6), 0.2).log()
        >>> likely[:, PADDING] = -math.inf
        >>> found = block_repeated_ngrams(likely, torch.tensor([[3, 4, 5, 3, 4]]), 3)
        >>> found.isinf().nonzero()[:, 1].tolist()  # padding, and 5, which would be 3 4 5 again
        [0, 5]
    """
    if not size or said.shape[1] < size:
        return log_probabilities
    # Each place of a row with the ids before it, (row place before), and the id that stood there, (row place).
    before, ids = said[:, :-1].unfold(1, size - 1, 1), said[:, size - 1 :]
    last = said[:, said.shape[1] - size + 1 :]
    repeats = (before == last.unsqueeze(1)).all(2)
    rows = repeats.any(1).nonzero().squeeze(1)
    if not len(rows):
        return log_probabilities
    # Few rows repeat at a step: the others are copied, not looked through. Padding can't be said anyway.
    likely = log_probabilities[rows]
    blocked = likely.scatter(1, ids[rows].masked_fill(~repeats[rows], PADDING), -math.inf)
    silent = blocked.amax(1, keepdim=True) == -math.inf
    return log_probabilities.index_copy(0, rows, torch.where(silent, likely, blocked))


def check_ngram_size(size: int) -> None:
    """Refuse what is no size of n-grams.

    Raises:
        ArgumentError: it is no whole number, or below 0.
    """
    check_count("no_repeat_ngram_size", size, "the length of the n-grams that may not repeat", least=0)
