"""A trained tagger or classifier and one source, as a case for `regard.inspection.see`."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection import Case, LayerRecord, Seen
from regard.tasks.recording import drawn_input, side_by_side

if TYPE_CHECKING:
    from regard.tasks.model import Model

__all__ = ["case_of"]


def case_of(model: "Model[Any]", source: Any, longest: int | None = None) -> Case:
    """The case of a model and a source.

    Raises:
        ArgumentError: the model can't read the source, or there is no item in it.
    """
    kind, network, target = model.recipe.input, model.network, model.target
    item = model.read(source, longest)
    if not len(item):
        raise ArgumentError(f"a source must have a {kind.noun} or more, but {source!r:.40} has none.")
    names = tuple(kind.names(model.encoder, source))
    batch = kind.batch(model.encoder, [item]).to(next(network.parameters()).device)
    questions = target.questions
    if questions:
        places = tuple((name, None) for name in questions)
    elif network.pooling is not None:
        places = (("the whole", None),)
    else:
        places = tuple((name, number) for number, name in enumerate(names))

    def predict(output: Tensor) -> Tensor:
        values = target.values(output)
        if questions:
            return torch.stack([1 - values, values], dim=-1)
        return values.unflatten(0, (-1, len(places)))

    classes = ("no", "yes") if questions else target.labels
    return Case(
        model.name,
        network,
        batch,
        network,
        predict,
        "labels" if classes else "numbers",
        names,
        places,
        classes=lambda number: classes[number],
        noun=kind.noun,
        grid=kind.grid(model.encoder, source),
        layers=lambda seen: _layers(network, seen),
        # A graph's edges have no axis for a batch.
        batched=batch.mask is None,
        input=drawn_input(model, source),
    )


def _layers(network: Any, seen: Seen) -> tuple[tuple[LayerRecord, ...], LayerRecord | None]:
    layers, poolings = side_by_side(network, seen)
    found = tuple(LayerRecord(f"layer {number}", calls) for number, calls in enumerate(layers, start=1))
    return found, next((LayerRecord("pooling", calls) for calls in poolings), None)
