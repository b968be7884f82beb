"""Positions in the scores, with their tables' gradients: SDPA given the n x n bias, which is built from the table."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from rows.row import Bench, Case, Maker, Row, Work, backward, part

__all__ = ["ROWS"]

BUCKETS, FAR, REACH = 32, 128, 16


def buckets(offsets: Tensor) -> Tensor:
    """The bucket of each key's place less the query's: half of them for keys ahead, logarithmic from a quarter on.

    Source: Raffel et al. 2020 (arXiv 1910.10683), section 2.1, and the bidirectional buckets of its published code.
    """
    half = BUCKETS // 2
    exact = half // 2
    distance = offsets.abs()
    spread = torch.log(distance.clamp(min=1).float() / exact) / math.log(FAR / exact) * (half - exact)
    large = (exact + spread.long()).clamp(max=half - 1)
    return torch.where(distance < exact, distance, large) + half * (offsets > 0)


def _bias_from_buckets(table: Tensor, length: int) -> dict[str, Maker]:
    """The n x n bias of each head out of the table (bucket, head): three ways, to find the peer's best."""
    place = torch.arange(length, device=table.device)
    offsets = torch.arange(1 - length, length, device=table.device)

    def embedding():
        found = buckets(place - place[:, None])
        return lambda: F.embedding(found, table).permute(2, 0, 1)

    def indexing():
        found = buckets(place - place[:, None])
        return lambda: table.T[:, found]

    def unfolding():
        found = buckets(offsets)
        # Row i of the bias is a stretch of the 2n - 1 offsets: the first row is the last stretch.
        return lambda: table[found].T.unfold(-1, length, 1).flip(-2)

    return {"embedding of all buckets": embedding, "table by index": indexing, "2n - 1 offsets unfolded": unfolding}


def _bucketed(bench: Bench) -> Case:
    query, key, value = bench.heads(bench.size(4096), training=True)
    table = bench.normal(BUCKETS, 8, training=True)
    inputs = (query, key, value, table)

    def ours():
        from regard import attend

        position = part("Bucketed", heads=8, buckets=BUCKETS, reach=FAR).to(bench.device)
        position.table = torch.nn.Parameter(table.detach().T.contiguous())
        run = backward(lambda: attend(query, key, value, position=position), (query, key, value, position.table))
        # The peer's table is (bucket, head).
        return lambda: tuple(found.T if found.ndim == 2 else found for found in run())

    def theirs(make_bias: Maker) -> Maker:
        def make():
            bias = make_bias()
            return backward(lambda: F.scaled_dot_product_attention(query, key, value, attn_mask=bias()[None]), inputs)

        return make

    peers = {name: theirs(bias) for name, bias in _bias_from_buckets(table, query.shape[2]).items()}
    return Case(ours, peers, Work.of(8 * query.shape[2] ** 2, 64, training=True))


def _bucketed_package(bench: Bench) -> Case:
    case = _bucketed(bench)
    torch.manual_seed(bench.seed)
    query, key, value = bench.heads(bench.size(4096), training=True)
    table = bench.normal(BUCKETS, 8, training=True)

    def theirs():
        from x_transformers.attend import Attend
        from x_transformers.x_transformers import RelativePositionBias

        attention = Attend(flash=True, heads=8).to(bench.device)
        position = RelativePositionBias(1.0, num_buckets=BUCKETS, max_distance=FAR, heads=8).to(bench.device)
        with torch.no_grad():
            position.relative_attention_bias.weight.copy_(table)
        length = query.shape[2]
        return backward(
            lambda: attention(query, key, value, attn_bias=position(length, length))[0],
            (query, key, value, position.relative_attention_bias.weight),
        )

    return Case(case.ours, {"flash=True": theirs}, case.work)


def _relative(bench: Bench) -> Case:
    query, key, value = bench.heads(bench.size(4096), training=True)
    length = query.shape[2]
    table = (bench.normal(2 * REACH + 1, 64) / 8).requires_grad_()
    inputs = (query, key, value, table)

    def ours():
        from regard import attend

        position = part("Relative", 64, reach=REACH).to(bench.device)
        position.table = torch.nn.Parameter(table.detach().clone())
        return backward(lambda: attend(query, key, value, position=position), (query, key, value, position.table))

    place = torch.arange(length, device=bench.device)
    clipped = (place - place[:, None]).clamp(-REACH, REACH) + REACH

    def products() -> Tensor:
        return (query * 0.125) @ table.T

    def gathered() -> Tensor:
        return products().gather(-1, clipped.expand(1, 8, length, length))

    def banded() -> Tensor:
        """Only the band has distances of its own; to either side stands one number a row, repeated."""
        found = products()
        far = torch.where(place <= place[:, None], found[..., :1], found[..., -1:])
        rows = place[:, None].expand(length, 2 * REACH + 1)
        columns = rows + torch.arange(-REACH, REACH + 1, device=bench.device)
        inside = (columns >= 0) & (columns < length)
        return far.index_put((_all(0), _all(1), rows[inside], columns[inside]), found[..., inside])

    def _all(axis: int) -> Tensor:
        return torch.arange((1, 8)[axis], device=bench.device).view((-1, 1, 1) if axis == 0 else (-1, 1))

    def theirs(bias) -> Maker:
        return lambda: backward(lambda: F.scaled_dot_product_attention(query, key, value, attn_mask=bias()), inputs)

    peers = {
        "products with the table, gathered": theirs(gathered),
        "far sides repeated, the band put in": theirs(banded),
    }
    return Case(ours, peers, Work.of(8 * length**2, 64, training=True))


ROWS = (
    Row(
        "relative-training",
        "relative positions (Shaw, on keys), n = 4096, forward + backward with the table",
        "SDPA given the n x n bias",
        ("torch",),
        6.0,
        "a bias that wants a gradient sends the peer down its unfused path, with four 512 MiB matrices",
        _relative,
        least=4,
        seconds=20,
    ),
    Row(
        "bucketed-training",
        "bucketed positions (T5), n = 4096, forward + backward with the table",
        "SDPA given the n x n bias",
        ("torch",),
        6.0,
        "0.83 to 0.95 s to 5.6 to 6.5 s in the prototypes",
        _bucketed,
        least=4,
        seconds=20,
    ),
    Row(
        "bucketed-package",
        "bucketed positions (T5), n = 4096, forward + backward with the table",
        "x-transformers RelativePositionBias",
        ("x-transformers",),
        7.0,
        "the same unfused path, and the buckets of all pairs anew in each call",
        _bucketed_package,
        seconds=20,
    ),
)
