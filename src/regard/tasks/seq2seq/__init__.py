"""Sequence to sequence: a text for a source, of a length that the model decides."""

from regard.tasks.encoder_decoder_defaults import ENCODER_DECODER
from regard.tasks.task import Task

__all__ = ["TASK"]

_HELP = """Train a model that writes a text for each source, evaluate it on dev, and save it with a model card.

Such a model translates, transcribes or spells, and decides how long the text is. Your own data is a table (.csv, .tsv,
.jsonl, or .txt with the content of one) with the columns text or path, and target; name other columns with --column. It
is split into train, dev and test by a hash of each source. To use your own splits, name a folder with train.csv,
dev.csv and test.csv. A run that was killed or stopped by Ctrl-C continues with --resume and ends with the same weights
as an uninterrupted one.

A recipe is a JSON object; fields that it leaves out have their defaults: {"task": {"kind": "seq2seq", "architecture":
"attentive", "measure": "word error rate"}, "input": {"kind": "speech"}}. The architectures are transformer, attentive
(RNNs with attention) and recurrent (RNNs through one vector of fixed size).

\b
Examples:
  regard train seq2seq --data multi30k --label de-en --out translator
  regard train seq2seq --data fsdd-strings --out transcriber
  regard train seq2seq --data pairs.csv --out mine
  regard evaluate mine --data pairs.csv
"""
TASK = Task(
    name="seq2seq",
    noun="seq2seq model",
    verb="write",
    settings_at="regard.tasks.seq2seq.settings:Seq2SeqSettings",
    data_at="regard.tasks.seq2seq.data:Seq2SeqData",
    model_at="regard.tasks.seq2seq.model:Seq2SeqModel",
    targets=("text",),
    help=_HELP,
    summary="Write a text for each source.",
    # A text is no label.
    options_without=("renamed",),
    gives={"text": "A seq2seq model: it writes a text for a source, and decides its length."},
    limits={
        "text": (
            "{knows} What it writes reads well even where it is wrong, above all "
            "for sources longer than those in training. {attention}"
        )
    },
    decides_length=True,
    text_source="texts",
    defaults={
        "": {
            **ENCODER_DECODER,
            "smoothing": 0.1,
            "learning_rate": 2e-3,
            "average": 0.98,
        },
        "graphs": {"input": {"edges": False}},
        "speech": {"input": {"together": 4}},
        "texts": {"input": {"piece_dropout": 0.0}},
    },
    fitted_at="regard.tasks.seq2seq.defaults:fitted_settings",
    batches=16,
)
