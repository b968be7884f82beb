"""What a model is to give: for each kind of task, its settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from regard.errors import ArgumentError
from regard.inputs import VOCABULARIES, SpeechFrames
from regard.modules.pooling import POOLINGS
from regard.tasks.settings import Settings, one_of, real, real_or_none, share, shares, truth, whole
from regard.tasks.text_measures import TEXT_MEASURES, TOKENIZERS

__all__ = ["ARCHITECTURES", "TASKS", "Classifying", "Speaking", "Tagging", "Writing"]

ARCHITECTURES = ("transformer", "attentive", "recurrent")
"""How a text is made of a source: by attention alone, by RNNs with attention, by RNNs through one fixed vector."""


@dataclass(frozen=True)
class Tagging(Settings):
    """A label for each item of a source.

    Args:
        auxiliary: further label sets that the same net learns beside its own, in training only: the name of each, and
            how much it counts beside 1 for its own.

    Raises:
        ArgumentError: a share that is none.
    """

    kind: ClassVar[str] = "tagger"

    auxiliary: Mapping[str, float] = shares()


@dataclass(frozen=True)
class Classifying(Settings):
    """A label for each source, several yes or no, or a number: what the targets are says which.

    Args:
        pooling: how the vectors of a source become one, a name in `POOLINGS`.
        auxiliary: further answers that the same net learns beside its own, as for `Tagging`; they may be of any kind,
            and known of other sources.

    Raises:
        ArgumentError: there is no such pooling, or a share that is none.
    """

    kind: ClassVar[str] = "classifier"

    pooling: str = one_of("attention", *POOLINGS)
    auxiliary: Mapping[str, float] = shares()


@dataclass(frozen=True)
class Writing(Settings):
    """A text for each source, whose length the model decides.

    The recipe's `layers` read, and `layers` of "attentive" and "recurrent" also write; `network` plays no part, nor do
    `hidden` and `position` of RNNs.

    Args:
        architecture: one of `ARCHITECTURES`.
        vocabulary: how the texts to write are cut, a name in `inputs.VOCABULARIES`.
        size: at most so many pieces are known.
        decoder_layers: of a "transformer", how many write.
        tied: whether a piece is scored by the vector that it is read with.
        bidirectional: whether RNNs read from both ends.
        keys, values: of "attentive", what of the source is matched and what is received: "states", "outputs" or
            "inputs".
        guide: for tasks that go from left to right: how far, as a share of the source, each piece may look to either
            side of where it should be at that time; None: anywhere.
        monotonic: for tasks that go from left to right: how much it counts beside 1, in training, that the source's
            vectors spell the text by themselves, in order; then what is written is what the decoder says, or what they
            spell, whichever both find likelier (`modules.agreed`). 0: nothing is spelt.
        spelling_weight: how much, in that choice, the spelling counts beside 1 for the decoder.
        beams, length_penalty, no_repeat_ngram_size, longest, spare: how a text is sought, as in `modules.beam_search`;
            the n-grams are of pieces of `vocabulary`.
        measure: what models are chosen by, a name in `TEXT_MEASURES`.
        tokenize: of "bleu", how sacrebleu cuts texts: "13a", or "zh" for Chinese.
        lowercase: of "bleu", whether "A" and "a" are the same.
        judged: of the dev examples so many, evenly spread, are written after each epoch, greedily: without a beam, and
            without `no_repeat_ngram_size`, so that the epoch chosen doesn't depend on how texts are sought later.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "seq2seq"

    architecture: str = one_of("transformer", *ARCHITECTURES)
    vocabulary: str = one_of("subwords", *VOCABULARIES)
    size: int = whole(4000, 8)
    decoder_layers: int = whole(2, 1)
    tied: bool = truth(True)
    bidirectional: bool = truth(True)
    keys: str = one_of("states", "states", "outputs", "inputs")
    values: str = one_of("outputs", "states", "outputs", "inputs")
    guide: float | None = real_or_none(0.0)
    monotonic: float = real(0.0, 0.0)
    spelling_weight: float = real(1.0, 0.0)
    beams: int = whole(4, 1)
    length_penalty: float = real(0.6, 0.0)
    no_repeat_ngram_size: int = whole(0, 0)
    longest: float = real(2.0, 0.0)
    spare: int = whole(10, 0)
    measure: str = one_of("bleu", *TEXT_MEASURES)
    tokenize: str = one_of("13a", *TOKENIZERS)
    lowercase: bool = truth(False)
    judged: int = whole(1000, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, absent in (("guide", None), ("monotonic", 0)):
            if self.architecture == "recurrent" and getattr(self, name) != absent:
                raise ArgumentError(f"`{name}` must be {absent} for 'recurrent', which keeps one vector of a source.")


@dataclass(frozen=True)
class Speaking(Settings):
    """A sound for each source, of a length that the model decides: filter banks, heard through Griffin-Lim.

    The recipe's `layers` read; `network` plays no part.

    Args:
        rate: samples a second of what is said.
        filters: how many bands of pitch a frame of 10 ms has.
        together: so many frames are said at a step.
        decoder_layers: how many layers speak.
        frame_dropout: the share dropped, in training, of what a frame becomes before the decoder hears it: one that
            hears too well what it has said repeats it instead of reading on.
        own: the share of steps that the decoder hears, in the last epoch, as it would have said them itself, not as
            they truly were: else it never learns to go on from what it says. It rises from 0 in the first, as who only
            hears itself doesn't find its place in the source.
        guide: how far, as a share of the source, each step may look to either side of where it is; None: anywhere, and
            the net is not told where it is.
        parts: with a guide, how many parts of a sound each item of the source is, from its beginning to its end.
        longest, spare: a sound has at most `longest` x the items of its source + `spare` seconds.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "synthesis"

    rate: int = whole(8000, 2000, 192_000)
    filters: int = whole(40, 1, 128)
    together: int = whole(4, 1, 100)
    decoder_layers: int = whole(2, 1)
    frame_dropout: float = share(0.5)
    own: float = share(0.5)
    guide: float | None = real_or_none(0.0)
    parts: int = whole(5, 1, 100)
    longest: float = real(1.0, 0.0)
    spare: float = real(1.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        # What can't be together is refused here.
        self.frames()

    def frames(self) -> SpeechFrames:
        """What a sound is made of, and back."""
        return SpeechFrames(rate=self.rate, filters=self.filters, normalise=False)


TASKS: dict[str, type[Settings]] = {task.kind: task for task in (Tagging, Classifying, Writing, Speaking)}
