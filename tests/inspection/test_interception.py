"""What can't be recorded runs as it does unwatched: each part of the interception is made to fail."""

import inspect
import sys
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from regard.errors import ArgumentError
from regard.inspection import HideKey, PartlySeen, watch
from regard.inspection.capture.by_hand import call_by_hand, einsum, elementwise, fits, followed, products
from regard.inspection.capture.by_hand import recognition as by_hand
from regard.inspection.capture.functions import FUNCTIONS

watching = sys.modules[watch.__module__]
SIZE = 8
X = torch.randn(2, 5, SIZE, generator=torch.Generator().manual_seed(0))


class ByHand(nn.Module):
    """Attention by hand in each way that is followed."""

    def forward(self, x):
        scores = torch.einsum("bqd,bkd->bqk", x, x) / 3 + 0.5
        weights = functional.dropout(scores.unsqueeze(1).squeeze(1).softmax(-1), 0.0).mul_(1.0)
        other = ((x.unsqueeze(-2) * x.unsqueeze(-3)).sum(-1)).softmax(-1)
        return weights @ x + (other.unsqueeze(-1) * x.unsqueeze(-3)).sum(-2) + (other.mT @ other).softmax(-1) @ x


class Called(nn.Module):
    def forward(self, x):
        return functional.scaled_dot_product_attention(x, x, x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([ByHand(), Called(), nn.MultiheadAttention(SIZE, 2)])

    def forward(self, x):
        x = x + self.parts[1](self.parts[0](x))
        return x + self.parts[2](x, x, x)[0]


def functions_of(owner):
    """The functions that a module or a class defines."""
    place = owner.__module__ if isinstance(owner, type) else owner.__name__
    return {
        f"{place.rpartition('.')[2]}.{getattr(owner, '__name__', '')}.{name}": (owner, name)
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and value.__module__ == place and name not in ("__init__", "clear", "__eq__")
    }


def used_by_hand():
    """The functions that `by_hand` has from elsewhere, where it looks them up."""
    places = {module.__name__ for module in (call_by_hand, einsum, elementwise, fits, followed, products)}
    return {
        name: (by_hand, name)
        for name, value in vars(by_hand).items()
        if inspect.isfunction(value) and value.__module__ in places
    }


PARTS = {
    **used_by_hand(),
    **functions_of(by_hand),
    **functions_of(call_by_hand),
    **functions_of(by_hand.ByHand),
    **functions_of(followed.Followed),
    "recorded_call": (watching, "recorded_call"),
    **{f"the reader of {func.__name__}": (FUNCTIONS, func) for func in FUNCTIONS},
}


def failing(called):
    def fail(*args, **kwargs):
        called.append(True)
        raise RuntimeError("this part fails\nin two lines")

    return fail


@pytest.mark.parametrize("part", PARTS)
def test_no_error_of_what_looks_on_reaches_the_model(part, monkeypatch):
    owner, name = PARTS[part]
    torch.manual_seed(0)
    model = Model().eval()
    output, called = model(X), []
    (monkeypatch.setitem if isinstance(owner, dict) else monkeypatch.setattr)(owner, name, failing(called))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with watch(model) as seen:
            watched = model(X)
    assert torch.equal(watched, output)
    if called:
        (warning,) = said
        assert issubclass(warning.category, PartlySeen) or not seen.layers
        assert "couldn't be followed (RuntimeError: this part fails)" in str(warning.message)


def test_parts_are_found():
    assert len(PARTS) > 50


def test_an_error_of_the_model_itself_is_its_own():
    class Wrong(nn.Module):
        def forward(self, x):
            try:
                return x @ x
            except RuntimeError:
                return x @ x.mT

    with pytest.raises(RuntimeError, match="Expected size for first two dimensions"), watch(ByHand()):
        torch.bmm(X, X)
    with watch(model := Model()) as seen:
        assert torch.equal(Wrong()(X), X @ X.mT)
        model(X)
    assert len(seen) == 5


def test_a_change_that_is_not_possible_is_told():
    class Scaled(nn.Module):
        def forward(self, x):
            return ((x @ x.mT).softmax(-1) * 0.5) @ x

    with pytest.raises(ArgumentError, match="can't be computed"), watch(model := Scaled(), changes=[HideKey(1)]):
        model(X)
