"""The mods of PyTorch's examples and of attention-gym, written anew, each with what it computes of whole tensors.

A score case makes a `score_mod` and its oracle, a function of all scores (batch, head, query, key) by plain PyTorch. A
mask case makes a `mask_mod` and its oracle, a loop over single pairs in Python.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import and_masks, or_masks

BATCH, HEADS, LENGTH, SIZE = 2, 3, 149, 5
"""Two tiles of 128 a side, and one key head less than a multiple of anything."""


def drawn(*shape: int, seed: int = 0, grad: bool = True, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)


def documents(length: int = LENGTH) -> Tensor:
    """(batch, length), which document each item of a packed sequence belongs to."""
    cuts = torch.tensor([[10, 11, 70], [0, 64, 130]])
    return (torch.arange(length) >= cuts.unsqueeze(-1)).sum(1)


@dataclass(frozen=True)
class ScoreCase:
    """A `score_mod`.

    Attributes:
        mod: the function.
        dense: what it makes of all scores, by (scores, item, head, query, key), which broadcast.
        trained: the tensors that it captures and that have a gradient.
    """

    mod: Callable[..., Tensor]
    dense: Callable[..., Tensor]
    trained: tuple[Tensor, ...] = ()


def alibi() -> ScoreCase:
    slopes = drawn(HEADS)
    return ScoreCase(
        lambda score, b, h, q, k: score + slopes[h] * (k - q),
        lambda scores, b, h, q, k: scores + slopes.view(-1, 1, 1) * (k - q),
        (slopes,),
    )


def alibi_by_exponent() -> ScoreCase:
    def mod(score, b, h, q, k):
        return score - torch.exp2(-((h + 1) * 8.0 / HEADS)) * (q - k).abs()

    slopes = 2.0 ** -(torch.arange(1, HEADS + 1, dtype=torch.float32) * 8.0 / HEADS)
    return ScoreCase(mod, lambda scores, b, h, q, k: scores - slopes.view(-1, 1, 1) * (q - k).abs())


def relative() -> ScoreCase:
    return ScoreCase(lambda score, b, h, q, k: score + (q - k), lambda scores, b, h, q, k: scores + (q - k))


def relative_table() -> ScoreCase:
    table = drawn(HEADS, 2 * LENGTH - 1)
    return ScoreCase(
        lambda score, b, h, q, k: score + table[h, q - k + LENGTH - 1],
        lambda scores, b, h, q, k: scores + table[:, (q - k + LENGTH - 1)[0, 0]],
        (table,),
    )


def relative_table_twice_indexed() -> ScoreCase:
    table = drawn(2 * LENGTH - 1, HEADS)

    def mod(score, b, h, q, k):
        return score + table[q - k + LENGTH - 1][h]

    return ScoreCase(
        mod, lambda scores, b, h, q, k: scores + table[(q - k + LENGTH - 1)[0, 0]].permute(2, 0, 1), (table,)
    )


def buckets() -> ScoreCase:
    table = drawn(8, HEADS)

    def bucket(offset):
        near = offset.abs()
        far = 2 + (torch.log(near.clamp(min=1) / 2) / 2).long()
        return (offset > 0) * 4 + torch.where(near < 2, near, far.clamp(max=3))

    return ScoreCase(
        lambda score, b, h, q, k: score + table[bucket(k - q), h],
        lambda scores, b, h, q, k: scores + table[bucket(k - q)[0, 0]].permute(2, 0, 1),
        (table,),
    )


def soft_cap() -> ScoreCase:
    return ScoreCase(
        lambda score, b, h, q, k: 2 * torch.tanh(score / 2), lambda scores, b, h, q, k: 2 * torch.tanh(scores / 2)
    )


def trained_cap() -> ScoreCase:
    cap = drawn()
    return ScoreCase(
        lambda score, b, h, q, k: cap * torch.tanh(score / cap),
        lambda scores, b, h, q, k: cap * torch.tanh(scores / cap),
        (cap,),
    )


def temperature() -> ScoreCase:
    log = drawn(HEADS)
    scale = log.exp()  # captured behind an operation, with a gradient for what is before it
    return ScoreCase(
        lambda score, b, h, q, k: score * scale[h],
        lambda scores, b, h, q, k: scores * log.exp().view(-1, 1, 1),
        (log,),
    )


def hidden_by_score() -> ScoreCase:
    """A mask as a score_mod, which hides every key from some queries."""
    return ScoreCase(
        lambda score, b, h, q, k: torch.where((q >= k) & (q != 7), score, -float("inf")),
        lambda scores, b, h, q, k: scores.masked_fill(~((q >= k) & (q != 7)), -torch.inf),
    )


def bias() -> ScoreCase:
    """A bias of its own for each pair."""
    table = drawn(BATCH, HEADS, LENGTH, LENGTH)
    return ScoreCase(
        lambda score, b, h, q, k: score + table[b, h, q, k], lambda scores, b, h, q, k: scores + table, (table,)
    )


def bias_of_rows() -> ScoreCase:
    """Slices and numbers of Python among the indices."""
    table = drawn(2, BATCH, 3, LENGTH)
    return ScoreCase(
        lambda score, b, h, q, k: score * torch.sigmoid(table[1, b, :, q].sum()) + table[0, ..., 2, k].mean(),
        lambda scores, b, h, q, k: (
            scores * torch.sigmoid(table[1].sum(1)).view(BATCH, 1, LENGTH, 1) + table[0, :, 2].mean(0)
        ),
        (table,),
    )


def paged() -> ScoreCase:
    """Keys in pages: the mod sees where a key is kept, and looks up where it belongs."""
    logical = torch.randperm(LENGTH, generator=torch.Generator().manual_seed(1))
    slope = drawn()

    def mod(score, b, h, q, k):
        own = logical[k]
        return torch.where(own >= 0, score - slope * (q - own).abs(), -float("inf"))

    return ScoreCase(mod, lambda scores, b, h, q, k: scores - slope * (q - logical).abs(), (slope,))


def jagged() -> ScoreCase:
    """A mod of one sequence, applied to each document of a packed one by what its positions are there."""
    ids = documents()
    starts = torch.stack([torch.searchsorted(row, torch.arange(4)) for row in ids])
    slopes = drawn(HEADS)

    def inner(score, b, h, q, k):
        return score + slopes[h] * torch.cos(0.1 * (2 * q - k))

    def mod(score, b, h, q, k):
        start = starts[b, ids[b, q]]
        return inner(score, b, h, q - start, k - starts[b, ids[b, k]])

    def dense(scores, b, h, q, k):
        position = (torch.arange(LENGTH) - starts.gather(1, ids)).view(BATCH, 1, LENGTH)
        angle = 0.1 * (2 * position.unsqueeze(-1) - position.unsqueeze(-2))
        return scores + slopes.view(-1, 1, 1) * torch.cos(angle)

    return ScoreCase(mod, dense, (slopes,))


def latent() -> ScoreCase:
    """Multi-head latent attention: the product of the rotated parts, which all heads share on the side of the keys."""
    query, key = drawn(BATCH, HEADS, LENGTH, 4), drawn(BATCH, 1, LENGTH, 4, seed=1)
    return ScoreCase(
        lambda score, b, h, q, k: score + torch.dot(query[b, h, q], key[b, 0, k]) * 0.3,
        lambda scores, b, h, q, k: scores + query @ key.mT * 0.3,
        (query, key),
    )


class Smooth(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(1, 1, dtype=torch.float64)
        with torch.no_grad():
            self.inner.weight.fill_(0.3)
            self.inner.bias.fill_(-0.2)

    def forward(self, score, b, h, q, k):
        return score + self.inner(torch.sin(0.1 * (q - k)).double().unsqueeze(0)).squeeze(0)

    def bound(self, score, b, h, q, k):
        return self.forward(score, b, h, q, k)


def _module(get: Callable[[Smooth], Any]) -> ScoreCase:
    module = Smooth()
    weight, bias = module.inner.weight, module.inner.bias

    def dense(scores, b, h, q, k):
        return scores + torch.sin(0.1 * (q - k)).double() * weight[0, 0] + bias[0]

    return ScoreCase(get(module), dense, (weight, bias))


def module() -> ScoreCase:
    return _module(lambda module: module)


def bound_method() -> ScoreCase:
    return _module(lambda module: module.bound)


def partial() -> ScoreCase:
    table = drawn(HEADS)

    def general(score, b, h, q, k, *, by, power):
        return score * by[h] ** power

    return ScoreCase(
        functools.partial(general, by=table, power=2),
        lambda scores, b, h, q, k: scores * table.view(-1, 1, 1) ** 2,
        (table,),
    )


class Straight(torch.autograd.Function):
    """A rounded multiple, with the gradient of what isn't rounded."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores, factor):
        return (scores * factor).round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, *grads):
        scores, factor = ctx.saved_tensors
        return grads[0] * factor, grads[0] * scores


def own_gradient() -> ScoreCase:
    factor = drawn()

    def dense(scores, b, h, q, k):
        exact = scores * factor
        return exact + (exact.round() - exact).detach()

    return ScoreCase(lambda score, b, h, q, k: Straight.apply(score, factor), dense, (factor,))


def operators() -> ScoreCase:
    """Operators called by their names, which are no functions of PyTorch's front."""
    factor = drawn()
    return ScoreCase(
        lambda score, b, h, q, k: torch.ops.aten.mul.Tensor(score, factor),
        lambda scores, b, h, q, k: scores * factor,
        (factor,),
    )


SCORES: dict[str, Callable[[], ScoreCase]] = {
    make.__name__: make
    for make in (
        alibi,
        alibi_by_exponent,
        relative,
        relative_table,
        relative_table_twice_indexed,
        buckets,
        soft_cap,
        trained_cap,
        temperature,
        hidden_by_score,
        bias,
        bias_of_rows,
        paged,
        jagged,
        latent,
        module,
        bound_method,
        partial,
        own_gradient,
        operators,
    )
}


@dataclass(frozen=True)
class MaskCase:
    """A `mask_mod`.

    Attributes:
        mod: the function.
        allowed: the same of four numbers of Python.
        became: the type of the mask that it becomes.
        batch, heads: whether it differs between them.
        keys: how many keys there are for `LENGTH` queries.
    """

    mod: Callable[..., Tensor]
    allowed: Callable[[int, int, int, int], bool]
    became: str = "KeyIntervals"
    batch: bool = False
    heads: bool = False
    keys: int = LENGTH

    def table(self) -> Tensor:
        """Which pairs are allowed, by asking for one after the other."""
        items, heads = BATCH if self.batch else 1, HEADS if self.heads else 1
        pairs = [
            [[[self.allowed(b, h, i, j) for j in range(self.keys)] for i in range(LENGTH)] for h in range(heads)]
            for b in range(items)
        ]
        return torch.tensor(pairs)


def causal() -> MaskCase:
    return MaskCase(lambda b, h, q, k: q >= k, lambda b, h, i, j: i >= j, "Causal")


def causal_with_fewer_keys() -> MaskCase:
    """Aligned at the first key, which `Causal` isn't."""
    return MaskCase(lambda b, h, q, k: q >= k, lambda b, h, i, j: i >= j, keys=137)


def causal_with_a_cache() -> MaskCase:
    offset = torch.tensor(13)
    return MaskCase(lambda b, h, q, k: q + offset >= k, lambda b, h, i, j: i + 13 >= j, "Causal", keys=LENGTH + 13)


def causal_with_an_exception() -> MaskCase:
    """One pair of 22,201 differs."""
    return MaskCase(
        lambda b, h, q, k: (q >= k) & ~((q == 140) & (k == 131)),
        lambda b, h, i, j: i >= j and (i, j) != (140, 131),
    )


def everything() -> MaskCase:
    return MaskCase(lambda b, h, q, k: q == q, lambda b, h, i, j: True, "Dense")


def nothing() -> MaskCase:
    return MaskCase(lambda b, h, q, k: q != q, lambda b, h, i, j: False, "Lengths")


def sliding_window() -> MaskCase:
    return MaskCase(lambda b, h, q, k: (q >= k) & (q - k <= 20), lambda b, h, i, j: 0 <= i - j <= 20)


def prefix_lm() -> MaskCase:
    lengths = torch.tensor([30, 0])
    return MaskCase(
        lambda b, h, q, k: (k < lengths[b]) | (q >= k), lambda b, h, i, j: j < (30, 0)[b] or i >= j, batch=True
    )


def padding() -> MaskCase:
    lengths = torch.tensor([130, 11])
    return MaskCase(lambda b, h, q, k: k < lengths[b], lambda b, h, i, j: j < (130, 11)[b], "Lengths", batch=True)


def packed_documents() -> MaskCase:
    ids = documents()
    own = ids.tolist()
    return MaskCase(
        lambda b, h, q, k: (ids[b, q] == ids[b, k]) & (q >= k),
        lambda b, h, i, j: own[b][i] == own[b][j] and i >= j,
        batch=True,
    )


def documents_by_offsets() -> MaskCase:
    """Documents by where they begin, and rows without keys beyond the last."""
    offsets = torch.tensor([0, 17, 17, 80, 140])

    def document(position):
        return torch.searchsorted(offsets, position, right=True)

    def own(i):
        return sum(i >= offset for offset in (0, 17, 17, 80, 140))

    return MaskCase(
        lambda b, h, q, k: (document(q) == document(k)) & (q < 140),
        lambda b, h, i, j: own(i) == own(j) and i < 140,
    )


def joined() -> MaskCase:
    """Joined by PyTorch's functions; one of them calls the other's."""
    near = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 9)
    return MaskCase(or_masks(near, lambda b, h, q, k: k < 3), lambda b, h, i, j: 0 <= i - j < 9 or j < 3)


def sinks() -> MaskCase:
    """The first keys and a window: two intervals."""
    return MaskCase(
        lambda b, h, q, k: (q >= k) & ((q - k < 16) | (k < 4)), lambda b, h, i, j: i >= j and (i - j < 16 or j < 4)
    )


def dilated() -> MaskCase:
    return MaskCase(
        lambda b, h, q, k: ((q - k).abs() <= 30) & ((q - k) % 3 == 0),
        lambda b, h, i, j: abs(i - j) <= 30 and (i - j) % 3 == 0,
        "Tiles",
    )


def neighbourhood() -> MaskCase:
    """Natten: an item of a picture of 12 columns sees those that are at most 2 rows and 3 columns away."""

    def mod(b, h, q, k):
        return ((q // 12 - k // 12).abs() <= 2) & ((q % 12 - k % 12).abs() <= 3)

    return MaskCase(mod, lambda b, h, i, j: abs(i // 12 - j // 12) <= 2 and abs(i % 12 - j % 12) <= 3, "Tiles")


def window_of_each_head() -> MaskCase:
    widths = torch.tensor([3, 40, 200])
    return MaskCase(
        lambda b, h, q, k: (q - k).abs() < widths[h],
        lambda b, h, i, j: abs(i - j) < (3, 40, 200)[h],
        heads=True,
    )


def dilation_of_each_item_and_head() -> MaskCase:
    return MaskCase(
        lambda b, h, q, k: (q - k) % (b + h + 1) == 0,
        lambda b, h, i, j: (i - j) % (b + h + 1) == 0,
        "Tiles",
        batch=True,
        heads=True,
    )


def blocks_of_text_and_pictures() -> MaskCase:
    """Causal, but two pictures see all of themselves."""
    picture = torch.full((LENGTH,), -1)
    picture[20:50], picture[60:100] = 0, 1
    own = picture.tolist()
    return MaskCase(
        lambda b, h, q, k: (q >= k) | ((picture[q] >= 0) & (picture[q] == picture[k])),
        lambda b, h, i, j: i >= j or (own[i] >= 0 and own[i] == own[j]),
    )


def table_of_pairs() -> MaskCase:
    table = torch.rand(LENGTH, LENGTH, generator=torch.Generator().manual_seed(0)) < 0.1
    own = table.tolist()
    return MaskCase(lambda b, h, q, k: table[q, k], lambda b, h, i, j: own[i][j], "Tiles")


MASKS: dict[str, Callable[[], MaskCase]] = {
    make.__name__: make
    for make in (
        causal,
        causal_with_fewer_keys,
        causal_with_a_cache,
        causal_with_an_exception,
        everything,
        nothing,
        sliding_window,
        prefix_lm,
        padding,
        packed_documents,
        documents_by_offsets,
        joined,
        sinks,
        dilated,
        neighbourhood,
        window_of_each_head,
        dilation_of_each_item_and_head,
        blocks_of_text_and_pictures,
        table_of_pairs,
    )
}
