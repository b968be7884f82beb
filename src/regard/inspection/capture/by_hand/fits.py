"""Whether weights are those that a rule gives, as far as the rounding of their own steps explains the difference."""

import math

import torch
from torch import Tensor

from regard.inspection.capture.by_hand.followed import Followed

__all__ = ["are_weights", "fits", "same_weights"]

# What the order of additions and the approximation of exp explain in any dtype.
_BASE = 1e-4
# Where this share of a weight is off, no rounding explains it, however large the scores are: so no zero passes. Where
# the normaliser itself is only guessed, a clear difference is none of rounding.
_MOST, _MOST_OF_A_GUESS = 0.9, 0.15
# The normalisers whose weights change by a share of themselves where the scores change by a number.
_EXPONENTIAL = ("softmax", "sigmoid")


def same_weights(before: Tensor, after: Tensor) -> bool:
    """Whether a function left weights as they were, up to one rounding; NaN, of a row without keys, may become 0.

    Example:
        >>> weights = torch.tensor([[0.25, 0.75], [torch.nan, torch.nan]])
        >>> same_weights(weights, weights.nan_to_num()), same_weights(weights, weights * 1.01)
        (True, False)
    """
    if before.shape != after.shape:
        return False
    unit = max(torch.finfo(each.dtype).eps for each in (before, after))
    first, second = before.float(), after.float()
    same = (first - second).abs() <= unit * first.abs()
    return bool((same | (first.isnan() & (second.isnan() | (second == 0)))).all())


def are_weights(rows: Tensor, dtype: torch.dtype) -> bool:
    """Whether rows could be weights that sum to 1: of logarithms of sums in `dtype`, so many keys have this error."""
    error = 1e-2 + 4 * torch.finfo(dtype).eps / 2 * math.log(max(rows.shape[-1], 1))
    return bool((rows >= 0).all() and ((rows.sum(-1) - 1).abs() < error).all())


def fits(
    computed: Tensor, actual: Tensor, node: Followed, normaliser: str, products: tuple[Tensor, Tensor], table: Tensor
) -> bool:
    """Whether weights are those of a rule.

    A score is rounded once by each function that made it, by a share of its size; its product also by the order in
    which it was added up. The weights of a softmax then differ by a share of themselves, and those of other normalisers
    by a number.

    Args:
        computed: what the rule gives for some queries, (batch, head, row, key).
        actual: the weights, in the dtype in which they were multiplied.
        node: how they were made.
        normaliser: the function that the rule has.
        products: the queries (batch, head, row, feature) and the keys (batch, key_head, key, feature).
        table: what was added to the scores, which broadcasts to (batch, head, row, key).

    Source: Higham 2002, Accuracy and Stability of Numerical Algorithms, sections 2.2 and 3.1, for one rounding and for
    sums of products.
    """
    unit = torch.finfo(node.coarsest).eps / 2
    own = torch.finfo(actual.dtype)
    computed, given = computed.float(), actual.float()
    query, key = (each.float() for each in products)
    scores = (query @ key.mT * node.scale).abs() + table.float().abs()
    lengths = query.norm(dim=-1, keepdim=True) * key.norm(dim=-1).amax(-1, keepdim=True).unsqueeze(-1)
    smallest = max(1e-30, own.smallest_normal * own.eps)
    shown = (computed > smallest) | (given > smallest)
    largest = torch.where(shown, scores, 0.0).amax(-1, keepdim=True)
    if not node.normaliser:
        # Divided by a sum that was computed as an exponent.
        largest = largest + math.log(max(key.shape[-2], 1))
    moved = node.steps * unit * largest + _unit_of_sums(query) * abs(node.scale) * lengths
    most = torch.maximum(computed, given)
    if normaliser in _EXPONENTIAL:
        allowed = most * (torch.expm1(2 * moved) + own.eps + _BASE).clamp(max=_MOST)
    else:
        allowed = 2 * moved + most * (own.eps + _BASE)
    if not node.normaliser:
        allowed = allowed.minimum(_MOST_OF_A_GUESS * most)
    return bool(((computed - given).abs() <= allowed + smallest).all())


def _unit_of_sums(tensor: Tensor) -> float:
    """What adding up products in float32 rounds, as a share of the vectors' lengths."""
    exact = not tensor.is_cuda or torch.backends.cuda.matmul.fp32_precision in ("none", "ieee")
    return 4 * torch.finfo(torch.float32).eps if exact else 2.0**-10
