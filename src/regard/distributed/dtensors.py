"""Tensors that know how they are divided: PyTorch's DTensor, along the sequence of one mesh."""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["attend_dtensors", "is_dtensor"]


def is_dtensor(tensor: Any) -> bool:
    """Whether it is a DTensor. Importing them takes a second, and without that there is none."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)


def attend_dtensors(
    attend: Callable[..., Tensor], query: Any, key: Any, value: Any, *, group: Any, order: str, **rest: Any
) -> Tensor:
    """The output of `attend` as a DTensor.

    Raises:
        ArgumentError: the tensors aren't divided alike, along the sequence.
    """
    from torch.distributed.tensor import DTensor, Shard

    three = {"query": query, "key": key, "value": value}
    for name, tensor in three.items():
        if not is_dtensor(tensor):
            raise ArgumentError(
                f"`{name}` must be a DTensor, since one of query, key and value is. Convert it by DTensor.from_local, "
                "or pass all three with .to_local()."
            )
        if tuple(tensor.placements) != (Shard(2),):
            raise ArgumentError(
                f"`{name}` must be divided along the sequence of a mesh with one dimension, as Shard(2), but is "
                f"{tensor.placements}. Convert it with .redistribute(placements=[Shard(2)])."
            )
    mesh = query.device_mesh if is_dtensor(query) else None
    if any(tensor.device_mesh != mesh for tensor in three.values()):
        raise ArgumentError("`query`, `key` and `value` must be DTensors on one mesh, but are on several.")
    if group is not None or order != "contiguous":
        raise ArgumentError("`group` and `order` must be left out for DTensors: their mesh and placement say them.")
    output = attend(*(each.to_local() for each in three.values()), group=mesh, **rest)
    batch, heads, rows, size = *query.shape[:3], value.shape[3]
    stride = heads * rows * size, rows * size, size, 1
    shape = torch.Size((batch, heads, rows, size))
    return DTensor.from_local(output, mesh, [Shard(2)], run_check=False, shape=shape, stride=stride)
