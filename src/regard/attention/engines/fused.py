"""PyTorch's fused attention, where it keeps the contract: softmax of a (scaled) inner product, linear memory."""

import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.attention.masks import Causal, Mask
from regard.attention.positions import Position
from regard.attention.request import Request
from regard.attention.scores import Dot, ScaledDot
from regard.attention.weights import Softmax

__all__ = ["refuse", "run"]

# Only kernels of linear memory: with these alone allowed, PyTorch raises where it would otherwise build n x n.
_LINEAR = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION]


def refuse(request: Request) -> str | None:
    """Why PyTorch's kernel can't do this request, or None."""
    parts = request.parts
    if not isinstance(parts.score, Dot | ScaledDot):
        return f"its only scores are dot and scaled_dot, not {parts.score!r}"
    if not isinstance(parts.weights, Softmax):
        return f"its only normaliser is softmax, not {parts.weights!r}"
    if type(parts.position) is not Position:
        return "it has no positions: a bias would be a tensor of all pairs"
    if request.dropout:
        return "its dropout is not keyed by position"
    if 0 in (*request.query.shape, *request.key.shape, request.value.shape[-1]):
        return "it has no kernel for an empty tensor"
    unmasked = request.hides_nothing
    if not unmasked and not _is_causal(parts.mask, request):
        return f"it takes the mask {parts.mask!r} only as a tensor of all pairs"
    if not unmasked and not request.finite:
        return "a NaN or infinity in a hidden place would leak through it"
    return None


def run(request: Request) -> Tensor:
    """The output, (batch, head, query, value)."""
    query, key, value = request.query, request.key, request.value
    width, out_width = query.shape[-1], value.shape[-1]
    scale = 1.0 if isinstance(request.parts.score, Dot) else width**-0.5
    # The kernels want one size for all three; zeros add nothing to an inner product, and extra outputs are cut off.
    most = max(width, out_width)
    query, key, value = (F.pad(tensor, (0, most - tensor.shape[-1])).contiguous() for tensor in (query, key, value))
    with sdpa_kernel(_LINEAR):
        output = F.scaled_dot_product_attention(query, key, value, is_causal=not request.hides_nothing, scale=scale)
    return output[..., :out_width]


def _is_causal(mask: Mask, request: Request) -> bool:
    """PyTorch's causal is aligned at the start; ours, at the end: the two are one where the lengths are."""
    return isinstance(mask, Causal) and request.query.shape[2] == request.key.shape[2]
