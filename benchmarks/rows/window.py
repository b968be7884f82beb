"""A window of 128 keys to either side: SDPA with a mask, compiled flex_attention, local-attention."""

import torch
import torch.nn.functional as F
from torch import Tensor

from rows.row import Bench, Case, Maker, Row, Work, backward, forward, part

__all__ = ["ROWS"]

REACH = 128


def _pairs(length: int) -> float:
    """The pairs of 8 heads that lie in the window."""
    reach = min(REACH, length - 1)
    return 8.0 * (length * (2 * reach + 1) - reach * (reach + 1))


def _window(bench: Bench, length: int, training: bool, peers: str, built: bool = False) -> Case:
    inputs = bench.heads(length, training=training)
    query, key, value = inputs

    def wrap(function):
        return backward(function, inputs) if training else forward(function)

    def ours():
        from regard import attend

        mask = part("Window", REACH, REACH)
        return wrap(lambda: attend(query, key, value, mask=mask))

    makers: dict[str, Maker] = {
        "sdpa": lambda: _sdpa(query, key, value, wrap),
        "flex": lambda: _flex(query, key, value, wrap, built),
        "local": lambda: _local(query, key, value, wrap),
    }[peers]()
    return Case(ours, makers, Work.of(_pairs(length), 64, training=training))


def _sdpa(query: Tensor, key: Tensor, value: Tensor, wrap) -> dict[str, Maker]:
    def allowed() -> Tensor:
        place = torch.arange(query.shape[2], device=query.device)
        return (place[:, None] - place).abs() <= REACH

    def boolean():
        mask = allowed()
        return wrap(lambda: F.scaled_dot_product_attention(query, key, value, attn_mask=mask))

    def additive():
        mask = torch.zeros(query.shape[2], query.shape[2], device=query.device).masked_fill_(~allowed(), -torch.inf)
        return wrap(lambda: F.scaled_dot_product_attention(query, key, value, attn_mask=mask))

    return {"boolean mask": boolean, "float mask": additive}


def _flex(query: Tensor, key: Tensor, value: Tensor, wrap, built: bool) -> dict[str, Maker]:
    def mask(block: int):
        from torch.nn.attention.flex_attention import create_block_mask

        length = query.shape[2]
        return create_block_mask(_near, None, None, length, length, device=query.device, BLOCK_SIZE=block)

    def maker(block: int) -> Maker:
        def make():
            from torch.nn.attention.flex_attention import flex_attention

            compiled = torch.compile(flex_attention, dynamic=False)
            if built:
                return wrap(lambda: compiled(query, key, value, block_mask=mask(block)))
            kept = mask(block)
            return wrap(lambda: compiled(query, key, value, block_mask=kept))

        return make

    return {f"compiled, block {block}": maker(block) for block in (128, 64)}


def _near(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return (query - key).abs() <= REACH


def _local(query: Tensor, key: Tensor, value: Tensor, wrap) -> dict[str, Maker]:
    def maker(size: int) -> Maker:
        def make():
            from local_attention import LocalAttention

            # Its window is exact where a query looks at whole buckets to either side, and what is too far is hidden.
            layer = LocalAttention(
                window_size=size,
                look_backward=REACH // size,
                look_forward=REACH // size,
                exact_windowsize=True,
                autopad=True,
            ).to(query.device)
            return wrap(lambda: layer(query, key, value))

        return make

    return {f"buckets of {size}": maker(size) for size in (128, 64, 32)}


def _longer(bench: Bench, training: bool) -> Case:
    """Ours at 65536 beside ours at 8192: the peer is the shorter self."""
    long, short = (bench.heads(bench.size(length), training=training) for length in (65536, 8192))

    def maker(inputs) -> Maker:
        def make():
            from regard import attend

            mask = part("Window", REACH, REACH)
            run = lambda: attend(*inputs, mask=mask)  # noqa: E731
            return backward(run, inputs) if training else forward(run)

        return make

    work = Work.of(_pairs(bench.size(65536)), 64, training=training)
    return Case(maker(long), {"n = 8192": maker(short)}, work, tolerance=None)


ROWS = (
    Row(
        "window-forward",
        "window 128, n = 8192, forward",
        "SDPA with a mask",
        ("torch",),
        14.0,
        "257 of 8192 keys are seen; the prototype took 0.088 s to the peer's 1.2 s",
        lambda bench: _window(bench, bench.size(8192), False, "sdpa"),
        least=10,
    ),
    Row(
        "window-training",
        "window 128, n = 8192, forward + backward",
        "SDPA with a mask",
        ("torch",),
        14.0,
        "as forward: both sides do about three and a half times the work",
        lambda bench: _window(bench, bench.size(8192), True, "sdpa"),
        least=10,
    ),
    Row(
        "window-flex",
        "window 128, n = 8192, forward",
        "flex_attention, block mask kept",
        ("torch",),
        1.7,
        "0.150 s to the prototype's 0.088 s: its blocks of 128 hold 384 keys for 257",
        lambda bench: _window(bench, bench.size(8192), False, "flex"),
        least=1.5,
    ),
    Row(
        "window-flex-built",
        "window 128, n = 8192, forward",
        "flex_attention, block mask built in the call",
        ("torch",),
        30.0,
        "the peer evaluates 8192 x 8192 predicates, 3.2 s; our spans are O(n)",
        lambda bench: _window(bench, bench.size(8192), False, "flex", built=True),
    ),
    Row(
        "window-local",
        "window 128, n = 8192, forward",
        "local-attention",
        ("local-attention",),
        4.0,
        "it copies each bucket's neighbours and keeps all scores: bound by memory",
        lambda bench: _window(bench, bench.size(8192), False, "local"),
    ),
    Row(
        "window-local-training",
        "window 128, n = 8192, forward + backward",
        "local-attention",
        ("local-attention",),
        4.0,
        "as forward",
        lambda bench: _window(bench, bench.size(8192), True, "local"),
    ),
    Row(
        "window-long",
        "window 128, n = 65536, forward",
        "ours at n = 8192",
        ("regard",),
        8.2,
        "work is linear in n; eight times the memory leaves the cache",
        lambda bench: _longer(bench, False),
        most=9,
    ),
    Row(
        "window-long-training",
        "window 128, n = 65536, forward + backward",
        "ours at n = 8192",
        ("regard",),
        8.2,
        "as forward",
        lambda bench: _longer(bench, True),
        most=9,
    ),
)
