"""The base class of approximations of attention, which stand in for `attend` in a `MultiHeadAttention`."""

from collections.abc import Sequence
from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.precision import no_autocast, wide_dtype
from regard.attention.validation import integer_tensor
from regard.errors import ArgumentError
from regard.modules.padding import is_full, real_items

__all__ = ["Approximation"]


class Approximation(nn.Module):
    """Self-attention without all pairs of scores in memory: subclass it and write `approximate`.

    The base class checks the arguments, sums in float32 or wider, hides padding and gives zeros there, so that
    `approximate` has to deal with padding only where zeros would still count.

    Attributes:
        causal: whether it can keep queries from attending to later keys.
        shared_query_key: whether queries and keys must be the same vectors.
        size_argument: the name of the constructor's argument that a recipe sets by `approximation_size`; None if it has
            no size.

    Example:
        >>> import torch
        >>> class Mean(Approximation):
        ...     def approximate(self, query, key, value, *, real, causal):
        ...         count = key.shape[2] if real is None else real.sum(1).clamp(min=1)[:, None, None, None]
        ...         return (value.sum(2, keepdim=True) / count).expand_as(value)
        >>> vectors = torch.tensor([1.0, 2.0, 6.0]).view(1, 1, 3, 1)
        >>> Mean()(vectors, vectors, vectors, lengths=[2]).flatten()
        tensor([1.5000, 1.5000, 0.0000])
    """

    causal: ClassVar[bool] = False
    shared_query_key: ClassVar[bool] = False
    size_argument: ClassVar[str | None] = None

    def approximate(
        self,
        query: Float[Tensor, "batch head length feature"],
        key: Float[Tensor, "batch head length feature"],
        value: Float[Tensor, "batch head length value"],
        *,
        real: Bool[Tensor, "batch length"] | None,
        causal: bool,
    ) -> Float[Tensor, "batch head length value"]:
        """The weighted sums of the values.

        Args:
            query, key, value: zeros at padding.
            real: False at padding; None if there is none.
            causal: whether a query must not attend to later keys; False unless the class is `causal`.
        """
        raise NotImplementedError(f"{type(self).__name__} must define approximate(query, key, value, real, causal)")

    def forward(
        self,
        query: Float[Tensor, "batch head length feature"],
        key: Float[Tensor, "batch head length feature"],
        value: Float[Tensor, "batch head length value"],
        *,
        lengths: Tensor | Sequence[int] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "batch head length value"]:
        """Approximate what `regard.attend(query, key, value)` computes.

        Args:
            query, key, value: of one sequence; with as many heads each.
            lengths: (batch,) the number of real vectors of each item. What lies beyond is padding: nothing attends to
                it, and its own outputs are zeros.
            causal: whether a query attends only to keys up to its own. Later vectors then have no influence on an
                output, whatever they hold. From the first vector on that holds NaN or infinity, outputs are NaN.

        Raises:
            ArgumentError: the shapes don't fit, a length isn't an integer or is out of range, or `causal` isn't
                supported.
        """
        if query.ndim != 4 or key.shape != query.shape or value.shape[:-1] != query.shape[:-1]:
            raise ArgumentError(
                "`query`, `key` and `value` must be (batch, head, length, feature) of one sequence, with equally many "
                f"heads, but are {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}."
            )
        if causal and not self.causal:
            raise ArgumentError(
                f"`causal` must be False for {type(self).__name__}, which mixes all positions, but is True. Use one of "
                "the approximations that can be causal, or exact attention with mask='causal'."
            )
        real = None
        if lengths is not None:
            lengths = integer_tensor(lengths, "lengths", type(self).__name__, "one integer for each item", (1,))
            lengths = lengths.to(query.device)
            items = query.transpose(1, 2)
            real = None if is_full(items, lengths) else real_items(items, lengths)
        wide = wide_dtype(query)
        with no_autocast(query):
            parts = [each.to(wide) if real is None else _hidden(each.to(wide), real) for each in (query, key, value)]
            output = (self._causal if causal else self._both_ways)(*parts, real=real)
        return (output if real is None else _hidden(output, real)).to(query.dtype)

    def _both_ways(self, query: Tensor, key: Tensor, value: Tensor, *, real: Tensor | None) -> Tensor:
        return self.approximate(query, key, value, real=real, causal=False)

    def _causal(self, query: Tensor, key: Tensor, value: Tensor, *, real: Tensor | None) -> Tensor:
        """The approximation without NaN and infinity, which a weight of 0 doesn't hide, and NaN from the first one on.

        Nothing is looked up, so that no device is waited for.
        """
        lost = sum((each.detach() * 0).sum(-1, keepdim=True).cumsum(2) for each in (query, key, value))
        finite = [each.nan_to_num(0.0, 0.0, 0.0) for each in (query, value)]
        keys = finite[0] if key is query else key.nan_to_num(0.0, 0.0, 0.0)
        return self.approximate(finite[0], keys, finite[1], real=real, causal=True) + lost


def _hidden(vectors: Tensor, real: Tensor) -> Tensor:
    return vectors.masked_fill(~real[:, None, :, None], 0)
