"""Blocking repeated n-grams in generation."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.validation import check_count
from regard.special_ids import PADDING

__all__ = ["block_repeated_ngrams", "check_ngram_size"]


def block_repeated_ngrams(
    log_probabilities: Float[Tensor, "row vocabulary"], previous: Int[Tensor, "row length"], size: int
) -> Float[Tensor, "row vocabulary"]:
    """The log probabilities with minus infinity for each id that would repeat an n-gram of its row.

    An id is blocked if it has already followed the same `size` - 1 ids. The other probabilities aren't changed, so that
    they no longer sum to 1. If all possible ids of a row would be blocked, none is.

    Args:
        log_probabilities: those of the next id, with `PADDING` at minus infinity.
        previous: the ids that each row has generated so far.
        size: the n of the n-grams; 0 blocks nothing.

    Returns:
        a new tensor, or the given one if nothing is blocked.

    Source: Paulus et al. 2018 (arXiv 1705.04304), section 2.5, with trigrams.

    Example:
        >>> likely = torch.full((1, 6), 0.2).log()
        >>> likely[:, PADDING] = -math.inf
        >>> found = block_repeated_ngrams(likely, torch.tensor([[3, 4, 5, 3, 4]]), 3)
        >>> found.isinf().nonzero()[:, 1].tolist()  # padding, and 5, which would be 3 4 5 again
        [0, 5]
    """
    if not size or previous.shape[1] < size:
        return log_probabilities
    # For each position of a row the ids before it, (row position before), and the id there, (row position).
    before, ids = previous[:, :-1].unfold(1, size - 1, 1), previous[:, size - 1 :]
    last = previous[:, previous.shape[1] - size + 1 :]
    repeats = (before == last.unsqueeze(1)).all(2)
    rows = repeats.any(1).nonzero().squeeze(1)
    if not len(rows):
        return log_probabilities
    # Few rows repeat at a step: only these are changed. What isn't to be blocked blocks padding instead.
    own = log_probabilities[rows]
    blocked = own.scatter(1, ids[rows].masked_fill(~repeats[rows], PADDING), -math.inf)
    none_left = blocked.amax(1, keepdim=True) == -math.inf
    return log_probabilities.index_copy(0, rows, torch.where(none_left, own, blocked))


def check_ngram_size(size: int) -> None:
    """Check the size of n-grams.

    Raises:
        ArgumentError: it isn't an integer, or is below 0.
    """
    check_count("no_repeat_ngram_size", size, "the length of the n-grams that may not repeat", least=0)
