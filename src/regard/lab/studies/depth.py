"""Are residual connections needed in deep networks?"""

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.training import first_examples, training_loss
from regard.tasks import RECIPES
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a classifier of written digits of so many layers, and measure how well it fits its training pictures."""
    pictures = first_examples("mnist", "train", setting.pop("pictures"))
    setting["layers"] = setting.pop("always", setting["layers"])
    recipe, rates = RECIPES["written-digit"], setting.pop("learning_rates")
    return {"training loss": min(training_loss(recipe, pictures, seed, {**setting, "learning_rate": r}) for r in rates)}


_RISES = "Without residual connections, does the training loss rise again when layers are added?"

study = Study(
    "depth",
    "Do 32 layers need residual connections?",
    run,
    {
        "residual": {"residual": True},
        "no residual": {"residual": False},
        "2 layers, no residual": {"residual": False, "always": 2},
    },
    (
        Claim("residual", "no residual", at=32, margin=0.02),
        Claim("2 layers, no residual", "no residual", at=32, margin=0.02, notes="yes", text=_RISES),
    ),
    (Measure("training loss", falls=True),),
    settings={"pictures": 512, "epochs": 25, "batch_items": 512, "learning_rates": [0.0003, 0.001], "average": 0.0}
    | {"width": 32, "hidden": 64, "input": {"kind": "pictures", "patch": 14, "height": 28, "width": 28, "waves": 4}},
    full={"pictures": 10_000, "epochs": 40, "width": 96, "hidden": 192, "batch_items": 2048},
    along=Along("layers", (2, 4, 8, 16, 32), log=True),
    data=("mnist",),
    source="004, the training loss that rises again with depth",
    note="Classifiers of written digits after equally many updates, without dropout. The loss is that of the pictures "
    "they learn from, so that overfitting has no part in it. A digit guessed at random has a loss of 2.30. Of "
    "two learning rates, each run keeps the one with the smaller loss.",
    order=230,
)
