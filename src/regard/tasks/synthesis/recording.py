"""Records of synthesized speech: for each source its sound, and the attention of each step to the source."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.inspection import LayerRecord, Record
from regard.inspection.capture.watch import record_calls
from regard.modules import generate_frames
from regard.tasks.recording import calls_inside
from regard.tasks.synthesis.evaluation import limits_of

if TYPE_CHECKING:
    from regard.tasks.synthesis.model import Synthesizer

__all__ = ["record_speaking"]


def record_speaking(model: "Synthesizer", sources: Iterable[Any], longest: int | None = None) -> Iterator[Record]:
    """The records of sources, in their order: the sound of `Synthesizer.say`, and the attention to the source.

    The attention comes from a second pass over all generated steps at once.
    """
    kind = model.recipe.input
    for source in sources:
        item = model.read(source, longest)
        model.check_known(source)
        if not len(item):
            yield Record((), model=model.name, noun=kind.noun, queries=())
            continue
        batch = model.recipe.input.batch(model.encoder, [item]).to(next(model.network.parameters()).device)
        (said,) = generate_frames(
            model.network, batch.vectors, batch.lengths, **limits_of(model.recipe.task, model.target)
        )
        yield Record(
            tuple(kind.names(model.encoder, source)),
            model=model.name,
            layers=_layers(model, batch, said.frames),
            queries=tuple(f"{step * model.target.seconds:.2f} s" for step in range(len(said.frames))),
            answer=model.to_speech(said),
            noun=kind.noun,
            warnings=tuple(map(str, model.warnings_about(source, item))),
        )


def _layers(model: "Synthesizer", batch: Any, frames: Tensor) -> tuple[LayerRecord, ...]:
    network = model.network
    # The input of each step is the previous one, and that of the first is zeros.
    heard = pad(frames, (0, 0, 1, 0))[: len(frames)].unsqueeze(0)
    with torch.inference_mode(), record_calls(network) as seen:
        network(network.encode(batch.vectors, batch.lengths), heard)
    return tuple(
        LayerRecord(f"source, layer {number}", tuple(calls_inside(seen, network, layer.source_attention)))
        for number, layer in enumerate(network.decoder.layers, start=1)
    )
