"""The base class of position schemes inside the operator, and the sum of two schemes."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from regard.attention.gradients.vjp import added
from regard.attention.parts import is_builtin, operands, optional_method, select
from regard.attention.sizes import Index, Sizes
from regard.errors import ArgumentError

__all__ = ["Both", "Position", "PositionModule", "SumModule", "check_per_head"]


class Position:
    """A position scheme inside the operator; hooks that a subclass doesn't override do nothing.

    `heads` is called once with all of query and key; the other two are called for each tile, with query (group, query,
    feature) and key (group, key, feature), where a group is one head of one item, and the index `at` of its pairs. A
    scheme whose hooks only add something may have hand-written gradients, for speed:

    - `scores_vjp(grad_scores, query, key, at) -> (grad_query or None, grad_key or None, *grads of its operands)`,
    - `outputs_vjp(grad_output, weights, at) -> (grad_weights or None, *grads of its operands)`,

    and `select(heads)`: the scheme for these heads, (group,), if it has parameters for each head.

    Schemes can be added: `Rotary() + Bias(table)` applies the left one, then the right one.

    A class of the package declares what engines and the steps of a row ask of it:

    - `adds`: whether its `scores` and `outputs` only add something;
    - `adds_constants`: whether its `scores` adds what depends on neither query nor key;
    - `by_offset`: whether scores and outputs depend on positions through the offset of key and query alone;
    - `formulas`: by hook, how it is written. A subclass doesn't inherit it.
    """

    adds: ClassVar[bool] = True
    by_offset: ClassVar[bool] = False
    formulas: ClassVar[Mapping[str, str]] = {}

    def heads(self, query: Tensor, key: Tensor, query_position: Tensor, key_position: Tensor) -> tuple[Tensor, Tensor]:
        """Change query and key before scoring (rotary). Positions broadcast as (..., query) and (..., key)."""
        return query, key

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        """Change the scores before normalising (relative keys, distance penalties)."""
        return scores

    def outputs(self, output: Tensor, weights: Tensor, at: Index) -> Tensor:
        """Change the weighted sum (relative values)."""
        return output

    def check(self, heads: int, sizes: Sizes) -> None:
        """Check that the scheme fits a request of these sizes.

        Raises:
            ArgumentError: it doesn't.
        """

    def overrides(self, hook: str) -> bool:
        """Whether the scheme overrides a hook: "heads", "scores" or "outputs"; otherwise it need not be called."""
        return getattr(type(self), hook) is not getattr(Position, hook)

    @property
    def acts_in_tiles(self) -> bool:
        """Whether the scheme changes scores or outputs, rather than query and key alone."""
        return self.overrides("scores") or self.overrides("outputs")

    def __add__(self, other: Any) -> Any:
        return _sum(self, other)


class PositionModule(nn.Module):
    """A module with parameters for a position scheme; `part()` returns what `attend` computes with."""

    def part(self) -> Position:
        """The part for `attend`, with the parameters as its operands."""
        raise NotImplementedError(f"{type(self).__name__} must define part()")

    def __add__(self, other: Any) -> "SumModule":
        return _sum(self, other)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class Both(Position):
    """Two schemes at once, the first before the second; the result of `first + second`.

    Example:
        >>> from regard.attention.positions import Alibi, Rotary
        >>> type(Rotary() + Alibi(heads=2).part()).__name__
        'Both'
    """

    first: Position
    second: Position

    def __post_init__(self) -> None:
        for part in (self.first, self.second):
            if not is_builtin(part):
                # A sum with a user's part counts as a user's part, which engines treat with more care.
                object.__setattr__(self, "__module__", type(part).__module__)

    def overrides(self, hook: str) -> bool:
        return self.first.overrides(hook) or self.second.overrides(hook)

    @property
    def adds(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.first.adds and self.second.adds

    def heads(self, query: Tensor, key: Tensor, query_position: Tensor, key_position: Tensor) -> tuple[Tensor, Tensor]:
        query, key = self.first.heads(query, key, query_position, key_position)
        return self.second.heads(query, key, query_position, key_position)

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        return self.second.scores(self.first.scores(scores, query, key, at), query, key, at)

    def outputs(self, output: Tensor, weights: Tensor, at: Index) -> Tensor:
        return self.second.outputs(self.first.outputs(output, weights, at), weights, at)

    def check(self, heads: int, sizes: Sizes) -> None:
        self.first.check(heads, sizes)
        self.second.check(heads, sizes)

    def select(self, heads: Tensor) -> "Both":
        return dataclasses.replace(self, first=select(self.first, heads), second=select(self.second, heads))

    # Properties, so that a sum has a VJP only if both parts do: otherwise reading it raises AttributeError.
    @property
    def scores_vjp(self) -> Callable[..., tuple[Tensor | None, ...]]:
        return _summed(_vjp_of(self.first, "scores", 2), _vjp_of(self.second, "scores", 2), 2)

    @property
    def outputs_vjp(self) -> Callable[..., tuple[Tensor | None, ...]]:
        return _summed(_vjp_of(self.first, "outputs", 1), _vjp_of(self.second, "outputs", 1), 1)


class SumModule(PositionModule):
    """Two schemes at once, of which at least one has parameters; the result of `module + other`."""

    def __init__(self, first: Any, second: Any):
        super().__init__()
        self.first, self.second = first, second

    def part(self) -> Position:
        parts = [getattr(scheme, "part", lambda own=scheme: own)() for scheme in (self.first, self.second)]
        return Both(*parts)


def check_per_head(tensor: Tensor, heads: int, what: str) -> None:
    """Check that there is an entry for each head.

    Raises:
        ArgumentError: there are fewer or more.
    """
    if len(tensor) != heads:
        raise ArgumentError(
            f"`position` must have {what} for every head, but has them for {len(tensor)}, and there are {heads} heads."
        )


def _sum(first: Any, second: Any) -> Any:
    for scheme in (first, second):
        if not isinstance(scheme, Position) and not (isinstance(scheme, nn.Module) and hasattr(scheme, "part")):
            return NotImplemented
    if isinstance(first, nn.Module) or isinstance(second, nn.Module):
        return SumModule(first, second)
    return Both(first, second)


def _vjp_of(part: Position, hook: str, inputs: int) -> Callable[..., tuple[Tensor | None, ...]]:
    """A part's VJP of a hook; if the part doesn't override the hook, a function that returns no gradients."""
    if not part.overrides(hook):
        nothing = (None,) * (inputs + len(operands(part)))
        return lambda *arguments: nothing
    vjp_fn = optional_method(part, f"{hook}_vjp", hook)
    if vjp_fn is None:
        raise AttributeError(f"{type(part).__name__} has no {hook}_vjp")
    return vjp_fn


def _summed(
    first: Callable[..., tuple[Tensor | None, ...]], second: Callable[..., tuple[Tensor | None, ...]], inputs: int
) -> Callable[..., tuple[Tensor | None, ...]]:
    """The VJP of a sum: both parts get the same gradient, since each only adds something."""

    def vjp_fn(*arguments: Any) -> tuple[Tensor | None, ...]:
        left, right = first(*arguments), second(*arguments)
        shared = (added(*each) for each in zip(left[:inputs], right[:inputs], strict=True))
        return *shared, *left[inputs:], *right[inputs:]

    return vjp_fn
