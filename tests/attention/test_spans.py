"""Spans, columns and edges: what masks say of themselves without being asked pair by pair, which is never a lie."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attention.cases import MASK_EXAMPLES, Size, seeded
from attention.test_masks import allowed, placed, sizes_of
from regard.attention import Sizes, Spans, attend
from regard.attention.masks import (
    Blocks,
    Causal,
    Dense,
    Documents,
    Edges,
    ExtraKeysMask,
    Guided,
    KeyRange,
    Lengths,
    Mask,
    NoSelf,
    Pairs,
    Predicate,
    Prefix,
    Window,
    as_mask,
)
from regard.attention.pairs.csr import csr_of
from regard.attention.pairs.intervals import Interval
from regard.modules.efficient import BigBird, Longformer, Strided
from sampling import examples

BATCH, HEADS = 2, 3
# The shapes of the four indices of a pair: each along its own axis.
AXIS_SHAPES = [[-1 if axis == other else 1 for other in range(4)] for axis in range(4)]


def within(intervals: tuple[Interval, ...], batch: int, queries: int, keys: int) -> Tensor:
    """The pairs inside the intervals, (batch, query, key)."""
    key = torch.arange(keys)
    inside = torch.zeros(batch, queries, keys, dtype=torch.bool)
    for start, stop in intervals:
        assert start.shape == stop.shape
        assert start.shape in ((1, queries), (batch, queries))
        start, stop = (bound.to(key.device).unsqueeze(-1) for bound in (start, stop))
        inside |= (key >= start) & (key < stop)
    return inside


def check_spans(mask: Mask, queries: int, keys: int, batch: int = BATCH) -> Spans:
    """Nothing is allowed outside of the outer, all is inside of the inner, and exact means both."""
    spans = mask.spans(sizes_of(mask, batch, queries, keys))
    every = allowed(mask, batch, queries, keys)
    outer, inner = within(spans.outer, batch, queries, keys), within(spans.inner, batch, queries, keys)
    assert not (every & ~outer).any()
    assert not (inner & ~every).any()
    if spans.exact:
        assert torch.equal(outer, every)
    assert 1 <= len(spans.outer) <= 2
    assert len(spans.inner) <= 2
    for intervals in (spans.outer, spans.inner):
        last = 0
        for start, stop in intervals:
            assert (start >= last).all(), "the first stands before the second"
            assert (start <= stop).all()
            assert (stop <= keys).all()
            last = stop
    return spans


def runs(mask: Mask, queries: int, keys: int) -> int:
    """The most intervals of allowed keys that a query has."""
    every = allowed(mask, BATCH, queries, keys)
    before = torch.nn.functional.pad(every, (1, 0))[..., :-1]
    return int((every & ~before).sum(-1).max()) if every.numel() else 0


def lazy(make, *arguments) -> st.SearchStrategy[tuple]:
    """How to make a mask, as plain data: tensors are for the inside of a test."""
    return st.tuples(st.just(make), st.tuples(*arguments))


def made(recipe) -> Mask:
    make, arguments = recipe
    return make(*(made(part) if isinstance(part, tuple) and part and callable(part[0]) else part for part in arguments))


def edges_of(seed: int, queries: int, keys: int) -> Edges:
    """Some random edges."""
    sizes = torch.tensor([[keys], [queries]])
    return Edges((torch.rand(2, seed % 9, generator=seeded(seed)) * sizes).long())


def masks(queries: int, keys: int) -> st.SearchStrategy[tuple]:
    """A mask of each kind, or some of them together."""
    query, key, number = st.integers(0, queries), st.integers(0, keys), st.integers(0, 2**16)

    def graphs(seed: int) -> Edges:
        one, other = (mask_of(edges_of(number, queries, keys)) for number in (seed, seed + 3))
        return Edges([one, other])

    def blocks(seed: int) -> Blocks:
        size = 1 + seed % 4
        table = torch.rand(-(-queries // size), -(-keys // size), generator=seeded(seed)) < 0.4
        return Blocks(table, size)

    size = Size(queries, keys, (queries,) * BATCH, (keys,) * BATCH, items=tuple(range(BATCH)))
    ids = st.lists(st.integers(-1, 2), min_size=keys, max_size=keys)
    own = st.lists(st.integers(-1, 2), min_size=queries, max_size=queries)
    odd = lazy(lambda: Predicate(lambda batch, head, query, key: (key + 2 * query + batch) % 3 != 0))
    leaf = st.one_of(
        *(lazy(mask) for mask in (Dense, Causal, NoSelf)),
        lazy(Window, st.integers(0, 3), st.integers(0, 3)),
        lazy(Prefix, key),
        lazy(lambda one, two: Prefix([one, two]), key, key),
        lazy(Guided, st.one_of(st.integers(0, 3), st.sampled_from([0.0, 0.2, 0.5]))),
        lazy(lambda width, step: Guided(width, torch.arange(queries) * step), st.integers(0, 2), st.floats(0, 2)),
        lazy(lambda seed: edges_of(seed, queries, keys), number),
        lazy(graphs, number),
        lazy(blocks, number),
        lazy(Documents, ids),
        lazy(lambda ids: Documents(sorted(ids)), ids),
        lazy(lambda one, two: Documents([one, sorted(two)]), ids, ids),
        lazy(Documents, ids, own),
        odd,
        lazy(lambda a, b: Lengths(key=[a, b]), key, key),
        lazy(lambda a, b, c, d: Lengths(query=[a, b], key=[c, d]), query, query, key, key),
        lazy(lambda *bounds: KeyRange(*torch.tensor(bounds).view(2, 2)), key, key, key, key),
        lazy(lambda start, stop: KeyRange(torch.tensor([start]), torch.tensor([stop])), key, key),
        # By its example, a mask that isn't among these.
        lazy(lambda name: as_mask(MASK_EXAMPLES[name](size)), st.sampled_from(sorted(MASK_EXAMPLES))),
        lazy(Strided, st.integers(1, 5)),
        lazy(Longformer, st.integers(0, 3), st.integers(0, 3)),
        lazy(lambda reach, one, two: Longformer(reach, [one, two]), st.integers(0, 2), key, key),
        lazy(
            BigBird,
            st.integers(1, 3),
            st.sampled_from([1, 3]),
            st.integers(0, 2),
            st.integers(0, 3),
            st.integers(0, 99),
        ),
        lazy(
            ExtraKeysMask,
            st.one_of(lazy(Causal), lazy(Window, st.integers(0, 3), st.integers(0, 3)), lazy(NoSelf), odd),
            st.integers(0, min(keys - 1, 2)),
        ),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            lazy(lambda a, b: a & b, inner, inner), lazy(lambda a, b: a | b, inner, inner), lazy(lambda a: ~a, inner)
        ),
        max_leaves=5,
    )


def drawn(data: st.DataObject, size: tuple[int, int]) -> tuple[Mask, Sizes, Tensor]:
    """A mask for so many queries and keys, as it sees them, and which pairs it allows, (item, query, key)."""
    mask = placed(made(data.draw(masks(*size))))
    return mask, sizes_of(mask, BATCH, *size), allowed(mask, BATCH, *size)


SIZES = st.sampled_from([(11, 11), (7, 11), (11, 7), (1, 11), (11, 1)])


@settings(deadline=None, max_examples=examples(300))
@given(st.data(), SIZES)
def test_spans_never_lie(data, size):
    """Random expressions of every mask, ragged batches, queries and keys of different number."""
    mask, sizes, every = drawn(data, size)
    spans = check_spans(mask, *size)
    if mask.hides_nothing(sizes):
        assert every.all()
    elif spans.exact:
        assert not every.all()


@settings(deadline=None, max_examples=examples(200))
@given(st.data(), SIZES)
def test_columns_never_lie(data, size):
    """Every key that one of the rows may see in some item is among them."""
    queries, keys = size
    mask, sizes, every = drawn(data, size)
    first = data.draw(st.integers(0, queries - 1))
    rows = slice(first, data.draw(st.integers(first + 1, queries)))
    columns = mask.columns(sizes, rows)
    if columns is None:
        return
    seen = every[:, rows].any(0).any(0).nonzero().flatten()
    assert torch.isin(seen.cpu(), columns).all()
    assert (columns.diff() > 0).all()
    assert ((columns >= 0) & (columns < keys)).all()


def by_head(seed: int, queries: int, keys: int) -> Pairs:
    """A table for each head, and if the seed is odd for each item too, in which some rows are empty."""
    items = 1 + seed % 2 * (BATCH - 1)
    table = torch.rand(items, HEADS, queries, keys, generator=seeded(seed)) < 0.5
    return Pairs(table & (torch.rand(items, HEADS, queries, 1, generator=seeded(seed + 1)) < 0.7))


@settings(deadline=None, max_examples=examples(150))
@given(st.data(), SIZES)
def test_together_they_allow_what_the_tables_do(data, size):
    """Intervals, blocks, lists and tables, by item and by head: `&`, `|`, `~` of masks are those of their tables, and
    what the whole says without being asked pair by pair holds for every item and head."""
    queries, keys = size
    key, number = st.integers(0, keys), st.integers(0, 2**16)
    axes = [
        torch.arange(length).view(shape)
        for length, shape in zip((BATCH, HEADS, queries, keys), AXIS_SHAPES, strict=True)
    ]
    sizes = Sizes(BATCH, queries, keys)
    shape = (BATCH, HEADS, queries, keys)

    def table(mask: Mask) -> Tensor:
        return mask.allows(sizes.index(*axes)).expand(shape)

    leaf = st.one_of(
        lazy(Window, st.integers(0, 3), st.integers(0, 3)),
        lazy(lambda *bounds: KeyRange(*torch.tensor(bounds).view(2, 2)), key, key, key, key),
        lazy(lambda start, stop: KeyRange(torch.tensor([start]), torch.tensor([stop])), key, key),
        lazy(lambda seed: Blocks(torch.rand(-(-queries // 3), -(-keys // 3), generator=seeded(seed)) < 0.4, 3), number),
        lazy(lambda seed: edges_of(seed, queries, keys), number),
        lazy(lambda seed: Edges([mask_of(edges_of(each, queries, keys)) for each in (seed, seed + 1)]), number),
        lazy(lambda seed: by_head(seed, queries, keys), number),
    )
    mask = made(data.draw(leaf))
    expected = table(mask)
    for _ in range(data.draw(st.integers(1, 4))):
        other = made(data.draw(leaf))
        match data.draw(st.sampled_from("&|~")):
            case "&":
                mask, expected = mask & other, expected & table(other)
            case "|":
                mask, expected = mask | other, expected | table(other)
            case _:
                mask, expected = ~mask, ~expected
    assert torch.equal(table(mask), expected)
    spans = mask.spans(sizes)
    outer, inner = (within(bound, BATCH, queries, keys).unsqueeze(1) for bound in (spans.outer, spans.inner))
    assert not (expected & ~outer).any()
    assert not (inner & ~expected).any()
    assert not spans.exact or torch.equal(outer.expand(shape), expected)
    assert not mask.hides_nothing(sizes) or expected.all()
    first = data.draw(st.integers(0, queries - 1))
    columns = mask.columns(sizes, slice(first, queries))
    if columns is not None:
        assert torch.isin(expected[:, :, first:].flatten(0, 2).any(0).nonzero().flatten().cpu(), columns).all()
    listed = mask.edges(sizes)
    if listed is not None:
        row = torch.arange(queries).repeat_interleave(listed.starts.diff())
        found = torch.zeros(queries, keys, dtype=torch.bool)
        found[row, listed.keys] = True
        assert torch.equal(found.expand(shape), expected)


@settings(deadline=None, max_examples=examples(150))
@given(st.data(), SIZES)
def test_two_stretches_of_exact_masks_stay_exact(data, size):
    """Whatever two exact masks make: where no query has more than two intervals, it is exact too."""
    queries, keys = size
    leaves = st.one_of(
        lazy(Window, st.integers(0, 3), st.integers(0, 3)),
        lazy(Prefix, st.integers(0, keys)),
        lazy(lambda one, two: Prefix([one, two]), st.integers(0, keys), st.integers(0, keys)),
        *(lazy(make) for make in (Causal, NoSelf, lambda: ~Window(1, 1), lambda: Prefix(2) | Window(0, 0))),
    )
    one, two = made(data.draw(leaves)), made(data.draw(leaves))
    for mask in (one & two, one | two, ~one):
        assert check_spans(mask, queries, keys).exact == (runs(mask, queries, keys) <= 2)


@pytest.mark.parametrize(
    "mask",
    [
        Dense(),
        Causal(),
        Window(3, 2),
        NoSelf(),
        Lengths([13, 5]),
        Documents([0, 0, 0, 1, 2, 2, 2, 2, 5, 5, 4, 4, 4]),
        Prefix(4),
        Guided(2),
        Guided(0.2),
        Guided(1, centres=torch.arange(13) * 0.7),
        Prefix(2) | Window(1, 1),
        Prefix(2) | Causal(),
        Prefix(2) | Window(1, 1) | Lengths(query=[2, 3]),
        Causal() & NoSelf(),
        Documents([0] * 6 + [1] * 7) & Causal(),
        ~Window(2, 2),
        ~Causal(),
        ~~NoSelf(),
        Blocks(torch.eye(4, dtype=torch.bool), 4),
        Edges([[0, 1, 2, 2], [1, 1, 1, 2]]),
    ],
    ids=str,
)
def test_these_are_exact(mask):
    assert check_spans(mask, 13, 13).exact


def test_one_stretch_is_left_where_one_is_enough():
    sizes = Sizes(1, 11, 11)
    for mask in (
        Causal(),
        ~Causal(),
        Prefix(3) | Causal(),
        Causal() & NoSelf(),
        Window(1, 0) | Window(0, 1),
        ~NoSelf(),
    ):
        assert len(mask.spans(sizes).outer) == 1, mask


def test_three_stretches_close_the_smallest_gap_and_keep_the_longest():
    intervals = [(0, 1), (3, 6), (7, 11)]
    spans = None
    for start, stop in intervals:
        one = Spans.only(torch.tensor([[start]]), torch.tensor([[stop]]), 13)
        spans = one if spans is None else spans | one
    assert spans is not None
    assert not spans.exact
    assert [(int(s.start), int(s.stop)) for s in spans.outer] == [(0, 1), (3, 11)]
    assert [(int(s.start), int(s.stop)) for s in spans.inner] == [(3, 6), (7, 11)]


def test_a_global_row_and_column_and_a_window_are_exact():
    """Longformer's: some keys are seen by all, some queries see all, the rest looks around itself."""
    mask = Prefix(2) | Window(2, 2) | Lengths(query=[3, 3])
    spans = check_spans(mask, 17, 17)
    assert spans.exact
    assert len(spans.outer) == 2


def test_an_empty_stretch_widens_nothing():
    """A row that may see nothing is no reason to look at the keys between nowhere and the next mask's."""
    mask = Lengths(query=[3]) & Window(0, 0) | Prefix(0)
    spans = check_spans(mask, 7, 7, batch=1)
    assert spans.exact
    assert int(sum((s.stop - s.start).sum() for s in spans.outer)) == 3


@pytest.mark.parametrize(
    ("mask", "queries", "expected"),
    [
        (Dense(), 5, True),
        (Causal(), 1, True),
        (Causal(), 2, False),
        (Causal() & Window(6, 0), 1, True),
        (Causal() & Window(5, 0), 1, False),
        (Window(6, 4), 5, True),
        (Window(6, 3), 5, False),
        (Window(5, 4), 5, False),
        (NoSelf(), 1, False),
        (Prefix(7), 3, True),
        (Prefix(6), 3, False),
        (Prefix([7]), 3, True),
        (Lengths(key=[7]), 3, True),
        (Lengths(key=[6]), 3, False),
        (Lengths(query=[2], key=[7]), 3, False),
        (Causal() & Lengths(query=[1], key=[7]), 1, True),
        (Causal() & Lengths(query=[1], key=[6]), 1, False),
        (Causal() | ~Causal(), 3, True),
        (Documents([0] * 7), 3, True),
        (~~Dense(), 3, True),
        (~Dense(), 3, False),
        (Guided(7), 3, True),
        (Blocks(torch.ones(2, 4, dtype=torch.bool), 2), 3, True),
    ],
    ids=str,
)
def test_hides_nothing(mask, queries, expected):
    sizes = sizes_of(mask, 1, queries, 7)
    assert mask.hides_nothing(sizes) is expected
    assert bool(allowed(mask, 1, queries, 7).all()) is expected


def test_a_decoding_step_builds_nothing(monkeypatch):
    """One query behind a cache: that it may see everything is known from the sizes alone."""
    monkeypatch.setattr(Causal, "spans", lambda self, sizes: pytest.fail("built spans"))
    assert (Causal() & Dense() & Window(10**9, 0)).hides_nothing(Sizes(3, 1, 8192))


def test_columns_are_those_of_the_rows():
    mask = Edges([[0, 5, 9, 2], [1, 1, 2, 4]])
    sizes = Sizes(1, 11, 11)
    assert mask.columns(sizes, slice(0, 1)).tolist() == []
    assert mask.columns(sizes, slice(0, 2)).tolist() == [0, 5]
    assert mask.columns(sizes, slice(1, 11)).tolist() == [0, 2, 5, 9]
    assert mask.columns(sizes, slice(7, 11)).tolist() == []
    both = Edges([mask_of(mask), torch.tensor([[7], [1]], device="cpu")])
    assert both.columns(sizes, slice(0, 2)).tolist() == [0, 5, 7]
    assert (mask & Edges([[5, 3], [1, 1]])).columns(sizes, slice(0, 3)).tolist() == [5]
    assert (mask | Window(1, 0)).columns(sizes, slice(1, 3)).tolist() == [0, 1, 2, 5, 9]
    assert (mask | NoSelf()).columns(sizes, slice(3, 4)).tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert (mask & Causal()).columns(sizes, slice(0, 2)).tolist() == [0, 5]
    assert Causal().columns(sizes, slice(0, 2)) is None
    assert Blocks([[0, 2], [0, 1]], 4).columns(sizes, slice(2, 7)).tolist() == [0, 1, 2, 3, 8, 9, 10]


def mask_of(mask: Edges) -> Tensor:
    """A graph back from its lists."""
    row = torch.arange(mask.queries, device=mask.csr.keys.device).repeat_interleave(mask.csr.starts.diff())
    return torch.stack([mask.csr.keys, row])


@settings(deadline=None, max_examples=examples(100))
@given(st.data(), SIZES, st.integers(0, 2**16))
def test_edges_are_the_pairs_one_by_one(data, size, seed):
    """Of a graph and any other mask: row by row and column by column, or None where items or heads differ."""
    queries, keys = size
    generator = seeded(seed)
    bounds = torch.tensor([[keys], [queries]])
    graph = Edges((torch.rand(2, seed % 31, generator=generator) * bounds).long())
    other = placed(made(data.draw(masks(queries, keys))))
    for mask in (graph, graph & other, other & graph):
        sizes = sizes_of(mask, BATCH, queries, keys)
        found = mask.edges(sizes)
        every = allowed(mask, BATCH, queries, keys)
        if found is None:
            assert mask is not graph
            continue
        expected = csr_of(every[0].nonzero().T.flip(0), queries, keys)
        assert torch.equal(every[0], every[1])
        for name in ("starts", "keys", "key_starts", "queries", "csc_to_csr"):
            assert torch.equal(getattr(found, name), getattr(expected, name)), name


def test_edges_are_none_where_they_would_differ():
    graph, sizes = placed(Edges([[0, 1], [1, 2]])), Sizes(2, 5, 5)
    assert (graph & Causal()).edges(sizes) is not None
    assert (graph & Window(1, 1) & ~NoSelf()).edges(sizes) is not None
    assert placed(graph & Prefix([1, 2])).edges(sizes) is None
    assert (graph & Predicate(lambda batch, head, query, key: (key + head) % 2 == 0)).edges(sizes) is None
    assert (graph & Causal()).edges(Sizes(2, 5, 5, torch.tensor([5, 3]), torch.tensor([5, 4]))) is None
    assert Edges([torch.tensor([[0], [1]])] * 2).edges(sizes) is None
    assert (graph | Causal()).edges(sizes) is None
    assert (~graph).edges(sizes) is None
    assert Causal().edges(sizes) is None


def test_exact_masks_are_not_asked_where_all_is_allowed(monkeypatch):
    """A full tile asks about no pair: what a mask costs is what it allows."""
    query = torch.zeros(1, 1, 512, 4)
    asked = []
    allows = Lengths.allows
    monkeypatch.setattr(Lengths, "allows", lambda self, at: asked.append(at) or allows(self, at))
    attend(query, query, query, mask=Lengths(key=[100]), engine="blocked")
    assert not asked
    attend(query, query, query, mask=Lengths(query=[500], key=[100]), engine="blocked")
    assert asked  # the last rows of the second tile see nothing, so that tile is partial


@pytest.mark.parametrize("engine", ["blocked", "auto"])
@pytest.mark.parametrize(
    "mask",
    [
        Documents([2] * 7 + [0] * 5 + [1] * 11) & Causal(),
        Prefix(3) | Window(2, 2) | Lengths(query=[2]),
        Guided(0.2),
        Edges.with_loops([[0, 5, 22, 5], [22, 1, 4, 4]], nodes=23),
        Edges([[0, 5, 22, 5], [22, 1, 4, 4]]) | Window(1, 0),
        Edges([[0, 5, 22, 5], [22, 1, 4, 4]]) & Causal(),
        Blocks(torch.eye(5, dtype=torch.bool).roll(1, 0), 5) | Prefix(2),
        NoSelf(),
    ],
    ids=str,
)
def test_attend_sees_what_they_allow(mask, engine):
    generator = seeded(7)
    query, key, value = (torch.randn(1, 2, 23, 5, generator=generator, dtype=torch.float64) for _ in range(3))
    expected = attend(query, key, value, mask=mask, engine="dense")
    torch.testing.assert_close(attend(query, key, value, mask=mask, engine=engine), expected)
