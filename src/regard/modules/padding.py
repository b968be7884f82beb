"""Padding: which items of a padded sequence are real, and the sequence with zeros for the others."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from regard.attention import Lengths
from regard.attention.compilation.traceable import is_traceable
from regard.attention.masks import Mask
from regard.errors import ArgumentError

__all__ = ["checked_vectors", "is_full", "padding_mask", "real_items", "zero_padding"]


def real_items(
    items: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]
) -> Bool[Tensor, "batch length"]:
    """True where an item is real, False where it is padding.

    Args:
        items: a batch of sequences, padded at the end.
        lengths: (batch,) the number of real items of each sequence.

    Raises:
        ArgumentError: not one length for each sequence, or a length that is negative or exceeds that of the batch. The
            values are checked on the CPU only, where that doesn't cause a synchronisation.

    Example:
        >>> real_items(torch.zeros(2, 3), torch.tensor([1, 3])).tolist()
        [[True, False, False], [True, True, True]]
    """
    batch, longest = items.shape[:2]
    if lengths.shape != (batch,):
        raise ArgumentError(
            f"`lengths` must be ({batch},), one for each sequence, but is of shape {tuple(lengths.shape)}."
        )
    if _readable(lengths) and batch and not 0 <= int(lengths.min()) <= int(lengths.max()) <= longest:
        raise ArgumentError(
            f"`lengths` must lie between 0 and {longest}, how long the sequences are with padding, "
            f"but go from {int(lengths.min())} to {int(lengths.max())}."
        )
    return torch.arange(longest, device=items.device) < lengths.to(items.device).unsqueeze(1)


def is_full(items: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> bool:
    """Whether there is known to be no padding. It is known on the CPU only, where the check needs no synchronisation.

    Example:
        >>> is_full(torch.zeros(2, 3), torch.tensor([3, 3])), is_full(torch.zeros(2, 3), torch.tensor([3, 1]))
        (True, False)
    """
    batch, longest = items.shape[:2]
    if not _readable(lengths) or lengths.shape != (batch,) or not batch:
        return False
    return int(lengths.min()) == int(lengths.max()) == longest


def _readable(lengths: Tensor) -> bool:
    """Whether lengths can be read without waiting for a device, and aren't being traced without numbers."""
    return lengths.device.type == "cpu" and not is_traceable()


def padding_mask(
    items: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"], mask: Mask | None = None
) -> Mask | None:
    """A mask of self-attention that hides padding, too; where there is none, the mask alone, whose work may be less.

    Example:
        >>> padding_mask(torch.zeros(2, 3), torch.tensor([3, 3])) is None
        True
    """
    if is_full(items, lengths):
        return mask
    return Lengths(lengths) if mask is None else Lengths(lengths) & mask


def checked_vectors(
    vectors: Float[Tensor, "batch length width"], lengths: Int[Tensor, " batch"], width: int
) -> Float[Tensor, "batch length width"]:
    """The vectors with zeros at padding, after checking their size.

    Raises:
        ArgumentError: vectors of another size, or invalid lengths.
    """
    if vectors.shape[-1] != width:
        raise ArgumentError(f"`vectors` must be of size {width}, but are of size {vectors.shape[-1]}.")
    return zero_padding(vectors, lengths)


def zero_padding(
    items: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]
) -> Shaped[Tensor, "batch length *item"]:
    """The same items with zeros at padding, even if it held NaN or infinity; no gradient reaches padding.

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
