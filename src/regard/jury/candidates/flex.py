"""PyTorch's `flex_attention`, eager and compiled."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from regard.jury.candidates.candidate import Candidate, source_of
from regard.jury.claims import Claims

__all__ = ["FLEX"]

CLAIMS = Claims(causal="causal", mask="mask", bias="bias", scale="scale", grouped="enable_gqa", value_size=True)


def flex(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    causal: bool = False,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    compiled: bool = False,
    **options: Any,
) -> Tensor:
    import torch
    from torch.nn.attention import flex_attention as flex

    def rule(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return mask[b, h, i, j] if mask is not None else i >= j

    blocks = None
    if causal or mask is not None:
        blocks = flex.create_block_mask(
            rule, query.shape[0], query.shape[1], query.shape[2], key.shape[2], device=query.device
        )
    score = None if bias is None else lambda s, b, h, i, j: s + bias[b, h, i, j]
    run = torch.compile(flex.flex_attention) if compiled else flex.flex_attention
    return run(query, key, value, score_mod=score, block_mask=blocks, **options)


def _made(name: str, *, compiled: bool) -> Candidate:
    source = source_of(flex, attention=f"flex(*tensors, compiled={compiled}, **options)")
    return Candidate(name, partial(flex, compiled=compiled), CLAIMS, source)


FLEX: dict[str, Callable[[], Candidate]] = {
    "flex": lambda: _made("flex", compiled=False),
    "flex-compiled": lambda: _made("flex-compiled", compiled=True),
}
