"""Tensors that know how they are divided: PyTorch's DTensor, along the sequence of one mesh."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["attend_dtensors", "is_dtensor", "local_parts"]


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

    three, mesh = local_parts({"query": query, "key": key, "value": value}, group=group, order=order)
    output = attend(*three, group=mesh, **rest)
    batch, heads, rows, size = *query.shape[:3], value.shape[3]
    stride = heads * rows * size, rows * size, size, 1
    shape = torch.Size((batch, heads, rows, size))
    return DTensor.from_local(output, mesh, [Shard(2)], run_check=False, shape=shape, stride=stride)


def local_parts(tensors: Mapping[str, Any], *, group: Any, order: str) -> tuple[list[Tensor], Any]:
    """What this rank has of DTensors, and their mesh.

    Args:
        tensors: by the names of the arguments; one of them at least is a DTensor.
        group, order: what was passed beside them, which must be left out.

    Raises:
        ArgumentError: the tensors aren't divided alike, along the sequence.
    """
    from torch.distributed.tensor import Shard

    *first, last = tensors
    names = f"{', '.join(first)} and {last}"
    for name, tensor in tensors.items():
        if not is_dtensor(tensor):
            raise ArgumentError(
                f"`{name}` must be a DTensor, since one of {names} is. Convert it by DTensor.from_local, "
                "or pass all of them with .to_local()."
            )
        if tuple(tensor.placements) != (Shard(2),):
            raise ArgumentError(
                f"`{name}` must be divided along the sequence of a mesh with one dimension, as Shard(2), but is "
                f"{tensor.placements}. Convert it with .redistribute(placements=[Shard(2)])."
            )
    meshes = [tensor.device_mesh for tensor in tensors.values()]
    if any(mesh != meshes[0] for mesh in meshes):
        quoted = "`, `".join(first)
        raise ArgumentError(f"`{quoted}` and `{last}` must be DTensors on one mesh, but are on several.")
    if group is not None or order != "contiguous":
        raise ArgumentError("`group` and `order` must be left out for DTensors: their mesh and placement say them.")
    return [tensor.to_local() for tensor in tensors.values()], meshes[0]
