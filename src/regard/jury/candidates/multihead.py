"""`nn.MultiheadAttention` with linear maps that change nothing, so that what is left is its attention."""

from collections.abc import Callable
from functools import partial

from torch import Tensor

from regard.jury.candidates.candidate import Candidate, source_of
from regard.jury.claims import Claims

__all__ = ["MULTIHEAD"]


def multihead(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    attn_mask: Tensor | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> Tensor:
    import torch

    batch, heads, length, size = query.shape
    width = heads * size
    module = torch.nn.MultiheadAttention(
        width, heads, dropout=dropout, batch_first=True, device=query.device, dtype=query.dtype
    )
    with torch.no_grad():
        one = torch.eye(width, device=query.device, dtype=query.dtype)
        module.in_proj_weight.copy_(one.repeat(3, 1))
        module.out_proj.weight.copy_(one)
    module.requires_grad_(False)
    # (batch, head, item, feature) -> (batch, item, width)
    flat = [tensor.transpose(1, 2).flatten(2) for tensor in (query, key, value)]
    mask = bias if bias is not None else attn_mask
    mask = None if mask is None else mask.flatten(0, 1)
    output, _ = module(*flat, attn_mask=mask, need_weights=need_weights)
    return output.view(batch, length, heads, size).transpose(1, 2)


CLAIMS = Claims(mask="attn_mask", bias="bias", dropout="dropout", hides=True)


def _made(name: str, *, need_weights: bool) -> Candidate:
    source = source_of(multihead, attention=f"multihead(*tensors, need_weights={need_weights}, **options)")
    return Candidate(name, partial(multihead, need_weights=need_weights), CLAIMS, source)


MULTIHEAD: dict[str, Callable[[], Candidate]] = {
    "multihead": lambda: _made("multihead", need_weights=False),
    "multihead-weights": lambda: _made("multihead-weights", need_weights=True),
}
