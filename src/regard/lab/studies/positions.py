"""Do positions help attention, and which schemes hold beyond the lengths of training?"""

from regard.attention import INPUT_POSITIONS, POSITIONS
from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.synthetic.letter_sequences import LETTER_RECIPE, nearest_letters
from regard.lab.training import train_and_measure_each
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["study"]

_LOST = "accuracy lost beyond 128"


def run(setting: Setting, seed: int) -> dict[str, object]:
    """Train a scheme on sequences of at most 128 items, and measure it at every length."""
    count, lengths = setting.pop("sequences"), [int(each) for each in setting.pop("length")]
    examples, dev = nearest_letters(count, 64, 128, 10 * seed), nearest_letters(50, 128, 128, 10 * seed + 1)
    tests = {each: nearest_letters(12_800 // each, each, each, 10 * seed + 2) for each in lengths}
    found = train_and_measure_each(LETTER_RECIPE, examples, dev, seed, setting, tests)
    return {**found, _LOST: {each: found["accuracy"][128] - score for each, score in found["accuracy"].items()}}


study = Study(
    "positions",
    "Does attention need to be told the positions?",
    run,
    {name: {"position": name} for name in ("none", *INPUT_POSITIONS, *POSITIONS)},
    (
        Claim("relative", "none", at=128, margin=0.005, notes="yes"),
        Claim("rotary", "none", at=128, margin=0.005, text="Do rotations help, too?"),
        Claim("sinusoidal", "none", at=128, margin=0.005, notes="yes", text="Do sines and cosines help?"),
        Claim("sinusoidal", 0.02, _LOST, at=129, notes="yes", text="Do sines and cosines hold at 129?"),
        Claim("sinusoidal", 0.02, _LOST, at=512, text="Do they hold at 512?"),
        Claim("relative", 0.02, _LOST, at=512, text="Do relative positions hold at 512?"),
        Claim("relative", "sinusoidal", at=512, margin=0.005, text="Are relative positions better there than sines?"),
        Claim("learned", 0.02, _LOST, at=512, text="Does a learned table hold at 512?"),
    ),
    measures=(ACCURACY, Measure(_LOST, share=True, falls=True), Measure("parameters", falls=True, digits=0)),
    settings={"sequences": 400, "epochs": 12, "batch_items": 1000, "learning_rate": 0.01, "layers": 1},
    full={"sequences": 5000, "epochs": 20, "layers": 2, "width": 64, "hidden": 128},
    along=Along("length", (128, 129, 192, 256, 512), within=True, log=True),
    seeds=3,
    source="001, Positional Encoding, with 128 and 129; Liu et al. 2020 (arXiv 2003.09229), table 1",
    note="Each blank is labelled with the nearest letter. The learned table has 512 vectors, of which those after the "
    "128th are never trained. The reference of the parts says which schemes are inductive and which data-driven.",
    order=70,
)
