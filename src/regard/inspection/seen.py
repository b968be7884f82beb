"""What a watched model attended to: per layer the queries, keys and values as they were multiplied, and the rules.

Nothing here grows with the square of the length: any weight can be computed again.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import Bias, Dot, Summary, attend_rows, summarise, weigh
from regard.errors import ArgumentError, RecordWarning
from regard.inspection.interception_disabled import interception_disabled
from regard.inspection.joining import joined_calls
from regard.inspection.part_text import part_text
from regard.inspection.rules import AsScores
from regard.inspection.steps.steps import Steps, check_index
from regard.inspection.steps.steps import steps as steps_of_attention
from regard.inspection.storage import read_layers, write_layers

__all__ = ["RecordDiffers", "Seen", "SeenLayer"]

# Weights in memory at once, unless a single row of all items and heads has more.
_BUDGET = 2**22


class RecordDiffers(RecordWarning):
    """A layer gave other outputs than its record does."""


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
        removed: whether heads were changed in a way that the parts don't express; see `regard.inspection.changes`.
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
    def heads(self) -> int:
        """The number of heads."""
        return self.query.shape[1]

    def weights(self, rows: Sequence[int] | Tensor | None = None) -> Tensor:
        """The weights (batch, head, query, key) before dropout, computed again; `rows`: only those of some queries.

        Without `rows` their memory grows with the square of the length.
        """
        with torch.no_grad():
            return weigh(self.query, self.key, **self.parts, rows=rows)

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
        """The weights (head, row, key) of some queries of one item of the batch.

        Those of a batch of short items are computed together, since each item will be asked for.
        """
        if self.query.shape[0] * self.heads * self.query.shape[2] * self.key.shape[2] <= _BUDGET:
            return self._all[item][:, list(rows)]
        return self.weights(list(rows))[item]

    @cached_property
    def _all(self) -> Tensor:
        return self.weights()

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
            if self.projection is None:
                return heads
            weight, bias = self.projection
            return functional.linear(heads.transpose(1, 2).flatten(2).to(weight.dtype), weight, bias)

    def verify(self) -> float | None:
        """The largest difference between what the layer gave and what the record gives, over the sampled queries.

        None if the layer dropped weights at random, or a change removed heads, so that the record doesn't give the
        outputs.
        """
        if self.dropout or self.removed:
            return None
        if not self.outputs.numel():
            return 0.0
        return float((self.recomputed(self.rows).float() - self.outputs.float()).abs().max())

    @property
    def tolerance(self) -> float:
        """The difference that rounding explains.

        For many keys it is the bound of adding their weighted values one after another in float32: the number of keys
        times the unit roundoff.

        Source: Higham 2002, Accuracy and Stability of Numerical Algorithms, section 4.2.
        """
        largest = float(self.outputs.abs().max()) if self.outputs.numel() else 0.0
        adding = self.key.shape[2] * torch.finfo(torch.float32).eps / 2
        return max(1e-4, 16 * torch.finfo(self.outputs.dtype).eps, adding) * max(1.0, largest)

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


@dataclass(eq=False)
class Seen(Sequence[SeenLayer]):
    """The calls of attention of a watched model, in their order; see `regard.watch`.

    Attributes:
        layers: the calls.
        nothing: if there is none, a sentence that says what was found instead.
        about: what the calls are about, as plain values; see `save_record`.
    """

    layers: list[SeenLayer] = field(default_factory=list)
    nothing: str = ""
    about: dict[str, Any] | None = None

    def __getitem__(self, which: Any) -> Any:
        """The call of this number, from 0, or the first one in the module of this name."""
        if not isinstance(which, str):
            return self.layers[which]
        found = next((layer for layer in self.layers if layer.name == which), None)
        if found is None:
            raise ArgumentError(f"`which` must be one of {', '.join(dict.fromkeys(self.names))}, but is {which!r}.")
        return found

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[SeenLayer]:
        return iter(self.layers)

    @property
    def names(self) -> list[str]:
        """The names of the modules, one for each call."""
        return [layer.name for layer in self.layers]

    def joined(self) -> "Seen":
        """The calls of each module as one, for a model that runs step by step, as `generate` of Hugging Face does.

        Such a model calls each module once for a step, with the queries of the step and all keys so far, or in
        cross-attention all keys of the source. These calls become one with the queries of all steps, in their order,
        the keys and values of the last one, and a mask that hides from each query what its step hadn't: `Causal` for
        growing keys. Its weights are those of the steps, and those of a single pass over all items.

        Calls are joined if the keys and values that one attends to are the first ones of the next, and if its parts
        mean the same there. Others stay as they are, and their `notes` say why. Nothing is copied but queries and
        outputs.

        Example:
            >>> from regard.inspection import watch
            >>> class Model(torch.nn.Module):
            ...     def forward(self, query, keys):
            ...         return functional.scaled_dot_product_attention(query, keys, keys)
            >>> model, x = Model(), torch.randn(1, 2, 5, 4)
            >>> with watch(model) as seen:
            ...     for step in range(5):
            ...         output = model(x[:, :, step : step + 1], x[:, :, : step + 1])
            >>> seen.joined()[0].query.shape, seen.joined()[0].mask
            (torch.Size([1, 2, 5, 4]), Causal())
        """
        return Seen(joined_calls(self.layers), self.nothing)

    def verify(self) -> dict[str, float | None]:
        """For each module, the largest difference between what it gave and what the record gives; see `SeenLayer`.

        Raises:
            ArgumentError: nothing was seen; the error says what was found instead.
        """
        if not self.layers:
            raise ArgumentError(self.nothing or "Nothing was seen yet: run the model inside of the block.")
        found: dict[str, float | None] = {}
        for layer in self.layers:
            error, before = layer.verify(), found.get(layer.name)
            found[layer.name] = error if before is None else before if error is None else max(error, before)
        return found

    def check(self) -> None:
        """Warn of layers that gave other outputs than their record does; `watch` calls it at the end of its block.

        Warns:
            RecordDiffers: the difference is larger than rounding explains.
        """
        for layer in self.layers:
            with interception_disabled():
                error = layer.verify()
            if error is not None and not error <= layer.tolerance:
                warnings.warn(
                    f"The record of {layer.name or 'the model itself'} ({layer.function}) differs from what the layer "
                    f"gave by {error:.2g}. Its weights may not be those that it used.",
                    RecordDiffers,
                    stacklevel=2,
                )

    def save(self, path: str | Path) -> None:
        """Write the calls to one file, which `Seen.load` reads without the model.

        The file is of the safetensors format, and grows linearly with the length, unless a mask or bias is a table.

        Args:
            path: the file, such as "seen.safetensors"; an old one is replaced, in one step.

        Raises:
            ArgumentError: a part of a layer is a function of your own, which a file can't hold.
            OSError: the disk is full, or the folder isn't writable.

        Example:
            >>> import tempfile
            >>> from regard.inspection import watch
            >>> layer = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
            >>> with watch(layer) as seen:
            ...     output = layer(torch.randn(1, 5, 8))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     seen.save(f"{folder}/seen.safetensors")
            ...     again = Seen.load(f"{folder}/seen.safetensors")
            >>> again.names, torch.equal(again[0].weights(), seen[0].weights())
            (['self_attn'], True)
        """
        write_layers(path, self.layers, self.nothing, self.about)

    @classmethod
    def load(cls, path: str | Path) -> "Seen":
        """Read the calls that `save` wrote; their tensors are on the CPU.

        Raises:
            DataError: the file can't be used; the error says what it must be and what it is.
        """
        return cls(*read_layers(path, _checked))

    def __str__(self) -> str:
        if not self.layers:
            return self.nothing or "Nothing was seen yet: run the model inside of the block."
        return "\n".join(map(str, self.layers))


def _checked(fields: dict[str, Any]) -> SeenLayer:
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
