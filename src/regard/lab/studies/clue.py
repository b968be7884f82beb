"""Does attention use a clue that is far away better than the other networks?"""

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.synthetic.letter_sequences import LETTER_RECIPE, clues
from regard.lab.training import train_and_measure_each

__all__ = ["study"]

_LONGER = "bidirectional, trained longer"


def run(setting: Setting, seed: int) -> dict[str, object]:
    """Train a network to answer questions on a clue at every distance, and measure it at each."""
    count, distances = setting.pop("sequences"), [int(each) for each in setting.pop("distance")]
    examples, dev = clues(count, distances, 10 * seed), clues(100, distances, 10 * seed + 1)
    tests = {each: clues(200, distances, 10 * seed + 2, only=each) for each in distances}
    return train_and_measure_each(LETTER_RECIPE, examples, dev, seed, setting, tests)


study = Study(
    "clue",
    "Does attention use a clue that is far away better than a bidirectional RNN?",
    run,
    {
        "window": {"network": "window", "reach": 8},
        "convolution": {"network": "convolution", "reach": 2},
        "bidirectional": {"network": "bidirectional"},
        _LONGER: {"network": "bidirectional", "epochs": 16},
        "relative": {"position": "relative"},
        "rotary": {"position": "rotary"},
    },
    (
        Claim("rotary", "bidirectional", at=64, margin=0.005, notes="yes"),
        Claim("rotary", "window", at=64, margin=0.005, notes="yes", text="And better than a window?"),
        Claim("rotary", "convolution", at=64, margin=0.005, notes="yes", text="And better than a stack of filters?"),
        Claim("rotary", _LONGER, at=64, margin=0.005, text="And than an RNN that is trained four times as long?"),
        Claim("bidirectional", "window", at=64, margin=0.005, text="Is an RNN better than a window?"),
    ),
    settings={"sequences": 600, "epochs": 4, "batch_items": 1500},
    full={"sequences": 10_000, "width": 64, "hidden": 128},
    along=Along("distance", (1, 2, 4, 8, 16, 32, 64), within=True, log=True),
    seeds=3,
    source="000 and 001, Self-attention v.s. CNN and RNN",
    note="One letter in noise is the clue, and questions at distances of 1 to 64 items ask for it. The window sees 8 "
    "items on each side, the two layers of filters 4. An RNN has only one letter to keep, but learns it late.",
    order=120,
)
