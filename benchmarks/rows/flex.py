"""PyTorch's flex_attention interface: a mask_mod beside the mask that it is, a score_mod beside the same built in."""

import torch
from torch import Tensor

from rows.row import Bench, Case, Maker, Row, Work, backward, forward

__all__ = ["ROWS"]


def _causal(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    return q_idx >= kv_idx


def _block_mask(module, length: int, device: str):
    return module.create_block_mask(_causal, None, None, length, length, device=device)


def _mask(bench: Bench) -> Case:
    query, key, value = inputs = bench.heads(bench.size(4096), training=True)

    def ours():
        from regard import flex

        block_mask = _block_mask(flex, query.shape[2], bench.device)
        return backward(lambda: flex.flex_attention(query, key, value, block_mask=block_mask), inputs)

    def built_in():
        from regard import attend
        from regard.attention import Causal

        return backward(lambda: attend(query, key, value, mask=Causal()), inputs)

    work = Work.of(8 * query.shape[2] * (query.shape[2] + 1) / 2, 64, training=True)
    return Case(ours, {"mask=Causal()": built_in}, work)


def _slopes(bench: Bench) -> Tensor:
    """The slopes of eight heads."""
    return 2.0 ** -torch.arange(1.0, 9.0, device=bench.device)


def _alibi(bench: Bench) -> Case:
    query, key, value = bench.heads(bench.size(4096), training=True)
    slopes = _slopes(bench).requires_grad_()
    inputs = query, key, value, slopes

    def ours():
        from regard import flex

        def score_mod(score, b, h, q_idx, kv_idx):
            return score - slopes[h] * (q_idx - kv_idx)

        block_mask = _block_mask(flex, query.shape[2], bench.device)
        return backward(lambda: flex.flex_attention(query, key, value, score_mod, block_mask), inputs)

    def built_in():
        from regard import attend
        from regard.attention.positions import Slopes

        return backward(lambda: attend(query, key, value, mask="causal", position=Slopes(slopes)), inputs)

    work = Work.of(8 * query.shape[2] * (query.shape[2] + 1) / 2, 64, training=True)
    return Case(ours, {"position=Slopes": built_in}, work)


def _soft_cap(bench: Bench) -> Case:
    query, key, value = bench.heads(bench.size(4096))

    def score_mod(score, b, h, q_idx, kv_idx):
        return 20 * torch.tanh(score / 20)

    def maker(get) -> Maker:
        def make():
            module, call = get()
            block_mask = _block_mask(module, query.shape[2], bench.device)
            return forward(lambda: call(query, key, value, score_mod, block_mask))

        return make

    def ours():
        from regard import flex

        return flex, flex.flex_attention

    def theirs():
        from torch.nn.attention import flex_attention as module

        return module, torch.compile(module.flex_attention, dynamic=False)

    pairs = 8 * query.shape[2] * (query.shape[2] + 1) / 2
    work = Work(4 * pairs * 64, 2 * pairs)
    return Case(maker(ours), {"compiled": maker(theirs)}, work)


ROWS = (
    Row(
        "mods-mask",
        "flex_attention, causal mask_mod, block mask kept, n = 4096, forward + backward",
        "the same mask built in",
        ("regard",),
        None,
        "",
        _mask,
        most=1.3,
    ),
    Row(
        "mods-score",
        "flex_attention, ALiBi as a score_mod, causal, n = 4096, forward + backward with the slopes",
        "the same built in",
        ("regard",),
        None,
        "",
        _alibi,
    ),
    Row(
        "mods-forward",
        "flex_attention, soft-cap as a score_mod, causal, n = 4096, forward",
        "PyTorch's flex_attention",
        ("torch",),
        None,
        "",
        _soft_cap,
    ),
)
