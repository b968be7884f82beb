"""A user's own parts, wrapped: each call is checked for what it returns and for arguments that it modified.

Compiled kernels and PyTorch's own check no bounds, and a shape that happens to broadcast would silently give wrong
numbers. The package's own parts are not wrapped, but checked by its tests.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.attention.parts import is_builtin, optional_method, select
from regard.attention.positions import Position
from regard.attention.pytorch_internals import is_functorch_wrapped_tensor
from regard.attention.sizes import Index, Sizes
from regard.attention.validation import check_takes
from regard.errors import ArgumentError

__all__ = ["UserNormaliser", "UserPart", "UserPosition", "UserScore", "unwrapped", "wrapped"]

_RETURNS = {
    "score": "a score for each query and key of each group (one head of one item)",
    "weights": "a weight for each score",
    "position's scores": "as many scores as it got",
    "position's outputs": "as many outputs as it got",
}

_TAKES = {
    "score": "(query, key)",
    "weights": "(scores, allowed)",
    "position's scores": "(scores, query, key, at)",
    "position's outputs": "(output, weights, at)",
}


@dataclass(frozen=True)
class UserPart:
    """A user's part. Engines treat it with more care than the package's own, whose behaviour is known."""

    part: Any

    def select(self, heads: Tensor) -> Any:
        """The part for these heads, (group,)."""
        selected = select(self.part, heads)
        return self if selected is self.part else dataclasses.replace(self, part=selected)


def _offered(extra: str, main: str = "__call__") -> Any:
    """A property that gives the part's optional method, or raises AttributeError if the part has none.

    Each wrapper has its own, since `optional_method` ignores what a class above the main method defines.
    """

    def get(self: UserPart) -> Callable[..., Any]:
        method = optional_method(self.part, extra, main)
        if method is None:
            raise AttributeError(f"{type(self.part).__name__} has no {extra}")
        return method

    return property(get)


class UserScore(UserPart):
    """A user's score."""

    check, vjp, _reduce = _offered("check"), _offered("vjp"), _offered("reduce")

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        before = [_version(tensor) for tensor in (query, key)]
        shape = (*query.shape[:-1], key.shape[-2])
        scores = _checked("score", self.part, (query, key), (), shape, query)
        # The vectors belong to the caller. What other parts get belongs to the tile alone: they may modify it where no
        # gradient is needed.
        if before != [_version(tensor) for tensor in (query, key)]:
            raise _in_place_error("score")
        return scores

    @property
    def reduce(self) -> Callable[..., Any]:
        own = self._reduce

        def reduce(query: Tensor, key: Tensor) -> tuple[Any, Tensor, Tensor]:
            found = own(query, key)
            if not (isinstance(found, tuple) and len(found) == 3 and _same_vectors(found[1:], (query, key))):
                shapes = f"query {_vector_shape(query)} and key {_vector_shape(key)} in {query.dtype}"
                raise ArgumentError(
                    f"`score` of your own: reduce() must return a score, {shapes}, but returned {_described(found)}."
                )
            return wrapped(UserScore, found[0]), found[1], found[2]

        return reduce


class UserNormaliser(UserPart):
    """A user's normaliser."""

    check, vjp, _normalise = _offered("check"), _offered("vjp"), _offered("normalise_")

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return _checked("weights", self.part, (scores,), (allowed,), scores.shape, scores)

    @property
    def normalise_(self) -> Callable[..., Any]:
        own = self._normalise
        return lambda scores, allowed: _checked("weights", own, (scores,), (allowed,), scores.shape, scores)


class UserPosition(UserPart, Position):
    """A user's position scheme, or a sum with one."""

    scores_vjp, outputs_vjp = _offered("scores_vjp", "scores"), _offered("outputs_vjp", "outputs")

    def overrides(self, hook: str) -> bool:
        return self.part.overrides(hook)

    def check(self, heads: int, sizes: Sizes) -> None:
        self.part.check(heads, sizes)

    def heads(self, query: Tensor, key: Tensor, query_position: Tensor, key_position: Tensor) -> tuple[Tensor, Tensor]:
        found = self.part.heads(query, key, query_position, key_position)
        if not _same_vectors(found, (query, key)):
            raise ArgumentError(
                f"`position` of your own: heads() must return query {_vector_shape(query)} and key "
                f"{_vector_shape(key)} in {query.dtype}, of any one size, but returned {_described(found)}."
            )
        if query.shape[-1] == key.shape[-1] and found[0].shape[-1] != found[1].shape[-1]:
            raise ArgumentError(
                "`position` of your own: heads() must return query and key of one size, but returned sizes "
                f"{found[0].shape[-1]} and {found[1].shape[-1]}."
            )
        return found

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        return _checked("position's scores", self.part.scores, (scores, query, key), (at,), scores.shape, scores)

    def outputs(self, output: Tensor, weights: Tensor, at: Index) -> Tensor:
        return _checked("position's outputs", self.part.outputs, (output, weights), (at,), output.shape, output)


def wrapped(kind: type[UserPart], part: Any) -> Any:
    """The part itself if it is the package's own, else wrapped."""
    return part if is_builtin(part) else kind(part)


def unwrapped(part: Any) -> Any:
    """The part as the user passed it."""
    return part.part if isinstance(part, UserPart) else part


def _checked(
    name: str,
    function: Callable[..., Any],
    given: tuple[Tensor, ...],
    extra: tuple[Any, ...],
    shape: tuple[int, ...],
    like: Tensor,
) -> Tensor:
    """Call a function of a user's part, and check that the result has this shape.

    Args:
        name: what is called, a key of `_RETURNS`.
        function: called with `given` and then `extra`.
        like: the tensor whose dtype the result gets.

    Raises:
        ArgumentError: it returned something else, or modified its arguments in place where it mustn't.
    """
    try:
        result = function(*given, *extra)
    except RuntimeError as error:
        if "setup_context" in str(error):
            raise ArgumentError(
                f"`{name}` of your own uses a torch.autograd.Function without setup_context, which PyTorch refuses "
                "under torch.func's transforms. Write its setup_context, or call attend outside of the transform."
            ) from error
        if "in-place" not in str(error):
            raise
        raise _in_place_error(name) from error
    except TypeError:
        check_takes(name, function, (*given, *extra), _TAKES[name])
        raise
    if not isinstance(result, Tensor) or not result.is_floating_point() or result.shape != shape:
        raise ArgumentError(
            f"`{name}` of your own must return {_RETURNS[name]}: a tensor {tuple(shape)} of real numbers, "
            f"but returned {_described(result)}. Expand what broadcasts; for parameters of each head, write "
            "select(heads)."
        )
    return result.to(like.dtype)


def _in_place_error(name: str) -> ArgumentError:
    return ArgumentError(
        f"`{name}` of your own must not write into what it is given, which belongs to the caller or is needed for the "
        "gradient. Use an out-of-place operation: mul, not mul_."
    )


def _version(tensor: Tensor) -> int:
    """PyTorch's count of a tensor's in-place modifications, or 0 where it keeps none."""
    if is_functorch_wrapped_tensor(tensor) or tensor.is_inference():
        return 0
    return tensor._version


def _same_vectors(found: Any, expected: tuple[Tensor, ...]) -> bool:
    return (
        isinstance(found, tuple)
        and len(found) == len(expected)
        and all(
            isinstance(one, Tensor)
            and one.shape[:-1] == other.shape[:-1]
            and one.dtype == other.dtype
            and one.device == other.device
            for one, other in zip(found, expected, strict=True)
        )
    )


def _vector_shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape[:-1]))}, size)"


def _described(found: Any) -> str:
    if isinstance(found, Tensor):
        return f"{tuple(found.shape)} of {found.dtype}"
    if isinstance(found, tuple):
        return f"({', '.join(_described(item) for item in found)})"
    return type(found).__name__
