"""Records of generated texts: for each source its text, and the attention of each piece to the source."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from regard.inspection import LayerRecord, Record
from regard.inspection.watch import record_calls
from regard.modules import AttentionSeq2Seq, TransformerSeq2Seq
from regard.special_ids import START
from regard.tasks.recording import calls_inside
from regard.tasks.seq2seq.generation import generated, text_of

if TYPE_CHECKING:
    from regard.tasks.seq2seq.model import Seq2SeqModel

__all__ = ["END_NAME", "record_writing"]

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
        vocabulary = model.target.vocabulary
        names = tuple(kind.names(model.encoder, source))
        yield Record(
            names,
            model=model.name,
            layers=_layers(model, item, [START, *said.ids][: len(said.ids) + said.ended], len(names)),
            queries=(*(vocabulary.decode([each]).strip() or " " for each in said.ids), *[END_NAME][: said.ended]),
            answer=text_of(said, model.target),
            noun=kind.noun,
        )


def _layers(model: "Seq2SeqModel", item: Any, previous: list[int], count: int) -> tuple[LayerRecord, ...]:
    network = model.network
    batch = model.recipe.input.batch(model.encoder, [item]).to(next(network.parameters()).device)
    inputs = torch.tensor([previous], device=batch.vectors.device)
    with torch.inference_mode(), record_calls(network) as seen:
        network(network.encode(batch.vectors, batch.lengths), inputs)
    if isinstance(network, AttentionSeq2Seq):
        # One layer, which runs step by step.
        calls = tuple(calls_inside(seen, network, network.attention))
        return (LayerRecord("source", calls, along="query", keys=count),)
    if not isinstance(network, TransformerSeq2Seq):
        return ()
    decoder: Any = network.decoder
    return tuple(
        LayerRecord(f"source, layer {number}", tuple(calls_inside(seen, network, layer.source_attention)), keys=count)
        for number, layer in enumerate(decoder.layers, start=1)
    )
