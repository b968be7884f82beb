"""Taggers: a label, or a number, for each item of a source."""

from regard.tasks.card_limits import CALIBRATED, NUMBERS
from regard.tasks.task import Task

__all__ = ["TASK"]

_HELP = """Train a tagger, evaluate it on dev, and save it with a model card.

A tagger predicts a label for each word of a sentence, frame of a recording or node of a graph. Your own data can be a
.conllu file (or a .txt file with the same content), which is split into train, dev and test by a hash of each sentence;
a folder with one such file for each split, named like en-train.conllu; or a folder with profiles.csv and edges.csv. A
run that was killed or stopped by Ctrl-C continues with --resume and ends with the same weights as an uninterrupted one.

A recipe is a JSON object; fields that it leaves out have their defaults: {"width": 64, "epochs": 5}.

\b
Examples:
  regard train tagger --data ud-english-ewt --out english
  regard train tagger --data ud-english-ewt --out english --resume
  regard train tagger --data fsdd-strings --label frames --out frames
  regard train tagger --data mine.conllu --out mine --seed 7
  regard train tagger --data my-treebank/ --out mine --recipe small.json
  regard evaluate mine --data my-treebank/
"""

TASK = Task(
    name="tagger",
    noun="tagger",
    verb="tag",
    settings_at="regard.tasks.tagger.settings:TaggerSettings",
    data_at="regard.tasks.tagger.data:TaggerData",
    model_at="regard.tasks.tagger.model:Tagger",
    targets=("items",),
    help=_HELP,
    summary="Label each word, frame or node of a source.",
    # Tables don't hold targets for items, so there is no column to name.
    options_without=("column",),
    gives={
        "label": "A tagger: it predicts one of {labels} for each {item}.",
        "number": "A tagger: it predicts a number for each {item}.",
    },
    limits={
        "label": CALIBRATED,
        "number": NUMBERS,
    },
    commands={"words": "tag", "": "predict"},
    examples={"words": '["I", "saw", "a", "saw", "."]'},
    per_item=True,
    most_epochs={"words": 60, "": 100},
)
