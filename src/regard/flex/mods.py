"""Mods: a user's functions of one pair, `score_mod` and `mask_mod`, computed for all pairs of a tile at once.

A mod gets single numbers: a score, and the indices of its item, head, query and key. `torch.vmap` makes of it a
function of a tile, so that whatever the mod computes is what it would compute for each pair by itself.
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
# What PyTorch says where a mod can't be computed for many pairs at once -> what that means for the mod.
_REASONS = {
    "data-dependent control flow": "decides by a number of each pair (if, while, and, or, not, a < b < c)",
    ".item()": "makes a Python number of one of each pair (int(), float(), .item(), range())",
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
        ArgumentError: the function takes or returns something else.
    """

    def __init__(self, kind: str, function: Callable[..., Any], device: torch.device, dtype: torch.dtype):
        if not callable(function):
            raise ArgumentError(f"`{kind}` must be a function {_TAKES[kind]}, but is {function!r:.100}.")
        self.kind, self.name = kind, getattr(function, "__name__", type(function).__name__)
        self._function = frozen(function)
        finding = _Finding()
        scores = [torch.zeros((), dtype=dtype, device=device)] * (kind == SCORE)
        indices = [torch.zeros((), dtype=torch.long, device=device) for _ in range(4)]
        with torch.no_grad(), finding:
            finding.know(scores, indices)
            self._result(*scores, *indices)
        self.trained = tuple(
            each for each in finding.found if each.requires_grad or is_functorch_wrapped_tensor(each) or is_dual(each)
        )
        others = [each for each in finding.found if not any(each is one for one in self.trained)]
        self._versions = [(each, each._version) for each in others if not each.is_inference()]

    def __call__(self, tensors: tuple[Tensor, ...], scores: Tensor | None, at: Index) -> Tensor:
        """What the mod makes of each pair, (group, query, key).

        Args:
            tensors: what stands for each of those that may need a gradient.
            scores: (group, query, key); None for a mask_mod.
            at: the pairs, whose `batch` and `head` have as many groups.
        """
        item, head, row, key = (axis.flatten() for axis in (at.batch, at.head, at.query, at.key))
        inputs = 0 if scores is None else 1
        given = () if scores is None else (scores,)
        if len(row) == at.query.shape[-2] and len(key) == at.key.shape[-1]:
            function = self._result
            for places in ((None, None, None, 0), (None, None, 0, None), (0, 0, None, None)):
                function = torch.vmap(function, in_dims=(0,) * inputs + places)
            return self._run(tensors, function, *given, item, head, row, key)
        pairs = torch.broadcast_tensors(at.batch, at.head, at.query, at.key)
        flat = [each.flatten() for each in (*given, *pairs)]
        return self._run(tensors, torch.vmap(self._result), *flat).view(pairs[0].shape)

    def _run(self, tensors: tuple[Tensor, ...], function: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
        if any(tensor._version != version for tensor, version in self._versions):
            # Autograd says so of the tensors that it saves.
            raise ArgumentError(
                f"`{self.kind}` {self.name} captures a tensor that was modified in place after the call, but computes "
                "with it again for the gradient. Modify a clone of it."
            )
        try:
            with _Given(self.trained, tensors):
                return function(*arguments)
        except RuntimeError as error:
            reason = next((reason for text, reason in _REASONS.items() if text in str(error)), None)
            if reason is None:
                raise
            raise ArgumentError(
                f"`{self.kind}` {self.name} {reason}, but is computed for all pairs of a tile at once, as by PyTorch. "
                "Combine tensors by & | ~ and torch.where, and capture what is random or decided beforehand."
            ) from error

    def _result(self, *arguments: Tensor) -> Tensor:
        """What the function makes of one pair, checked."""
        try:
            result = self._function(*arguments)
        except TypeError:
            check_takes(self.kind, self._function, arguments, _TAKES[self.kind])
            raise
        right = isinstance(result, Tensor) and result.ndim == 0
        wanted = "True = may attend, as a tensor () of bools" if self.kind == MASK else "a tensor () of a real number"
        if right and (result.dtype == torch.bool if self.kind == MASK else result.is_floating_point()):
            return result
        found = f"{tuple(result.shape)} of {result.dtype}" if isinstance(result, Tensor) else type(result).__name__
        raise ArgumentError(
            f"`{self.kind}` {self.name} must return {wanted}, for one pair, but returned {found}. Its arguments are "
            "single numbers; look a table up by all of its axes: table[h, q_idx - kv_idx]."
        )

    def __repr__(self) -> str:
        return self.name


class _Indexing(TorchFunctionMode):
    """Lets tensors be indexed by single numbers, which PyTorch would turn into numbers of Python, one for all pairs."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _indexed(*args) if func is Tensor.__getitem__ else func(*args, **(kwargs or {}))


class _Finding(_Indexing):
    """Finds the tensors that enter operations and don't come from any."""

    def __init__(self) -> None:
        self.found: list[Tensor] = []
        self._known: dict[int, Tensor] = {}  # kept alive, so that no other tensor has the same id

    def know(self, *values: Any) -> None:
        self._known.update({id(each): each for each in _tensors(values)})

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for each in _tensors((args, kwargs)):
            if id(each) not in self._known:
                self.found.append(each)
                self.know(each)
        result = super().__torch_function__(func, types, args, kwargs)
        self.know(result)
        return result


class _Given(_Indexing):
    """Replaces captured tensors where they enter an operation: by those that have a gradient in a tile."""

    def __init__(self, captured: tuple[Tensor, ...], given: tuple[Tensor, ...]) -> None:
        self._given = {id(one): other for one, other in zip(captured, given, strict=True)}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, self._replaced(args), self._replaced(kwargs))

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._given.get(id(value), value)
        if type(value) in (tuple, list):
            return type(value)(map(self._replaced, value))
        if type(value) is dict:
            return {name: self._replaced(each) for name, each in value.items()}
        return value


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _indexed(tensor: Tensor, index: Any) -> Tensor:
    """`tensor[index]`, of which single numbers may be tensors that stand for many."""
    items = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(each, Tensor) and each.ndim == 0 and each.dtype in _INTEGERS for each in items):
        return tensor[index]
    # First what isn't a tensor: numbers take their axis away, None adds one, and slices keep theirs.
    rest = tensor.ndim - sum(each is not None and each is not Ellipsis for each in items)
    view = tensor[tuple(slice(None) if isinstance(each, Tensor) else each for each in items)]
    indices: list[Tensor | None] = []
    for each in items:
        if isinstance(each, Tensor):
            indices.append(each)
        elif each is Ellipsis:
            indices += [None] * rest
        elif not isinstance(each, int):
            indices.append(None)
    return torch.ops.aten.index.Tensor(view, indices)


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
