"""Attention as a module: Q, K, V from one or several sources, heads, one linear behind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import POSITIONS, SCORES, WEIGHTS, attend, weigh
from regard.attention.engines import ENGINES
from regard.errors import ArgumentError, UnknownNameError

__all__ = ["MultiHeadAttention", "Observation", "ObserverHandle"]

_ENGINES = ("auto", *ENGINES)


@dataclass(frozen=True)
class Observation:
    """What an observer is told of one pass: the module, and its weights (batch, head, query, key), detached."""

    module: nn.Module
    weights: Tensor


_Observers = dict[int, Callable[[Observation], None]]


class ObserverHandle:
    """What `observe` returns: `remove()` ends the observation, and so does leaving a `with` block."""

    def __init__(self, observers: "_Observers", observer: Callable[[Observation], None]):
        self._observers = observers
        # By the handle, not by the observer: the same function may observe twice, and each handle ends its own.
        observers[id(self)] = observer

    def remove(self) -> None:
        """Stop observing; a second call does nothing."""
        self._observers.pop(id(self), None)

    def __enter__(self) -> "ObserverHandle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class MultiHeadAttention(nn.Module):
    """Multi-head attention over [batch, length, width].

    Each head projects the sources to queries, keys and values of its own, attends, and the heads' outputs are
    concatenated and mixed by one linear. With `heads=1, bias=False, output=False` the parameters are exactly the
    notes' three matrices Wq, Wk, Wv.

    Args:
        width: the size of the query vectors and of the output.
        heads: how many heads.
        head_size: the size of a head; by default width / heads, but any size will do.
        key_width: the size of the key vectors, where they come from elsewhere (cross-attention).
        value_width: the size of the value vectors; by default that of the keys.
        bias: whether the projections add a bias.
        output: whether a linear follows; without, the output is the heads side by side, heads x head_size wide.
        score, weights, engine: as in `regard.attend`.
        position: None, a name ("relative") or a part of the operator; a name makes one of this module's own.
        dropout: the share of weights dropped in training.

    Raises:
        ArgumentError: `heads` doesn't divide `width` and `head_size` isn't given, or vectors of the wrong size arrive.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2; the notes, 001, 002, 004.

    Example:
        >>> attention = MultiHeadAttention(12, heads=3)
        >>> attention(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
        >>> [name for name, _ in MultiHeadAttention(12, heads=1, bias=False, output=False).named_parameters()]
        ['query.weight', 'key.weight', 'value.weight']
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        head_size: int | None = None,
        key_width: int | None = None,
        value_width: int | None = None,
        bias: bool = True,
        output: bool = True,
        score: Any = "scaled_dot",
        weights: Any = "softmax",
        position: Any = None,
        dropout: float = 0.0,
        engine: str = "auto",
    ):
        super().__init__()
        if heads < 1 or (head_size is None and width % heads):
            raise ArgumentError(
                f"`heads` must divide `width` {width} unless `head_size` is given, but is {heads}. "
                "Choose another number of heads, or pass head_size."
            )
        if head_size is not None and head_size < 1:
            raise ArgumentError(f"`head_size` must be at least 1, but is {head_size}.")
        if not 0.0 <= dropout <= 1.0:
            raise ArgumentError(f"`dropout` must be a share from 0 to 1, but is {dropout!r}.")
        for kind, part, known in (
            ("score", score, SCORES),
            ("weights", weights, WEIGHTS),
            ("engine", engine, _ENGINES),
        ):
            if isinstance(part, str) and part not in known:
                raise UnknownNameError(kind, part, known)
        self.heads = heads
        self.head_size = width // heads if head_size is None else head_size
        key_width = width if key_width is None else key_width
        value_width = key_width if value_width is None else value_width
        inner = self.heads * self.head_size
        self.query = nn.Linear(width, inner, bias=bias)
        self.key = nn.Linear(key_width, inner, bias=bias)
        self.value = nn.Linear(value_width, inner, bias=bias)
        self.output = nn.Linear(inner, width, bias=bias) if output else None
        if isinstance(position, str):
            if position not in POSITIONS:
                raise UnknownNameError("position", position, POSITIONS)
            position = POSITIONS[position](self.head_size)
        self.position = position
        self.score = score
        self.weights = weights
        self.dropout = dropout
        self.engine = engine
        self._observers: _Observers = {}

    def forward(
        self,
        query: Float[Tensor, "batch query width"],
        key: Float[Tensor, "batch key key_width"] | None = None,
        value: Float[Tensor, "batch key value_width"] | None = None,
        *,
        mask: Any = None,
    ) -> Float[Tensor, "batch query out"]:
        """Attend from `query` to `key` (by default to itself) and sum `value` (by default what `key` came from)."""
        key = query if key is None else key
        value = key if value is None else value
        projected = [
            self._split(linear, vectors, name)
            for linear, vectors, name in (
                (self.query, query, "query"),
                (self.key, key, "key"),
                (self.value, value, "value"),
            )
        ]
        parts = {"score": self.score, "weights": self.weights, "mask": mask, "position": self.position}
        heads = attend(*projected, **parts, dropout=self.dropout if self.training else 0.0, engine=self.engine)
        if self._observers:
            with torch.no_grad():
                seen = Observation(self, weigh(projected[0], projected[1], **parts))
            for observer in tuple(self._observers.values()):
                observer(seen)
        # (batch head query feature) -> (batch query width): the heads side by side.
        joined = heads.transpose(1, 2).flatten(2)
        return joined if self.output is None else self.output(joined)

    def observe(self, observer: Callable[[Observation], None]) -> ObserverHandle:
        """Call `observer` with the weights of every pass until the handle is removed.

        The weights are computed only while somebody observes, and beside the pass: its output doesn't change.

        Example:
            >>> attention, seen = MultiHeadAttention(4, heads=2), []
            >>> with attention.observe(seen.append):
            ...     output = attention(torch.zeros(1, 3, 4))
            >>> seen[0].weights.shape
            torch.Size([1, 2, 3, 3])
        """
        return ObserverHandle(self._observers, observer)

    def _split(self, linear: nn.Linear, vectors: Tensor, name: str) -> Tensor:
        if vectors.ndim != 3 or vectors.shape[-1] != linear.in_features:
            raise ArgumentError(
                f"`{name}` must be vectors (batch, length, {linear.in_features}), but is {tuple(vectors.shape)}."
            )
        # (batch length width) -> (batch head length feature)
        return linear(vectors).unflatten(-1, (self.heads, self.head_size)).transpose(1, 2)
