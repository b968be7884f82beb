"""PyTorch's fused attention, where it keeps the contract: softmax of an inner product, in linear memory.

It takes the scores of this package that reduce to an inner product: dot, scaled, bilinear and cosine, also after a
rotary position. It takes padding too, as a bias of minus infinity per key of an item, not per pair. `blocked` computes
the gradient of the gradient, which PyTorch lacks on CPUs, and the gradient itself where scores are so large that
PyTorch's would lose precision.
"""

import importlib
import math
import sys
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.attention.costs import (
    Cost,
    bytes_of_output,
    bytes_of_reduction,
    features,
    seconds_of_kernel,
    width,
)
from regard.attention.engines import blocked, triton
from regard.attention.gradients import autograd
from regard.attention.log_sums import joined
from regard.attention.masks import And, Causal, Dense, Lengths
from regard.attention.parts import declares
from regard.attention.precision import wide_dtype
from regard.attention.pytorch_internals import flash_backward_kernel, flash_kernel, in_transform
from regard.attention.request import Parts, Request
from regard.attention.user_parts import UserPosition
from regard.attention.weights import Softmax

__all__ = [
    "MIN_SPEEDUP",
    "backward_by_tiles",
    "backward_from_saved",
    "cost",
    "flash_forward",
    "forward",
    "forward_and_save",
    "inner_product_refusal",
    "is_fastest",
    "leads_on_gpu",
    "loses_precision",
    "refuse",
    "rounds_gradients",
    "run",
    "scale_of",
    "seconds",
    "widened",
]

# By estimate, over this kernel, for another engine to be chosen in its stead.
MIN_SPEEDUP = 2.0

# Kernels with linear memory only: if no other is enabled, PyTorch raises instead of falling back to n x n.
_LINEAR = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION]
_LARGEST_SIZE = 128  # of a head: all of PyTorch's kernels take it, on every card
# The largest scores for which PyTorch's gradient is used. It recomputes the weights as exp(score - logsumexp) from
# numbers that are rounded at that magnitude, so they don't sum to 1: in float32 they are off by up to 6e-8 of it (a
# quarter of that was measured). Here that is 1.5e-5, and in half precision less than the dtype's own rounding.
LARGEST_SCORES = {torch.float64: 1024.0, torch.float32: 1024.0, torch.bfloat16: 16384.0, torch.float16: 4096.0}
# In half precision it also takes the output as it was rounded, which leaves too much where the rest cancels, as in rows
# of which one key has almost all the weight. On a CPU it is therefore computed in float32 where scores may exceed this;
# and for so few pairs, since it takes no longer.
LARGEST_HALF_SCORES, FEW_PAIRS = 32.0, 2**18
# Multiply-adds of a forward pass on a GPU from which PyTorch's kernel under a guard is faster than one of this package:
# by what was measured of prototypes on an H100, 4096 queries and keys of 8 heads with 64 features.
_LONG = 2**34


def refuse(request: Request) -> str | None:
    """Why PyTorch's kernel can't do this request, or None."""
    reason = inner_product_refusal(request)
    if reason is not None:
        return reason
    if request.query.device.type == "cuda":
        if _is_guarded(request):
            return None
        if request.query.dtype == torch.float64:
            return "on CUDA it has no kernel of linear memory for float64"
        if request.parts.log_sums:
            return "on CUDA its log-sums have no gradient"
        if type(request.parts.mask) is not Dense and not _on_cuda_with_values(request):
            return "while a CUDA graph is captured it can't be asked whether hidden numbers are finite"
    if request.parts.log_sums and not request.finite:
        return "an infinite score makes its log-sum NaN"
    if request.hides_nothing:
        # In half precision they give zeros where all scores are minus infinity, and in float32 NaN for one that is.
        if _on_cuda_with_values(request) and not _has_finite_scores(request):
            return "on CUDA its kernels lose a score that is infinite"
        return None
    causal, lengths = _hidden_by(request)
    if not causal and lengths is None:
        return f"it takes a mask such as {type(request.parts.mask).__name__} only as a tensor of all pairs"
    scale = getattr(request.parts.score, "scale", 1.0)
    if causal and not isinstance(scale, Tensor) and scale <= 0:
        return "it masks with minus infinity before it scales, so its scale must be positive"
    if not request.finite:
        return "a hidden NaN, infinity or huge number would leak through it"
    return None


def inner_product_refusal(request: Request) -> str | None:
    """Why a request is not just the softmax of an inner product, or None."""
    parts = request.parts
    if not declares(type(parts.score), "inner_product"):
        return "its only score is an inner product"
    if type(parts.weights) is not Softmax:
        return "its only normaliser is softmax"
    if isinstance(parts.weights.temperature, Tensor):
        return "its temperature is one number"
    if parts.position.acts_in_tiles:
        return "it takes a bias on the scores only as a tensor of all pairs"
    if request.dropout:
        return "its dropout is not keyed by position"
    if request.query.device.type not in ("cpu", "cuda"):
        return f"it is not known to keep the contract on {request.query.device.type}"
    if 0 in (*request.query.shape, *request.key.shape, request.value.shape[-1]):
        return "it has no kernel for an empty tensor"
    return None


def is_fastest(request: Request) -> bool:
    """Whether no other engine is faster: the kernel doesn't compute padding, which tiles skip."""
    return _hidden_by(request)[1] is None


def leads_on_gpu(request: Request) -> bool:
    """Whether no other engine is faster on a GPU, where a call to this one waits for nothing. Looks at no number."""
    if inner_product_refusal(request) is not None or not _is_guarded(request):
        return False
    return 2 * _pairs(request) * features(request) >= _LONG


def _is_guarded(request: Request) -> bool:
    """Whether PyTorch's kernel runs under a guard on a GPU (`triton/guarded.py`); else the host looks at numbers."""
    mask, size, scale = request.parts.mask, request.query.shape[-1], getattr(request.parts.score, "scale", 1.0)
    return (
        request.query.is_cuda
        # What else is computed from a key alone may make the gradient of a hidden one NaN.
        and declares(type(request.parts.score), "keeps_vectors")
        and (type(mask) is Dense or (type(mask) is Causal and request.query.shape[2] == request.key.shape[2]))
        and size == request.key.shape[-1] == request.value.shape[-1] <= _LARGEST_SIZE
        and size % 8 == 0
        and not isinstance(scale, Tensor)
        and scale > 0
        and (request.query.dtype != torch.float32 or request.query.shape[1] == request.key.shape[1])
        and not request.parts.log_sums
        and not in_transform()
        and triton.refuse(request) is None
        and torch.cuda.get_device_capability(request.query.device) >= (8, 0)
    )


def seconds(request: Request) -> float:
    """The estimated time on the machine that the speeds are from."""
    return seconds_of_kernel(request, _pairs(request))


def cost(request: Request) -> Cost:
    """The cost. What the kernel skips is counted by tiles."""
    _, counts = blocked.counted(request)
    if not is_fastest(request):
        counts["partial"], counts["skipped"] = counts["partial"] + counts["skipped"], 0
    padded = request.query.shape[-1] != request.value.shape[-1]
    numbers = padded * sum(tensor.numel() for tensor in (request.query, request.key, request.value))
    memory = numbers * width(request) + bytes_of_reduction(request) + bytes_of_output(request)
    return Cost(2 * _pairs(request) * features(request), memory, counts)


def _pairs(request: Request) -> int:
    """How many pairs of query and key the kernel computes, including padding."""
    batch, heads, queries, _ = request.query.shape
    keys = request.key.shape[2]
    return batch * heads * (queries * (queries + 1) // 2 if _hidden_by(request)[0] else queries * keys)


def run(request: Request) -> Tensor:
    """The output, (batch, head, query, value), with its log-sums if they are asked for, and its gradient."""
    if _is_guarded(request):
        return _run_guarded(request)
    if not request.differentiable:
        return forward(request)
    if request.query.device.type != "cpu":
        large = _on_cuda_with_values(request) and loses_precision(request.reduced()[0])
        return autograd.run_recomputing(request.expanded, blocked) if large else forward(request)
    # The reduction is differentiated by ordinary autograd, since it is little work.
    reduced, _ = request.expanded.reduced()
    query, key, value = _padded(reduced)
    padded = Request(query, key, value, reduced.parts, 0.0, 0, reduced.known)
    output = autograd.run_saving(padded, sys.modules[__name__])
    wanted = request.value.shape[-1]
    if request.parts.log_sums:
        return output if output.shape[-1] == wanted + 1 else joined(output[..., :wanted], output[..., -1])
    if output.shape[-1] != wanted:
        output = output[..., :wanted]
    return output if output.dtype == request.query.dtype else output.to(request.query.dtype)


def _run_guarded(request: Request) -> Tensor:
    """The same on a GPU, without waiting for it."""
    reduced = request.reduced()[0].narrowed(request)
    plain = Request(reduced.query, reduced.key, reduced.value, reduced.parts.without_position, 0.0, 0, reduced.known)
    scale = scale_of(plain.parts)
    attention = partial(_linear_attention, causal=type(plain.parts.mask) is Causal, bias=None, scale=scale)
    guarded = importlib.import_module("regard.attention.engines.triton.guarded")
    return guarded.run(plain, attention, LARGEST_SCORES[request.query.dtype] / scale)


def forward_and_save(request: Request) -> tuple[Tensor, Tensor]:
    """The output, with its log-sums if they are asked for, and the logsumexp of each row, which the gradient needs."""
    causal, lengths = _hidden_by(request)
    three = request.query, request.key, request.value
    bias = None if lengths is None else _key_bias(request, lengths)
    found = flash_forward(*three, causal=causal, bias=bias, scale=scale_of(request.parts))
    if found is None:
        # Where scores are so large, the gradient is computed by tiles too.
        return blocked.forward(request), request.query.new_zeros(request.query.shape[:3])
    output = found[0] if lengths is None else _zero_empty_rows(found[0], request, lengths)
    if request.parts.log_sums:
        output = _with_log_sums(output, found[1], request, lengths)
    return output, found[1]


def backward_from_saved(request: Request, grad_output: Tensor, output: Tensor, logsumexp: Tensor) -> tuple[Tensor, ...]:
    """The gradients of query, key and value."""
    if loses_precision(request) or not request.safe_with(grad_output):
        return backward_by_tiles(request, grad_output)
    dtype = request.query.dtype
    if rounds_gradients(request):
        request, grad_output = widened(request), grad_output.to(wide_dtype(grad_output))
        output, logsumexp = forward_and_save(request)
    causal, lengths = _hidden_by(request)
    three, scale = (request.query, request.key, request.value), scale_of(request.parts)
    empty_rows = None if lengths is None else _empty_rows(request, lengths)
    if empty_rows is not None:
        grad_output = grad_output.masked_fill(empty_rows, 0.0)
    bias = None if lengths is None else _key_bias(request, lengths)
    if request.parts.log_sums:
        *three, output = with_log_sums_column(*three, output)
        grad_output = grad_output.to(output.dtype)
    found = flash_backward_kernel(
        grad_output.contiguous(), *three, output, logsumexp, 0.0, causal, attn_mask=bias, scale=scale
    )
    if request.parts.log_sums:
        found = tuple([grad[..., :-1] for grad in found])
    return found if request.query.dtype == dtype else tuple([grad.to(dtype) for grad in found])


def with_log_sums_column(query: Tensor, key: Tensor, value: Tensor, output: Tensor) -> tuple[Tensor, ...]:
    """The tensors of a gradient with one more column, for that of the log-sums, the last column of `grad_output`.

    ds = w (dp - delta + dL) / T: as if each key had one more value, 1, of whose average, in the output, there is 0.

    Args:
        output: with its log-sums.
    """
    average = F.pad(output[..., :-1], (0, 1)).to(value.dtype)
    return F.pad(query, (0, 1)), F.pad(key, (0, 1)), F.pad(value, (0, 1), value=1.0), average


def _with_log_sums(output: Tensor, logsumexp: Tensor, request: Request, lengths: Lengths | None) -> Tensor:
    empty_rows = _empty_rows(request, lengths)
    return joined(output, logsumexp if empty_rows is None else logsumexp.masked_fill(empty_rows.squeeze(-1), -math.inf))


def backward_by_tiles(request: Request, grad_output: Tensor) -> tuple[Tensor, ...]:
    """The gradients of query, key and value of a reduced request, by `blocked`."""
    three = request.query, request.key, request.value
    found = blocked.backward(request, grad_output)
    return tuple(grad.to(t.dtype) for grad, t in zip(found, three, strict=False) if grad is not None)


def loses_precision(reduced: Request) -> bool:
    """Whether PyTorch's gradient would lose precision, judged by the longest query and key, which bound the scores.

    Terms that cancel lose precision too, so the rows' logsumexp, though available, is no criterion.
    """
    # On a CPU, those in half precision are computed in float32.
    dtype = wide_dtype(reduced.query) if reduced.query.device.type == "cpu" else reduced.query.dtype
    return not _largest_score(reduced) <= LARGEST_SCORES[dtype]  # NaN is no bound


def rounds_gradients(reduced: Request) -> bool:
    """Whether PyTorch's gradient in half precision would be too coarse, though not that in float32."""
    if reduced.query.dtype == wide_dtype(reduced.query):
        return False
    few = reduced.query.shape[:3].numel() * reduced.key.shape[2] <= FEW_PAIRS
    return few or _largest_score(reduced) > LARGEST_HALF_SCORES


def widened(reduced: Request) -> Request:
    """The request in float32 or wider."""
    wide = wide_dtype(reduced.query)
    query, key, value = (tensor.to(wide) for tensor in (reduced.query, reduced.key, reduced.value))
    return Request(query, key, value, reduced.parts, reduced.dropout, reduced.seed, reduced.known)


def _largest_score(reduced: Request) -> float:
    """A bound on the scores of a reduced request, divided by the temperature; NaN where there is NaN."""
    return _largest_product(reduced) * abs(scale_of(reduced.parts))


def _largest_product(reduced: Request) -> float:
    """A bound on the products of a query and a key of a reduced request; NaN where there is NaN."""

    def find() -> float:
        return (_longest_norm(reduced.query) * _longest_norm(reduced.key)).item()

    # A GPU is asked twice, by `refuse` and by `run`, and each transfer waits for what was queued before.
    return reduced.cached("largest_product", find)


def _longest_norm(vectors: Tensor) -> Tensor:
    return torch.linalg.vector_norm(vectors.detach(), dim=-1, dtype=wide_dtype(vectors)).amax()


def _has_finite_scores(request: Request) -> bool:
    """Whether all scores are finite, before they are scaled too, whatever the values hold."""
    if not declares(type(request.parts.score), "keeps_vectors") or request.parts.position.overrides("heads"):
        return request.finite
    reduced = request.reduced()[0]
    # A product that overflows before it is scaled is infinite, and stays so.
    largest = _largest_product(reduced) * abs(scale_of(reduced.parts))
    return largest <= torch.finfo(wide_dtype(request.query)).max


def _on_cuda_with_values(request: Request) -> bool:
    """Whether the call is on CUDA, and its values can be read: not while a CUDA graph is captured."""
    return request.query.device.type == "cuda" and not torch.cuda.is_current_stream_capturing()


def forward(request: Request) -> Tensor:
    """The output, (batch, head, query, value). `request`: not expanded."""
    batch, heads, queries, _ = request.query.shape
    shared, width = request.key.shape[1], request.value.shape[-1]
    causal, lengths = _hidden_by(request)
    # If all rows see the same keys, queries that share a key can be rows of one head, and no key is copied.
    groups_queries = shared != heads and not causal and not isinstance(request.parts.position, UserPosition)
    reduced, _ = (request if groups_queries else request.expanded).reduced()
    query, key, value = _padded(reduced)
    if groups_queries:
        query = query.reshape(batch, shared, heads // shared * queries, query.shape[-1])
    scale = scale_of(reduced.parts)
    if query.is_cpu:
        bias = None if lengths is None else _key_bias(reduced, lengths)
        found = flash_forward(query, key, value, causal=causal, bias=bias, scale=scale)
        if found is None:
            return blocked.forward(request.expanded)
        output, logsumexp = found
    else:
        key, value = (_without_padding(t, request, lengths) for t in (key, value))
        bias = _key_bias(reduced, lengths)
        output, logsumexp = _linear_attention(query, key, value, causal=causal, bias=bias, scale=scale), None
    if groups_queries:
        output = output.reshape(batch, heads, queries, output.shape[-1])
    if output.shape[-1] != width:
        output = output[..., :width]
    if lengths is not None:
        output = _zero_empty_rows(output, request, lengths)
    if request.parts.log_sums and logsumexp is not None:
        return _with_log_sums(output, logsumexp.reshape(batch, heads, queries), request, lengths)
    return output.to(request.query.dtype)


def _without_padding(tensor: Tensor, request: Request, lengths: Lengths | None) -> Tensor:
    """Keys or values (batch, head, key, size) with zeros at padding, so that no NaN from above reaches its gradient."""
    if lengths is None or lengths.of_keys is None or not tensor.requires_grad:
        return tensor
    counts = lengths.of_keys
    hidden = request.cached(
        "hidden_keys", lambda: torch.arange(tensor.shape[2], device=counts.device) >= counts.unsqueeze(1)
    )
    return tensor.masked_fill(hidden[:, None, :, None], 0.0)


def _linear_attention(
    query: Tensor, key: Tensor, value: Tensor, *, causal: bool, bias: Tensor | None, scale: float
) -> Tensor:
    """PyTorch's attention by a kernel of linear memory; it raises where there is none, instead of taking n x n."""
    if scale <= 0:
        # The kernels take the largest score before they scale, so a negative scale overflows to NaN (seen in bfloat16),
        # and a scale of 0 would make hidden scores, minus infinity, NaN.
        query, scale = query * (-1.0 if scale < 0 else 0.0), abs(scale) or 1.0
    with sdpa_kernel(_LINEAR):
        return F.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=bias,
            is_causal=causal,
            scale=scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )


def _padded(request: Request) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value zero-padded to one feature size, as the kernels need; the output is cut to size later."""
    query, key, value = request.query, request.key, request.value
    most = max(query.shape[-1], value.shape[-1])
    # Usually nothing need be done, and when decoding, a copy of all keys would cost more than the attention.
    if query.is_cpu and query.shape[-1] == value.shape[-1] and query.stride(3) == key.stride(3) == value.stride(3) == 1:
        return query, key, value
    if query.device.type == "cuda":
        most = -(-most // 8) * 8
    return _pad(query, most), _pad(key, most), _pad(value, most)


def _pad(tensor: Tensor, size: int) -> Tensor:
    if tensor.shape[-1] == size and tensor.stride(-1) == 1:
        return tensor
    return F.pad(tensor, (0, size - tensor.shape[-1])).contiguous()


def scale_of(parts: Parts) -> float:
    """The factor of the reduced score, an inner product, divided by the temperature."""
    return parts.score.scale / parts.weights.temperature  # pyright: ignore


def flash_forward(
    query: Tensor, key: Tensor, value: Tensor, *, scale: float, causal: bool = False, bias: Tensor | None = None
) -> tuple[Tensor, Tensor] | None:
    """The output of PyTorch's CPU kernel and the logsumexp of each row's scores; None where scores may not be finite.

    The kernel scales the products of queries and keys, which may overflow even where the scores don't, and it gives
    zeros for a row whose largest score is NaN or infinite. Tiles then compute what is due.

    Args:
        bias: added to the scores, (batch, 1, 1, key).
    """
    output, logsumexp = flash_kernel(query, key, value, 0.0, causal, attn_mask=bias, scale=scale)
    # For such a row, the logsumexp is 0, which is otherwise rare, or in half precision infinite.
    half = logsumexp.dtype != query.dtype
    if torch.count_nonzero(logsumexp).item() < logsumexp.numel() or (half and not torch.isfinite(logsumexp.sum())):
        lengths = [torch.linalg.vector_norm(t, dtype=torch.float64) for t in (query, key)]
        if not lengths[0] * lengths[1] * max(abs(scale), 1.0) <= torch.finfo(wide_dtype(query)).max:
            return None
    return output, logsumexp


def _hidden_by(request: Request) -> tuple[bool, Lengths | None]:
    """What the kernel can hide: whether the mask is causal, and lengths. (False, None) if nothing, or another mask."""
    mask = request.parts.mask
    if request.hides_nothing:
        return False, None
    # PyTorch aligns a causal mask at the start, we at the end: they agree if there are as many queries as keys.
    square = request.query.shape[2] == request.key.shape[2]
    if type(mask) is Causal:
        return square, None
    if type(mask) is Lengths:
        return False, mask
    if type(mask) is And and square:
        for one, other in ((mask.left, mask.right), (mask.right, mask.left)):
            if type(one) is Causal and type(other) is Lengths and _end_together(other):
                return True, other
    return False, None


def _end_together(lengths: Lengths) -> bool:
    """Whether each item has as many queries as keys, so that both end at the same position."""
    queries, keys = lengths.of_queries, lengths.of_keys
    return queries is not None and keys is not None and (queries is keys or torch.equal(queries, keys))


def _key_bias(request: Request, lengths: Lengths | None) -> Tensor | None:
    """(batch, 1, 1, key): minus infinity for each key beyond its item's length."""
    # Under a causal mask a query sees no padding: it comes after all of the item's own queries.
    counts = None if lengths is None or type(request.parts.mask) is not Lengths else lengths.of_keys
    if counts is None:
        return None

    def build() -> Tensor:
        keys = torch.arange(request.key.shape[2], device=counts.device)
        # For an item without keys nothing is hidden: the kernel would divide by zero, and its rows are zeroed anyway.
        hidden = (keys >= counts.unsqueeze(1)) & (counts > 0).unsqueeze(1)
        # On CUDA the kernel copies a bias unless each of its strides is a multiple of 8.
        batch, keys = hidden.shape
        bias = request.query.new_zeros(batch, 1, 1, -(-keys // 8) * 8)[..., :keys]
        return bias.masked_fill_(hidden[:, None, None], -math.inf)

    return request.cached(f"key_bias, {request.query.dtype}", build)


def _zero_empty_rows(rows: Tensor, request: Request, lengths: Lengths | None) -> Tensor:
    """The rows (batch, head, query, size), with fully masked rows set to zero, in place if nothing else holds them."""
    empty_rows = _empty_rows(request, lengths)
    if empty_rows is None:
        return rows
    return rows.masked_fill(empty_rows, 0.0) if rows.requires_grad else rows.masked_fill_(empty_rows, 0.0)


def _empty_rows(request: Request, lengths: Lengths | None) -> Tensor | None:
    """The fully masked rows, (batch, 1, query, 1): those beyond their item's length, or of an item without keys."""
    if lengths is None:
        return None

    def build() -> Tensor | None:
        shown = request.query.new_ones(request.query.shape[0], request.query.shape[2], dtype=torch.bool)
        if lengths.of_queries is not None:
            shown &= torch.arange(shown.shape[1], device=shown.device) < lengths.of_queries.unsqueeze(1)
        if lengths.of_keys is not None:
            shown &= (lengths.of_keys > 0).unsqueeze(1)
        # On a GPU it takes longer to look whether there are any than to set none.
        return None if shown.device.type == "cpu" and shown.all() else ~shown.view(len(shown), 1, -1, 1)

    return request.cached("empty_rows", build)
