"""What is known of a call of `attend`, so that nothing is found out twice.

The signature of a call is what it has beside the numbers in its tensors: the types of its parts and their constants,
and the shapes, dtypes and devices of all tensors. Two calls with one signature are resolved, checked and planned alike,
so what the first of them found is looked up by the second. Only the package's own parts have a signature: a user's part
may change, or hold tensors, which must not outlive the call.
"""

import dataclasses
import functools
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from regard.attention.parts import CONSTANTS
from regard.attention.pytorch_internals import in_transform

__all__ = ["FEW_TOKENS", "Known", "few_pairs", "look_up", "signature"]

CALLS = 128  # signatures that are remembered, the latest
FEW_TOKENS = 2**14  # queries and keys together, of which what takes memory is remembered too: some 100 kB
FEW_PAIRS, FEW_IN_ALL = 2**16, 2**22  # likewise where it takes memory for each pair of a head, or each tile


@dataclass(slots=True)
class Known:
    """What is known of a call, in three dictionaries, each by name.

    Attributes:
        numbers: what depends on the tensors' numbers; of this call alone.
        geometry: what depends on the mask and the sizes, such as spans and tiles.
        form: what depends on the signature, such as the engine.
    """

    numbers: dict[Any, Any] = field(default_factory=dict)
    geometry: dict[Any, Any] = field(default_factory=dict)
    form: dict[Any, Any] = field(default_factory=dict)


def signature(*parts: Any) -> tuple[tuple[Any, ...], list[Tensor]] | None:
    """What parts have beside numbers, and their tensors in the order of `flatten_part`; None if one is the user's own.

    Example:
        >>> from regard.attention import Additive, Causal
        >>> one, other = (signature(Additive(torch.ones(2)), Causal()) for _ in range(2))
        >>> one[0] == other[0], one[1], signature(lambda query, key: query @ key.mT)
        (True, [tensor([1., 1.])], None)
    """
    found: list[Any] = []
    operands: list[Tensor] = []
    todo = [*reversed(parts)]
    while todo:
        part = todo.pop()
        kind = type(part)
        # With its type, since 1 and 1.0 are equal, but may mean a number of keys and a share of them.
        found.append(kind)
        if kind in CONSTANTS:
            found.append(part)
        elif kind is Tensor or kind is Parameter:
            found += (part.shape, part.dtype, part.device)
            operands.append(part)
        elif kind is tuple:
            found.append(len(part))
            todo += reversed(part)
        else:
            names = _own_fields(kind)
            if names is None:
                return None
            for name in names:
                todo.append(getattr(part, name))
    return tuple(found), operands


def few_pairs(query: Tensor, key: Tensor) -> bool:
    """Whether a call is so short that tiles and masks of its pairs are remembered."""
    pairs = query.shape[2] * key.shape[2]
    return pairs <= FEW_PAIRS and query.shape[0] * query.shape[1] * pairs <= FEW_IN_ALL


def look_up(query: Tensor, key: Tensor, value: Tensor, parts: tuple[Any, ...], *more: Any) -> dict[Any, Any]:
    """What is known of the calls with this signature, to be read and added to; nothing where nothing may be kept.

    Args:
        query, key, value: as in `attend`.
        parts: the signature of its parts.
        more: what else has a part in it.
    """
    if not (type(query) in _TENSORS and type(key) in _TENSORS and type(value) in _TENSORS) or in_transform():
        return {}
    if query.is_cuda and torch.cuda.is_current_stream_capturing():
        return {}  # what is made now belongs to the graph, and no number can be read
    # Tensors that are made in inference mode can't be used outside of it.
    inference = torch.is_inference_mode_enabled()
    return _form((parts, query.shape, key.shape, value.shape, query.dtype, query.device, inference, more))


_TENSORS = (Tensor, Parameter)


@functools.lru_cache(maxsize=CALLS)
def _form(signature: Any) -> dict[Any, Any]:
    """What is known of calls with this signature; at first nothing."""
    return {}


@functools.cache
def _own_fields(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of one of the package's parts, the last first; None for anything else."""
    if not kind.__module__.startswith("regard.") or not dataclasses.is_dataclass(kind):
        return None
    return tuple(each.name for each in reversed(dataclasses.fields(kind)))
