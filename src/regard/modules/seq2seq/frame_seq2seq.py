"""Sequence to sequence where the target is vectors, not ids: from a text to frames of speech."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from regard.attention import Guided, Lengths
from regard.attention.masks import as_mask
from regard.attention.positional_encodings import Sinusoidal
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.dropout import Dropout
from regard.modules.guide import Guide
from regard.modules.inference import check_limits, inference_mode, maximum_lengths
from regard.modules.padding import padding_mask
from regard.modules.seq2seq.decoder import LayerCaches, encoder_and_decoder
from regard.modules.seq2seq.duration_plan import DurationPlan, DurationPredictor
from regard.modules.seq2seq.seq2seq import Memory, ScaledEmbedding, embed_source

__all__ = ["FrameDecoderState", "FrameSeq2Seq", "GeneratedFrames", "generate_frames"]


class FrameSeq2Seq(nn.Module):
    """A Transformer whose decoder predicts the next frame from the previous ones, and whether it is the last.

    To train: `frames, last = model(model.encode(source, lengths), inputs)`, where the inputs are the target shifted by
    one frame of zeros, with zeros at padding. `frames` should equal the target, and sigmoid(`last`) should be 1 at its
    last frame.

    With a guide the model follows a `DurationPlan` that it predicts from the source. Each frame then gets the
    sinusoidal encoding of its position in the source and attends only near that position; the decoder predicts the
    difference from the plan's mean frame; and the last frame is where the plan ends, so that `last` isn't learned. In
    training, pass the plan that `memory.duration_plan.aligned` finds in the target (in the first epoch, `even`), and
    add a loss that draws the durations and mean frames of the memory's own plan towards it. In generation the model
    follows its own plan.

    Args:
        source: the size of the source's vocabulary, or a module, as in `Seq2Seq`.
        features: the size of a frame.
        width, layers, heads, hidden, decoder_layers, position, mask, **parts: as in `TransformerSeq2Seq`.
        guide: how far from its position in the source a frame may attend, and the initial rate; None: no duration plan.
        parts_per_item: with a guide, the number of parts of a source item: its beginning, its middle, ...
        strides: with a guide, the number of time steps of the plan per frame; a frame holds the features of one after
            the other.
        dropout: the fraction dropped.
        frame_dropout: the fraction dropped in the two layers that a frame passes before the decoder; None: as
            `dropout`. Successive frames are nearly equal, and a decoder that sees the previous one too clearly learns
            to copy it.

    Source: Li et al. 2019 (arXiv 1809.08895), section 3, without the postnet; the notes, 001 and 004, speech.

    Example:
        >>> model = FrameSeq2Seq(source=7, features=5, width=8, layers=2, heads=2, hidden=16)
        >>> memory = model.encode(torch.tensor([[3, 4, 6], [5, 0, 0]]), torch.tensor([3, 1]))
        >>> frames, last = model(memory, torch.zeros(2, 4, 5))
        >>> frames.shape, last.shape
        (torch.Size([2, 4, 5]), torch.Size([2, 4]))
    """

    def __init__(
        self,
        source: int | nn.Module,
        features: int,
        width: int,
        layers: int,
        heads: int,
        *,
        hidden: int,
        dropout: float = 0.0,
        frame_dropout: float | None = None,
        decoder_layers: int | None = None,
        position: Any = "sinusoidal",
        guide: Guide | None = None,
        parts_per_item: int = 5,
        strides: int = 1,
        mask: Any = None,
        **parts: Any,
    ):
        super().__init__()
        check_count("features", features, "the size of a frame")
        self.width, self.features, self.guide = width, features, guide
        self.mask = None if mask is None else as_mask(mask)
        self.source = ScaledEmbedding(source, width) if isinstance(source, int) else source
        drop = Dropout(dropout if frame_dropout is None else frame_dropout)
        self.target = nn.Sequential(nn.Linear(features, width), nn.ReLU(), drop, nn.Linear(width, width), drop)
        parts = {"hidden": hidden, "dropout": dropout, "position": position, **parts}
        self.encoder, self.decoder = encoder_and_decoder(width, layers, heads, decoder_layers=decoder_layers, **parts)
        check_count("strides", strides, "how many time steps of the plan a frame holds")
        if features % strides:
            raise ArgumentError(f"`features` must be a multiple of `strides`, {strides}, but is {features}.")
        self.strides, self.waves = strides, Sinusoidal(width)
        if guide is None:
            self.outliner, self.output = None, nn.Linear(width, features + 1)
        else:
            rate = guide.rate / strides
            self.outliner = DurationPredictor(width, features // strides, per_item=parts_per_item, rate=rate)
            self.output = nn.Linear(width, features)

    def encode(self, source: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> Memory:
        """Encode the sources, as `Seq2Seq.encode` does."""
        embedded = embed_source(self.source, source, lengths, self.width)
        vectors = self.encoder(embedded, mask=padding_mask(source, lengths, self.mask))
        if self.outliner is None:
            return Memory(lengths, keys=vectors, values=vectors)
        with_positions = self.waves(vectors)
        plan = self.outliner(vectors, lengths)
        return Memory(lengths, keys=with_positions, values=with_positions, duration_plan=plan)

    def forward(
        self, memory: Memory, inputs: Float[Tensor, "batch length feature"], duration_plan: DurationPlan | None = None
    ) -> tuple[Float[Tensor, "batch length feature"], Float[Tensor, "batch length"]]:
        """Predict, for all frames at once, the next frame and the logit of its being the last.

        Args:
            memory: the encoded sources.
            inputs: the previous frames.
            duration_plan: the plan that a model with a guide follows; None for the memory's own.

        Raises:
            ArgumentError: inputs of another size, or a duration plan for a model without a guide.
        """
        if duration_plan is not None and self.outliner is None:
            raise ArgumentError("`duration_plan` must be None for a model without a guide, which follows none.")
        if len(inputs) != len(memory.lengths) or inputs.shape[2] != self.features:
            raise ArgumentError(
                f"`inputs` must be frames ({len(memory.lengths)}, length, {self.features}), but are "
                f"{tuple(inputs.shape)}."
            )
        plan = memory.duration_plan if duration_plan is None else duration_plan
        vectors, near, planned = self._follow(plan, self.target(inputs), 0)
        mask: Any = Lengths(key=memory.lengths)
        vectors = self.decoder(vectors, memory.part("keys"), mask=mask if near is None else mask & near)
        return self._split(vectors, planned)

    def start(self, memory: Memory) -> "FrameDecoderState":
        """The state before the first step, whose input is a frame of zeros."""
        return FrameDecoderState(self.decoder.start(memory.part("keys"), memory.lengths), memory.duration_plan)

    def step(
        self, state: "FrameDecoderState", frame: Float[Tensor, "batch feature"]
    ) -> tuple[Float[Tensor, "batch feature"], Float[Tensor, " batch"], "FrameDecoderState"]:
        """The next frame, the logit of its being the last, and the new state; the old state can't be used again."""
        done = state.caches[0].own.length
        vectors, near, planned = self._follow(state.duration_plan, self.target(frame.unsqueeze(1)), done)
        frames, last = self._split(self.decoder.step(vectors, state.caches, mask=near), planned)
        return frames.squeeze(1), last.squeeze(1), state

    def _follow(
        self, plan: DurationPlan | None, vectors: Tensor, first: int
    ) -> tuple[Tensor, Guided | None, tuple[Tensor, Tensor] | None]:
        """The decoder's inputs with positions; the mask of what is near; the mean frames, and the time past the end."""
        if self.guide is None or plan is None:
            return vectors, None, None
        count = vectors.shape[1]
        lengths = plan.counts.div(plan.per_item, rounding_mode="floor")
        positions, frames = plan.at(first * self.strides, count * self.strides)
        # The position of a frame is that of its middle.
        positions = positions.unflatten(1, (count, self.strides)).mean(2)
        elapsed = torch.arange(first + 1, first + count + 1, device=vectors.device) * self.strides
        # The last frame is the one whose end is nearest to the end of the plan.
        past = elapsed - plan.durations.detach().double().sum(1, keepdim=True) + self.strides / 2
        return (
            vectors + self.waves.at(positions).to(vectors),
            self.guide.around(positions, lengths),
            (frames.unflatten(1, (count, self.strides)).flatten(2), past.to(vectors)),
        )

    def _split(self, vectors: Tensor, planned: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
        output = self.output(vectors)
        if planned is None:
            return output[..., :-1], output[..., -1]
        # The mean frames have a loss of their own; the decoder learns the difference.
        return output + planned[0].detach(), planned[1]


@dataclass(frozen=True, eq=False)
class FrameDecoderState:
    """What a model keeps between two steps: its caches, and the duration plan that it follows."""

    caches: list[LayerCaches]
    duration_plan: DurationPlan | None


@dataclass(frozen=True, eq=False)
class GeneratedFrames:
    """What a model generated for one source.

    Args:
        frames: (length, feature) the generated frames.
        ended: whether the model ended it; False if it was cut at the maximum length.
        starts: (item,) the time at which each source item starts, in frames (not integers), from the duration plan;
            None for a model without a guide.
    """

    frames: Tensor
    ended: bool
    starts: Tensor | None = None


def generate_frames(
    model: FrameSeq2Seq,
    source: Shaped[Tensor, "batch length *item"],
    lengths: Int[Tensor, " batch"],
    *,
    longest: float = 20.0,
    spare: int = 50,
) -> list[GeneratedFrames]:
    """Generate frames one after the other, until the probability of being the last exceeds 1/2.

    Args:
        model: the model; it runs in evaluation mode and is left as it was.
        source: the sources, as `encode` takes them.
        lengths: (batch,) the number of real items of each source.
        longest: a target has at most `longest` x its source's length + `spare` frames.
        spare: see `longest`.

    Raises:
        ArgumentError: an argument can't be used, or the model's frames aren't finite.

    Example:
        >>> model = FrameSeq2Seq(source=7, features=5, width=8, layers=2, heads=2, hidden=16)
        >>> (generated,) = generate_frames(model, torch.tensor([[3, 4, 6]]), torch.tensor([3]), longest=2.0, spare=0)
        >>> len(generated.frames) <= 6, generated.frames.shape[1]
        (True, 5)
    """
    check_limits(longest, spare)
    limits = maximum_lengths(model, lengths, longest, spare)
    frames: list[Tensor] = []
    ends: dict[int, int] = {}
    with inference_mode(model):
        memory = model.encode(source, lengths)
        plan = memory.duration_plan
        _check_finite(*(() if plan is None else (plan.durations, plan.frames)))
        state = model.start(memory)
        frame = next(model.parameters()).new_zeros(len(limits), model.features)
        for step in range(1, max(limits, default=0) + 1):
            frame, last, state = model.step(state, frame)
            _check_finite(frame, last)
            frames.append(frame)
            for item in (last > 0).nonzero().flatten().tolist():
                if step <= limits[item]:
                    ends.setdefault(item, step)
            if all(item in ends or step >= limit for item, limit in enumerate(limits)):
                break
        generated = torch.stack(frames, 1) if frames else frame.new_zeros(len(limits), 0, model.features)
        starts = None if plan is None else plan.starts() / model.strides
    return [
        GeneratedFrames(
            generated[item, : ends.get(item, limit)],
            item in ends,
            None if starts is None else starts[item, : int(lengths[item])],
        )
        for item, limit in enumerate(limits)
    ]


def _check_finite(*tensors: Tensor) -> None:
    if not all(bool(each.isfinite().all()) for each in tensors):
        raise ArgumentError("`model` must give finite frames, but doesn't. Train it with a smaller learning rate.")
