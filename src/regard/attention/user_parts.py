"""Calls of a user's own parts, with checks of what they return and that they leave their arguments unchanged.

Compiled kernels and PyTorch's own check no bounds, and a shape that happens to broadcast would silently give wrong
numbers. The package's own parts are not checked here, but by its tests.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from regard.attention.parts import is_builtin
from regard.errors import ArgumentError

__all__ = ["call_part", "check_position_heads", "check_reduced"]

_RETURNS = {
    "score": "a score for each query and key of each group (one head of one item)",
    "weights": "a weight for each score",
    "position's scores": "as many scores as it got",
    "position's outputs": "as many outputs as it got",
}


def call_part(
    name: str, part: Any, function: Callable[..., Any], *given: Tensor, extra: tuple[Any, ...] = (), like: Tensor | None
) -> Tensor:
    """Call a method of a part, and check the result if the part is a user's own.

    Args:
        name: what is called: "score", "weights", "position's scores" or "position's outputs".
        part: the part, which tells whether it is the package's own.
        function: its method, called with `given` and then `extra`.
        like: a tensor with the shape and dtype of the result; None for a number for each row of the first given tensor
            and each row of the second.

    Raises:
        ArgumentError: a user's part returned something else, or modified its arguments in place.
    """
    if is_builtin(part):
        return function(*given, *extra)
    result = _call_user_part(name, function, given, extra)
    shape = (*given[0].shape[:-1], given[1].shape[-2]) if like is None else like.shape
    if not isinstance(result, Tensor) or not result.is_floating_point() or result.shape != shape:
        raise ArgumentError(
            f"`{name}` of your own must return {_RETURNS[name]}: a tensor {tuple(shape)} of real numbers, "
            f"but returned {_described(result)}. Expand what broadcasts; for parameters of each head, write "
            "select(heads)."
        )
    return result.to((given[0] if like is None else like).dtype)


def check_position_heads(position: Any, found: Any, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Query and key as a position's `heads` returned them, checked if the position is a user's own.

    Raises:
        ArgumentError: the number of vectors differs from before, or query and key are of two sizes where both had the
            same.
    """
    if is_builtin(position):
        return found
    if not _same_vectors(found, (query, key)):
        raise ArgumentError(
            f"`position` of your own: heads() must return query {_vector_shape(query)} and key {_vector_shape(key)} "
            f"in {query.dtype}, of any one size, but returned {_described(found)}."
        )
    if query.shape[-1] == key.shape[-1] and found[0].shape[-1] != found[1].shape[-1]:
        raise ArgumentError(
            "`position` of your own: heads() must return query and key of one size, but returned sizes "
            f"{found[0].shape[-1]} and {found[1].shape[-1]}."
        )
    return found


def check_reduced(score: Any, found: Any, query: Tensor, key: Tensor) -> tuple[Any, Tensor, Tensor]:
    """Score, query and key as a score's `reduce` returned them, checked if the score is a user's own.

    Raises:
        ArgumentError: the number of vectors differs from before.
    """
    if is_builtin(score):
        return found
    if not (isinstance(found, tuple) and len(found) == 3 and _same_vectors(found[1:], (query, key))):
        shapes = f"query {_vector_shape(query)} and key {_vector_shape(key)} in {query.dtype}"
        raise ArgumentError(
            f"`score` of your own: reduce() must return a score, {shapes}, but returned {_described(found)}."
        )
    return found


def _call_user_part(name: str, function: Callable[..., Any], given: tuple[Tensor, ...], extra: tuple[Any, ...]) -> Any:
    before = [_version(tensor) for tensor in given]
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
    # A normaliser or a position gets tensors of the tile alone, which it may modify where no gradient is needed.
    if name == "score" and before != [_version(tensor) for tensor in given]:
        raise _in_place_error(name)
    return result


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
