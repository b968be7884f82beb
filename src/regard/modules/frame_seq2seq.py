"""Sequence to sequence where the target is vectors, not ids: from a text to the frames of its speech."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from regard.attention import Guided, Lengths
from regard.attention.positional_encodings import Sinusoidal
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.deciding import deciding, limits
from regard.modules.decoder import Decoder, LayerCaches
from regard.modules.dropout import Dropout
from regard.modules.encoder import Encoder
from regard.modules.guide import Guide
from regard.modules.outline import Outline, Outliner
from regard.modules.seq2seq import Memory, ScaledEmbedding, embed_source

__all__ = ["FrameSeq2Seq", "SpeakingState", "Spoken", "speak"]


class FrameSeq2Seq(nn.Module):
    """A Transformer whose decoder is given frames and says the next one, and whether it is the last.

    To train: `frames, last = model(model.encode(source, lengths), inputs)`, where the inputs are the target behind one
    frame of zeros, and zeros at padding; `frames` should be the target, and sigmoid(`last`) be 1 at its last frame.

    With a guide the model keeps time by an `Outline` of the source: each frame is told where in the source it is, by
    the waves that tell source items their places, it looks near there, what the decoder says is added to what stands
    for that part, and the last frame is where the outline ends, so that of `last` nothing is learned. In training the
    outline is the one that `memory.outline.aligned` finds in the target (at first `even`), and the memory's own should
    become like it: its durations, and its frames like those of the target. Speaking, the model goes by its own.

    Args:
        source: the size of the source's vocabulary, or a module, as in `Seq2Seq`.
        features: the size of a frame.
        width, layers, heads, hidden, decoder_layers, position, **parts: as in `TransformerSeq2Seq`.
        guide: how far from where it is a frame may look, and at which rate the model begins; None: it keeps no time.
        parts_per_item: with a guide, how many parts of a target each source item is: its beginning, its middle, ...
        strides: with a guide, how many strides of a finer time a frame is, which the outline goes by; the features are
            those of one stride, and of the next, ...
        dropout: the share dropped.
        frame_dropout: the share dropped of what a frame becomes before it enters the decoder; None: as `dropout`. A
            frame is nearly the one before it, and a decoder that sees it too well learns to repeat it.

    Source: Li et al. 2019 (arXiv 1809.08895), section 3, without the net behind; the notes, 001 and 004, speech.

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
        **parts: Any,
    ):
        super().__init__()
        check_count("features", features, "the size of a frame")
        decoder_layers = layers if decoder_layers is None else decoder_layers
        check_count("layers", layers, "how many layers the encoder has", least=0)
        # A decoder without a layer would never look at the source.
        check_count("decoder_layers", decoder_layers, "how many layers the decoder has")
        self.width, self.features, self.guide = width, features, guide
        self.source = ScaledEmbedding(source, width) if isinstance(source, int) else source
        drop = Dropout(dropout if frame_dropout is None else frame_dropout)
        self.target = nn.Sequential(nn.Linear(features, width), nn.ReLU(), drop, nn.Linear(width, width), drop)
        parts = {"hidden": hidden, "dropout": dropout, "position": position, **parts}
        self.encoder = Encoder(width, layers, heads, **parts)
        self.decoder = Decoder(width, decoder_layers, heads, **parts)
        check_count("strides", strides, "how many strides a frame is")
        if features % strides:
            raise ArgumentError(f"`features` must be whole strides, but {features} is no multiple of {strides}.")
        self.strides, self.waves = strides, Sinusoidal(width)
        if guide is None:
            self.outliner, self.output = None, nn.Linear(width, features + 1)
        else:
            rate = guide.rate / strides
            self.outliner = Outliner(width, features // strides, per_item=parts_per_item, rate=rate)
            self.output = nn.Linear(width, features)

    def encode(self, source: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> Memory:
        """Read the sources, as `Seq2Seq.encode` does."""
        vectors = self.encoder(embed_source(self.source, source, lengths, self.width), mask=Lengths(lengths))
        if self.outliner is None:
            return Memory(lengths, keys=vectors, values=vectors)
        placed = self.waves(vectors)
        return Memory(lengths, keys=placed, values=placed, outline=self.outliner(vectors, lengths))

    def forward(
        self, memory: Memory, inputs: Float[Tensor, "batch length feature"], outline: Outline | None = None
    ) -> tuple[Float[Tensor, "batch length feature"], Float[Tensor, "batch length"]]:
        """After each of these frames the next one, and the score of its being the last (a logit), all at once.

        Args:
            memory: of the sources.
            inputs: the frames.
            outline: what to go by, of a model with a guide; None for the memory's own.

        Raises:
            ArgumentError: inputs of another size, or an outline where there is no guide.
        """
        if outline is not None and self.outliner is None:
            raise ArgumentError("`outline` must be None for a model without a guide, which goes by none.")
        if len(inputs) != len(memory.lengths) or inputs.shape[2] != self.features:
            raise ArgumentError(
                f"`inputs` must be frames ({len(memory.lengths)}, length, {self.features}), but are "
                f"{tuple(inputs.shape)}."
            )
        own = memory.outline if outline is None else outline
        given, near, drawn = self._outlined(self.target(inputs), own, 0)
        mask: Any = Lengths(key=memory.lengths)
        vectors = self.decoder(given, memory.part("keys"), mask=mask if near is None else mask & near)
        return self._split(vectors, drawn)

    def start(self, memory: Memory) -> "SpeakingState":
        """The state before the first step, which is given a frame of zeros."""
        return SpeakingState(self.decoder.start(memory.part("keys"), memory.lengths), memory.outline)

    def step(
        self, state: "SpeakingState", frame: Float[Tensor, "batch feature"]
    ) -> tuple[Float[Tensor, "batch feature"], Float[Tensor, " batch"], "SpeakingState"]:
        """The frame after one more, the score of its being the last, and the new state; the old one is used up."""
        done = state.caches[0].own.length
        given, near, drawn = self._outlined(self.target(frame.unsqueeze(1)), state.outline, done)
        frames, last = self._split(self.decoder.step(given, state.caches, mask=near), drawn)
        return frames.squeeze(1), last.squeeze(1), state

    def _outlined(
        self, given: Tensor, outline: Outline | None, first: int
    ) -> tuple[Tensor, Guided | None, tuple[Tensor, Tensor] | None]:
        """What enters the decoder, told where it is; what is near; what stands there, and how far past the end."""
        if self.guide is None or outline is None:
            return given, None, None
        count = given.shape[1]
        lengths = outline.counts.div(outline.per_item, rounding_mode="floor")
        places, drawn = outline.at(first * self.strides, count * self.strides)
        # A frame is where its middle is.
        places = places.unflatten(1, (count, self.strides)).mean(2)
        gone = torch.arange(first + 1, first + count + 1, device=given.device) * self.strides
        # The last frame is the one that ends nearest to the end.
        past = gone - outline.durations.detach().double().sum(1, keepdim=True) + self.strides / 2
        return (
            given + self.waves.at(places).to(given),
            self.guide.around(places, lengths),
            (drawn.unflatten(1, (count, self.strides)).flatten(2), past.to(given)),
        )

    def _split(self, vectors: Tensor, drawn: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
        said = self.output(vectors)
        if drawn is None:
            return said[..., :-1], said[..., -1]
        # The outline learns from the target itself; the decoder says what is missing.
        return said + drawn[0].detach(), drawn[1]


@dataclass(frozen=True, eq=False)
class SpeakingState:
    """What a model knows between two steps: its caches, and the outline that it goes by."""

    caches: list[LayerCaches]
    outline: Outline | None


@dataclass(frozen=True, eq=False)
class Spoken:
    """What a model said about one source.

    Args:
        frames: (length, feature) what was said.
        ended: whether the model ended it; False where it was cut at the longest that was allowed.
        begins: (item,) how many frames were gone when each item of the source began, not whole numbers, by the outline
            that the model went by; None where it keeps no time.
    """

    frames: Tensor
    ended: bool
    begins: Tensor | None = None


def speak(
    model: FrameSeq2Seq,
    source: Shaped[Tensor, "batch length *item"],
    lengths: Int[Tensor, " batch"],
    *,
    longest: float = 20.0,
    spare: int = 50,
) -> list[Spoken]:
    """Frame after frame, each made of those before it, until one is more likely the last than not.

    Args:
        model: the model; it speaks as in evaluation, and is left as it was.
        source: the sources, as `encode` takes them.
        lengths: (batch,) how many items of each are real.
        longest: a target has `longest` x its source's length + `spare` frames at most.
        spare: see there.

    Raises:
        ArgumentError: an argument can't be used, or the model's frames aren't finite.

    Example:
        >>> model = FrameSeq2Seq(source=7, features=5, width=8, layers=2, heads=2, hidden=16)
        >>> (said,) = speak(model, torch.tensor([[3, 4, 6]]), torch.tensor([3]), longest=2.0, spare=0)
        >>> len(said.frames) <= 6, said.frames.shape[1]
        (True, 5)
    """
    most = limits(model, lengths, longest, spare)
    frames: list[Tensor] = []
    ends: dict[int, int] = {}
    with deciding(model):
        memory = model.encode(source, lengths)
        _check_finite(*(() if memory.outline is None else (memory.outline.durations, memory.outline.frames)))
        state = model.start(memory)
        frame = next(model.parameters()).new_zeros(len(most), model.features)
        for step in range(1, max(most, default=0) + 1):
            frame, last, state = model.step(state, frame)
            _check_finite(frame, last)
            frames.append(frame)
            for item in (last > 0).nonzero().flatten().tolist():
                if step <= most[item]:
                    ends.setdefault(item, step)
            if all(item in ends or step >= limit for item, limit in enumerate(most)):
                break
        said = torch.stack(frames, 1) if frames else frame.new_zeros(len(most), 0, model.features)
        begins = None if memory.outline is None else memory.outline.begins() / model.strides
    return [
        Spoken(
            said[item, : ends.get(item, limit)],
            item in ends,
            None if begins is None else begins[item, : int(lengths[item])],
        )
        for item, limit in enumerate(most)
    ]


def _check_finite(*said: Tensor) -> None:
    if not all(bool(each.isfinite().all()) for each in said):
        raise ArgumentError("`model` must give finite frames, but doesn't. Train it with a smaller learning rate.")
