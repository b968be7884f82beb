"""Attention that no record can hold, which goes on as if nobody watched: inside of `torch.vmap`, or of some dtypes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.attention.pytorch_internals import in_vmap
from regard.inspection.call import AttentionCall
from regard.inspection.functions import FUNCTIONS
from regard.inspection.interception import Change, Interception
from regard.inspection.interception_disabled import is_interception_disabled

__all__ = ["OutsideVmap", "why_unrecorded"]

_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


class OutsideVmap(Interception):
    """An interception that leaves alone what runs inside of `torch.vmap`, where one tensor stands for many.

    Args:
        seen, module, change: as for `Interception`.

    Attributes:
        inside: the modules that call attention, or a softmax, inside of it.
    """

    def __init__(
        self,
        seen: Callable[[AttentionCall, Any], None],
        module: Callable[[], str | None],
        change: Change | None = None,
    ):
        super().__init__(seen, module, change)
        self._module = module
        self.inside: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if is_interception_disabled() or not in_vmap():
            return super().__torch_function__(func, types, args, kwargs)
        self.calls += 1
        if func in FUNCTIONS or getattr(func, "__name__", "") == "softmax":
            name = self._module()
            self.inside += [] if name is None or name in self.inside else [name]
        return func(*args, **(kwargs or {}))


def why_unrecorded(call: AttentionCall) -> str:
    """Why a call can't be recorded, as the end of a sentence; "" if it can."""
    tensors: tuple[Tensor, ...] = call.query, call.key, call.value
    dtypes = {str(each.dtype).removeprefix("torch."): each.dtype in _DTYPES for each in tensors}
    if len(dtypes) == 1 and all(dtypes.values()):
        return ""
    return f"its queries, keys and values are of {' and '.join(dtypes)}"
