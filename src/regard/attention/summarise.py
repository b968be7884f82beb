"""`summarise`: statistics of the attention weights, without storing them all."""

import bisect
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.engines import blocked, jit, triton
from regard.attention.engines.blocked.reference import tile_weights
from regard.attention.engines.blocked.summaries import TileSummary, WeightsTile, summarise_tile
from regard.attention.engines.blocked.tile import take
from regard.attention.engines.blocked.tiles import ON_CPU, ON_GPU, Tile
from regard.attention.keywords import NoSuch, refuse_keywords
from regard.attention.precision import no_autocast, wide_dtype
from regard.attention.pytorch_internals import in_transform
from regard.attention.request import Request
from regard.attention.sizes import Index
from regard.attention.validation import selected_rows
from regard.errors import ArgumentError, RefusedError, UnknownNameError

__all__ = ["Summary", "summarise"]

# Tiles hold more numbers than elsewhere, since the keys are read once per tile and only a few numbers per row are kept.
_ON_CPU = ON_CPU._replace(budget=2**21)


@dataclass(frozen=True, repr=False)
class Summary:
    """Statistics of the weights of each head, in the dtype of the weights: float32 or wider. Nothing has a gradient.

    A row is the weights w_j of one query. Its normalised weights are p_j = |w_j| / sum_k |w_k|: for softmax the weights
    themselves; for relu and sigmoid, whose rows need not sum to 1, the weights divided by their sum. A row in which
    nothing is allowed gives zeros, and hidden pairs have no influence.

    Attributes:
        top_index: the keys of the largest weights of each row, the largest first, and the lowest key first among
            equals; -1 where fewer keys are allowed.
        top_weight: their weights; 0 where fewer keys are allowed.
        entropy: -sum_j p_j log p_j, in nats: 0 if one key has all the weight, log n if n keys have the same weight.
        received: the column sums: how much weight each key receives from all rows.
        pooled: the weights summed over the keys of a cell and averaged over those of its queries that may attend to
            anything, so that a row of cells has the same sum as a row of weights. The queries are divided into
            min(pool, queries) cells, cell c starting at c * queries // cells; the keys likewise. Padding belongs to the
            cells too, and adds zeros.
        pooled_max: the largest weight in each cell.
        distance: sum_j p_j |position of key j - position of the query|; positions are counted so that the last query
            has the position of the last key.
        zeros: the fraction of the allowed keys whose weight is exactly 0.
        rows: all weights of the selected queries, or None if none were selected.
    """

    top_index: Int[Tensor, "batch head query top"]
    top_weight: Float[Tensor, "batch head query top"]
    entropy: Float[Tensor, "batch head query"]
    received: Float[Tensor, "batch head key"]
    pooled: Float[Tensor, "batch head query_cell key_cell"]
    pooled_max: Float[Tensor, "batch head query_cell key_cell"]
    distance: Float[Tensor, "batch head query"]
    zeros: Float[Tensor, "batch head query"]
    rows: Float[Tensor, "batch head selected key"] | None = None

    def __str__(self) -> str:
        batch, heads, queries, top = self.top_index.shape
        lines = [f"Summary  batch {batch}, heads {heads}, queries {queries}, keys {self.received.shape[-1]}, top {top}"]
        for field in fields(self):
            tensor = getattr(self, field.name)
            if tensor is not None:
                lines.append(f"  {field.name:<10}  {_shape(tensor):<20}  {_range(tensor)}".rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        held = ((field.name, getattr(self, field.name)) for field in fields(self))
        return f"Summary({', '.join(f'{name}={_shape(tensor)}' for name, tensor in held if tensor is not None)})"


def summarise(
    query: Float[Tensor, "batch head query feature"],
    key: Float[Tensor, "batch key_head key key_feature"],
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    top: int = 8,
    pool: int = 64,
    rows: Sequence[int] | Tensor | None = None,
    engine: str = "auto",
    **unknown: NoSuch,
) -> Summary:
    """Compute statistics of the weights of `attend`, in memory O(n (top + pool)), never O(n^2).

    Args:
        query, key, score, weights, mask, position: as in `attend`; the weights are those before dropout.
        top: how many of the largest weights of each row to keep.
        pool: how many cells the pooled maps have at most, along the queries and along the keys.
        rows: the row numbers of queries whose weights are returned in full.
        engine: "jit" (compiled, on a CPU), "triton" (on a GPU: kernels for what `attend` computes by the engine of this
            name, without the edges of a graph, and for `top` up to 64), "blocked" (plain PyTorch, on every device), or
            "auto": the first that can.

    Raises:
        ArgumentError: an argument can't be used.
        RefusedError: `engine` names an engine that can't do this, or the call is inside torch.compile or torch.func.

    Example:
        >>> query = torch.tensor([[[[1.0, 0, 2], [2, 2, 2], [2, 1, 3]]]])
        >>> key = torch.tensor([[[[0.0, 1, 1], [4, 4, 0], [2, 3, 1]]]])
        >>> seen = summarise(query, key, score="dot", top=1, rows=[0])
        >>> seen.top_index[0, 0, :, 0], seen.received[0, 0]
        (tensor([1, 1, 1]), tensor([0.0637, 2.3309, 0.6055]))
        >>> print(seen)
        Summary  batch 1, heads 1, queries 3, keys 3, top 1
          top_index   (1, 1, 3, 1)
          top_weight  (1, 1, 3, 1)          0.468 to 0.982
          entropy     (1, 1, 3)             0.0902 to 0.885
          received    (1, 1, 3)             0.0637 to 2.33
          pooled      (1, 1, 3, 3)          6.03e-06 to 0.982
          pooled_max  (1, 1, 3, 3)          6.03e-06 to 0.982
          distance    (1, 1, 3)             0.018 to 1.4
          zeros       (1, 1, 3)             0 to 0
          rows        (1, 1, 1, 3)          0.0634 to 0.468
    """
    if unknown:
        refuse_keywords(summarise, unknown)
    if torch.compiler.is_compiling() or in_transform():
        raise RefusedError(
            "`summarise` can't run inside torch.compile, torch.export or a transform of torch.func, because it needs "
            "the values of tensors. Call it outside, on their results."
        )
    for name, count in (("top", top), ("pool", pool)):
        if count < 1:
            raise ArgumentError(f"`{name}` must be 1 or more, but is {count!r}.")
    # Only the weights are needed: values without features cost nothing.
    request = Request.of(
        query,
        key,
        key[..., :0] if isinstance(key, Tensor) else key,
        score=score,
        weights=weights,
        mask=mask,
        position=position,
        dropout=0.0,
        seed=0,
    )
    selected = selected_rows(rows, query.shape[2], query.device)
    chosen = _chosen(request, engine, top)
    with torch.no_grad(), no_autocast(query):
        if chosen == "triton":
            return Summary(**triton.summarise(request, top, pool, selected))
        compiled = chosen == "jit"
        request = request.expanded
        totals = _Totals(request, top, pool, selected)
        passes = _compiled("summaries").summarise_tile if compiled else summarise_tile
        for tile, at, allowed, held in _weighed(request, compiled=compiled):
            totals.add(tile, at, allowed, held, passes)
        return totals.summary()


class _Totals:
    """The statistics of a request, accumulated tile by tile, as (group, ...). A group is one head of one item."""

    def __init__(self, request: Request, top: int, pool: int, selected: Tensor | None):
        self.shape = request.query.shape[:2]
        groups, queries, keys = self.shape.numel(), request.query.shape[2], request.key.shape[2]
        like = request.query.new_zeros((), dtype=wide_dtype(request.query))
        self.bounds = _cell_bounds(queries, pool), _cell_bounds(keys, pool)
        cells = [len(bounds) - 1 for bounds in self.bounds]
        self.top_index = like.new_full((groups, queries, top), -1, dtype=torch.long)
        self.top_weight = like.new_zeros(groups, queries, top)
        self.entropy, self.distance, self.zeros = like.new_zeros(3, groups, queries)
        self.seen = like.new_zeros(groups, queries, dtype=torch.bool)
        # Summed over many tiles, float32 would lose precision.
        self.received = like.new_zeros(groups, keys, dtype=torch.float64)
        self.pooled, self.pooled_max = like.new_zeros(2, groups, *cells)
        self.selected = selected
        self.rows = None if selected is None else like.new_zeros(groups, len(selected), keys)

    def add(self, tile: Tile, at: Index, allowed: Tensor | None, weights: Tensor, passes: Any) -> None:
        """Add one tile of weights, (group, row, column). `passes`: the implementation of `summarise_tile`."""
        keys, positions = at.key.flatten(), at.position.squeeze(-1)
        positions = positions.view(-1, positions.shape[-1])
        cells, top = self._columns(tile), self.top_index.shape[-1]
        found: TileSummary = passes(WeightsTile(weights, allowed, tile.unmasked, keys, positions, cells, top))
        here = tile.groups, tile.rows
        column = found.top_column
        self.top_index[here] = torch.where(column < 0, -1, keys[column.clamp(min=0)])
        self.top_weight[here] = found.top_weight
        self.entropy[here] = found.entropy
        self.distance[here] = found.distance
        self.zeros[here] = found.zeros / found.seen.clamp(min=1)
        self.seen[here] = found.seen > 0
        columns = tile.keys if isinstance(tile.keys, slice) else keys
        self.received[tile.groups, columns] += found.received
        self._pool(tile, found)
        if self.rows is not None and self.selected is not None:
            selected_here = ((self.selected >= tile.rows.start) & (self.selected < tile.rows.stop)).nonzero().squeeze(1)
            row = self.selected[selected_here] - tile.rows.start
            self.rows[tile.groups, selected_here.unsqueeze(1), keys] = weights[:, row]

    def _columns(self, tile: Tile) -> list[int]:
        """Where each cell of keys starts among the tile's columns, and where the last one ends."""
        if isinstance(tile.keys, slice):
            start, stop = tile.keys.start, tile.keys.stop
            return [min(max(bound, start), stop) - start for bound in self.bounds[1]]
        return torch.searchsorted(tile.keys, torch.tensor(self.bounds[1], device=tile.keys.device)).tolist()

    def _pool(self, tile: Tile, found: TileSummary) -> None:
        """Pool the rows' cells over the query cells that the tile's rows belong to."""
        bounds = self.bounds[0]
        first, last = bisect.bisect(bounds, tile.rows.start) - 1, bisect.bisect_left(bounds, tile.rows.stop)
        for cell in range(first, last):
            start, stop = max(bounds[cell], tile.rows.start), min(bounds[cell + 1], tile.rows.stop)
            part = slice(start - tile.rows.start, stop - tile.rows.start)
            self.pooled[tile.groups, cell] += found.sums[:, part].sum(1)
            most = self.pooled_max[tile.groups, cell]
            torch.maximum(most, found.most[:, part].amax(1), out=most)

    def summary(self) -> Summary:
        """All statistics, as (batch, head, ...)."""
        cells = torch.tensor(self.bounds[0], device=self.seen.device)
        before = torch.nn.functional.pad(self.seen.cumsum(1), (1, 0))
        seeing = before[:, cells[1:]] - before[:, cells[:-1]]
        self.pooled /= seeing.clamp(min=1).unsqueeze(-1)
        return Summary(
            *(
                tensor.unflatten(0, self.shape)
                for tensor in (
                    self.top_index,
                    self.top_weight,
                    self.entropy,
                    self.received.to(self.pooled.dtype),
                    self.pooled,
                    self.pooled_max,
                    self.distance,
                    self.zeros,
                )
            ),
            rows=None if self.rows is None else self.rows.unflatten(0, self.shape),
        )


def _weighed(request: Request, *, compiled: bool) -> Iterator[tuple[Tile, Index, Tensor | None, Tensor]]:
    """The weights and the mask, tile by tile."""
    size = _ON_CPU if request.query.device.type == "cpu" else ON_GPU
    if request.safe:
        compiled_parts = _compiled("compiled_parts") if compiled else None
        for work in blocked.walk(request, compiled_parts=compiled_parts, size=size):
            yield work.tile, work.at, work.allowed, work.weights()
        return
    for tile, at in blocked.unsafe_tiles(request, size):
        weights, allowed = tile_weights(
            request, tile, at, take(request.query, tile, "rows"), take(request.key, tile, "keys"), safe=False
        )
        yield tile, at, allowed, weights


def _chosen(request: Request, engine: str, top: int) -> str:
    """The engine that is named, or the first that can."""
    engines = "jit", "triton", "blocked"
    if engine not in ("auto", *engines):
        raise UnknownNameError("engine", engine, ["auto", *engines])
    on_cpu = request.query.device.type == "cpu"
    if engine == "auto":
        # As in `attend`, Triton's interpreter runs only where it is asked for.
        reason = jit.missing() if on_cpu else triton.refuse_summary(request, top)
        return "blocked" if reason is not None else "jit" if on_cpu else "triton"
    reason = None
    if engine == "jit":
        reason = jit.missing() if on_cpu else "its kernels run on the CPU"
    elif engine == "triton":
        reason = triton.refuse_summary(request, top)
    if reason is not None:
        raise RefusedError(
            f"`engine` {engine!r} can't do this request: {reason}. Use engine='auto', which takes one that can."
        )
    return engine


def _compiled(name: str) -> Any:
    """A module that imports Numba, imported when it is first needed."""
    return importlib.import_module(f"regard.attention.engines.jit.{name}")


def _cell_bounds(size: int, pool: int) -> list[int]:
    """Where each of the equal cells starts, and where the last one ends; there are no more cells than items."""
    cells = min(pool, size)
    return [cell * size // cells for cell in range(cells + 1)] if cells else [0]


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(str(size) for size in tensor.shape)})"


def _range(tensor: Tensor) -> str:
    if not tensor.is_floating_point() or not tensor.numel():
        return ""
    return f"{tensor.min().item():.3g} to {tensor.max().item():.3g}"
