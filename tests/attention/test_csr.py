"""The lists of edges against the dense matrix that they stand for."""

import pytest
import torch

from attention.cases import seeded
from regard.attention.pairs.csr import Csr, csr_of
from regard.errors import ArgumentError


@pytest.mark.parametrize(("edges", "queries", "keys"), [(0, 3, 5), (1, 1, 1), (50, 7, 5), (400, 13, 17), (1000, 3, 2)])
def test_both_orders_are_those_of_the_matrix(edges, queries, keys):
    generator = seeded(edges)
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


def drawn(edges: int, queries: int, keys: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random edges, with empty rows where there are few of them, and their matrix."""
    generator = seeded(edges)
    edge_index = torch.stack([torch.randint(0, size, (edges,), generator=generator) for size in (keys, queries)])
    matrix = torch.zeros(queries, keys, dtype=torch.bool)
    matrix[edge_index[1], edge_index[0]] = True
    return edge_index, matrix


def same(one: Csr, other: Csr) -> bool:
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in vars(one))


SHAPES = pytest.mark.parametrize(("edges", "queries", "keys"), [(0, 3, 5), (5, 7, 11), (50, 7, 5), (400, 13, 17)])


@SHAPES
def test_what_is_left_and_what_is_padded_is_as_if_sorted_anew(edges, queries, keys):
    edge_index, matrix = drawn(edges, queries, keys)
    graph = csr_of(edge_index, queries, keys)
    kept = torch.rand(len(graph.keys), generator=seeded(1)) < 0.6
    assert same(graph.only(kept), csr_of(matrix.nonzero()[kept].T.flip(0), queries, keys))
    assert same(graph.only(torch.zeros_like(kept)), csr_of(edge_index[:, :0], queries, keys))
    assert same(graph.padded(queries + 3, keys), csr_of(edge_index, queries + 3, keys))
    assert same(graph.padded(queries, keys + 2), csr_of(edge_index, queries, keys + 2))


@SHAPES
def test_lists_answer_as_the_matrix_does(edges, queries, keys):
    edge_index, matrix = drawn(edges, queries, keys)
    graph = csr_of(edge_index, queries, keys)
    query, key = torch.arange(queries), torch.arange(keys)
    # A grid with columns in order and in none, single pairs, and queries that are out of range.
    assert torch.equal(graph.contains(query.unsqueeze(1), key.unsqueeze(0)), matrix)
    assert torch.equal(graph.contains(query.unsqueeze(1), key.flip(0).unsqueeze(0)), matrix.flip(1))
    assert torch.equal(graph.contains(*matrix.nonzero().T), torch.ones(int(matrix.sum()), dtype=torch.bool))
    assert not graph.contains(torch.tensor([[-1], [queries]]), key.unsqueeze(0)).any()
    start, stop, contiguous = graph.extents()
    assert start.device.type == stop.device.type == "cpu"  # where tiles are planned
    start, stop = start.to(matrix.device), stop.to(matrix.device)
    within = (key >= start.unsqueeze(1)) & (key < stop.unsqueeze(1))
    assert not (matrix & ~within).any()
    assert contiguous == torch.equal(within, matrix)
    assert all(
        (row.any() and row[a] and row[b - 1]) or a == b == 0 for row, a, b in zip(matrix, start, stop, strict=True)
    )
    assert torch.equal(graph.keys_of(1, queries).unique(), matrix[1:].any(0).nonzero().flatten())


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
