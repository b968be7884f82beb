"""Attention that a model writes out itself, known by its shape: weights over the last axis are multiplied by values.

Tensors are followed from the product of queries and keys through the operations on the scores to the normaliser, and
from there to the product with the values.
"""

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.attention import Bias, Dot, weigh
from regard.inspection.call import AttentionCall
from regard.inspection.einsum import Product, as_product
from regard.inspection.functions.scaled_dot_product import leading_axes
from regard.inspection.interception_disabled import interception_disabled
from regard.inspection.rules import AsScores, as_parts
from regard.modules.huggingface import SoftCapped

__all__ = ["ByHand"]

_PRODUCTS = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm, torch.einsum}
_UNCHANGED = {
    *("to", "float", "half", "bfloat16", "double", "type", "type_as", "contiguous", "clone", "detach"),
    *("view", "reshape", "unflatten", "flatten", "unsqueeze", "squeeze", "expand", "expand_as", "view_as"),
}
_TIMES = {"mul", "rmul", "imul", "multiply"}
_OVER = {"div", "truediv", "itruediv", "true_divide", "divide"}
_PLUS = {"add", "radd", "iadd"}
_MINUS = {"sub", "isub", "subtract"}
_NORMALISERS = ("softmax", "sparsemax", "entmax")
_ROWS = 8


@dataclass(frozen=True)
class _Followed:
    """A product of queries and keys, and what was done to it since.

    Attributes:
        query, key: (..., query, feature) and (..., key, feature).
        scale: the factor of the product, inside of tanh if there is one.
        cap: the factor of tanh, if the scores went through it.
        added: tables, each with the leading axes that the scores had when it was added.
        lead: the two leading axes, once the scores had four.
        known: whether nothing else was done to the scores.
        normaliser: the function that made weights of them; "" as long as they are scores.
        dropout: of the weights.
        intact: whether nothing else was done to the weights.
    """

    query: Tensor
    key: Tensor
    scale: float = 1.0
    cap: float | None = None
    added: tuple[tuple[Tensor, torch.Size], ...] = ()
    lead: torch.Size | None = None
    known: bool = True
    normaliser: str = ""
    dropout: float = 0.0
    intact: bool = True

    def times(self, factor: float) -> "_Followed":
        added = tuple((table * factor, lead) for table, lead in self.added)
        if self.cap is None:
            return replace(self, scale=self.scale * factor, added=added)
        return replace(self, cap=self.cap * factor, added=added)

    @property
    def unknown(self) -> "_Followed":
        return replace(self, intact=False) if self.normaliser else replace(self, known=False)


class ByHand:
    """Runs functions, and recognises attention among them.

    Args:
        attended: receives a call of attention and a function that runs it, and returns the result.
        gradients: whether calls need gradients, because their outputs may be changed.
    """

    def __init__(self, attended: Callable[[AttentionCall, Callable[[], Any]], Any], gradients: bool = False):
        self._attended, self._gradients = attended, gradients
        self._followed: dict[int, tuple[weakref.ref[Tensor], _Followed]] = {}

    def clear(self) -> None:
        """Forget all tensors."""
        self._followed.clear()

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function."""
        if func in _PRODUCTS:
            return self._product(func, args, kwargs)
        name = getattr(func, "__name__", "")
        if not self._followed or name == "__get__":
            return func(*args, **kwargs)
        found = next(((each, node) for each in _tensors(args, kwargs) if (node := self._node(each)) is not None), None)
        if found is None:
            return func(*args, **kwargs)
        # Before the call, which may change the tensor in place.
        pairs = found[0].shape[-2:]
        with interception_disabled():
            after = _after(name.strip("_"), *found, args, kwargs)
        result = func(*args, **kwargs)
        if after is not None and isinstance(result, Tensor) and result.ndim >= 2 and result.shape[-2] == pairs[0]:
            lead = result.shape[:-2] if result.ndim == 4 else after.lead
            # With fewer keys: some were dropped, as extra keys are after the normaliser.
            self._follow(result, replace(after if result.shape[-1] == pairs[1] else after.unknown, lead=lead))
        return result

    def _product(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with interception_disabled():
            product = as_product(func, args, kwargs)
        if product is None:
            return func(*args, **kwargs)
        node = self._node(product.operand) or self._unfollowed(product.left)
        if node is not None and product.last:
            with interception_disabled(), torch.set_grad_enabled(self._gradients and torch.is_grad_enabled()):
                call = _call(node, product)
            if call is not None:
                return self._attended(call, lambda: func(*args, **kwargs))
        result = func(*args, **kwargs)
        if node is None and product.in_order and isinstance(result, Tensor):
            lead = result.shape[:-2] if result.ndim == 4 else None
            self._follow(result, _Followed(product.left, product.right.mT, lead=lead))
        return result

    def _unfollowed(self, tensor: Tensor) -> _Followed | None:
        """The scores that weights of the same shape were made of by a function that can't be seen."""
        alive = (node for reference, node in self._followed.values() if _alike(reference(), tensor))
        return next((node.unknown for node in alive if not node.normaliser), None)

    def _node(self, tensor: Tensor) -> _Followed | None:
        entry = self._followed.get(id(tensor))
        return entry[1] if entry is not None and entry[0]() is tensor else None

    def _follow(self, tensor: Tensor, node: _Followed) -> None:
        number, followed = id(tensor), self._followed

        def forget(reference: Any) -> None:
            if number in followed and followed[number][0] is reference:
                del followed[number]

        followed[number] = weakref.ref(tensor, forget), node


def _alike(scores: Tensor | None, weights: Tensor) -> bool:
    return scores is not None and scores.shape[-2:] == weights.shape[-2:] and scores.numel() == weights.numel()


def _tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    for each in (*args, *kwargs.values()):
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, list | tuple):
            yield from (one for one in each if isinstance(one, Tensor))


def _after(
    name: str, tensor: Tensor, node: _Followed, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Followed | None:
    """What a tensor is after a function; None if it isn't followed further."""
    if name in _UNCHANGED:
        return node
    if name in ("transpose", "permute", "swapaxes", "t", "movedim"):
        return None
    if name == "dropout":
        training = kwargs.get("training", args[2] if len(args) > 2 else True)
        probability = kwargs.get("p", args[1] if len(args) > 1 else 0.5)
        return replace(node, dropout=float(probability)) if training and probability else node
    if node.normaliser:
        return node.unknown
    if name == "softmax":
        axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
        return replace(node, normaliser="softmax") if axis in (-1, tensor.ndim - 1) else None
    if name in ("relu", "sigmoid"):
        return replace(node, normaliser=name)
    if name == "tanh" and node.cap is None and not node.added:
        return replace(node, cap=1.0)
    other = next((each for each in args if each is not tensor), None)
    if name in _TIMES | _OVER:
        number = _number(other)
        if number is None or (name in _OVER and args[0] is not tensor) or not number:
            return node.unknown
        return node.times(1 / number if name in _OVER else number)
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


def _plus(node: _Followed, scores: Tensor, table: Tensor) -> _Followed:
    table = table.detach().to(scores.device)
    table = table if table.is_floating_point() else table.to(scores.dtype)
    return replace(node, added=(*node.added, (table, scores.shape[:-2])))


def _hidden(
    name: str, scores: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Tensor | None, float | None]:
    """Which scores are replaced, and by which low number."""
    if name == "masked_fill":
        hidden = kwargs.get("mask", args[1] if len(args) > 1 else None)
        value = _number(kwargs.get("value", args[2] if len(args) > 2 else None))
    else:
        condition, yes, no = (*args, None, None, None)[:3]
        if not isinstance(condition, Tensor):
            return None, None
        hidden, value = (~condition, _number(no)) if yes is scores else (condition, _number(yes))
    return (hidden, value) if isinstance(hidden, Tensor) and value is not None and value < -1e3 else (None, None)


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor) and value.numel() == 1:
        return float(value)
    return float(value) if isinstance(value, int | float) else None


def _call(node: _Followed, product: Product) -> AttentionCall | None:
    """The call of attention that a product with values is; None if its left operand isn't weights."""
    weights, value = product.left, product.right
    lead = torch.broadcast_shapes(weights.shape[:-2], value.shape[:-2])
    split = node.lead if len(lead) == 1 and node.lead is not None and node.lead.numel() == lead[0] else lead
    batch, heads = (1, lead[0]) if len(split) == 1 else leading_axes(split)
    queries, keys = weights.shape[-2:]

    def four(tensor: Tensor) -> Tensor:
        return tensor.expand(*lead, *tensor.shape[-2:]).reshape(batch, heads, *tensor.shape[-2:])

    weights, value = four(weights), four(value)
    rows = torch.linspace(0, queries - 1, min(queries, _ROWS), device=weights.device).long()
    sample = weights[:, :, rows].float()
    if not node.normaliser and not _are_weights(sample):
        return None
    parts, query, key = None, weights.new_zeros(batch, heads, queries, 1), weights.new_zeros(batch, heads, keys, 1)
    if node.known or not node.normaliser:
        tables = [_four(table, axes, batch, heads, queries, keys) for table, axes in node.added]
        mask, position = as_parts(sum(tables)) if tables else (None, None)  # pyright: ignore[reportArgumentType]
        score: Any = Dot(node.scale) if node.cap is None else SoftCapped(node.scale * node.cap, node.cap)
        for normaliser in [node.normaliser] if node.normaliser else _NORMALISERS:
            tried = {"score": score, "weights": normaliser, "mask": mask, "position": position}
            products = four(node.query), four(node.key)
            if node.dropout or _fits(weigh(*products, **tried, rows=rows), sample, weights.dtype):
                parts, (query, key) = tried, products
                break
    notes = []
    if parts is None:
        notes.append("Its weights follow no known rule, so they are kept as a table of all pairs.")
        parts = {
            "score": Dot(),
            "weights": AsScores(node.normaliser if node.intact else ""),
            "mask": None,
            "position": Bias(weights.detach()),
        }

    def returned(outputs: Tensor) -> Tensor:
        return product.to_result(outputs.reshape(*lead, *outputs.shape[-2:])).to(product.right.dtype)

    def outputs(given: Tensor, which: Tensor) -> Tensor:
        return four(product.from_result(given))[:, :, which]

    return AttentionCall("by hand", query, key, value, parts, node.dropout, returned, outputs, notes=notes)


def _are_weights(rows: Tensor) -> bool:
    return bool((rows >= 0).all() and ((rows.sum(-1) - 1).abs() < 1e-2).all())


def _fits(computed: Tensor, actual: Tensor, dtype: torch.dtype) -> bool:
    return bool(((computed - actual).abs() <= 8 * torch.finfo(dtype).eps + 1e-5).all())


def _four(table: Tensor, lead: torch.Size, batch: int, heads: int, queries: int, keys: int) -> Tensor:
    """A table that was added to scores (*lead, query, key), as one that broadcasts to (batch, head, query, key)."""
    if len(lead) == 2 or all(size == 1 for size in table.shape[:-2]):
        table = table.reshape((1,) * (4 - table.ndim) + tuple(table.shape)) if table.ndim < 4 else table
        return table if table.ndim == 4 else table.reshape(1, 1, *table.shape[-2:])
    return table.expand(*lead, queries, keys).reshape(batch, heads, queries, keys)
