"""Additive attention, u . tanh(q + k), softmax: the broadcast form, which holds n x n x d, plain and compiled."""

import torch
from torch import Tensor

from rows.row import Bench, Case, Maker, Row, Work, backward, forward, part

__all__ = ["ROWS"]


def _broadcast(query: Tensor, key: Tensor, vector: Tensor) -> Tensor:
    return (torch.tanh(query.unsqueeze(3) + key.unsqueeze(2)) @ vector[:, None, :, None]).squeeze(-1)


def _summed(query: Tensor, key: Tensor, vector: Tensor) -> Tensor:
    return (torch.tanh(query.unsqueeze(3) + key.unsqueeze(2)) * vector[:, None, None]).sum(-1)


def _einsum(query: Tensor, key: Tensor, vector: Tensor) -> Tensor:
    return torch.einsum("bhqkd,hd->bhqk", torch.tanh(query.unsqueeze(3) + key.unsqueeze(2)), vector)


def _additive(bench: Bench, length: int, training: bool, peers: str = "plain") -> Case:
    query, key, value = bench.heads(length, training=training)
    vector = (bench.normal(8, 64) / 8).requires_grad_(training)
    inputs = (query, key, value, vector)

    def wrap(function):
        return backward(function, inputs) if training else forward(function)

    def ours():
        from regard import attend

        score = part("Additive", vector, activation="tanh")
        return wrap(lambda: attend(query, key, value, score=score))

    def plain(score) -> Maker:
        return lambda: wrap(lambda: torch.softmax(score(query, key, vector), -1) @ value)

    def compiled(score) -> Maker:
        def make():
            fused = torch.compile(lambda: torch.softmax(score(query, key, vector), -1) @ value, dynamic=False)
            return wrap(fused)

        return make

    sides = {
        "none": {},
        "plain": {"broadcast @ vector": plain(_broadcast), "einsum": plain(_einsum)},
        "compiled": {"torch.compile, broadcast and sum": compiled(_summed)},
    }[peers]
    features = 8 * 64 * length**2
    # Per pair and feature: one tanh, or what stands in its place, in each direction; the values' products come beside.
    work = Work((6 if training else 2) * features, (2 if training else 1) * features)
    return Case(ours, sides, work)


ROWS = (
    Row(
        "additive-forward",
        "additive, n = 1024, forward",
        "broadcast form",
        ("torch",),
        80.0,
        "0.036 s by exp(2q) exp(2k) and one reciprocal, to 2.2 s that wait for 2 GB of memory",
        lambda bench: _additive(bench, bench.size(1024), False),
        least=50,
    ),
    Row(
        "additive-training",
        "additive, n = 1024, forward + backward",
        "broadcast form",
        ("torch",),
        45.0,
        "0.27 s to 13.3 s in the prototypes",
        lambda bench: _additive(bench, bench.size(1024), True),
        least=25,
        seconds=20,
    ),
    Row(
        "additive-compiled",
        "additive, n = 1024, forward",
        "broadcast form under torch.compile",
        ("torch",),
        6.0,
        "fused, its sums need no memory; what is left is 0.5 G tanh in vector code at 1 to 2 G/s",
        lambda bench: _additive(bench, bench.size(1024), False, "compiled"),
    ),
    Row(
        "additive-compiled-training",
        "additive, n = 1024, forward + backward",
        "broadcast form under torch.compile",
        ("torch",),
        8.0,
        "as forward, and it reduces over queries and keys in turn, tanh each time",
        lambda bench: _additive(bench, bench.size(1024), True, "compiled"),
    ),
    Row(
        "additive-memory",
        "additive, n = 1024, forward + backward: peak memory",
        "broadcast form",
        ("torch",),
        100.0,
        "the peer keeps three tensors of 2 GiB; ours holds tiles of some ten MiB and the gradients",
        lambda bench: _additive(bench, bench.size(1024), True),
        least=50,
        measure="memory",
    ),
    Row(
        "additive-long-memory",
        "additive, n = 8192, forward + backward: peak memory",
        "a limit of 1 GiB",
        (),
        200.0,
        "q, k, v, the output and four gradients are 16 MiB each; tiles come beside",
        lambda bench: _additive(bench, bench.size(8192), True, "none"),
        measure="memory",
        limit=1024,
    ),
)
