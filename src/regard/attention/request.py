"""A request: the arguments of `attend`, checked, with names resolved, as every engine receives them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from regard.attention.masks import Dense, Frame, Index, Mask, Spans, as_mask
from regard.attention.parts import refuse_captured, resolve
from regard.attention.positions import INPUT_POSITIONS, POSITIONS, Position
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
        return Frame(batch, queries, keys, self.mask.lengths())


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
        seed: int | None,
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
            as_mask(mask),
            _position(position),
        )
        lengths = parts.mask.lengths()
        if lengths is not None:
            _check_lengths(lengths.of_queries, query.shape[0], query.shape[2], "query")
            _check_lengths(lengths.of_keys, query.shape[0], key.shape[2], "key")
        if dropout == 0.0:
            seed = 0
        elif seed is None:
            seed = int(torch.randint(2**62, (1,)).item())
        request = cls(query, key, value, parts, float(dropout), seed)
        request._refuse_captured()
        return request

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
        if isinstance(self.parts.mask, Dense):
            return True
        spans = self.spans
        return bool(((spans.full_start <= 0) & (spans.full_stop >= self.key.shape[2])).all())

    @cached_property
    def finite(self) -> bool:
        """Whether every number is finite. If not, what is hidden must be kept from 0 x NaN, which is NaN."""
        # A sum takes one pass and no memory; an overflow in it only costs the slower path.
        return all(bool(torch.isfinite(tensor.detach().sum())) for tensor in (self.query, self.key, self.value))

    def _refuse_captured(self) -> None:
        """Try each part of the user's own on one pair; the package's own parts declare all they use."""
        # A mask is boolean: no gradient passes through it, so there is nothing to lose in one.
        score, weights, position = self.parts.score, self.parts.weights, self.parts.position
        pair = self.query.new_zeros(1, 1, self.query.shape[-1]), self.query.new_zeros(1, 1, self.key.shape[-1])
        scores = self.query.new_zeros(1, 1, 1)
        zero = torch.zeros(1, 1, 1, dtype=torch.long, device=self.query.device)
        if _is_foreign(score):
            refuse_captured("score", score, lambda part: part(*pair))
        if _is_foreign(weights):
            refuse_captured("weights", weights, lambda part: part(scores, None))
        if _is_foreign(position):
            at = Index(zero, zero, zero, zero, zero)
            refuse_captured("position", position, lambda part: part.scores(scores, *pair, at))


def _is_foreign(part: Any) -> bool:
    """Whether a part was written outside the package."""
    module: str = getattr(part, "__module__", None) or type(part).__module__
    return not module.startswith("regard.")


def _position(position: Any) -> Position:
    if position is None:
        return Position()
    if isinstance(position, torch.nn.Module) and hasattr(position, "part"):
        return position.part()  # pyright: ignore[reportCallIssue]
    if (isinstance(position, str) and position in INPUT_POSITIONS) or isinstance(
        position, tuple(_classes(INPUT_POSITIONS))
    ):
        raise ArgumentError(
            f"`position` {position!r} is added to the inputs, which attend never sees: "
            "apply the module to the vectors first, or give it to an Encoder."
        )
    return resolve("position", position, POSITIONS, method="scores")


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
