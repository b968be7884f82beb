"""Does a vector attend most to itself?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.own_weight import of_records, of_vectors
from regard.lab.texts.tagger import DATA, FULL, SMALL, trained_tagger, untrained_tagger
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Measure the diagonal of the weights of a tagger, or of its vectors of words without projections."""
    trained, projected = setting.pop("trained"), setting.pop("projected")
    tagger, dev = (trained_tagger if trained else untrained_tagger)(setting, seed)
    words = [each.words for each in dev]
    return of_records(tagger.look(words)) if projected else of_vectors(tagger, words)


study = Study(
    "diagonal",
    "Does a vector of a trained model usually attend most to itself?",
    run,
    {
        "trained": {"trained": True, "projected": True},
        "trained, Q = K": {"trained": True, "projected": True, "projections": "shared_query_key"},
        "untrained": {"trained": False, "projected": True},
        "Q = K = X": {"trained": False, "projected": False},
    },
    (
        Claim("trained", 0.5),
        Claim("Q = K = X", 0.5, notes="yes", text="Does it if queries and keys are the vectors themselves?"),
        Claim("trained, Q = K", 0.5, text="Does it in a trained model whose queries and keys have one matrix?"),
        Claim("trained", "untrained", text="Does it more often after training than before?"),
    ),
    (Measure("largest on the diagonal", share=True), Measure("weight on the diagonal", share=True)),
    settings=SMALL,
    full=FULL,
    seeds=3,
    data=(DATA,),
    source="002, the example of a calculation with Q = K = V = X: the diagonal is usually the largest",
    note="The share of queries, over all heads, whose largest weight is their own, in sentences of dev of five words "
    "or more, and the mean of the own weights. X are the vectors of words before training. The projected ones "
    "have relative positions.",
    order=250,
)
