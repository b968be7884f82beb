"""Attention functions with one mistake each, and the laws that must convict them.

All are made of one right function by a change of a line, so that nothing but the mistake differs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.jury import Claims

CLAIMS = Claims(
    causal="causal",
    mask="mask",
    bias="bias",
    scale="scale",
    dropout="dropout",
    seed="seed",
    grouped=True,
    value_size=True,
)


@dataclass
class Steps:
    """The steps of attention in float32 or wider; a mistake overrides one."""

    def scale(self, feature: int) -> float:
        return 1 / math.sqrt(feature)

    def late(self, rows: int, columns: int) -> int:
        return columns - rows

    def heads(self, tensor: Tensor, share: int) -> Tensor:
        return tensor.repeat_interleave(share, 1)

    def hidden(self, mask: Tensor) -> Tensor:
        return ~mask

    def weights(self, scores: Tensor, hidden: Tensor) -> Tensor:
        # Zeros in place of hidden scores first: exp of what is infinite has a gradient that is NaN.
        top = scores.detach().masked_fill(hidden, -math.inf)
        top = top.amax(-1, keepdim=True).masked_fill(hidden.all(-1, keepdim=True), 0.0)
        powers = torch.where(hidden, top, scores).sub(top).exp().masked_fill(hidden, 0.0)
        total = powers.sum(-1, keepdim=True)
        return powers / torch.where(hidden.all(-1, keepdim=True), 1.0, total)

    def kept(self, weights: Tensor, dropout: float, seed: int | None) -> Tensor:
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        return (torch.rand(weights.shape, generator=generator) >= dropout) / (1 - dropout)

    def dropped(self, weights: Tensor, kept: Tensor) -> Tensor:
        return weights * kept

    def sum(self, weights: Tensor, value: Tensor, hidden: Tensor) -> Tensor:
        """Pair by pair where a value is NaN or infinite, as 0 x NaN is NaN."""
        if value.isfinite().all():
            return weights @ value
        return torch.where(hidden.unsqueeze(-1), 0.0, weights.unsqueeze(-1) * value.unsqueeze(2)).sum(3)

    def before(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return query, key, value

    def clean(self, tensor: Tensor, hidden: Tensor, share: int) -> Tensor:
        """What no row may see, as zeros: 0 x NaN is NaN."""
        unseen = hidden.all(2).unflatten(1, (-1, share)).all(2)
        return tensor.masked_fill(unseen.unsqueeze(-1), 0.0)

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        causal: bool = False,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> Tensor:
        query, key, value = self.before(query, key, value)
        rows, columns, share = query.shape[2], key.shape[2], query.shape[1] // key.shape[1]
        wide = torch.promote_types(query.dtype, torch.float32)
        hidden = torch.zeros(*query.shape[:3], columns, dtype=torch.bool)
        if mask is not None:
            hidden = hidden | self.hidden(mask)
        if causal:
            hidden = hidden | ~torch.ones(rows, columns, dtype=torch.bool).tril(self.late(rows, columns))
        key, value = (self.clean(tensor.to(wide), hidden, share) for tensor in (key, value))
        key, value = (self.heads(tensor, share) for tensor in (key, value))
        scores = query.to(wide) @ key.mT * (self.scale(query.shape[3]) if scale is None else scale)
        scores = scores if bias is None else scores + bias
        weights = self.weights(scores, hidden)
        if dropout:
            weights = self.dropped(weights, self.kept(weights, dropout, seed))
        return self.sum(weights, value, hidden).to(query.dtype)


class WrongScale(Steps):
    def scale(self, feature: int) -> float:
        return 1 / feature


class GivenScaleTwice(Steps):
    def __call__(self, *tensors: Tensor, scale: float | None = None, **options: Any) -> Tensor:
        return super().__call__(*tensors, scale=None if scale is None else 2 * scale, **options)


class MaskOffByOne(Steps):
    """The last key of each row is never hidden."""

    def hidden(self, mask: Tensor) -> Tensor:
        hidden = ~mask
        hidden[..., -1] &= ~mask.any(-1)
        return hidden


class AlignedAtTheStart(Steps):
    def late(self, rows: int, columns: int) -> int:
        return 0


class CausalOffByOne(Steps):
    def late(self, rows: int, columns: int) -> int:
        return columns - rows + 1


class NaNOfEmptyRows(Steps):
    def weights(self, scores: Tensor, hidden: Tensor) -> Tensor:
        return scores.masked_fill(hidden, -math.inf).softmax(-1)


class MeanOfEmptyRows(Steps):
    def weights(self, scores: Tensor, hidden: Tensor) -> Tensor:
        return scores.masked_fill(hidden, -1e30).softmax(-1)


class LeaksNaN(Steps):
    def clean(self, tensor: Tensor, hidden: Tensor, share: int) -> Tensor:
        return tensor

    def sum(self, weights: Tensor, value: Tensor, hidden: Tensor) -> Tensor:
        return weights @ value


class SwallowsNaN(Steps):
    def clean(self, tensor: Tensor, hidden: Tensor, share: int) -> Tensor:
        return super().clean(tensor, hidden, share).nan_to_num(0.0, 0.0, 0.0)


class WrongHeads(Steps):
    def heads(self, tensor: Tensor, share: int) -> Tensor:
        return tensor.repeat(1, share, 1, 1)


class ChangesItsInput(Steps):
    def before(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query = query.detach().mul_(2.0).div_(4.0) * 2 if not query.requires_grad else query
        return query, key, value


class IgnoresStrides(Steps):
    """Reads a tensor's memory from its first number on, as a kernel does that takes no strides."""

    def before(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        dense = value.as_strided(value.shape, torch.empty(value.shape).stride())
        return query, key, value if value.is_contiguous() or value.numel() == 0 or 0 in value.stride() else dense


class SumsInHalf(Steps):
    def __call__(self, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        if query.dtype not in (torch.float16, torch.bfloat16):
            return super().__call__(query, key, value, **options)
        scores = (query.float() @ key.float().mT) / math.sqrt(query.shape[3])
        weights, total = scores.softmax(-1).to(query.dtype), 0.0
        for column in range(key.shape[2]):
            total = total + weights[..., column, None] * value[:, :, column, None]
        return total


class RoundsScores(Steps):
    def __call__(self, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        if query.dtype not in (torch.float16, torch.bfloat16):
            return super().__call__(query, key, value, **options)
        scores = (query @ key.mT) / math.sqrt(query.shape[3])
        return (scores.float().softmax(-1) @ value.float()).to(query.dtype)


class Overflows(Steps):
    def weights(self, scores: Tensor, hidden: Tensor) -> Tensor:
        powers = scores.masked_fill(hidden, -math.inf).exp()
        return powers / torch.where(hidden.all(-1, keepdim=True), 1.0, powers.sum(-1, keepdim=True))


class StaleDropout(Steps):
    """One draw for all calls."""

    def kept(self, weights: Tensor, dropout: float, seed: int | None) -> Tensor:
        return super().kept(weights, dropout, 0)


class UnscaledDropout(Steps):
    def kept(self, weights: Tensor, dropout: float, seed: int | None) -> Tensor:
        return super().kept(weights, dropout, seed) * (1 - dropout)


class DropsTooMuch(Steps):
    def kept(self, weights: Tensor, dropout: float, seed: int | None) -> Tensor:
        return super().kept(weights, dropout**0.5, seed) * (1 - dropout**0.5) / (1 - dropout)


class FailsAt(Steps):
    """Forgets the last key of lengths that are one more than a block of 16."""

    def weights(self, scores: Tensor, hidden: Tensor) -> Tensor:
        if scores.shape[-1] > 16 and scores.shape[-1] % 16 == 1:
            hidden = hidden.clone()
            hidden[..., -1] = True
        return super().weights(scores, hidden)


class _Written(torch.autograd.Function):
    """Attention with a backward of its own, whose mistake is named."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mistake: str) -> Tensor:
        scale = 1 / math.sqrt(query.shape[3])
        weights = (query @ key.mT * scale).softmax(-1)
        ctx.save_for_backward(query, key, value, weights)
        ctx.mistake, ctx.scale = mistake, scale
        return weights @ value

    @staticmethod
    def backward(ctx: Any, *upward: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights = ctx.saved_tensors
        (grad,) = upward
        if ctx.mistake == "reads the gradient as if it were contiguous" and not grad.is_contiguous():
            grad = grad.as_strided(grad.shape, (0, 0, 0, 0)) if 0 in grad.stride() else grad.contiguous().flip(-1)
        of_weights = grad @ value.mT
        delta = (of_weights * weights).sum(-1, keepdim=True)
        if ctx.mistake == "no delta":
            delta = 0.0
        of_scores = weights * (of_weights - delta) * ctx.scale
        of_value = weights.mT @ grad
        if ctx.mistake == "another order each time":
            order = torch.randperm(weights.shape[2])
            of_value = weights[:, :, order].mT @ grad[:, :, order]
        of_query = of_scores @ key
        if ctx.mistake == "the query's gradient needs the key's" and not ctx.needs_input_grad[1]:
            of_query = torch.zeros_like(of_query)
        return of_query, of_scores.mT @ query, of_value, None


def written(mistake: str) -> Callable[..., Tensor]:
    def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return _Written.apply(query, key, value, mistake)

    return attention


class _DropoutForgotten(torch.autograd.Function):
    """weights * kept, with a backward that doesn't know of what was dropped."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, kept: Tensor) -> Tensor:
        return weights * kept

    @staticmethod
    def backward(ctx: Any, *upward: Tensor) -> tuple[Tensor, None]:
        return upward[0], None


class ForgetsDropout(Steps):
    def dropped(self, weights: Tensor, kept: Tensor) -> Tensor:
        return _DropoutForgotten.apply(weights, kept)


class _LosesTangent(torch.autograd.Function):
    """A second derivative that is left out: the product is taken as a constant in the backward."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, value: Tensor) -> Tensor:
        ctx.save_for_backward(weights, value)
        return weights @ value

    @staticmethod
    def backward(ctx: Any, *upward: Tensor) -> tuple[Tensor, Tensor]:
        weights, value = (tensor.detach() for tensor in ctx.saved_tensors)
        return upward[0] @ value.mT, weights.mT @ upward[0]


class FirstOrderOnly(Steps):
    def sum(self, weights: Tensor, value: Tensor, hidden: Tensor) -> Tensor:
        return _LosesTangent.apply(weights, value)


class DetachedBias(Steps):
    def __call__(self, *tensors: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
        return super().__call__(*tensors, bias=None if bias is None else bias.detach(), **options)


class NoTangent(Steps):
    """Its output has no tangent of its query, without an error."""

    def before(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        from torch.autograd import forward_ad

        return forward_ad.unpack_dual(query).primal if forward_ad._current_level >= 0 else query, key, value


PLAIN = Claims(second_order=False, dtypes=("float64", "float32"))


@dataclass(frozen=True)
class Broken:
    """A function, its claims, the law that must convict it, and those that may, as they contain its case ("*": any)."""

    function: Callable[..., Tensor]
    claims: Claims
    law: str
    also: set[str]


BROKEN: dict[str, Broken] = {
    "a scale": Broken(WrongScale(), CLAIMS, "outputs", {"*"}),
    "a given scale": Broken(GivenScaleTwice(), CLAIMS, "scale", set()),
    "a mask off by one": Broken(
        MaskOffByOne(), CLAIMS, "mask", {"hidden", "lengths", "second_order", "forward_mode", "one_gradient"}
    ),
    "alignment": Broken(AlignedAtTheStart(), CLAIMS, "alignment", set()),
    "causal off by one": Broken(
        CausalOffByOne(),
        CLAIMS,
        "causal",
        {"alignment", "hidden", "lengths", "second_order", "forward_mode"},
    ),
    "NaN of empty rows": Broken(NaNOfEmptyRows(), CLAIMS, "empty_rows", set()),
    "mean of empty rows": Broken(MeanOfEmptyRows(), CLAIMS, "empty_rows", set()),
    "a NaN leak": Broken(LeaksNaN(), CLAIMS, "hidden", set()),
    "NaN swallowed": Broken(SwallowsNaN(), CLAIMS, "seen", {"hidden"}),
    "another head's keys": Broken(WrongHeads(), CLAIMS, "grouped", set()),
    "an input changed": Broken(ChangesItsInput(), CLAIMS, "inputs", {"*"}),
    "strides ignored": Broken(IgnoresStrides(), CLAIMS, "strides", set()),
    "sums in half precision": Broken(SumsInHalf(), CLAIMS, "half", {"half_gradients"}),
    "scores in half precision": Broken(RoundsScores(), CLAIMS, "half", {"half_gradients", "large_scores"}),
    "exp overflows": Broken(Overflows(), CLAIMS, "large_scores", {"half", "half_gradients"}),
    "one draw of dropout": Broken(StaleDropout(), CLAIMS, "seeds", {"dropout"}),
    "dropout not scaled": Broken(UnscaledDropout(), CLAIMS, "dropout", {"dropout_gradients"}),
    "too much dropped": Broken(DropsTooMuch(), CLAIMS, "dropout", set()),
    "dropout forgotten in the backward": Broken(ForgetsDropout(), CLAIMS, "dropout_gradients", set()),
    "a length": Broken(FailsAt(), CLAIMS, "lengths", {"*"}),
    "no delta in the backward": Broken(written("no delta"), PLAIN, "gradients", {"*"}),
    "another order in the backward": Broken(written("another order each time"), PLAIN, "determinism", set()),
    "the gradient's strides": Broken(written("reads the gradient as if it were contiguous"), PLAIN, "strides", set()),
    "one gradient alone": Broken(written("the query's gradient needs the key's"), PLAIN, "one_gradient", set()),
    "a bias without a gradient": Broken(
        DetachedBias(), CLAIMS, "bias", {"one_gradient", "second_order", "forward_mode"}
    ),
    "no second order": Broken(FirstOrderOnly(), CLAIMS, "second_order", {"hidden"}),
    "no tangent": Broken(NoTangent(), CLAIMS, "forward_mode", set()),
}
