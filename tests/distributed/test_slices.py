"""Whole sequences whose layers are computed slice by slice: outputs, averaged gradients, random numbers, neighbours."""

import functools
import itertools
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import nn

from distributed.ranks import together
from regard import distributed
from regard.attention import Relative, Window
from regard.errors import ArgumentError
from regard.modules import AttentionNetwork, Encoder, PerLayer
from regard.modules.networks import ConvolutionAndAttentionNetwork, GraphAttentionNetwork

LENGTHS = ([9, 6, 0], [2, 1, 1], [1, 0, 1])  # shorter than the ranks are many, too
NETWORKS = {
    "attention, sinusoidal": lambda: AttentionNetwork(8, 2, hidden=12, heads=2, position="sinusoidal"),
    "attention, relative, window": lambda: AttentionNetwork(
        8, 2, hidden=12, heads=2, position=PerLayer(functools.partial(Relative, reach=3)), mask=Window(2, 1)
    ),
    "convolutions, rotary, causal": lambda: ConvolutionAndAttentionNetwork(
        8, 2, hidden=12, heads=2, kernel=4, position="rotary", mask="causal", weights="sparsemax"
    ),
    "graph": lambda: GraphAttentionNetwork(8, 2, hidden=0, heads=2),
}


def network(name: str) -> nn.Module:
    torch.manual_seed(0)
    return NETWORKS[name]().double()


def results(name: str, lengths: list[int], mesh: Any, ranks: int = 1) -> list[torch.Tensor]:
    """The output, and the gradients of the input and of the parameters, averaged over the ranks."""
    module, generator = network(name), torch.Generator().manual_seed(1)
    given = torch.randn(len(lengths), max(lengths), 8, generator=generator).double().requires_grad_()
    bias = torch.randn(1, 2, max(lengths), max(lengths), generator=generator).double().requires_grad_()
    with nullcontext() if mesh is None else module.encoder.sharing(mesh):
        output = module(given, torch.tensor(lengths), bias=bias)
    output.square().sum().backward()
    grads = [given.grad, bias.grad, *(each.grad for each in module.parameters())]
    if mesh is not None:
        for each in grads:
            torch.distributed.all_reduce(each)
            each /= ranks
    return [output.detach(), *grads]


def in_slices(rank: int, ranks: int) -> dict[str, float]:
    group = torch.distributed.group.WORLD
    cases = itertools.product(NETWORKS, LENGTHS)
    return {
        f"{name} {lengths}": max(
            float((one - other).abs().max())
            for one, other in zip(results(name, lengths, group, ranks), results(name, lengths, None), strict=True)
        )
        for name, lengths in cases
    }


@pytest.fixture(scope="module", params=[2, pytest.param(3, marks=pytest.mark.slow)])
def found(request):
    """What each of two ranks, or of three, found out: they are started once."""
    return together(request.param, everything, request.param)


def everything(rank: int, ranks: int) -> dict[str, Any]:
    return {
        "gaps": in_slices(rank, ranks),
        "drawing": drawing(),
        "neighbours": neighbouring(rank, COUNTS[ranks]),
        "refused": refused(),
    }


def test_outputs_and_averaged_gradients_are_those_of_one_process(found):
    for each in found:
        assert len(each["gaps"]) == len(NETWORKS) * len(LENGTHS)
        for case, gap in each["gaps"].items():
            assert gap < 1e-12, case


def drawing() -> dict[str, Any]:
    """Half of what layers add is dropped, and everything after them draws alike."""
    encoder = Encoder(4, 1, 1, hidden=4, dropout=0.5)
    with torch.no_grad():
        for each in encoder.layers[0].connected[0], encoder.layers[0].connected[3]:
            each.weight.zero_()
            each.bias.fill_(1.0)
        encoder.layers[0].attention.output.weight.zero_()
        encoder.layers[0].attention.output.bias.zero_()
    encoder.norm = nn.Identity()
    torch.manual_seed(3)
    with encoder.sharing(torch.distributed.group.WORLD):
        first, second = (encoder(torch.zeros(1, 60, 4)) for _ in range(2))
    own = [each.mesh for each in encoder.modules() if hasattr(each, "mesh")]
    slices = [each for output in (first, second) for each in output.chunk(torch.distributed.get_world_size(), 1)]
    return {
        "kept": [(each != 0).flatten().tolist() for each in slices],
        "after": float(torch.rand(())),
        "left": [encoder.shared_by, *own],
    }


def test_slices_draw_apart_and_processes_draw_alike_afterwards(found):
    first, *others = (each["drawing"] for each in found)
    assert all(each == first for each in others)
    assert first["left"] == [None, None]
    for kept in first["kept"]:
        assert 0.3 < sum(kept) / len(kept) < 0.7
    assert len({tuple(kept) for kept in first["kept"]}) == len(first["kept"]) == 2 * len(found)


COUNTS = {2: [3, 4], 3: [5, 0, 2]}
REACHES = (0, 0), (1, 2), (3, 0), (9, 9)


def neighbouring(rank: int, counts: list[int]) -> list[Any]:
    whole = torch.arange(2 * sum(counts) * 3.0).view(2, sum(counts), 3)
    start = sum(counts[:rank])
    found = []
    for before, after in REACHES:
        own = whole[:, start : start + counts[rank]].clone().requires_grad_()
        more, place, first = distributed.with_neighbours(own, before, after, dim=1)
        last = first + more.shape[1]
        more.sum().backward()
        equal = torch.equal(more, whole[:, first:last])
        found.append([first, last, place.start, place.stop, equal, own.grad[0, :, 0].tolist()])
    return found


def test_neighbours_are_those_of_the_whole_and_their_gradients_go_home(found):
    counts = COUNTS[len(found)]
    told = [each["neighbours"] for each in found]
    length = sum(counts)
    for number, (before, after) in enumerate(REACHES):
        seen = [0] * length
        for rank, count in enumerate(counts):
            start = sum(counts[:rank])
            first, last, place, end, equal, _ = told[rank][number]
            assert equal
            assert (first + place, first + end) == (start, start + count)
            if count:
                assert (first, last) == (max(0, start - before), min(length, start + count + after))
            assert last > first
            for i in range(first, last):
                seen[i] += 1
        assert [each for rank in range(len(counts)) for each in told[rank][number][-1]] == seen


def refused() -> list[str]:
    mesh = torch.distributed.group.WORLD
    said = []
    for wrong in (
        lambda: Encoder(8, 1, 2, hidden=4, position="sinusoidal", mesh=mesh),
        lambda: Encoder(8, 1, 2, hidden=4, approximation="linear").sharing(mesh).__enter__(),
        lambda: distributed.with_neighbours(torch.zeros(1, 2, 1), -1, 0, dim=1),
    ):
        try:
            wrong()
        except ArgumentError as error:
            said.append(str(error))
    return said


def test_what_would_count_from_the_beginning_of_a_slice_or_needs_the_whole_is_refused(found):
    for each in found:
        position, approximation, before = each["refused"]
        assert "slices of a sequence, in which Sinusoidal would count from 0" in position
        assert approximation.startswith("`mesh` must be None where there is an `approximation`")
        assert before.startswith("`before` must be")
