"""Performer (FAVOR+): softmax attention estimated by positive random features, whose keys are summed only once."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.efficient.approximation import Approximation
from regard.modules.efficient.feature_sums import feature_averages
from regard.modules.efficient.log_feature_sums import causal_averages

__all__ = ["PerformerAttention", "log_features", "orthogonal_directions"]


def orthogonal_directions(
    count: int, size: int, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> Float[Tensor, "{count} {size}"]:
    """Random vectors, each distributed as one of `size` standard normal numbers, and orthogonal in groups of `size`.

    Each group is a random rotation, whose rows get the lengths of independent normal vectors. They are drawn from
    torch's global generator.

    Source: Choromanski et al. 2021 (arXiv 2009.14794), section 2.4.

    Example:
        >>> found = orthogonal_directions(5, 3)
        >>> torch.allclose(found[:3] @ found[:3].T, found[:3].square().sum(1).diag(), atol=1e-5)
        True
    """
    groups, wide = -(-count // size), torch.promote_types(dtype or torch.get_default_dtype(), torch.float32)
    rotation, triangle = torch.linalg.qr(torch.randn(groups, size, size, dtype=wide, device=device))
    # Only with the signs of a triangle of positive diagonal is the rotation uniform, and the estimate unbiased.
    rotation = rotation * triangle.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
    lengths = torch.randn(groups, size, size, dtype=wide, device=device).norm(dim=-1, keepdim=True)
    return (rotation.mT * lengths).flatten(0, 1)[:count].to(dtype or torch.get_default_dtype())


def log_features(
    vectors: Float[Tensor, "*rows feature"], directions: Float[Tensor, "features feature"]
) -> Float[Tensor, "*rows features"]:
    """The logarithms of the positive features of vectors, w . x - |x|^2 / 2 for each direction w.

    The mean of exp(log_features(q) + log_features(k)) over the directions is an unbiased estimate of exp(q . k).

    Source: Choromanski et al. 2021 (arXiv 2009.14794), lemma 1, equation 7.

    Example:
        >>> log_features(torch.tensor([3.0, 4.0]), torch.tensor([[1.0, 2.0], [0.0, 0.0]]))
        tensor([ -1.5000, -12.5000])
    """
    return (vectors @ directions.mT).sub_(vectors.square().sum(-1, keepdim=True), alpha=0.5)


class PerformerAttention(Approximation):
    """An estimate of softmax attention by positive orthogonal random features (FAVOR+).

        exp(q . k / sqrt d)  is estimated by  1/m sum_f phi_f(q) phi_f(k)
        phi_f(x) = exp(w_f . x' - |x'|^2 / 2),  x' = x / d^(1/4),  f = 1..m

    with random directions w_f. The sums over the keys then don't contain the query, as in `LinearAttention`. It takes
    O(n m d) time and O(n (m + d)) memory for n vectors of size d. The estimate of the exponential is unbiased; its
    error falls as 1 / sqrt(m), but grows exponentially with the lengths of q and k. A weight is a ratio of two such
    estimates, which is unbiased only in the limit of many features. All weights are positive, and they sum to 1.

    The exponentials of large features would overflow. The authors subtract each query's largest exponent, and the
    largest exponent of all keys. Here the largest exponent of all keys is subtracted for each feature by itself and
    added to the same feature of the queries, whose largest exponent is subtracted next. This doesn't change the weights
    either, and the sum of the weights of a query never underflows to zero. If causal, only the keys up to the query
    count, so that later keys don't change earlier outputs.

    Args:
        head_size: the size of a query, d.
        features: the number of random features, m.
        redraw: after how many calls in training new directions are drawn; None: only when `draw` is called. The number
            of calls is part of the state, so that a resumed training repeats the draws.

    Attributes:
        directions: (features, head_size), drawn from torch's global generator and saved with the module.

    Raises:
        ArgumentError: a size isn't a positive integer.

    Source: Choromanski et al. 2021 (arXiv 2009.14794), sections 2.3 (positive features) and 2.4 (orthogonal ones);
        appendix B.1 for the causal sums.

    Example:
        >>> from regard import attend
        >>> _ = torch.manual_seed(0)
        >>> query, key, value = torch.randn(3, 1, 1, 50, 8) * 0.5
        >>> exact = attend(query, key, value)
        >>> [round((PerformerAttention(8, m)(query, key, value) - exact).abs().mean().item(), 2) for m in (16, 4096)]
        [0.02, 0.0]
    """

    causal = True
    size_argument = "features"
    directions: Tensor
    calls: Tensor | None

    def __init__(self, head_size: int, features: int = 256, redraw: int | None = None):
        super().__init__()
        check_count("head_size", head_size, "the size of a query")
        check_count("features", features, "the number of random features")
        if redraw is not None:
            check_count("redraw", redraw, "after how many calls new features are drawn, or None")
        self.redraw = redraw
        device = torch.get_default_device()
        self.register_buffer("directions", orthogonal_directions(features, head_size, device=device))
        self.register_buffer("calls", None if redraw is None else torch.zeros((), dtype=torch.long, device=device))

    def draw(self) -> None:
        """Draw new directions."""
        old = self.directions
        # A new tensor: the backward pass of an earlier call may still need the old one.
        self.directions = orthogonal_directions(*old.shape, dtype=old.dtype, device=old.device)

    def approximate(
        self,
        query: Float[Tensor, "batch head length feature"],
        key: Float[Tensor, "batch head length feature"],
        value: Float[Tensor, "batch head length value"],
        *,
        real: Bool[Tensor, "batch length"] | None,
        causal: bool,
    ) -> Float[Tensor, "batch head length value"]:
        if self.training and self.redraw is not None and self.calls is not None:
            if self.calls and self.calls % self.redraw == 0:
                self.draw()
            self.calls += 1
        if query.shape[-1] != self.directions.shape[1]:
            raise ArgumentError(
                f"`query` and `key` must be vectors of `head_size` {self.directions.shape[1]}, but are of size "
                f"{query.shape[-1]}. Make the PerformerAttention with that size."
            )
        if not key.shape[2]:
            return value
        directions, scale = self.directions.to(query.dtype), query.shape[-1] ** -0.25
        query, key = log_features(query * scale, directions), log_features(key * scale, directions)
        if real is not None:
            key = key.masked_fill(~real[:, None, :, None], -torch.inf)
        if causal:
            return causal_averages(query, key, value)
        # Both cancel, so that they have no gradient. Where there are no keys at all, the largest is minus infinity.
        largest = key.detach().amax(2, keepdim=True).clamp(min=torch.finfo(key.dtype).min)
        key = key.sub_(largest).exp_()
        query = query.add_(largest)
        query = query.sub_(query.detach().amax(-1, keepdim=True)).exp_()
        return feature_averages(query, key, value)

    def extra_repr(self) -> str:
        return f"{self.directions.shape[1]}, features={self.directions.shape[0]}, redraw={self.redraw}"
