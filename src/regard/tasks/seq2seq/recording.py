"""Records of generated texts: for each source its text, and the attention of each piece to the source."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from regard.inspection import CapturedAttention, LayerRecord, Record, capture_attention
from regard.modules import AttentionSeq2Seq, TransformerSeq2Seq
from regard.special_ids import START
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
    with torch.inference_mode(), capture_attention(_to_the_source(network)) as seen:
        network(network.encode(batch.vectors, batch.lengths), inputs)
    if isinstance(network, AttentionSeq2Seq):
        # One layer, which runs step by step.
        return (_layer("source", seen[0], torch.cat([each.weights for each in seen], dim=2)[0], count),)
    return tuple(
        _layer(f"source, layer {number}", each, each.weights[0], count) for number, each in enumerate(seen, start=1)
    )


def _to_the_source(network: nn.Module) -> nn.Module:
    """The layers of cross-attention; none for a network without it."""
    if isinstance(network, TransformerSeq2Seq):
        layers: list[Any] = list(network.decoder.layers)
        return nn.ModuleList(layer.source_attention for layer in layers)
    return network.attention if isinstance(network, AttentionSeq2Seq) else nn.Identity()


def _layer(name: str, seen: CapturedAttention, weights: Tensor, count: int) -> LayerRecord:
    return LayerRecord(name, weights[..., :count], seen.source, seen.normaliser)
