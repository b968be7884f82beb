"""Decoding one token after another with the keys and values of those before."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rows.row import Bench, Case, Row, Work, forward

__all__ = ["ROWS"]

WIDTH, HEADS = 512, 8


def _work(steps: int, projections: int) -> Work:
    """Each step reads all keys and values so far, and the projections' matrices."""
    read = steps * (steps + 1) * WIDTH * 4
    return Work(4 * steps * steps / 2 * WIDTH + projections * 2 * steps * WIDTH**2, bytes=float(read))


def _operator(bench: Bench) -> Case:
    steps = bench.size(2048)
    query, key, value = bench.heads(steps)

    def each(attention):
        def run() -> Tensor:
            found = [
                attention(query[:, :, step : step + 1], key[:, :, : step + 1], value[:, :, : step + 1])
                for step in range(steps)
            ]
            return torch.cat(found, 2)

        return forward(run)

    def ours():
        from regard import attend

        return each(lambda *heads: attend(*heads, mask="causal"))

    return Case(ours, {"no mask": lambda: each(F.scaled_dot_product_attention)}, _work(steps, 0))


class _Preallocated(nn.Module):
    """Multi-head attention with keys and values written into tensors that hold all steps from the start."""

    def __init__(self, layer: nn.Module, steps: int, device: str):
        super().__init__()
        self.layer = layer
        self.kept = [torch.empty(1, HEADS, steps, WIDTH // HEADS, device=device) for _ in range(2)]

    def forward(self, vector: Tensor, step: int) -> Tensor:
        query, key, value = (
            linear(vector).unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)
            for linear in (self.layer.query, self.layer.key, self.layer.value)
        )
        for kept, new in zip(self.kept, (key, value), strict=True):
            kept[:, :, step : step + 1] = new
        keys, values = (kept[:, :, : step + 1] for kept in self.kept)
        heads = F.scaled_dot_product_attention(query, keys, values)
        return self.layer.output(heads.transpose(1, 2).flatten(2))


def _layer(bench: Bench) -> Case:
    from regard.modules import MultiHeadAttention

    steps = bench.size(2048)
    vectors = bench.normal(1, steps, WIDTH)
    layer = MultiHeadAttention(WIDTH, heads=HEADS).to(bench.device).eval()

    def ours():
        from regard.modules import Cache

        def run() -> Tensor:
            cache = Cache(room=steps)
            found = [layer(vectors[:, step : step + 1], mask="causal", cache=cache) for step in range(steps)]
            return torch.cat(found, 1)

        return forward(run)

    def theirs():
        peer = _Preallocated(layer, steps, bench.device)
        return forward(lambda: torch.cat([peer(vectors[:, step : step + 1], step) for step in range(steps)], 1))

    return Case(ours, {"the same linears": theirs}, _work(steps, 4))


ROWS = (
    Row(
        "decoding",
        "decoding with the cache, 2048 steps, layer of width 512",
        "SDPA on a preallocated cache",
        ("torch",),
        0.93,
        "20 us of Python a step on about 250 us",
        _layer,
        least=0.9,
    ),
    Row(
        "decoding-operator",
        "attend, one query to 1 ... 2048 keys",
        "SDPA",
        ("torch",),
        0.88,
        "the same microseconds on a call without projections",
        _operator,
    ),
)
