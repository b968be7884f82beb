"""Graphs, molecules among them: nodes are items, and who may look at whom stands in the mask."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from regard.errors import ArgumentError
from regard.inputs import ATOM_FEATURES, Batch, Graph, MoleculeAtoms, Standardise, mask_of
from regard.tasks.inputs.source import Source
from regard.tasks.inputs.vectors import VectorEmbedding
from regard.tasks.settings import one_of, share, truth

__all__ = ["Graphs", "Molecules"]


class _GraphSource(Source):
    edges: bool
    node_dropout: float

    def batch(self, reader: Any, items: Sequence[Graph]) -> Batch:
        batch = Batch.pad([item.vectors for item in items])
        return Batch(batch.vectors, batch.lengths, mask=mask_of(items) if self.edges else None)

    def embedding(self, reader: Any, width: int) -> nn.Module:
        return VectorEmbedding(reader.width, width, item_dropout=self.node_dropout)


@dataclass(frozen=True)
class Graphs(_GraphSource):
    """Sources that are graphs (`regard.inputs.Graph`).

    Args:
        edges: whether a node may look only at itself and along the edges that lead to it; else at all nodes.
        standardise: whether each number of a node is scaled by its mean and spread in training.
        node_dropout: how often a node is left blank during training.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "graphs"
    noun: ClassVar[str] = "node"

    edges: bool = truth(True)
    standardise: bool = truth(True)
    node_dropout: float = share(0.0)

    def fit(self, sources: Iterable[Graph]) -> Standardise:
        vectors = [_graph(source).vectors for source in sources]
        if self.standardise:
            return Standardise.fit(vectors)
        width = vectors[0].shape[1] if vectors else 0
        return Standardise((0.0,) * width, (1.0,) * width)

    def reader(self, saved: Any) -> Standardise:
        return Standardise.from_json(saved)

    def item(self, reader: Standardise, source: Graph) -> Graph:
        graph = _graph(source)
        return Graph(reader.apply(graph.vectors), graph.edges, graph.names, graph.kinds).with_loops()

    def names(self, reader: Standardise, source: Graph) -> list[str]:
        return list(_graph(source).names)


@dataclass(frozen=True)
class Molecules(_GraphSource):
    """Sources that are molecules, written as SMILES.

    Args:
        features: what the vector of an atom holds, a name in `inputs.ATOM_FEATURES`.
        edges: whether an atom may look only at itself and along its bonds; else at all atoms.
        node_dropout: how often an atom is left blank during training.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "molecules"
    noun: ClassVar[str] = "atom"

    features: str = one_of("rich", *ATOM_FEATURES)
    edges: bool = truth(True)
    node_dropout: float = share(0.0)

    def fit(self, sources: Iterable[str]) -> MoleculeAtoms:
        return MoleculeAtoms(self.features)

    def reader(self, saved: Any) -> MoleculeAtoms:
        return MoleculeAtoms.from_json(saved)

    def item(self, reader: MoleculeAtoms, source: str) -> Graph:
        return reader.graph(source).with_loops()

    def names(self, reader: MoleculeAtoms, source: str) -> list[str]:
        return list(reader.graph(source).names)


def _graph(source: Any) -> Graph:
    if not isinstance(source, Graph):
        raise ArgumentError(f"a source must be a Graph, but is {source!r:.60}.")
    return source
