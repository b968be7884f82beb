"""Is ReLU better than softmax? And the other normalisers?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.tagger import DATA, EPOCHS, FULL, SMALL, tagger_accuracy

__all__ = ["study"]

_OTHERS = ("sigmoid", "sparsemax", "entmax", "hard")


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a tagger whose attention turns scores into weights by one of the normalisers."""
    return tagger_accuracy(setting, seed)


study = Study(
    "normalisers",
    "Is ReLU better than softmax?",
    run,
    {name: {"weights": name} for name in ("softmax", "relu", *_OTHERS)},
    (
        Claim("relu", "softmax", at=15, margin=0.003, notes="yes"),
        Claim("relu", "softmax", at=5, margin=0.003, text="Is it after a third of the training?"),
        *(Claim(name, "softmax", at=15, margin=0.003, text=f"Is {name} better than softmax?") for name in _OTHERS),
    ),
    settings=SMALL,
    full=FULL,
    along=EPOCHS,
    seeds=5,
    data=(DATA,),
    source="001, why softmax: ReLU was found to be a bit better",
    note="Taggers of English parts of speech with one layer. A row of weights sums to 1 after softmax, but to about "
    "a sixth after ReLU before training, so that ReLU learns more slowly. The gradient of hard to the scores is "
    "0: queries, keys and positions stay as they were drawn, and only values and what follows are trained. The "
    "learning rate is the same for all.",
    order=20,
)
