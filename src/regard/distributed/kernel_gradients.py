"""The gradient of a block of softmax by PyTorch's kernel, without computing the block again.

The kernel takes a row's output and its logsumexp from whoever computed them. Given those over all keys, the weights
that it recomputes are those of the whole row, so that it gives the block's part of the gradient.
"""

import torch
from torch import Tensor

from regard.attention.engines.fused import loses_precision, refuse, scale_of, widened
from regard.attention.masks import Causal
from regard.attention.positions import Position
from regard.attention.pytorch_internals import flash_backward_kernel
from regard.attention.request import Request
from regard.attention.scores import Dot, ScaledDot

__all__ = ["kernel_gradients"]


def kernel_gradients(
    request: Request, output: Tensor, log_sums: Tensor, grad_output: Tensor
) -> tuple[Tensor, Tensor, Tensor] | None:
    """The gradients of query, key and value, in float32 or wider; None where the kernel can't compute them.

    Args:
        request: the block, of softmax, whose result has log-sums.
        output, log_sums: of the rows over all keys, (batch, head, query, value) and (batch, head, query), in float32 or
            wider.
        grad_output: the gradient of the outputs, likewise.

    Source: Liu et al. 2023, Ring Attention (arXiv 2310.01889), appendix A, for the backward pass.
    """
    parts = request.parts
    plain = type(parts.score) in (Dot, ScaledDot) and type(parts.position) is Position
    heads, shared = request.query.shape[1], request.key.shape[1]
    if not plain or not request.query.is_cpu:
        return None
    if request.query.shape[-1] != request.value.shape[-1]:
        return None
    if refuse(request) is not None or not request.safe_with(grad_output):
        return None
    with torch.no_grad():
        reduced = widened(request.expanded.reduced()[0])
        if loses_precision(reduced):
            return None
        # The kernel takes any strides but that of the features; the gradient of a sum has stride 0.
        four = [
            each if each.stride(-1) == 1 else each.contiguous()
            for each in (grad_output, reduced.query, reduced.key, reduced.value)
        ]
        causal = type(parts.mask) is Causal
        found = flash_backward_kernel(
            *four,
            output,
            log_sums,
            0.0,
            causal,
            attn_mask=None,
            scale=scale_of(reduced.parts),
        )
    query, key, value = found
    if heads != shared:
        key, value = (each.unflatten(1, (shared, heads // shared)).sum(2) for each in (key, value))
    return query, key, value
