"""Does a translator with one vector of fixed size fail on long sentences?"""

from typing import Any

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.texts.sentence_pairs import by_length, reversed_sentences
from regard.lab.training import train_and_measure_each
from regard.tasks import Recipe
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, Any]:
    """Train a translator of a made-up language, and measure its errors on sentences of each range of lengths."""
    limits, count = setting.pop("words"), setting.pop("sentences")
    pairs, dev, test = (reversed_sentences(each, limits[-1], seed) for seed, each in enumerate((count, 100, 400)))
    task = {"kind": "seq2seq", "architecture": setting.pop("architecture"), "vocabulary": "words", "beams": 1}
    setting["task"] = task | {"measure": "word error rate"}
    setting["input"] = {"kind": "texts", "vocabulary": "words", "piece_dropout": 0.0}
    return train_and_measure_each(Recipe(), pairs, dev, seed, setting, by_length(test, limits))


study = Study(
    "translation",
    "Does attention translate long sentences better than one vector of fixed size?",
    run,
    {"attention": {"architecture": "attentive", "width": 64}, "one vector": {"architecture": "recurrent", "width": 88}},
    (
        Claim("attention", "one vector", at=16, margin=0.005, notes="yes"),
        Claim("attention", "one vector", at=2, margin=0.005, text="Is it also better on the shortest sentences?"),
    ),
    (Measure("word error rate", share=True, falls=True),),
    settings={"sentences": 3000, "epochs": 8, "layers": 1, "heads": 1, "batch_items": 500}
    | {"dropout": 0.0, "attention_dropout": 0.0},
    full={"sentences": 50_000, "epochs": 12},
    along=Along("words", (2, 4, 8, 12, 16), (2, 4, 8, 16, 24, 32), within=True),
    seeds=10,
    source="003, a fixed vector can't keep all of a long sentence, and translation suffers",
    note="A made-up language of ten words, translated word by word in reversed order, so that nothing of a sentence "
    "follows from its rest. Recurrent networks read and write; those without attention are wider, so that both have "
    "about as many parameters. Words are at most so many.",
    order=200,
)
