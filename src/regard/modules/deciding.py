"""While a model decides what to say: how long its targets may get, and its parts as in evaluation."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.attention import Learned
from regard.attention.validation import check_count, check_number
from regard.errors import ArgumentError

__all__ = ["deciding", "limits", "places_of"]


def limits(model: nn.Module, lengths: Int[Tensor, " batch"], longest: float, spare: int) -> list[int]:
    """How long each source's target may get: `longest` x its length + `spare`, and no longer than the model can count.

    Raises:
        ArgumentError: numbers that can't be.

    Example:
        >>> limits(nn.Identity(), torch.tensor([3, 0]), longest=1.5, spare=2)
        [6, 2]
    """
    check_count("spare", spare, "how long a target may get beyond `longest` x its source's length", least=0)
    check_number("longest", longest)
    if not 0 <= longest < math.inf:
        raise ArgumentError(f"`longest` must be a number, 0 or more, but is {longest}.")
    most = places_of(model)
    found = [math.floor(longest * length) + spare for length in lengths.tolist()]
    return found if most is None else [min(each, most) for each in found]


def places_of(model: nn.Module) -> int | None:
    """How many items it may be given, where positions were learned one by one; None where any number will do."""
    return min((len(part.table) for part in model.modules() if isinstance(part, Learned)), default=None)


@contextmanager
def deciding(model: nn.Module) -> Iterator[None]:
    """The model as in evaluation and without gradients, and then as it was, part by part."""
    training = [part for part in model.modules() if part.training]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part in training:
            part.training = True
