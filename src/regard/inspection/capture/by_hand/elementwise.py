"""Products that are written as an elementwise product and a sum: of queries and keys, and of weights and values.

The weights (..., query, key, 1) and the values (..., key, feature) are spread over each other; the sum over the keys is
what a matrix product of both gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Any

from torch import Tensor

from regard.inspection.capture.by_hand.einsum import product_of
from regard.inspection.capture.by_hand.followed import Followed, Origin, is_learned
from regard.inspection.capture.by_hand.product import Product

__all__ = ["AveragedProduct", "Weighted", "averaged_axis", "outer_product", "weighted"]

_SUMS = {"sum", "mean"}


@dataclass(frozen=True)
class Weighted:
    """Weights times values, before they are summed.

    Attributes:
        node: what is known of the weights.
        weights, values: the two, as they were multiplied.
        query, key: their axes in the result, counted from its end; no query: there is a single one, without an axis.
        features: the axes that only the values have.
        own: whether each query has values of its own.
    """

    node: Followed | Origin
    weights: Tensor
    values: Tensor
    query: int | None
    key: int
    features: tuple[int, ...]
    own: bool

    @property
    def origin(self) -> Origin:
        """The product of queries and keys that the weights were made of."""
        return self.node.origin if isinstance(self.node, Followed) else self.node

    @property
    def is_expressible(self) -> bool:
        """Whether a matrix product of weights and values gives the same sum."""
        return len(self.features) == 1 and not self.own

    def product(self, kept: bool) -> "AveragedProduct":
        """The matrix product that gives the sum over the keys.

        Args:
            kept: whether the axis of the keys stays, of size 1.
        """
        count = max(self.weights.ndim, self.values.ndim)
        weights, values = (
            each.reshape((1,) * (count - each.ndim) + each.shape) for each in (self.weights, self.values)
        )
        key, (feature,) = self.key + count, self.features
        query = None if self.query is None else self.query + count
        feature += count
        lead = [axis for axis in range(count) if axis not in (query, key, feature)]
        weights = weights.narrow(feature, 0, 1)
        if query is None:
            left = weights.permute(*lead, feature, key)
            right = values.permute(*lead, key, feature)
        else:
            left = weights.permute(*lead, query, key, feature).squeeze(-1)
            right = values.narrow(query, 0, 1).permute(*lead, query, key, feature).squeeze(-3)
        whole = [*lead, query, feature]
        order = tuple(whole.index(axis) for axis in range(count) if axis != key) if query is not None else ()
        return AveragedProduct(
            *(self.weights, left, right, order, (-2, -1), self.values, (-1, -2)),
            single=query is None,
            summed=key if kept else None,
            feature=feature - (key < feature),
        )


@dataclass(frozen=True)
class AveragedProduct(Product):
    """The matrix product that an elementwise product and a sum are.

    Attributes:
        single: whether there is one query, which has no axis.
        summed: where the result has the axis that was summed over, of size 1; None: nowhere.
        feature: where the result has its features, if that axis is gone.
    """

    single: bool = False
    summed: int | None = None
    feature: int = -1

    def to_result(self, tensor: Tensor) -> Tensor:
        result = tensor.squeeze(-2).movedim(-1, self.feature) if self.single else super().to_result(tensor)
        return result if self.summed is None else result.unsqueeze(self.summed)

    def from_result(self, result: Tensor) -> Tensor:
        result = result if self.summed is None else result.squeeze(self.summed)
        return result.movedim(self.feature, -1).unsqueeze(-2) if self.single else super().from_result(result)


def weighted(node: Followed | Origin, tensor: Tensor, other: Tensor) -> Weighted | None:
    """What a product of normalised weights with another tensor is; None if that can't be values.

    Values have the keys where the weights have them, and features where the weights have an axis of size 1, which a
    gate, a mask or logarithms of the weights don't have.

    Args:
        node: what is known of the weights.
        tensor: the weights.
        other: what they are multiplied by.
    """
    origin = node.origin if isinstance(node, Followed) else node
    # Of unknown scores only the axis of the heads tells weights of keys from those of a router's experts.
    if origin.learned or is_learned(other) or (not origin.scored and tensor.ndim < 5):
        return None
    if _has_lost_its_query(node, tensor) and other.ndim >= tensor.ndim and other.shape[-2] == tensor.shape[-2]:
        return Weighted(node, tensor, other, None, -2, (-1,), own=False) if other.shape[-1] > 1 else None
    if not isinstance(node, Followed):
        return None
    query, key = node.at
    count = max(tensor.ndim, other.ndim)
    features = tuple(
        axis
        for axis in range(query + 1, 0)
        if axis != key and _size(tensor, axis) == 1 and _size(other, axis) > 1 and axis >= -count
    )
    if not features or other.ndim < -key or other.shape[key] != tensor.shape[key]:
        return None
    # Of a single query it can't be told whether the values are its own, as the outputs of a router's experts are.
    own = _size(other, query) > 1 or (origin.shared and _size(tensor, query) == 1 and other.ndim >= -query)
    return Weighted(node, tensor, other, query, key, features, own)


def _has_lost_its_query(node: Followed | Origin, weights: Tensor) -> bool:
    """Whether weights are (..., key, 1) of a single query whose axis was squeezed.

    Where there are as many items as keys or queries, the batch may have been taken for the axis of the queries.
    """
    origin = node.origin if isinstance(node, Followed) else node
    keys = max(origin.pairs)
    if origin.shared or min(origin.pairs) != 1 or keys == 1 or weights.ndim < 2:
        return False
    if (weights.shape[-2], _size(weights, -1)) != (keys, 1):
        return False
    return not (isinstance(node, Followed) and node.at == (-3, -2) and weights.shape[-3] == 1)


def _size(tensor: Tensor, axis: int) -> int:
    """The size of an axis before it was expanded; 1 for one that there isn't."""
    return 1 if tensor.ndim < -axis or tensor.stride(axis) == 0 else tensor.shape[axis]


def averaged_axis(func: Any, tensor: Tensor, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[int, bool] | None:
    """Over which axis alone a function sums a tensor, counted from its end, and whether that axis stays."""
    if getattr(func, "__name__", "") not in _SUMS or not args or args[0] is not tensor:
        return None
    axis = kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else None))
    if isinstance(axis, list | tuple) and len(axis) == 1:
        (axis,) = axis
    if not isinstance(axis, int):
        return None
    kept = kwargs.get("keepdim", kwargs.get("keepdims", args[2] if len(args) > 2 else False))
    return (axis if axis < 0 else axis - tensor.ndim), bool(kept)


def outer_product(left: Tensor, right: Tensor) -> Product | None:
    """The product of queries and keys that a sum over the last axis makes of their elementwise product.

    The queries have size 1 where the keys have their own axis, and the other way round. None if that isn't so.

    Example:
        >>> import torch
        >>> query, key = torch.zeros(2, 5, 4), torch.zeros(2, 7, 4)
        >>> product = outer_product(query.unsqueeze(2), key.unsqueeze(1))
        >>> product.left.shape, product.right.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 4, 7]))
        >>> outer_product(query, query) is None
        True
    """
    count = max(left.ndim, right.ndim)
    features = left.shape[-1] if left.ndim and right.ndim else 0
    if count < 3 or features < 2 or right.shape[-1] != features or not left.is_floating_point():
        return None
    own = [[_size(each, axis) for axis in range(-count, 0)] for each in (left, right)]
    apart = [(mine > other) - (mine < other) for mine, other in zip(*own, strict=True)]
    if 1 not in apart or -1 not in apart:
        return None
    names, operands = [], []
    for tensor, sizes, others in ((left, *own), (right, *reversed(own))):
        tensor = tensor.reshape((1,) * (count - tensor.ndim) + tensor.shape)
        kept = [axis for axis in range(count) if sizes[axis] > 1 or others[axis] == 1]
        for axis in reversed(range(count)):
            tensor = tensor if axis in kept else tensor.select(axis, 0)
        names.append("".join(ascii_letters[axis] for axis in kept))
        operands.append(tensor)
    return product_of(names, ascii_letters[: count - 1], operands)
