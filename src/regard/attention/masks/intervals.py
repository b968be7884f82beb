"""Masks that allow one interval of keys for each query: around its position, at the start, or along the diagonal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.masks.mask import Mask
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, Sizes
from regard.attention.tables import check_table, entries
from regard.attention.validation import integer_tensor
from regard.errors import ArgumentError

__all__ = ["Guided", "KeyRange", "Prefix", "Window"]


@dataclass(frozen=True)
class Window(Mask):
    """Truncated attention: a query may attend from `before` keys before its own position to `after` keys after it.

    Source: the notes, 001 and 004; Yeh et al. 2019, Transformer-Transducer (arXiv 1910.12977), section 3.

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> weigh(torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 3, 4), mask=Window(1, 0))[0, 0]
        tensor([[1.0000, 0.0000, 0.0000],
                [0.5000, 0.5000, 0.0000],
                [0.0000, 0.5000, 0.5000]])
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
        position = at.position
        return (at.key >= position - self.before) & (at.key <= position + self.after)

    def spans(self, sizes: Sizes) -> Spans:
        positions = sizes.positions
        return Spans.only(positions - self.before, positions + self.after + 1, sizes.keys)

    def hides_nothing(self, sizes: Sizes) -> bool:
        if sizes.ragged:
            return super().hides_nothing(sizes)
        # The last query has the position of the last key, and the positions of the others precede it.
        first, last = sizes.keys - sizes.queries, sizes.keys - 1
        return 0 in (sizes.queries, sizes.keys) or (last <= self.before and first + self.after >= last)


@dataclass(frozen=True)
class Prefix(Mask):
    """Every query may attend to the first keys. With `Prefix(k) | Causal()` a language model sees its whole prompt.

    Args:
        length: how many keys; a number, or (batch,) with one for each item.

    Source: Raffel et al. 2020, T5 (arXiv 1910.10683), section 3.2.1, "causal with prefix".

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> weigh(torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 3, 4), mask=Prefix(2) | "causal")[0, 0]
        tensor([[0.5000, 0.5000, 0.0000],
                [0.5000, 0.5000, 0.0000],
                [0.3333, 0.3333, 0.3333]])
    """

    length: int | Tensor | Sequence[Any]

    def __post_init__(self) -> None:
        if isinstance(self.length, int) and not isinstance(self.length, bool):
            if self.length < 0:
                raise ArgumentError(f"`length` of Prefix must be a number of keys, 0 or more, but is {self.length}.")
            return
        meaning = "a number of keys, or (batch,) one for each item"
        length = integer_tensor(self.length, "length", "Prefix", meaning, (1,))
        if len(length) and int(length.min()) < 0:
            raise ArgumentError(f"`length` of Prefix must be {meaning}, 0 or more, but holds {int(length.min())}.")
        object.__setattr__(self, "length", length)

    @property
    def _length(self) -> int | Tensor:
        return self.length  # pyright: ignore[reportReturnType]

    def allows(self, at: Index) -> Tensor:
        return at.key < (self._length[at.batch] if isinstance(self._length, Tensor) else self._length)

    def spans(self, sizes: Sizes) -> Spans:
        start = torch.zeros_like(sizes.rows)
        length = self._length.to(sizes.device).unsqueeze(1) if isinstance(self._length, Tensor) else self._length
        return Spans.only(start, start + length, sizes.keys)

    def hides_nothing(self, sizes: Sizes) -> bool:
        if isinstance(self._length, Tensor):
            return super().hides_nothing(sizes)
        return self._length >= sizes.keys or sizes.queries == 0

    def check(self, sizes: Sizes) -> None:
        if isinstance(self.length, Tensor) and len(self.length) != sizes.batch:
            raise ArgumentError(
                f"`length` of Prefix must be a number, or one for each of {sizes.batch} items, "
                f"but is {len(self.length)} numbers."
            )


@dataclass(frozen=True)
class KeyRange(Mask):
    """The keys from `start` up to, not including, `stop` of each item are real: padding on the left, or on both sides.

    Unlike `Lengths`, it doesn't shift the positions that causal masks and position schemes count.

    Args:
        start, stop: (batch,) integers, or (1,), which all items share.
    """

    start: Tensor
    stop: Tensor

    def allows(self, at: Index) -> Tensor:
        start, stop = (
            bound[torch.zeros_like(at.batch) if len(bound) == 1 else at.batch] for bound in (self.start, self.stop)
        )
        return (at.key >= start) & (at.key < stop)

    def spans(self, sizes: Sizes) -> Spans:
        bounds = (bound.to(sizes.device).unsqueeze(1) for bound in (self.start, self.stop))
        start, stop = (bound.expand(-1, sizes.queries) for bound in bounds)
        return Spans.only(start, stop, sizes.keys)


@dataclass(frozen=True)
class Guided(Mask):
    """Monotonic attention: a window that moves through the keys, left to right, as the queries advance.

    Query i of m may attend to key j of n if |j - c_i| <= width, with c_i = i n / m, as speech and its text advance
    together. With lengths, m and n are each item's own.

    Args:
        width: how far from the centre a key may be: an integer number of keys, or a fraction of the item's keys, such
            as 0.2.
        centres: the position among the keys that each query's window is centred on, (query,) or (batch, query), if it
            is known better than i n / m: from an alignment, or in decoding from the step before. They must not
            decrease.

    As the centres i n / m and a fractional width change with the number of keys, a cache that grows needs `centres` and
    an integer `width`.

    Source: the notes, 004 "Guided attention"; Tachibana et al. 2018 (arXiv 1710.08969), section 4: a penalty
    of 1 - exp(-(i/m - j/n)^2 / 2 g^2) on weights far from the diagonal. This is its hard form; a fractional `width`
    corresponds to g.

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> weigh(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 4, 4), mask=Guided(1))[0, 0]
        tensor([[0.5000, 0.5000, 0.0000, 0.0000],
                [0.0000, 0.3333, 0.3333, 0.3333]])
    """

    width: int | float
    centres: Tensor | Sequence[Any] | None = None

    def __post_init__(self) -> None:
        width = self.width
        right = isinstance(width, int | float) and not isinstance(width, bool) and 0 <= width < math.inf
        if not right or (isinstance(width, float) and width > 1):
            raise ArgumentError(
                "`width` of Guided must be a whole number of keys, 0 or more, or a share of them from 0.0 to 1.0, "
                f"but is {width!r}."
            )
        if self.centres is None:
            return
        given = self.centres
        centres = given if isinstance(given, Tensor) else torch.as_tensor(given, device="cpu")
        if centres.ndim not in (1, 2) or centres.dtype == torch.bool or centres.is_complex():
            raise ArgumentError(
                "`centres` of Guided must be positions among the keys, (query,) or (batch, query), "
                f"but is {centres.dtype} of shape {tuple(centres.shape)}."
            )
        # They select keys, and no gradient passes through a selection.
        centres = centres.detach().double()
        centres = centres.unsqueeze(0) if centres.ndim == 1 else centres
        if not bool(torch.isfinite(centres).all()):
            raise ArgumentError("`centres` of Guided must be finite numbers, but holds NaN or infinity.")
        if not bool((centres.diff(dim=1) >= 0).all()):
            raise ArgumentError(
                "`centres` of Guided must not go back from one query to the next, but do. "
                "For a window that may, write a function (batch, head, query, key) -> bool."
            )
        object.__setattr__(self, "centres", centres)

    def allows(self, at: Index) -> Tensor:
        first, last = self._interval(self._centres, at.batch, at.query, at.queries, at.keys)
        return (at.key >= first) & (at.key <= last)

    def spans(self, sizes: Sizes) -> Spans:
        queries, keys = (
            size if lengths is None else lengths.to(sizes.device).unsqueeze(1)
            for size, lengths in ((sizes.queries, sizes.query_lengths), (sizes.keys, sizes.key_lengths))
        )
        centres = None if self._centres is None else self._centres.to(sizes.device)
        items = torch.arange(1 if centres is None else len(centres), device=sizes.device).unsqueeze(1)
        first, last = self._interval(centres, items, sizes.rows, queries, keys)
        return Spans.only(first, last + 1, sizes.keys)

    def check(self, sizes: Sizes) -> None:
        if self._centres is not None:
            check_table(self._centres, "centres", "Guided", sizes.batch, sizes.queries, "queries")

    def check_growing(self) -> None:
        if self.centres is None or isinstance(self.width, float):
            raise ArgumentError(
                "`mask` must not have a Guided that depends on the number of keys where `cache` is given, but has "
                f"{self!r:.100}. Give it `centres` and an integer as `width`, or use no cache."
            )

    @property
    def _centres(self) -> Tensor | None:
        return self.centres  # pyright: ignore[reportReturnType]

    def _interval(
        self, centres: Tensor | None, item: Tensor, row: Tensor, queries: Tensor | int, keys: Tensor | int
    ) -> tuple[Tensor, Tensor]:
        """The first and the last key that these queries may see, possibly beyond the ends."""
        if centres is not None:
            centre = entries(centres, item, row)
            reach = self.width if isinstance(self.width, int) else self.width * keys
            return torch.ceil(centre - reach).long(), torch.floor(centre + reach).long()
        # In integers, so that rounding can't matter: |j m - i n| <= width m, or width m n for a fraction.
        queries = max(queries, 1) if isinstance(queries, int) else queries.clamp(min=1)
        if isinstance(self.width, int):
            reach = self.width * queries
        else:
            # In double precision for tensors too, as in Python, so that a single item gets the same as in a batch.
            pairs = queries * keys
            reach = (self.width * pairs.double()).long() if isinstance(pairs, Tensor) else int(self.width * pairs)
        middle = row * keys
        return -((reach - middle) // queries), (middle + reach) // queries
