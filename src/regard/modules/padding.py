"""Which items of a padded sequence are real, and the sequence with zeros for the others."""

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from regard.errors import ArgumentError

__all__ = ["is_full", "real_items", "zero_padding"]


def real_items(
    items: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]
) -> Bool[Tensor, "batch length"]:
    """True where an item is real, False where it is padding.

    Args:
        items: sequences side by side, padding behind.
        lengths: (batch,) how many items of each sequence are real.

    Raises:
        ArgumentError: not one length for each sequence, or (on the CPU, where looking is free) one that is negative
            or longer than the sequences.

    Example:
        >>> real_items(torch.zeros(2, 3), torch.tensor([1, 3])).tolist()
        [[True, False, False], [True, True, True]]
    """
    batch, longest = items.shape[:2]
    if lengths.shape != (batch,):
        raise ArgumentError(
            f"`lengths` must be ({batch},), one for each sequence, but is of shape {tuple(lengths.shape)}."
        )
    if lengths.device.type == "cpu" and batch and not 0 <= int(lengths.min()) <= int(lengths.max()) <= longest:
        raise ArgumentError(
            f"`lengths` must lie between 0 and {longest}, how long the sequences are with padding, "
            f"but go from {int(lengths.min())} to {int(lengths.max())}."
        )
    return torch.arange(longest, device=items.device) < lengths.to(items.device).unsqueeze(1)


def is_full(items: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> bool:
    """Whether it is known that there is no padding: on the CPU, where looking is free.

    Example:
        >>> is_full(torch.zeros(2, 3), torch.tensor([3, 3])), is_full(torch.zeros(2, 3), torch.tensor([3, 1]))
        (True, False)
    """
    batch, longest = items.shape[:2]
    if lengths.device.type != "cpu" or lengths.shape != (batch,) or not batch:
        return False
    return int(lengths.min()) == int(lengths.max()) == longest


def zero_padding(
    items: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]
) -> Shaped[Tensor, "batch length *item"]:
    """The same items, with zeros for padding, whatever it held: NaN and infinity are gone, and no gradient goes there.

    Raises:
        ArgumentError: as `real_items`.

    Example:
        >>> zero_padding(torch.tensor([[5.0, torch.nan]]), torch.tensor([1]))
        tensor([[5., 0.]])
    """
    if is_full(items, lengths):
        return items.clone()
    real = real_items(items, lengths)
    return items.masked_fill(~real.view(*real.shape, *[1] * (items.ndim - 2)), 0)
