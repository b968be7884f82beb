"""Speech synthesis: a sound for a source, of a length that the model decides."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from regard.tasks.task import ENCODER_DECODER, Task

__all__ = ["TASK"]

_HELP = """Train a model that says a sound for each source, evaluate it on dev, and save it with a model card.

Such a model predicts filter banks step by step and decides when the sound ends; regard say turns them into WAV files.
Its score is the distance of its frames to those of a recording of the same; to judge how intelligible it is, listen.
Your own data is a folder with train.csv, dev.csv and test.csv (or .tsv, .jsonl), with the columns text and sound, which
is the path of a recording relative to the table's folder; name other columns with --column. A run that was killed or
stopped by Ctrl-C continues with --resume and ends with the same weights as an uninterrupted one.

A recipe is a JSON object; fields that it leaves out have their defaults: {"task": {"kind": "synthesis", "together": 3},
"input": {"kind": "texts", "vocabulary": "characters"}}.

\b
Examples:
  regard train synthesis --data fsdd-strings --label speech --out speaker
  regard say speaker "jackson 4 0 7 1" --out numbers.wav
  regard evaluate speaker --data fsdd-strings
  regard train synthesis --data my-recordings/ --out mine --recipe small.json --seed 7
"""


class _Synthesis(Task):
    name = "synthesis"
    noun = "speech synthesizer"
    verb = "say"
    value = "a sound, and whether the model ended it"
    commands = ("say",)
    targets = ("sound",)
    help = _HELP
    summary = "Say a sound for each source."
    # A sound is no label.
    options_without = ("renamed", "ensemble", "base", "tune")
    gives: ClassVar = {
        "speech": "A speech synthesizer: it says a source, and decides its length; its output is filter banks."
    }
    limits: ClassVar = {
        "speech": (
            "It speaks with the voices of its data, and only words that occur in its data; it refuses others. It "
            "predicts filter banks, without phases, so it sounds hollow. Its voices are those of real people; don't "
            "let them say what they never would."
        )
    }
    decides_length = True
    predicts_sound = True
    text_source = "texts"

    @property
    def settings(self) -> Any:
        from regard.tasks.synthesis.settings import SynthesisSettings

        return SynthesisSettings

    @property
    def data(self) -> Any:
        from regard.tasks.synthesis.data import SynthesisData

        return SynthesisData

    @property
    def model(self) -> Any:
        from regard.tasks.synthesis.model import Synthesizer

        return Synthesizer

    def command(self, source: str) -> str:
        return "say"

    def suits(self, pairs: Sequence[tuple[Any, Any]]) -> bool:
        from regard.tasks.examples import first_target, is_sound

        return is_sound(first_target(pairs))

    def describe_targets(self, examples: Sequence[Any]) -> str:
        return "sounds"

    def example(self, examples: Sequence[Any]) -> Any:
        """The first text."""
        from regard.inputs.text.special_ids import checked_text
        from regard.tasks.examples import as_pairs

        return next((checked_text(source) for source, _ in as_pairs(examples) if isinstance(source, str)), None)

    def defaults(self, source: str) -> Mapping[str, Any]:
        own: dict[str, Any] = {"batch_items": 800, "average": 0.99}
        return {**ENCODER_DECODER, **own, "input": {"piece_dropout": 0.0} if source == "texts" else {}}


TASK = _Synthesis()
