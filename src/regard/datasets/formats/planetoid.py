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
    has 15): its vector is zeros, and it has no label and no split. Every edge is there in both
    directions, each once.

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
    parts: dict[str, Any] = {part: read_safe_pickle(folder / f"ind.{name}.{part}") for part in PLANETOID_FILES[:-1]}
    index_path = folder / f"ind.{name}.test.index"
    test_nodes = np.array(
        [_node(line, index_path, number) for number, line in read_lines(index_path) if line.strip()], dtype=np.int64
    )
    first_test, test_count = len(parts["allx"]), len(parts["tx"])
    # The graph contains all nodes, including those that are missing in test.index.
    node_count = max(first_test + test_count, len(parts["graph"]))
    if (
        len({*test_nodes.tolist()}) != test_count
        or len(test_nodes) != test_count
        or not all(first_test <= node < node_count for node in test_nodes.tolist())
    ):
        raise DataError(
            f"it must hold the {test_count} nodes of test: different numbers from {first_test} to {node_count - 1}, "
            "one in each line.",
            path=index_path,
        )
    read_vectors, read_labels = (np.concatenate([parts[f"all{letter}"], parts[f"t{letter}"]]) for letter in "xy")
    if len(read_vectors) != len(read_labels) or read_labels.shape[1:] != parts["y"].shape[1:]:
        raise DataError(f"its files have {len(read_vectors)} vectors, but {len(read_labels)} labels.", path=folder)
    # Row i of tx belongs to the node in line i of test.index. A node without data keeps its zeros.
    read_nodes = np.concatenate([np.arange(first_test), test_nodes])
    vectors = np.zeros((node_count, read_vectors.shape[1]), dtype=np.float32)
    labels = np.zeros((node_count, read_labels.shape[1]), dtype=read_labels.dtype)
    vectors[read_nodes], labels[read_nodes] = read_vectors, read_labels
    train_count = len(parts["y"])
    nodes_of = {
        "train": range(train_count),
        "dev": range(train_count, train_count + _DEV),
        "test": test_nodes.tolist(),
    }
    in_split = {*nodes_of[split]}
    names = classes or tuple(str(number) for number in range(labels.shape[1]))
    targets = tuple(
        names[int(row.argmax())] if node in in_split and row.any() else None for node, row in enumerate(labels)
    )
    pairs = [(node, other) for node, others in parts["graph"].items() for other in others if node != other]
    if any(type(node) is not int or not 0 <= node < len(vectors) for pair in pairs for node in pair):
        raise DataError("an edge leads to a node that isn't there.", path=folder / f"ind.{name}.graph")
    edges = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    return Example(Graph(torch.from_numpy(vectors), edges).undirected(), targets)


def _node(line: str, path: Path, number: int) -> int:
    if not (line.strip().isascii() and line.strip().isdigit() and len(line) < 20):
        raise DataError(f"a line must be the number of a node, but is {line[:40]!r}.", path=path, line=number)
    return int(line)
