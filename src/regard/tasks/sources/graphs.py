"""Graphs and molecules: nodes are items, and a mask restricts attention to edges."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.datasets import canonical_smiles
from regard.errors import ArgumentError
from regard.inputs import (
    ATOM_FEATURES,
    BONDS,
    Batch,
    Graph,
    MoleculeAtoms,
    ProfileEncoder,
    Standardise,
    edges_mask,
    graph_files,
    read_social_graph,
)
from regard.inputs.graph.graph_drawing import graph_layout, molecule_drawing
from regard.inputs.saved import Saved
from regard.tasks.settings import boolean, fraction, integer, one_of
from regard.tasks.sources.source import Source
from regard.tasks.sources.vectors import VectorEmbedding

if TYPE_CHECKING:
    from regard.inspection import DrawnGraph, DrawnMolecule
    from regard.tasks.baselines import SimpleFeatures

__all__ = ["Graphs", "Molecules"]

# A bias for all pairs of atoms and eight heads takes half a gigabyte.
_MOST_RELATED = 4000
# Of larger graphs nothing could be told apart.
_MOST_LAID_OUT = 200
_MOST_DRAWN = 300


class _GraphSource(Source):
    edges: bool
    node_dropout: float
    feature_dropout: float

    def batch(self, encoder: Any, items: Sequence[Any]) -> Batch:
        batch = Batch.pad([item.vectors for item in items])
        return Batch(batch.vectors, batch.lengths, mask=edges_mask(items) if self.edges else None)

    def embedding(self, encoder: Any, width: int) -> nn.Module:
        return VectorEmbedding(
            encoder.width + self.relations, width, item_dropout=self.node_dropout, feature_dropout=self.feature_dropout
        )


@dataclass(frozen=True)
class Graphs(_GraphSource):
    """Sources that are graphs (`regard.inputs.Graph`), or folders with profiles and edges (`inputs.graph_files`).

    The profiles in a folder are encoded as in training; a model that was trained on plain vectors can't read folders.

    Args:
        edges: whether a node attends only to itself and along the edges that lead to it; else to all nodes.
        normalise: whether the features of a node are divided by the sum of their absolute values, so that the number of
            its features has no effect.
        standardise: whether each feature is then standardised by its mean and standard deviation in training.
        node_dropout: the probability that a node is replaced by zeros in training.
        feature_dropout: the probability of dropout for single features.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "graphs"
    noun: ClassVar[str] = "node"
    source_noun: ClassVar[str] = "graph"
    given: ClassVar[str] = "a `Graph`"
    vectors: ClassVar[str] = "nodes; a node attends along the edges that lead to it"
    argument: ClassVar[str] = "folder"
    example: ClassVar[str] = "graph"
    modalities: ClassVar[Mapping[str, int]] = {"graph": 3}
    recognised_by: ClassVar[str] = "the content of {data}"
    defaults: ClassVar[Mapping[str, Any]] = {
        "width": 64,
        "hidden": 128,
        "heads": 8,
        "position": "none",
        "attention_dropout": 0.0,
        "learning_rate": 0.01,
        "weight_decay": 0.05,
    }

    edges: bool = boolean(True)
    normalise: bool = boolean(False)
    standardise: bool = boolean(True)
    node_dropout: float = fraction(0.0)
    feature_dropout: float = fraction(0.0)

    @classmethod
    def suits(cls, source: Any) -> int:
        return 3 if isinstance(source, Graph) else 0

    def fit(self, sources: Iterable[Graph]) -> "GraphEncoder":
        graphs = [_graph(source) for source in sources]
        encoders = {graph.encoder for graph in graphs}
        if len(encoders) > 1:
            raise ArgumentError(
                "`examples` must be graphs whose vectors one ProfileEncoder made, but they had several, so that the "
                "same feature has different meanings. Read the others with the first one's `encoder`."
            )
        vectors = [self._vectors(graph) for graph in graphs]
        width = vectors[0].shape[1] if vectors else 0
        standard = Standardise.fit(vectors) if self.standardise else Standardise((0.0,) * width, (1.0,) * width)
        return GraphEncoder(standard, next(iter(encoders), None))

    def encoder(self, saved: Any) -> "GraphEncoder":
        return GraphEncoder.from_json(saved)

    def item(self, encoder: "GraphEncoder", source: Graph | str | Path) -> Graph:
        graph = encoder.graph(source)
        return dataclasses.replace(graph, vectors=encoder.standard.apply(self._vectors(graph))).with_loops()

    def names(self, encoder: "GraphEncoder", source: Graph | str | Path) -> list[str]:
        return list(encoder.graph(source).names)

    def simple_features(self, encoder: "GraphEncoder") -> "SimpleFeatures":
        from regard.tasks.baselines.graphs import GraphCounts

        return GraphCounts(encoder)

    def drawn(self, encoder: "GraphEncoder", source: Graph | str | Path) -> "DrawnGraph":
        from regard.inspection import DrawnGraph

        graph = encoder.graph(source)
        edges = graph.edges[:, graph.edges[0] != graph.edges[1]].unique(dim=1).to("cpu", torch.int32).numpy()
        return DrawnGraph(edges, *([graph_layout(len(graph), edges)] if len(graph) <= _MOST_LAID_OUT else []))

    def why_no_argument(self, encoder: "GraphEncoder") -> str | None:
        return None if encoder.profiles else "reads graphs whose nodes have vectors instead of profiles"

    def _vectors(self, graph: Graph) -> Float[Tensor, "node width"]:
        return nn.functional.normalize(graph.vectors, p=1) if self.normalise else graph.vectors


@dataclass(frozen=True)
class GraphEncoder(Saved):
    """Encodes graphs.

    Args:
        standard: the mean and the standard deviation of each feature in training.
        profiles: encodes profiles as vectors; None if the graphs in training had no profiles.
    """

    json_name: ClassVar[str] = "graphs"

    standard: Standardise
    profiles: ProfileEncoder | None = None

    def __post_init__(self) -> None:
        if self.profiles is not None and self.profiles.width != self.width:
            raise ArgumentError(
                f"`profiles` must be {self.width} wide, as `standard` is, but is {self.profiles.width}."
            )

    @property
    def width(self) -> int:
        """The number of features of a node."""
        return self.standard.width

    def graph(self, source: Any) -> Graph:
        """The graph of a source, which may be a graph or a folder.

        Raises:
            ArgumentError: it is neither, or its features have other meanings than in training.
            DataError: a file of the folder is missing or broken, or has a column that is not in the training data.
        """
        if isinstance(source, str | Path):
            if self.profiles is None:
                raise ArgumentError(
                    "a source must be a Graph, as training had vectors instead of profiles, but is "
                    f"{str(source)!r:.60}."
                )
            profiles, edges = graph_files(source)
            return read_social_graph(edges, profiles, encoder=self.profiles)
        graph = _graph(source)
        if graph.encoder is not None and self.profiles is not None and graph.encoder != self.profiles:
            if (vectors := self.profiles.translated(graph.vectors, graph.encoder)) is not None:
                return dataclasses.replace(graph, vectors=vectors, encoder=self.profiles)
            raise ArgumentError(
                "a source must have the vectors that training's ProfileEncoder makes, but has those of another, whose "
                "features have other meanings. Read it with encoder=model.encoder.profiles, or give its folder's name."
            )
        return graph


@dataclass(frozen=True)
class Molecules(_GraphSource):
    """Sources that are molecules, written as SMILES.

    Args:
        features: the features of an atom, a name in `inputs.ATOM_FEATURES`.
        descriptors: whether the descriptors of the whole molecule (`inputs.DESCRIPTORS`) are appended to each atom: 79
            numbers from RDKit, standardised by their means and standard deviations in training.
        edges: whether an atom attends only to itself and along its bonds; else to all atoms.
        reach: the largest distance in bonds at which pairs of atoms are distinguished: neighbours by the type of their
            bond, others by their distance. Each relation has a bias on the attention scores, and the number of atoms in
            each relation is appended to the features. 0: none.
        node_dropout: the probability that an atom is replaced by zeros in training.
        feature_dropout: the probability of dropout for single features.

    With `reach` a molecule has at most 4,000 atoms, because all pairs of them are in memory; with `descriptors` too,
    which take minutes for larger ones.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "molecules"
    noun: ClassVar[str] = "atom"
    source_noun: ClassVar[str] = "molecule"
    given: ClassVar[str] = "SMILES"
    vectors: ClassVar[str] = "atoms; an atom attends along its bonds"
    example: ClassVar[str] = '"CCO"'
    limits: ClassVar[str] = (
        "It knows molecules like those of its data. It is no ground to take, make or release a substance on."
    )
    modalities: ClassVar[Mapping[str, int]] = {"molecule": 3}
    column: ClassVar[str] = "smiles"
    split_key: ClassVar[Callable[[Any], Any] | None] = staticmethod(canonical_smiles)
    defaults: ClassVar[Mapping[str, Any]] = {
        # Pairs of atoms beyond direct bonds are encoded by their distance in bonds.
        "input": {"edges": False, "reach": 6},
        "width": 64,
        "hidden": 128,
        "layers": 3,
        # The nodes of a graph have no order.
        "position": "none",
        "attention_dropout": 0.0,
        "dropout": 0.1,
        "optimizer": "muon",
        "weight_decay": 0.05,
        "average": 0.98,
    }

    features: str = one_of("rich", *ATOM_FEATURES)
    descriptors: bool = boolean(False)
    edges: bool = boolean(True)
    reach: int = integer(0, 0, 64)
    node_dropout: float = fraction(0.0)
    feature_dropout: float = fraction(0.0)

    @property
    def relations(self) -> int:
        return self.reach + len(BONDS) if self.reach else 0

    @classmethod
    def suits(cls, source: Any) -> int:
        # By itself, SMILES can't be told from another text.
        return 1 if isinstance(source, str) else 0

    def fit(self, sources: Iterable[str]) -> MoleculeAtoms:
        return MoleculeAtoms.fit(sources, self.features) if self.descriptors else MoleculeAtoms(self.features)

    def encoder(self, saved: Any) -> MoleculeAtoms:
        return MoleculeAtoms.from_json(saved)

    def item(self, encoder: MoleculeAtoms, source: str) -> "_Related":
        graph = encoder.graph(source)
        if not self.reach:
            return _Related(graph.with_loops(), torch.zeros(0, 0))
        if len(graph) > _MOST_RELATED:
            raise ArgumentError(
                f"`smiles` must be a molecule of {_MOST_RELATED:,} atoms at most, as pairs are encoded by distance, "
                f"but has {len(graph):,}. Cut it into parts, or train a model of `reach` 0."
            )
        relations = graph.relations(self.reach)
        # The number of bonds of each type, because attention computes a mean and can't count equal atoms.
        counts = torch.zeros(len(graph), self.relations).scatter_add_(1, relations, torch.ones(relations.shape)).log1p()
        graph = dataclasses.replace(graph, vectors=torch.cat([graph.vectors, counts], dim=1))
        # One byte for each pair, because all molecules are kept in memory.
        return _Related(graph.with_loops(), relations.to(torch.uint8))

    def batch(self, encoder: MoleculeAtoms, items: Sequence["_Related"]) -> Batch:
        batch = super().batch(encoder, [item.graph for item in items])
        if not self.reach:
            return batch
        longest = batch.vectors.shape[1]
        relations = torch.zeros(len(items), longest, longest, dtype=torch.int64)
        for row, item in zip(relations, items, strict=True):
            row[: len(item), : len(item)] = item.relations
        return dataclasses.replace(batch, relations=relations)

    def names(self, encoder: MoleculeAtoms, source: str) -> list[str]:
        return list(encoder.graph(source).names)

    def simple_features(self, encoder: MoleculeAtoms) -> "SimpleFeatures":
        from regard.tasks.baselines.graphs import Fingerprints

        return Fingerprints()

    def drawn(self, encoder: MoleculeAtoms, source: str) -> "DrawnMolecule | None":
        from regard.inspection import DrawnMolecule

        drawing = molecule_drawing(source)
        return DrawnMolecule(*drawing) if len(drawing.symbols) <= _MOST_DRAWN else None


@dataclass(frozen=True, eq=False)
class _Related:
    """An encoded molecule, and the relations of its atoms if `reach` isn't 0."""

    graph: Graph
    relations: Tensor

    def __len__(self) -> int:
        return len(self.graph)


def _graph(source: Any) -> Graph:
    if not isinstance(source, Graph):
        raise ArgumentError(f"a source must be a Graph, but is {source!r:.60}.")
    return source
