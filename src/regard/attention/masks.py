"""Masks: which query may attend to which key. True = may attend.

A mask answers two questions: `allows`, pair by pair, and `spans`, row by row: between which keys the allowed ones lie.
The second lets an engine skip what is hidden without asking pair by pair. Masks compose with `&`, `|` and `~`.
A function of the user's own, `(batch, head, query, key) -> bool tensor`, is a mask too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.frames import Frame, Index, Spans
from regard.errors import ArgumentError

__all__ = [
    "MASKS",
    "And",
    "Causal",
    "Dense",
    "Lengths",
    "Mask",
    "NoSelf",
    "Not",
    "Or",
    "Predicate",
    "Window",
    "as_mask",
]


class Mask:
    """A mask: subclass it as a frozen dataclass and write `allows`; write `spans` too if whole stretches are hidden."""

    def allows(self, at: Index) -> Tensor:
        """Whether each pair may attend: a bool tensor that broadcasts against the index."""
        raise NotImplementedError(f"{type(self).__name__} must define allows(at)")

    def spans(self, frame: Frame) -> Spans:
        """Where the allowed keys of each query lie."""
        return Spans.unknown(frame)

    def lengths(self) -> "Lengths | None":
        """The items' own lengths, if the mask states them: positions are then counted from each item's own end."""
        return None

    def __and__(self, other: Any) -> "Mask":
        return And(self, as_mask(other))

    __rand__ = __and__

    def __or__(self, other: Any) -> "Mask":
        return Or(self, as_mask(other))

    __ror__ = __or__

    def __invert__(self) -> "Mask":
        return Not(self)


@dataclass(frozen=True)
class Dense(Mask):
    """Every query may attend to every key: no mask at all."""

    def allows(self, at: Index) -> Tensor:
        return torch.ones_like(at.offset, dtype=torch.bool)

    def spans(self, frame: Frame) -> Spans:
        start = torch.zeros(1, frame.queries, dtype=torch.long)
        return Spans.only(start, start + frame.keys, frame.keys)


@dataclass(frozen=True)
class Causal(Mask):
    """A query may attend to the keys that are not after it. Aligned at the end, so that a cache just works.

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> weigh(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 3, 4), mask=Causal())[0, 0]
        tensor([[0.5000, 0.5000, 0.0000],
                [0.3333, 0.3333, 0.3333]])
    """

    def allows(self, at: Index) -> Tensor:
        return at.offset <= 0

    def spans(self, frame: Frame) -> Spans:
        places = frame.places
        return Spans.only(torch.zeros_like(places), places + 1, frame.keys)


@dataclass(frozen=True)
class Window(Mask):
    """Truncated attention: a query may attend from `before` keys before its own position to `after` keys after it.

    Source: the notes, 001 and 004; Yeh et al. 2019, Transformer-Transducer (arXiv 1910.12977), section 3.
    """

    before: int
    after: int

    def __post_init__(self) -> None:
        for name in ("before", "after"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                raise ArgumentError(
                    f"`{name}` of Window must be a number of keys, 0 or more, but is {getattr(self, name)!r}."
                )

    def allows(self, at: Index) -> Tensor:
        return (at.offset >= -self.before) & (at.offset <= self.after)

    def spans(self, frame: Frame) -> Spans:
        places = frame.places
        return Spans.only(places - self.before, places + self.after + 1, frame.keys)


@dataclass(frozen=True)
class NoSelf(Mask):
    """A query may attend to every key but the one at its own position (note 001: does attending to oneself matter?)."""

    def allows(self, at: Index) -> Tensor:
        return at.offset != 0


@dataclass(frozen=True)
class Lengths(Mask):
    """The items of a batch have lengths of their own; what lies beyond is padding, and is hidden.

    Args:
        lengths: (batch,) the length of each item, for queries and keys alike (self-attention).
        query: (batch,) lengths of the queries, where they differ from the keys' (cross-attention).
        key: (batch,) lengths of the keys.

    A query beyond its length attends to nothing, so its output is zeros.

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> weigh(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 2, 4), mask=Lengths([1]))[0, 0]
        tensor([[1., 0.],
                [0., 0.]])
    """

    both: Tensor | Sequence[int] | None = None
    query: Tensor | Sequence[int] | None = None
    key: Tensor | Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.both is None and self.query is None and self.key is None:
            raise ArgumentError("`lengths` must be the length of each item of the batch, but nothing was given.")
        for name in ("both", "query", "key"):
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, Tensor):
                value = torch.as_tensor(value) if len(value) else torch.zeros(0, dtype=torch.long)
            if value.ndim != 1 or value.is_floating_point() or value.dtype == torch.bool:
                raise ArgumentError(
                    "`lengths` must be whole numbers of shape (batch,), "
                    f"but is {value.dtype} of shape {tuple(value.shape)}."
                )
            object.__setattr__(self, name, value.long())

    @property
    def of_queries(self) -> Tensor | None:
        """(batch,) how many queries each item has; None: as many as there are rows."""
        return self.both if self.query is None else self.query  # pyright: ignore[reportReturnType]

    @property
    def of_keys(self) -> Tensor | None:
        """(batch,) how many keys each item has; None: as many as there are."""
        return self.both if self.key is None else self.key  # pyright: ignore[reportReturnType]

    def allows(self, at: Index) -> Tensor:
        allowed = torch.ones_like(at.offset, dtype=torch.bool)
        if self.of_queries is not None:
            allowed = allowed & (at.query < self.of_queries[at.batch])
        if self.of_keys is not None:
            allowed = allowed & (at.key < self.of_keys[at.batch])
        return allowed

    def spans(self, frame: Frame) -> Spans:
        rows = torch.arange(frame.queries).unsqueeze(0)
        stop = torch.full_like(rows, frame.keys)
        if self.of_keys is not None:
            stop = stop.minimum(self.of_keys.cpu().unsqueeze(1))
        if self.of_queries is not None:
            stop = stop.where(rows < self.of_queries.cpu().unsqueeze(1), 0)
        return Spans.only(torch.zeros_like(stop), stop, frame.keys)

    def lengths(self) -> "Lengths | None":
        return self


@dataclass(frozen=True, repr=False)
class Predicate(Mask):
    """A function of the user's own: (batch, head, query, key) -> bool tensor; each argument is an index tensor."""

    function: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

    def allows(self, at: Index) -> Tensor:
        allowed = self.function(at.batch, at.head, at.query, at.key)
        if not isinstance(allowed, Tensor) or allowed.dtype != torch.bool:
            found = allowed.dtype if isinstance(allowed, Tensor) else type(allowed).__name__
            raise ArgumentError(f"`mask` {self!r} must return a bool tensor, True = may attend, but returned {found}.")
        return allowed

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


@dataclass(frozen=True)
class And(Mask):
    """Both masks allow it."""

    left: Mask
    right: Mask

    def allows(self, at: Index) -> Tensor:
        return self.left.allows(at) & self.right.allows(at)

    def spans(self, frame: Frame) -> Spans:
        left, right = self.left.spans(frame), self.right.spans(frame)
        return Spans(
            torch.maximum(left.start, right.start),
            torch.minimum(left.stop, right.stop),
            torch.maximum(left.full_start, right.full_start),
            torch.minimum(left.full_stop, right.full_stop),
        )

    def lengths(self) -> Lengths | None:
        left, right = self.left.lengths(), self.right.lengths()
        if left is None or right is None:
            return right if left is None else left
        return Lengths(
            query=_shorter(left.of_queries, right.of_queries),
            key=_shorter(left.of_keys, right.of_keys),
        )


@dataclass(frozen=True)
class Or(Mask):
    """At least one of the masks allows it."""

    left: Mask
    right: Mask

    def allows(self, at: Index) -> Tensor:
        return self.left.allows(at) | self.right.allows(at)

    def spans(self, frame: Frame) -> Spans:
        left, right = self.left.spans(frame), self.right.spans(frame)
        start, stop, _ = _union(left.start, left.stop, right.start, right.stop)
        full = _union(left.full_start, left.full_stop, right.full_start, right.full_stop)
        # Two stretches with a gap between them are not one: keep the longer as the part that is surely allowed.
        longer = left.full_stop - left.full_start >= right.full_stop - right.full_start
        full_start = full[0].where(full[2], torch.where(longer, left.full_start, right.full_start))
        full_stop = full[1].where(full[2], torch.where(longer, left.full_stop, right.full_stop))
        return Spans(start, stop, full_start, full_stop)

    def lengths(self) -> Lengths | None:
        left, right = self.left.lengths(), self.right.lengths()
        # Where one side states none, all rows count for it, and so for both together.
        if left is None or right is None:
            return None
        query, key = _longer(left.of_queries, right.of_queries), _longer(left.of_keys, right.of_keys)
        return None if query is None and key is None else Lengths(query=query, key=key)


@dataclass(frozen=True)
class Not(Mask):
    """What the mask hides, and nothing else."""

    mask: Mask

    def allows(self, at: Index) -> Tensor:
        return ~self.mask.allows(at)

    def spans(self, frame: Frame) -> Spans:
        inside = self.mask.spans(frame)
        start = torch.zeros_like(inside.start)
        stop = torch.full_like(inside.start, frame.keys)
        return Spans(start, stop, start, stop.where(inside.start >= inside.stop, 0))

    def lengths(self) -> Lengths | None:
        return self.mask.lengths()


def _shorter(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    if left is None or right is None:
        return right if left is None else left
    return torch.minimum(left, right)


def _longer(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    return None if left is None or right is None else torch.maximum(left, right)


def _union(start: Tensor, stop: Tensor, start2: Tensor, stop2: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The hull of two stretches per row, empty ones left out, and whether the hull holds nothing else."""
    empty, empty2 = start >= stop, start2 >= stop2
    hull_start = torch.where(empty, start2, torch.where(empty2, start, torch.minimum(start, start2)))
    hull_stop = torch.where(empty, stop2, torch.where(empty2, stop, torch.maximum(stop, stop2)))
    one = empty | empty2 | (torch.maximum(start, start2) <= torch.minimum(stop, stop2))
    return hull_start, hull_stop, one


def as_mask(mask: Any) -> Mask:
    """A mask from what a user may pass: None, a mask, its name, or a function of four indices.

    Raises:
        ArgumentError: it is none of these, for example a tensor.
    """
    from_name = MASKS.get(mask) if isinstance(mask, str) else None
    if mask is None:
        return Dense()
    if isinstance(mask, Mask):
        return mask
    if from_name in (Dense, Causal, NoSelf):
        return from_name()
    if isinstance(mask, str):
        raise ArgumentError(
            f"`mask` must be one of dense, causal, no_self by name, or a mask such as Window(2, 2), but is {mask!r}."
        )
    if isinstance(mask, Tensor):
        raise ArgumentError(
            "`mask` must be a rule, not a tensor (a tensor of all pairs takes quadratic memory). Write a function: "
            "lambda batch, head, query, key: table[query, key]."
        )
    if callable(mask) and not isinstance(mask, type):
        return Predicate(mask)  # pyright: ignore[reportArgumentType]
    raise ArgumentError(f"`mask` must be a mask or a function of (batch, head, query, key), but is {mask!r}.")


MASKS: dict[str, type[Mask]] = {
    "dense": Dense,
    "causal": Causal,
    "window": Window,
    "lengths": Lengths,
    "no_self": NoSelf,
}
