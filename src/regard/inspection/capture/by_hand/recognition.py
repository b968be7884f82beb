"""Attention that a model writes out itself, known by its shape: weights over the last axis are multiplied by values.

Tensors are followed from the product of queries and keys through the operations on the scores to the normaliser, and
from there to the product with the values, or the elementwise product and its sum over the keys.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.inspection.capture.by_hand.arguments import (
    are_alike,
    changes_in_place,
    is_by_parameter,
    is_in_place,
    outer_of,
    tensors_of,
    unchanged_since,
)
from regard.inspection.capture.by_hand.call_by_hand import call_of_average, call_of_product
from regard.inspection.capture.by_hand.einsum import axes_in_result
from regard.inspection.capture.by_hand.elementwise import Weighted, averaged_axis, weighted
from regard.inspection.capture.by_hand.fits import same_weights
from regard.inspection.capture.by_hand.followed import (
    SOFTMAXES,
    Followed,
    Origin,
    after,
    inserted,
    is_either_way,
    is_learned,
    is_relu_like,
    is_waiting,
    softmax_axis,
)
from regard.inspection.capture.by_hand.product import Product
from regard.inspection.capture.by_hand.products import PRODUCTS, as_product
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.interception_disabled import interception_disabled
from regard.inspection.capture.model_call import ModelCall
from regard.inspection.capture.tensor_map import TensorMap

__all__ = ["ByHand"]

_TIMES = {"mul", "__mul__", "__rmul__", "multiply"}
_UNCHANGED = {"to", "float", "half", "bfloat16", "double", "type", "type_as", "contiguous", "clone"}
_MAPS = {"linear", "addmm"}
_OTHER_PRODUCTS = {"addmm", "addbmm", "baddbmm_", "addmm_", "chain_matmul", "linalg_multi_dot", "mv", "addmv", "kron"}


class ByHand:
    """Runs functions, and recognises attention among them.

    A tensor that is made of scores or weights in a way that can't be followed is lost: of it only the product that it
    came from is known. Where a lost tensor of the same shape is multiplied by values, it is the weights.

    Args:
        attended: receives a call of attention and the model's own call, and returns the result.
        module: gives the name of the module that runs.
        gradients: whether calls need gradients, because their outputs may be changed.
    """

    def __init__(
        self,
        attended: Callable[[AttentionCall, ModelCall], Any],
        module: Callable[[], str | None],
        gradients: bool = False,
    ):
        self._attended, self._module, self._gradients = attended, module, gradients
        self._followed: TensorMap[Followed | Origin] = TensorMap()
        # Elementwise products of weights and values, with the number of changes in place that they had then.
        self._weighted: TensorMap[tuple[Weighted, int]] = TensorMap()
        # Those of queries and keys.
        self._outer: TensorMap[tuple[Product, int]] = TensorMap()
        self._missed: list[Origin] = []

    @property
    def missed(self) -> list[str]:
        """The modules whose weights were multiplied by something in a way that isn't recognised."""
        return list(
            dict.fromkeys(each.module for each in self._missed if each.module is not None and not each.recorded)
        )

    def clear(self) -> None:
        """Forget all tensors."""
        self._followed.clear()
        self._weighted.clear()
        self._outer.clear()

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: ModelCall) -> Any:
        """Run a function.

        Args:
            func, args, kwargs: the function, and what it was called with.
            run: runs it.
        """
        name = getattr(func, "__name__", "")
        if func in PRODUCTS and not (name in _MAPS and is_by_parameter(args, kwargs)):
            return self._product(func, args, kwargs, run)
        if len(self._outer) and (product := unchanged_since(self._outer, args)) is not None:
            return self._added_up(product, func, args, kwargs, run)
        found = self._first(args, kwargs) if len(self._followed) else None
        if found is None:
            return self._begun_by(name, args, kwargs, run())
        if name in _OTHER_PRODUCTS:
            return self._multiplied(func, args, kwargs, run)
        if name in _TIMES and (product := self._weights_times(args, kwargs)) is not None:
            return self._spread(product, run())
        if len(self._weighted) and (product := unchanged_since(self._weighted, args)) is not None:
            return self._averaged(product, func, args, kwargs, run)
        return self._changed(func, args, kwargs, run, *found)

    def _changed(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        run: ModelCall,
        tensor: Tensor,
        node: Followed | Origin,
    ) -> Any:
        """Run a function of scores or weights, and follow what it makes of them."""
        name = getattr(func, "__name__", "")
        origin = node if isinstance(node, Origin) else node.origin
        # Before the call, which may change the tensor in place.
        now: Followed | None = None
        before, pairs, ndim = None, origin.pairs, tensor.ndim
        if isinstance(node, Followed):
            over_queries = name in SOFTMAXES and softmax_axis(tensor, args, kwargs) == node.at[0]
            # A product has two factors, and which of them are the keys shows only now.
            node = node.transposed if over_queries and not node.normaliser and not node.added else node
            pairs = tensor.shape[node.at[0]], tensor.shape[node.at[1]]
            with interception_disabled():
                moved = inserted(func, tensor, node, args, kwargs)
                now = moved or after(func, tensor, node, args, kwargs)
                lost = now is not None and now.at == node.at and (now.known, now.intact) != (node.known, node.intact)
                if lost and not origin.learned:
                    # Something is done to them that no rule expresses; perhaps it leaves them as they are.
                    before = tensor.detach().clone() if is_in_place(name) else tensor.detach()
            if moved is not None:
                ndim = None
        result = run()
        changed = args[0] if name == "__setitem__" else result
        if isinstance(changed, Tensor) and not changed.is_floating_point():
            return result
        with interception_disabled():
            same = before is not None and isinstance(changed, Tensor) and same_weights(before, changed.detach())
            now = node if same and isinstance(node, Followed) else now
            kept = None if now is None else now.kept(changed, pairs, ndim)
        if name == "exp" and not origin.shared and not origin.is_map:
            # The first step of weights that are normalised by hand.
            origin.normalised = origin.normalised or name
        if kept is not None:
            self._follow(changed, kept.rounded(changed))
        else:
            made_by = "softmax" if name in SOFTMAXES else node.normaliser if isinstance(node, Followed) else ""
            origin.normalised = origin.normalised or made_by
            self._lose(changed, origin)
        return result

    def _begun_by(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """Follow the result of a function of tensors that aren't followed, if it may be scores or weights."""
        if name in SOFTMAXES:
            return self._weights_of_unknown(args, kwargs, result)
        if name in _TIMES and (product := outer_of(args, kwargs)) is not None:
            self._outer[result] = product, changes_in_place(result)
        if name == "linalg_vecdot" and (product := outer_of(args, kwargs)) is not None:
            return self._begun(product, result)
        return result

    def _weights_of_unknown(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        """Follow weights over the last axis that a softmax made of scores that aren't known."""
        scores = args[0] if args else kwargs.get("input")
        known = isinstance(scores, Tensor) and isinstance(result, Tensor) and result.ndim > 1
        if known and softmax_axis(result, args, kwargs) == -1:
            origin = Origin(self._module(), (result.shape[-2], result.shape[-1]), learned=False, scored=False)
            lead = result.shape[:-2] if result.ndim == 4 else None
            nothing = result.new_zeros(0, 1)
            node = Followed(nothing, nothing, origin, lead=lead, known=False, normaliser="softmax")
            self._follow(result, node)
        return result

    def _follow(self, tensor: Tensor, node: Followed) -> None:
        self._followed[tensor] = replace(node, version=changes_in_place(tensor))

    def _weights_times(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Weighted | None:
        """The weights and values whose elementwise product a product is; None if it is none."""
        if kwargs or len(args) != 2 or not all(isinstance(each, Tensor) for each in args):
            return None
        for tensor, other in (args, args[::-1]):
            node = self._node(tensor)
            if node is None or not self._is_open(node):
                continue
            found = weighted(node, tensor, other)
            if found is None and is_either_way(node):
                found = weighted(node.transposed, tensor, other)
            if found is not None:
                return found
        return None

    def _spread(self, product: Weighted, result: Tensor) -> Tensor:
        """Follow an elementwise product of weights and values."""
        self._lose(result, product.origin)
        self._weighted[result] = product, changes_in_place(result)
        return result

    def _averaged(
        self, product: Weighted, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: ModelCall
    ) -> Any:
        """Run a function of an elementwise product of weights and values, which may be the sum over the keys."""
        name, origin = getattr(func, "__name__", ""), product.origin
        if name in _UNCHANGED:
            return self._spread(product, run())
        with interception_disabled():
            axis = averaged_axis(func, args[0], args, kwargs)
        if axis is None or axis[0] != product.key or not self._is_open(product.node):
            return self._changed(func, args, kwargs, run, args[0], origin)
        call = None
        if name == "sum" and product.is_expressible:
            with interception_disabled(), torch.set_grad_enabled(self._gradients and torch.is_grad_enabled()):
                call = call_of_average(product, kept=axis[1])
        if call is not None:
            origin.recorded = True
            return self._attended(call, run)
        # A router's experts have outputs of their own for each item, as have the keys of a window.
        if not origin.shared and (product.own or name != "sum" or not product.is_expressible):
            origin.missed = True
            self._missed.append(origin)
        return self._changed(func, args, kwargs, run, args[0], origin)

    def _added_up(
        self, product: Product, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: ModelCall
    ) -> Any:
        """Run a function of an elementwise product of queries and keys, which may be the sum over the features."""
        axis = averaged_axis(func, args[0], args, kwargs)
        result = run()
        return (
            self._begun(product, result) if getattr(func, "__name__", "") == "sum" and axis == (-1, False) else result
        )

    def _product(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: ModelCall) -> Any:
        with interception_disabled():
            product = as_product(func, args, kwargs)
            found = None if product is None else self._weights_in(product)
        if found is not None:
            node, product = found
            with interception_disabled(), torch.set_grad_enabled(self._gradients and torch.is_grad_enabled()):
                call = call_of_product(node, product)
            if call is not None:
                node.origin.recorded = True
                return self._attended(call, run)
            if node.normaliser == "?" and bool((product.left < 0).any()):
                # No weights, but for example products that decay with the distance, as in linear attention.
                node.origin.normalised = ""
        followed = self._first(args, kwargs)
        if followed is None:
            return run() if product is None else self._begun(product, run())
        if product is None and getattr(func, "__name__", "") == "linear":
            return self._changed(func, args, kwargs, run, *followed)
        return self._multiplied(func, args, kwargs, run, product)

    def _begun(self, product: Product, result: Any) -> Any:
        """Follow the result of a product, which may be one of queries and keys."""
        if not isinstance(result, Tensor) or not result.is_floating_point():
            return result
        queries, keys = product.left.shape[-2], product.right.shape[-1]
        learned = is_learned(product.operand) or is_learned(product.other)
        shared = min(product.operand.ndim, product.other.ndim) == 2
        origin = Origin(self._module(), (queries, keys), learned, shared, product.is_map)
        lead = result.shape[:-2] if result.ndim == 4 and product.in_order else None
        with interception_disabled():
            # Autocast multiplies in another precision than that of the tensors.
            query, key = (each.to(result.dtype) for each in (product.left, product.right.mT))
            node = Followed(query, key, origin, product.result_at, lead=lead, coarsest=result.dtype)
            self._follow(result, node.times(product.factor) if product.addend is None else node.plus(product, result))
        return result

    def _weights_in(self, product: Product) -> tuple[Followed, Product] | None:
        """The weights, or what may be weights, in a product with values, and the product with them on its left."""
        if not product.is_plain:
            return None
        node = self._node(product.operand)
        if isinstance(node, Followed) and not node.origin.scored:
            # Of weights of unknown scores only the axis of the keys is known.
            return (node, product) if node.at[1] == product.at[1] and self._may_be_values(product.other) else None
        if isinstance(node, Followed) and node.at == product.at:
            return node, product
        if is_either_way(node) and node.at[::-1] == product.at:
            return node.transposed, product
        other = self._node(product.other)
        # Weights on the right are rarely attention: only where no product had them on its left.
        if isinstance(other, Followed) and other.at == product.other_at and is_waiting(other):
            return other, product.mirrored
        for which, side in ((node, product), (other, product.mirrored)):
            if which is None or not self._is_open(which) or is_learned(side.other) or _sums_scores(which, side):
                continue
            origin = which.origin if isinstance(which, Followed) else which
            if tuple(side.left.shape[-2:]) in (origin.pairs, origin.pairs[::-1]):
                return Followed(side.left, side.right.mT, origin, known=False, normaliser="?", intact=False), side
        unfollowed = self._unfollowed(product.left)
        return None if unfollowed is None else (unfollowed, product)

    def _may_be_values(self, tensor: Tensor) -> bool:
        """Whether a tensor may be values of weights whose scores aren't known: no parameter, and no product of others.

        Linear attention multiplies a softmax over the features by the product of keys and values.
        """
        node = self._node(tensor)
        by_parameter = isinstance(node, Followed) and node.origin.learned
        return not is_learned(tensor) and (node is None or by_parameter)

    def _is_open(self, node: Followed | Origin | None) -> bool:
        """Whether a product with values in this module could be the one that is waited for."""
        if node is None:
            return False
        origin = node.origin if isinstance(node, Followed) else node
        normalised = origin.normalised or (isinstance(node, Followed) and node.normaliser)
        return bool(normalised) and not origin.recorded and not origin.learned and origin.module == self._module()

    def _multiplied(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        run: ModelCall,
        product: Product | None = None,
    ) -> Any:
        """Run a product of scores or weights that isn't one of weights with values, as far as can be seen."""
        tensors = list(tensors_of(args, kwargs))
        number, tensor, node = next(
            (number, each, node) for number, each in enumerate(tensors) if (node := self._node(each)) is not None
        )
        result = run()
        mixed = self._mixed(node, tensor, number, args, kwargs, result) if func in PRODUCTS else None
        if mixed is not None:
            self._follow(result, mixed)
            return result
        origin = node.origin if isinstance(node, Followed) else node
        learned = any(is_learned(each) for each in tensors)
        of_scores = product is not None and (_sums_scores(node, product) or _sums_scores(node, product.mirrored))
        if self._is_open(node) and not learned and not of_scores and self._could_be_missed(node, tensor):
            origin.missed = True
            self._missed.append(origin)
        elif learned and isinstance(node, Origin):
            self._lose(result, origin)
        elif product is not None:
            # What seemed to be scores were queries or keys: a linear map may be written as a product.
            self._begun(product, result)
        return result

    def _could_be_missed(self, node: Followed | Origin, tensor: Tensor) -> bool:
        """Whether the product of a tensor that was made of weights may be one with values."""
        origin = node.origin if isinstance(node, Followed) else node
        if not origin.scored:
            return False
        made_by = node.normaliser if isinstance(node, Followed) else origin.normalised
        by_softmax = (made_by or origin.normalised) == "softmax"
        return set(origin.pairs) <= set(tensor.shape) or (by_softmax and not origin.shared and not origin.is_map)

    def _mixed(
        self,
        node: Followed | Origin,
        tensor: Tensor,
        number: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
    ) -> Followed | None:
        """Scores or weights that a product made of others, if it summed over heads."""
        if not isinstance(node, Followed) or kwargs:
            return None
        with interception_disabled():
            at = axes_in_result(args, number, node.at)
            pairs = tensor.shape[node.at[0]], tensor.shape[node.at[1]]
            there = at is not None and isinstance(result, Tensor) and result.ndim >= -min(at)
            if at is None or not there or (result.shape[at[0]], result.shape[at[1]]) != pairs:
                return None
        return replace(node.mixed_between_heads, at=at)

    def _unfollowed(self, tensor: Tensor) -> Followed | None:
        """The scores that weights of the same shape were made of by a function that can't be seen."""
        alive = (
            node
            for scores, node in self._followed.items()
            if isinstance(node, Followed) and node.at == (-2, -1) and are_alike(scores, tensor)
        )
        return next((node.unknown for node in alive if not node.normaliser), None)

    def _first(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, Followed | Origin] | None:
        """The first argument that is followed, or else the first that is lost."""
        lost = None
        for each in tensors_of(args, kwargs):
            node = self._node(each)
            if isinstance(node, Followed):
                return each, node
            lost = lost or (None if node is None else (each, node))
        return lost

    def _node(self, tensor: Tensor) -> Followed | Origin | None:
        node = self._followed.get(tensor)
        if isinstance(node, Followed) and node.version not in (-1, changes_in_place(tensor)):
            # Changed through a view of it.
            return node.unknown
        return node

    def _lose(self, result: Any, origin: Origin) -> None:
        if origin.recorded or origin.learned:
            return
        for each in result if isinstance(result, list | tuple) else (result,):
            if isinstance(each, Tensor) and each.ndim > 1 and each.is_floating_point():
                self._followed[each] = origin


def _sums_scores(node: Followed | Origin, product: Product) -> bool:
    """Whether a product sums scores over the heads, as an indexer does that chooses keys for the attention after it.

    Scores through relu look like weights, but there is one feature for each of them.
    """
    return is_relu_like(node) and product.right.shape[-1] == 1
