"""The settings of a seq2seq model in a recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.errors import ArgumentError
from regard.inputs import VOCABULARIES
from regard.modules.seq2seq.generation_config import MOST_LENGTH_PENALTY
from regard.tasks.architectures import TEXT_NETWORKS
from regard.tasks.architectures.architecture import Architectures
from regard.tasks.examples import spread
from regard.tasks.seq2seq.hallucination import mean_common
from regard.tasks.seq2seq.measures import TEXT_MEASURES, TOKENIZERS
from regard.tasks.settings import Settings, boolean, fraction, integer, one_of, real, real_or_none
from regard.tasks.sources.texts import mostly_unspaced, vocabulary_settings

__all__ = ["Seq2SeqSettings", "fitted_settings"]

_SAMPLE = 300
_COPIED = 0.3
_MOSTLY_COPIED = 0.5
_FEW_PAIRS = 5000
_FEW_RECORDINGS = 500


@dataclass(frozen=True)
class Seq2SeqSettings(Settings):
    """A text for each source; the model decides its length.

    The recipe's `layers` are those of the encoder, and of the decoder too in "attentive" and "recurrent". Its `network`
    has no effect, and neither have `hidden` and `position` on RNNs. `mask` and `approximation` are of the encoder
    of a "transformer".

    Args:
        architecture: "transformer", attention alone; "attentive", RNNs with attention; or "recurrent", RNNs through one
            vector of fixed size.
        vocabulary: how the target texts are split, a name in `inputs.VOCABULARIES`.
        size: the largest number of pieces in the vocabulary.
        decoder_layers: of a "transformer".
        tied: whether the output layer shares its weights with the embedding of the pieces.
        bidirectional: whether RNNs read the source in both directions.
        keys, values: of "attentive": the decoder attends by the source's "states", "outputs" or "inputs", and receives
            one of these.
        guide: for tasks that run from left to right: how far, as a fraction of the source, each piece may attend to
            either side of its expected position; None: anywhere.
        monotonic: for tasks that run from left to right: the weight, beside 1, of a CTC loss on the source's vectors.
            Generation then rescores the texts of the decoder and the CTC head by both (`modules.rescore`). 0: no CTC.
        copying: of "attentive", from texts to texts: whether pieces that are in both vocabularies can be copied from
            the source (`modules.CopyHead`). The vocabulary of the targets then holds the pieces of the sources, too.
        joining: from recordings: the probability that a training example is joined with another one: their recordings,
            one after the other, and their texts, with a space between where texts have spaces.
        hallucination: from texts to texts that share much with them: the probability that a training pair is replaced
            by one in which that is exchanged, as in `hallucination.Hallucination`.
        spelling_weight: the weight of the CTC head, beside 1 for the decoder, in that rescoring.
        beams, length_penalty, no_repeat_ngram_size, longest, spare: how texts are generated, as in
            `modules.beam_search`; the n-grams are of pieces of `vocabulary`.
        measure: the measure that models are chosen by, a name in `TEXT_MEASURES`.
        tokenize: of "bleu": sacrebleu's tokenizer: "13a", or "zh" for Chinese.
        lowercase: of "bleu": whether case is ignored.
        judged: how many dev examples, evenly spread, are generated after each epoch. Generation is then greedy, without
            `no_repeat_ngram_size`, so that the best epoch doesn't depend on later settings of the search.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "seq2seq"
    architectures: ClassVar[Architectures] = TEXT_NETWORKS

    architecture: str = one_of("transformer", *TEXT_NETWORKS.kinds)
    vocabulary: str = one_of("subwords", *VOCABULARIES)
    size: int = integer(4000, 8)
    decoder_layers: int = integer(2, 1, 1000)
    tied: bool = boolean(True)
    bidirectional: bool = boolean(True)
    keys: str = one_of("states", "states", "outputs", "inputs")
    values: str = one_of("outputs", "states", "outputs", "inputs")
    guide: float | None = real_or_none(0.0)
    monotonic: float = real(0.0, 0.0)
    copying: bool = boolean(False)
    hallucination: float = fraction(0.0)
    joining: float = fraction(0.0)
    spelling_weight: float = real(1.0, 0.0)
    beams: int = integer(4, 1, 1000)
    length_penalty: float = real(0.6, 0.0, MOST_LENGTH_PENALTY)
    no_repeat_ngram_size: int = integer(0, 0)
    longest: float = real(2.0, 0.0)
    spare: int = integer(10, 0)
    measure: str = one_of("bleu", *TEXT_MEASURES)
    tokenize: str = one_of("13a", *TOKENIZERS)
    lowercase: bool = boolean(False)
    judged: int = integer(1000, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        for field, (absent, why) in TEXT_NETWORKS.kinds[self.architecture].fixed.items():
            section, _, name = field.rpartition(".")
            if section and getattr(self, name) != absent:
                raise ArgumentError(f"`{name}` must be {absent} for {self.architecture!r}, which {why}.")


def fitted_settings(pairs: Sequence[tuple[Any, Any]], input: str) -> dict[str, Any]:
    """The settings that follow from the examples: how texts are split, judged and learned."""
    texts = [target for _, target in pairs if isinstance(target, str)]
    task = vocabulary_settings(texts)
    if task["vocabulary"] == "characters":
        # RNNs with attention learn to copy and to reorder characters from a few hundred pairs. Trained on 470 dates in
        # six formats, they get all of 570 others right; a Transformer gets 7 to 28 % wrong.
        task |= {"measure": "error", "architecture": "attentive"}
    elif mostly_unspaced(texts):
        task["tokenize"] = "zh"
    if input == "texts":
        task |= _sharing(pairs, task)
        # Target texts may be much longer than sources, such as numbers in words.
        spare = Seq2SeqSettings().spare
        ratios = sorted(
            (len(target) + 1 - spare) / max(len(source), 1)
            for source, target in pairs
            if isinstance(source, str) and isinstance(target, str)
        )
        # A quantile, because a few pairs may be outliers.
        usual = ratios[int(0.995 * (len(ratios) - 1))] if ratios else 0.0
        task["longest"] = round(max(Seq2SeqSettings().longest, 1.5 * usual), 1)
    if input == "speech":
        # With few recordings, each text of dev is wrong for long: an epoch with fewer wrong words must count as better.
        task["measure"] = "word error rate" if any(" " in text for text in texts) else "character error rate"
        # From a hundred recordings of digits, a decoder alone learns nothing: its character error rate is 90 %. It is
        # 10 % with a CTC head, and 6 % if recordings are joined, too.
        task |= {"monotonic": 1.0, "joining": 0.5 if len(texts) <= _FEW_RECORDINGS else 0.0}
        # A CTC head has no path for a text that is longer than its source.
        task["longest"] = 1.0
    return task


def _sharing(pairs: Sequence[tuple[Any, Any]], vocabulary: dict[str, Any]) -> dict[str, Any]:
    """Copying and hallucination, where the target texts share characters in a row with the sources."""
    texts = [(source, target) for source, target in pairs if isinstance(source, str) and isinstance(target, str)]
    of_sources = vocabulary_settings([source for source, _ in texts])
    if not vocabulary["vocabulary"] == of_sources["vocabulary"] == "characters":
        return {}
    shared = mean_common(spread(texts, _SAMPLE))
    if shared < _COPIED:
        return {}
    # The vocabulary of the targets holds the characters of both.
    task: dict[str, Any] = {"copying": True, "size": vocabulary["size"] + of_sources["size"]}
    if shared >= _MOSTLY_COPIED and len(texts) <= _FEW_PAIRS:
        task["hallucination"] = 0.5
    return task
