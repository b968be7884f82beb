"""The cost of a request on an engine: a small model by which `auto` chooses, and which `plan` shows.

Each engine says what a request takes on it, `seconds(request)` and `cost(request)`; what they share is here. `auto`
needs the seconds at every new call, so they follow from what the mask's spans allow (pairs, multiplications, passes
over the scores) and from speeds measured once, on two cores. A machine that is uniformly faster makes the same
choices. `plan` may take longer, and counts tile by tile.
"""

from dataclasses import dataclass

import torch

from regard.attention.parts import declares, optional_method
from regard.attention.request import Request

__all__ = [
    "CALL",
    "EDGES",
    "TILE",
    "Cost",
    "bytes_of_output",
    "bytes_of_reduction",
    "bytes_per_pair",
    "features",
    "seconds_of_kernel",
    "seconds_per_pair",
    "width",
]

# Per second, on two cores with AVX-512 (AMD EPYC, torch 2.13, float32); benchmarks/rows measure them against others.
KERNEL = 3e11  # multiply-adds of PyTorch's fused kernel, its exponentials included
PRODUCTS = 3.6e11  # multiply-adds of the tiles' products in float32, by oneDNN, or by MKL on Intel CPUs
LIBRARY = 1.8e11  # multiply-adds of products by the library that PyTorch was built with
PASSES = 1e10  # scores that a pass over a tile reads and writes
ACTIVATIONS = 1.5e9  # (pair, feature) activations of additive scores in PyTorch
COMPILED = 1.2e10  # the same in compiled code
EDGES = 6e9  # (edge, feature) terms of the kernel along edges
TILE, CALL = 1e-4, 1e-5  # seconds of overhead for each tile and each call


@dataclass(frozen=True)
class Cost:
    """The cost of a forward pass.

    Attributes:
        work: multiplications and additions.
        memory: bytes at the peak, besides the inputs.
        tiles: how many tiles of rows and keys are skipped, partial and full.
        kernels: further bytes, at most, that loading and compiling kernels takes, once per process.
    """

    work: int
    memory: int
    tiles: dict[str, int]
    kernels: int = 0


def features(request: Request) -> int:
    """The sizes of a query and of a value together: multiplications and additions of a pair."""
    return request.query.shape[3] + request.value.shape[3]


def width(request: Request) -> int:
    """Bytes of a number in a tile's computation."""
    return max(request.query.element_size(), 4)


def seconds_of_kernel(request: Request, pairs: int) -> float:
    """The time of PyTorch's fused kernel for so many pairs."""
    return CALL + 2 * pairs * features(request) / KERNEL


def seconds_per_pair(request: Request, *, compiled: bool) -> float:
    """The time of a pair of query and key in a tile."""
    activates = declares(type(request.parts.score), "activates")
    products = PRODUCTS if width(request) == 4 and torch.backends.mkldnn.is_available() else LIBRARY
    found = 2 * (request.value.shape[3] if activates else features(request)) / products
    found += _passes(request, compiled=compiled) / PASSES
    if activates:
        found += request.query.shape[3] / (COMPILED if compiled else ACTIVATIONS)
    return found


def bytes_per_pair(request: Request, *, compiled: bool) -> int:
    """What a pair takes at the peak: score, weight, mask and two temporaries; with positions and dropout some more."""
    of_position = (8 + width(request)) * request.parts.position.acts_in_tiles
    return 5 * width(request) + of_position + 3 * 8 * (request.dropout > 0 and not compiled)


def bytes_of_output(request: Request) -> int:
    """What the output takes."""
    return request.query.shape[:3].numel() * request.value.shape[3] * request.query.element_size()


def bytes_of_reduction(request: Request) -> int:
    """What the copies take that are made of queries, keys and values before the scores are computed."""
    score = request.parts.score
    reduces = optional_method(score, "reduce") is not None and not declares(type(score), "keeps_vectors")
    if not (reduces or request.parts.position.overrides("heads")):
        return 0
    # In half precision the value is converted as well; computing the change takes temporaries.
    three = request.query, request.key, request.value
    numbers = sum(tensor.numel() for tensor in three[: 2 if request.query.element_size() >= 4 else 3])
    return (numbers + 3 * max(request.query.numel(), request.key.numel())) * width(request)


def _passes(request: Request, *, compiled: bool) -> float:
    """How many times the scores of a tile are read and written, besides the products."""
    kind = type(request.parts.weights)
    passes = (compiled and declares(kind, "compiled_passes")) or declares(kind, "passes") or 1.0
    passes += 1.0 * (not request.hides_nothing) + 3.0 * request.parts.position.acts_in_tiles
    return passes + (request.dropout > 0) * (2.0 if compiled else 40.0)
