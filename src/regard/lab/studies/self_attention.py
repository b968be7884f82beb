"""Does a vector need to attend to itself?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.tagger import DATA, EPOCHS, FULL, SMALL, tagger_accuracy

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a tagger, with or without the diagonal of the attention matrix."""
    return tagger_accuracy(setting, seed)


study = Study(
    "self",
    "Does a vector need to attend to itself?",
    run,
    {"with itself": {"mask": "none"}, "others only": {"mask": "no_self"}},
    (Claim("with itself", "others only", at=15, margin=0.003),),
    settings=SMALL,
    full=FULL,
    along=EPOCHS,
    seeds=10,
    data=(DATA,),
    source="001, the attention score of a vector with itself",
    note="Taggers of English parts of speech; dev is measured, after two lengths of training. The residual "
    "connections carry a vector past the attention in both.",
    order=10,
)
