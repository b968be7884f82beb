"""What does attention lack when it learns sentiment from few sentences?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.sentiment_phrases import DATA, FULL, MEASURES, SMALL, measure_sentiment

__all__ = ["study"]

_BOTH, _MIXED = "convolution and attention", {"network": "convolution_attention", "reach": 1}
_OFTEN, _AGREED = {"dropout": 0.4, "attention_dropout": 0.1}, {"consistency": 1.0}


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a classifier on sentences and some of their phrases, and measure it on dev."""
    return measure_sentiment(setting, seed)


study = Study(
    "sentiment",
    "Is an RNN better than attention at sentiment that is learned from few sentences?",
    run,
    {each: {"network": each} for each in ("connected", "attention")}
    | {"convolution": {"network": "convolution", "reach": 1}, _BOTH: _MIXED}
    | {"RNN": {"network": "bidirectional"}, "RNN, more dropout": {"network": "bidirectional", **_OFTEN}}
    | {"attention, more dropout": {"network": "attention", **_OFTEN}}
    | {"attention, consistency": {"network": "attention", **_AGREED}, "both, consistency": {**_MIXED, **_AGREED}},
    (
        Claim("RNN", "attention", margin=0.005),
        Claim("RNN", "attention", "accuracy", margin=0.005, text="Has it a higher accuracy?"),
        Claim("attention", "connected", margin=0.005, text="Is attention better than no view of other words?"),
        Claim("attention", "attention, more dropout", margin=0.005, text="Is less dropout better for attention?"),
        Claim("convolution", "attention", margin=0.005, notes="yes", text="Is a convolution better than attention?"),
        Claim(_BOTH, "attention", margin=0.005, text="Does a convolution before attention help it?"),
        Claim("attention, consistency", "attention", margin=0.005, text="Does consistency help attention?"),
        Claim("RNN", "both, consistency", margin=0.005, text="Is an RNN better than both with consistency?"),
    ),
    MEASURES,
    settings=SMALL,
    full=FULL,
    seeds=4,
    data=DATA,
    source="001, self-attention and CNN: what is more flexible needs more data",
    note="SST-2's 6,920 sentences and a tenth of the other labelled phrases of their trees. All have one layer, and "
    "attention in the pooling. Dev, which is measured, also chose the epoch and the temperature. A convolution sees "
    "three words; the attention after it has relative positions of reach 1, attention alone of reach 8. Consistency "
    "is the agreement of passes with different dropout; it takes three to four times as long.",
    order=280,
)
