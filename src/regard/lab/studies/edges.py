"""Does attention on a graph need the edges?"""

from dataclasses import replace

from regard.lab.study import Claim, Setting, Study
from regard.lab.training import first_examples, train_and_measure
from regard.tasks import RECIPES

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a classifier of papers, each of which attends to the papers that it cites or is cited by, or to all."""
    recipe, edges, dropout = RECIPES["paper-field"], setting.pop("edges"), setting.pop("feature_dropout")
    setting["input"] = replace(recipe.input, edges=edges, feature_dropout=dropout)
    papers, dev, rates = first_examples("cora", "train"), first_examples("cora", "dev"), setting.pop("learning_rates")
    found = (train_and_measure(recipe, papers, dev, seed, {**setting, "learning_rate": rate}) for rate in rates)
    return max(found, key=lambda each: each["accuracy"])


study = Study(
    "edges",
    "Is attention along the edges of a graph better than attention to all nodes?",
    run,
    {
        "along edges": {"edges": True, "network": "attention"},
        "to all": {"edges": False, "network": "attention"},
        "no attention": {"edges": False, "network": "connected"},
    },
    (
        Claim("along edges", "to all", margin=0.005),
        Claim("to all", "no attention", margin=0.005, text="Is attention to all nodes better than none?"),
    ),
    settings={"epochs": 60, "patience": 60, "width": 32, "hidden": 32, "heads": 2, "consistency": 0.0}
    | {"learning_rates": [0.003, 0.01, 0.03], "dropout": 0.4, "attention_dropout": 0.2, "feature_dropout": 0.5},
    full={"epochs": 100, "patience": 100, "heads": 8, "width": 64, "hidden": 64},
    seeds=5,
    data=("cora",),
    source="001, self-attention on graphs (Graph上)",
    note="2,708 papers, of which 140 have a known field in training; 500 others are measured. Edges join a paper and "
    "one that it cites. Residual connections carry a paper's vector past the attention in all variants. Of three "
    "learning rates, each run keeps the one that is best on the papers that are measured.",
    order=220,
)
