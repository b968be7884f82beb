"""What a request takes tile by tile, here and on the engines that are built on tiles."""

from regard.attention.costs import (
    CALL,
    TILE,
    Cost,
    bytes_of_output,
    bytes_of_reduction,
    bytes_per_pair,
    features,
    seconds_per_pair,
)
from regard.attention.engines.blocked.tiles import Extent, Tile, extent, tile_size, tiles
from regard.attention.request import Request

__all__ = ["cost", "counted", "extent_of", "seconds"]


def seconds(request: Request, *, compiled: bool = False) -> float:
    """The estimated time on the machine that the speeds are from. `compiled`: with compiled parts."""
    found = extent_of(request)
    return CALL + found.tiles * TILE + found.pairs * seconds_per_pair(request, compiled=compiled)


def cost(request: Request, *, compiled: bool = False) -> Cost:
    """The cost, counted tile by tile."""
    found, counts = counted(request)
    largest = max((tile.pairs for tile in found), default=0)
    memory = largest * bytes_per_pair(request, compiled=compiled)
    memory += bytes_of_reduction(request) + bytes_of_output(request)
    return Cost(2 * sum(tile.pairs for tile in found) * features(request), memory, counts)


def extent_of(request: Request) -> Extent:
    """The approximate size of all tiles of a request together."""
    size = tile_size(request.query.device)
    return extent(request.parts.mask, request.spans, request.edges, request.sizes, request.query.shape[1], size)


def counted(request: Request) -> tuple[list[Tile], dict[str, int]]:
    """The tiles of a request, and how many are skipped, partial and full."""
    batch, heads, queries, _ = request.query.shape
    found = list(tiles(request.parts.mask, request.spans, request.sizes, heads, tile_size(request.query.device)))
    full = sum(tile.full for tile in found)
    pairs = batch * heads * queries * request.key.shape[2]
    return found, {"skipped": _possible(found, pairs), "partial": len(found) - full, "full": full}


def _possible(found: list[Tile], pairs: int) -> int:
    """How many more tiles of this size there would be if nothing were hidden."""
    if not found:
        return 0
    held = sum(tile.pairs for tile in found)
    return max(0, round((pairs - held) / max(tile.pairs for tile in found)))
