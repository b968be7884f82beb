"""A request computed slice by slice: some of its queries with some of its keys, numbered as in the whole."""

import dataclasses
import itertools

import pytest
import torch
from torch import Tensor

from attention.cases import HEADS, MASK_EXAMPLES, SIZES, numbers, rotation
from regard.attention import (
    Alibi,
    Bias,
    Causal,
    Dense,
    Documents,
    Lengths,
    NoSelf,
    Rotary,
    Window,
    attend,
    summarise,
    weigh,
)
from regard.attention.attend import run
from regard.attention.engines import fused
from regard.attention.masks import KeyRange, Reach, Slice, as_mask, slice_of
from regard.attention.parts import declares
from regard.attention.request import Request
from regard.attention.sizes import Origin, Sizes
from regard.errors import ArgumentError

ROWS, COLUMNS = (0, 1, 6, 11), (0, 7, 8, 17)


def pieces(request: Request, rows: slice, engine: str) -> Tensor:
    """The outputs of some queries, from several slices of keys, merged by their log-sums."""
    parts, (batch, _, queries, _), keys = request.parts, request.query.shape, request.key.shape[2]
    by_offset = bool(declares(type(parts.position), "by_offset"))
    outputs, log_sums = [], []
    for start, stop in itertools.pairwise(COLUMNS):
        origin = Origin(rows.start, start, 0, queries, keys)
        count = rows.stop - rows.start
        mask = slice_of(
            parts.mask,
            origin,
            batch,
            count,
            stop - start,
            by_number=request.dropout > 0 or not by_offset,
            by_offset=by_offset,
        )
        own = request.query[:, :, rows], request.key[:, :, start:stop], request.value[:, :, start:stop]
        cut = Request(*own, dataclasses.replace(parts, mask=mask), request.dropout, request.seed)
        result = run(cut, engine)
        outputs.append(result[..., :-1])
        log_sums.append(result[..., -1:])
    total = torch.stack(log_sums).logsumexp(0)
    shares = [torch.where(each == -torch.inf, 0.0, (each - total).exp()) for each in log_sums]
    return sum(share * output for share, output in zip(shares, outputs, strict=True))  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("case", rotation(126, ["cross"], (0.0, 0.4)), ids=str)
def test_slices_merge_to_the_whole(case):
    if "hooks" in case.position:
        pytest.skip("a scheme of one's own may do more to an output than add to it")
    # Of the normalisers softmax alone has log-sums.
    arguments = dataclasses.replace(case, weights="softmax").make()
    expected = arguments(attend, engine="dense")
    request = arguments(Request.of, log_sums=True)
    for start, stop in itertools.pairwise(ROWS):
        for engine in ("auto", "dense"):
            found = pieces(request, slice(start, stop), engine)
            torch.testing.assert_close(found, expected[:, :, start:stop])


@pytest.mark.parametrize("case", rotation(126, ["cross"]), ids=str)
def test_some_queries_have_the_weights_of_the_whole(case):
    """Two slices of the queries together, with all keys or only some: no engine takes the gap for contiguous rows."""
    arguments = case.make()
    query, key, value, parts = arguments.query, arguments.key, arguments.value, dict(arguments.parts)
    mask, queries, keys = as_mask(parts.pop("mask")), query.shape[2], key.shape[2]
    weights = weigh(query, key, mask=mask, **parts)
    output = attend(query, key, value, mask=mask, **parts, engine="dense")
    for slices in ([slice(1, 4), slice(7, 11)], [slice(0, 2), slice(2, 5)], [slice(3, 3)]):
        rows = torch.cat([torch.arange(each.start, each.stop) for each in slices])
        own = query[:, :, rows]
        cut = Slice(mask, Origin.of_slices(slices, queries, keys))
        torch.testing.assert_close(weigh(own, key, mask=cut, **parts), weights[:, :, rows])
        for engine in ("auto", "blocked"):
            found = attend(own, key, value, mask=cut, **parts, engine=engine)
            torch.testing.assert_close(found, output[:, :, rows])


@pytest.mark.parametrize("mask", MASK_EXAMPLES)
def test_some_queries_have_the_statistics_of_the_whole(mask):
    """Keys have their numbers among those that are given; distances are those of the whole."""
    size = SIZES["cross"]
    made = as_mask(MASK_EXAMPLES[mask](size))
    query, key = (numbers(3, HEADS, length, 5, seed=length, grad=False) for length in (size.queries, size.keys))
    slices = [slice(2, 5), slice(6, size.queries)]
    rows = torch.cat([torch.arange(each.start, each.stop) for each in slices])
    # Hidden from all, the first two keys may be left out of the slice.
    made = made & KeyRange(torch.tensor([2]), torch.tensor([size.keys]))
    whole, weights = summarise(query, key, mask=made, top=3), weigh(query, key, mask=made)[:, :, rows]
    cut = Slice(made, Origin.of_slices(slices, size.queries, size.keys, first_key=2))
    for engine in ("auto", "blocked"):
        found = summarise(query[:, :, rows], key[:, :, 2:], mask=cut, top=3, rows=[0, 1], engine=engine)
        for name in ("top_weight", "entropy", "distance", "zeros"):
            torch.testing.assert_close(getattr(found, name), getattr(whole, name)[:, :, rows])
        index = torch.where(found.top_index < 0, -1, found.top_index + 2)
        assert torch.equal(index, whole.top_index[:, :, rows])
        torch.testing.assert_close(found.received, weights.sum(2)[..., 2:])
        torch.testing.assert_close(found.rows, weights[:, :, :2, 2:])


def test_what_is_combined_with_a_slice_has_the_numbers_of_the_whole():
    x = numbers(1, 1, 8, 3, seed=0, grad=False)
    slices = [slice(1, 3), slice(6, 8)]
    rows = torch.cat([torch.arange(each.start, each.stop) for each in slices])
    cut = Slice(Causal(), Origin.of_slices(slices, 8, 8))
    other = Lengths([7]) & as_mask(lambda batch, head, query, key: key != query - 1)
    for found, whole in (
        (cut & other, Causal() & other),
        (other & cut, Causal() & other),
        (cut | other, Causal() | other),
        (other | cut, Causal() | other),
        (~cut, ~Causal()),
        (cut & Slice(other, cut.origin), Causal() & other),
    ):
        weights = weigh(x[:, :, rows], x, mask=found)
        torch.testing.assert_close(weights, weigh(x, x, mask=whole)[:, :, rows])
    with pytest.raises(ArgumentError, match="slices of different places"):
        _ = cut & Slice(Causal(), Origin(0, 0, 0, 8, 8))


def test_a_slice_beyond_the_whole_is_refused():
    x = numbers(1, 1, 4, 3, seed=0, grad=False)
    for origin, wrong in (
        (Origin(5, 0, 0, 8, 8), "queries as there are, but the last one of these would be number 8 of 8"),
        (Origin(0, 0, 0, 8, 8, ((2, 5),)), "queries as there are, but the last one of these would be number 8 of 8"),
        (Origin(0, 6, 0, 8, 8), "keys as there are, but the last one of these would be number 9 of 8"),
    ):
        with pytest.raises(ArgumentError, match=wrong):
            weigh(x, x, mask=Slice(Causal(), origin))
    with pytest.raises(ArgumentError, match="ids"):
        weigh(x, x, mask=Slice(Documents([0, 0]), Origin(0, 0, 0, 8, 8)))


@pytest.mark.parametrize("mask", MASK_EXAMPLES)
def test_the_reach_holds_every_pair_that_is_allowed(mask):
    size = SIZES["cross"]
    made = as_mask(MASK_EXAMPLES[mask](size))
    x, y = (numbers(3, HEADS, length, 5, seed=1, grad=False) for length in (size.queries, size.keys))
    there = (weigh(x, y, mask=made) > 0).any(0).any(0)
    reach = Reach(made, Sizes(3, size.queries, size.keys, *made.lengths()))
    for (a, b), (c, d) in itertools.product(itertools.pairwise(ROWS), itertools.pairwise(COLUMNS)):
        start, stop = reach.hull(slice(a, b), slice(c, d))
        seen = there[a:b, c:d].any(0).nonzero().flatten() + c
        assert c <= start <= stop <= d
        assert all(start <= int(key) < stop for key in seen)
        assert reach.pairs(slice(a, b), slice(c, d)) <= (b - a) * (d - c)


def test_the_reach_of_known_masks_is_exact():
    """By hand: of 8 queries and keys, the last four queries and the first four keys."""
    sizes, last, first = Sizes(1, 8, 8), slice(4, 8), slice(0, 4)
    for mask, hull, pairs in (
        (Causal(), (0, 4), 16),
        (Window(2, 0), (2, 4), 3),
        (Documents([0, 0, 0, 1, 1, 1, 2, 2]), (3, 4), 2),
        (Lengths([6]), (0, 4), 8),
        (~Causal(), (0, 0), 0),
    ):
        own = dataclasses.replace(sizes) if not isinstance(mask, Lengths) else Sizes(1, 8, 8, *mask.lengths())
        reach = Reach(as_mask(mask), own)
        assert reach.hull(last, first) == hull, mask
        assert reach.pairs(last, first) == pairs, mask
    assert Reach(Window(2, 0), sizes).counts().tolist() == [[1, 2, 3, 3, 3, 3, 3, 3]]
    assert Reach(as_mask(lambda batch, head, query, key: key < query), sizes).counts() is None


def test_engines_get_masks_that_they_know():
    """A block on the diagonal of a causal mask is causal, one below it is full; unless numbers matter."""

    def mask_at(query: int, key: int, *, by_number: bool = False, by_offset: bool = False):
        origin = Origin(query, key, 0, 8, 8)
        return slice_of(Causal(), origin, 1, 4, 4, by_number=by_number, by_offset=by_offset)

    assert mask_at(4, 4) == Causal()
    assert mask_at(4, 0) == Dense()
    assert mask_at(4, 4, by_offset=True) == Causal()
    assert type(mask_at(4, 0, by_offset=True)) is type(mask_at(4, 4, by_number=True)) is Slice
    assert type(slice_of(NoSelf(), Origin(4, 0, 0, 8, 8), 1, 4, 4, by_number=False, by_offset=False)) is Dense
    # PyTorch's kernel takes a full block with rotated keys, at their own positions.
    request = Request.of(
        *(numbers(1, 2, 8, 4, seed=seed, grad=False) for seed in range(3)),
        score="dot",
        weights="softmax",
        mask="causal",
        position=Rotary(),
        dropout=0.0,
        seed=0,
    )
    block = Request(
        request.query[:, :, 4:],
        request.key[:, :, :4],
        request.value[:, :, :4],
        dataclasses.replace(request.parts, mask=mask_at(4, 0, by_offset=True)),
        0.0,
        0,
    )
    assert fused.refuse(block) is None
    torch.testing.assert_close(run(block, "fused"), run(block, "dense"))


def test_parts_of_other_heads():
    """A slice of heads: dropout and tables count the heads of the whole, parameters those that they are for."""
    query, key, value = (numbers(2, HEADS, 6, 5, seed=seed, grad=False) for seed in range(3))
    for position in (None, Bias(numbers(HEADS, 6, 6, seed=9, grad=False)), Alibi(HEADS).part()):
        expected = attend(query, key, value, mask="causal", position=position, dropout=0.5, seed=3)
        whole = Request.of(
            query,
            key,
            value,
            score="scaled_dot",
            weights="softmax",
            mask="causal",
            position=position,
            dropout=0.5,
            seed=3,
        )
        select = getattr(whole.parts.position, "select", lambda heads, own=whole.parts.position: own)
        parts = dataclasses.replace(
            whole.parts, mask=Slice(Causal(), Origin(0, 0, 2, 6, 6)), position=select(torch.arange(2, 4))
        )
        found = run(Request(query[:, 2:], key[:, 2:], value[:, 2:], parts, 0.5, 3), "auto")
        torch.testing.assert_close(found, expected[:, 2:])
