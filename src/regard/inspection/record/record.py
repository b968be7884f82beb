"""The record of one input: its items, the model's predictions, and the attention of each layer."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Literal

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.capture.by_hand.rules import AsScores
from regard.inspection.explain.outcomes import Outcomes
from regard.inspection.record.drawn_inputs import DrawnInput
from regard.inspection.record.seen import Seen
from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["LayerRecord", "Record", "calls_to_show"]

# Weights in memory at once.
_BUDGET = 2**22


def calls_to_show(calls: Iterable[SeenLayer]) -> list[SeenLayer]:
    """The calls of attention; those of state-space layers if there is no other."""
    every = list(calls)
    return [each for each in every if not each.is_effective] or every


@dataclass(frozen=True, eq=False)
class LayerRecord:
    """The attention of one layer to one input. Its weights are computed when they are asked for.

    Args:
        name: the name that is shown, such as "layer 1".
        calls: the calls of attention that it consists of.
        along: what the calls follow each other by: "head" for the members of an ensemble, whose heads stand side by
            side; "query" for a network that runs step by step.
        item: the number of the input in the batch of the calls.
        queries, keys: how many queries of each call and how many keys are real, and not padding; None for all.
        query_bounds, key_bounds: if an item is several queries or keys, as an interval of a sound is several frames:
            the number of the first one of each item, from 0, and that after the last one. The weight of an item is the
            sum of those of its keys, and the average of those of its queries. None: each query or key is an item.

    Raises:
        ArgumentError: there is no call, or none with a head, or the bounds don't grow or are larger than the calls.

    Example:
        >>> layer = LayerRecord.of_weights("layer 1", torch.full((3, 2, 2), 0.5))
        >>> layer.heads, layer.shape, layer.weights([1]).shape
        (3, (2, 2), torch.Size([3, 1, 2]))
    """

    name: str
    calls: tuple[SeenLayer, ...]
    along: Literal["head", "query"] = "head"
    item: int = 0
    queries: int | None = None
    keys: int | None = None
    query_bounds: tuple[int, ...] | None = None
    key_bounds: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.calls or not self.heads:
            raise ArgumentError("`calls` must hold a call of attention with a head or more, but holds none.")
        for name, axis in (("query_bounds", "query"), ("key_bounds", "key")):
            bounds: tuple[int, ...] | None = getattr(self, name)
            most = min(getattr(call, axis).shape[2] for call in self.calls)
            if bounds is not None and not _are_bounds(bounds, most):
                raise ArgumentError(f"`{name}` must be two numbers or more that grow, up to {most}, but are {bounds}.")

    @classmethod
    def of_weights(cls, name: str, weights: Tensor, normaliser: str = "") -> "LayerRecord":
        """A layer of known weights.

        Args:
            name: the name that is shown.
            weights: (head, query, key).
            normaliser: the function that turned scores into weights, such as "softmax"; "" if it is unknown.

        Raises:
            ArgumentError: `weights` doesn't have three axes, or has no head.
        """
        if weights.ndim != 3 or weights.shape[0] == 0:
            raise ArgumentError(
                f"`weights` must be (head, query, key) with a head or more, but is {tuple(weights.shape)}."
            )
        return cls(name, (SeenLayer.of_weights(name, weights.detach().to("cpu", torch.float32)[None], normaliser),))

    @property
    def heads(self) -> int:
        """The number of heads; of a state-space layer whose heads are channels 1, which is their mean."""
        heads = [1 if call.is_of_channels else call.heads for call in self.calls]
        return sum(heads) if self.along == "head" else heads[0]

    @property
    def is_effective(self) -> bool:
        """Whether it is a state-space layer, of which absolute effective weights are given as shares of each row."""
        return any(call.is_effective for call in self.calls)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of queries and the number of keys."""
        own = self._own_queries
        return own * (1 if self.along == "head" else len(self.calls)), self._own_keys

    @property
    def normaliser(self) -> str:
        """The function that turned scores into weights, such as "softmax"; "" if it is unknown."""
        own = self.calls[0].normaliser
        return own if isinstance(own, str) else own.normaliser if isinstance(own, AsScores) else ""

    def weights(self, rows: Sequence[int] | None = None) -> Tensor:
        """The weights (head, query, key) in float32 on the CPU; `rows`: only those of some queries.

        Without `rows` their memory grows with the square of the length.
        """
        if self.along == "query":
            whole = torch.cat([self._of(call, None) for call in self.calls], dim=1)
            return whole if rows is None else whole[:, list(rows)]
        return torch.cat([self._of(call, rows) for call in self.calls])

    def blocks(self) -> Iterator[Tensor]:
        """The weights (head, query, key) of a few queries at a time, in memory that grows linearly with the length."""
        if self.along == "query":
            yield self.weights()
            return
        numbers = torch.arange(self.shape[0])
        for rows in numbers.split(max(1, _BUDGET // max(1, self.heads * self._row_size))):
            yield self.weights(rows.tolist())

    def queries_of(self, rows: Sequence[int]) -> list[range]:
        """The numbers of the queries of which each row is made."""
        if self.query_bounds is None:
            return [range(row, row + 1) for row in rows]
        return [range(*self.query_bounds[row : row + 2]) for row in rows]

    def by_item(self, numbers: Tensor) -> Tensor:
        """Numbers of single keys, padding included, as sums for each item; keys are the last axis."""
        if self.key_bounds is None:
            return numbers[..., : self._real_keys]
        return torch.stack([numbers[..., a:b].sum(-1) for a, b in pairwise(self.key_bounds)], dim=-1)

    @property
    def _own_queries(self) -> int:
        if self.query_bounds is not None:
            return len(self.query_bounds) - 1
        return self.calls[0].query.shape[2] if self.queries is None else self.queries

    @property
    def _own_keys(self) -> int:
        return self._real_keys if self.key_bounds is None else len(self.key_bounds) - 1

    @property
    def _real_keys(self) -> int:
        return self.calls[0].key.shape[2] if self.keys is None else self.keys

    @property
    def _row_size(self) -> int:
        """The number of weights of a head that a row is made of."""
        queries = 1 if self.query_bounds is None else max(b - a for a, b in pairwise(self.query_bounds))
        return queries * self._real_keys

    def _of(self, call: SeenLayer, rows: Sequence[int] | None) -> Tensor:
        rows = range(self._own_queries) if rows is None else rows
        if self.query_bounds is None:
            weights = call.item_weights(self.item, rows).to("cpu", torch.float32)
        else:
            spans = self.queries_of(rows)
            single = call.item_weights(self.item, [*chain(*spans)]).to("cpu", torch.float32)
            weights = torch.stack([each.mean(1) for each in single.split([*map(len, spans)], dim=1)], dim=1)
        return self.by_item(weights)


def _are_bounds(bounds: tuple[int, ...], most: int) -> bool:
    return len(bounds) > 1 and bounds[0] >= 0 and bounds[-1] <= most and all(a < b for a, b in pairwise(bounds))


@dataclass(frozen=True, eq=False)
class Record:
    """Everything that the views show.

    Args:
        items: the text of each item that was attended to (the keys), such as the words of a sentence.
        labels: the label of each query item; empty if the model predicts one answer for the whole source.
        scores: the probability of each label, from 0 to 1; empty if the labels are numbers.
        layers: the attention layers in the order in which they ran; empty for a model without attention.
        model: the model's name.
        queries: the text of each query item, if queries and keys are different items: the words of a translation
            attend to those of the source. None: the items attend to each other.
        pooling: the weights (head, 1, item) with which attention pooled all items into one vector; None without
            attention pooling.
        answer: what the model answer, as it answers without being watched.
        noun: the name of an item, such as "word".
        grid: (rows, columns) if the items form a grid, row by row, as the patches of a picture do.
        seen: all calls of attention, in their order; None if only those of `layers` and `pooling` are kept.
        outcomes: the predictions, and those after each item was hidden and each head removed, as `see` measures them.
        encoder: of an encoder-decoder, the layers in which the items attend to each other, before `queries` attend to
            them in `layers`; empty if they weren't recorded.
        decoder: of an encoder-decoder, the layers in which `previous` attend to each other; empty if not recorded.
        previous: the text of what was written before each of `queries`; empty without `decoder`.
        input: what is drawn of an input that is no text; None: only the texts of its items are shown.
        warnings: why the prediction for this input may be wrong, as sentences: the warnings that were given of it.
        without: the heads that the model ran without, (layer, head) of `layers`, from 1. Their weights, which are in
            `layers`, were computed, but nothing was taken by them.

    Raises:
        ArgumentError: sizes that don't match.

    Example:
        >>> layer = LayerRecord.of_weights("layer 1", torch.full((3, 2, 2), 0.5))
        >>> Record(("I", "saw"), ("PRON", "VERB"), (0.9, 0.8), (layer,)).layers[0].heads
        3
    """

    items: tuple[str, ...]
    labels: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    layers: tuple[LayerRecord, ...] = ()
    model: str = ""
    queries: tuple[str, ...] | None = None
    pooling: LayerRecord | None = None
    answer: Any = None
    noun: str = "item"
    grid: tuple[int, int] | None = None
    seen: Seen | None = None
    outcomes: Outcomes | None = None
    encoder: tuple[LayerRecord, ...] = ()
    decoder: tuple[LayerRecord, ...] = ()
    previous: tuple[str, ...] = ()
    input: DrawnInput | None = None
    warnings: tuple[str, ...] = ()
    without: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        keys, queries, previous = len(self.items), len(self.query_items), len(self.previous)
        for name, count in (("labels", len(self.labels)), ("scores", len(self.scores))):
            if count not in (0, queries):
                raise ArgumentError(
                    f"`{name}` must have {queries} entries, one for each item, or none, but has {count}."
                )
        for name, layers, shape in (
            ("layers", self.layers, (queries, keys)),
            ("encoder", self.encoder, (keys, keys)),
            ("decoder", self.decoder, (previous, previous)),
            ("pooling", (self.pooling,), (1, keys)),
        ):
            for layer in layers:
                if layer is not None and layer.shape != shape:
                    raise ArgumentError(
                        f"`{name}` must hold weights (head, {shape[0]}, {shape[1]}), one for each query and key, but "
                        f"{layer.name} has {(layer.heads, *layer.shape)}."
                    )
        for layer, head in self.without:
            if not 1 <= layer <= len(self.layers) or not 1 <= head <= self.layers[layer - 1].heads:
                raise ArgumentError(f"`without` must name heads of `layers`, from 1, but has {(layer, head)}.")
        if self.grid is not None and math.prod(self.grid) != keys:
            raise ArgumentError(f"`grid` must have {keys} cells, one for each of `items`, but is {self.grid}.")
        if self.input is not None:
            self.input.check(keys)

    @property
    def query_items(self) -> tuple[str, ...]:
        """The text of each query item."""
        return self.items if self.queries is None else self.queries

    @property
    def every_layer(self) -> tuple[LayerRecord, ...]:
        """The layers of the encoder, those of the decoder, and `layers`."""
        return (*self.encoder, *self.decoder, *self.layers)

    def verify(self) -> float | None:
        """The largest difference between what the layers gave and what the record gives: the worst `SeenLayer.verify`.

        None if that is unknown of every layer.
        """
        layers = [*self.every_layer, *([] if self.pooling is None else [self.pooling])]
        found = [call.verify() for layer in layers for call in layer.calls]
        return max((gap for gap in found if gap is not None), default=None)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: the live page in a frame, and the terminal's summary as text."""
        # Here and not above: a record is made without the views, which are made of records.
        from regard.inspection.views.notebook import in_notebook

        return in_notebook(self)
