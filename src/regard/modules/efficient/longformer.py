"""Longformer's attention: a sliding window, and some positions that see all and that all see."""

import functools
import numbers
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention import Mask, Prefix, Window
from regard.attention.pairs.intervals import may_look
from regard.attention.pairs.spans import Spans
from regard.attention.sizes import Index, Sizes
from regard.attention.validation import check_count
from regard.errors import ArgumentError

__all__ = ["Longformer"]


@dataclass(frozen=True)
class Longformer(Mask):
    """A query may attend to a window around its position and to the global positions, which may attend to every key.

    Exact attention to fewer keys: with windows of w and g global positions about n (2 w + 1 + 2 g) of n^2 pairs, so
    that time and memory grow linearly with the length. The paper's dilation is left out, and so are its separate
    projections for global positions.

    Args:
        window: how many keys before and after its own position a query sees; half of the paper's window size.
        global_tokens: the global positions: how many at the start of each item, or a list of their numbers.

    Raises:
        ArgumentError: `window` isn't a number of positions, or `global_tokens` neither one nor a list of positions.

    Source: Beltagy et al. 2020 (arXiv 2004.05150), section 3.1, sliding window and global attention.

    Example:
        >>> from regard.attention import weigh
        >>> x = torch.zeros(1, 1, 6, 4)
        >>> (weigh(x, x, mask=Longformer(1, global_tokens=1))[0, 0] > 0).long()
        tensor([[1, 1, 1, 1, 1, 1],
                [1, 1, 1, 0, 0, 0],
                [1, 1, 1, 1, 0, 0],
                [1, 0, 1, 1, 1, 0],
                [1, 0, 0, 1, 1, 1],
                [1, 0, 0, 0, 1, 1]])
    """

    window: int
    global_tokens: int | Sequence[int] = 1

    def __post_init__(self) -> None:
        check_count("window", self.window, "how many keys on each side a query of Longformer sees", least=0)
        given = self.global_tokens
        if isinstance(given, Sequence) and not isinstance(given, str):
            for each in given:
                check_count("global_tokens", each, "numbers of positions of Longformer", least=0)
            found = tuple(sorted({int(each) for each in given}))
            # Those at the start are the same as their number.
            object.__setattr__(self, "global_tokens", len(found) if found == tuple(range(len(found))) else found)
        elif isinstance(given, numbers.Integral) and not isinstance(given, bool):
            check_count("global_tokens", given, "how many positions of Longformer are global", least=0)
            object.__setattr__(self, "global_tokens", int(given))
        else:
            raise ArgumentError(
                "`global_tokens` must be how many positions of Longformer are global, or a list of their numbers, but "
                f"is {given!r:.60}."
            )

    def allows(self, at: Index) -> Tensor:
        return self._window.allows(at) | self._is_global(at.key) | self._is_global(at.position)

    def spans(self, sizes: Sizes) -> Spans:
        positions = sizes.positions
        sees_all = self._is_global(positions)
        # In one interval, so that with the keys that all see they are at most two.
        start = torch.where(sees_all, 0, positions - self.window)
        stop = torch.where(sees_all, sizes.keys, positions + self.window + 1)
        spans = Spans.only(start, stop, sizes.keys)
        if isinstance(self.global_tokens, int):
            return spans | Prefix(self.global_tokens).spans(sizes)
        first = torch.full_like(sizes.rows, self.global_tokens[0])
        between = Spans.only(first, torch.full_like(first, self.global_tokens[-1] + 1), sizes.keys, exact=False)
        return spans | between

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        # Spans say enough if a row is global or if all global keys are at the start.
        if isinstance(self.global_tokens, int) or bool(self._is_global(sizes.positions[:, rows]).any()):
            return None
        seen = torch.cat([self._window.spans(sizes).columns(rows), torch.tensor(self.global_tokens, device="cpu")])
        return seen[seen < sizes.keys].unique()

    @property
    def _window(self) -> Window:
        return Window(self.window, self.window)

    def _is_global(self, position: Tensor) -> Tensor:
        if isinstance(self.global_tokens, int):
            return (position >= 0) & (position < self.global_tokens)
        if may_look(position):
            return torch.isin(position, torch.tensor(self.global_tokens, device=position.device))
        # Their numbers would have to be copied there, for which the host would wait.
        return functools.reduce(operator.or_, (position == token for token in self.global_tokens))
