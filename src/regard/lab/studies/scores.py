"""Is the inner product the best score, and the fastest?"""

from regard.lab.durations import score_time
from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.tagger import DATA, EPOCHS, FULL, SMALL, tagger_accuracy
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["study"]

_TIME = "time as a multiple"


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a tagger whose attention compares queries and keys by one of the scores, and time the attention."""
    taken = score_time(setting["score"], **setting.pop("timed"))
    return {**tagger_accuracy(setting, seed), "ms": taken.milliseconds, _TIME: taken.multiple}


study = Study(
    "scores",
    "Is the scaled inner product better than the additive score?",
    run,
    {name: {"score": name} for name in ("scaled_dot", "dot", "additive", "cosine", "bilinear")},
    (
        Claim("scaled_dot", "additive", at=15, margin=0.003),
        Claim("scaled_dot", "additive", measure=_TIME, text="Is it faster than the additive score?"),
        Claim("scaled_dot", "cosine", at=15, margin=0.003, notes="yes", text="Is it better than the cosine?"),
        Claim("scaled_dot", "cosine", measure=_TIME, notes="yes", text="Is it faster than the cosine?"),
        Claim("scaled_dot", "bilinear", at=15, margin=0.003, text="Is it better than the bilinear score?"),
        Claim("scaled_dot", "dot", at=15, margin=0.003, text="Is it better than the inner product without scaling?"),
    ),
    (ACCURACY, Measure("ms", falls=True, digits=2), Measure(_TIME, falls=True, digits=2)),
    settings={**SMALL, "timed": {"length": 128, "heads": 4, "head_size": 64, "rounds": 31}},
    full=FULL,
    along=EPOCHS,
    seeds=5,
    data=(DATA,),
    source="001, how the attention score is computed; 002, why not the cosine",
    note="Taggers of English parts of speech with one layer. The time is that of attention alone, forward and "
    "backward, over 8 sequences of 128 vectors, in turns with scaled inner products. Cosines lie between -1 and "
    "1 and aren't multiplied by anything here, so the largest weight is at most e^2 = 7.4 times the smallest, "
    "relative positions aside.",
    order=40,
)
