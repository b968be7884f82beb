"""Mods: a user's functions of one pair, `score_mod` and `mask_mod`, computed for all pairs of a tile at once.

A mod gets single numbers: a score, and the indices of its item, head, query and key. `torch.vmap` makes it a function
of a tile, which computes for each pair what the mod would compute for that pair alone.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regard.attention import Index
from regard.attention.pytorch_internals import is_dual, is_functorch_wrapped_tensor
from regard.attention.validation import check_takes
from regard.errors import ArgumentError
from regard.flex.closures import frozen

__all__ = ["MASK", "SCORE", "Mod"]

MASK, SCORE = "mask_mod", "score_mod"
_TAKES = {MASK: "(b, h, q_idx, kv_idx)", SCORE: "(score, b, h, q_idx, kv_idx)"}
# Words in PyTorch's error where a mod can't be computed for many pairs at once -> what the mod does, for our error.
_REASONS = {
    "data-dependent control flow": "branches on a number of a pair (if, while, and, or, not, a < b < c)",
    ".item()": "turns a number of a pair into a Python number (int(), float(), .item(), range())",
    "random operation": "draws random numbers",
    "dynamic shape": "makes a tensor whose size depends on numbers",
}


class Mod:
    """A mod with the values that its variables have now, and the tensors that it captures.

    Args:
        kind: `MASK` or `SCORE`, by which errors name it.
        function: the user's function.
        device, dtype: those of the scores.

    Attributes:
        trained: the tensors that enter its operations from outside and may need a derivative, each once.

    Raises:
        ArgumentError: the function takes or returns something other than a mod does.
    """

    def __init__(self, kind: str, function: Callable[..., Any], device: torch.device, dtype: torch.dtype):
        if not callable(function):
            raise ArgumentError(f"`{kind}` must be a function {_TAKES[kind]}, but is {function!r:.100}.")
        self.kind, self.name = kind, getattr(function, "__name__", type(function).__name__)
        self._function = frozen(function)
        finder = _CaptureFinder()
        scores = [torch.zeros((), dtype=dtype, device=device)] * (kind == SCORE)
        indices = [torch.zeros((), dtype=torch.long, device=device) for _ in range(4)]
        with torch.no_grad(), finder:
            finder.know(scores, indices)
            self._result(*scores, *indices)
        self.trained = tuple(
            tensor
            for tensor in finder.captured
            if tensor.requires_grad or is_functorch_wrapped_tensor(tensor) or is_dual(tensor)
        )
        constants = [tensor for tensor in finder.captured if not any(tensor is one for one in self.trained)]
        self._versions = [(tensor, tensor._version) for tensor in constants if not tensor.is_inference()]

    def __call__(self, tensors: tuple[Tensor, ...], scores: Tensor | None, at: Index) -> Tensor:
        """What the mod makes of each pair, (group, query, key).

        Args:
            tensors: what replaces each tensor of `trained`.
            scores: (group, query, key); None for a mask_mod.
            at: the pairs, with one entry of `batch` and of `head` for each group.
        """
        item, head, row, key = (axis.flatten() for axis in (at.batch, at.head, at.query, at.key))
        inputs = 0 if scores is None else 1
        score_inputs = () if scores is None else (scores,)
        if len(row) == at.query.shape[-2] and len(key) == at.key.shape[-1]:
            function = self._result
            for places in ((None, None, None, 0), (None, None, 0, None), (0, 0, None, None)):
                function = torch.vmap(function, in_dims=(0,) * inputs + places)
            return self._run(tensors, function, *score_inputs, item, head, row, key)
        pairs = torch.broadcast_tensors(at.batch, at.head, at.query, at.key)
        flat = [tensor.flatten() for tensor in (*score_inputs, *pairs)]
        return self._run(tensors, torch.vmap(self._result), *flat).view(pairs[0].shape)

    def _run(self, tensors: tuple[Tensor, ...], function: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
        if any(tensor._version != version for tensor, version in self._versions):
            # Autograd raises the same error for the tensors that it saves.
            raise ArgumentError(
                f"`{self.kind}` {self.name} captures a tensor that was modified in place after the call, but computes "
                "with it again for the gradient. Modify a clone of it."
            )
        try:
            with _Replacing(self.trained, tensors):
                return function(*arguments)
        except RuntimeError as error:
            reason = next((reason for text, reason in _REASONS.items() if text in str(error)), None)
            if reason is None:
                raise
            raise ArgumentError(
                f"`{self.kind}` {self.name} {reason}, but is computed for all pairs of a tile at once, as in PyTorch. "
                "Combine tensors by & | ~ and torch.where, and capture what is random or decided beforehand."
            ) from error

    def _result(self, *arguments: Tensor) -> Tensor:
        """What the function returns for one pair, checked."""
        try:
            result = self._function(*arguments)
        except TypeError:
            check_takes(self.kind, self._function, arguments, _TAKES[self.kind])
            raise
        is_single = isinstance(result, Tensor) and result.ndim == 0
        wanted = "True = may attend, as a tensor () of bools" if self.kind == MASK else "a tensor () of a real number"
        if is_single and (result.dtype == torch.bool if self.kind == MASK else result.is_floating_point()):
            return result
        returned = f"{tuple(result.shape)} of {result.dtype}" if isinstance(result, Tensor) else type(result).__name__
        raise ArgumentError(
            f"`{self.kind}` {self.name} must return {wanted}, for one pair, but returned {returned}. Its arguments are "
            "single numbers; look a table up by all of its axes: table[h, q_idx - kv_idx]."
        )

    def __repr__(self) -> str:
        return self.name


class _Indexing(TorchFunctionMode):
    """Lets a number of each pair index a tensor, where PyTorch would make it one Python number for all pairs."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _indexed(*args) if func is Tensor.__getitem__ else func(*args, **(kwargs or {}))


class _CaptureFinder(_Indexing):
    """Finds the tensors that a function captures: those that enter an operation and are the result of none."""

    def __init__(self) -> None:
        self.captured: list[Tensor] = []
        self._known: dict[int, Tensor] = {}  # kept alive, so that no other tensor has the same id

    def know(self, *values: Any) -> None:
        self._known.update({id(tensor): tensor for tensor in _tensors(values)})

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for tensor in _tensors((args, kwargs)):
            if id(tensor) not in self._known:
                self.captured.append(tensor)
                self.know(tensor)
        result = super().__torch_function__(func, types, args, kwargs)
        self.know(result)
        return result


class _Replacing(_Indexing):
    """Replaces captured tensors where they enter an operation, by those to which a tile gives a gradient."""

    def __init__(self, captured: tuple[Tensor, ...], replacements: tuple[Tensor, ...]) -> None:
        pairs = zip(captured, replacements, strict=True)
        self._replacements = {id(tensor): replacement for tensor, replacement in pairs}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, self._replaced(args), self._replaced(kwargs))

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._replacements.get(id(value), value)
        if type(value) in (tuple, list):
            return type(value)(map(self._replaced, value))
        if type(value) is dict:
            return {name: self._replaced(item) for name, item in value.items()}
        return value


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _indexed(tensor: Tensor, index: Any) -> Tensor:
    """`tensor[index]`, where a tensor of one number may stand for the numbers of many pairs (`torch.vmap`)."""
    items = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(item, Tensor) and item.ndim == 0 and item.dtype in _INTEGERS for item in items):
        return tensor[index]
    # First apply the indices that aren't tensors: a number removes its axis, None adds one, and a slice keeps its own.
    ellipsis_axes = tensor.ndim - sum(item is not None and item is not Ellipsis for item in items)
    view = tensor[tuple(slice(None) if isinstance(item, Tensor) else item for item in items)]
    indices: list[Tensor | None] = []
    for item in items:
        if isinstance(item, Tensor):
            indices.append(item)
        elif item is Ellipsis:
            indices += [None] * ellipsis_axes
        elif not isinstance(item, int):
            indices.append(None)
    return torch.ops.aten.index.Tensor(view, indices)


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
