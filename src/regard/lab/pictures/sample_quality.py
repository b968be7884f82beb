"""How good generated samples are, measured between vectors of real and of generated ones."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.validation import check_count, check_tensor
from regard.errors import ArgumentError

__all__ = ["coverage", "frechet_distance"]

_ROWS = 1000


def frechet_distance(real: Float[Tensor, "real feature"], generated: Float[Tensor, "generated feature"]) -> float:
    """The squared Fréchet distance between the normal distributions with the means and covariances of two sets.

        |m - n|^2 + tr(C + D - 2 (C D)^(1/2))

    0 means equal means and covariances; lower is better. With vectors of Inception v3 it is the FID. It is biased
    upwards for few vectors: compare sets of the same size.

    Args:
        real, generated: the vectors, at least two in each.

    Raises:
        ArgumentError: fewer than two vectors, vectors of unequal size, or a number that isn't finite.

    Source: Dowson, Landau 1982, The Fréchet distance between multivariate normal distributions, J. Multivariate
        Analysis 12; Heusel et al. 2017 (arXiv 1706.08500), equation 6.

    Example:
        >>> here = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
        >>> round(frechet_distance(here, here + torch.tensor([3.0, 4.0])), 9)
        25.0
    """
    _check(real, generated, (2, 2))
    first, second = (vectors.detach().cpu().double().numpy() for vectors in (real, generated))
    shift = first.mean(0) - second.mean(0)
    one, other = (np.atleast_2d(np.cov(vectors, rowvar=False)) for vectors in (first, second))
    # C D has the eigenvalues of the symmetric matrix C^(1/2) D C^(1/2): real ones, negative by rounding only.
    root = _square_root(one)
    product = np.linalg.eigvalsh(root @ other @ root).clip(min=0)
    distance = shift @ shift + np.trace(one) + np.trace(other) - 2 * np.sqrt(product).sum()
    return max(float(distance), 0.0)


def coverage(
    real: Float[Tensor, "real feature"], generated: Float[Tensor, "generated feature"], *, neighbours: int = 5
) -> float:
    """The fraction of the real vectors that have a generated one near them: quality and variety. Higher is better.

    Near is at most as far away as the k-th nearest other real vector. Two large samples of one distribution have a
    coverage of 1 - 2^-k. Memory grows linearly with the number of vectors.

    Args:
        real, generated: the vectors, more than `neighbours` real ones.
        neighbours: k.

    Raises:
        ArgumentError: too few vectors, vectors of unequal size, a number that isn't finite, or an invalid `neighbours`.

    Source: Naeem et al. 2020 (arXiv 2002.09797), section 3, coverage.

    Example:
        >>> real = torch.tensor([[0.0], [1.0], [5.0], [9.0]])
        >>> coverage(real, torch.tensor([[1.5], [2.5], [40.0]]), neighbours=1)
        0.5
    """
    check_count("neighbours", neighbours, "a number of vectors")
    _check(real, generated, (neighbours + 1, 1))
    covered = []
    for rows in real.detach().double().split(_ROWS):
        # The vector itself is the nearest one, at a distance of 0.
        radius = torch.cdist(rows, real.detach().double()).kthvalue(neighbours + 1).values
        covered.append(torch.cdist(rows, generated.detach().double()).amin(1) <= radius)
    return float(torch.cat(covered).double().mean())


def _square_root(matrix: np.ndarray) -> np.ndarray:
    """The square root of a symmetric matrix without negative eigenvalues, which is symmetric."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(values.clip(min=0))) @ vectors.T


def _check(real: Tensor, generated: Tensor, fewest: tuple[int, int]) -> None:
    for name, vectors, least in zip(("real", "generated"), (real, generated), fewest, strict=True):
        check_tensor(name, vectors, f"({name}, feature)", (2,))
        if len(vectors) < least:
            raise ArgumentError(f"`{name}` must hold {least} vectors or more, but holds {len(vectors)}.")
        if not vectors.isfinite().all():
            raise ArgumentError(f"`{name}` must hold finite numbers, but some aren't. The generator may have diverged.")
    if real.shape[1] != generated.shape[1]:
        raise ArgumentError(
            f"`generated` must hold vectors of {real.shape[1]} numbers, as `real` does, but has {generated.shape[1]}."
        )
