"""How far do stacked filters see?"""

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.synthetic.letter_sequences import LETTER_RECIPE, distant_letters
from regard.lab.training import train_and_measure

__all__ = ["study"]

_CHANCE = 1 / 8


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train filters of width 3 to name the letter at a distance."""
    count, distance = setting.pop("sequences"), int(setting.pop("distance"))
    examples, dev, test = (
        distant_letters(size, 40, distance, 10 * seed + part) for part, size in enumerate((count, 50, 100))
    )
    return train_and_measure(LETTER_RECIPE, examples, dev, seed, {**setting, "network": "convolution"}, test)


study = Study(
    "receptive_field",
    "Does a second layer of filters of width 3 see six vectors?",
    run,
    {"1 layer": {"layers": 1}, "2 layers": {"layers": 2}, "3 layers": {"layers": 3}},
    (
        Claim("2 layers", _CHANCE, at=3, margin=0.05, notes="yes"),
        Claim("2 layers", _CHANCE, at=-3, margin=0.05, text="Could the sixth vector be the third one before?"),
        Claim("2 layers", 0.99, at=2, text="Does it see the second vector after its own (five in all)?"),
        Claim("2 layers", 0.99, at=-2, text="Does it see the second vector before its own?"),
        Claim("1 layer", _CHANCE, at=2, margin=0.05, text="Does one layer see beyond its neighbours?"),
        Claim("3 layers", 0.99, at=3, text="Does a third layer see the third vector (seven in all)?"),
        Claim("3 layers", _CHANCE, at=4, margin=0.05, text="Does a third layer see the fourth vector?"),
    ),
    settings={"sequences": 300, "epochs": 4, "learning_rate": 0.01, "reach": 1},
    full={"sequences": 3000, "epochs": 10},
    along=Along("distance", (-4, -3, -2, -1, 1, 2, 3, 4)),
    seeds=10,
    source="000, the second layer of filters, which is said to see six vectors",
    note="Each item's label is the letter at the distance, of eight that are equally frequent, so that accuracy is "
    "12.5 % where the network doesn't see it. L layers of width 3 see 1 + 2 L vectors: 3, 5 and 7.",
    order=110,
)
