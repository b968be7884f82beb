"""Checks of what an approximation can be combined with: masks, other parts, and the arguments of a call."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention import Causal, Dense, Lengths, Sizes
from regard.attention.masks import as_mask, conjuncts
from regard.errors import ArgumentError
from regard.modules.efficient.approximation import Approximation
from regard.modules.projections import Projections

__all__ = ["FIXED", "SimpleMask", "Widths", "check_approximation", "check_self_attention", "simple_mask"]

FIXED: Mapping[str, tuple[Any, str]] = {
    "score": ("scaled_dot", "compares queries and keys in its own way"),
    "weights": ("softmax", "normalises in its own way"),
    "position": (None, "has no scores of all pairs to act on"),
    "dropout": (0.0, "has no weights of all pairs to drop"),
    "engine": ("auto", "is computed by no engine"),
}
"""The arguments of exact attention that can't be changed for an approximation: name -> (the only value, why)."""

_LEAVE_OUT = "Leave one of the two out."
_INSTEAD = {"position": "Use an encoding of the inputs, such as position='sinusoidal' of an Encoder."}
_EXACT = "Without `approximation`, masks that save work are Window, Strided, Longformer and BigBird; they are exact."


class Widths(NamedTuple):
    """The sizes of the vectors that queries, keys and values are made of."""

    query: int
    key: int
    value: int


class SimpleMask(NamedTuple):
    """What an approximation can do about a mask: padding at the end of each item, and later keys hidden."""

    lengths: Tensor | None
    causal: bool


def check_approximation(approximation: Any, projections: Projections, heads: int, widths: Widths, **parts: Any) -> None:
    """Check an approximation, and that the other arguments of a module are those that it can be combined with.

    Args:
        approximation: an `Approximation`.
        projections: those of the module.
        heads: the number of heads of queries.
        widths: the sizes of the vectors that queries, keys and values are made of.
        **parts: the parts of exact attention, by name.

    Raises:
        ArgumentError: it is something else, or another argument asks for what it can't do.
    """
    if not isinstance(approximation, Approximation):
        hint = f" Did you mean {approximation.__name__}(...)?" if isinstance(approximation, type) else ""
        raise ArgumentError(
            "`approximation` must be a name of regard.modules.efficient.APPROXIMATIONS, an Approximation, a PerLayer "
            f"or None, but is {approximation!r:.60}.{hint}"
        )
    for name, given in parts.items():
        value, why = FIXED[name]
        if given is not value and not (isinstance(given, str | float | int) and given == value):
            raise ArgumentError(
                f"`{name}` must be {value!r} where `approximation` is given, which {why}, but is {given!r:.60}. "
                + _INSTEAD.get(name, _LEAVE_OUT)
            )
    if (key_heads := projections.key_heads(heads)) != heads:
        raise ArgumentError(
            f"`projections` must have as many heads of keys as of queries, {heads}, where `approximation` is given, "
            f"but has {key_heads}. Leave one of the two out."
        )
    if approximation.shared_query_key and not projections.shared_key:
        raise ArgumentError(
            f"`projections` must have one matrix for queries and keys where `approximation` is "
            f"{type(approximation).__name__}, but have two. Use MultiHeadAttention.shared_query_key, or pass "
            "projections=Projections(shared_key=True)."
        )
    for name, size in (("key_width", widths.key), ("value_width", widths.value)):
        if size != widths.query:
            raise ArgumentError(
                f"`{name}` must be `width` {widths.query} where `approximation` is given, which is for self-attention, "
                f"but is {size}. Leave one of the two out."
            )


def check_self_attention(query: Any, key: Any, value: Any, **others: Any) -> None:
    """Check that a call of a module with an approximation is one of self-attention, without anything else.

    Args:
        query, key, value: as in the call.
        **others: arguments that only exact attention has, by name: None where they aren't given.

    Raises:
        ArgumentError: it isn't.
    """
    for name, given in (("key", key), ("value", value)):
        if given is not None and given is not query:
            raise ArgumentError(
                f"`{name}` must be left out where `approximation` is given, which is for self-attention, but is "
                f"{_described(given)}. Use a module without `approximation` for cross-attention."
            )
    for name, given in others.items():
        if given is not None:
            raise ArgumentError(
                f"`{name}` must be left out where `approximation` is given, which computes a whole sequence at once "
                f"and no scores of all pairs, but is {_described(given)}. Use a module without `approximation`."
            )


def simple_mask(mask: Any, batch: int, length: int) -> SimpleMask:
    """Read a mask that consists of lengths and causality alone, for `batch` items that are padded to `length`.

    Raises:
        ArgumentError: it hides something else, too, for which the error names exact masks that save work; or there
            aren't as many lengths as items, or one is out of range.

    Example:
        >>> simple_mask(Lengths([3, 1]) & "causal", batch=2, length=3)
        SimpleMask(lengths=tensor([3, 1]), causal=True)
    """
    found, mask = SimpleMask(None, False), as_mask(mask)
    mask.check(Sizes(batch, length, length))
    for part in conjuncts(mask):
        if type(part) is Causal:
            found = found._replace(causal=True)
        elif type(part) is Lengths and part.both is not None and part.query is None and part.key is None:
            lengths = part.of_keys
            if found.lengths is not None and lengths is not None:
                lengths = torch.minimum(found.lengths, lengths)
            found = found._replace(lengths=lengths)
        elif type(part) is not Dense:
            raise ArgumentError(
                "`mask` must be None, Lengths(lengths), Causal() or the two joined by & where `approximation` is "
                f"given, but has {part!r:.60}. {_EXACT}"
            )
    return found


def _described(given: Any) -> str:
    return f"a tensor {tuple(given.shape)}" if isinstance(given, Tensor) else f"a {type(given).__name__}"
