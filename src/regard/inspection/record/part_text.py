"""A part of a call in a few words, with the shapes of its tensors instead of their numbers."""

import dataclasses
from typing import Any

from torch import Tensor, nn

from regard.attention.masks import And, Edges, Not, Or, Slice
from regard.attention.positions import Both
from regard.page.numbers import counted

__all__ = ["part_text"]

_FEW = 4  # numbers of a tensor that are written out


def part_text(part: Any) -> str:
    """A part in a few words.

    Example:
        >>> import torch
        >>> from regard.attention import Bias, Causal, Edges, Lengths, Softmax
        >>> part_text("causal"), part_text(Causal() & Lengths([3, 5])), part_text(Softmax(0.5))
        ('causal', 'Causal & Lengths([3, 5])', 'Softmax(0.5)')
        >>> part_text(Bias(torch.zeros(1, 2, 7, 7)))
        'Bias(1 x 2 x 7 x 7 numbers)'
        >>> part_text(Edges(torch.tensor([[0, 1, 2], [1, 2, 0]])))
        'Edges(3 pairs)'
    """
    if isinstance(part, nn.Module) and hasattr(part, "part"):
        part = part.part()  # pyright: ignore[reportCallIssue]
    if isinstance(part, str):
        return part
    if isinstance(part, Tensor):
        if part.numel() <= _FEW:
            return str(part.tolist())
        return f"{' x '.join(map(str, part.shape))} numbers"
    if isinstance(part, Slice):
        return part_text(part.mask)
    if isinstance(part, Edges):
        return f"Edges({counted(len(part.csr.keys), 'pair')})"
    if isinstance(part, And | Or):
        return f"{part_text(part.left)} {'&' if isinstance(part, And) else '|'} {part_text(part.right)}"
    if isinstance(part, Not):
        return f"~{part_text(part.mask)}"
    if isinstance(part, Both):
        return f"{part_text(part.first)} + {part_text(part.second)}"
    if dataclasses.is_dataclass(part):
        values = [getattr(part, each.name) for each in dataclasses.fields(part)]
        texts = [part_text(value) for value in values if value is not None and value != ""]
        return f"{type(part).__name__}({', '.join(texts)})" if texts else type(part).__name__
    if isinstance(part, float):
        return f"{part:.4g}"
    return str(getattr(part, "__name__", part))
