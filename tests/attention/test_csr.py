"""The lists of edges against the dense matrix that they stand for."""

import pytest
import torch

from regard.attention.csr import csr_of
from regard.errors import ArgumentError


@pytest.mark.parametrize(("edges", "queries", "keys"), [(0, 3, 5), (1, 1, 1), (50, 7, 5), (400, 13, 17), (1000, 3, 2)])
def test_both_orders_are_those_of_the_matrix(edges, queries, keys):
    generator = torch.Generator().manual_seed(edges)
    edge_index = torch.stack([torch.randint(0, size, (edges,), generator=generator) for size in (keys, queries)])
    graph = csr_of(edge_index, queries, keys)
    matrix = torch.zeros(queries, keys, dtype=torch.bool)
    matrix[edge_index[1], edge_index[0]] = True
    rows, columns = matrix.nonzero().T, matrix.T.nonzero().T
    assert torch.equal(graph.keys, rows[1])
    assert torch.equal(graph.starts, torch.cat([torch.zeros(1, dtype=torch.long), matrix.sum(1).cumsum(0)]))
    assert torch.equal(graph.queries, columns[1])
    assert torch.equal(graph.key_starts, torch.cat([torch.zeros(1, dtype=torch.long), matrix.sum(0).cumsum(0)]))
    assert torch.equal(graph.keys[graph.csc_to_csr], columns[0])
    assert torch.equal(rows[0][graph.csc_to_csr], columns[1])


def test_nothing_to_connect():
    graph = csr_of(torch.zeros(2, 0, dtype=torch.long), 0, 0)
    assert graph.starts.tolist() == graph.key_starts.tolist() == [0]


@pytest.mark.parametrize(
    "bad", [torch.zeros(3, 4, dtype=torch.long), torch.zeros(2, 4), torch.zeros(4, dtype=torch.long)]
)
def test_other_shapes_and_dtypes_are_refused(bad):
    with pytest.raises(ArgumentError, match="`edge_index` must be whole numbers of shape"):
        csr_of(bad, 5, 5)


def test_nodes_that_are_not_there_are_named():
    with pytest.raises(ArgumentError, match="`edge_index` must name keys from 0 to 4, but names 5"):
        csr_of(torch.tensor([[5], [0]]), 3, 5)
    with pytest.raises(ArgumentError, match="`edge_index` must name queries from 0 to 2, but names -1"):
        csr_of(torch.tensor([[0], [-1]]), 3, 5)
