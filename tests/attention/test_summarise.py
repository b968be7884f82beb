"""`summarise` against the weights themselves, and by laws."""

import itertools
import sys

import pytest
import torch

from attention.cases import (
    BATCH,
    HEADS,
    MASK_EXAMPLES,
    SELF,
    SIZES,
    Case,
    each_part,
    pairwise,
    tensors,
)
from attention.comparing import request_of
from attention.peaks import printed
from regard.attention import Causal, Edges, Lengths, Window, weigh
from regard.attention.engines import triton
from regard.attention.engines.blocked import statistics
from regard.attention.engines.blocked.summaries import WeightsTile, summarise_tile
from regard.attention.engines.blocked.tiles import TileSize
from regard.attention.engines.jit import summaries as compiled
from regard.attention.summarise import Summary, summarise
from regard.errors import ArgumentError, RefusedError
from sampling import examples

# The package gives the function the name of its module.
module = sys.modules["regard.attention.summarise"]

# Compiled passes are a CPU's.
ENGINES = ["jit", "blocked"] if torch.get_default_device().type == "cpu" else ["blocked"]
TOLERANCE = {torch.float64: 1e-11, torch.float32: 3e-5}
FIELDS = [name for name in Summary.__dataclass_fields__ if name != "top_index"]


def defined(weights, allowed, positions, top, pool, rows) -> Summary:
    """The summary as its docstring says it, from all weights, (batch, head, query, key)."""
    batch, heads, queries, keys = weights.shape
    found = torch.where(allowed, weights, -torch.inf).sort(dim=-1, descending=True, stable=True)
    more = (batch, heads, queries, max(top - keys, 0))
    values = torch.cat([found.values, torch.full(more, -torch.inf, dtype=weights.dtype)], -1)[..., :top]
    indices = torch.cat([found.indices, torch.full(more, -1)], -1)[..., :top]
    none = values == -torch.inf
    shares = weights.abs()
    shares = torch.where(shares.sum(-1, keepdim=True) == 0, 0.0, shares / shares.sum(-1, keepdim=True))
    apart = (torch.arange(keys) - positions.unsqueeze(-1)).abs()
    cut = [[c * size // min(pool, size) for c in range(min(pool, size) + 1)] for size in (queries, keys)]
    pooled, pooled_max = weights.new_zeros(2, batch, heads, len(cut[0]) - 1, len(cut[1]) - 1)
    for r in range(len(cut[0]) - 1):
        for c in range(len(cut[1]) - 1):
            cell = slice(cut[0][r], cut[0][r + 1]), slice(cut[1][c], cut[1][c + 1])
            seeing = allowed[:, :, cell[0]].any(-1).sum(-1)
            pooled[:, :, r, c] = weights[:, :, *cell].sum((-2, -1)) / seeing.clamp(min=1)
            pooled_max[:, :, r, c] = weights[:, :, *cell].amax((-2, -1))
    return Summary(
        torch.where(none, -1, indices),
        torch.where(none, 0.0, values),
        torch.special.entr(shares).sum(-1),
        weights.sum(-2),
        pooled,
        pooled_max,
        (shares * apart.unsqueeze(1)).sum(-1),
        ((weights == 0) & allowed).to(weights.dtype).sum(-1) / allowed.sum(-1).clamp(min=1),
        weights[:, :, rows],
    )


def allowed_in(request):
    """Which pairs are allowed, (batch, head, query, key), and the places of the queries, (batch or 1, query)."""
    batch, heads, queries = request.query.shape[:3]
    at = request.index(*(torch.arange(size) for size in (batch * heads, queries, request.key.shape[2])))
    shape = (batch * heads, queries, request.key.shape[2])
    allowed = request.parts.mask.allows(at).expand(shape).unflatten(0, (batch, heads))
    return allowed, request.sizes.positions.to(allowed.device)


def assert_same(found: Summary, expected: Summary, dtype=torch.float64, fields=FIELDS):
    for name in fields:
        one, other = getattr(found, name), getattr(expected, name)
        assert one.shape == other.shape, f"{name} is {tuple(one.shape)}, not {tuple(other.shape)}"
        if one.numel():
            gap = (one.double() - other.double()).abs().max().item()
            scale = max(1.0, other.abs().max().item())
            assert gap <= TOLERANCE[dtype] * scale, f"{name}: worst gap {gap:.3g} at scale {scale:.3g}"


def hold(case: Case, dtype: torch.dtype, fields: list[str]) -> None:
    """Hold the summaries of one combination to its weights, for every engine."""
    arguments = case.make(dtype)
    request = request_of(arguments)
    rows = [3, 0, 3]
    weights = weigh(arguments.query, arguments.key, **arguments.parts).detach()
    expected = defined(weights, *allowed_in(request), 5, 4, rows)
    on_gpu = ["triton"] if triton.refuse_summary(request, 5) is None else []
    for engine in ENGINES + on_gpu:
        found = summarise(arguments.query, arguments.key, **arguments.parts, top=5, pool=4, rows=rows, engine=engine)
        assert_same(found, expected, dtype, fields)
        # The index is of a key with that weight, whichever of two that rounding makes equal.
        there = torch.where(found.top_index < 0, 0.0, weights.gather(-1, found.top_index.clamp(min=0)))
        torch.testing.assert_close(there, found.top_weight, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        assert torch.equal(found.top_index < 0, expected.top_index < 0)


@pytest.mark.parametrize("case", pairwise()[::5], ids=str)
def test_equals_the_weights(case):
    hold(case, torch.float64, FIELDS)


@pytest.mark.parametrize(
    "case",
    [*each_part(mask="causal & lengths"), *(Case(mask=mask, size=s) for mask in MASK_EXAMPLES for s in SIZES)],
    ids=str,
)
def test_equals_the_weights_in_float32(case):
    # Which weights are exactly 0 depends on rounding.
    hold(case, torch.float32, [name for name in FIELDS if name != "zeros"])


def test_by_hand():
    """Scores 0, log 2, log 5 and a hidden one: weights 1/8, 2/8, 5/8."""
    query = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    key = torch.tensor([1.0, 2.0, 5.0, 99.0], dtype=torch.float64).log().view(1, 1, 4, 1)
    for engine in ENGINES:
        found = summarise(query, key, score="dot", mask=Lengths(key=[3]), top=2, pool=2, rows=[0], engine=engine)
        assert found.top_index.tolist() == [[[[2, 1]]]]
        expected = {
            "top_weight": [5 / 8, 2 / 8],
            "entropy": torch.tensor(8.0).double().log()
            - 2 / 8 * torch.tensor(2.0).double().log()
            - 5 / 8 * torch.tensor(5.0).double().log(),
            "received": [1 / 8, 2 / 8, 5 / 8, 0],
            "pooled": [3 / 8, 5 / 8],
            "pooled_max": [2 / 8, 5 / 8],
            # The last query stands beside the last key that the item has: place 2.
            "distance": 2 * 1 / 8 + 1 * 2 / 8,
            "zeros": 0.0,
            "rows": [1 / 8, 2 / 8, 5 / 8, 0],
        }
        for name, value in expected.items():
            actual = getattr(found, name).flatten()
            torch.testing.assert_close(actual, torch.as_tensor(value, dtype=torch.float64).flatten())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mask", [None, "causal", "lengths", "edges & lengths"])
def test_laws_of_softmax(engine, mask):
    arguments = Case(mask=mask or "dense").make(torch.float32)
    found = summarise(arguments.query, arguments.key, **arguments.parts, engine=engine, pool=5)
    allowed, _ = allowed_in(request_of(arguments))
    seeing = allowed.any(-1)
    torch.testing.assert_close(found.received.sum(-1), seeing.sum(-1).float())
    cells = [c * SELF.queries // 5 for c in range(6)]
    seen = torch.stack([seeing[:, :, a:b].any(-1) for a, b in itertools.pairwise(cells)], -1)
    torch.testing.assert_close(found.pooled.sum(-1), seen.float())
    assert (found.entropy >= 0).all()
    assert (found.entropy <= allowed.sum(-1).clamp(min=1).float().log() + 1e-6).all()
    assert ((found.pooled_max >= found.pooled / 17) & (found.pooled_max <= 1)).all()
    assert (found.top_weight.diff(dim=-1) <= 0).all()


@pytest.mark.parametrize("engine", ENGINES)
class TestTop:
    def test_of_equals_the_lowest_keys_come_first(self, engine):
        x = torch.zeros(1, 2, 700, 3)
        found = summarise(x, x, mask=~Window(1, 0), top=3, engine=engine)
        assert found.top_index[0, 0, 0].tolist() == [1, 2, 3]
        assert found.top_index[0, 1, 1].tolist() == [2, 3, 4]
        assert (found.top_index[0, :, 4:] == torch.tensor([0, 1, 2])).all()

    def test_ties_further_down(self, engine):
        """Two values only: all of the larger first, each lowest key first, across chunks and cells."""
        key = (torch.arange(1500) % 7 == 5).float().view(1, 1, -1, 1)
        found = summarise(torch.ones(1, 1, 1, 1), key, weights="relu", score="dot", top=300, engine=engine)
        ones = [j for j in range(1500) if j % 7 == 5]
        assert found.top_index[0, 0, 0].tolist() == (ones + [j for j in range(1500) if j % 7 != 5])[:300]
        assert found.zeros.item() == pytest.approx(1 - len(ones) / 1500)

    def test_an_allowed_weight_of_zero_comes_before_nothing(self, engine):
        key = torch.tensor([-1.0, 9.0, -1.0, 2.0, -1.0]).view(1, 1, 5, 1)
        found = summarise(
            torch.ones(1, 1, 1, 1), key, score="dot", weights="relu", mask=~Edges([[1], [0]]), top=6, engine=engine
        )
        assert found.top_index.flatten().tolist() == [3, 0, 2, 4, -1, -1]
        assert found.top_weight.flatten().tolist() == [0.5, 0, 0, 0, 0, 0]
        assert found.zeros.item() == 0.75

    def test_a_nan_that_is_seen_shows(self, engine):
        key = torch.randn(1, 1, 40, 3)
        key[:, :, 7] = torch.nan
        found = summarise(key[:, :, :2].nan_to_num(), key, weights="relu", top=2, engine=engine)
        assert (found.top_index[..., 0] == 7).all()
        assert found.top_weight[..., 0].isnan().all()
        assert not found.top_weight[..., 1].isnan().any()
        assert found.entropy.isnan().all()
        assert found.received.isnan().sum() == 1
        assert found.pooled.isnan().sum() == 2

    def test_negative_weights_of_a_users_own(self, engine):
        key = torch.tensor([-1.0, 2.0, -3.0]).view(1, 1, 3, 1)
        found = summarise(
            torch.ones(1, 1, 1, 1), key, score="dot", weights=lambda scores, allowed: scores, top=3, engine=engine
        )
        assert found.top_index.flatten().tolist() == [1, 0, 2]
        assert found.top_weight.flatten().tolist() == [2.0, -1.0, -3.0]
        assert found.distance.item() == pytest.approx((2 * 1 + 1 * 2) / 6)


def tile(dtype, allowed, columns=1300):
    torch.manual_seed(2)
    weights = torch.softmax(3 * torch.randn(3, 21, columns, dtype=dtype), -1)
    weights[0, 3] = 0.0
    weights[1, :, ::3] = 0.0
    weights[2] = (weights[2] * 2000).round() / 2000  # many ties
    mask = {
        "all": None,
        "shared": torch.rand(1, 21, columns) < 0.6,
        "by group": torch.rand(3, 21, columns) < 0.6,
        "by key": (torch.rand(1, 1, columns) < 0.6).expand(1, 21, columns),
        "few": torch.rand(1, 21, columns) < 0.004,
    }[allowed]
    known = slice(0, columns) if mask is None else slice(200, 700)
    if mask is not None and allowed != "by key":
        mask[..., known] = True
    elif mask is not None:
        known = slice(0, 0)
    return weights if mask is None else weights.masked_fill(~mask, 0.0), mask, known


@pytest.mark.usefixtures("only_on_a_cpu")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("allowed", ["all", "shared", "by group", "by key", "few"])
@pytest.mark.parametrize("cells", [[0, 1300], [0, 0, 1, 700, 700, 1300, 1300], [*range(0, 1300, 50), 1300]])
def test_the_compiled_pass_equals_the_plain_one(dtype, allowed, cells):
    weights, mask, known = tile(dtype, allowed)
    keys = torch.arange(1300) * 2 + 5
    positions = torch.arange(21).unsqueeze(0) * 90 if allowed == "all" else torch.randint(0, 2600, (3, 21))
    for top in (1, 8, 400):
        arguments = WeightsTile(weights, mask, known, keys, positions, cells, top)
        one, other = compiled.summarise_tile(arguments), summarise_tile(arguments)
        for name in one._fields:
            actual, expected = torch.broadcast_tensors(getattr(one, name), getattr(other, name))
            if name in ("seen", "top_column", "top_weight", "zeros", "most"):
                assert torch.equal(actual, expected), name
            else:
                tolerance = {torch.float64: 1e-12, torch.float32: 1e-5}[dtype]
                torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mask", [None, Causal(), Window(40, 9), Causal() & Lengths([311, 97])], ids=str)
@pytest.mark.parametrize("budget", [1, 5000, 10**9])
def test_results_do_not_depend_on_tiles(mask, budget, engine, monkeypatch):
    x = torch.randn(2, 2, 311, 4, dtype=torch.float64)
    arguments = {"mask": mask, "engine": engine, "rows": [310, 5], "pool": 13}
    expected = summarise(x, x.flip(2), **arguments)
    for name in ("_ON_CPU", "ON_GPU"):
        monkeypatch.setattr(statistics, name, TileSize(budget=budget))
    found = summarise(x, x.flip(2), **arguments)
    assert_same(found, expected)
    assert torch.equal(found.top_index, expected.top_index)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sparse_graph_in_many_tiles(engine):
    torch.manual_seed(1)
    x = torch.randn(1, 2, 997, 4, dtype=torch.float64)
    mask = Edges(torch.randint(0, 997, (2, 3000)))
    weights = weigh(x, x, mask=mask)
    found = summarise(x, x, mask=mask, engine=engine, rows=[500, 1], pool=10)
    allowed = weights > 0
    assert_same(found, defined(weights, allowed, torch.arange(997).unsqueeze(0), 8, 10, [500, 1]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mask", ["causal & lengths", "edges & lengths", "own function", "nothing"])
@pytest.mark.parametrize("weights", ["softmax", "entmax", "sigmoid"])
@pytest.mark.parametrize("poison", [torch.nan, torch.inf, torch.finfo(torch.float64).max / 4])
def test_what_is_hidden_cannot_matter(engine, mask, weights, poison):
    """Keys and queries that stand in no allowed pair hold poison."""
    case = Case(weights=weights, mask=mask)
    arguments = case.make()
    query, key = arguments.query.detach(), arguments.key.detach()
    allowed, _ = allowed_in(request_of(arguments))
    expected = summarise(query, key, **arguments.parts, engine=engine, rows=[1])
    poisoned = (
        torch.where(allowed.any(3).unsqueeze(-1), query, poison),
        torch.where(allowed.any(2).unsqueeze(-1), key, poison),
    )
    found = summarise(*poisoned, **arguments.parts, engine=engine, rows=[1])
    assert_same(found, expected)
    assert torch.equal(found.top_index, expected.top_index)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hidden_pair_of_a_key_that_others_see_cannot_matter(engine):
    x = torch.randn(1, 1, 19, 4, dtype=torch.float64)
    expected = summarise(x, x, mask="causal", engine=engine)
    key = x.clone()
    key[:, :, -1] = torch.nan
    found = summarise(x, key, mask="causal", engine=engine)
    for name in ("top_weight", "entropy", "distance", "zeros"):
        torch.testing.assert_close(getattr(found, name)[:, :, :-1], getattr(expected, name)[:, :, :-1])
    assert found.entropy[0, 0, -1].isnan()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("queries", "keys"), [(0, 5), (5, 0), (0, 0), (1, 1), (1, 5), (5, 1)])
@pytest.mark.parametrize("weights", ["softmax", "relu", "entmax"])
def test_lengths_zero_and_one(queries, keys, weights, engine):
    query, key = torch.randn(2, 3, queries, 4), torch.randn(2, 3, keys, 4)
    found = summarise(query, key, weights=weights, rows=list(range(queries)), engine=engine)
    assert found.top_index.shape == (2, 3, queries, 8)
    assert found.pooled.shape == (2, 3, queries, keys)
    assert found.received.shape == (2, 3, keys)
    assert found.rows.shape == (2, 3, queries, keys)
    assert all(torch.isfinite(getattr(found, name)).all() for name in FIELDS)
    if keys == 0:
        assert (found.top_index == -1).all()
    if keys == 1:
        assert (found.entropy < 1e-6).all()
    str(found)


@pytest.mark.parametrize("engine", ENGINES)
def test_items_that_are_empty(engine):
    x = torch.randn(3, 2, 7, 4)
    found = summarise(x, x, mask=Lengths([7, 0, 1]), engine=engine)
    for name in FIELDS[:-1]:
        assert (getattr(found, name)[1] == 0).all(), name
    assert (found.top_index[1] == -1).all()
    assert found.top_index[2, 0, 0].tolist() == [0] + 7 * [-1]


def test_batched_equals_one_by_one():
    size = SIZES["cross"]
    query, key, _ = (tensor.detach() for tensor in tensors(size))
    whole = summarise(query, key, mask=size.lengths)
    for item in range(BATCH):
        queries, keys = size.query_lengths[item], size.key_lengths[item]
        alone = summarise(query[item : item + 1, :, :queries], key[item : item + 1, :, :keys])
        for name in ("top_index", "top_weight", "entropy", "distance", "zeros"):
            torch.testing.assert_close(getattr(whole, name)[item, :, :queries], getattr(alone, name)[0])
        torch.testing.assert_close(whole.received[item, :, :keys], alone.received[0])


def test_heads_share_keys():
    query, key = torch.randn(2, 6, 5, 4), torch.randn(2, 3, 7, 4)
    found = summarise(query, key)
    expected = summarise(query, key.repeat_interleave(2, dim=1))
    assert_same(found, expected, torch.float32, FIELDS[:-1])
    assert found.received.shape == (2, 6, 7)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_is_summarised_in_float32(dtype, engine):
    x = torch.randn(1, 2, 300, 16).to(dtype)
    found = summarise(x, x, engine=engine)
    assert found.received.dtype == torch.float32
    assert_same(found, summarise(x.float(), x.float(), engine=engine), torch.float32, FIELDS[:-1])
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        wide = summarise(x.float(), x.float(), engine=engine)
    assert torch.equal(wide.received, summarise(x.float(), x.float(), engine=engine).received)


def test_nothing_has_a_gradient_and_inputs_are_not_changed():
    query, key, _ = tensors(SELF)
    before = query.clone(), key.clone()
    found = summarise(query, key, mask="causal", rows=[0])
    assert not any(getattr(found, name).requires_grad for name in Summary.__dataclass_fields__)
    assert torch.equal(query, before[0])
    assert torch.equal(key, before[1])


@pytest.mark.usefixtures("only_on_a_cpu")
def test_is_bitwise_repeatable_whatever_the_threads():
    x = torch.randn(1, 2, 1003, 8)
    threads = torch.get_num_threads()
    try:
        found = []
        for count in (1, 3, 3):
            torch.set_num_threads(count)
            found.append(compiled.summarise_tile(_some_tile(x)))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(*pair) for other in found[1:] for pair in zip(found[0], other, strict=True))


def _some_tile(x):
    weights = torch.softmax(x[0, :, :99] @ x[0].mT, -1).double().float()
    keys, positions = torch.arange(1003), torch.arange(99).unsqueeze(0)
    return WeightsTile(weights, None, slice(0, 1003), keys, positions, [0, 500, 1003], 8)


class TestArguments:
    @pytest.mark.parametrize("wrong", [0, -1])
    @pytest.mark.parametrize("name", ["top", "pool"])
    def test_counts(self, name, wrong):
        x = torch.zeros(1, 1, 3, 2)
        with pytest.raises(ArgumentError, match=f"`{name}` must be 1 or more, but is {wrong}"):
            summarise(x, x, **{name: wrong})

    @pytest.mark.parametrize("wrong", [[3], [-1], [0, 7]])
    def test_rows_out_of_range(self, wrong):
        x = torch.zeros(1, 1, 3, 2)
        with pytest.raises(ArgumentError, match="`rows` must be numbers of queries from 0 to 2, but they range"):
            summarise(x, x, rows=wrong)

    @pytest.mark.parametrize("wrong", [[0.5], [[0]], [True, False, True], 1], ids=str)
    def test_rows_that_are_none(self, wrong):
        x = torch.zeros(1, 1, 3, 2)
        with pytest.raises(ArgumentError, match="`rows` must be a list of query numbers"):
            summarise(x, x, rows=torch.tensor(wrong))

    def test_rows(self):
        x = torch.randn(1, 1, 3, 2)
        weights = weigh(x, x)
        assert summarise(x, x).rows is None
        assert summarise(x, x, rows=[]).rows.shape == (1, 1, 0, 3)
        for rows in ([2, 0], torch.tensor([2, 0]), range(2, -1, -2)):
            torch.testing.assert_close(summarise(x, x, rows=rows).rows, weights[:, :, [2, 0]])

    def test_engines(self):
        x = torch.zeros(1, 1, 3, 2)
        with pytest.raises(ArgumentError, match="Did you mean 'blocked'"):
            summarise(x, x, engine="block")
        with pytest.raises(RefusedError, match="`engine` 'jit' can't do this request: its kernels run on the CPU"):
            summarise(x.to("meta"), x.to("meta"), engine="jit")

    @pytest.mark.usefixtures("only_on_a_cpu")
    def test_without_numba_the_plain_passes_do_it(self, monkeypatch):
        x = torch.randn(1, 1, 30, 2)
        expected = summarise(x, x, engine="blocked")
        monkeypatch.setattr(module.jit, "missing", lambda: "Numba can't be used here")
        found = summarise(x, x)
        assert all(torch.equal(getattr(found, name), getattr(expected, name)) for name in FIELDS[:-1])
        with pytest.raises(RefusedError, match="Numba can't be used here"):
            summarise(x, x, engine="jit")


def test_inside_a_transform_it_refuses():
    x = torch.randn(2, 1, 1, 3, 2)
    with pytest.raises(RefusedError, match=r"`summarise` can't run inside torch.compile, .* or a transform"):
        torch.vmap(lambda query: summarise(query, query).entropy)(x)


def test_what_is_printed():
    x = torch.zeros(2, HEADS, 5, 3)
    found = summarise(x, x, top=2, pool=3, rows=[1])
    assert "top_index=(2, 4, 5, 2)" in repr(found)
    assert "batch 2, heads 4, queries 5, keys 5, top 2" in str(found)
    assert [line.split()[0] for line in str(found).splitlines()[1:]] == list(Summary.__dataclass_fields__)
    assert "entropy     (2, 4, 5)             1.61 to 1.61" in str(found)


PROBE = """
import torch
from attention.peaks import peak
from regard.attention import Causal, Lengths
from regard.attention.summarise import summarise
torch.set_num_threads(1)
x = torch.randn(1, 1, 8192, 8)
for arguments in {arguments}:
    summarise(x[:, :, :64], x[:, :, :64], **arguments)
    print(peak(lambda: summarise(x, x, **arguments)))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("only_on_a_cpu")
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from Linux's /proc")
def test_peak_is_far_below_one_matrix_of_all_pairs():
    """8,192 items: one n x n matrix of float32 is 256 MiB."""
    own = "dict(mask=lambda b, h, i, j: (i + j) % 3 != 0)"
    every = ["dict()", own, "dict(mask='causal')", "dict(weights='entmax')", "dict(engine='blocked')"]
    arguments = every[: 1 + examples(4)]
    found = [float(line) for line in printed(PROBE.format(arguments=f"[{', '.join(arguments)}]")).splitlines()]
    assert len(found) == len(arguments)
    assert max(found) < 128, found
