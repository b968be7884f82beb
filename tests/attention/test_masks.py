"""Masks: hand-worked examples, the algebra, and spans that never lie."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import (
    MASKS,
    Causal,
    Dense,
    Dot,
    Frame,
    Lengths,
    Mask,
    NoSelf,
    Position,
    Softmax,
    Window,
    attend,
    weigh,
)
from regard.attention.masks import as_mask
from regard.attention.request import Parts
from regard.errors import ArgumentError


def frame_of(mask: Mask, batch: int, queries: int, keys: int) -> Frame:
    """The sizes as an engine sees them under this mask."""
    return Parts(Dot(), Softmax(), mask, Position()).frame(batch, queries, keys)


def picture(mask: Mask, queries: int = 4, keys: int = 4, item: int = 0, batch: int = 1) -> list[str]:
    """The mask as lines of x (may attend) and . (hidden)."""
    frame = frame_of(mask, batch, queries, keys)
    query, key = torch.arange(queries).view(-1, 1), torch.arange(keys).view(1, -1)
    at = frame.index(torch.full((1, 1), item), torch.zeros(1, 1, dtype=torch.long), query, key)
    allowed = mask.allows(at).expand(queries, keys)
    return ["".join("x" if cell else "." for cell in row) for row in allowed.tolist()]


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (Dense(), ["xxxx", "xxxx", "xxxx", "xxxx"]),
        (Causal(), ["x...", "xx..", "xxx.", "xxxx"]),
        (Window(1, 0), ["x...", "xx..", ".xx.", "..xx"]),
        (Window(0, 2), ["xxx.", ".xxx", "..xx", "...x"]),
        (NoSelf(), [".xxx", "x.xx", "xx.x", "xxx."]),
        (Lengths([3]), ["xxx.", "xxx.", "xxx.", "...."]),
        (Lengths(key=[3]), ["xxx.", "xxx.", "xxx.", "xxx."]),
        (Causal() & NoSelf(), ["....", "x...", "xx..", "xxx."]),
        (Window(0, 0) | Lengths([1]), ["x...", ".x..", "..x.", "...x"]),
        (~Causal(), [".xxx", "..xx", "...x", "...."]),
        (Causal() & (lambda batch, head, query, key: key != 0), ["....", ".x..", ".xx.", ".xxx"]),
        ((lambda batch, head, query, key: key == 0) | Window(0, 0), ["x...", "xx..", "x.x.", "x..x"]),
    ],
)
def test_four_by_four(mask, expected):
    assert picture(mask) == expected


def test_causal_and_window_are_aligned_at_the_end():
    assert picture(Causal(), queries=2, keys=4) == ["xxx.", "xxxx"]
    assert picture(Causal(), queries=4, keys=2) == ["..", "..", "x.", "xx"]
    assert picture(Window(1, 0), queries=2, keys=4) == [".xx.", "..xx"]
    # With lengths, each item's own end counts: two queries beside three keys, the rest is padding.
    assert picture(Causal() & Lengths(query=[2], key=[3]), queries=4, keys=4) == ["xx..", "xxx.", "....", "...."]


def recipes(lengths: bool = True) -> st.SearchStrategy[tuple]:
    """Masks as nested tuples of plain data; `build` makes the mask inside the test."""
    pair = st.tuples(st.integers(0, 7), st.integers(0, 7))
    leaves = st.one_of(
        st.sampled_from([("dense",), ("causal",), ("no self",)]),
        st.tuples(st.just("window"), st.integers(0, 3), st.integers(0, 3)),
        *([st.tuples(st.just("lengths"), pair, pair)] if lengths else []),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["and", "or"]), inner, inner), st.tuples(st.just("not"), inner)
        ),
        max_leaves=4,
    )


def build(recipe: tuple) -> Mask:
    kind, *rest = recipe
    match kind:
        case "dense":
            return Dense()
        case "causal":
            return Causal()
        case "no self":
            return NoSelf()
        case "window":
            return Window(*rest)
        case "lengths":
            return Lengths(query=list(rest[0]), key=list(rest[1]))
        case "and":
            return build(rest[0]) & build(rest[1])
        case "or":
            return build(rest[0]) | build(rest[1])
        case _:
            return ~build(rest[0])


@settings(deadline=None, max_examples=300)
@given(recipes(), st.integers(7, 9), st.integers(7, 9))
def test_spans_never_lie(recipe, queries, keys):
    """Nothing is allowed outside the span, and all is inside the full one."""
    mask = build(recipe)
    frame = frame_of(mask, 2, queries, keys)
    spans = mask.spans(frame)
    batch = torch.arange(2).view(2, 1, 1)
    query, key = torch.arange(queries).view(1, -1, 1), torch.arange(keys).view(1, 1, -1)
    allowed = mask.allows(frame.index(batch, torch.zeros_like(batch), query, key)).expand(2, queries, keys)
    outer = (key >= spans.start.unsqueeze(-1)) & (key < spans.stop.unsqueeze(-1))
    full = (key >= spans.full_start.unsqueeze(-1)) & (key < spans.full_stop.unsqueeze(-1))
    assert not (allowed & ~outer).any()
    assert not (full & ~allowed).any()


@settings(deadline=None, max_examples=100)
@given(recipes(lengths=False), recipes(lengths=False))
def test_the_algebra(recipe, recipe2):
    """`&` is intersection, `|` union, `~` complement, and De Morgan holds.

    Without lengths: they move where positions are counted from, for the whole mask.
    """
    one, two = build(recipe), build(recipe2)
    cells = [picture(mask, 7, 8, batch=2) for mask in (one, two, one & two, one | two, ~(one & two), ~one | ~two)]
    for left, right, both, either, neither, morgan in zip(*cells, strict=True):
        for a, b, c, d, e, f in zip(left, right, both, either, neither, morgan, strict=True):
            assert (c == "x") == (a == "x" and b == "x")
            assert (d == "x") == (a == "x" or b == "x")
            assert (e == "x") == (c != "x")
            assert e == f


@settings(deadline=None, max_examples=100)
@given(recipes())
def test_twice_not_is_nothing(recipe):
    """Also where lengths decide from which end positions are counted."""
    mask = build(recipe)
    assert picture(~~mask, 8, 8, batch=2) == picture(mask, 8, 8, batch=2)
    assert picture(mask | mask, 8, 8, batch=2) == picture(mask, 8, 8, batch=2) == picture(mask & mask, 8, 8, batch=2)


def test_every_exact_mask_skips_without_asking(monkeypatch):
    """A full tile asks about no pair: what a mask costs is what it allows."""
    query = torch.zeros(1, 1, 512, 4)
    asked = []
    allows = Lengths.allows
    monkeypatch.setattr(Lengths, "allows", lambda self, at: asked.append(at) or allows(self, at))
    attend(query, query, query, mask=Lengths(key=[100]), engine="blocked")
    assert not asked
    attend(query, query, query, mask=Lengths(query=[500], key=[100]), engine="blocked")
    assert asked  # the last rows of the second tile see nothing, so that tile is partial


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Window(-1, 2), "`before` of Window must be a number of keys, 0 or more, but is -1"),
        (lambda: Window(1, -2), "`after` of Window must be"),
        (lambda: Lengths(), "nothing was given"),
        (lambda: Lengths(torch.tensor([[1, 2]])), r"`lengths` must be whole numbers of shape \(batch,\)"),
        (lambda: Lengths(torch.tensor([1.0])), "torch.float32"),
        (lambda: as_mask("causl"), "`mask` must be one of dense, causal, no_self by name"),
        (lambda: as_mask("window"), r"or a mask such as Window\(2, 2\)"),
        (lambda: as_mask(torch.ones(3, 3)), "must be a rule, not a tensor"),
        (lambda: as_mask(Causal), "must be a mask or a function"),
        (lambda: as_mask(3), "but is 3"),
        (lambda: weigh(torch.ones(2, 1, 3, 4), torch.ones(2, 1, 3, 4), mask=Lengths([3])), "one number for each of 2"),
        (lambda: weigh(torch.ones(1, 1, 3, 4), torch.ones(1, 1, 3, 4), mask=Lengths([4])), "from 0 to 3"),
        (lambda: weigh(torch.ones(1, 1, 3, 4), torch.ones(1, 1, 3, 4), mask=Lengths([-1])), "range from -1"),
    ],
)
def test_bad_masks_say_what_is_wrong(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_name_is_a_mask_where_it_needs_no_arguments():
    assert as_mask("causal") == Causal()
    assert set(MASKS) == {"dense", "causal", "window", "lengths", "no_self"}
