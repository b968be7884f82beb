"""Reading citation graphs from the eight files of Planetoid."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.datasets.example import Example
from regard.datasets.formats.safe_pickle import read_safe_pickle
from regard.errors import DataError
from regard.inputs.graph.graph import Graph
from regard.inputs.lines import read_lines

__all__ = ["CORA_CLASSES", "PLANETOID_FILES", "read_planetoid"]

PLANETOID_FILES = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
"""The endings of the files' names, after ind.NAME."""

CORA_CLASSES = ("theory", "reinforcement", "genetic", "neural", "probabilistic", "case-based", "rule")
"""Short names of Cora's seven classes."""

_DEV = 500


def read_planetoid(
    folder: str | Path, name: str, split: str, *, classes: tuple[str, ...] = ()
) -> Example[Graph, tuple[str | None, ...]]:
    """Read a graph with node labels: the whole graph, and the labels of the nodes of the split.

    All splits have the same graph (transductive learning): in training the nodes of test are visible, but not their
    labels. The nodes of train come first, and the next 500 are dev. Those of test are listed in the file test.index,
    which gives the positions of their vectors. A number that is missing in test.index is a node without data (CiteSeer
    has 15): its vector is zeros, and it has no label and no split. Every edge has both directions, once.

    Args:
        folder: the folder of the files ind.NAME.x, ...
        name: the name of the graph in the files' names.
        split: train, dev or test.
        classes: the names of the labels; by default "0", "1", ...

    Raises:
        DataError: files that are missing, broken or don't match.

    Source: Yang, Cohen, Salakhutdinov 2016, Revisiting Semi-Supervised Learning with Graph Embeddings (arXiv
        1603.08861), section 5.2 for the split; 500 nodes for dev as in Kipf and Welling 2017 (arXiv 1609.02907),
        section 5.1.
    """
    folder = Path(folder)
    read: dict[str, Any] = {part: read_safe_pickle(folder / f"ind.{name}.{part}") for part in PLANETOID_FILES[:-1]}
    index = folder / f"ind.{name}.test.index"
    test = np.array([_node(line, index, number) for number, line in read_lines(index) if line.strip()], dtype=np.int64)
    first, given = len(read["allx"]), len(read["tx"])
    # The graph contains all nodes, including those that are missing in test.index.
    nodes = max(first + given, len(read["graph"]))
    if len({*test.tolist()}) != given or len(test) != given or not all(first <= node < nodes for node in test.tolist()):
        wanted = f"{given} different numbers from {first} to {nodes - 1}"
        raise DataError(f"it must hold {wanted}, a line each, as many as there are nodes of test.", path=index)
    known, labelled = (np.concatenate([read[f"all{part}"], read[f"t{part}"]]) for part in "xy")
    if len(known) != len(labelled) or labelled.shape[1:] != read["y"].shape[1:]:
        raise DataError(f"its files have {len(known)} vectors, but {len(labelled)} labels.", path=folder)
    # Row i of tx is the node of line i of test.index; a node that no file has stays zeros.
    rows = np.concatenate([np.arange(first), test])
    vectors = np.zeros((nodes, known.shape[1]), dtype=np.float32)
    labels = np.zeros((nodes, labelled.shape[1]), dtype=labelled.dtype)
    vectors[rows], labels[rows] = known, labelled
    trained = len(read["y"])
    members = {"train": range(trained), "dev": range(trained, trained + _DEV), "test": test.tolist()}
    in_split = {*members[split]}
    names = classes or tuple(str(number) for number in range(labels.shape[1]))
    targets = tuple(
        names[int(row.argmax())] if node in in_split and row.any() else None for node, row in enumerate(labels)
    )
    pairs = [(one, other) for one, others in read["graph"].items() for other in others if one != other]
    if any(type(node) is not int or not 0 <= node < len(vectors) for pair in pairs for node in pair):
        raise DataError("an edge leads to a node that isn't there.", path=folder / f"ind.{name}.graph")
    edges = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    return Example(Graph(torch.from_numpy(vectors), edges).undirected(), targets)


def _node(line: str, path: Path, number: int) -> int:
    if not (line.strip().isascii() and line.strip().isdigit() and len(line) < 20):
        raise DataError(f"a line must be the number of a node, but is {line[:40]!r}.", path=path, line=number)
    return int(line)
