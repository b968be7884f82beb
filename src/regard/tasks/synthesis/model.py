"""A trained synthesizer: it makes a sound of any length for a source."""

import math
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from regard.errors import ArgumentError
from regard.inputs import Sound, as_list
from regard.modules import FrameSeq2Seq, GeneratedFrames, generate_frames
from regard.tasks.exporting.traced import Traced
from regard.tasks.judging.evaluation import Evaluation
from regard.tasks.judging.intervals import interval_of_sums
from regard.tasks.judging.measure import Measure
from regard.tasks.model import Model, check_sources
from regard.tasks.network import encoder_decoder
from regard.tasks.recipe import Recipe
from regard.tasks.synthesis.dataset import SpeechDataset, as_spoken, frames_of
from regard.tasks.synthesis.evaluation import frame_errors, limits_of
from regard.tasks.synthesis.target import FRAME_ERROR, SpeechTarget
from regard.tasks.training.batching import batches_by_length

if TYPE_CHECKING:
    import regard.inspection
    from regard.inspection import Record

__all__ = ["SynthesizedSpeech", "Synthesizer"]


class SynthesizedSpeech(NamedTuple):
    """A synthesized sound.

    Args:
        sound: the sound.
        ended: whether the model predicted its end; False if it was cut at the largest length.
        begins: the time at which each item of the source begins, in seconds, from a model with a duration plan; else
            empty. Items of a sound that was cut may begin after its end.
    """

    sound: Sound
    ended: bool
    begins: tuple[float, ...] = ()


class Synthesizer(Model[SpeechTarget]):
    """A trained synthesizer; `regard.train` makes one, `regard.load` loads one.

    Example:
        >>> import regard
        >>> from regard.inputs import Sound
        >>> hum = torch.sin(torch.arange(1600) / 8)
        >>> pairs = [("low", Sound(hum[None] / 2, rate=8000)), ("low low", Sound(hum.repeat(2)[None] / 2, rate=8000))]
        >>> recipe = regard.Recipe(
        ...     task={"kind": "synthesis"}, input={"kind": "texts", "vocabulary": "words"}, position="sinusoidal",
        ...     width=16, heads=2, hidden=16, layers=1, epochs=2,
        ... )
        >>> speaker = regard.train(pairs, pairs, recipe=recipe, progress="none")
        >>> said, nothing = speaker.say(["low", ""])
        >>> said.sound.rate, nothing
        (8000, None)
        >>> next(regard.load("synthesis").look(["theo 7"])).items
        ('theo', '7')
    """

    @classmethod
    def read_target(cls, saved: Any) -> SpeechTarget:
        return SpeechTarget.from_json(saved)

    def traced(self) -> Traced:
        raise ArgumentError(
            f"{self.name} can't be exported: it makes a sound step by step, and an ONNX file holds one step of a "
            "computation. regard serve and Model.say use it where regard is installed."
        )

    @classmethod
    def new_network(cls, recipe: Recipe, encoder: Any, target: SpeechTarget) -> FrameSeq2Seq:
        return encoder_decoder(recipe, encoder, target)

    def case(self, source: Any, *, longest: int | None = None) -> "regard.inspection.Case":
        """Not for sounds.

        Raises:
            ArgumentError: always; the error says what shows the attention instead.
        """
        raise ArgumentError(
            f"the model must predict labels, numbers or a text, but {self.name} makes sounds, whose change isn't "
            "measured. What it attends to is shown by regard say --map; from Python: look."
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return "seconds", "ended", "begins"

    @property
    def measure(self) -> Measure:
        return FRAME_ERROR

    def say(
        self, sources: Iterable[Any], *, batch_items: int = 4000, longest: int | None = None
    ) -> list[SynthesizedSpeech | None]:
        """Say each source.

        Args:
            sources: sources of the kind in the recipe's `input`, such as texts.
            batch_items: the approximate number of steps in a batch.
            longest: the largest number of items in a source; None for no limit.

        Returns:
            the sound for each source, in their order; None for an empty source.

        Raises:
            ArgumentError: a source that the model can't read, that is longer than `longest`, or that has an
                out-of-vocabulary piece; or an invalid setting.
            MissingExtraError: the library `librosa` is not installed.
        """
        source, task = self.recipe.input, self.recipe.task
        given = as_list("sources", sources, "sources")
        items = [self.read(each, longest) for each in given]
        for each in given:
            self.check_known(each)
        present = [index for index, item in enumerate(items) if len(item)]
        device = next(self.network.parameters()).device
        found: list[SynthesizedSpeech | None] = [None] * len(items)
        lengths = [math.ceil(len(items[index]) / self.target.rate) for index in present]
        for places in batches_by_length(lengths, batch_items):
            members = [present[place] for place in places]
            batch = source.batch(self.encoder, [items[index] for index in members]).to(device)
            said = generate_frames(self.network, batch.vectors, batch.lengths, **limits_of(task, self.target))
            for index, each in zip(members, said, strict=True):
                found[index] = self.to_speech(each)
        return found

    def to_speech(self, said: GeneratedFrames) -> SynthesizedSpeech:
        """Convert generated frames to a sound.

        Raises:
            MissingExtraError: the library `librosa` is not installed.
        """
        begins = () if said.starts is None else (said.starts * self.target.seconds).tolist()
        return SynthesizedSpeech(self.target.sound(said.frames), said.ended, tuple(begins))

    def look(self, sources: Iterable[Any], *, longest: int | None = None) -> Iterator["Record"]:
        """Synthesize each source, and record the attention of each step of the sound to the source.

        The record's items are those of the source, its `queries` the times at which the steps begin, and its answer is
        the result of `say`. It has the cross-attention of each decoder layer.

        Args:
            sources, longest: as in `Model.look`.
        """
        from regard.tasks.synthesis.recording import record_speaking

        check_sources(sources)
        return record_speaking(self, sources, longest)

    def evaluate(self, examples: Iterable[Any], *, batch_items: int = 4000) -> Evaluation:
        """The distance of synthesized sounds to their recordings, frame by frame after alignment in time.

        It doesn't measure intelligibility, for which a recogniser is needed.

        Args:
            examples: (source, sound) pairs, or `Example`s; a sound is a `Sound` or the path of a recording.
            batch_items: the approximate number of items in a batch.

        Raises:
            ArgumentError: no examples, an example of another form, or `say` would refuse its source.
            DataError: a recording that can't be read.
            MissingExtraError: the library `librosa` is not installed.
        """
        pairs = as_spoken(examples)
        items = [self.read(source) for source, _ in pairs]
        for source, _ in pairs:
            self.check_known(source)
        spoken = frames_of(self.target.frames, pairs)
        dataset = SpeechDataset(self.recipe.input, self.encoder, self.target, items, spoken)
        if not dataset.lengths:
            raise ArgumentError("`examples` must hold at least one source that isn't empty, but holds none.")
        started = time.perf_counter()
        self._set_evaluation_mode()
        with torch.inference_mode():
            sums = frame_errors(self.network, dataset, self.recipe.task, batch_items).numpy()
        seconds = time.perf_counter() - started

        def figure(sums: Any) -> float:
            return float(sums[0] / sums[1])

        interval, method = interval_of_sums(sums, figure)
        return Evaluation(
            self.measure.name,
            figure(sums.sum(0)),
            interval,
            method,
            len(sums),
            empty=len(pairs) - len(sums),
            seconds=seconds,
        )

    def check_known(self, source: Any) -> None:
        """Refuse words or characters that aren't in the vocabulary: the model can't pronounce them."""
        if unknown := self.recipe.input.unknown_pieces(self.encoder, source):
            known = ", ".join(self.encoder.listed[:20]) + (", ..." if len(self.encoder.listed) > 20 else "")
            raise ArgumentError(f"`sources` must be made of {known}, but {source!r:.60} has {unknown[0]!r:.40}.")
