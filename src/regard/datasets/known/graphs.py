"""Graphs with node labels: Cora's papers, and the karate club that comes with networkx."""

from pathlib import Path
from types import MappingProxyType

import torch

from regard.datasets.dataset import Dataset, files_at
from regard.datasets.example import Example
from regard.datasets.formats.planetoid import CORA_CLASSES, read_planetoid
from regard.extras import require
from regard.inputs.graph.graph import Graph
from regard.inputs.lines import ErrorHandler

__all__ = ["CORA", "KARATE"]

_Labelled = Example[Graph, tuple[str | None, ...]]


def _cora(folder: Path, split: str, label: str, on_error: ErrorHandler) -> list[_Labelled]:
    return [read_planetoid(folder, "cora", split, classes=CORA_CLASSES)]


def _karate(folder: Path, split: str, label: str, on_error: ErrorHandler) -> list[_Labelled]:
    club = require("networkx", extra="graph").karate_club_graph()
    # The nodes have no attributes but the label, so that each node gets a one-hot vector.
    graph = Graph(torch.eye(len(club)), torch.tensor(list(club.edges())).T, tuple(str(node) for node in club))
    targets = tuple(club.nodes[node]["club"] if _karate_split(node) == split else None for node in club)
    return [Example(graph.undirected(), targets)]


def _karate_split(node: int) -> str:
    """The split of a node: the two leaders are train, and every fourth other node is dev; 34 are too few for a hash."""
    return "train" if node in (0, 33) else "dev" if node % 4 == 0 else "test"


CORA = Dataset(
    name="cora",
    title="Cora: 2,708 papers with 1,433 words each there or not, who cites whom, 7 fields; 140 / 500 / 1,000 labelled",
    language="English",
    licence="MIT (the files)",
    source="github.com/kimiyoung/planetoid, commit af6abf468a772cc055bec88c52e4d6f51b7c37e3",
    citation="Yang, Cohen, Salakhutdinov 2016, Revisiting Semi-Supervised Learning with Graph Embeddings, ICML",
    label="field",
    fold="nothing",
    files=files_at(
        "https://raw.githubusercontent.com/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data",
        **{
            part: (f"ind.cora.{part}", sha256, size)
            for part, sha256, size in (
                ("x", "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab", 22_119),
                ("y", "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1", 4_054),
                ("tx", "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a", 148_025),
                ("ty", "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad", 28_135),
                ("allx", "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543", 257_305),
                ("ally", "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71", 47_959),
                ("graph", "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d", 59_847),
                ("test.index", "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875", 5_000),
            )
        },
    ),
    modality="graph",
    target_type="items",
    labels=("field",),
    read=_cora,
)

KARATE = Dataset(
    name="karate",
    title="Zachary's karate club: 34 people, 78 friendships, the two halves it broke into; train is the two leaders",
    language="",
    licence="none stated (data of a paper); networkx is BSD-3-Clause",
    source="networkx, karate_club_graph",
    citation="Zachary 1977, An Information Flow Model for Conflict and Fission in Small Groups, J. Anthropol. Res. 33",
    label="club",
    fold="nothing",
    files=MappingProxyType({}),
    library="networkx",
    extra="graph",
    modality="graph",
    target_type="items",
    labels=("club",),
    read=_karate,
)
