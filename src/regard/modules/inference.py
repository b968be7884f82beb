"""Inference: the model in evaluation mode without gradients, and how long its outputs may get."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.attention import Learned
from regard.attention.validation import check_count, check_non_negative

__all__ = ["check_limits", "inference_mode", "maximum_lengths", "maximum_positions"]


def check_limits(longest: float, spare: int) -> None:
    """Check the settings of `maximum_lengths`.

    Raises:
        ArgumentError: a number is out of range.
    """
    check_count("spare", spare, "a number of ids or frames beyond `longest` x the source's length", least=0)
    check_non_negative("longest", longest)


def maximum_lengths(model: nn.Module, lengths: Int[Tensor, " batch"], longest: float, spare: int) -> list[int]:
    """The maximum length of each source's target: `longest` x its source's length + `spare`.

    It never exceeds the number of positions that the model has learned.

    Example:
        >>> maximum_lengths(nn.Identity(), torch.tensor([3, 0]), longest=1.5, spare=2)
        [6, 2]
    """
    positions = maximum_positions(model)
    found = [math.floor(longest * length) + spare for length in lengths.tolist()]
    return found if positions is None else [min(each, positions) for each in found]


def maximum_positions(model: nn.Module) -> int | None:
    """The largest sequence length that learned positions allow; None if the model has no learned positions."""
    return min((len(part.table) for part in model.modules() if isinstance(part, Learned)), default=None)


@contextmanager
def inference_mode(model: nn.Module) -> Iterator[None]:
    """Put the model into evaluation mode and disable gradients; afterwards each of its modules is as it was."""
    training = [part for part in model.modules() if part.training]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part in training:
            part.training = True
