"""Extra keys that every query may attend to (attention sinks), in addition to the sequence's own."""

import torch
from torch import Tensor, nn

from regard.attention import Mask
from regard.attention.masks import ExtraKeysMask
from regard.errors import ArgumentError

__all__ = ["ExtraKeys"]


class ExtraKeys(nn.Module):
    """Keys and values that are prepended to the sequence's own and that no mask hides.

    Args:
        heads: the number of key heads.
        head_size: the size of a key and of a value.
        learned: whether each head has one learned key and value.
        zero: whether there is a key and value of zeros: its score is 0, and attending to it adds nothing.

    Raises:
        ArgumentError: neither `learned` nor `zero`.

    Source: `add_bias_kv` and `add_zero_attn` of PyTorch's nn.MultiheadAttention; why such keys help: Xiao et al. 2023,
        attention sinks (arXiv 2309.17453), section 3.

    Example:
        >>> key = torch.ones(2, 3, 5, 4)
        >>> [tuple(t.shape) for t in ExtraKeys(3, 4, zero=True)(key, key)]
        [(2, 3, 7, 4), (2, 3, 7, 4)]
    """

    def __init__(self, heads: int, head_size: int, *, learned: bool = True, zero: bool = False):
        super().__init__()
        if not learned and not zero:
            raise ArgumentError("`learned` or `zero` must be True: there would be no extra key. Leave ExtraKeys out.")
        shape = (heads, 1, head_size)
        self.key = nn.Parameter(torch.empty(shape)) if learned else None
        self.value = nn.Parameter(torch.empty(shape)) if learned else None
        self.zero = zero
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=head_size**-0.5)

    @property
    def count(self) -> int:
        """The number of extra keys."""
        return (self.key is not None) + self.zero

    def forward(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Prepend the extra keys and values to those of the sequence, (batch, head, key, size)."""
        return self._prepend(key, self.key), self._prepend(value, self.value)

    def extend_mask(self, mask: Mask) -> Mask:
        """The mask for the output of `forward`: the extra keys are allowed, and the others are as before."""
        return ExtraKeysMask(mask, self.count)

    def pad_bias(self, bias: Tensor, keys: int) -> Tensor:
        """The bias (..., query, key) for the output of `forward` on `keys` keys: 0 at the extra keys."""
        return nn.functional.pad(bias.expand(*bias.shape[:-1], keys), (self.count, 0))

    def _prepend(self, own: Tensor, learned: Tensor | None) -> Tensor:
        batch, heads, _, size = own.shape
        extra = [] if learned is None else [learned.to(own.dtype).expand(batch, -1, -1, -1)]
        if self.zero:
            extra.append(own.new_zeros(batch, heads, 1, size))
        return torch.cat([*extra, own], dim=2)
