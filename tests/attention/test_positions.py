"""Positions inside the operator: laws, cases by hand, and gradients by hand against autograd."""

import copy
import math
from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from attention.cases import seeded
from regard import attend
from regard.attention import Causal, Index, Lengths, Window
from regard.attention.attend import weigh
from regard.attention.gradients.sparse_gradients import accumulate
from regard.attention.parts import flatten_part, unflatten_part
from regard.attention.positions import (
    POSITIONS,
    Alibi,
    Bias,
    Both,
    Bucketed,
    Buckets,
    GuidedBias,
    OffsetBias,
    Position,
    Relative,
    RelativeKeys,
    RelativeValues,
    Rotary,
    Slopes,
    skewing,
)
from regard.attention.positions.alibi import alibi_slopes
from regard.attention.positions.bucketed import bucket
from regard.attention.positions.skewing import (
    diagonal_sums,
    expand_offsets,
    offset_products,
    skew,
    sum_by_index,
    sum_by_offset,
    sum_in_order,
    unskew,
)
from regard.errors import ArgumentError

HEADS, FEATURE, VALUE, BATCH = 3, 5, 7, 2
# On a GPU, sums that many threads add to are rounded in any order.
ORDER_OF_SUMS = 0.0 if torch.get_default_device().type == "cpu" else 1e-12


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=seeded(seed))


@dataclass(frozen=True)
class Wave(OffsetBias):
    """A bias of a user's own, with no gradient written by hand."""

    strength: torch.Tensor

    def bias(self, offset):
        return self.strength * torch.sin(offset.to(self.strength.dtype))


SCHEMES = {
    "keys": lambda: RelativeKeys(numbers(7, FEATURE)),
    "keys by head": lambda: RelativeKeys(numbers(HEADS, 5, FEATURE)),
    "keys, reach 0": lambda: RelativeKeys(numbers(1, FEATURE)),
    "keys, far reach": lambda: RelativeKeys(numbers(201, FEATURE)),
    "values": lambda: RelativeValues(numbers(7, VALUE)),
    "values by head": lambda: RelativeValues(numbers(HEADS, 5, VALUE)),
    "both sides": lambda: Both(RelativeKeys(numbers(3, FEATURE)), RelativeValues(numbers(5, VALUE, seed=1))),
    "buckets": lambda: Buckets(numbers(8), reach=11),
    "buckets by head": lambda: Buckets(numbers(HEADS, 8), reach=11),
    "buckets, causal": lambda: Buckets(numbers(HEADS, 5), reach=11, causal=True),
    "slopes": lambda: Slopes(numbers(HEADS)),
    "one slope": lambda: Slopes(torch.tensor(0.3, dtype=torch.float64)),
    "own bias": lambda: Wave(torch.tensor(0.7, dtype=torch.float64)),
    "table": lambda: Bias(numbers(29, 31)),
    "table by head": lambda: Bias(numbers(HEADS, 29, 31)),
    "table by item": lambda: Bias(numbers(BATCH, 1, 1, 31)),
    "whole table": lambda: Bias(numbers(BATCH, HEADS, 29, 31)),
    "guided": lambda: GuidedBias(0.3),
    "sum": lambda: Rotary(size=4) + Buckets(numbers(HEADS, 8), reach=11) + RelativeValues(numbers(5, VALUE)),
}

# (first row, rows, first column, columns, shift): at a corner, far left and right of the reach, wider and taller.
TILES = {
    "all": (0, 29, 0, 31, 2),
    "left": (23, 5, 0, 7, 2),
    "right": (0, 5, 20, 11, 2),
    "tall": (2, 19, 11, 3, 2),
    "one row": (17, 1, 3, 23, -4),
    "one pair": (17, 1, 3, 1, 0),
}


def index(tile: str, groups: tuple[int, ...] = (0, 1, 2, 3, 4, 5)) -> Index:
    """A tile of neighbours."""
    row, rows, column, columns, shift = TILES[tile]
    group = torch.tensor(groups).view(-1, 1, 1)
    return Index(
        group // HEADS,
        group % HEADS,
        torch.arange(row, row + rows).view(1, -1, 1),
        torch.arange(column, column + columns).view(1, 1, -1),
        shift,
        column - row - shift,
        29,
        31,
    )


def selected(part: Position, at: Index) -> Position:
    return part.select(at.head.flatten()) if hasattr(part, "select") else part


def hooked(part: Position, at: Index, hook: str, *operands: torch.Tensor):
    """A hook as a function of its tensors, and those tensors."""
    groups, rows, columns = len(at.batch), at.query.shape[1], at.key.shape[2]
    spec, _ = flatten_part(part)
    if hook == "scores":
        inputs = numbers(groups, rows, FEATURE, seed=2), numbers(groups, columns, FEATURE, seed=3)
        base = numbers(groups, rows, columns, seed=4)
    else:
        inputs = (numbers(groups, rows, columns, seed=5).abs(),)
        base = numbers(groups, rows, VALUE, seed=6)

    def call(*tensors):
        whole = unflatten_part(spec, tensors[len(inputs) :])
        return getattr(whole, hook)(base, *tensors[: len(inputs)], at)

    return call, inputs, base


def hooks(part: Position) -> list[str]:
    return [hook for hook in ("scores", "outputs") if getattr(type(part), hook) is not getattr(Position, hook)]


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("scheme", SCHEMES)
class TestHooks:
    def test_views_give_what_indices_give(self, scheme, tile):
        fast = index(tile)
        each = copy.copy(fast)
        # An offset for each group, as items with their own shifts have it.
        object.__setattr__(each, "first_offset", torch.full((len(fast.batch), 1, 1), fast.first_offset))
        part = selected(SCHEMES[scheme](), fast)
        for hook in hooks(part):
            results = []
            for at in (fast, replace(fast, first_offset=None), each):
                call, inputs, base = hooked(part, at, hook)
                operands = flatten_part(part)[1]
                vjps = getattr(part, f"{hook}_vjp")(base, *inputs, at)
                results.append(
                    (call(*inputs, *operands), *(accumulate(None, grad) for grad in vjps if grad is not None))
                )
            for other in results[1:]:
                for one, two in zip(results[0], other, strict=True):
                    torch.testing.assert_close(one, two, rtol=0, atol=1e-12)

    def test_vjps_are_the_gradients(self, scheme, tile):
        at = index(tile)
        part = selected(SCHEMES[scheme](), at)
        for hook in hooks(part):
            call, inputs, base = hooked(part, at, hook)
            wanted = [tensor.clone().requires_grad_() for tensor in (*inputs, *flatten_part(part)[1])]
            gradient = numbers(*base.shape, seed=7)
            # Adding the inputs, 0 times, makes one of the gradients of what depends on none of them.
            result = call(*wanted) + 0 * sum(tensor.sum() for tensor in wanted)
            expected = torch.autograd.grad(result, wanted, gradient)
            found = getattr(part, f"{hook}_vjp")(gradient, *inputs, at)
            found = [None if grad is None else accumulate(None, grad) for grad in found]
            assert len(found) == len(expected)
            for one, two, tensor in zip(found, expected, wanted, strict=True):
                one = torch.zeros_like(tensor) if one is None else one
                assert one.shape == tensor.shape
                torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-10)

    def test_hooks_change_no_input_and_repeat_their_bits(self, scheme, tile):
        at = index(tile)
        part = selected(SCHEMES[scheme](), at)
        for hook in hooks(part):
            call, inputs, base = hooked(part, at, hook)
            given = (base, *inputs, *flatten_part(part)[1])
            before = [tensor.clone() for tensor in given]
            vjp = getattr(part, f"{hook}_vjp")
            first, once = call(*inputs, *flatten_part(part)[1]), vjp(base, *inputs, at)
            again, twice = call(*inputs, *flatten_part(part)[1]), vjp(base, *inputs, at)
            assert torch.equal(first, again)
            sums = zip(once, twice, strict=True)
            assert all(a is b is None or torch.equal(accumulate(None, a), accumulate(None, b)) for a, b in sums)
            assert all(torch.equal(a, b) for a, b in zip(before, given, strict=True))


@pytest.mark.parametrize("first_offset", [18, None])
@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name not in ("guided", "keys, far reach")])
def test_gradcheck(scheme, first_offset):
    at = replace(index("right", groups=(1, 5)), first_offset=first_offset)
    part = selected(SCHEMES[scheme](), at)
    for hook in hooks(part):
        call, inputs, _ = hooked(part, at, hook)
        tensors = [tensor.clone().requires_grad_() for tensor in (*inputs, *flatten_part(part)[1])]
        assert torch.autograd.gradcheck(call, tensors, fast_mode=True, nondet_tol=ORDER_OF_SUMS)
        assert torch.autograd.gradgradcheck(call, tensors, fast_mode=True, nondet_tol=ORDER_OF_SUMS)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_group_takes_its_own_heads_parameters(scheme):
    whole = index("all")
    part = SCHEMES[scheme]()
    for hook in hooks(selected(part, whole)):
        together = selected(part, whole)
        call, inputs, base = hooked(together, whole, hook)
        result = call(*inputs, *flatten_part(together)[1])
        for group in range(len(whole.batch)):
            at = index("all", groups=(group,))
            alone = selected(part, at)
            given = [tensor[group : group + 1] for tensor in (base, *inputs)]
            torch.testing.assert_close(getattr(alone, hook)(*given, at)[0], result[group], rtol=0, atol=1e-12)


ATTENDED = {
    **{name: make for name, make in SCHEMES.items() if "table" not in name},
    "rotary": lambda: Rotary(size=4),
    "rotary neighbours": lambda: Rotary(size=2, pairs="neighbours", base=10.0),
}
MASKS = {
    "dense": None,
    "causal": Causal(),
    "window": Window(2, 1),
    "lengths": Lengths(query=[19, 7], key=[11, 23]),
    "causal & lengths": Causal() & Lengths(query=[19, 7], key=[23, 11]),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("scheme", ATTENDED)
def test_tiles_equal_the_definition(scheme, mask):
    results = {}
    for engine in ("dense", "blocked"):
        tensors = [
            numbers(BATCH, HEADS, length, size, seed=seed).requires_grad_()
            for seed, (length, size) in enumerate([(19, FEATURE), (23, FEATURE), (23, VALUE)])
        ]
        spec, operands = flatten_part(ATTENDED[scheme]())
        operands = tuple(operand.clone().requires_grad_() for operand in operands)
        output = attend(*tensors, position=unflatten_part(spec, operands), mask=MASKS[mask], engine=engine)
        wanted = [*tensors, *operands]
        grads = torch.autograd.grad((output * numbers(*output.shape, seed=9)).sum(), wanted, allow_unused=True)
        results[engine] = [
            output,
            *(torch.zeros_like(t) if g is None else g for g, t in zip(grads, wanted, strict=True)),
        ]
    for one, two in zip(results["dense"], results["blocked"], strict=True):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-9)


class TestShearing:
    @pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 5), (5, 1), (3, 7), (7, 3), (5, 5)])
    def test_there_and_back(self, rows, columns):
        tile = numbers(2, rows, columns)
        lines = unskew(tile)
        assert lines.shape == (2, rows, rows + columns)
        assert torch.equal(skew(lines), tile)
        assert lines.sum().item() == pytest.approx(tile.sum().item())
        for row in range(rows):
            assert torch.equal(lines[:, row, rows - 1 - row : rows - 1 - row + columns], tile[:, row])
        for given in (tile, tile.mT.contiguous().mT):
            torch.testing.assert_close(diagonal_sums(given), lines.sum(1, keepdim=True), rtol=0, atol=1e-14)

    def test_a_stored_line_is_not_copied(self):
        lines = numbers(2, 3, 8)
        assert skew(lines).untyped_storage().data_ptr() == lines.untyped_storage().data_ptr()

    @pytest.mark.parametrize("tile", TILES)
    @pytest.mark.parametrize("size", [1, 3, 9, 101])
    def test_sum_by_offset_is_expand_offsets_transposed(self, tile, size):
        at = index(tile)
        rows, columns = at.query.shape[1], at.key.shape[2]
        products, tile_of = numbers(6, rows, size), numbers(6, rows, columns, seed=1)
        there = (expand_offsets(products, at, columns) * tile_of).sum()
        back = (products * sum_by_offset(tile_of, at, size)).sum()
        torch.testing.assert_close(there, back, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("tile", TILES)
    @pytest.mark.parametrize("size", [1, 3, 9, 101])
    @pytest.mark.parametrize("groups", [(), (6,)], ids=["one table", "a table each"])
    @pytest.mark.parametrize("short", [0, 16, 10**9])
    def test_products_of_a_line_are_the_line_of_products(self, tile, size, groups, short, monkeypatch):
        monkeypatch.setattr(skewing, "_SHORT", short)
        at = index(tile)
        rows, columns = at.query.shape[1], at.key.shape[2]
        vectors, table = numbers(6, rows, 5), numbers(*groups, size, 5, seed=1)
        found = offset_products(vectors, table, at, columns)
        reach = (size - 1) // 2
        distance = (at.offset.clamp(-reach, reach) + reach).expand(6, rows, columns)
        expected = (vectors.unsqueeze(2) * table.expand(6, size, 5)[torch.arange(6).view(6, 1, 1), distance]).sum(-1)
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)

    def test_both_ways_of_collecting_agree(self):
        tile, places = numbers(2, 3, 11), torch.randint(5, (2, 3, 11), generator=seeded(0))
        torch.testing.assert_close(sum_by_index(tile, places, 5), sum_in_order(tile, places, 5), rtol=0, atol=1e-14)


class TestRelative:
    def test_the_sum_that_shaw_writes(self):
        module = Relative(FEATURE, reach=2, heads=HEADS, on="both", value_size=VALUE).double()
        query, key = numbers(1, HEADS, 4, FEATURE), numbers(1, HEADS, 6, FEATURE, seed=1)
        value = numbers(1, HEADS, 6, VALUE, seed=2)
        result = attend(query, key, value, position=module)
        for head in range(HEADS):
            for i in range(4):
                distance = [min(max(j - (i + 2), -2), 2) + 2 for j in range(6)]
                scores = torch.stack(
                    [
                        query[0, head, i] @ (key[0, head, j] + module.table[head, distance[j]]) / math.sqrt(FEATURE)
                        for j in range(6)
                    ]
                )
                weights = scores.softmax(0)
                expected = sum(
                    weights[j] * (value[0, head, j] + module.value_table[head, distance[j]]) for j in range(6)
                )
                torch.testing.assert_close(result[0, head, i], expected, rtol=1e-10, atol=1e-10)

    def test_values_by_hand(self):
        # Uniform weights, nothing in the values: the output says how many keys lie before, at and after the query.
        table = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
        zeros = torch.zeros(1, 1, 4, 3)
        counts = attend(zeros, zeros, zeros, position=RelativeValues(table))[0, 0] * 4
        torch.testing.assert_close(counts, torch.tensor([[0.0, 1, 3], [1, 1, 2], [2, 1, 1], [3, 1, 0]]))

    def test_names_of_the_parameters(self):
        assert [name for name, _ in Relative(4, 2).named_parameters()] == ["table"]
        assert [name for name, _ in Relative(4, 2, on="values").named_parameters()] == ["value_table"]
        assert Relative(4, 2, heads=3, on="both", value_size=7).value_table.shape == (3, 5, 7)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Relative(4, reach=-1), "`reach` must be a distance, 0 or more, but is -1"),
            (lambda: Relative(4, on="queries"), "'keys', 'values' or 'both', but is 'queries'"),
            (lambda: _attended(RelativeKeys(torch.zeros(3, 4))), r"must have a table \(2 reach \+ 1, 5\).*\(3, 4\)"),
            (lambda: _attended(RelativeKeys(torch.zeros(4, 5))), r"must have a table \(2 reach \+ 1, 5\)"),
            (lambda: _attended(RelativeValues(torch.zeros(3, 4))), r"must have a table \(2 reach \+ 1, 5\).*\(3, 4\)"),
            (lambda: _attended(RelativeValues(torch.zeros(2, 3, 5))), "vectors for every head, but has them for 2"),
        ],
    )
    def test_refusals(self, make, message):
        with pytest.raises(ArgumentError, match=message):
            make()


class TestRotary:
    def test_pairs_by_hand(self):
        vectors, position = torch.tensor([[[1.0, 2, 3, 4]]]), torch.tensor([3])
        (c0, s0), (c1, s1) = ((math.cos(a), math.sin(a)) for a in (3.0, 3.0 / 100))
        halves = Rotary().heads(vectors, vectors, position, position)[0][0, 0]
        expected = torch.tensor([1 * c0 - 3 * s0, 2 * c1 - 4 * s1, 3 * c0 + 1 * s0, 4 * c1 + 2 * s1])
        torch.testing.assert_close(halves, expected)
        neighbours = Rotary(pairs="neighbours").heads(vectors, vectors, position, position)[0][0, 0]
        expected = torch.tensor([1 * c0 - 2 * s0, 2 * c0 + 1 * s0, 3 * c1 - 4 * s1, 4 * c1 + 3 * s1])
        torch.testing.assert_close(neighbours, expected)

    @pytest.mark.parametrize("pairs", ["halves", "neighbours"])
    def test_scores_know_the_distance_alone(self, pairs):
        query, key = numbers(1, 1, 11, 6), numbers(1, 1, 11, 6, seed=1)
        position = torch.arange(11)
        scheme = Rotary(pairs=pairs, stretch=1.5, base=50.0)
        near, far = (
            torch.matmul(q, k.mT) for q, k in (scheme.heads(query, key, position + s, position + s) for s in (0, 1000))
        )
        torch.testing.assert_close(near, far, rtol=1e-9, atol=1e-9)

    def test_norms_stay_and_the_rest_is_left_alone(self):
        vectors = numbers(2, 3, 11, 7)
        rotated, _ = Rotary(size=4).heads(vectors, vectors, torch.arange(11) + 5, torch.arange(11))
        torch.testing.assert_close(rotated.norm(dim=-1), vectors.norm(dim=-1))
        assert torch.equal(rotated[..., 4:], vectors[..., 4:])
        assert not torch.allclose(rotated[..., :4], vectors[..., :4])

    def test_a_step_with_a_cache_is_a_row_of_the_whole(self):
        query, key, value = (numbers(1, 2, 13, 6, seed=seed) for seed in range(3))
        whole = attend(query, key, value, position="rotary", mask="causal")
        for step in (1, 7, 13):
            row = attend(
                query[:, :, step - 1 : step], key[:, :, :step], value[:, :, :step], position="rotary", mask="causal"
            )
            torch.testing.assert_close(row[:, :, 0], whole[:, :, step - 1], rtol=1e-9, atol=1e-9)

    def test_far_positions_are_as_exact_as_near_ones(self):
        vectors = torch.tensor([[1.0, 0.0]])
        position = torch.tensor([10_000_019])
        rotated, _ = Rotary().heads(vectors, vectors, position, position)
        expected = torch.tensor([math.cos(10_000_019), math.sin(10_000_019)])
        torch.testing.assert_close(rotated[0], expected, rtol=0, atol=1e-6)

    def test_stretch_divides_positions(self):
        vectors, position = numbers(5, 6), torch.arange(5)
        slow, _ = Rotary(stretch=4.0).heads(vectors, vectors, position * 4, position)
        plain, _ = Rotary().heads(vectors, vectors, position, position)
        torch.testing.assert_close(slow, plain)

    def test_gradients_pass_and_dtypes_stay(self):
        vectors = numbers(2, 5, 6).requires_grad_()
        position = torch.arange(5)
        assert torch.autograd.gradcheck(lambda t: Rotary(size=4).heads(t, t, position, position), vectors)
        half = vectors.detach().bfloat16()
        assert Rotary().heads(half, half, position, position)[0].dtype == torch.bfloat16

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Rotary(size=3), "`size` must be an even number.*but is 3"),
            (lambda: Rotary(pairs="interleaved"), "'halves' or 'neighbours', but is 'interleaved'"),
            (lambda: Rotary(base=0.0), "`base` must be more than 0, but is 0.0"),
            (lambda: Rotary(stretch=-1.0), "`stretch` must be more than 0, but is -1.0"),
            (lambda: _attended(Rotary(size=8)), "5 at most in heads of that size, but turns 8"),
            (lambda: _attended(Rotary()), "an even number of features, 5 at most"),
        ],
    )
    def test_refusals(self, make, message):
        with pytest.raises(ArgumentError, match=message):
            make()


class TestBucketed:
    def test_four_by_four_by_hand(self):
        # Four buckets: at or before the query within 0, further before; after it by less than 1 (none), further after.
        table = torch.tensor([[0.0, 10.0, 20.0, 30.0]])
        at = Index(*(torch.tensor(0).view(1, 1, 1),) * 2, torch.arange(4).view(1, 4, 1), torch.arange(4), 0, 0)
        scores = Buckets(table, reach=4).scores(torch.zeros(1, 4, 4), *(torch.zeros(1, 4, 1),) * 2, at)
        expected = torch.tensor([[0.0, 30, 30, 30], [10, 0, 30, 30], [10, 10, 0, 30], [10, 10, 10, 0]])
        assert torch.equal(scores[0], expected)

    def test_t5_by_hand(self):
        # 32 buckets, 128: 16 a side, 8 single; then 8 shared with edges at 8 x 16^(k/8) = 8, 11.3, 16, 22.6, 32, ...
        distance = torch.tensor([0, 1, 7, 8, 11, 12, 15, 16, 22, 23, 31, 32, 45, 46, 63, 64, 90, 91, 127, 128, 9999])
        side = torch.tensor([0, 1, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 15, 15])
        assert torch.equal(bucket(-distance, 32, 128, causal=False), side)
        assert torch.equal(bucket(distance[1:], 32, 128, causal=False), side[1:] + 16)
        # A decoder: 32 for the past, 16 single; edges at 16 x 8^(k/16).
        past = torch.tensor([0, 15, 16, 18, 19, 20, 21, 63, 64, 112, 113, 128])
        assert bucket(-past, 32, 128, causal=True).tolist() == [0, 15, 16, 16, 17, 17, 18, 26, 26, 30, 31, 31]
        assert not bucket(past, 32, 128, causal=True).any()

    def test_buckets_never_turn_back(self):
        offset = torch.arange(-300, 301)
        index = bucket(offset, 32, 128, causal=False)
        assert (index[:301].diff() <= 0).all()
        assert (index[301:].diff() >= 0).all()
        assert set(index.tolist()) == set(range(32)) - {16}

    def test_shared_biases_are_one_table_for_all_heads(self):
        shared, by_head = Buckets(numbers(8), 11), Buckets(numbers(8).expand(HEADS, 8), 11)
        vectors = numbers(1, HEADS, 13, FEATURE)
        one, two = (weigh(vectors, vectors, position=part) for part in (shared, by_head))
        assert torch.equal(one, two)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Bucketed(2, buckets=3), "an even number from 4 on, but is 3"),
            (lambda: Bucketed(2, buckets=2), "an even number from 4 on, but is 2"),
            (
                lambda: Bucketed(2, buckets=1, causal=True),
                "`buckets` must be how many biases a head has, 2 or more, but is 1",
            ),
            (lambda: Bucketed(2, buckets=32, reach=8), "more than the 8 distances.*but is 8"),
            (lambda: _attended(Bucketed(2)), "biases for every head, but has them for 2"),
        ],
    )
    def test_refusals(self, make, message):
        with pytest.raises(ArgumentError, match=message):
            make()


class TestAlibi:
    def test_four_by_four_by_hand(self):
        scores = weigh(*(torch.zeros(1, 2, 4, 1, dtype=torch.float64),) * 2, position=Alibi(heads=2)).log()
        distance = torch.tensor([[0.0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]], dtype=torch.float64)
        # Two heads: slopes 2^-4 and 2^-8. The logarithm of softmax is the score less the same number in each row.
        for head, slope in enumerate((1 / 16, 1 / 256)):
            rows = scores[0, head] - scores[0, head].diagonal().unsqueeze(1)
            torch.testing.assert_close(rows, -slope * distance)

    def test_slopes_of_the_paper(self):
        assert alibi_slopes(8).tolist() == [2.0**-k for k in range(1, 9)]
        assert alibi_slopes(1).tolist() == [2.0**-8]
        twelve = [2.0**-k for k in range(1, 9)] + [2.0 ** -(k + 0.5) for k in range(4)]
        torch.testing.assert_close(alibi_slopes(12), torch.tensor(twelve))

    def test_it_is_moved_and_not_saved(self):
        module = Alibi(heads=3)
        assert not module.state_dict()
        assert not list(module.parameters())

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
    def test_slopes_are_exact_whatever_the_dtype_of_the_module(self, dtype):
        """2^-0.5 needs every bit: in a module of bfloat16, whose scores are float32, and in float64."""
        position = Alibi(heads=16).to(dtype)
        x = torch.zeros(1, 16, 3, 2, dtype=torch.float64)
        found = weigh(x, x, weights=lambda scores, allowed: scores, position=position)[0, :, 0, 2]
        assert found.tolist() == [-2 * 2.0 ** (-k / 2) for k in range(1, 17)]

    def test_refusals(self):
        with pytest.raises(ArgumentError, match="`heads` must be how many heads there are, 1 or more, but is 0"):
            Alibi(heads=0)
        with pytest.raises(ArgumentError, match="slopes for every head, but has them for 2"):
            _attended(Alibi(heads=2))
        with pytest.raises(ArgumentError, match=r"pass Alibi\(...\)"):
            _attended("alibi")


class TestBias:
    @pytest.mark.parametrize(
        "shape", [(5, 7), (1, 7), (5, 1), (3, 5, 7), (1, 5, 7), (2, 3, 5, 7), (2, 1, 5, 7), (2, 1, 1, 7), (1, 3, 5, 1)]
    )
    @pytest.mark.parametrize("engine", ["dense", "blocked"])
    def test_equals_torch(self, shape, engine):
        tensors = [numbers(2, 3, n, 4, seed=seed).requires_grad_() for seed, n in enumerate((5, 7, 7))]
        table = numbers(*shape, seed=5).requires_grad_()
        ours = attend(*tensors, position=Bias(table), engine=engine)
        theirs = nn.functional.scaled_dot_product_attention(*tensors, attn_mask=table)
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
        weight = numbers(*ours.shape, seed=6)
        grads = [torch.autograd.grad((out * weight).sum(), [*tensors, table]) for out in (ours, theirs)]
        for one, two in zip(*grads, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-9)

    def test_refusals(self):
        with pytest.raises(ArgumentError, match="a bool table, which is a mask"):
            Bias(torch.ones(3, 3, dtype=torch.bool))
        with pytest.raises(ArgumentError, match="two to four axes"):
            Bias(torch.ones(3))
        with pytest.raises(ArgumentError, match=r"here \(5, 5\), but is \(3, 5\)"):
            _attended(Bias(torch.ones(3, 5)))
        with pytest.raises(ArgumentError, match=r"key\), here \(3, 5, 5\), but is \(2, 5, 5\)"):
            _attended(Bias(torch.ones(2, 5, 5)))


class TestGuided:
    def test_by_hand(self):
        scores = weigh(torch.zeros(1, 1, 2, 1), torch.zeros(1, 1, 4, 1), position=GuidedBias(0.5)).log()[0, 0]
        # -(i/2 - j/4)^2 / 0.5
        expected = -2 * torch.tensor([[0.0, 1, 4, 9], [4, 1, 0, 1]]) / 16
        torch.testing.assert_close(scores - scores.amax(1, keepdim=True), expected - expected.amax(1, keepdim=True))

    @pytest.mark.parametrize("engine", ["dense", "blocked"])
    def test_an_item_has_its_own_diagonal(self, engine):
        query, key, value = (numbers(2, 1, n, 4, seed=n) for n in (7, 11, 13))
        key, value = key[:, :, :11], value[:, :, :11]
        lengths = Lengths(query=[7, 3], key=[5, 11])
        together = attend(query, key, value, position=GuidedBias(0.2), mask=lengths, engine=engine)
        for item, (m, n) in enumerate(((7, 5), (3, 11))):
            one = slice(item, item + 1)
            alone = attend(query[one, :, :m], key[one, :, :n], value[one, :, :n], position=GuidedBias(0.2))
            torch.testing.assert_close(together[one, :, :m], alone, rtol=1e-9, atol=1e-9)

    def test_refusals(self):
        with pytest.raises(ArgumentError, match="`width` must be a share of the whole, more than 0, but is 0"):
            GuidedBias(0.0)


class TestBoth:
    def test_one_after_the_other(self):
        vectors = numbers(1, HEADS, 11, 6)
        table = numbers(11, 11)
        rotated, _ = Rotary().heads(vectors, vectors, torch.arange(11), torch.arange(11))
        together = weigh(vectors, vectors, position=Rotary() + Bias(table))
        torch.testing.assert_close(together, weigh(rotated, rotated, position=Bias(table)), rtol=1e-9, atol=1e-9)

    def test_modules_keep_their_parameters(self):
        module = Rotary() + Relative(6, 2)
        assert isinstance(module, nn.Module)
        assert [name for name, _ in module.named_parameters()] == ["second.table"]
        three = Bucketed(2, 4, 3) + Rotary() + Relative(6, 2, on="both")
        assert len(list(three.parameters())) == 3
        vectors = torch.randn(1, 2, 5, 6)
        attend(vectors, vectors, vectors, position=three).sum().backward()
        assert all(parameter.grad is not None for parameter in three.parameters())

    def test_a_part_without_a_vjp_leaves_none(self):
        own = _Own()
        assert getattr(Both(Alibi(2).part(), own), "scores_vjp", None) is None
        assert getattr(Both(Alibi(2).part(), own), "outputs_vjp", None) is not None
        assert getattr(Both(Alibi(2).part(), Rotary()), "scores_vjp", None) is not None

    def test_a_sum_is_as_foreign_as_its_parts(self):
        tensor = torch.ones((), requires_grad=True)
        vectors = torch.randn(1, 2, 5, 6, requires_grad=True)
        with pytest.raises(ArgumentError, match="requires grad but that it doesn't declare"):
            attend(vectors, vectors, vectors, position=Rotary() + _Captured(tensor), engine="blocked")

    def test_only_schemes_add_up(self):
        with pytest.raises(TypeError):
            Rotary() + 1
        with pytest.raises(TypeError):
            Relative(4) + "rotary"


def test_the_names_are_those_in_the_dict():
    assert list(POSITIONS) == ["relative", "rotary", "bucketed", "alibi"]


class _Own(Position):
    def scores(self, scores, query, key, at):
        return scores * 2


class _Captured(Position):
    def __init__(self, tensor):
        self._held = [tensor]

    def scores(self, scores, query, key, at):
        return scores * self._held[0]


def _attended(position):
    vectors = torch.zeros(1, 3, 5, 5)
    return attend(vectors, vectors, vectors, position=position)
