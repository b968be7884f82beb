"""Follow attention that a model computes by hand: a product of queries and keys, through each function applied to it.

Two axes of a tensor are followed wherever they are moved to: that of the queries and that of the keys.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from regard.inspection.capture.by_hand.product import Product

__all__ = [
    "PERMUTATIONS",
    "SOFTMAXES",
    "Followed",
    "Origin",
    "after",
    "inserted",
    "is_either_way",
    "is_learned",
    "is_relu_like",
    "is_waiting",
    "softmax_axis",
]

SOFTMAXES = {"softmax", "_safe_softmax", "special_softmax"}

_UNCHANGED = {
    *("to", "float", "half", "bfloat16", "double", "type", "type_as", "contiguous", "clone", "detach"),
    *("view", "reshape", "unflatten", "flatten", "unsqueeze", "squeeze", "expand", "expand_as", "view_as"),
}
_PERMUTED = {"transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis", "t"}
PERMUTATIONS = {Tensor.mT.__get__, Tensor.T.__get__}  # pyright: ignore[reportAttributeAccessIssue]
_CONVOLUTIONS = {"conv1d", "conv2d"}
_TIMES = {"mul", "rmul", "imul", "multiply"}
_OVER = {"div", "truediv", "itruediv", "true_divide", "divide"}
_PLUS = {"add", "radd", "iadd"}
_MINUS = {"sub", "isub", "subtract"}


@dataclass(eq=False)
class Origin:
    """A product of queries and keys, and what became of it.

    Attributes:
        module: the name of the module that computed it.
        pairs: the number of queries and of keys.
        learned: whether queries or keys are a parameter, as in a linear map that is written as a product.
        shared: whether queries or keys have only two axes, so that all items share them, as in a router.
        is_map: whether a function for linear maps multiplied them; then only softmax makes weights.
        scored: whether the product was seen; if not, weights were seen whose scores are unknown.
        normalised: the function that made weights, set once they can't be followed any further; "" before.
        recorded: whether the weights were multiplied by values, in a product that is in the record.
        missed: whether the weights were multiplied by something, in a product that isn't in the record.
    """

    module: str | None
    pairs: tuple[int, int]
    learned: bool
    shared: bool = False
    is_map: bool = False
    scored: bool = True
    normalised: str = ""
    recorded: bool = False
    missed: bool = False


@dataclass(frozen=True)
class Followed:
    """Scores or weights: a product of queries and keys, and what was done to it since.

    Attributes:
        query, key: (..., query, feature) and (..., key, feature).
        origin: the product.
        at: the axis of the queries and that of the keys, counted from the end.
        scale: the factor of the product, inside of tanh if the scores went through it.
        cap: the factor of that tanh; None without one.
        added: the tables added to the scores, each with the leading sizes that the scores had at that moment.
        lead: the two leading sizes, since the scores had four axes.
        known: whether nothing else was done to the scores.
        normaliser: the function that made weights of them; "" as long as they are scores.
        divisor: what the weights of relu were divided by.
        dropout: the dropout of the weights.
        intact: whether nothing else was done to the weights.
        mixed: which of "scores" and "weights" were mixed between heads.
        steps: how many functions made the scores, each of which rounds them.
        coarsest: the dtype of least precision that the scores had.
        version: the tensor's count of changes in place at which all this was true of it; -1 if it doesn't count them.
    """

    query: Tensor
    key: Tensor
    origin: Origin
    at: tuple[int, int] = (-2, -1)
    scale: float = 1.0
    cap: float | None = None
    added: tuple[tuple[Tensor, torch.Size], ...] = ()
    lead: torch.Size | None = None
    known: bool = True
    normaliser: str = ""
    divisor: float = 1.0
    dropout: float = 0.0
    intact: bool = True
    mixed: tuple[str, ...] = ()
    steps: int = 1
    coarsest: torch.dtype = torch.float32
    version: int = -1

    def times(self, factor: float) -> "Followed":
        """After a multiplication by a number."""
        added = tuple((table * factor, lead) for table, lead in self.added)
        if self.cap is None:
            return replace(self, scale=self.scale * factor, added=added)
        return replace(self, cap=self.cap * factor, added=added)

    def plus(self, product: Product, scores: Tensor) -> "Followed":
        """After a function such as baddbmm: the scores are its addend plus a multiple of the product."""
        addend = product.addend
        scaled = self.times(product.factor)
        return scaled if addend is None else _plus(scaled, scores, addend)

    @property
    def transposed(self) -> "Followed":
        """With the keys as queries and the queries as keys."""
        return replace(self, query=self.key, key=self.query, at=self.at[::-1])

    @property
    def unknown(self) -> "Followed":
        """After something that no rule expresses."""
        return replace(self, intact=False) if self.normaliser else replace(self, known=False)

    def rounded(self, result: Tensor) -> "Followed":
        """After a function that rounded its result to the result's dtype."""
        if self.normaliser or not result.is_floating_point():
            return self
        coarsest = max(self.coarsest, result.dtype, key=lambda dtype: torch.finfo(dtype).eps)
        return replace(self, steps=self.steps + 1, coarsest=coarsest)

    @property
    def mixed_between_heads(self) -> "Followed":
        """After a linear map of the heads."""
        kind = "weights" if self.normaliser else "scores"
        return replace(self.unknown, mixed=(*self.mixed, *([] if kind in self.mixed else [kind])))

    def kept(self, result: Any, pairs: tuple[int, int], ndim: int | None) -> "Followed | None":
        """What is known of the result of a function of scores or weights; None if it lost one of their two axes.

        Args:
            result: what the function returned.
            pairs: how many queries and keys there were before.
            ndim: how many axes there were before; None if `at` is already that of the result.
        """
        if not isinstance(result, Tensor) or result.ndim < -min(self.at):
            return None
        queries, keys = (result.shape[axis] for axis in self.at)
        if not self.origin.scored and self.at[1] == -1:
            # Weights of unknown scores: only the keys are known.
            return replace(self, lead=result.shape[:-2] if result.ndim == 4 else None) if keys == pairs[1] else None
        if self.at != (-2, -1):
            return self if (queries, keys) == pairs and ndim in (None, result.ndim) else None
        if queries != pairs[0]:
            return None
        lead = result.shape[:-2] if result.ndim == 4 else self.lead
        # If the keys aren't as many, some were dropped, as extra keys are after the normaliser.
        return replace(self if keys == pairs[1] else self.unknown, lead=lead)


def after(func: Any, tensor: Tensor, node: Followed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed | None:
    """What scores or weights are after a function; None if they aren't followed further.

    Args:
        func: the function.
        tensor: the scores or the weights.
        node: what they are.
        args, kwargs: the arguments of the function, of which the tensor is one.
    """
    name = getattr(func, "__name__", "").strip("_")
    # What does the same to scores and to weights.
    if name in _UNCHANGED:
        return node
    if func in PERMUTATIONS or name in _PERMUTED:
        return _permuted(func, tensor, node, args, kwargs)
    if name == "linear":
        return None if -1 in node.at else node.mixed_between_heads
    if name in _CONVOLUTIONS and node.at == (-2, -1) and _is_of_size_one(args, kwargs):
        return node.mixed_between_heads
    if name == "dropout":
        probability, training = _given(args, kwargs, 1, "p", 0.5), _given(args, kwargs, 2, "training", True)
        return replace(node, dropout=float(probability)) if training and probability else node
    if node.normaliser:
        return _weights_after(name, tensor, node, args)
    return _scores_after(func, name, tensor, node, args, kwargs)


def _weights_after(name: str, tensor: Tensor, node: Followed, args: tuple[Any, ...]) -> Followed:
    factor = _factor(name, tensor, args)
    if node.normaliser == "relu" and factor is not None and factor > 0:
        return replace(node, divisor=node.divisor / factor)
    return node.unknown


def _scores_after(
    func: Any, name: str, tensor: Tensor, node: Followed, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Followed | None:
    # Normalised: they are weights now.
    if getattr(func, "__name__", "") in SOFTMAXES:
        return replace(node, normaliser="softmax") if softmax_axis(tensor, args, kwargs) == node.at[1] else None
    if name in ("relu", "sigmoid"):
        return None if node.origin.is_map else replace(node, normaliser=name)
    # Capped, scaled, shifted, hidden: they are other scores.
    if name == "tanh" and node.cap is None and not node.added:
        return replace(node, cap=1.0)
    if name in _TIMES | _OVER:
        factor = _factor(name, tensor, args)
        return node.unknown if factor is None else node.times(factor)
    other = _other(tensor, args)
    if name in _PLUS | _MINUS and len(args) == 2 and not kwargs and isinstance(other, Tensor | int | float):
        if name in _MINUS and args[0] is not tensor:
            return node.unknown
        table = other if isinstance(other, Tensor) else torch.full((1, 1), float(other))
        return _plus(node, tensor, -table if name in _MINUS else table)
    if name in ("masked_fill", "where"):
        hidden, value = _hidden(name, tensor, args, kwargs)
        if hidden is not None and value is not None:
            return _plus(node, tensor, torch.zeros_like(hidden, dtype=tensor.dtype).masked_fill(hidden, value))
    return node.unknown


def _given(args: tuple[Any, ...], kwargs: dict[str, Any], place: int, name: str, default: Any = None) -> Any:
    """An argument that may be given by its place or by its name."""
    return kwargs.get(name, args[place] if len(args) > place else default)


def softmax_axis(tensor: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """The axis over which a softmax of a tensor sums to 1, counted from the end; None if it isn't given."""
    axis = _given(args, kwargs, 1, "dim")
    return (axis if axis < 0 else axis - tensor.ndim) if isinstance(axis, int) else None


def inserted(
    func: Any, tensor: Tensor, node: Followed, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Followed | None:
    """What a tensor is after a function that only inserts axes of size 1; None if both axes stay in their place.

    If there is a single query, its axis has size 1, and an inserted one can stand in for it: where the keys stay in
    their place, the queries count as staying, too.
    """
    name = getattr(func, "__name__", "")
    if not args or args[0] is not tensor or name not in ("unsqueeze", "__getitem__"):
        return None
    if name == "__getitem__" and not _inserts_only(args[1]):
        return None
    count = tensor.ndim
    shape = func(torch.empty(1).expand(*range(2, count + 2)), *args[1:], **kwargs).shape
    at = tuple(shape.index(axis + count + 2) - len(shape) for axis in node.at)
    stays = at[1] == node.at[1] and (at[0] == node.at[0] or tensor.shape[node.at[0]] == 1)
    return None if stays else replace(node, at=at)


def _inserts_only(index: Any) -> bool:
    indices = index if isinstance(index, tuple) else (index,)
    return all(
        item is None or item is Ellipsis or (isinstance(item, slice) and item == slice(None)) for item in indices
    )


def _permuted(
    func: Any, tensor: Tensor, node: Followed, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Followed | None:
    """What a tensor is after a function that permutes axes, found by permuting one whose axes all differ in size."""
    if not args or args[0] is not tensor:
        return None
    count = tensor.ndim
    shape = func(torch.empty(1).expand(*range(2, count + 2)), *args[1:], **kwargs).shape
    row, column = (shape.index(axis + count + 2) - count for axis in node.at)
    rest = [size for size in shape if size not in (node.at[0] + count + 2, node.at[1] + count + 2)]
    moved = replace(node, at=(row, column))
    # If items and heads changed places, the heads aren't those of the queries any more.
    return moved if rest == sorted(rest) else moved.unknown


def _is_of_size_one(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    weight = _given(args, kwargs, 1, "weight")
    return isinstance(weight, Tensor) and all(size == 1 for size in weight.shape[2:])


def is_learned(tensor: Tensor) -> bool:
    """Whether a tensor is a parameter or a view of one."""
    return isinstance(tensor, nn.Parameter) or isinstance(tensor._base, nn.Parameter)


def _plus(node: Followed, scores: Tensor, table: Tensor) -> Followed:
    if node.at != (-2, -1):
        return node.unknown
    table = table.detach().to(scores.device)
    table = table if table.is_floating_point() else table.to(scores.dtype)
    return replace(node, added=(*node.added, (table, scores.shape[:-2])))


def _hidden(
    name: str, scores: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Tensor | None, float | None]:
    """Which scores are replaced, and by which number; both None unless it is a low one, which hides them."""
    if name == "masked_fill":
        hidden = _given(args, kwargs, 1, "mask")
        value = _number(_given(args, kwargs, 2, "value"))
    else:
        condition, if_true, if_false = (*args, None, None, None)[:3]
        if not isinstance(condition, Tensor):
            return None, None
        hidden, value = (~condition, _number(if_false)) if if_true is scores else (condition, _number(if_true))
    return (hidden, value) if isinstance(hidden, Tensor) and value is not None and value < -1e3 else (None, None)


def _other(tensor: Tensor, args: tuple[Any, ...]) -> Any:
    """The first argument that isn't the tensor."""
    return next((argument for argument in args if argument is not tensor), None)


def _factor(name: str, tensor: Tensor, args: tuple[Any, ...]) -> float | None:
    """The number by which a function multiplies a tensor; None if it doesn't multiply it by one, or by 0."""
    if name not in _TIMES | _OVER or not (number := _number(_other(tensor, args))):
        return None
    if name in _TIMES:
        return number
    return 1 / number if args[0] is tensor else None


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor) and value.numel() == 1:
        return float(value)
    return float(value) if isinstance(value, int | float) else None


def is_either_way(node: Followed | Origin | None) -> TypeGuard[Followed]:
    """Whether only the product with values shows which of the two factors are the keys: no sum over them was seen."""
    return isinstance(node, Followed) and is_relu_like(node) and not node.added


def is_relu_like(node: Followed | Origin) -> bool:
    return (node.normaliser if isinstance(node, Followed) else node.normalised) in ("relu", "sigmoid")


def is_waiting(node: Followed) -> bool:
    return bool(node.normaliser) and not node.origin.recorded
