"""A request: the arguments of `attend`, checked, with names resolved, as every engine receives them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from regard.attention.frames import Frame, Spans
from regard.attention.masks import Dense, Lengths, Mask, as_mask
from regard.attention.parts import join, resolve, split
from regard.attention.positions import INPUT_POSITIONS, POSITIONS, Position
from regard.attention.precision import wide_dtype
from regard.attention.scores import SCORES, Score
from regard.attention.weights import WEIGHTS, Normaliser
from regard.errors import ArgumentError

__all__ = ["Parts", "Request"]


@dataclass(frozen=True)
class Parts:
    """The four parts of a request, as one part, so that they are taken apart and put together as one."""

    score: Score
    weights: Normaliser
    mask: Mask
    position: Position

    def frame(self, batch: int, queries: int, keys: int) -> Frame:
        """The sizes as this mask sees them."""
        lengths = self.mask.lengths()
        if lengths is None:
            return Frame(batch, queries, keys)
        return Frame(batch, queries, keys, lengths.of_queries, lengths.of_keys)


@dataclass(frozen=True)
class Request:
    """One call of `attend`; key and value have as many heads as query.

    Shapes: query (batch, head, query, feature), key (batch, head, key, feature), value (batch, head, key, value).
    """

    query: Tensor
    key: Tensor
    value: Tensor
    parts: Parts
    dropout: float
    seed: int

    @classmethod
    def of(
        cls,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        score: Any,
        weights: Any,
        mask: Any,
        position: Any,
        dropout: float,
        seed: int,
    ) -> "Request":
        """Check the arguments of `attend` and resolve the names among them.

        Raises:
            ArgumentError: an argument can't be used.
        """
        key, value = _checked(query, key, value)
        if not 0.0 <= dropout <= 1.0:
            raise ArgumentError(f"`dropout` must be a share from 0 to 1, but is {dropout!r}.")
        parts = Parts(
            resolve("score", score, SCORES),
            resolve("weights", weights, WEIGHTS),
            _mask(mask, query, key),
            _position(position),
        )
        return cls(query, key, value, parts, float(dropout), seed)

    @property
    def frame(self) -> Frame:
        """The sizes as masks see them."""
        return self.parts.frame(self.query.shape[0], self.query.shape[2], self.key.shape[2])

    @cached_property
    def spans(self) -> Spans:
        """Where the allowed keys of each query lie."""
        return self.parts.mask.spans(self.frame)

    @cached_property
    def hides_nothing(self) -> bool:
        """Whether the mask is known to allow every pair."""
        if type(self.parts.mask) is Dense:
            return True
        spans = self.spans
        return bool(((spans.full_start <= 0) & (spans.full_stop >= self.key.shape[2])).all())

    @cached_property
    def finite(self) -> bool:
        """Whether all numbers are finite, and small enough that no product of two overflows.

        If not, what is hidden must be kept out of the products: 0 x NaN is NaN.
        """
        # A norm takes one pass and no memory, and overflows where a product would.
        norms = (torch.linalg.vector_norm(t.detach(), dtype=wide_dtype(t)) for t in (self.query, self.key, self.value))
        return all(bool(torch.isfinite(norm)) for norm in norms)


def _mask(mask: Any, query: Tensor, key: Tensor) -> Mask:
    """The mask, its lengths checked, its tensors where the query is."""
    mask = as_mask(mask)
    for lengths in _lengths_in(mask):
        _check_lengths(lengths.of_queries, query.shape[0], query.shape[2], "query")
        _check_lengths(lengths.of_keys, query.shape[0], key.shape[2], "key")
    spec, tensors = split(mask)
    if any(tensor.device != query.device for tensor in tensors):
        mask = join(spec, tuple(tensor.to(query.device) for tensor in tensors))
    return mask


def _lengths_in(mask: Mask) -> Iterator[Lengths]:
    if isinstance(mask, Lengths):
        yield mask
    for name in ("left", "right", "mask"):
        inner = getattr(mask, name, None)
        if isinstance(inner, Mask):
            yield from _lengths_in(inner)


def _position(position: Any) -> Position:
    if position is None:
        return Position()
    if (isinstance(position, str) and position in INPUT_POSITIONS) or isinstance(
        position, tuple(_classes(INPUT_POSITIONS))
    ):
        raise ArgumentError(
            f"`position` {position!r} is added to the inputs, which attend never sees: "
            "apply the module to the vectors first, or give it to an Encoder."
        )
    part = resolve("position", position, POSITIONS, method="scores")
    if not isinstance(part, Position):
        raise ArgumentError(f"`position` must subclass regard.attention.Position, but is {part!r}.")
    return part


def _classes(known: dict[str, Any]) -> list[type]:
    return [entry for entry in known.values() if isinstance(entry, type)]


def _checked(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Check the three tensors against each other; give key and value as many heads as query."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, Tensor) or tensor.ndim != 4:
            shape = tuple(tensor.shape) if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ArgumentError(f"`{name}` must be a tensor (batch, head, length, size), but is {shape}.")
        if not tensor.is_floating_point():
            raise ArgumentError(f"`{name}` must hold real numbers, but is {tensor.dtype}. Convert it with .float().")
        if tensor.dtype != query.dtype or tensor.device != query.device:
            raise ArgumentError(
                f"`{name}` must be {query.dtype} on {query.device} as `query` is, "
                f"but is {tensor.dtype} on {tensor.device}."
            )
    if key.shape[0] != query.shape[0] or value.shape[0] != query.shape[0]:
        raise ArgumentError(
            f"`key` and `value` must have the batch size of `query`, {query.shape[0]}, "
            f"but have {key.shape[0]} and {value.shape[0]}."
        )
    if key.shape[:3] != value.shape[:3]:
        raise ArgumentError(
            f"`value` must be (batch, head, key) = {tuple(key.shape[:3])} as `key` is, but is {tuple(value.shape[:3])}."
        )
    if key.shape[3] != query.shape[3]:
        raise ArgumentError(f"`key` must have the feature size of `query`, {query.shape[3]}, but has {key.shape[3]}.")
    heads, key_heads = query.shape[1], key.shape[1]
    if heads == key_heads:
        return key, value
    if key_heads == 0 or heads % key_heads:
        raise ArgumentError(
            f"`query` must have a multiple of the {key_heads} heads of `key` (grouped queries), but has {heads}."
        )
    repeat = heads // key_heads
    return key.repeat_interleave(repeat, dim=1), value.repeat_interleave(repeat, dim=1)


def _check_lengths(lengths: Tensor | None, batch: int, most: int, name: str) -> None:
    if lengths is None:
        return
    if len(lengths) != batch:
        raise ArgumentError(f"`lengths` must be one number for each of {batch} items, but is {len(lengths)} numbers.")
    if batch and (int(lengths.min()) < 0 or int(lengths.max()) > most):
        raise ArgumentError(
            f"`lengths` of the {name} must be from 0 to {most}, the size of that axis, "
            f"but range from {int(lengths.min())} to {int(lengths.max())}."
        )
