"""A case: sizes, a dtype, what is hidden, and a seed, from which the tensors of one call are made, and made again."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

__all__ = ["Case", "Inputs"]


@dataclass(frozen=True)
class Case:
    """One call of an attention function, by numbers and names alone, so that it can be shrunk and printed.

    Args:
        batch, heads, key_heads, queries, keys, feature, value: the sizes; `key_heads` divides `heads`.
        dtype: the name of a dtype of PyTorch.
        mask: what a mask hides: "" (there is none), "some" pairs at random (each row sees its first key), "edge" (all
            but a band), "rows" (some rows see nothing), "item" (the last item sees nothing), "end" (no row sees the
            last third of the keys, of two or more).
        causal: whether the function's own causal rule is asked for.
        bias: what is added to the scores: "" (nothing), "whole" (a number for each pair of each item), "table" (the
            same for all items, as learned positions are).
        scale: what the products are multiplied by; None: the function's default, 1 / sqrt(feature).
        magnitude: how large queries and keys are, times standard normal numbers.
        layout: how tensors lie in memory: "contiguous", "transposed", "sliced" (every second number of a larger
            tensor, from its second on) or "expanded" (one item, shown as often as the batch is large).
        upward_layout: the same of the gradient that comes from above; "one" is a single number, as `sum()` gives it.
        poison: a number that is written where `place` says: "nan", "inf", "3e38".
        place: "hidden key", "hidden value" (the last, which no row may see), "seen key", "seen value" (the last).
        same: whether all queries are zero, so that all weights are the same, and all values are positive.
        dropout: the fraction that is dropped; values are then the unit vectors, so that outputs are weights.
        seed: of all numbers.
    """

    batch: int = 1
    heads: int = 2
    key_heads: int = 2
    queries: int = 5
    keys: int = 5
    feature: int = 4
    value: int = 4
    dtype: str = "float32"
    mask: str = ""
    causal: bool = False
    bias: str = ""
    scale: float | None = None
    magnitude: float = 1.0
    layout: str = "contiguous"
    upward_layout: str = "contiguous"
    poison: str = ""
    place: str = ""
    same: bool = False
    dropout: float = 0.0
    seed: int = 0

    def __str__(self) -> str:
        """What differs from the usual, in words."""
        rows = f"{self.batch} x {self.heads} x {self.queries} {'query' if self.queries == 1 else 'queries'}"
        told = [f"{rows}, {self.keys} {'key' if self.keys == 1 else 'keys'} of {self.feature}", self.dtype]
        told += [f"heads of keys: {self.key_heads}"] * (self.key_heads != self.heads)
        told += [f"values of {self.value}"] * (self.value != self.feature)
        told += [f"mask {self.mask!r}"] * bool(self.mask)
        told += ["causal"] * self.causal + [f"bias {self.bias!r}"] * bool(self.bias)
        told += [] if self.scale is None else [f"scale {self.scale:g}"]
        told += [f"magnitude {self.magnitude:g}"] * (self.magnitude != 1)
        told += [f"tensors {self.layout}"] * (self.layout != "contiguous")
        told += [f"gradient from above {self.upward_layout}"] * (self.upward_layout != "contiguous")
        told += [f"{self.poison} in a {self.place}"] * bool(self.poison)
        told += ["equal weights"] * self.same + [f"dropout {self.dropout:g}"] * bool(self.dropout)
        return ", ".join(told)

    def make(self, device: str = "cpu") -> "Inputs":
        """The tensors; the same numbers on every device, rounded to the dtype."""
        generator = torch.Generator("cpu").manual_seed(self.seed)
        dtype: torch.dtype = getattr(torch, self.dtype)

        def numbers(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator, device="cpu")

        b, h, g, m, n = self.batch, self.heads, self.key_heads, self.queries, self.keys
        query = numbers(b, h, m, self.feature) * self.magnitude
        key = numbers(b, g, n, self.feature) * self.magnitude
        value = numbers(b, g, n, self.value)
        upward = numbers(b, h, m, self.value)
        mask = self._mask(generator) if self.mask else None
        bias = numbers(1 if self.bias == "table" else b, h, m, n) if self.bias else None
        if self.same:
            query, value, upward = torch.zeros_like(query), value.abs() + 0.5, upward.abs() + 0.5
        if self.dropout:
            value = torch.eye(n, self.value, device="cpu").expand(b, g, n, self.value)
        if self.poison and n:
            {"key": key, "value": value}[self.place.split()[1]][:, :, -1] = float(self.poison)
        laid = [_laid(tensor.to(dtype), self.layout).to(device) for tensor in (query, key, value)]
        return Inputs(
            self,
            *laid,
            upward=_laid(upward.to(dtype), self.upward_layout).to(device),
            mask=None if mask is None else mask.to(device),
            bias=None if bias is None else _laid(bias.to(dtype), self.layout).to(device),
        )

    def _mask(self, generator: torch.Generator) -> Tensor:
        shape = (self.batch, self.heads, self.queries, self.keys)
        allowed = torch.ones(shape, dtype=torch.bool, device="cpu")
        if self.mask == "some":
            allowed = torch.rand(shape, generator=generator, device="cpu") < 0.5
            allowed[..., :1] = True
        elif self.mask == "edge":
            apart = torch.arange(self.keys, device="cpu") - torch.arange(self.queries, device="cpu").unsqueeze(-1)
            allowed &= (apart >= -2) & (apart <= 1)
        elif self.mask == "rows":
            allowed[:, :, self.queries // 2 :: 2] = False
        elif self.mask == "item":
            allowed[-1] = False
        elif self.mask == "end":
            # One key stays at least.
            allowed[..., max(min(1, self.keys), self.keys - max(1, self.keys // 3)) :] = False
        return allowed


@dataclass(frozen=True)
class Inputs:
    """The tensors of one call: query, key, value; a mask (True = may attend) and a bias, or None; and the gradient that
    comes from above, `upward`."""

    case: Case
    query: Tensor
    key: Tensor
    value: Tensor
    upward: Tensor
    mask: Tensor | None = None
    bias: Tensor | None = None
    kept: Tensor | None = field(default=None)

    def allowed(self, alignment: str = "end") -> Tensor:
        """Which pairs may attend, (batch, head, query, key), on the CPU."""
        case = self.case
        shape = (case.batch, case.heads, case.queries, case.keys)
        allowed = torch.ones(shape, dtype=torch.bool, device="cpu")
        if self.mask is not None:
            allowed &= self.mask.cpu()
        if case.causal:
            late = case.keys - case.queries if alignment == "end" else 0
            allowed &= torch.ones(shape[2:], dtype=torch.bool, device="cpu").tril(late)
        return allowed

    @property
    def wanted(self) -> dict[str, Tensor]:
        """The tensors that get a gradient, by name."""
        named: dict[str, Any] = {"query": self.query, "key": self.key, "value": self.value, "bias": self.bias}
        return {name: tensor for name, tensor in named.items() if tensor is not None}


def _laid(tensor: Tensor, layout: str) -> Tensor:
    """The same numbers, laid out otherwise; "expanded" and "one" repeat the first of them."""
    if layout == "transposed":
        return tensor.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "sliced":
        wider = tensor.new_zeros(*tensor.shape[:-1], 2 * tensor.shape[-1] + 1)
        wider[..., 1::2] = tensor
        return wider[..., 1::2]
    if layout == "expanded":
        return tensor[:1].expand_as(tensor)
    if layout == "one":
        return tensor.new_full((), 0.5).expand_as(tensor)
    return tensor
