"""Do verbs seldom open a sentence?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.tagger import DATA
from regard.lab.training import first_examples
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Count the verbs at a place of the sentences of one tenth of a treebank."""
    sentences = first_examples(DATA, "train")[seed % 10 :: 10]
    first, last = setting["first"] - 1, setting["last"]
    labels = [label for each in sentences for label in each.labels[first:last]]
    verbs = labels.count("VERB") / len(labels)
    return {"share of verbs": verbs, "share of verbs and auxiliaries": verbs + labels.count("AUX") / len(labels)}


study = Study(
    "verbs",
    "Do verbs seldom open a sentence?",
    run,
    {
        "first word": {"first": 1, "last": 1},
        "second word": {"first": 2, "last": 2},
        "third word": {"first": 3, "last": 3},
        "later words": {"first": 2, "last": None},
    },
    (
        Claim("first word", "later words", notes="yes"),
        Claim("first word", "later words", measure="share of verbs and auxiliaries", text="Do auxiliaries and verbs?"),
        Claim("first word", "third word", text="Are there fewer verbs at the first word than at the third?"),
    ),
    (
        Measure("share of verbs", share=True, falls=True),
        Measure("share of verbs and auxiliaries", share=True, falls=True),
    ),
    seeds=10,
    repeated="sentences of the same treebank",
    data=(DATA,),
    source="001, positional encoding: verbs seldom open a sentence",
    note="The share of the words that are verbs. Nothing is trained: each seed stands for another tenth of the "
    "sentences of a treebank of reviews, e-mails and other texts of the web. Better means fewer.",
    order=270,
)
