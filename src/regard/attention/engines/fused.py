"""PyTorch's fused attention, where it keeps the contract: softmax of a (scaled) inner product, linear memory."""

import torch
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
    # The types themselves: a subclass may compute something else.
    if type(parts.score) not in (Dot, ScaledDot):
        return "its only scores are dot and scaled_dot"
    if type(parts.weights) is not Softmax:
        return "its only normaliser is softmax"
    if type(parts.position) is not Position:
        return "it has no positions: a bias would be a tensor of all pairs"
    if request.dropout:
        return "its dropout is not keyed by position"
    if request.query.device.type not in ("cpu", "cuda"):
        return f"it is not known to keep the contract on {request.query.device.type}"
    if request.query.device.type == "cuda" and request.query.dtype == torch.float64:
        return "on CUDA it has no kernel of linear memory for float64"
    if 0 in (*request.query.shape, *request.key.shape, request.value.shape[-1]):
        return "it has no kernel for an empty tensor"
    unmasked = request.hides_nothing
    if not unmasked and not _is_causal(parts.mask, request):
        return f"it takes a mask such as {type(parts.mask).__name__} only as a tensor of all pairs"
    if not unmasked and not request.finite:
        return "a NaN, infinity or huge number in a hidden place would leak through it"
    return None


def run(request: Request) -> Tensor:
    """The output, (batch, head, query, value)."""
    query, key, value = request.query, request.key, request.value
    width, out_width = query.shape[-1], value.shape[-1]
    scale = 1.0 if isinstance(request.parts.score, Dot) else width**-0.5
    # The kernels want one size for all three; zeros add nothing to an inner product, and extra outputs are cut off.
    most = max(width, out_width)
    if query.device.type == "cuda":
        most = -(-most // 8) * 8
    query, key, value = (F.pad(tensor, (0, most - tensor.shape[-1])).contiguous() for tensor in (query, key, value))
    with sdpa_kernel(_LINEAR):
        output = F.scaled_dot_product_attention(query, key, value, is_causal=not request.hides_nothing, scale=scale)
    return output[..., :out_width]


def _is_causal(mask: Mask, request: Request) -> bool:
    """PyTorch's causal is aligned at the start; ours, at the end: the two are one where the lengths are."""
    return type(mask) is Causal and request.query.shape[2] == request.key.shape[2]
