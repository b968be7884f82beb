"""What a recipe says of a seq2seq model."""

from dataclasses import dataclass
from typing import ClassVar

from regard.errors import ArgumentError
from regard.inputs import VOCABULARIES
from regard.tasks.seq2seq.measures import TEXT_MEASURES, TOKENIZERS
from regard.tasks.settings import Settings, boolean, integer, one_of, real, real_or_none

__all__ = ["ARCHITECTURES", "Seq2SeqSettings"]

ARCHITECTURES = ("transformer", "attentive", "recurrent")
"""How a text is made of a source: by attention alone, by RNNs with attention, by RNNs through one fixed vector."""


@dataclass(frozen=True)
class Seq2SeqSettings(Settings):
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
    size: int = integer(4000, 8)
    decoder_layers: int = integer(2, 1)
    tied: bool = boolean(True)
    bidirectional: bool = boolean(True)
    keys: str = one_of("states", "states", "outputs", "inputs")
    values: str = one_of("outputs", "states", "outputs", "inputs")
    guide: float | None = real_or_none(0.0)
    monotonic: float = real(0.0, 0.0)
    spelling_weight: float = real(1.0, 0.0)
    beams: int = integer(4, 1)
    length_penalty: float = real(0.6, 0.0)
    no_repeat_ngram_size: int = integer(0, 0)
    longest: float = real(2.0, 0.0)
    spare: int = integer(10, 0)
    measure: str = one_of("bleu", *TEXT_MEASURES)
    tokenize: str = one_of("13a", *TOKENIZERS)
    lowercase: bool = boolean(False)
    judged: int = integer(1000, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, absent in (("guide", None), ("monotonic", 0)):
            if self.architecture == "recurrent" and getattr(self, name) != absent:
                raise ArgumentError(f"`{name}` must be {absent} for 'recurrent', which keeps one vector of a source.")
