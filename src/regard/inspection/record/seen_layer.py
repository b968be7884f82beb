"""One call of attention of a watched model: queries, keys and values as they were multiplied, and the rules.

Nothing here grows with the square of the length: any weight can be computed again.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import Bias, Causal, Dot, Summary, attend, attend_rows, summarise, weigh
from regard.attention.masks import as_mask
from regard.errors import ArgumentError
from regard.inspection.capture.by_hand.rules import AsScores
from regard.inspection.capture.interception_disabled import interception_disabled
from regard.inspection.explain.differences import largest, largest_difference
from regard.inspection.record.effective import Effective, Gated, StateSpace
from regard.inspection.record.part_text import part_text
from regard.inspection.steps.steps import Steps, check_index
from regard.inspection.steps.steps import steps as steps_of_attention

__all__ = ["SeenLayer", "checked_layer"]

# Weights in memory at once, unless a single row of all items and heads has more.
_BUDGET = 2**22
# Effective weights of channels that are computed at once: a gigabyte.
_MOST_EFFECTIVE = 2**28


@dataclass(eq=False)
class SeenLayer:
    """One call of attention.

    Attributes:
        name: the module inside the model, such as "encoder.layers.0.self_attn".
        function: the function that it called; "by hand" if it wrote attention out.
        query: (batch, head, query, feature), as it was multiplied: after projection and rotation.
        key, value: (batch, key_head, key, feature).
        score, normaliser, mask, position: the parts, as `regard.attend` takes them.
        dropout: the fraction of the weights that was set to 0 at random.
        rows: the numbers of some queries, evenly spaced.
        outputs: what the layer gave for them, (batch, head, row, feature); with a projection, (batch, row, width).
        projection: weight and bias of the linear map of the joined heads that `outputs` went through.
        notes: sentences about what is special.
        removed: whether heads were changed in a way that the parts don't express; see
            `regard.inspection.explain.changes`.
        after: what a state-space layer did to the outputs of the heads; `outputs` are those after it.
    """

    name: str
    function: str
    query: Tensor
    key: Tensor
    value: Tensor
    score: Any
    normaliser: Any
    mask: Any
    position: Any
    dropout: float
    rows: Tensor
    outputs: Tensor
    projection: tuple[Tensor, Tensor | None] | None = None
    notes: list[str] = field(default_factory=list)
    removed: bool = False
    after: Gated | None = None

    @classmethod
    def of_weights(cls, name: str, weights: Tensor, normaliser: str = "", value: Tensor | None = None) -> "SeenLayer":
        """A layer of known weights (batch, head, query, key), kept as a table, whose outputs aren't known.

        Args:
            name: the module.
            weights: the weights.
            normaliser: the function that made them; "" if it is unknown.
            value: (batch, head, key, feature); None: without features.
        """
        batch, heads, queries, keys = weights.shape
        query, key = (weights.new_zeros(batch, heads, size, 1) for size in (queries, keys))
        value = weights.new_zeros(batch, heads, keys, 0) if value is None else value
        nothing = torch.arange(0, device=weights.device), value[:, :, :0]
        return cls(name, "a table", query, key, value, Dot(), AsScores(normaliser), None, Bias(weights), 0.0, *nothing)

    @property
    def parts(self) -> dict[str, Any]:
        """The parts, as arguments of `regard.attend`."""
        return {"score": self.score, "weights": self.normaliser, "mask": self.mask, "position": self.position}

    @property
    def is_part(self) -> bool:
        """Whether it has the queries of one of several processes that shared the call; see `Seen.unshard`."""
        return as_mask(self.mask).origin is not None

    @property
    def query_numbers(self) -> Tensor:
        """The numbers that its queries have in the whole sequence, from 0, (query,)."""
        rows, origin = torch.arange(self.query.shape[2], device="cpu"), as_mask(self.mask).origin
        return rows if origin is None else origin.numbers(rows)

    @property
    def heads(self) -> int:
        """The number of heads."""
        return self.query.shape[1]

    def weights(self, rows: Sequence[int] | Tensor | None = None) -> Tensor:
        """The weights (batch, head, query, key) before dropout, computed again; `rows`: only those of some queries.

        Without `rows` their memory grows with the square of the length. Of a state-space layer they are effective
        weights; see `is_effective`.

        Raises:
            ArgumentError: a state-space layer has so many channels that their weights would take over a gigabyte.
        """
        self._check_channels(self.query.shape[2] if rows is None else len(rows))
        return self._weighed(rows)

    def _weighed(self, rows: Sequence[int] | Tensor | None) -> Tensor:
        with torch.no_grad():
            return weigh(self.query, self.key, **self.parts, rows=rows)

    @property
    def is_effective(self) -> bool:
        """Whether the weights are effective ones: those by which the outputs of a state-space layer, which has no
        attention, are sums of its inputs. They may be negative, and a row needn't sum to 1.
        """
        return isinstance(self.normaliser, Effective)

    @property
    def is_of_channels(self) -> bool:
        """Whether each head is a channel of a state-space layer, as in the first Mamba."""
        return self.is_effective and self.value.shape[3] == 1

    def shares(self, rows: Sequence[int] | Tensor) -> Tensor:
        """The absolute weights of some queries, as shares of their sum: (batch, head, row, key).

        Of a state-space layer whose heads are channels it is the mean over the channels, as one head; these are
        computed a few at a time, so that the memory doesn't grow with their number.
        """
        batch, heads, _, _ = self.query.shape
        few = max(1, _BUDGET // max(1, batch * len(rows) * self.key.shape[2]))
        # Other parts may tell heads apart by their numbers.
        if not isinstance(self.position, StateSpace) or not isinstance(self.mask, Causal):
            few = heads
        parts = (self._of_heads(slice(first, first + few))._weighed(rows).abs() for first in range(0, heads, few))
        if self.is_of_channels:
            sizes = functools.reduce(torch.add, (each.sum(1, keepdim=True) for each in parts))
        else:
            sizes = torch.cat([*parts], 1)
        sums = sizes.sum(-1, keepdim=True)
        return torch.where(sums > 0, sizes / sums, 0.0)

    def _of_heads(self, heads: slice) -> "SeenLayer":
        if heads.stop - heads.start >= self.heads:
            return self
        three = {name: getattr(self, name)[:, heads] for name in ("query", "key", "value")}
        return replace(self, **three, position=self.position.of_heads(heads))

    def _check_channels(self, rows: int) -> None:
        batch, heads, _, _ = self.query.shape
        count = batch * heads * rows * self.key.shape[2]
        if self.is_of_channels and count > _MOST_EFFECTIVE:
            raise ArgumentError(
                f"`rows` must be fewer: the effective weights of {heads:,} channels for {rows:,} queries and "
                f"{self.key.shape[2]:,} keys are {count:,} numbers, over {_MOST_EFFECTIVE:,}. `shares(rows)` gives "
                "their mean over the channels, which needs no more memory than one of them."
            )

    def steps(self, query: int, key: int | None = None, *, head: int = 0, item: int = 0) -> Steps:
        """How the weights and the output of one query come about, number by number; see `regard.inspection.steps`.

        The output is that of the head, before a projection. Only one row is computed.

        Args:
            query: the number of the query, from 0.
            key: the number of the key for which steps are written out; by default that with the largest weight.
            head, item: the numbers of the head and of the item of the batch, from 0.

        Raises:
            ArgumentError: there is no such query, key, head or item.

        Example:
            >>> from regard.inspection import watch
            >>> layer = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
            >>> with watch(layer) as seen:
            ...     output = layer(torch.randn(1, 5, 8))
            >>> walk = seen[0].steps(query=3, head=1)
            >>> torch.allclose(walk.weights.float(), seen[0].weights()[0, 1, 3])
            True
        """
        sizes = {"query": self.query.shape[2], "head": self.heads, "item": self.query.shape[0]}
        for (name, count), index in zip(sizes.items(), (query, head, item), strict=True):
            check_index(name, index, count)
        if key is not None:
            check_index("key", key, self.key.shape[2])
        three = self.query, self.key, self.value
        return steps_of_attention(*three, **self.parts, row=query, column=key, head=head, batch=item)

    def item_weights(self, item: int, rows: Sequence[int]) -> Tensor:
        """The weights (head, row, key) of some queries of one item of the batch; `shares` of effective ones.

        Those of a batch of short items are computed together, since each item will be asked for.
        """
        if self.is_effective:
            return self.shares(rows)[item]
        if self.query.shape[0] * self.heads * self.query.shape[2] * self.key.shape[2] <= _BUDGET:
            return self._all[item][:, list(rows)]
        return self.weights(list(rows))[item]

    @cached_property
    def _all(self) -> Tensor:
        return self.weights()

    @cached_property
    def head_outputs(self) -> Tensor:
        """The outputs (batch, head, query, feature) of the heads, before a projection, computed again.

        Raises:
            ArgumentError: the record doesn't give them, since weights were dropped at random, a change replaced
                outputs, or the layer is a table of weights without values.
        """
        table = not self.value.shape[3]
        if self.dropout or self.removed or table:
            why = "has no values" if table else "dropped weights" if self.dropout else "had outputs that were replaced"
            raise ArgumentError(
                f"The outputs of the heads of {self.name or 'the model itself'} can't be computed again, since it "
                f"{why}. Watch the model in evaluation mode, without changes."
            )
        with interception_disabled(), torch.no_grad():
            return attend(self.query, self.key, self.value, **self.parts)

    def blocks(self, rows: Tensor | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        """The weights of a few queries at a time, so that memory doesn't grow with the square of the length.

        Args:
            rows: the numbers of the queries; None: all.

        Yields:
            the numbers of some queries, and their weights (batch, head, row, key).
        """
        rows = torch.arange(self.query.shape[2], device=self.query.device) if rows is None else rows
        for some in self._few(rows):
            yield some, self.weights(some)

    def _few(self, rows: Tensor) -> tuple[Tensor, ...]:
        """The numbers of the queries, in parts whose weights fit in memory."""
        in_row = self.query.shape[0] * self.heads * self.key.shape[2]
        return rows.split(max(1, _BUDGET // max(in_row, 1)))

    @cached_property
    def summary(self) -> Summary:
        """Statistics of the weights, in linear memory; see `regard.summarise`."""
        return summarise(self.query, self.key, **self.parts)

    @cached_property
    def log_sums(self) -> Tensor:
        """The logarithm of the sum of exp(score) over the allowed keys, (batch, head, query).

        A weight is exp(score - log_sum). NaN for a query that may attend to nothing, and for other normalisers than
        softmax.
        """
        nothing = self.query.new_full(self.query.shape[:3], torch.nan, dtype=torch.float32)
        if self.normaliser != "softmax":
            return nothing
        best = self.summary.top_index[..., :1]
        scores = replace(self, normaliser=AsScores())
        found = [block.gather(-1, best[:, :, rows].clamp(min=0)) for rows, block in scores.blocks()]
        log_sums = torch.cat(found, dim=2) - self.summary.top_weight[..., :1].log()
        return torch.where(best < 0, torch.nan, log_sums).squeeze(-1).to(nothing.dtype)

    def recomputed(self, rows: Tensor) -> Tensor:
        """The outputs of some queries, as `outputs` has them, computed again from the record."""
        with torch.no_grad():
            three = self.query, self.key, self.value
            heads = torch.cat([attend_rows(*three, some, **self.parts) for some in self._few(rows)], dim=2)
            if self.after is not None:
                return self.after(heads, self.value, rows)
            if self.projection is None:
                return heads
            weight, bias = self.projection
            return functional.linear(heads.transpose(1, 2).flatten(2).to(weight.dtype), weight, bias)

    def verify(self) -> float | None:
        """The largest difference between what the layer gave and what the record gives, over the sampled queries.

        It is infinite where only one of them is infinite or NaN, or each in another way. None if the layer dropped
        weights at random, or a change removed heads, so that the record doesn't give the outputs.
        """
        if self.dropout or self.removed:
            return None
        wide = torch.promote_types(self.outputs.dtype, torch.float32)
        return largest_difference(self.recomputed(self.rows).to(wide), self.outputs.to(wide))

    @property
    def tolerance(self) -> float:
        """The difference that rounding explains.

        For many keys it is the bound of adding their weighted values one after another in float32: the number of keys
        times the unit roundoff.

        Source: Higham 2002, Accuracy and Stability of Numerical Algorithms, section 4.2.
        """
        adding = self.key.shape[2] * torch.finfo(torch.float32).eps / 2
        return max(1e-4, 16 * torch.finfo(self.outputs.dtype).eps, adding) * max(1.0, largest(self.outputs))

    @property
    def shape_text(self) -> str:
        """The sizes, in words."""
        batch, heads, queries, feature = self.query.shape
        return f"{batch} x {heads} heads x {queries} queries x {self.key.shape[2]} keys x {feature}"

    @property
    def rule_text(self) -> str:
        """Score, normaliser, mask and position, in words."""
        parts = self.score, self.normaliser, self.mask, self.position
        return ", ".join(part_text(part) for part in parts if part is not None)

    def __str__(self) -> str:
        return f"{self.name}  {self.function}  {self.shape_text}  {self.rule_text:.120}"


def checked_layer(fields: dict[str, Any]) -> SeenLayer:
    """A layer of fields that anybody may have changed.

    Raises:
        ArgumentError: they don't fit together.
    """
    floats = ("query", "key", "value", "outputs")
    for name in (*floats, "rows"):
        tensor = fields[name]
        real = isinstance(tensor, Tensor) and (
            tensor.is_floating_point() if name in floats else tensor.dtype == torch.long
        )
        if not real:
            raise ArgumentError(f"`{name}` must be a tensor of {'real numbers' if name in floats else 'row numbers'}.")
    layer = SeenLayer(**fields)
    if layer.query.ndim != 4 or layer.value.ndim != 4 or layer.key.ndim != 4:
        raise ArgumentError("`query`, `key` and `value` must have the axes (batch, head, length, feature).")
    queries, rows = layer.query.shape[2], layer.rows
    if rows.ndim != 1 or (len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < queries):
        raise ArgumentError(f"`rows` must be numbers of queries below {queries}.")
    given = layer.projection
    if given is not None and not (
        isinstance(given, tuple)
        and len(given) == 2
        and isinstance(given[0], Tensor)
        and isinstance(given[1], Tensor | None)
    ):
        raise ArgumentError("`projection` must be None or weight and bias.")
    # Two queries show whether the parts fit: tables that are too short fail at the last one.
    found = layer.recomputed(torch.tensor([0, queries - 1] if queries else [], dtype=torch.long))
    axis = 2 if given is None else 1
    if layer.outputs.shape != (*found.shape[:axis], len(rows), *found.shape[axis + 1 :]):
        raise ArgumentError(
            f"`outputs` must be those of {len(rows)} queries, but has the shape {tuple(layer.outputs.shape)}."
        )
    return layer
