"""What does a window cost that covers the longest sentence?"""

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.texts.tagger import DATA, FULL, SMALL, tagger_data, trained_tagger
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["study"]

_LOST = "accuracy lost on dev"


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a tagger that tells so many words on each side apart, and measure it on dev and on train."""
    tagger, dev = trained_tagger(setting, seed)
    found, learned = (tagger.evaluate(each).score for each in (dev, tagger_data(setting)[0]))
    return {"accuracy": found, _LOST: learned - found, "parameters": tagger.parameters}


study = Study(
    "window_cost",
    "Is attention better than a window that covers the longest sentence?",
    run,
    {"window": {"network": "window"}, "attention": {"network": "attention"}},
    (
        Claim("attention", "window", at=80, margin=0.005, notes="yes"),
        Claim("attention", "window", "parameters", at=80, notes="yes", text="Does it have fewer parameters?"),
        Claim("attention", "window", _LOST, at=80, notes="yes", text="Does it overfit less?"),
        Claim("attention", "window", at=2, margin=0.005, text="Is attention better than a window of five words?"),
    ),
    measures=(ACCURACY, Measure(_LOST, share=True, falls=True), Measure("parameters", falls=True, digits=0)),
    settings={**SMALL, "sentences": 500, "epochs": 10},
    full={**FULL, "sentences": 500, "epochs": 30},
    along=Along("reach", (1, 2, 8, 32, 80), (1, 2, 4, 8, 16, 32, 80), log=True),
    seeds=10,
    data=(DATA,),
    source="001, the window that covers the longest sequence",
    note="Reach is the number of words on each side that the window sees, and up to which the positions of "
    "attention tell distances apart. The longest sentence has 76 words. What is lost is the accuracy on the training "
    "sentences, less that on dev.",
    order=100,
)
