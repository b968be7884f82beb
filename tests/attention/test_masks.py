"""Masks: hand-worked examples a reader can check, the algebra, and what is refused."""

import inspect
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import attention, modules
from regard.attention import Dot, Position, Sizes, Softmax, attend, weigh
from regard.attention.masks import (
    MASKS,
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
    Prefix,
    Window,
    as_mask,
)
from regard.attention.parts import flatten_part, map_operands, unflatten_part
from regard.attention.request import Parts
from regard.errors import ArgumentError
from regard.jury import oracle
from sampling import examples


def placed(mask: Mask) -> Mask:
    """The mask with its tensors where a request puts them, beside those of the queries: lists are on the CPU."""
    return map_operands(lambda tensor: tensor.to(torch.get_default_device()), mask)


def sizes_of(mask: Mask, batch: int, queries: int, keys: int) -> Sizes:
    """The sizes as an engine sees them under this mask."""
    return Parts(Dot(), Softmax(), placed(mask), Position()).sizes(batch, queries, keys)


def allowed(mask: Mask, batch: int, queries: int, keys: int) -> torch.Tensor:
    """All pairs, (batch, query, key), asked one by one."""
    item, head = torch.arange(batch).view(-1, 1, 1), torch.zeros(1, 1, 1, dtype=torch.long)
    query, key = torch.arange(queries).view(1, -1, 1), torch.arange(keys).view(1, 1, -1)
    at = sizes_of(mask, batch, queries, keys).index(item, head, query, key)
    return placed(mask).allows(at).expand(batch, queries, keys)


def picture(mask: Mask, queries: int = 4, keys: int = 4, item: int = 0, batch: int = 1) -> list[str]:
    """The mask as lines of x (may attend) and . (hidden)."""
    rows = allowed(mask, batch, queries, keys)[item].tolist()
    return ["".join("x" if cell else "." for cell in row) for row in rows]


CHAIN = torch.tensor([[0, 1, 2], [1, 2, 3]])
CORNER = torch.tensor([[True, False], [True, True]])


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
        (Documents([7, 7, 2, 2]), ["xx..", "xx..", "..xx", "..xx"]),
        (Documents([1, 0, 1, -1]), ["x.x.", ".x..", "x.x.", "...."]),
        (Documents.of_lengths([1, 3]), ["x...", ".xxx", ".xxx", ".xxx"]),
        (Documents([0, 0, 1, 1], query=[1, 5, 0, -1]), ["..xx", "....", "xx..", "...."]),
        (Documents([0, 0, 1, 1]) & Causal(), ["x...", "xx..", "..x.", "..xx"]),
        (Prefix(2), ["xx..", "xx..", "xx..", "xx.."]),
        (Prefix([3]), ["xxx.", "xxx.", "xxx.", "xxx."]),
        (Prefix(2) | Causal(), ["xx..", "xx..", "xxx.", "xxxx"]),
        (Prefix(1) | Window(0, 0), ["x...", "xx..", "x.x.", "x..x"]),
        (Guided(1), ["xx..", "xxx.", ".xxx", "..xx"]),
        (Guided(0.25), ["xx..", "xxx.", ".xxx", "..xx"]),
        (Guided(0), ["x...", ".x..", "..x.", "...x"]),
        (Guided(0, centres=[0, 0, 1, 3]), ["x...", "x...", ".x..", "...x"]),
        (Guided(1, centres=[-1.5, 0.5, 1.5, 9.0]), ["....", "xx..", ".xx.", "...."]),
        (Edges(CHAIN), ["....", "x...", ".x..", "..x."]),
        (Edges([[3, 1, 1], [0, 0, 0]]), [".x.x", "....", "....", "...."]),
        (Edges.with_loops(CHAIN, 4), ["x...", "xx..", ".xx.", "..xx"]),
        (Edges(CHAIN) | Window(0, 0), ["x...", "xx..", ".xx.", "..xx"]),
        (Edges(torch.zeros(2, 0, dtype=torch.long)), ["....", "....", "....", "...."]),
        (Blocks(CORNER, 2), ["xx..", "xx..", "xxxx", "xxxx"]),
        (Blocks([[1, 0], [0, 1]], 3), ["...x", "...x", "...x", "xxx."]),
        (Causal() & NoSelf(), ["....", "x...", "xx..", "xxx."]),
        (Window(0, 0) | Lengths([1]), ["x...", ".x..", "..x.", "...x"]),
        (~Causal(), [".xxx", "..xx", "...x", "...."]),
        (~Documents([0, 0, 1, 1]), ["..xx", "..xx", "xx..", "xx.."]),
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


def test_a_cached_query_is_in_the_document_of_its_position():
    assert picture(Documents([0, 0, 1, 1]), queries=1) == ["..xx"]
    assert picture(Documents([0, 0, 1]), queries=4, keys=3) == ["...", "xx.", "xx.", "..x"]


@pytest.mark.parametrize("engine", ["dense", "blocked", "auto"])
@pytest.mark.parametrize(
    ("mask", "rule", "queries", "keys"),
    [
        (
            Lengths([1, 0]) & Documents([0, 0, 1]),
            oracle.lengths([1, 0], [1, 0]) & oracle.documents([[0, 0, 1]]),
            5,
            3,
        ),
        (~Lengths([1]) & ~Documents([0]), ~oracle.lengths([1], [1]) & ~oracle.documents([[0]]), 5, 1),
        (Lengths([2]) & Documents([0, 0, 1]), oracle.lengths([2], [2]) & oracle.documents([[0, 0, 1]]), 3, 3),
        (~Documents([0, 1, 1]), ~oracle.documents([[0, 1, 1]]), 7, 3),
        (Documents([0, 1, 1]) | "causal", oracle.documents([[0, 1, 1]]) | oracle.causal(), 2, 3),
    ],
    ids=lambda value: str(value) if isinstance(value, Mask | int) else "",
)
def test_documents_with_more_queries_than_keys(mask, rule, queries, keys, engine):
    """A query beyond the last key is in no document."""
    lengths = mask.lengths().keys
    batch = 1 if lengths is None else len(lengths)
    query, key = torch.zeros(batch, 1, queries, 2), torch.zeros(batch, 1, keys, 2)
    # Each value is a unit vector of its own, so that outputs are weights.
    output = attend(query, key, torch.eye(keys).expand(batch, 1, -1, -1), mask=mask, weights="sigmoid", engine=engine)
    expected = oracle.weigh(query, key, mask=rule, weights="sigmoid")
    torch.testing.assert_close(output, expected.float())


@pytest.mark.parametrize("engine", ["dense", "blocked", "auto"])
def test_a_batch_of_no_items(engine):
    """With as many queries as keys, with more and with fewer."""
    ids, one = torch.zeros(0, 5, dtype=torch.long), torch.zeros(1, 5, dtype=torch.long)
    for queries in (5, 1, 7):
        query, key = torch.zeros(0, 2, queries, 4), torch.zeros(0, 2, 5, 4)
        theirs = torch.zeros(0, queries, dtype=torch.long)
        for mask in (Documents(ids), ~Documents(ids) & "causal", Documents(one, query=theirs), Lengths(key=[])):
            assert attend(query, key, key, mask=mask, engine=engine).shape == query.shape


def test_a_guided_window_keeps_to_each_items_own_lengths():
    # Six keys for three queries: two keys a step; of two queries and two keys, one.
    mask = Guided(1) & Lengths(query=[3, 2], key=[6, 2])
    assert picture(mask, 3, 6, item=0, batch=2) == ["xx....", ".xxx..", "...xxx"]
    assert picture(mask, 3, 6, item=1, batch=2) == ["xx....", "xx....", "......"]
    mask = Guided(0.5) & Lengths(query=[3, 2], key=[6, 2])
    assert picture(mask, 3, 6, item=0, batch=2) == ["xxxx..", "xxxxxx", ".xxxxx"]
    assert picture(mask, 3, 6, item=1, batch=2) == ["xx....", "xx....", "......"]


def test_a_guided_window_between_the_keys():
    # Centres 0, 4/3 and 8/3.
    assert picture(Guided(1), 3, 4) == ["xx..", ".xx.", "..xx"]
    # Centres 0, 3/4, 6/4 and 9/4.
    assert picture(Guided(1), 4, 3) == ["xx.", "xx.", ".xx", "..x"]
    assert picture(Guided(1, centres=[0.0, 4 / 3, 8 / 3]), 3, 4) == ["xx..", ".xx.", "..xx"]


@pytest.mark.parametrize("make", [lambda i: Edges([CHAIN, CHAIN.flip(0)]), lambda i: Edges([CHAIN, CHAIN.flip(0)][i])])
def test_each_item_may_have_a_graph_of_its_own(make):
    assert picture(make(0), item=0, batch=2) == ["....", "x...", ".x..", "..x."]
    assert picture(make(1), item=1, batch=2) == [".x..", "..x.", "...x", "...."]


def test_each_item_may_have_its_own():
    for mask, first, second in [
        (Prefix([1, 3]), "x...", "xxx."),
        (Documents([[0, 0, 1, 1], [0, 1, 1, 1]]), "xx..", "x..."),
        (Documents.of_lengths([[2, 2], [1, 1]]), "xx..", "x..."),
        (Guided(0, centres=[[0, 1, 2, 3], [2, 2, 2, 2]]), "x...", "..x."),
    ]:
        assert [picture(mask, item=item, batch=2)[0] for item in range(2)] == [first, second]


@pytest.mark.parametrize("kind", ["edges", "blocks"])
def test_lists_know_pairs_as_well_as_tiles(kind):
    """Asked pair by pair, in any order, with repeats and beyond the last node that has an edge."""
    torch.manual_seed(0)
    mask = Edges(torch.randint(0, 11, (2, 31))) if kind == "edges" else Blocks(torch.rand(4, 6) < 0.4, 3)
    # One pair after the other, which is the plainest way to ask.
    zero = torch.zeros(1, dtype=torch.long)
    sizes = Sizes(1, 13, 17)
    every = torch.tensor([[bool(mask.allows(sizes.index(zero, zero, zero + q, zero + k))) for k in range(17)]
                          for q in range(13)])  # fmt: skip
    assert torch.equal(allowed(mask, 1, 13, 17)[0], every)
    query, key = torch.randint(0, 13, (97,)), torch.randint(0, 17, (97,))
    assert torch.equal(mask.allows(sizes.index(zero, zero, query, key)), every[query, key])
    query, key = torch.zeros(17, dtype=torch.long) + 4, torch.arange(17)
    assert torch.equal(mask.allows(sizes.index(zero, zero, query, key)), every[4])
    # A tile of neighbours, one whose columns are picked, one where they stand in no order, and one without any.
    for picked in (range(4, 13), [1, 2, 7, 16], [3, 4, 5, 12, 13, 14], [7, 2, 16, 1], []):
        column = torch.tensor(list(picked), dtype=torch.long)
        at = sizes.index(
            zero.view(1, 1, 1), zero.view(1, 1, 1), torch.arange(5, 9).view(1, -1, 1), column.view(1, 1, -1)
        )
        assert torch.equal(mask.allows(at).expand(1, 4, len(column))[0], every[5:9][:, column])


def test_a_part_taken_apart_is_the_same_part():
    """The lists of a graph are built once: they are tensors of the mask, and survive."""
    for mask in (
        Edges(CHAIN),
        Documents([0, 0, 1, 1]),
        Blocks(CORNER, 2),
        Guided(1, centres=[0, 1, 2, 3]),
        Prefix([2]),
    ):
        spec, tensors = flatten_part(mask & Causal())
        assert hash(spec) == hash(flatten_part(mask & Causal())[0])
        joined = unflatten_part(spec, tensors)
        assert picture(joined) == picture(mask & Causal())
        assert repr(joined.left) == repr(mask)
    mask = Edges(CHAIN)
    assert unflatten_part(*flatten_part(mask)).csr.csc_to_csr is mask.csr.csc_to_csr


@pytest.mark.parametrize(
    "mask",
    [
        Causal(),
        ~Window(1, 1),
        Causal() & Lengths(query=[2, 4], key=[5, 0]),
        Guided(1) & Lengths(query=[3, 1], key=[2, 5]),
        Edges(CHAIN) | Prefix([1, 3]),
    ],
    ids=str,
)
def test_extra_keys_stand_before_the_others(mask):
    """All may see them, and positions and lengths of the others are counted as if they weren't there."""
    behind = allowed(ExtraKeysMask(mask, 2), 2, 4, 7)
    assert behind[..., :2].all()
    assert torch.equal(behind[..., 2:], allowed(mask, 2, 4, 5))


AROUND = {
    "alone": lambda mask: mask,
    "not": lambda mask: ~mask,
    "and": lambda mask: Causal() & mask,
    "or": lambda mask: mask | Window(1, 0),
    "extra keys": lambda mask: ExtraKeysMask(mask, 2),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(
    "mask",
    [
        *(Dense(), Causal(), NoSelf(), Window(2, 1), Prefix(3), modules.Strided(3)),
        KeyRange(torch.tensor([1]), torch.tensor([5])),
        *(modules.Longformer(1, 2), modules.Longformer(1, [0, 4]), modules.BigBird(2, 3, 1, random_blocks=0)),
        *(Guided(2), Guided(0.3), modules.BigBird(2, 1, 1, 2)),
    ],
    ids=str,
)
def test_a_mask_says_whether_pairs_change_as_keys_are_added(mask, around):
    """Those of the last query of so many keys are then those of the same query among all keys."""
    mask = AROUND[around](mask)
    whole = allowed(mask, 1, 13, 13)[0]
    same = all(torch.equal(allowed(mask, 1, 1, count)[0, 0], whole[count - 1, :count]) for count in range(3, 14))
    if same:
        mask.check_growing()
    else:
        with pytest.raises(ArgumentError, match=r"`mask` must not have a .* where `cache` is given"):
            mask.check_growing()


def test_a_guided_window_with_centres_does_not_change_as_keys_are_added():
    Guided(2, centres=[1.0, 3.0]).check_growing()
    with pytest.raises(ArgumentError, match="`mask` must not have a Guided that depends on the number of keys"):
        Guided(0.2, centres=[1.0, 3.0]).check_growing()


def recipes(lengths: bool = True) -> st.SearchStrategy[tuple]:
    """Masks as nested tuples of plain data; `build` makes the mask inside the test."""
    pair = st.tuples(st.integers(0, 7), st.integers(0, 7))
    leaves = st.one_of(
        st.sampled_from([("dense",), ("causal",), ("no self",)]),
        st.tuples(st.just("window"), st.integers(0, 3), st.integers(0, 3)),
        st.tuples(st.just("prefix"), st.integers(0, 9)),
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
        case "prefix":
            return Prefix(*rest)
        case "lengths":
            return Lengths(query=list(rest[0]), key=list(rest[1]))
        case "and":
            return build(rest[0]) & build(rest[1])
        case "or":
            return build(rest[0]) | build(rest[1])
        case _:
            return ~build(rest[0])


@settings(deadline=None, max_examples=examples(100))
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


@settings(deadline=None, max_examples=examples(100))
@given(recipes())
def test_twice_not_is_nothing(recipe):
    """Also where lengths decide from which end positions are counted."""
    mask = build(recipe)
    assert picture(~~mask, 8, 8, batch=2) == picture(mask, 8, 8, batch=2)
    assert picture(mask | mask, 8, 8, batch=2) == picture(mask, 8, 8, batch=2) == picture(mask & mask, 8, 8, batch=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Window(-1, 2), "`before` of Window must be a number of keys, 0 or more, but is -1"),
        (lambda: Window(1, -2), "`after` of Window must be"),
        (lambda: Lengths(), "nothing was given"),
        (lambda: Lengths(torch.tensor([[1, 2]])), r"`lengths` of Lengths must be whole numbers of shape \(batch,\)"),
        (lambda: Lengths(torch.tensor(10)), r"of shape \(batch,\), but is torch.int64 of shape \(\)"),
        (lambda: Lengths(torch.tensor([1.0])), "torch.float32"),
        (lambda: Prefix(-1), "`length` of Prefix must be a number of keys, 0 or more, but is -1"),
        (lambda: Prefix([2, -3]), "holds -3"),
        (lambda: Prefix(torch.tensor(2.5)), r"or \(batch,\) one for each item, but is torch.float32 of shape \(\)"),
        (lambda: Prefix("two"), "but is 'two'"),
        (lambda: Documents([0.5, 1.0]), r"`ids` of Documents must be document numbers, \(key,\) or \(batch, length\)"),
        (lambda: Documents(torch.zeros(2, 2, 2).long()), r"of shape \(2, 2, 2\)"),
        (lambda: Documents.of_lengths([2, -1]), "`lengths` of Documents must be 0 or more, but holds -1"),
        (lambda: Guided(-1), "`width` of Guided must be a whole number of keys, 0 or more, or a share"),
        (lambda: Guided(1.5), "but is 1.5"),
        (lambda: Guided(float("nan")), "but is nan"),
        (lambda: Guided(1, centres=[0, 2, 1]), "`centres` of Guided must not go back"),
        (lambda: Guided(1, centres=[0, float("nan")]), "must be finite"),
        (lambda: Guided(1, centres=[[[0]]]), r"of shape \(1, 1, 1\)"),
        (lambda: Edges(CHAIN.T), r"of shape \(3, 2\). Transpose it with .T."),
        (lambda: Edges(CHAIN.float()), "torch.float32"),
        (lambda: Edges(-CHAIN), "`edge_index` of Edges must hold node numbers, 0 or more, but holds -3"),
        (lambda: Edges([CHAIN, CHAIN[0]]), r"of shape \(3,\)"),
        (lambda: Blocks(CORNER, 0), "`size` of Blocks must be how many a block holds, 1 or more, but is 0"),
        (lambda: Blocks([[0], [-1]], 2), "must hold numbers of blocks, but holds -1"),
        (lambda: Blocks(CHAIN.T, 2), r"or \(2, pairs\) numbers of blocks, but is of shape \(3, 2\)"),
        (lambda: Blocks(CORNER.float(), 2), "but is torch.float32"),
        (lambda: as_mask("causl"), "`mask` must be one of dense, causal, no_self by name"),
        (lambda: as_mask("longformer"), r"but is 'longformer'. It needs arguments: pass regard.modules.Longformer\(w"),
        (lambda: as_mask("widow"), r"Did you mean regard.attention.Window\(before, after\)\?"),
        (lambda: as_mask(Window), r"but is <class .*Window'>. Did you mean Window\(...\)\?"),
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


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (Lengths([3]), "`lengths` must be one number for each of 2 items, but is 1 numbers"),
        (Lengths([6, 1]), "`lengths` of the query must be from 0 to 5, the size of that axis, but range from 1 to 6"),
        (Lengths(key=[8, -1]), "`lengths` of the key must be from 0 to 7"),
        (Prefix([1, 2, 3]), "`length` of Prefix must be a number, or one for each of 2 items, but is 3 numbers"),
        (Documents([0] * 5), "`ids` of Documents must be one for each of 7 keys, but is 5"),
        (Documents([0] * 7, query=[0] * 7), "`query` of Documents must be one for each of 5 queries, but is 7"),
        (Documents([[0] * 7] * 3), "`ids` of Documents must be for one item or for all 2, but is for 3"),
        (Guided(1, centres=[0, 1]), "`centres` of Guided must be one for each of 5 queries, but is 2"),
        (Edges([[7], [0]]), "must hold numbers below 7 in row 0, as there are 7 keys, but holds 7"),
        (Edges([[0], [5]]), "must hold numbers below 5 in row 1, as there are 5 queries, but holds 5"),
        (Edges([CHAIN] * 3), "must be one graph or a graph for each of 2 items, but is 3 graphs"),
        (Blocks(torch.ones(3, 4, dtype=torch.bool), 2), None),
        (Blocks(torch.ones(4, 4, dtype=torch.bool), 2), "for 3 blocks of queries, as 5 make of 2 each, but is for 4"),
        (Blocks(torch.ones(3, 5, dtype=torch.bool), 2), "for 4 blocks of keys, as 7 make of 2 each, but is for 5"),
    ],
)
def test_a_mask_must_fit_the_request(mask, message):
    """Alone and inside of others."""
    for whole in (mask, mask & Causal(), NoSelf() | mask, ~mask):
        if message is None:
            whole.check(Sizes(2, 5, 7))
        else:
            with pytest.raises(ArgumentError, match=message):
                whole.check(Sizes(2, 5, 7))


def test_a_name_is_a_mask_where_it_needs_no_arguments():
    assert as_mask("causal") == Causal()
    for name, kind in MASKS.items():
        if name in ("dense", "causal", "no_self"):
            assert as_mask(name) == kind()
        else:
            with pytest.raises(ArgumentError, match="or a mask such as"):
                as_mask(name)


def test_masks_print_in_a_line():
    """They stand in plans."""
    masks = [Edges(CHAIN), Edges([CHAIN] * 2), Documents([0, 0, 1]), Blocks(CORNER, 2)]
    assert [str(mask) for mask in masks] == [
        "Edges(3 edges)",
        "Edges(6 edges in 2 graphs)",
        "Documents(3 keys)",
        "Blocks(3 pairs of blocks of 2)",
    ]


def test_every_mask_is_known_by_name():
    """Each name gives a mask, or the call that makes one, with all arguments that have no default."""
    further = {each.__name__.lower(): each for each in (modules.BigBird, modules.Longformer, modules.Strided)}
    for name, kind in {**MASKS, **further}.items():
        parameters = inspect.signature(kind).parameters.values()
        if not parameters:
            assert type(as_mask(name)) is kind
            continue
        with pytest.raises(ArgumentError, match="It needs arguments: pass regard") as caught:
            as_mask(name)
        room, called, given = re.search(r"pass regard\.(\w+)\.(\w+)\((.+)\)\.$", str(caught.value)).groups()
        assert getattr({"attention": attention, "modules": modules}[room], called) is kind
        needed = [each.name for each in parameters if each.default is each.empty]
        # The first argument where none is needed.
        assert name == "lengths" or given.split(", ") == (needed or [next(iter(parameters)).name])
