"""Row intervals: what a kernel knows of a mask, computed without a look from the host and never a lie."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from attention.cases import MASK_EXAMPLES, SIZES
from attention.test_masks import allowed, placed, sizes_of
from attention.test_spans import BATCH, made, masks, within
from regard.attention import (
    Blocks,
    Causal,
    Dense,
    Documents,
    Edges,
    Guided,
    Lengths,
    Mask,
    NoSelf,
    Prefix,
    Sizes,
    Spans,
    Window,
)
from regard.attention.masks import ExtraKeysMask, KeyRange, Pairs, Predicate, as_mask
from regard.attention.pairs import intervals
from regard.attention.pairs.intervals import Interval
from regard.attention.pairs.row_intervals import RowIntervals, row_intervals
from regard.attention.parts import map_operands
from regard.inspection.capture.by_hand.rules import KeyIntervals
from regard.modules.efficient import BigBird, Longformer, Strided, longformer
from sampling import examples

ELSEWHERE = torch.device("meta")
LOOKS = {"_local_scalar_dense", "equal", "nonzero", "is_nonzero", "item", "_unique2", "unique_consecutive"}


class Elsewhere(TorchDispatchMode):
    """Lets no operation look at the numbers of a tensor, or have one on another device."""

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        assert operation.__name__.split(".")[0] not in LOOKS, operation
        result = operation(*arguments, **(keywords or {}))
        every = torch.utils._pytree.tree_leaves((arguments, keywords, result))
        assert all(each.device == ELSEWHERE for each in every if isinstance(each, Tensor)), operation
        return result


class NothingFromTheHost(TorchFunctionMode):
    """Lets no numbers of Python become a tensor, which would have to be copied to the device."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        assert function not in (torch.tensor, torch.as_tensor, torch.from_numpy), function
        return function(*arguments, **(keywords or {}))


@pytest.fixture(params=[True, False], ids=["looking", "without a look"])
def look(request, monkeypatch) -> bool:
    """Whether the algebra may look at the numbers; if not, it goes the way of another device, with numbers to check."""
    if not request.param:
        for module in (intervals, longformer):
            monkeypatch.setattr(module, "may_look", lambda bound: False)
    return request.param


def check(mask: Mask, batch: int, queries: int, keys: int, every: Tensor | None = None) -> RowIntervals:
    """The intervals hold every allowed key, and no other if they are exact."""
    found = row_intervals(mask, sizes_of(mask, batch, queries, keys))
    every = allowed(mask, batch, queries, keys) if every is None else every
    for bound in (found.starts, found.stops):
        assert bound.dtype == torch.int32
        assert bound.is_contiguous()
        assert bound.shape[0] in (1, 2)
        assert bound.shape[1:] in ((1, queries), (batch, queries))
        assert ((bound >= 0) & (bound <= keys)).all()
    assert found.starts.shape == found.stops.shape
    assert (found.starts <= found.stops).all()
    assert (found.starts[1:] >= found.stops[:-1]).all()
    inside = within(tuple(map(Interval, found.starts, found.stops)), batch, queries, keys)
    assert not (every & ~inside).any()
    assert not found.exact or torch.equal(inside, every)
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MASK_EXAMPLES)
def test_they_hold_what_is_allowed(name, size, look):
    sizes = SIZES[size]
    mask = placed(as_mask(MASK_EXAMPLES[name](sizes)))
    item, head = torch.arange(3).view(-1, 1, 1, 1), torch.arange(4).view(1, -1, 1, 1)
    query, key = torch.arange(sizes.queries).view(-1, 1), torch.arange(sizes.keys).view(1, -1)
    seen = sizes_of(mask, 3, sizes.queries, sizes.keys)
    every = mask.allows(seen.index(item, head, query, key)).expand(3, 4, sizes.queries, sizes.keys).any(1)
    check(mask, 3, sizes.queries, sizes.keys, every)


ANY_SIZE = st.sampled_from([(11, 11), (7, 11), (11, 7), (1, 11), (11, 1)])


@settings(deadline=None, max_examples=examples(200))
@given(st.data(), ANY_SIZE)
def test_trees_of_masks_without_a_look(data, size):
    """Random expressions of every mask: no lie, and what is exact without a look is exact with one."""
    mask = placed(made(data.draw(masks(*size))))
    looked = check(mask, BATCH, *size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "may_look", lambda bound: False)
        found = check(mask, BATCH, *size)
    assert looked.exact >= found.exact


@settings(deadline=None, max_examples=examples(100))
@given(st.data(), ANY_SIZE)
def test_nothing_is_looked_at_elsewhere(data, size):
    """Random expressions of every mask, on a device that has no numbers."""
    mask = made(data.draw(masks(*size)))
    check_elsewhere(mask, BATCH, *size)


@pytest.mark.parametrize("name", MASK_EXAMPLES)
def test_nothing_of_the_examples_is_looked_at_elsewhere(name):
    size = SIZES["cross"]
    check_elsewhere(as_mask(MASK_EXAMPLES[name](size)), 3, size.queries, size.keys)


def check_elsewhere(mask: Mask, batch: int, queries: int, keys: int) -> None:
    moved = map_operands(lambda tensor: tensor.to(ELSEWHERE), mask)
    sizes = Sizes(batch, queries, keys, *moved.lengths(), device=ELSEWHERE)
    with Elsewhere(), NothingFromTheHost():
        found = row_intervals(moved, sizes)
    assert found.starts.device == found.stops.device == ELSEWHERE
    assert found.starts.shape == found.stops.shape


HERE_AND_THERE = torch.tensor([[True, False, True], [False, True, True]])


@pytest.mark.parametrize(
    ("mask", "exact"),
    [
        (Dense(), True),
        (Causal(), True),
        (Window(3, 2), True),
        (NoSelf(), True),
        (Lengths(query=[13, 4], key=[0, 5]), True),
        (Documents([0, 0, 0, 1, 2, 2, 2, 2, 5, 5, 4, 4, 4]), True),
        (Documents([0, 1] * 6 + [0]), False),
        (Prefix([4, 0]), True),
        (Guided(0.2), True),
        (KeyRange(torch.tensor([2]), torch.tensor([9])), True),
        (KeyIntervals(torch.zeros(1, 1, 13).long(), torch.arange(13).view(1, 1, 13)), True),
        (KeyIntervals(torch.zeros(1, 2, 13).long(), torch.arange(26).view(1, 2, 13) % 13), False),
        (ExtraKeysMask(Causal(), 2), True),
        (Blocks(torch.eye(4, dtype=torch.bool), 4), True),
        (Blocks(HERE_AND_THERE, 7), False),
        (Edges([[0, 1, 2, 2], [1, 1, 1, 2]]), True),
        (Edges([[0, 2], [1, 1]]), False),
        (Pairs(torch.ones(13, 13, dtype=torch.bool)), False),
        (Predicate(lambda batch, head, query, key: key > 2), False),
        (Longformer(2, 3), True),
        (Longformer(2, [3, 7]), False),
        (BigBird(2, 3, 1, 0), True),
        (BigBird(2, 3, 1, 1), False),
        (Strided(3), False),
        (Documents([0] * 6 + [1] * 7) & Causal() & Lengths([13, 5]) & Window(3, 0), True),
        (Causal() & NoSelf() & Lengths([13, 5]), True),
        (Prefix(2) | Causal(), True),
        ((Prefix(2) | Window(1, 1)) & Lengths([13, 5]), True),
        (~Window(2, 2) & Causal(), True),
        (~Causal(), True),
        (~Lengths([13, 5]), True),
        # Looking finds these exact, as no query has a third interval.
        (Prefix(2) | Window(1, 1) | Lengths(query=[2, 3]), False),
        (~~NoSelf(), False),
        (~(Prefix(2) | Causal()), False),
        (NoSelf() & ~Window(1, 1), False),
    ],
    ids=str,
)
def test_what_is_known_to_be_exact_without_a_look(mask, exact, monkeypatch):
    monkeypatch.setattr(intervals, "may_look", lambda bound: False)
    assert check(mask, BATCH, 13, 13).exact is exact


@pytest.mark.parametrize(("batch", "queries", "keys"), [(0, 3, 5), (2, 0, 5), (2, 3, 0), (1, 1, 1)])
@pytest.mark.parametrize("mask", [Causal(), ~Window(1, 1), Prefix(2) | Causal(), NoSelf() & ~Window(0, 0)], ids=str)
def test_of_nothing(mask, batch, queries, keys, look):
    check(mask, batch, queries, keys)


class OnTheCpu(Mask):
    """A mask of a user's own that makes its spans where tiles are planned, whatever the device of the sizes."""

    def allows(self, at):
        return at.key < 3

    def spans(self, sizes):
        start = torch.zeros(1, sizes.queries, dtype=torch.long, device="cpu")
        return Spans.only(start, start + 3, sizes.keys)


@pytest.mark.parametrize(
    "mask", [OnTheCpu(), OnTheCpu() & Causal(), ~OnTheCpu() | Causal()], ids=["alone", "and", "or not"]
)
def test_own_spans_of_the_cpu_are_moved(mask):
    found = row_intervals(mask, Sizes(1, 5, 7, device=ELSEWHERE))
    assert found.starts.device == ELSEWHERE
