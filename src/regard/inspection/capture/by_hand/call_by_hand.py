"""The call of attention that a product of weights and values is, in the operator's terms: as a rule, or as a table."""

import functools
from typing import Any

import torch
from torch import Tensor

from regard.attention import Bias, Dot, Relu, Sigmoid, weigh
from regard.inspection.capture.by_hand.elementwise import AveragedProduct, Weighted
from regard.inspection.capture.by_hand.fits import are_weights, fits
from regard.inspection.capture.by_hand.followed import Followed
from regard.inspection.capture.by_hand.product import Product, as_multiplied
from regard.inspection.capture.by_hand.rules import AsScores, as_parts
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.functions.scaled_dot_product import leading_axes
from regard.modules.huggingface import SoftCapped

__all__ = ["call_of_average", "call_of_product"]

_NORMALISERS = ("softmax", "sparsemax", "entmax")
_ROWS = 8


def call_of_product(node: Followed, product: Product) -> AttentionCall | None:
    """The call of attention that a product with values is; None if its left operand isn't weights."""
    # Autocast leaves elementwise products as they are.
    is_matrices = not isinstance(product, AveragedProduct)
    weights, value = as_multiplied(product.left, product.right, by_autocast=is_matrices)
    dtypes = [each for each in (node.coarsest, weights.dtype, product.right.dtype) if each.is_floating_point]
    coarsest = max(dtypes, key=lambda dtype: torch.finfo(dtype).eps)
    lead = torch.broadcast_shapes(weights.shape[:-2], value.shape[:-2])
    split = node.lead if len(lead) == 1 and node.lead is not None and node.lead.numel() == lead[0] else lead
    batch, heads = (1, lead[0]) if len(split) == 1 else leading_axes(split)
    queries, keys = weights.shape[-2:]

    def four(tensor: Tensor) -> Tensor:
        if tensor.shape[:-2].numel() != lead.numel():
            tensor = tensor.expand(*lead, *tensor.shape[-2:])
        return tensor.reshape(batch, heads, *tensor.shape[-2:])

    result_dtype, weights, value = weights.dtype, four(weights), four(value)
    # Of weights that a known function made, a sample of rows shows whether the scores follow the rule.
    count = min(queries, _ROWS) if node.normaliser else queries
    rows = torch.linspace(0, queries - 1, count, device=weights.device).long()
    sample = weights[:, :, rows]
    sum_to_one = bool(node.normaliser) or are_weights(sample.float(), node.coarsest)
    # A hard choice by the softmax of the same scores, as of a group for each key, sums to what it is divided by.
    by_normaliser = node.origin.normalised in ("exp", "softmax")
    if not sum_to_one and (not by_normaliser or bool((sample < 0).any())):
        return None
    parts, query, key = None, weights.new_zeros(batch, heads, queries, 1), weights.new_zeros(batch, heads, keys, 1)
    # Of weights that something was done to, the rule isn't known any more.
    follows = (node.known and node.intact) if node.normaliser else sum_to_one
    if follows and _are_shapes_of(node, lead, queries, keys):
        tables = [_four(table, axes, batch, heads, queries, keys) for table, axes in node.added]
        total = functools.reduce(torch.add, tables) if tables else weights.new_zeros(1, 1, 1, 1)
        mask, position = as_parts(total) if tables else (None, None)
        score: Any = Dot(node.scale) if node.cap is None else SoftCapped(node.scale * node.cap, node.cap)
        products = four(node.query), four(node.key)
        sampled = products[0][:, :, rows], products[1]
        for normaliser in [node.normaliser] if node.normaliser else _NORMALISERS:
            tried = {"score": score, "weights": _part_of(normaliser, node), "mask": mask, "position": position}
            added = total if total.shape[2] == 1 else total[:, :, rows]
            if node.dropout or fits(weigh(*products, **tried, rows=rows), sample, node, normaliser, sampled, added):
                parts, (query, key) = tried, products
                break
    notes = []
    if parts is None:
        notes.append(f"{_why(node)}, so {'the weights' if node.mixed else 'they'} are kept as a table of all pairs.")
        parts = {
            "score": Dot(),
            "weights": AsScores(node.normaliser if node.intact else ""),
            "mask": None,
            "position": Bias(weights.detach()),
        }
    # The operator multiplies tensors of one dtype: in the more precise one nothing is lost.
    query, key, value = as_multiplied(query, key, value, by_autocast=False)

    def returned(outputs: Tensor) -> Tensor:
        return product.to_result(outputs.reshape(*lead, *outputs.shape[-2:])).to(result_dtype)

    def outputs(given: Tensor, which: Tensor) -> Tensor:
        # As precise as the least precise step, since nobody can compute it more precisely again.
        return four(product.from_result(given))[:, :, which].to(coarsest)

    return AttentionCall("by hand", query, key, value, parts, node.dropout, returned, outputs, notes=notes)


def _part_of(normaliser: str, node: Followed) -> Any:
    """The normaliser as `regard.attend` takes it, with relu and sigmoid as PyTorch's functions are."""
    if normaliser == "relu":
        return Relu(node.divisor)
    return Sigmoid(0.0) if normaliser == "sigmoid" else normaliser


def call_of_average(product: Weighted, kept: bool) -> AttentionCall | None:
    """The call of attention that a sum of weights times values is; None if the weights don't look like some."""
    node, averaged = product.node, product.product(kept)
    if product.query is None:
        # Which axes the rest are isn't known, so the weights must sum to 1 over the one that is taken for the keys.
        if not are_weights(averaged.left.float(), averaged.left.dtype):
            return None
        left, right = averaged.left, averaged.right.mT
        node = Followed(left, right, product.origin, known=False, normaliser="?", intact=False)
    return call_of_product(node, averaged) if isinstance(node, Followed) else None


def _are_shapes_of(node: Followed, lead: torch.Size, queries: int, keys: int) -> bool:
    """Whether queries and keys fit weights of these sizes.

    As many items and heads may stand in other axes; whether in the same order, the weights tell.
    """
    for tensor, length in ((node.query, queries), (node.key, keys)):
        own = tensor.shape[:-2]
        shared = len(own) <= len(lead) and all(
            size in (1, wanted) for size, wanted in zip(reversed(own), reversed(lead), strict=False)
        )
        if tensor.shape[-2] != length or not (shared or own.numel() == lead.numel()):
            return False
    return True


def _why(node: Followed) -> str:
    if node.mixed:
        return f"Its {' and its '.join(node.mixed)} are mixed between heads"
    return "Its weights follow no known rule"


def _four(table: Tensor, lead: torch.Size, batch: int, heads: int, queries: int, keys: int) -> Tensor:
    """A table that was added to scores (*lead, query, key), as one that broadcasts to (batch, head, query, key)."""
    if len(lead) == 2 or all(size == 1 for size in table.shape[:-2]):
        table = table.reshape((1,) * (4 - table.ndim) + tuple(table.shape)) if table.ndim < 4 else table
        return table if table.ndim == 4 else table.reshape(1, 1, *table.shape[-2:])
    return table.expand(*lead, queries, keys).reshape(batch, heads, queries, keys)
