"""Few labelled texts: the head on static vectors beside simpler models of the same examples, on dev.

    python benchmarks/few_shot.py VECTORS [DATA ...]

VECTORS is a text file of GloVe or word2vec, or a folder of model2vec; DATA are names of data sets or files, by default
sst2. Each row is the mean of three samples of so many examples of each class; the measure is the accuracy on dev.
"""

import random
import sys
from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from regard.inputs.text.static_table import StaticTable
from regard.tasks import default_recipe
from regard.tasks.baselines.features import TextFeatures
from regard.tasks.classifier.data import ClassifierData
from regard.tasks.readers import read_splits
from regard.tasks.sources.word_source import CUTS

COUNTS = 8, 16, 32, 64, 128, 256
SEEDS = 0, 1, 2

Pairs = Sequence[tuple[str, str]]


def sample(pairs: Pairs, count: int, seed: int) -> Pairs:
    """So many examples of each class, in random order."""
    draw = random.Random(seed)
    found = []
    for label in sorted({label for _, label in pairs}):
        found += draw.sample([pair for pair in pairs if pair[1] == label], count)
    return draw.sample(found, len(found))


def tf_idf(train: Pairs, dev: Pairs) -> float:
    """Tf-idf with logistic regression, the baseline of a classifier."""
    features = TextFeatures()
    fitted = features.classifier().fit(features.fit_transform([text for text, _ in train]), _labels(train))
    return _accuracy(fitted, features.transform([text for text, _ in dev]), dev)


def mean_vectors(table: StaticTable, train: Pairs, dev: Pairs) -> float:
    """The direction of the mean vector with logistic regression."""
    fitted = LogisticRegression(max_iter=500).fit(_means(table, train), _labels(train))
    return _accuracy(fitted, _means(table, dev), dev)


def head(vectors: str, train: Pairs, dev: Pairs) -> float:
    """The default recipe, whose head is fitted."""
    recipe = default_recipe(train, task="classifier", vectors=vectors)
    objective = ClassifierData(recipe, train, dev, {}).objective().eval()
    with torch.no_grad():
        return objective.evaluate().score


def _labels(pairs: Pairs) -> list[str]:
    return [label for _, label in pairs]


def _accuracy(fitted: Any, features: Any, dev: Pairs) -> float:
    return float((fitted.predict(features) == np.array(_labels(dev))).mean())


def _means(table: StaticTable, pairs: Pairs) -> Any:
    rows = torch.zeros(len(pairs), table.width)
    for place, (text, _) in enumerate(pairs):
        ids = [each - 2 for word in table.splitter.ids(CUTS["words"](text), text) for each in word if each >= 2]
        own = torch.tensor(ids, dtype=torch.int64)
        found = table.vectors[own if table.rows is None else table.rows[own]]
        rows[place] = (found if table.weights is None else found * table.weights[own][:, None]).sum(0)
    return torch.nn.functional.normalize(rows, dim=1).numpy()


def main(vectors: str, *names: str) -> None:
    """Print a table for each data set."""
    table = StaticTable.read(vectors)
    for name in names or ("sst2",):
        splits = read_splits(name, "classifier")
        train, dev = ([(each.source, each.target) for each in split] for split in (splits.train, splits.dev or ()))
        print(f"\n{name}\n{'a class':>8}{'tf-idf':>9}{'mean vector':>13}{'fitted head':>13}")
        for count in COUNTS:
            few = [sample(train, count, seed) for seed in SEEDS]
            models = [
                [tf_idf(each, dev) for each in few],
                [mean_vectors(table, each, dev) for each in few],
                [head(vectors, each, dev) for each in few],
            ]
            said = (f"{100 * mean(found):.1f} %" for found in models)
            print("{:>8}{:>9}{:>13}{:>13}".format(count, *said), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
