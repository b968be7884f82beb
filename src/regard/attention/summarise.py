"""`summarise`: statistics of the attention weights, without storing them all."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.engines import jit, triton
from regard.attention.engines.blocked.statistics import Cells, Totals, totals_of
from regard.attention.keywords import NoSuch, refuse_keywords
from regard.attention.precision import no_autocast
from regard.attention.pytorch_internals import in_transform
from regard.attention.request import Request
from regard.attention.validation import selected_rows
from regard.errors import ArgumentError, RefusedError, UnknownNameError

__all__ = ["Summary", "check_summary", "engine_of", "summarise", "summary_of", "totals_by"]


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

    Of a `Slice` of a larger request, keys have their numbers in `key`, and positions are those of the whole.
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
    check_summary(top, pool)
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
    chosen = engine_of(request, engine, top)
    with torch.no_grad(), no_autocast(query):
        if chosen == "triton":
            return Summary(**triton.summarise(request, top, pool, selected))
        totals = totals_by(chosen, request, Cells.of(pool, query.shape[2], key.shape[2]), top, selected)
    return summary_of(totals, query.shape[:2])


def totals_by(engine: str, request: Request, cells: Cells, top: int, selected: Tensor | None) -> Totals:
    """The statistics of a request, by "jit" or "blocked"."""
    if engine == "blocked":
        return totals_of(request, cells, top, selected)
    # These import Numba.
    passes = importlib.import_module("regard.attention.engines.jit.summaries").summarise_tile
    parts = importlib.import_module("regard.attention.engines.jit.compiled_parts")
    return totals_of(request, cells, top, selected, passes, parts)


def summary_of(totals: Totals, shape: torch.Size) -> Summary:
    """The summary that totals make, for (batch, head) of this shape."""
    pooled = totals.pooled / totals.seeing.clamp(min=1).unsqueeze(-1)
    found = (
        totals.top_index,
        totals.top_weight,
        totals.entropy,
        totals.received.to(pooled.dtype),
        pooled,
        totals.pooled_max,
        totals.distance,
        totals.zeros,
    )
    rows = None if totals.rows is None else totals.rows.unflatten(0, shape)
    return Summary(*(each.unflatten(0, shape) for each in found), rows=rows)


def check_summary(top: int, pool: int) -> None:
    """Check that a summary of this size can be computed here.

    Raises:
        ArgumentError: a number is below 1.
        RefusedError: the call is inside torch.compile or torch.func.
    """
    if torch.compiler.is_compiling() or in_transform():
        raise RefusedError(
            "`summarise` can't run inside torch.compile, torch.export or a transform of torch.func, because it needs "
            "the values of tensors. Call it outside, on their results."
        )
    for name, count in (("top", top), ("pool", pool)):
        if count < 1:
            raise ArgumentError(f"`{name}` must be 1 or more, but is {count!r}.")


def engine_of(request: Request, engine: str, top: int) -> str:
    """The engine that is named, or the first that can.

    Raises:
        RefusedError, UnknownNameError: the one that is named can't, or there is none of that name.
    """
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


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(str(size) for size in tensor.shape)})"


def _range(tensor: Tensor) -> str:
    if not tensor.is_floating_point() or not tensor.numel():
        return ""
    return f"{tensor.min().item():.3g} to {tensor.max().item():.3g}"
