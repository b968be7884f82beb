"""What inspection is given of a seq2seq model: for a source its text, and the attention of each piece to the source."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection import Case, HideKey, LayerRecord, Record, Seen
from regard.inspection.capture.watch import record_calls
from regard.modules import AttentionSeq2Seq, Generated, TransformerSeq2Seq
from regard.special_ids import END, PADDING, START
from regard.tasks.recording import drawn_input
from regard.tasks.seq2seq.generation import generated, text_of

if TYPE_CHECKING:
    from regard.tasks.seq2seq.model import Seq2SeqModel

__all__ = ["END_NAME", "case_of", "record_writing"]

END_NAME = "(end)"
"""The name of the last row of a map: the attention from which the end of the text was predicted."""


def record_writing(model: "Seq2SeqModel", sources: Iterable[Any], longest: int | None = None) -> Iterator[Record]:
    """The records of sources, in their order: the text as `Seq2SeqModel.write` has it, and the attention to the source.

    The attention comes from a second pass over the whole generated text. Each row shows the attention from which its
    piece was predicted. A text that was cut has no row for its end.
    """
    kind = model.recipe.input
    for source in sources:
        item = model.read(source, longest)
        (said,) = generated(model.network, model.recipe, model.encoder, [item])
        if said is None:
            yield Record((), model=model.name, noun=kind.noun, queries=())
            continue
        names = tuple(kind.names(model.encoder, source))
        batch = kind.batch(model.encoder, [item]).to(next(model.network.parameters()).device)
        inputs = torch.tensor([_previous_ids(said)], device=batch.vectors.device)
        with torch.inference_mode(), record_calls(model.network) as seen:
            model.network(model.network.encode(batch.vectors, batch.lengths), inputs)
        yield Record(
            names,
            model=model.name,
            layers=_layers_to_the_source(model.network, seen, len(names)),
            queries=_piece_names(model, said),
            answer=text_of(said, model.target),
            noun=kind.noun,
            input=drawn_input(model, source),
            warnings=tuple(map(str, model.warnings_about(source, item))),
        )


def _previous_ids(said: Generated) -> list[int]:
    """The ids from which the pieces of a generated text, and its end, were predicted."""
    return [START, *said.ids][: len(said.ids) + said.ended]


def _piece_names(model: "Seq2SeqModel", said: Generated) -> tuple[str, ...]:
    """The pieces of a generated text, and `END_NAME` if it ended."""
    return (*(_piece_name(model, each) for each in said.ids), *[END_NAME][: said.ended])


def _piece_name(model: "Seq2SeqModel", piece: int) -> str:
    """The text of a piece; a special one has a name in brackets."""
    special = {PADDING: "(padding)", START: "(start)", END: END_NAME}
    return special.get(piece) or model.target.vocabulary.decode([piece]).strip() or " "


def _modules_to_the_source(network: Any) -> tuple[str, ...]:
    """The names of the modules that attend to the source; none for a network that doesn't."""
    if isinstance(network, AttentionSeq2Seq):
        return ("attention",)
    if not isinstance(network, TransformerSeq2Seq):
        return ()
    decoder: Any = network.decoder
    return tuple(f"decoder.layers.{number}.source_attention" for number in range(len(decoder.layers)))


def _layers_to_the_source(network: Any, seen: Seen, count: int) -> tuple[LayerRecord, ...]:
    """The layers that attend to the source, which has so many items."""
    calls = [tuple(each for each in seen if each.name == name) for name in _modules_to_the_source(network)]
    if isinstance(network, AttentionSeq2Seq):
        # One layer, which runs step by step.
        return (LayerRecord("source", calls[0], along="query", keys=count),)
    return tuple(LayerRecord(f"source, layer {number}", each, keys=count) for number, each in enumerate(calls, start=1))


def case_of(model: "Seq2SeqModel", source: Any, longest: int | None = None) -> Case:
    """The case of a model and a source. It predicts each piece of the generated text from the pieces before it.

    A hidden item is hidden from the text; the other items of the source have read it all the same.

    Raises:
        ArgumentError: the model can't read the source, there is no item in it, or the generated text is empty.
    """
    kind, network = model.recipe.input, model.network
    item = model.read(source, longest)
    (said,) = generated(network, model.recipe, model.encoder, [item])
    pieces = () if said is None else _piece_names(model, said)
    if said is None or not pieces:
        raise ArgumentError(f"a source must give a text, but {source!r:.40} gives none.")
    batch = kind.batch(model.encoder, [item]).to(next(network.parameters()).device)
    previous = torch.tensor([_previous_ids(said)], device=batch.vectors.device)
    modules = _modules_to_the_source(network)

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
        classes=lambda number: _piece_name(model, number),
        answers=(*said.ids, END)[: len(pieces)],
        form="generated",
        queries=pieces,
        noun=kind.noun,
        layers=lambda seen: (_layers_to_the_source(network, seen, len(names)), None),
        hide=lambda key: HideKey(key, layer=modules),
        input=drawn_input(model, source),
        warnings=tuple(map(str, model.warnings_about(source, item))),
    )
