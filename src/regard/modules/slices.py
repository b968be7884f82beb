"""Sequences whose layers several processes compute, each for a slice: whole sequences in, whole sequences out.

Every process has the whole sequences, and its slice of what the layers make of them: that takes the memory. Where the
loss of the whole is the same in every process, `DistributedDataParallel`'s average of the gradients is that of one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard import distributed
from regard.distributed.peers import Peers

__all__ = ["by_slices"]

Layers = Callable[[Tensor], Tensor]


def by_slices(
    mesh: Any, layers: Layers, vectors: Float[Tensor, "batch length width"]
) -> Float[Tensor, "batch length out"]:
    """What layers make of sequences, where each process computes it for its own slice.

    Args:
        mesh: the processes, as in `MultiHeadAttention`; None: this one alone, for the whole.
        layers: maps a slice (batch, own, width) to (batch, own, out). What combines vectors knows of the mesh itself.
        vectors: the whole sequences, the same in every process.

    Example:
        >>> by_slices(None, torch.neg, torch.ones(1, 2, 1)).tolist()
        [[[-1.0], [-1.0]]]
    """
    if mesh is None:
        return layers(vectors)
    own = distributed.shard(vectors, 1, group=mesh)
    with _drawing_apart(mesh, vectors.device):
        own = layers(own)
    return distributed.unshard(own, 1, group=mesh)


@contextmanager
def _drawing_apart(mesh: Any, device: torch.device) -> Iterator[None]:
    """Draw other random numbers for each slice inside the block, and the same in every process after it."""
    drawn = int(torch.randint(2**62, (1,), device="cpu"))
    generators = [torch.default_generator]
    if device.type == "cuda":
        generators.append(torch.cuda.default_generators[device.index])
    states = [each.get_state() for each in generators]
    # `torch.manual_seed` seeds every kind of device, and formats the stack for each that isn't in use: 1 ms in all.
    for each in generators:
        each.manual_seed(drawn + Peers(mesh).rank)
    try:
        yield
    finally:
        for each, state in zip(generators, states, strict=True):
            each.set_state(state)
