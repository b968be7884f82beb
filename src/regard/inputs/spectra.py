"""From how loud each band of pitch is back to how loud each frequency is."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

__all__ = ["spectra_of"]

_ROUNDS = 30  # of what bands of real speech say, less than a thousandth is then left


def spectra_of(
    bands: Float[Tensor, "frame band"], filters: Float[Tensor, "frequency band"]
) -> Float64[Tensor, "frame frequency"]:
    """Power spectra that have nearly these bands: never below 0, and in a time that the numbers don't change.

    There are more frequencies than bands. Beginning with each band spread evenly over its frequencies, all are scaled
    by how far their bands are from what they should be, again and again, which lowers the divergence sum(b log(b / f) -
    b + f) of the wanted bands b from those found, f. As it is relative, quiet bands count like loud ones.

    Args:
        bands: the power in each band, 0 or more.
        filters: how much of each frequency each band takes in, 0 or more; what no band takes in becomes 0.

    Source: D. Lee and H. S. Seung, 2001, "Algorithms for non-negative matrix factorization", theorem 2.

    Example:
        >>> spectra_of(torch.tensor([[6.0, 1.0]]), torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, 0.0]]))
        tensor([[3., 3., 2., 0.]], dtype=torch.float64)
    """
    wanted, filters = bands.double(), filters.double()
    least = torch.finfo(torch.float64).tiny
    taken = filters.sum(1).clamp(min=least)
    spectra = wanted @ (filters / filters.sum(0).clamp(min=least)).T
    for _ in range(_ROUNDS):
        spectra = spectra * ((wanted / (spectra @ filters).clamp(min=least)) @ filters.T) / taken
    return spectra
