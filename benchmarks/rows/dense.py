"""Softmax of a dot product, every pair: what PyTorch's own kernel does; and the whole layer beside x-transformers'."""

import torch
import torch.nn.functional as F
from torch import Tensor

from rows.row import Bench, Case, Row, Work, backward, forward

__all__ = ["ROWS"]


def _softmax(bench: Bench, length: int, *, training: bool, half: bool = False) -> Case:
    dtype = torch.bfloat16 if half else torch.float32
    query, key, value = inputs = bench.heads(length, dtype=dtype, training=training)

    def ours():
        from regard import attend

        return wrap(lambda: attend(query, key, value))

    def wrap(function):
        return backward(function, inputs) if training else forward(function)

    return Case(
        ours,
        {"no mask": lambda: wrap(lambda: F.scaled_dot_product_attention(query, key, value))},
        Work.of(8 * length**2, 64, training=training, half=half),
        tolerance=2e-2 if half else 1e-3,
    )


def _padded(bench: Bench) -> Case:
    most, items = bench.size(256), 16
    query, key, value = inputs = [bench.normal(items, 4, most, 32, training=True) for _ in range(3)]
    lengths = torch.linspace(most * 3 // 4, most, items, dtype=torch.int64).to(bench.device)
    allowed = (torch.arange(most, device=bench.device) < lengths[:, None])[:, None, None]

    def ours():
        from regard import attend
        from regard.attention import Lengths

        mask = Lengths(key=lengths)
        return backward(lambda: attend(query, key, value, mask=mask), inputs)

    def peer(mask: Tensor):
        return backward(lambda: F.scaled_dot_product_attention(query, key, value, attn_mask=mask), inputs)

    bias = torch.zeros(allowed.shape, device=bench.device).masked_fill(~allowed, -torch.inf)
    return Case(
        ours,
        {"a bool for each key": lambda: peer(allowed), "a bias for each key": lambda: peer(bias)},
        Work.of(items * 4 * most**2, 32, training=True),
    )


def _layer(bench: Bench) -> Case:
    length = bench.size(2048)
    vectors = bench.normal(1, length, 512, training=True)

    def theirs():
        from x_transformers.x_transformers import Attention

        torch.manual_seed(bench.seed)
        return Attention(dim=512, heads=8, dim_head=64, flash=True).to(bench.device)

    def peer():
        layer = theirs()
        return backward(lambda: layer(vectors), [vectors, *layer.parameters()])

    def ours():
        from regard.modules import MultiHeadAttention

        source, layer = theirs(), MultiHeadAttention(512, heads=8, bias=False).to(bench.device)
        pairs = (
            (layer.query, source.to_q),
            (layer.key, source.to_k),
            (layer.value, source.to_v),
            (layer.output, source.to_out),
        )
        with torch.no_grad():
            for own, other in pairs:
                own.weight.copy_(other.weight)
        weights: list[Tensor] = [own.weight for own, _ in pairs]
        return backward(lambda: layer(vectors), [vectors, *weights])

    work = Work.of(8 * length**2, 64, training=True)
    projections = 4 * 3 * 2 * length * 512**2
    return Case(ours, {"flash=True": peer}, Work(work.products + projections, work.exponentials))


ROWS = (
    Row(
        "softmax-forward",
        "softmax(dot), n = 8192, forward",
        "SDPA",
        ("torch",),
        1.00,
        "it is dispatched to the peer; a scan and a plan cost microseconds of a second",
        lambda bench: _softmax(bench, bench.size(8192), training=False),
        least=0.97,
    ),
    Row(
        "softmax-training",
        "softmax(dot), n = 8192, forward + backward",
        "SDPA",
        ("torch",),
        1.00,
        "dispatched, backward too",
        lambda bench: _softmax(bench, bench.size(8192), training=True),
        least=0.97,
    ),
    Row(
        "softmax-half",
        "softmax(dot), n = 8192, bfloat16, forward",
        "SDPA",
        ("torch",),
        1.00,
        "dispatched; the scan for finiteness reads 24 MiB, a thousandth of the work",
        lambda bench: _softmax(bench, bench.size(8192), training=False, half=True),
        least=0.97,
    ),
    Row(
        "softmax-half-training",
        "softmax(dot), n = 8192, bfloat16, forward + backward",
        "SDPA",
        ("torch",),
        1.00,
        "dispatched, backward too",
        lambda bench: _softmax(bench, bench.size(8192), training=True, half=True),
        least=0.97,
    ),
    Row(
        "short-forward",
        "softmax(dot), n = 128, forward: overhead",
        "SDPA",
        ("torch",),
        1.10,
        "25 us of Python on the peer's 250 us, if the plan is cached",
        lambda bench: _softmax(bench, 128, training=False),
        most=1.15,
        seconds=4,
    ),
    Row(
        "short-training",
        "softmax(dot), n = 128, forward + backward: overhead",
        "SDPA",
        ("torch",),
        1.05,
        "the same microseconds on three times the work",
        lambda bench: _softmax(bench, 128, training=True),
        most=1.15,
        seconds=4,
    ),
    Row(
        "padded-training",
        "softmax(dot), 16 items of 192 to 256, 4 heads of 32, forward + backward",
        "SDPA",
        ("torch",),
        1.05,
        "the same kernel with the same bias, and a scan of the inputs for numbers that aren't finite",
        _padded,
        most=1.15,
        seconds=4,
    ),
    Row(
        "layer-training",
        "multi-head layer, width 512, n = 2048, forward + backward",
        "x-transformers Attention",
        ("x-transformers",),
        1.05,
        "the same kernel and projections; the peer rearranges heads by einops",
        _layer,
    ),
)
