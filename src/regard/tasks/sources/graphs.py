"""Graphs and molecules: nodes are items, and a mask restricts attention to edges."""

import dataclasses
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int64
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
    fingerprint,
    graph_counts,
    graph_files,
    read_social_graph,
)
from regard.inputs.graph.graph_drawing import graph_layout, molecule_drawing
from regard.inputs.graph.homophily import Homophily, homophily
from regard.inputs.graph.smiles import molecule_parts, read_smiles
from regard.inputs.saved import Saved
from regard.tasks.judging.intervals import wilson
from regard.tasks.judging.out_of_distribution import Statistic
from regard.tasks.settings import boolean, fraction, integer, one_of
from regard.tasks.sources.source import Source
from regard.tasks.sources.vectors import VectorEmbedding

if TYPE_CHECKING:
    from regard.inspection import DrawnGraph, DrawnMolecule
    from regard.tasks.baselines import SimpleFeatures
    from regard.tasks.linear_part import LinearPart

__all__ = ["Graphs", "Molecules"]

# A bias for all pairs of atoms and eight heads takes half a gigabyte.
_MOST_RELATED = 4000
# Of larger graphs nothing could be told apart.
_MOST_LAID_OUT = 200
_MOST_DRAWN = 300
# In standard deviations, as for the descriptors of molecules.
_FAR = 5.0
# The largest graph whose pairs of nodes are encoded by default.
_MOST_PAIRED = 500
# Neighbours are alike if most have the same label.
_ALIKE = 0.5
_WIDE, _FILLED = 100, 0.2
_LINEAR_FINGERPRINT = 1024
_AVERAGED: Mapping[str, Any] = {
    "input": {"normalise": True, "standardise": False, "feature_dropout": 0.8},
    "network": "graph_attention",
    "dropout": 0.6,
    "attention_dropout": 0.6,
    "learning_rate": 0.03,
}
"""The default where neighbours have the same labels and vectors are counts of words: as `RECIPES["paper-field"]`, but
without training on its own consistency, which takes four times as long."""
_APART: Mapping[str, Any] = {"mask": "no_self"}
"""The default where neighbours have other labels: a node's own vector reaches the next layer beside what it attends to,
and isn't averaged with it. Zhu et al. 2020, H2GCN (arXiv 2006.11468), section 3.1, design D1."""
# So that few nodes aren't learned by heart from single words.
_APART_WORDS: Mapping[str, Any] = {**_APART, "input": {"feature_dropout": 0.5}}


class _GraphSource(Source):
    encoding: ClassVar[str] = (
        "The inputs are those that regard computes: save them where regard is installed, by "
        "regard.tasks.inputs_of(model, sources)."
    )

    edges: bool
    reach: int
    node_dropout: float
    feature_dropout: float
    linear: bool

    def batch(self, encoder: Any, items: Sequence["_Encoded"]) -> Batch:
        graphs = [item.graph for item in items]
        batch = Batch.pad([graph.vectors for graph in graphs])
        wholes = [item.whole for item in items if item.whole is not None]
        return Batch(
            batch.vectors,
            batch.lengths,
            mask=edges_mask(graphs) if self.edges else None,
            relations=self._padded([item.relations for item in items], batch.vectors.shape[1]) if self.reach else None,
            whole=torch.stack(wholes).float() if wholes else None,
        )

    @staticmethod
    def _padded(relations: Sequence[Tensor], longest: int) -> Int64[Tensor, "batch query key"]:
        padded = torch.zeros(len(relations), longest, longest, dtype=torch.int64)
        for row, own in zip(padded, relations, strict=True):
            row[: len(own), : len(own)] = own
        return padded

    def _encoded(self, graph: Graph, whole: Tensor | None, argument: str) -> "_Encoded":
        """The graph and, with `reach`, with the relations of its nodes, which are also counted."""
        if not self.reach:
            return _Encoded(self._masked(graph), b"", whole)
        if len(graph) > _MOST_RELATED:
            raise ArgumentError(
                f"`{argument}` must be a {self.source_noun} of {_MOST_RELATED:,} {self.noun}s at most, as pairs are "
                f"encoded by distance, but has {len(graph):,}. Cut it into parts, or train a model of `reach` 0."
            )
        relations = graph.relations(self.reach)
        # The number of nodes in each relation, because attention computes a mean and can't count equal nodes.
        counts = torch.zeros(len(graph), self.relations).scatter_add_(1, relations, torch.ones(relations.shape)).log1p()
        graph = dataclasses.replace(graph, vectors=torch.cat([graph.vectors, counts], dim=1))
        # All graphs are kept in memory. Most pairs are far apart, so that a byte for each compresses to a quarter or a
        # tenth; it is unpacked in less than a millisecond.
        packed = zlib.compress(relations.to("cpu", torch.uint8).numpy().tobytes(), level=1)
        return _Encoded(self._masked(graph), packed, whole)

    def _masked(self, graph: Graph) -> Graph:
        """The graph with the edges of its mask, if there is one: nodes attend to themselves, too."""
        return graph.with_loops() if self.edges else graph

    def random_items(self, encoder: Any, lengths: Sequence[int]) -> "list[_Encoded]":
        draws = torch.Generator().manual_seed(0)
        size = self._described(encoder) if self.linear or self.whole_size(encoder) else 0
        found = []
        for length in lengths:
            # A ring, and an edge to a node that is drawn.
            nodes = torch.arange(length)
            others = torch.randint(length, (length,), generator=draws)
            edges = torch.cat([torch.stack([nodes, nodes.roll(1)]), torch.stack([others, nodes])], dim=1)
            graph = Graph(torch.randn(length, encoder.width, generator=draws), edges.unique(dim=1))
            whole = torch.randint(2, (size,), generator=draws, dtype=torch.uint8) if size else None
            found.append(self._encoded(graph, whole, "source"))
        return found

    def embedding(self, encoder: Any, width: int) -> nn.Module:
        return VectorEmbedding(
            encoder.width + self.relations, width, item_dropout=self.node_dropout, feature_dropout=self.feature_dropout
        )

    def linear_part(self, encoder: Any, outputs: int) -> "LinearPart | None":
        if not self.linear:
            return None
        from regard.tasks.linear_features import LinearFeatures

        return LinearFeatures(encoder.width + self.relations, self._described(encoder), outputs)

    def _described(self, encoder: Any) -> int:
        """The number of features of a whole graph that a batch holds."""
        raise NotImplementedError(f"{type(self).__name__} must say what it holds of the whole")


@dataclass(frozen=True)
class Graphs(_GraphSource):
    """Sources that are graphs (`regard.inputs.Graph`), or folders with profiles and edges (`inputs.graph_files`).

    The profiles in a folder are encoded as in training; a model that was trained on plain vectors can't read folders.

    Args:
        edges: whether a node attends only to itself and along the edges that lead to it; else to all nodes.
        reach: the largest distance in edges at which pairs of nodes are distinguished, for graphs of 4,000 nodes at
            most. Each distance has a bias on the attention scores, and the number of nodes at each is appended to the
            features. Edges of all kinds are alike. 0: none.
        counts: whether the network also reads counts of the whole graph (`inputs.graph_counts`), beside what it attends
            to: attention computes means, and can't count.
        normalise: whether the features of a node are divided by the sum of their absolute values, so that the number of
            its features has no effect.
        standardise: whether each feature is then standardised by its mean and standard deviation in training.
        node_dropout: the probability that a node is replaced by zeros in training.
        feature_dropout: the probability of dropout for single features.
        linear: of a classifier: whether a linear model stands beside the network (`tasks.linear_features`), of the mean
            of the nodes' vectors and the counts of the whole graph.

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
    reach: int = integer(0, 0, 64)
    counts: bool = boolean(False)
    normalise: bool = boolean(False)
    standardise: bool = boolean(True)
    node_dropout: float = fraction(0.0)
    feature_dropout: float = fraction(0.0)
    linear: bool = boolean(False)

    @classmethod
    def suits(cls, source: Any) -> int:
        return 3 if isinstance(source, Graph) else 0

    @classmethod
    def fitted(cls, pairs: Sequence[tuple[Any, Any]]) -> Mapping[str, Any]:
        longest = max((len(source) for source, _ in pairs if isinstance(source, Graph)), default=0)
        # All pairs of nodes would take too much memory and time.
        sparse = {"edges": True, "reach": 0} if longest > _MOST_PAIRED else {}
        alike = _alike(homophily(_node_labels(pairs)))
        words = all(_counts_words(source) for source, _ in pairs)
        fields: Mapping[str, Any] = {}
        if alike is False:
            fields = _APART_WORDS if words else _APART
        elif alike and words:
            fields = _AVERAGED
        return {**fields, "input": {**fields.get("input", {}), **sparse}}

    def target_warnings(self, pairs: Sequence[tuple[Any, Any]]) -> Iterator[str]:
        found = homophily(_node_labels(pairs))
        if _alike(found) is False:
            yield (
                f"Of {found.pairs:,} pairs of neighbours in training, {100 * found.share:.0f} % have the same label, "
                f"and {100 * found.chance:.0f} % would by chance: a node's neighbours may say little about it."
            )

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
        # Not of the vectors as they are encoded: standardised ones sum up to almost nothing.
        counts = (
            Standardise.fit([graph_counts(graph)[None] for graph in graphs]) if self.counts or self.linear else None
        )
        return GraphEncoder(standard, next(iter(encoders), None), counts)

    def encoder(self, saved: Any) -> "GraphEncoder":
        return GraphEncoder.from_json(saved)

    @property
    def relations(self) -> int:
        return self.reach + 2 if self.reach else 0

    def whole_size(self, encoder: "GraphEncoder") -> int:
        return self._described(encoder) if self.counts else 0

    def _described(self, encoder: "GraphEncoder") -> int:
        return 0 if encoder.counts is None else encoder.counts.width

    def item(self, encoder: "GraphEncoder", source: Graph | str | Path) -> "_Encoded":
        graph = encoder.graph(source)
        vectors = encoder.standard.apply(self._vectors(graph))
        return self._encoded(dataclasses.replace(graph, vectors=vectors, kinds=None), encoder.whole(graph), "source")

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
        counts: the mean and the standard deviation of each count of a graph (`inputs.graph_counts`) in training; None
            if they aren't read.
    """

    json_name: ClassVar[str] = "graphs"
    json_defaults: ClassVar[bool] = True

    standard: Standardise
    profiles: ProfileEncoder | None = None
    counts: Standardise | None = None

    def __post_init__(self) -> None:
        if self.profiles is not None and self.profiles.width != self.width:
            raise ArgumentError(
                f"`profiles` must be {self.width} wide, as `standard` is, but is {self.profiles.width}."
            )

    @property
    def width(self) -> int:
        """The number of features of a node."""
        return self.standard.width

    def whole(self, graph: Graph) -> Float[Tensor, " count"] | None:
        """The standardised counts of a graph; None if they aren't read."""
        if self.counts is None:
            return None
        # Clipped, so that a graph much larger than those in training doesn't decide by its size alone.
        return self.counts.apply(graph_counts(graph)[None])[0].clamp(-_FAR, _FAR)

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
        fingerprint: the size of the fingerprint (`inputs.fingerprint`) that the network also reads of the whole
            molecule, beside what it attends to; 0: none.
        node_dropout: the probability that an atom is replaced by zeros in training.
        feature_dropout: the probability of dropout for single features.
        linear: of a classifier: whether a linear model stands beside the network (`tasks.linear_features`), of the mean
            of the atoms' vectors, with `descriptors` also those, and of the fingerprint, with 1,024 places if
            `fingerprint` is 0.

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
    fingerprint: int = integer(0, 0, 65536)
    node_dropout: float = fraction(0.0)
    feature_dropout: float = fraction(0.0)
    linear: bool = boolean(False)

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

    def whole_size(self, encoder: MoleculeAtoms) -> int:
        return self.fingerprint

    def _described(self, encoder: MoleculeAtoms) -> int:
        return self.fingerprint or (_LINEAR_FINGERPRINT if self.linear else 0)

    def item(self, encoder: MoleculeAtoms, source: str) -> "_Encoded":
        size = self._described(encoder)
        whole = fingerprint(source, size).to(torch.uint8) if size else None
        return self._encoded(encoder.graph(source), whole, "smiles")

    def ood_statistics(self, encoder: MoleculeAtoms, source: str) -> tuple[Statistic, ...]:
        # A salt or a mixture is several molecules, whose properties aren't those of one. In SMILES a dot divides them.
        parts = molecule_parts(source)
        of_set = "they have {} unconnected parts each beside the first"
        said = f"it has {parts:,} unconnected parts, as salts and mixtures have"
        return (Statistic("unconnected parts", parts - 1, 1, said, 1, of_set=of_set, shown="{:.2f}".format),)

    def names(self, encoder: MoleculeAtoms, source: str) -> list[str]:
        return list(encoder.graph(source).names)

    def simple_features(self, encoder: MoleculeAtoms) -> "SimpleFeatures":
        from regard.tasks.baselines.graphs import Fingerprints

        return Fingerprints()

    def drawn(self, encoder: MoleculeAtoms, source: str) -> "DrawnMolecule | None":
        from regard.inspection import DrawnMolecule

        # Before its layout, which takes minutes for thousands of atoms.
        is_small = read_smiles(source).GetNumAtoms() <= _MOST_DRAWN
        return DrawnMolecule(*molecule_drawing(source)) if is_small else None


@dataclass(frozen=True, eq=False)
class _Encoded:
    """An encoded graph, with `reach` the packed relations of its nodes, and features of the whole if there are any."""

    graph: Graph
    packed: bytes
    whole: Tensor | None

    @property
    def relations(self) -> Tensor:
        """The relation of each node to each other, (query, key) uint8."""
        unpacked = np.frombuffer(bytearray(zlib.decompress(self.packed)), dtype=np.uint8)
        return torch.from_numpy(unpacked).view(len(self), len(self))

    def __len__(self) -> int:
        return len(self.graph)


def _node_labels(pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Graph, Sequence[str | None]]]:
    """The graphs whose nodes have labels; other targets are those of a whole graph, or numbers."""
    return [
        (source, labels)
        for source, labels in pairs
        if isinstance(source, Graph)
        and isinstance(labels, list | tuple)
        and len(labels) == len(source)
        and any(isinstance(label, str) for label in labels)
    ]


def _alike(found: Homophily) -> bool | None:
    """Whether most neighbours have the same label; None: too few are known to say."""
    if not found.pairs:
        return None
    low, high = wilson(found.share, found.pairs)
    if found.share >= _ALIKE:
        return True if low > found.chance else None
    return False if high < _ALIKE else None


def _counts_words(source: Any) -> bool:
    """Whether the vectors of a graph are counts of words, or the like: wide, and mostly zeros."""
    if not isinstance(source, Graph) or source.vectors.shape[1] < _WIDE:
        return False
    vectors = source.vectors
    return bool((vectors >= 0).all()) and bool((vectors != 0).float().mean() < _FILLED)


def _graph(source: Any) -> Graph:
    if not isinstance(source, Graph):
        raise ArgumentError(f"a source must be a Graph, but is {source!r:.60}.")
    return source
