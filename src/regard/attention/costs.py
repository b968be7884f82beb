"""The cost of a request on an engine: a small model by which `auto` chooses, and which `plan` shows.

`auto` needs it at every call, so it takes what the mask's spans allow (pairs, multiplications, passes over the scores)
and divides by speeds measured once, on two cores. A machine that is uniformly faster makes the same choices. `plan` may
take longer, and counts tile by tile.
"""

from dataclasses import dataclass
from typing import Any

import torch

from regard.attention.engines import fused, jit
from regard.attention.engines.blocked.tiles import Extent, Tile, extent, tile_size, tiles
from regard.attention.masks import And, Edges, Mask
from regard.attention.parts import optional_method
from regard.attention.request import Request
from regard.attention.scores import Additive, ScaledDot
from regard.attention.sizes import Sizes
from regard.attention.weights import Budget, Entmax, Softmax, Sparsemax, TopK

__all__ = ["KERNELS", "Cost", "cost", "seconds"]

KERNELS = 200 * 2**20  # bytes that loading Numba and compiling kernels takes, once per process; measured

LISTED_EDGE, FILTERED_EDGE = 48, 66  # bytes of an edge while a mask lists it, and another mask filters it; measured

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
    """

    work: int
    memory: int
    tiles: dict[str, int]


def seconds(name: str, request: Request) -> float:
    """The estimated time of an engine that doesn't refuse the request, on the machine that the speeds are from."""
    batch, heads, queries, feature = request.query.shape
    keys, value = request.value.shape[2:]
    groups, features = batch * heads, feature + value
    if name == "jit" and jit.takes_edges(request):
        return CALL + groups * len(request.edges.keys) * features / EDGES if request.edges else CALL
    if name == "fused":
        return CALL + 2 * fused.pairs(request) * features / KERNEL
    found = Extent(groups * queries * keys, 1)
    if name != "dense":
        size = tile_size(request.query.device)
        found = extent(request.parts.mask, request.spans, request.edges, request.sizes, heads, size)
    if name == "banded":
        return CALL + 2 * found.pairs * features / KERNEL
    additive = type(request.parts.score) is Additive
    products = PRODUCTS if _width(request) == 4 and torch.backends.mkldnn.is_available() else LIBRARY
    per_pair = 2 * (value if additive else features) / products
    per_pair += _passes(request, compiled=name == "jit") / PASSES
    if additive:
        per_pair += feature / (COMPILED if name == "jit" else ACTIVATIONS)
    return CALL + found.tiles * TILE + found.pairs * per_pair


def cost(name: str, request: Request) -> Cost:
    """The cost of a request on an engine that doesn't refuse it, counted tile by tile."""
    batch, heads, queries, feature = request.query.shape
    keys, value = request.value.shape[2:]
    groups, features, size = batch * heads, feature + value, request.query.element_size()
    output = groups * queries * value * size
    if name == "jit" and jit.takes_edges(request):
        edges = len(request.edges.keys) if request.edges else 0
        packed = groups * (queries + keys) * features * size
        lists = _edge_lists(request.parts.mask, request.sizes)
        return Cost(2 * groups * edges * features, packed + lists + output, {"edges": edges})
    size = tile_size(request.query.device)
    found = [] if name == "dense" else list(tiles(request.parts.mask, request.spans, request.sizes, heads, size))
    counts = {
        "skipped": _possible(found, queries, keys, groups) if found else 0,
        "partial": sum(not tile.full for tile in found),
        "full": sum(tile.full for tile in found),
    }
    pairs = sum(tile.pairs for tile in found) if name != "dense" else groups * queries * keys
    if name == "fused":
        pairs = fused.pairs(request)
        if fused.computes_padding(request):
            counts["partial"], counts["skipped"] = counts["partial"] + counts["skipped"], 0
    work = 2 * pairs * features
    copied = 0 if name == "dense" else _copied(request, name)
    if name in ("fused", "banded"):
        return Cost(work, copied + output, counts)
    largest = pairs if name == "dense" else max((tile.pairs for tile in found), default=0)
    # At the peak: scores, weights, the boolean mask and two temporaries; with positions and dropout some more.
    width = _width(request)
    beside = (
        5 * width + (8 + width) * request.parts.position.acts_in_tiles + 3 * 8 * (request.dropout > 0 and name != "jit")
    )
    return Cost(work, int(largest * beside) + copied + output, counts)


def _edge_lists(mask: Mask, sizes: Sizes) -> int:
    """Bytes at the peak while the edges of a mask are listed; none if it holds them itself."""
    if type(mask) is Edges:
        return 0
    listed = (
        next((side for side in (mask.left, mask.right) if side.edges(sizes) is not None), mask)
        if type(mask) is And
        else mask
    )
    edges = listed.edges(sizes)
    # While they are filtered, the mask's own lists are held.
    return (FILTERED_EDGE if listed is not mask else LISTED_EDGE) * (0 if edges is None else len(edges.keys))


def _copied(request: Request, name: str) -> int:
    """Bytes of the copies that are made of queries, keys and values before the scores are computed."""
    three = request.query, request.key, request.value
    reduces = optional_method(request.parts.score, "reduce") is not None and type(request.parts.score) is not ScaledDot
    turns = request.parts.position.overrides("heads")
    numbers = 0
    if reduces or turns:
        # In half precision the value is converted as well; computing the change takes temporaries.
        numbers += sum(t.numel() for t in three[: 2 if request.query.element_size() >= 4 else 3])
        numbers += 3 * max(request.query.numel(), request.key.numel())
    if name == "fused" and request.query.shape[-1] != request.value.shape[-1]:
        numbers += sum(t.numel() for t in three)
    if name == "banded":
        # Tensors are made contiguous, and the kernel's output is copied.
        numbers += request.query.numel() + sum(t.numel() for t in three if not t.is_contiguous())
    return numbers * _width(request)


def _width(request: Request) -> int:
    """Bytes of a number in a tile's computation."""
    return max(request.query.element_size(), 4)


def _possible(found: list[Tile], queries: int, keys: int, groups: int) -> int:
    """How many more tiles of this size there would be if nothing were hidden."""
    held = sum(tile.pairs for tile in found)
    return max(0, round((groups * queries * keys - held) / max(tile.pairs for tile in found)))


def _passes(request: Request, *, compiled: bool) -> float:
    """How many times the scores of a tile are read and written, besides the products."""
    weights: Any = request.parts.weights
    passes = 1.0
    if type(weights) in (Entmax, Sparsemax, Budget):
        passes = 2.0 if compiled else 24.0
    elif type(weights) is TopK:
        passes = 8.0
    elif type(weights) is Softmax:
        passes = 2.0
    passes += 1.0 * (not request.hides_nothing) + 3.0 * request.parts.position.acts_in_tiles
    return passes + (request.dropout > 0) * (2.0 if compiled else 40.0)
