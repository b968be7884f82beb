"""Causal averages of values whose weights are products of features that are given by their logarithms.

The exponentials of large features would overflow, so the largest exponent is subtracted first. If this were the largest
of all keys, a single later key could make the sums of earlier queries underflow. Here each sum over keys subtracts, for
each feature, the largest exponent of its own keys, and each query subtracts the largest exponent of its products with
the keys up to it. So each exponent is 0 or less, and the sum of the weights of each query is 1 or more before the
weights are divided by it.

A product of matrices has one such maximum for all its queries, which must come after all its keys. Therefore keys in
earlier blocks are summed in a state, which is rescaled whenever its maximum grows, and the pairs within a block are
divided into squares off the diagonal: the second half of the block with the first, and so on in each half.

Source: Choromanski et al. 2021 (arXiv 2009.14794), appendix B.1, for the causal sums; Milakov and Gimelshein 2018
    (arXiv 1805.02867), algorithm 3, for sums that are rescaled as their maximum grows.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint

__all__ = ["causal_averages"]

# Positions in a block, a power of 2. For each block the state of features x values is updated once.
BLOCK = 128


def causal_averages(
    query: Float[Tensor, "batch head length features"],
    key: Float[Tensor, "batch head length features"],
    value: Float[Tensor, "batch head length value"],
) -> Float[Tensor, "batch head length value"]:
    """The averages of the values up to each query, weighted by the products of the features of queries and keys.

    Args:
        query, key: the logarithms of the features; minus infinity in those of keys that must have no weight.
        value: what is averaged.

    A query gets zeros if no key up to its own has any weight.

    Example:
        >>> query, key = torch.zeros(1, 1, 3, 1), torch.tensor([1.0, 3.0, 400.0]).view(1, 1, 3, 1)
        >>> value = torch.tensor([4.0, 8.0, 1.0]).view(1, 1, 3, 1)
        >>> causal_averages(query, key, value).flatten()
        tensor([4.0000, 7.5232, 1.0000])
    """
    items, (length, size) = query.shape[:2], value.shape[2:]
    block = min(BLOCK, 1 << max(length - 1, 0).bit_length())
    extra = -length % block
    # One more value, of ones, whose sums are those of the weights.
    value = pad(value, (0, 1), value=1.0)
    if extra:
        query, value = (pad(each, (0, 0, 0, extra)) for each in (query, value))
        key = pad(key, (0, 0, 0, extra), value=-torch.inf)
    # (b h n d) -> ((b h) n d)
    query, key, value = (each.flatten(0, 1) for each in (query, key, value))
    sums = value.new_zeros(len(value), key.shape[-1], size + 1)
    top = _finite(key.new_full((len(key), 1, key.shape[-1]), -torch.inf))
    outputs = []
    for q, k, v in zip(query.split(block, 1), key.split(block, 1), value.split(block, 1), strict=True):
        if torch.is_grad_enabled():
            # The exponentials of all squares would take many times the memory of the features.
            output, sums, top = checkpoint(_block, q, k, v, sums, top, use_reentrant=False, preserve_rng_state=False)
        else:
            output, sums, top = _block(q, k, v, sums, top)
        outputs.append(output)
    output, norms = torch.cat(outputs, 1)[:, :length].unflatten(0, items).split([size, 1], -1)
    return output / norms.masked_fill(norms == 0, torch.inf)


def _block(query: Tensor, key: Tensor, value: Tensor, sums: Tensor, top: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The sums of one block, and the state after it: the sums of all keys, divided by the exponentials of `top`."""
    # The constants that are subtracted cancel, so that they have no gradient.
    running = _running_maximum(key.detach(), top)
    query = query - (query.detach() + running).amax(-1, keepdim=True)
    output = (query + top).exp() @ sums + (query + key).exp().sum(-1, keepdim=True) * value
    half = 1
    while half < query.shape[1]:
        later = query.unflatten(1, (-1, 2, half))[:, :, 1]
        earlier, summed = (each.unflatten(1, (-1, 2, half))[:, :, 0] for each in (key, value))
        largest = _finite(earlier.detach().amax(-2, keepdim=True))
        weights = (later + largest).exp() @ (earlier - largest).exp().mT
        output.unflatten(1, (-1, 2, half))[:, :, 1].add_(weights @ summed)
        half *= 2
    largest = running[:, -1:]
    sums = (top - largest).exp().mT * sums + (key - largest).exp().mT @ value
    return output, sums, largest


def _running_maximum(key: Tensor, top: Tensor) -> Tensor:
    """The largest of `top` and of all keys up to each. `torch.cummax` takes several times as long on a CPU."""
    found, shift = torch.maximum(key, top), 1
    while shift < found.shape[1]:
        found = torch.cat([found[:, :shift], torch.maximum(found[:, shift:], found[:, :-shift])], 1)
        shift *= 2
    return found


def _finite(largest: Tensor) -> Tensor:
    # Minus infinity, where there are no keys, less minus infinity would be NaN.
    return largest.clamp(min=torch.finfo(largest.dtype).min)
