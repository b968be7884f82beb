"""Attention as plain operations of PyTorch, for formats of other programs, which know no operator of regard's.

`torch.export` traces a function without numbers. It then can't ask which engine is fastest, nor whether a batch has
padding; so inside of `traceable()` nothing is asked: the definition of attention runs, every mask is applied, and
nothing is refused by its numbers. What hidden items hold must be finite there, as zeros are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

__all__ = ["is_traceable", "traceable"]

_TRACEABLE: ContextVar[bool] = ContextVar("traceable", default=False)


def is_traceable() -> bool:
    """Whether a block of `traceable` is active, in which no number of a tensor may be asked for.

    `torch.compile` never sees such a block, and can't read a context variable.
    """
    return not torch.compiler.is_dynamo_compiling() and _TRACEABLE.get()


@contextmanager
def traceable() -> Iterator[None]:
    """Compute attention in a block by operations that every compiler knows, in quadratic memory.

    Example:
        >>> import torch
        >>> from regard import attend
        >>> x = torch.ones(1, 1, 2, 4)
        >>> with traceable():
        ...     is_traceable(), attend(x, x, x, mask="causal").shape
        (True, torch.Size([1, 1, 2, 4]))
        >>> is_traceable()
        False
    """
    token = _TRACEABLE.set(True)
    try:
        yield
    finally:
        _TRACEABLE.reset(token)
