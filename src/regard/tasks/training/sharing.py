"""Sequences that several processes share while a network is trained: each computes its slice of the layers."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from regard.errors import ArgumentError
from regard.modules import Encoder

__all__ = ["check_sharing", "sharing_sequences"]


def check_sharing(network: nn.Module, context_parallel: int) -> None:
    """Check that processes can share the sequences of a network.

    Args:
        network: a network, or what holds one.
        context_parallel: how many processes.

    Raises:
        ArgumentError: they can't.
    """
    if context_parallel == 1:
        return
    encoders = _encoders(network)
    if not encoders:
        raise ArgumentError(
            "`context_parallel` must be 1 for a network without an encoder of regard's, whose layers of attention are "
            f"what processes divide, but is {context_parallel}. Take `devices` alone, which divides batches, or a "
            "recipe with the network 'attention' or 'convolution_attention'."
        )
    for encoder in encoders:
        if encoder.approximated_by is not None:
            raise ArgumentError(
                f"`context_parallel` must be 1 for {encoder.approximated_by}, which needs the whole sequence in one "
                f"process, but is {context_parallel}. Take a recipe whose approximation is 'none'."
            )


@contextmanager
def sharing_sequences(network: nn.Module, group: Any) -> Iterator[None]:
    """Let the encoders of a network share each sequence over a group of processes inside the block; None: over none.

    Everything else that is in the network gets whole sequences, and computes the same in all of these processes.
    """
    with ExitStack() as stack:
        for encoder in _encoders(network) if group is not None else []:
            stack.enter_context(encoder.sharing(group))
        yield


def _encoders(network: nn.Module) -> list[Encoder]:
    return [each for each in network.modules() if isinstance(each, Encoder)]
