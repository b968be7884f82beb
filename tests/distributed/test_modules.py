"""Modules whose sequences are divided over processes: outputs and gradients, wrapped, checkpointed, as DTensors."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.utils.checkpoint import checkpoint

import regard
from distributed.ranks import together
from regard import distributed
from regard.attention import Relative
from regard.errors import ArgumentError
from regard.modules import Cache, MultiHeadAttention


def module(**more: Any) -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(12, 2, position=Relative(6, 3), **more).double()


def vectors() -> torch.Tensor:
    return torch.randn(2, 9, 12, generator=torch.Generator().manual_seed(1)).double()


def expected() -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The output of one process, and the parameters' gradients."""
    alone = module()
    output = alone(vectors(), mask="causal")
    output.square().sum().backward()
    return output.detach(), [each.grad for each in alone.parameters()]


def shared(rank: int) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (2,))
    return {
        "plain": {order: plain(mesh, order) for order in distributed.ORDERS},
        "checkpointed": checkpointed(mesh),
        "wrapped": wrapped(mesh),
        "fully sharded": fully_sharded(mesh),
        "dtensors": dtensors(mesh),
        "refused": refused(mesh),
    }


def gap(found: list[torch.Tensor], wanted: list[torch.Tensor]) -> float:
    return max(float((one - other).abs().max()) for one, other in zip(found, wanted, strict=True))


def plain(mesh: Any, order: str) -> float:
    """Every rank's own gradients, summed."""
    output, grads = expected()
    here = module(mesh=mesh, order=order)
    found = here(distributed.shard(vectors(), 1, order=order), mask="causal")
    found.square().sum().backward()
    own = [each.grad for each in here.parameters()]
    for each in own:
        torch.distributed.all_reduce(each)
    return gap([found.detach(), *own], [distributed.shard(output, 1, order=order), *grads])


def checkpointed(mesh: Any) -> float:
    """The forward pass is repeated in the backward pass, on every rank in the same order."""
    _, grads = expected()
    here = module(mesh=mesh)
    given = distributed.shard(vectors(), 1)
    checkpoint(lambda x: here(x, mask="causal"), given, use_reentrant=False).square().sum().backward()
    own = [each.grad for each in here.parameters()]
    for each in own:
        torch.distributed.all_reduce(each)
    return gap(own, grads)


def wrapped(mesh: Any) -> float:
    """By DistributedDataParallel, which averages over the ranks."""
    _, grads = expected()
    here = nn.parallel.DistributedDataParallel(module(mesh=mesh))
    (2 * here(distributed.shard(vectors(), 1), mask="causal").square().sum()).backward()
    return gap([each.grad for each in here.parameters()], grads)


def fully_sharded(mesh: Any) -> float:
    """By fully_shard, which divides the parameters too."""
    _, grads = expected()
    here = module(mesh=mesh)
    fully_shard(here, mesh=mesh)
    (2 * here(distributed.shard(vectors(), 1), mask="causal").square().sum()).backward()
    return gap([each.grad.full_tensor() for each in here.parameters()], grads)


def dtensors(mesh: Any) -> list[Any]:
    """Tensors that know how they are divided, unevenly too."""
    three = [torch.randn(1, 2, 7, 4, generator=torch.Generator().manual_seed(seed)).double() for seed in range(3)]
    given = [distribute_tensor(each, mesh, [Shard(2)]).requires_grad_() for each in three]
    output = distributed.attend(*given, mask="causal")
    plain_ = [each.clone().requires_grad_() for each in three]
    whole = regard.attend(*plain_, mask="causal")
    whole.square().sum().backward()
    output.square().sum().backward()
    grads = [each.grad.full_tensor() for each in given]
    return [
        isinstance(output, DTensor) and list(output.shape) == [1, 2, 7, 4],
        gap([output.full_tensor().detach(), *grads], [whole.detach(), *(each.grad for each in plain_)]),
    ]


def refused(mesh: Any) -> list[str]:
    told = []
    x = distribute_tensor(torch.zeros(1, 2, 8, 4), mesh, [Replicate()])
    y = distribute_tensor(torch.zeros(1, 2, 8, 4), mesh, [Shard(2)])
    for three, more in (((x, x, x), {}), ((y, y, torch.zeros(1, 2, 4, 4)), {}), ((y, y, y), {"order": "zigzag"})):
        try:
            distributed.attend(*three, **more)
        except ArgumentError as error:
            told.append(str(error))
    return told


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    return together(2, shared)


@pytest.mark.parametrize("way", ["checkpointed", "wrapped", "fully sharded"])
def test_a_module_under(way, found):
    assert all(each[way] < 1e-12 for each in found), [each[way] for each in found]


def test_a_module_alone(found):
    assert all(far < 1e-12 for each in found for far in each["plain"].values())


def test_tensors_that_know_how_they_are_divided(found):
    for each in found:
        kind, far = each["dtensors"]
        assert kind
        assert far < 1e-12
        whole, mixed, order = each["refused"]
        assert "Shard(2)" in whole
        assert "`value` must be a DTensor" in mixed
        assert "`order`" in order


def test_what_belongs_to_one_process_is_refused():
    here = module(mesh=object())
    with pytest.raises(ArgumentError, match="cache"):
        here(vectors(), cache=Cache(16))
    with pytest.raises(ArgumentError, match="approximation"):
        MultiHeadAttention(12, 2, approximation="linear", mesh=object())
