"""Is truncated attention enough for speech, and is it faster?"""

from dataclasses import replace

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.tagged_speech import milliseconds, without_augmentation
from regard.lab.training import first_examples
from regard.tasks import RECIPES, train
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a tagger of the frames of spoken digits, and measure it and the time that it takes for a minute."""
    count, recipe = setting.pop("recordings"), without_augmentation(RECIPES["spoken-frames"])
    examples, dev = (first_examples("fsdd-strings", split, count, "frames") for split in ("train", "dev"))
    model = train(examples, dev[: len(examples) // 2], recipe=replace(recipe, seed=seed, **setting), progress="none")
    time = milliseconds(model, dev[0].source, frames=6000)
    return {"accuracy": model.evaluate(dev).score, "ms a minute": time, "parameters": model.parameters}


study = Study(
    "truncated",
    "Does attention to a whole recording label frames better than attention to 160 ms on either side?",
    run,
    {f"{each} frame{'s' * (each > 1)}": {"mask": "window", "attention_window": each} for each in (1, 4, 16, 64)}
    | {"whole recording": {"mask": "none"}},
    (
        Claim("whole recording", "16 frames", at=32, margin=0.005, notes="no"),
        Claim("16 frames", "whole recording", "ms a minute", notes="yes", text="Is attention to 160 ms faster?"),
        Claim("64 frames", "16 frames", at=32, margin=0.005, text="Is 640 ms on either side better than 160 ms?"),
        Claim("16 frames", "whole recording", at=8, margin=0.005, text="Does truncated attention learn faster?"),
    ),
    (ACCURACY, Measure("ms a minute", falls=True, digits=1)),
    settings={"recordings": 100, "patience": 32, "width": 48, "hidden": 96, "layers": 2, "average": 0.0},
    full={"recordings": None, "width": 96, "hidden": 192, "layers": 3},
    along=Along("epochs", (8, 32)),
    data=("fsdd-strings",),
    source="001, truncated self-attention: perhaps a small range is enough, and it is faster",
    note="Each frame of 10 ms of strings of spoken digits is labelled with its digit or as silence. A window counts "
    "frames on either side, in each layer. The time is the network's for a minute of speech, which has 6,000 frames.",
    order=80,
)
