"""A model with one input to it, in the form that `see` watches and changes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inspection.explain.changes import Change, HideKey
from regard.inspection.explain.outcomes import Form, Kind
from regard.inspection.record.drawn_inputs import DrawnInput
from regard.inspection.record.record import LayerRecord, calls_to_show
from regard.inspection.record.seen import Seen

__all__ = ["Case", "Layers"]


class Layers(NamedTuple):
    """The layers of a record, in its terms; see `Record`."""

    layers: tuple[LayerRecord, ...]
    pooling: LayerRecord | None = None
    encoder: tuple[LayerRecord, ...] = ()
    decoder: tuple[LayerRecord, ...] = ()


@dataclass(frozen=True, eq=False)
class Case:
    """A model with one input to it.

    Args:
        name: the model's name.
        module: the model, in evaluation mode.
        inputs: its inputs, as tensors whose first axis is of size 1, in dicts, lists, tuples or dataclasses.
        run: runs the model on such inputs, of any batch size.
        predict: maps what `run` returned to (batch, place, class): probabilities of classes, numbers (one class), or
            features of vectors.
        kind: which of these it is: "labels", "numbers" or "vectors".
        classes: the name of a class, given its number; needed for labels.
        answers: the number of the class that the model answered with at each place; None: the most probable one.
        form: what the predictions are of; see `Outcomes`.
        items: the text of each item that is attended to.
        places: what is predicted for: the name of each place, and the number of the query from whose output it is
            predicted (None: all queries are pooled).
        chosen: the number of the place that is shown if none is asked for; None: the one that changes most.
        noun: the name of an item.
        grid: (rows, columns) of a picture's patches; see `Record`.
        layers: makes (layers, pooling) of the calls that were seen, or (layers, pooling, encoder, decoder), in the
            terms of `Record`. None: each call with as many queries and keys as there are items is a layer.
        batched: whether a batch may hold the input several times.
        queries: the text of each query of the layers, if queries and keys are different items; see `Record`.
        hide: the change that hides an item, given its number from 1; by default from all queries.
        previous: the text of what was written before each of `queries`, if `layers` makes those of a decoder.
        note: a sentence about what can't be measured; "" if all can.
        input: what is drawn of an input that is no text; see `Record`.
        warnings: the warnings that were given of the input; see `Record`.
        error: of numbers, the error of the model; see `Outcomes`.

    Raises:
        ArgumentError: there are no items or no places.
    """

    name: str
    module: nn.Module
    inputs: Any
    run: Callable[[Any], Any]
    predict: Callable[[Any], Tensor]
    kind: Kind
    items: tuple[str, ...]
    places: tuple[tuple[str, int | None], ...]
    classes: Callable[[int], str] = str
    answers: tuple[int, ...] | None = None
    form: Form = "item"
    chosen: int | None = None
    noun: str = "item"
    grid: tuple[int, int] | None = None
    layers: Callable[[Seen], tuple[Any, ...]] | None = None
    batched: bool = True
    queries: tuple[str, ...] | None = None
    hide: Callable[[int], Change] = HideKey
    previous: tuple[str, ...] = ()
    note: str = ""
    input: DrawnInput | None = None
    warnings: tuple[str, ...] = ()
    error: float | None = None

    def __post_init__(self) -> None:
        for name in ("items", "places"):
            if not getattr(self, name):
                raise ArgumentError(f"`{name}` must hold at least one, but is empty.")

    def layers_of(self, seen: Seen) -> Layers:
        """The layers of the calls that were seen."""
        if self.layers is not None:
            return Layers(*self.layers(seen))
        count = len(self.items)
        calls = calls_to_show(each for each in seen if each.query.shape[2] == each.key.shape[2] == count)
        return Layers(tuple(LayerRecord(f"layer {number}", (each,)) for number, each in enumerate(calls, start=1)))
