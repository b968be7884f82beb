"""Linear attention: the weights are products of features of queries and keys, so that keys are summed only once."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor

from regard.errors import ArgumentError, UnknownNameError
from regard.modules.efficient.approximation import Approximation
from regard.modules.efficient.feature_sums import feature_averages

__all__ = ["FEATURE_MAPS", "LinearAttention", "elu_features"]


def elu_features(vectors: Float[Tensor, "*rows feature"]) -> Float[Tensor, "*rows feature"]:
    """elu(x) + 1, which is x + 1 above 0 and exp(x) below, so that no weight is negative.

    Example:
        >>> import torch
        >>> elu_features(torch.tensor([1.0, 0.0, -1.0]))
        tensor([2.0000, 1.0000, 0.3679])
    """
    # elu(x) + 1 itself cancels: in float32, it is 0 from -17.3 on. At 0, the second part has the gradient, of 1;
    # that of `clamp` is 0 from PyTorch 2.14 on.
    return vectors.relu() + vectors.masked_fill(vectors > 0, 0).exp()


class LinearAttention(Approximation):
    """Attention whose weights are products of features of query and key, divided by their sum over the keys.

        out_i = phi(q_i)^T (sum_j phi(k_j) v_j^T) / (phi(q_i)^T sum_j phi(k_j))

    It takes O(n d v) time and O(n (d + v)) memory for n vectors of size d with values of size v. It replaces the
    exponential of softmax, exp(q . k / sqrt d), by another similarity, which it computes exactly. It isn't an estimate
    of softmax attention, so a model must be trained with it. If causal, it is a recurrent network, whose state is the
    two sums up to the current position.

    Args:
        feature_map: "elu", which is elu(x) + 1, or a function from (batch, head, length, feature) to features of any
            size that are never negative, which is checked on the CPU only, where that needs no synchronisation.

    A query whose weights have all underflowed gets zeros. With "elu" in float32, this happens only if all numbers of
    the vectors are about -33 or less.

    Raises:
        UnknownNameError: no feature map has that name.
        ArgumentError: `feature_map` is neither a name nor a function, or its features are negative.

    Source: Katharopoulos et al. 2020 (arXiv 2006.16236), section 3.2, equations 4 to 7; section 3.3 for the causal
        form, section 3.4 for the recurrent network.

    Example:
        >>> import torch
        >>> query, key = torch.zeros(1, 1, 2, 1), torch.tensor([0.0, 2.0]).view(1, 1, 2, 1)
        >>> value = torch.tensor([4.0, 8.0]).view(1, 1, 2, 1)
        >>> LinearAttention()(query, key, value, causal=True).flatten()  # the features of the keys are 1 and 3
        tensor([4., 7.])
    """

    causal = True

    def __init__(self, feature_map: Any = "elu"):
        super().__init__()
        if isinstance(feature_map, str) and feature_map not in FEATURE_MAPS:
            raise UnknownNameError("feature_map", feature_map, FEATURE_MAPS)
        if not isinstance(feature_map, str) and not callable(feature_map):
            raise ArgumentError(
                f"`feature_map` must be a name or a function of vectors, but is {feature_map!r:.60}. "
                f"Known names: {', '.join(FEATURE_MAPS)}."
            )
        self.feature_map: Any = feature_map

    def approximate(
        self,
        query: Float[Tensor, "batch head length feature"],
        key: Float[Tensor, "batch head length feature"],
        value: Float[Tensor, "batch head length value"],
        *,
        real: Bool[Tensor, "batch length"] | None,
        causal: bool,
    ) -> Float[Tensor, "batch head length value"]:
        features = FEATURE_MAPS[self.feature_map] if isinstance(self.feature_map, str) else self.feature_map
        query, key = features(query), features(key)
        if not isinstance(self.feature_map, str):
            _check_features(query, key)
        if real is not None:  # the features of zeros are not zeros
            key = key.masked_fill(~real[:, None, :, None], 0)
        return feature_averages(query, key, value, causal=causal)

    def extra_repr(self) -> str:
        return f"feature_map={self.feature_map!r}"


def _check_features(*features: Tensor) -> None:
    for each in features:
        if each.device.type == "cpu" and bool((each < 0).any()):
            raise ArgumentError(
                f"`feature_map` must give features that are never negative, but gave {float(each.detach().min()):.3g}. "
                "Use a function such as torch.relu or torch.exp."
            )


FEATURE_MAPS: dict[str, Callable[[Tensor], Tensor]] = {"elu": elu_features}
