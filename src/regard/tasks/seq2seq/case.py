"""A trained seq2seq model, one source and the text that it generates, as a case for `regard.inspection.see`."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection import Case, HideKey
from regard.special_ids import END
from regard.tasks.recording import drawn_input
from regard.tasks.seq2seq.generation import generated
from regard.tasks.seq2seq.recording import (
    layers_to_the_source,
    modules_to_the_source,
    piece_name,
    piece_names,
    previous_ids,
)

if TYPE_CHECKING:
    from regard.tasks.seq2seq.model import Seq2SeqModel

__all__ = ["case_of"]


def case_of(model: "Seq2SeqModel", source: Any, longest: int | None = None) -> Case:
    """The case of a model and a source. It predicts each piece of the generated text from the pieces before it.

    A hidden item is hidden from the text; the other items of the source have read it all the same.

    Raises:
        ArgumentError: the model can't read the source, there is no item in it, or the generated text is empty.
    """
    kind, network = model.recipe.input, model.network
    item = model.read(source, longest)
    (said,) = generated(network, model.recipe, model.encoder, [item])
    pieces = () if said is None else piece_names(model, said)
    if said is None or not pieces:
        raise ArgumentError(f"a source must give a text, but {source!r:.40} gives none.")
    batch = kind.batch(model.encoder, [item]).to(next(network.parameters()).device)
    previous = torch.tensor([previous_ids(said)], device=batch.vectors.device)
    modules = modules_to_the_source(network)

    def run(inputs: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        vectors, lengths, before = inputs
        return network(network.encode(vectors, lengths), before)

    names = tuple(kind.names(model.encoder, source))
    return Case(
        model.name,
        network,
        (batch.vectors, batch.lengths, previous),
        run,
        lambda output: output.softmax(-1),
        "labels",
        names,
        tuple((piece, number) for number, piece in enumerate(pieces)),
        classes=lambda number: piece_name(model, number),
        answers=(*said.ids, END)[: len(pieces)],
        form="generated",
        queries=pieces,
        noun=kind.noun,
        layers=lambda seen: (layers_to_the_source(network, seen, len(names)), None),
        hide=lambda key: HideKey(key, layer=modules),
        input=drawn_input(model, source),
    )
