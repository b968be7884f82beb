"""The weights of a layer as arrays of a page, in the smallest form from which the page can show any of them.

- vectors: queries and keys of each head as they were multiplied, with scale, bias and mask as rules, and the logarithm
  of the sum of exp(score) of each row. A weight is exp(scale q . k + bias - log_sum). Linear in the length.
- weights: the table, for short inputs and for scores that aren't products.
- the largest weights of each row, where neither fits.
- an overview, which large layers have besides.

The vectors are compared with the record's own weights before they are used, since they are rounded.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.attention import Dot, ScaledDot
from regard.attention.parts import select
from regard.attention.positions import Both, OffsetBias, RelativeKeys, RelativeValues
from regard.attention.request import Request
from regard.inspection.capture.by_hand.rules import AsScores
from regard.inspection.record.record import LayerRecord
from regard.inspection.record.seen_layer import SeenLayer
from regard.page.arrays import Arrays

__all__ = [
    "OVERVIEW",
    "JoinedCells",
    "are_products",
    "equal_weights",
    "hidden_pairs",
    "joined_cells",
    "mean_rows",
    "overview",
    "pairs_of_page",
    "top_rows",
    "vectors",
    "weights_table",
]

OVERVIEW = 128
"""The most rows and columns of an overview."""

# Tables of pairs up to this size are kept where a mask or a bias follows no rule.
_MOST_PAIRS = 2**18
_TOLERANCE = 1e-3
_ROWS = 32
_ROWS_OF_A_CELL = 8


def weights_table(layer: LayerRecord, arrays: Arrays, dtype: Any = np.float32) -> dict[str, Any]:
    """The weights themselves, (head, query, key)."""
    return {"table": arrays.add(layer.weights().numpy().astype(dtype))}


def overview(layer: LayerRecord, arrays: Arrays) -> dict[str, Any]:
    """The weights of each head in at most 128 x 128 cells: summed over keys and averaged over queries, so that a row
    still sums to what it summed; and beside each sum the largest single weight in the cell. Of the queries of a cell
    eight are taken, evenly spaced.
    """
    cells = joined_cells(layer, OVERVIEW, _ROWS_OF_A_CELL)
    sums = cells.sums
    return {
        "overview": arrays.add(sums.numpy().astype(np.float16)),
        "largest": arrays.add(cells.largest.numpy().astype(np.float16)),
        "overview_high": float(sums[sums.isfinite()].amax()) if sums.isfinite().any() else 0.0,
        "rows_joined": cells.tall,
        "keys_joined": cells.wide,
        "rows_taken": cells.taken,
    }


class JoinedCells(NamedTuple):
    """The weights of each head, joined into cells.

    Args:
        sums: (head, row, column), summed over the keys of a cell and averaged over its queries.
        largest: (head, row, column), the largest single weight in each cell.
        tall, wide: how many queries and keys a cell joins; those at the end may join fewer.
        taken: how many of the queries of a cell were looked at.
    """

    sums: Tensor
    largest: Tensor
    tall: int
    wide: int
    taken: int


def joined_cells(layer: LayerRecord, most: int, rows_of_a_cell: int | None = None) -> JoinedCells:
    """The weights of each head in at most so many rows and columns of cells.

    Args:
        layer: the layer.
        most: the most rows and columns.
        rows_of_a_cell: so many queries of a cell are looked at, evenly spaced; None: all.

    Example:
        >>> layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]))
        >>> cells = joined_cells(layer, 1)
        >>> cells.sums.tolist(), cells.largest.tolist(), cells.tall
        ([[[1.0]]], [[[0.75]]], 2)
    """
    queries, keys = layer.shape
    tall, wide = (max(1, -(-size // most)) for size in (queries, keys))
    rows, columns = -(-queries // tall), -(-keys // wide)
    apart = 1 if rows_of_a_cell is None else -(-tall // rows_of_a_cell)
    sums, largest = torch.zeros(layer.heads, rows, columns), torch.zeros(layer.heads, rows, columns)
    for row in range(rows):
        which = range(row * tall, min(queries, (row + 1) * tall), apart)
        found = torch.nn.functional.pad(layer.weights(which), (0, columns * wide - keys))
        found = found.unflatten(2, (columns, wide))
        sums[:, row], largest[:, row] = found.sum(-1).mean(1), found.amax((1, 3))
    return JoinedCells(sums, largest, tall, wide, len(range(0, tall, apart)))


def mean_rows(layer: LayerRecord) -> np.ndarray:
    """The average of all rows of each head, (head, key)."""
    found = sum(block.double().sum(1) for block in layer.blocks())
    return (found / max(1, layer.shape[0])).numpy()  # pyright: ignore[reportAttributeAccessIssue]


def top_rows(layer: LayerRecord, heads: Sequence[int | None], most: int, arrays: Arrays) -> list[dict[str, Any]]:
    """The largest weights of each row of some heads, the largest first, with their keys.

    Args:
        layer: the layer.
        heads: which heads; None: their average.
        most: how many of each row.
        arrays: where they are added.
    """
    queries, keys = layer.shape
    most, index = min(most, keys), np.uint16 if keys <= 2**16 else np.int32
    found = [(np.zeros((queries, most), index), np.zeros((queries, most), np.float16)) for _ in heads]
    first = 0
    for block in layer.blocks():
        rows = slice(first, first + block.shape[1])
        for head, (at, weights) in zip(heads, found, strict=True):
            largest = (block.mean(0) if head is None else block[head]).topk(most)
            at[rows], weights[rows] = largest.indices.numpy().astype(index), largest.values.numpy()
        first = rows.stop
    return [
        {"head": head, "keys": arrays.add(at), "weights": arrays.add(weights)}
        for head, (at, weights) in zip(heads, found, strict=True)
    ]


def hidden_pairs(layer: LayerRecord) -> dict[str, np.ndarray] | None:
    """Which keys each query may attend to: {} for all, an interval ("start" and "stop"), or a table ("pair").

    None if it isn't known, or the table would be too large.
    """
    several = layer.query_bounds is not None or layer.key_bounds is not None
    if layer.along != "head" or len(layer.calls) != 1 or several:
        return None
    call, (queries, keys) = layer.calls[0], layer.shape
    with torch.no_grad():
        request = Request.of(call.query, call.key, call.value, **call.parts, dropout=0.0, seed=0)
        if request.hides_nothing and (queries, keys) == (call.query.shape[2], call.key.shape[2]):
            return {}
        spans = request.spans
        if spans.exact and len(spans.outer) == 1:
            start, stop = (
                each.expand(call.query.shape[0], call.query.shape[2])[layer.item, :queries].clamp(max=keys).cpu()
                for each in spans.outer[0]
            )
            return {"start": start.int().numpy(), "stop": stop.int().numpy()}
        if layer.heads * queries * keys > _MOST_PAIRS:
            return None
        allowed = (equal_weights(layer).weights()[:, :queries, :keys] > 0).byte().cpu().numpy()
    # One table may stand for all heads.
    return {"pair": allowed[:1] if (allowed == allowed[:1]).all() else allowed}


def pairs_of_page(layer: LayerRecord, known: dict[str, np.ndarray] | None) -> dict[str, np.ndarray]:
    """Which keys a page tells to be masked: as `hidden_pairs`, and where several calls or queries are one, as a table.

    Args:
        known: the `hidden_pairs` of the layer.
    """
    if known is not None:
        return known
    is_small = layer.heads * math.prod(layer.shape) <= _MOST_PAIRS
    if not is_small or all(call.mask is None for call in layer.calls):
        return {}
    return {"pair": (equal_weights(layer).weights() > 0).byte().cpu().numpy()}


def equal_weights(layer: LayerRecord) -> LayerRecord:
    """A layer of equal scores, whose weights by softmax are above 0 where the mask allows the pair."""
    return replace(
        layer,
        calls=tuple(
            replace(
                call,
                query=torch.zeros_like(call.query[..., :1]),
                key=torch.zeros_like(call.key[..., :1]),
                score=Dot(),
                normaliser="softmax",
                position=None,
            )
            for call in layer.calls
        ),
    )


def are_products(layer: LayerRecord, mask: dict[str, np.ndarray] | None) -> bool:
    """Whether weights are those of inner products, of which a page can keep the vectors.

    Args:
        mask: the `hidden_pairs` of the layer.
    """
    if layer.along != "head" or len(layer.calls) != 1 or mask is None:
        return False
    call = layer.calls[0]
    request = Request.of(call.query, call.key, call.value, **call.parts, dropout=0.0, seed=0)
    return call.normaliser == "softmax" and type(request.parts.score) in (Dot, ScaledDot)


def vectors(
    layer: LayerRecord, arrays: Arrays, heads: list[int], dtype: Any, mask: dict[str, np.ndarray] | None
) -> dict[str, Any] | None:
    """Queries and keys of some heads with the rules between them; None if the weights aren't those of products.

    Args:
        mask: the `hidden_pairs` of the layer.
    """
    found = _vectors_of(layer, heads, dtype, mask) if len(layer.calls) == 1 else _joined(layer, heads, dtype)
    if found is None:
        return None
    log_sums = found.log_sums()
    rounded = log_sums.astype(np.float32)
    rest = np.subtract(log_sums, rounded, out=np.zeros_like(log_sums), where=np.isfinite(log_sums))
    if not found.agrees(log_sums, layer, heads):
        return None
    return {
        "heads": heads,
        "query": arrays.add(found.query.astype(dtype)),
        "key": arrays.add(found.key.astype(dtype)),
        "scale": found.scale,
        # In two parts, since a weight of 1 would else print as ">99%" where scores are large.
        "log_sum": arrays.add(rounded),
        "log_sum_rest": arrays.add(rest.astype(np.float32)),
        "bias": {n: arrays.add(each) if isinstance(each, np.ndarray) else each for n, each in found.bias.items()},
    }


def _vectors_of(
    layer: LayerRecord, heads: list[int], dtype: Any, mask: dict[str, np.ndarray] | None
) -> "_Vectors | None":
    """The vectors of a layer with one call."""
    if mask is None or not are_products(layer, mask):
        return None
    call = layer.calls[0]
    request = Request.of(call.query, call.key, call.value, **call.parts, dropout=0.0, seed=0)
    item, (queries, keys) = layer.item, layer.shape
    with torch.no_grad():
        query, key = _turned(request, item)
        query, key = (each[heads].numpy().astype(dtype) for each in (query[:, :queries], key[:, :keys]))
        score: Any = request.parts.score
        scale = float(score.scale) if isinstance(score, Dot) else call.query.shape[3] ** -0.5
        bias = _bias(call, request, layer, heads, query)
    if bias is None:
        return None
    if "pair" in mask and len(mask["pair"]) > 1:
        mask = {"pair": mask["pair"][heads]}
    found = _Vectors(query, key, scale, bias, mask)
    if not bias and request.parts.position.overrides("scores"):
        # What the products leave of the scores.
        scores = replace(call, normaliser=AsScores(), mask=None).weights()[item][heads, :queries, :keys].numpy()
        found.bias = {
            "pair": (scores - _Vectors(query, key, scale, {}, {}).scores(np.arange(queries))).astype(np.float32)
        }
    return found


def _joined(layer: LayerRecord, heads: list[int], dtype: Any) -> "_Vectors | None":
    """The vectors of several calls, members of an ensemble or steps over the same keys, if they are as those of one."""
    is_small = layer.heads * math.prod(layer.shape) <= _MOST_PAIRS
    if layer.query_bounds or layer.key_bounds or not is_small or heads != list(range(layer.heads)):
        return None
    calls = [replace(layer, calls=(call,), along="head") for call in layer.calls]
    found = [_vectors_of(each, list(range(each.heads)), dtype, {}) for each in calls]
    parts = [each for each in found if each is not None]
    if len(parts) < len(calls) or len({each.scale for each in parts}) > 1:
        return None
    first, axis = parts[0], 0 if layer.along == "head" else 1
    bias = _joined_bias([each.bias for each in parts], axis)
    if bias is None or (axis and not all(np.array_equal(each.key, first.key) for each in parts)):
        return None
    key = first.key if axis else np.concatenate([each.key for each in parts])
    query = np.concatenate([each.query for each in parts], axis)
    return _Vectors(query, key, first.scale, bias, pairs_of_page(layer, None))


def _joined_bias(parts: list[dict[str, Any]], axis: int) -> dict[str, Any] | None:
    """What positions add to the scores of several calls; None if that isn't of one form. axis: 0, heads; 1, queries."""
    first = parts[0]
    numbers = {name: each for name, each in first.items() if not isinstance(each, np.ndarray)}
    alike = all(each.keys() == first.keys() and numbers.items() <= each.items() for each in parts)
    if not alike or (axis and "distance" in first):
        return None
    arrays = first.keys() - numbers
    return numbers | {name: np.concatenate([each[name] for each in parts], axis) for name in arrays}


def _turned(request: Request, item: int) -> tuple[Tensor, Tensor]:
    """Queries and keys (head, item, feature) of one item of the batch, rotated as the position scheme does."""
    request = request.expanded
    query, key = request.query[item].float(), request.key[item].float()
    heads = torch.arange(len(query), device=query.device)
    row, column = (torch.arange(each.shape[1], device=query.device)[None] for each in (query, key))
    position = row + (key.shape[1] - query.shape[1])
    query, key = select(request.parts.position, heads).heads(query, key, position, column)
    return query.cpu(), key.cpu()


def _bias(
    call: SeenLayer, request: Request, layer: LayerRecord, heads: list[int], products: np.ndarray
) -> dict[str, Any] | None:
    """What the position adds to the scores: nothing, a number for each distance (the same for each query, or each
    query's own, for the distances up to a reach), or a number for each pair.
    """
    position, (queries, keys) = request.parts.position, layer.shape
    if not position.overrides("scores"):
        return {}
    which = torch.tensor(heads)
    if isinstance(position, OffsetBias):
        offsets = torch.arange(1 - call.key.shape[2], call.key.shape[2])[None, None]
        line = select(position, which).bias(offsets).float().expand(-1, 1, -1)[:, 0]
        # The distance of the last query, at the position of the last key, and the first key comes first.
        return {"distance": line.cpu().numpy(), "first": call.key.shape[2] - 1}
    relative = (
        position.first if isinstance(position, Both) and isinstance(position.second, RelativeValues) else position
    )
    if isinstance(relative, RelativeKeys):
        table, query = select(relative, which).table.float().cpu(), torch.from_numpy(products.astype(np.float32))
        near = query @ table.mT * query.shape[-1] ** -0.5
        return {"near": near.numpy().astype(products.dtype), "reach": table.shape[-2] // 2}
    if layer.heads * queries * keys > _MOST_PAIRS:
        return None
    return {}


class _Vectors:
    """The arrays, as the page computes with them."""

    def __init__(
        self, query: np.ndarray, key: np.ndarray, scale: float, bias: dict[str, Any], mask: dict[str, np.ndarray]
    ):
        self.query, self.key = query.astype(np.float64), key.astype(np.float64)
        self.scale, self.bias, self.mask = scale, bias, mask

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """(head, row, key); minus infinity where the mask hides."""
        keys = np.arange(self.key.shape[1])
        found = self.scale * self.query[:, rows] @ self.key.transpose(0, 2, 1)
        if "distance" in self.bias:
            position = rows + self.key.shape[1] - self.query.shape[1]
            found = found + self.bias["distance"][:, keys[None] - position[:, None] + self.bias["first"]]
        if "near" in self.bias:
            position, reach = rows + self.key.shape[1] - self.query.shape[1], self.bias["reach"]
            at = np.clip(keys[None] - position[:, None], -reach, reach) + reach
            found = found + np.take_along_axis(self.bias["near"][:, rows], np.broadcast_to(at, found.shape), -1)
        if "pair" in self.bias:
            found = found + self.bias["pair"][:, rows]
        if "start" in self.mask:
            start, stop = (self.mask[name][rows][:, None] for name in ("start", "stop"))
            found = np.where((keys >= start) & (keys < stop), found, -np.inf)
        if "pair" in self.mask:
            table = self.mask["pair"]
            found = np.where(table[:, rows] > 0, found, -np.inf)
        return found

    def log_sums(self) -> np.ndarray:
        """(head, query); minus infinity for a query that may attend to nothing."""
        queries = self.query.shape[1]
        found = np.full((len(self.query), queries), -np.inf)
        few = max(1, 2**22 // max(1, len(self.query) * self.key.shape[1]))
        for first in range(0, queries, few):
            rows = np.arange(first, min(queries, first + few))
            scores = self.scores(rows)
            most = np.maximum(scores.max(-1, initial=-np.inf), -1e300)
            with np.errstate(divide="ignore"):
                found[:, rows] = most + np.log(np.exp(scores - most[..., None]).sum(-1))
        return found

    def agrees(self, log_sums: np.ndarray, layer: LayerRecord, heads: list[int]) -> bool:
        """Whether some rows are those of the record."""
        queries = self.query.shape[1]
        rows = np.unique(np.linspace(0, queries - 1, min(_ROWS, queries)).astype(int))
        own = layer.weights(rows.tolist())[heads].numpy()
        sums = log_sums[:, rows][..., None]
        with np.errstate(invalid="ignore"):
            found = np.where(np.isneginf(sums), 0.0, np.exp(self.scores(rows) - sums))
        return bool(np.abs(found - own).max(initial=0.0) <= _TOLERANCE)
