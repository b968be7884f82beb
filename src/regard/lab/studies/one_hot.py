"""Is a word embedding better than one-hot vectors?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.tagger import DATA, FULL, SMALL
from regard.lab.texts.word_tagger import measure_word_tagger
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["study"]

_NEW, _AFTER = "accuracy on new words", "closeness after the first layer"


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a tagger that knows words by one of the kinds of vectors, and not by their spelling."""
    return measure_word_tagger(setting, setting.pop("vectors"), seed)


study = Study(
    "one_hot",
    "Is a word embedding better than one-hot vectors?",
    run,
    {"one-hot": {"vectors": "one_hot"}, "embedding": {"vectors": "counted"}, "random": {"vectors": "drawn"}},
    (
        Claim("embedding", "one-hot", margin=0.003, notes="yes"),
        Claim("embedding", "one-hot", measure=_NEW, margin=0.003, notes="yes", text="Is it on words without a label?"),
        Claim("embedding", "random", margin=0.003, text="Is it better than random vectors of the same size?"),
        Claim("embedding", 0.0, measure="closeness", notes="yes", text="Are its words of one part of speech close?"),
        Claim("one-hot", 0.0, measure="closeness", margin=0.005, notes="no", text="Are those of one-hot vectors?"),
        Claim("one-hot", 0.0, measure=_AFTER, text="Are they after the first layer of a trained tagger?"),
    ),
    (ACCURACY, Measure(_NEW, share=True), Measure("closeness", digits=3), Measure(_AFTER, digits=3)),
    settings={**SMALL, "size": 64},
    full={**FULL, "size": 128},
    seeds=3,
    data=(DATA,),
    source="001, word embedding: one-hot vectors hold no meaning, cat is as far from dog as from apple",
    note="A one-hot vector times the matrix of the first layer is a row of it: that row is an embedding, which "
    "training learns. The embedding here is counted from all sentences of train without labels. Closeness: the "
    "mean cosine of two words of the same part of speech, minus that of others.",
    order=240,
)
