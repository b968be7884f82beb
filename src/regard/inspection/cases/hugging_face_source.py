"""What an encoder of Hugging Face's reads, and which of its vectors are which item."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import torch

from regard.errors import ModelError, RegardError, is_out_of_memory
from regard.inspection.capture.watch import record_calls
from regard.inspection.explain.changes import HideKey, HideKeys, Layer
from regard.inspection.record.record import LayerRecord
from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["Source", "failing_as", "runner", "sequence_length"]


class Source(NamedTuple):
    """A source, as an encoder reads it.

    Args:
        inputs: the arguments of the encoder, by name.
        items: the text of each item.
        noun: the name of an item.
        bounds: if an item is several vectors of the encoder, which these are; see `LayerRecord`.
    """

    inputs: dict[str, Any]
    items: tuple[str, ...]
    noun: str
    bounds: tuple[int, ...] | None = None

    @property
    def length(self) -> int:
        """The number of the encoder's vectors."""
        return len(self.items) if self.bounds is None else self.bounds[-1]

    def hiding(self, item: int, layer: Layer | None = None) -> HideKey | HideKeys:
        """The change that hides an item, given its number from 1."""
        if self.bounds is None:
            return HideKey(item, layer)
        return HideKeys(self.bounds[item - 1] + 1, self.bounds[item], layer)

    def to_itself(self, name: str, call: SeenLayer) -> LayerRecord:
        """The layer of a call in which the items attend to each other."""
        return LayerRecord(name, (call,), query_bounds=self.bounds, key_bounds=self.bounds)

    def from_others(self, name: str, call: SeenLayer) -> LayerRecord:
        """The layer of a call in which others attend to the items."""
        return LayerRecord(name, (call,), key_bounds=self.bounds)


@contextmanager
def failing_as(name: str) -> Iterator[None]:
    """Turn an error of a model's own code, which a strange configuration causes, into one that names the model.

    Raises:
        ModelError: the code inside of the block failed.
    """
    try:
        yield
    except (RegardError, OSError):
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"{name} can't be run: {lines[0].rstrip('.')}. Look at its config.json.") from error


def runner(model: Any, name: str, **more: Any) -> Callable[[dict[str, Any]], Any]:
    """A function that runs a model on inputs by name, and on arguments that are always the same."""

    def run(given: dict[str, Any]) -> Any:
        # A model that doesn't run with several inputs at once is run with one after the other.
        single = len(next(iter(given.values()))) == 1
        with failing_as(name) if single else nullcontext():
            return model(**given, **more)

    return run


def sequence_length(model: Any, inputs: dict[str, Any]) -> int:
    """The number of vectors that the layers attend to; 0 if they attend to none."""
    with torch.no_grad(), record_calls(model, rows=0) as seen:
        model(**inputs)
    return max((layer.query.shape[2] for layer in seen if layer.query.shape[2] == layer.key.shape[2]), default=0)
