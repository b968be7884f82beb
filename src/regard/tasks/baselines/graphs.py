"""Counts in graphs, and fingerprints of molecules."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from regard.extras import require
from regard.tasks.baselines.features import SimpleFeatures

__all__ = ["Fingerprints", "GraphCounts"]

_DEGREES = 16
_BITS = 2048
_TREES = 100


class GraphCounts(SimpleFeatures):
    """The sum and the mean of the nodes' vectors, and the numbers of nodes, of edges, and of nodes of each degree.

    Where the vectors say which label a node has, their sum is the number of nodes of each label.

    Args:
        encoder: the encoder of the model, which reads a source as a graph.
    """

    name: ClassVar[str] = "counts of nodes, labels and degrees with a linear model"

    def __init__(self, encoder: Any):
        self._encoder = encoder

    def fit_transform(self, sources: Sequence[Any]) -> Any:
        return self.transform(sources)

    def transform(self, sources: Sequence[Any]) -> Any:
        return np.stack([self._of(self._encoder.graph(source)) for source in sources])

    @staticmethod
    def _of(graph: Any) -> Any:
        count = len(graph)
        other = graph.edges[:, graph.edges[0] != graph.edges[1]].unique(dim=1)
        degrees = torch.bincount(other[1], minlength=count).clamp(max=_DEGREES - 1)
        counts = torch.bincount(degrees, minlength=_DEGREES).double()
        size = torch.tensor([count, other.shape[1]]).double()
        vectors = graph.vectors.double()
        parts = [vectors.sum(0), vectors.sum(0) / max(1, count), counts, counts / max(1, count), size, size.log1p()]
        return torch.cat(parts).numpy()


class Fingerprints(SimpleFeatures):
    """Counts of the atoms' surroundings up to two bonds away (Morgan fingerprints), and descriptors, with a forest.

    Source: Rogers and Hahn 2010, Extended-connectivity fingerprints, J. Chem. Inf. Model. 50, 742-754.
    """

    name: ClassVar[str] = "fingerprints with a random forest"

    def fit_transform(self, sources: Sequence[Any]) -> Any:
        return self.transform(sources)

    def transform(self, sources: Sequence[Any]) -> Any:
        chem = require("rdkit.Chem", extra="molecule")
        generators = require("rdkit.Chem.rdFingerprintGenerator", extra="molecule")
        generator = generators.GetMorganGenerator(radius=2, fpSize=_BITS)
        molecules = (chem.MolFromSmiles(source) for source in sources)
        empty = np.zeros(_BITS, np.float32)
        return np.stack([empty if each is None else generator.GetCountFingerprintAsNumPy(each) for each in molecules])

    def classifier(self) -> Any:
        ensemble = require("sklearn.ensemble", extra="train")
        return ensemble.RandomForestClassifier(_TREES, min_samples_leaf=2, random_state=0)

    def regressor(self) -> Any:
        return require("sklearn.ensemble", extra="train").RandomForestRegressor(
            _TREES, max_features=0.3, random_state=0
        )
