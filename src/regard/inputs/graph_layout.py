"""Positions at which the nodes of a graph are drawn."""

import numpy as np

from regard.errors import MissingExtraError
from regard.extras import require

__all__ = ["graph_layout"]


def graph_layout(nodes: int, edges: np.ndarray) -> np.ndarray:
    """Where each node is drawn, how far right and how far down, from 0 to 1: connected nodes are near each other.

    The same graph has the same layout: that of springs of networkx, or a circle if networkx is not installed.

    Args:
        nodes: the number of nodes.
        edges: (2, edge) indices of nodes.

    Returns:
        (node, 2) float32.

    Example:
        >>> positions = graph_layout(3, np.array([[0, 1], [1, 2]]))
        >>> near, far = np.linalg.norm(positions[0] - positions[1:], axis=1)
        >>> bool(near < far)
        True

    Source: Fruchterman and Reingold, 1991, "Graph drawing by force-directed placement".
    """
    if not nodes:
        return np.zeros((0, 2), np.float32)
    try:
        networkx = require("networkx", extra="graph")
    except MissingExtraError:
        return _scaled(_circle(nodes))
    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(edges.T.tolist())
    # The circle is where the springs begin, instead of a random state.
    begin = dict(enumerate(_circle(nodes)))
    found = networkx.spring_layout(graph, pos=begin, iterations=100, seed=0)
    return _scaled(np.array([found[node] for node in range(nodes)]).reshape(nodes, 2))


def _circle(nodes: int) -> np.ndarray:
    angles = 2 * np.pi * np.arange(nodes) / nodes
    return np.stack([np.sin(angles), -np.cos(angles)], axis=1)


def _scaled(positions: np.ndarray) -> np.ndarray:
    """The positions from 0 to 1 in each direction; in the middle if all are the same in it."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    return (0.5 + (positions - (low + high) / 2) / np.maximum(high - low, 1e-9)).astype(np.float32)
