"""Classifiers: a label, several labels, or a number for a source."""

from regard.tasks.card_limits import CALIBRATED, NUMBERS
from regard.tasks.task import Task

__all__ = ["TASK"]

_HELP = """Train a classifier, evaluate it on dev, and save it with a model card.

A classifier predicts one label, several labels, or a number for each source; the targets of your data decide which.
Your own data can be a table (.csv, .tsv, .jsonl, or .txt with the content of one). Its columns are called text, path or
smiles, and label or number; name other columns with --column. For several labels, give each a column with 1, 0 or
nothing, and name each with --column labels=NAME. Your data can also be a folder that holds a folder of recordings or
pictures for each class. Both are split into train, dev and test by a hash of each source. To use your own splits, name
a folder with train.csv, dev.csv and test.csv, or with a folder of classes for each split. The first line of the output
says how the data are read. A column called smiles holds molecules; --input texts reads them as plain text. A run that
was killed or stopped by Ctrl-C continues with --resume and ends with the same weights as an uninterrupted one.

A recipe is a JSON object; fields that it leaves out have their defaults: {"width": 64, "input": {"kind": "speech"}}.

\b
Examples:
  regard train classifier --data sst2 --out sentiment
  regard train classifier --data fsdd --label speaker --out speakers
  regard train classifier --data reviews.csv --out mine
  regard train classifier --data photos/ --out mine --seed 7
  regard train classifier --data my-reviews/ --out mine --column text=review --column label=stars
  regard train classifier --data reviews.csv --out mine --labels 0=negative,1=positive
  regard train classifier --data reviews.csv --out mine --skip-broken broken.jsonl
  regard evaluate mine --data my-reviews/
"""

TASK = Task(
    name="classifier",
    noun="classifier",
    verb="classify",
    settings_at="regard.tasks.classifier.settings:ClassifierSettings",
    data_at="regard.tasks.classifier.data:ClassifierData",
    model_at="regard.tasks.classifier.model:Classifier",
    targets=("label", "number", "labels"),
    help=_HELP,
    summary="Predict a label or a number for each source.",
    gives={
        "label": "A classifier: it predicts one of {labels} for a source.",
        "several": "A classifier: it answers {count} questions about a source with yes or no ({names}).",
        "number": "A classifier: it predicts a number for a source.",
    },
    limits={
        "label": CALIBRATED,
        "several": CALIBRATED,
        "number": NUMBERS,
    },
    defaults={
        "words": {"layers": 1, "dropout": 0.4, "average": 0.98},
        "speech": {
            "input": {"together": 4, "standardise": True, "stretch": 0.15, "frame_dropout": 0.15, "band_dropout": 10},
        },
        "molecules": {"input": {"descriptors": True}},
    },
    most_epochs={"words": 30, "pictures": 160, "": 100},
)
