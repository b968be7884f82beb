"""Does attention need more data than convolutions?"""

from dataclasses import replace

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.training import first_examples, train_and_measure
from regard.tasks import RECIPES

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a classifier of written digits on so many pictures, by equally many updates for any number of them."""
    recipe, count, shown = RECIPES["written-digit"], setting.pop("pictures"), setting.pop("shown")
    setting["input"] = replace(recipe.input, patch=4, shift=0, stem=setting.pop("stem"))
    setting["task"] = replace(recipe.task, pooling="mean")
    # An epoch shows equally many pictures, by which few are repeated.
    pictures = (first_examples("mnist", "train", count) * (shown // count + 1))[:shown]
    return train_and_measure(recipe, pictures, first_examples("mnist", "dev", setting.pop("dev")), seed, setting)


study = Study(
    "data",
    "Do convolutions learn more than attention from few pictures?",
    run,
    {
        "attention": {"network": "attention", "stem": 0},
        "convolutions": {"network": "connected", "stem": 32},
        "both": {"network": "attention", "stem": 32},
    },
    (
        Claim("convolutions", "attention", at=100, margin=0.005, notes="yes"),
        Claim("attention", "convolutions", at=3000, margin=0.005, text="Is attention better from 3,000 pictures?"),
        Claim("both", "convolutions", margin=0.005, text="Are both together better than convolutions alone?"),
    ),
    settings={"shown": 3000, "dev": 1000, "epochs": 4, "batch_items": 1000, "average": 0.0}
    | {"width": 32, "hidden": 64, "layers": 2},
    full={"shown": 60_000, "dev": None, "epochs": 12, "width": 96, "hidden": 192, "layers": 3, "batch_items": 2048},
    along=Along("pictures", (100, 300, 1000, 3000), (100, 300, 1000, 3000, 10_000, 30_000, 60_000), log=True),
    data=("mnist",),
    source="001, self-attention and CNN: convolutions need less data, attention wins with the most",
    note="Written digits in 7 x 7 patches, without augmentation. Attention is between patches; convolutions make the "
    "patches' vectors, and each is then transformed alone. All see equally many pictures; few ones more often. "
    "Convolutions have 24,618 parameters, attention 18,538. The notes' figure has it ahead at 300 million pictures.",
    order=160,
)
