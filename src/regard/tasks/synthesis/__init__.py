"""Speech synthesis: a sound for a source, of a length that the model decides."""

from regard.tasks.encoder_decoder_defaults import ENCODER_DECODER
from regard.tasks.task import Task

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
TASK = Task(
    name="synthesis",
    noun="speech synthesizer",
    verb="say",
    settings_at="regard.tasks.synthesis.settings:SynthesisSettings",
    data_at="regard.tasks.synthesis.data:SynthesisData",
    model_at="regard.tasks.synthesis.model:Synthesizer",
    targets=("sound",),
    help=_HELP,
    summary="Say a sound for each source.",
    # A sound is no label.
    options_without=("renamed",),
    gives={"speech": "A speech synthesizer: it says a source, and decides its length; its output is filter banks."},
    limits={
        "speech": (
            "It speaks with the voices of its data, and only words that occur in its data; it refuses others. It "
            "predicts filter banks, without phases, so it sounds hollow. Its voices are those of real people; don't "
            "let them say what they never would."
        )
    },
    commands={"": "say"},
    decides_length=True,
    predicts_sound=True,
    text_source="texts",
    defaults={
        "": {
            **ENCODER_DECODER,
            "batch_items": 800,
            "average": 0.99,
        },
        "texts": {"input": {"piece_dropout": 0.0}},
    },
)
