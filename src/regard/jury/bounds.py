"""How far rounding may take an attention function from the definition, element by element: a forward error analysis.

Let u be the unit roundoff of the tensors' dtype and v that of the sums, which is float32's for half precision, by the
contract that sums are in float32 or wider. In half precision a function may round to it the operands of its products
with values, keys and queries (the weights, and the gradients of the scores), as matrix units need them, and its
results; all else is in float32: scores, which are sums, their normalising, and what is subtracted. A sum of k products
is off by at most k v sum |terms| (Higham 2002, "Accuracy and Stability of Numerical Algorithms", sections 3.1 and 3.4).
With d features, w of values, m queries, n keys, c the scale, and h the smallest normal number, below which the dtype
may give zero:

- scores s = c q.k + bias:  ds = (d + 3) v (|c| |q|.|k| + |bias|).
- weights p = exp(s) / sum exp(s). As log p moves by ds - sum p ds, exp, the subtraction of the largest score and the
  division round, and the sum has n terms, p is off by a factor within exp(+-r), r = ds + sum_j p_j ds_j + (n + 4) v:
  dp = p (e^r - 1).
- outputs o = sum p v:  do = sum ((dp + u p + h) |v|) + (n + 1) v sum p |v| + u |o| + h.

Backward, with g the gradient from above (Dao et al. 2022, arXiv 2205.14135, appendix B.2):

- of values, sum over queries of p g:  as of outputs, with g for v and m for n.
- t = g.v, the gradient of a weight:  dt = (w + 1) v |g|.|v|.
- D = sum p t = g.o, which cancels in what follows, so o is the one that wasn't rounded to half precision:
  dD = sum |g| (sum dp |v| + (n + w + 2) v sum p |v|).
- of scores, z = p (t - D):  dz = dp |t - D| + (p + dp) (dt + dD) + 3 v |z|.
- of queries, x = c sum over keys of z k:  |c| sum (dz + u |z| + h) |k| + (n + 2) v |c| sum |z| |k| + u |x| + h; of
  keys alike, over queries. Of grouped heads, each head's may be rounded before they are added up.

Nothing in it is fitted. The one choice is what may be in half precision. The widely used form of FlashAttention takes D
from the output as it was rounded, u |g| |o| off: where t - D is small, as in a row with one weight near 1, that is more
than the gradient itself.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.jury.cases import Inputs

__all__ = ["Precision", "rounding_bounds"]


@dataclass(frozen=True)
class Precision:
    """The unit roundoff of a dtype, that of the sums, its smallest normal number, and its largest.

    Example:
        >>> Precision.of(torch.bfloat16).unit
        0.00390625
    """

    unit: float
    sums: float
    tiny: float
    largest: float

    @classmethod
    def of(cls, dtype: torch.dtype) -> "Precision":
        own, wide = torch.finfo(dtype), torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32)
        # PyTorch's CPU kernels and GPUs may flush subnormal numbers to zero: the smallest normal one is lost at most.
        return cls(own.eps / 2, wide.eps / 2, own.tiny, own.max)


def rounding_bounds(inputs: Inputs, allowed: Tensor) -> dict[str, Tensor]:
    """The largest error of each element that rounding explains, in float64.

    Args:
        inputs: of the call; what no row may see counts as zero, whatever it holds.
        allowed: which pairs may attend, (batch, head, query, key).

    Returns:
        "output", and "gradient of query", "... key", "... value" and, where there is one, "... bias".
    """
    case, precision = inputs.case, Precision.of(inputs.query.dtype)
    u, v, h = precision.unit, precision.sums, precision.tiny
    heads, share = case.heads, case.heads // max(case.key_heads, 1)
    m, n, d, width = case.queries, case.keys, case.feature, case.value
    scale = 1 / math.sqrt(max(d, 1)) if case.scale is None else case.scale
    seen_keys = allowed.unflatten(1, (-1, share)).any(3).any(2) if heads else allowed.any(2)
    q = _double(inputs.query)
    k = torch.where(seen_keys[..., None], _double(inputs.key), 0.0).repeat_interleave(share, 1)
    values = torch.where(seen_keys[..., None], _double(inputs.value), 0.0).repeat_interleave(share, 1)
    g = _double(inputs.upward)
    kept = torch.ones_like(allowed, dtype=torch.float64) if inputs.kept is None else inputs.kept
    bias = torch.zeros_like(kept) if inputs.bias is None else torch.where(allowed, _double(inputs.bias), 0.0)

    s = scale * q @ k.mT + bias
    ds = (d + 3) * v * (abs(scale) * q.abs() @ k.abs().mT + bias.abs())
    plain = torch.where(allowed, s, -math.inf).softmax(-1).nan_to_num(0.0).where(allowed, 0.0)
    ds = torch.where(allowed, ds, 0.0)
    r = ds + (plain * ds).sum(-1, keepdim=True) + (n + 4) * v
    d_plain = plain * r.expm1()
    p, dp = plain * kept, d_plain * kept
    operand = torch.where(allowed, dp + u * p + h, 0.0)
    o, total = p @ values, p @ values.abs()
    do = operand @ values.abs() + (n + 1) * v * total + u * o.abs() + h
    d_value = operand.mT @ g.abs() + (m + 1) * v * (p.mT @ g.abs()) + u * (p.mT @ g).abs() + h
    t = g @ values.mT * kept
    dt = (width + 1) * v * (g.abs() @ values.abs().mT) * kept
    inner = (g * o).sum(-1, keepdim=True)
    d_inner = (g.abs() * (dp @ values.abs() + (n + width + 2) * v * total)).sum(-1, keepdim=True)
    z = plain * (t - inner)
    dz = d_plain * (t - inner).abs() + (plain + d_plain) * (dt + d_inner) + 3 * v * z.abs()
    product = torch.where(allowed, dz + u * z.abs() + h, 0.0)

    def weighed(size: int, operand: Tensor, exact: Tensor, vectors: Tensor) -> Tensor:
        """The error of a gradient that is a sum of so many vectors, weighed by gradients of scores."""
        summed = operand @ vectors.abs() + (size + 2) * v * (exact.abs() @ vectors.abs())
        return abs(scale) * (summed + u * (exact @ vectors).abs()) + h

    error = {
        "query": weighed(n, product, z, k),
        "key": _grouped(weighed(m, product.mT, z.mT, q), share),
        "value": _grouped(d_value, share),
    }
    if inputs.bias is not None:
        # Of items that share it, each item's may be rounded before they are added up.
        shape = inputs.bias.shape
        error["bias"] = product.sum_to_size(shape) + (case.batch * v + u) * z.abs().sum_to_size(shape)
    return {"output": do} | {f"gradient of {name}": bound for name, bound in error.items()}


def _grouped(error: Tensor, share: int) -> Tensor:
    return error.unflatten(1, (-1, share)).sum(2) if error.shape[1] else error


def _double(tensor: Tensor) -> Tensor:
    """In float64; what isn't finite makes a result that isn't, which has no bound, and else it is hidden."""
    return tensor.detach().cpu().double().nan_to_num(0.0, 0.0, 0.0)
