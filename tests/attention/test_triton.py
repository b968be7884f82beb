"""The kernels of the `triton` engine in Triton's interpreter, which takes tensors on a CPU, and float64 too.

The laws are those of the other engines (test_product, test_contract, test_poison, test_gradients, test_tiles), on fewer
cases, as the interpreter takes a second for what an engine does in a millisecond. Its tiles are 16 x 16.
"""

import contextlib
import dataclasses
import functools
import importlib
import inspect
import itertools
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor
from torch.func import grad, vmap
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attention import compiled_checks
from attention.cases import (
    HEADS,
    MASK_EXAMPLES,
    POSITION_EXAMPLES,
    SCORE_EXAMPLES,
    TILES_OF_16,
    WEIGHTS_EXAMPLES,
    Arguments,
    Case,
    Size,
    covering,
    numbers,
    shifted,
)
from attention.comparing import ROUNDING, compare_one, explained, gaps, outcome, request_of
from attention.interpreting import interpret, taken
from attention.test_poison import PLACES, POISONS, hidden, poisoned, visible
from attention.test_transforms import check_results
from regard.attention import Bias, Budget, Documents, Edges, Lengths, Relative, Rotary, TopK, Window, attend, weigh
from regard.attention.engines import triton
from regard.attention.engines.triton.edges import launcher
from regard.attention.engines.triton.tiling import Tiling
from regard.attention.masks import as_mask
from regard.attention.parts import flatten_part, unflatten_part
from regard.attention.summarise import Summary
from regard.errors import RefusedError

F64 = torch.float64
# NumPy's, of the numbers that are hidden.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton.runtime.interpreter")


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    interpret(monkeypatch)


SCORES, WEIGHTS, POSITIONS = (
    taken(kind, examples)
    for kind, examples in (("score", SCORE_EXAMPLES), ("weights", WEIGHTS_EXAMPLES), ("position", POSITION_EXAMPLES))
)
# One mask or two of each way in which the kernels see masks: nothing, a band, one interval, two, a table of pairs.
MASKS = [
    "dense", "causal", "window", "causal & lengths", "lengths", "documents", "guided", "no_self", "prefix by item",
    "prefix | window", "own function", "edges & lengths", "blocks & causal", "nothing",
]  # fmt: skip


def test_what_it_takes():
    """What is left out here would be left out of the laws below."""
    assert {"own function", "own part"} <= set(SCORE_EXAMPLES) - set(SCORES)
    assert {"own function", "own part"} <= set(WEIGHTS_EXAMPLES) - set(WEIGHTS)
    assert {"own", "own + relative both"} <= set(POSITION_EXAMPLES) - set(POSITIONS)
    # New parts may have no piece; those that had kernels keep them.
    assert len(SCORES) >= 11
    assert len(WEIGHTS) >= 15
    assert len(POSITIONS) >= 12


class NeedsTriton:
    """A score whose piece imports its kernels when it is asked for, as it must."""

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT

    def piece(self):
        importlib.import_module("triton")


def test_it_says_what_it_lacks(monkeypatch):
    x = torch.ones(1, 1, 2, 4)
    for call, reason in (
        (lambda: attend(x[:, :, :0], x, x, engine="triton"), "empty tensor"),
        (lambda: attend(x, x[:, :, :0], x[:, :, :0], engine="triton"), "empty tensor"),
        (lambda: attend(x, x, x.repeat(1, 1, 1, 65), engine="triton"), "head sizes up to 256"),
        (lambda: attend(x, x, x, score=lambda q, k: q @ k.mT, engine="triton"), "no kernel for the score"),
        (lambda: attend(x, x, x, dropout=1.0, engine="triton"), "dropout"),
    ):
        with pytest.raises(RefusedError, match=reason):
            call()
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "regard.attention.engines.triton.launch")
    monkeypatch.setattr(triton, "missing", triton.missing.__wrapped__)
    for score in "dot", NeedsTriton():
        with pytest.raises(RefusedError, match=r"pip install '\.\[gpu\]'"):
            attend(x, x, x, score=score, engine="triton")
    monkeypatch.delenv("TRITON_INTERPRET")
    with pytest.raises(RefusedError, match="TRITON_INTERPRET=1"):
        attend(x, x, x, engine="triton")


def in_turn(columns: dict[str, tuple[Sequence[Any], int]], count: int) -> list[Case]:
    """Cases in which all parts take turns, each column at its own pace."""
    return [
        Case(**{kind: names[step * i % len(names)] for kind, (names, step) in columns.items()}) for i in range(count)
    ]


SOME = in_turn(
    {
        "score": (SCORES, 3),
        "weights": (WEIGHTS, 1),
        "mask": (MASKS, 3),
        "position": (POSITIONS, 5),
        "size": (["few queries", "few keys"], 1),
        "dropout": ((0.0, 0.3, 0.0), 1),
    },
    18,
)
EVERY_MASK = in_turn(
    {
        "weights": (WEIGHTS, 3),
        "mask": ([*MASK_EXAMPLES], 1),
        "size": (["two items", "few keys"], 1),
        "position": (POSITIONS, 1),
    },
    len(MASK_EXAMPLES),
)


@pytest.mark.parametrize(("case", "dtype"), [(case, [*ROUNDING][i % 3 == 0]) for i, case in enumerate(SOME)], ids=str)
def test_it_equals_the_definition(case, dtype, record_property):
    for what, count in compare_one(case, "triton", dtype, outcome(case.make(), "dense")).items():
        record_property(f"contract: {what}", count)


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY_MASK, ids=str)
def test_it_equals_the_definition_by_every_mask(case):
    compare_one(case, "triton", F64, outcome(case.make(), "dense"))


@functools.cache
def product() -> list[tuple[Any, ...]]:
    return covering(SCORES, WEIGHTS, MASKS, POSITIONS, TILES_OF_16, (0.0, 0.3), ROUNDING)


# Any two parts meet in all eighths together. They take the interpreter twenty minutes, so `make test-all` runs one.
@pytest.mark.slow
@pytest.mark.parametrize("eighth", [0, *(pytest.param(place, marks=pytest.mark.exhaustive) for place in range(1, 8))])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_it_equals_the_definition_whichever_two_parts_meet(weights, eighth):
    wrong = []
    rows = [(case, dtype) for *row, dtype in product() if (case := Case(*row)).weights == weights]
    for case, dtype in rows[eighth::8]:
        try:
            compare_one(case, "triton", dtype, outcome(case.make(), "dense"))
        except AssertionError as error:
            wrong.append(f"{error}")
    assert not wrong, "\n".join(wrong)


def arguments(
    queries: int,
    keys: int | None = None,
    *,
    features: int = 5,
    width: int = 7,
    heads: int = 1,
    key_heads: int | None = None,
    batch: int = 1,
    dtype: torch.dtype = F64,
    dropout: float = 0.0,
    mask: Any = None,
    **parts: Any,
) -> Arguments:
    """A call of few heads, as each head takes the interpreter as long again."""
    keys, key_heads = queries if keys is None else keys, heads if key_heads is None else key_heads
    return Arguments(
        numbers(batch, heads, queries, features, seed=51, dtype=dtype),
        numbers(batch, key_heads, keys, features, seed=52, dtype=dtype),
        numbers(batch, key_heads, keys, width, seed=53, dtype=dtype),
        {"score": "scaled_dot", "weights": "softmax", "position": None, **parts, "mask": as_mask(mask)},
        {"dropout": dropout, "seed": 7},
    )


def hold(call: Arguments) -> None:
    """Hold a call in float64 to the definition."""
    far = gaps(outcome(call, "triton"), outcome(call, "dense"), F64)
    assert not far, far


CALLS: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "causal": lambda queries, keys: {"mask": "causal"},
    "window, entmax": lambda queries, keys: {"mask": Window(3, 14), "weights": "entmax"},
    "no_self, sigmoid, relative": lambda queries, keys: {
        "mask": "no_self",
        "weights": "sigmoid",
        "position": Relative(5, 2, on="both", value_size=7).to(F64),
    },
    "own function, hard": lambda queries, keys: {"mask": shifted, "weights": "hard"},
    "no_self, top 5": lambda queries, keys: {"mask": "no_self", "weights": TopK(5)},
    "documents, relu, dropout": lambda queries, keys: {
        "mask": Documents(torch.arange(keys) // 12, query=torch.arange(queries) // 13),
        "weights": "relu",
        "dropout": 0.3,
    },
}


SIZES = [(n, n) for n in (1, 15, 16, 17, 31, 32, 33)] + [(1, 33), (33, 1), (17, 48), (48, 17), (16, 32)]


@pytest.mark.parametrize(("size", "call"), [*zip(SIZES * 2, itertools.cycle(CALLS), strict=False)])
def test_lengths_about_the_edges_of_tiles(call, size):
    hold(arguments(*size, **CALLS[call](*size)))


def cut(monkeypatch, **sizes: tuple[int, int]) -> None:
    """Let the kernels have tiles of these sizes, (rows, columns); with a table of pairs, all have those of queries."""

    def tiling(table: bool, query: Tensor, value: Tensor, kernel: str, **_: Any) -> Tiling:
        return Tiling(*sizes["queries" if table else kernel], interpreted=True)

    monkeypatch.setattr(launch(), "tiling", tiling)


def launch() -> Any:
    return importlib.import_module("regard.attention.engines.triton.launch")


@pytest.mark.parametrize("length", [31, 33, *(pytest.param(n, marks=pytest.mark.slow) for n in (127, 128, 129))])
@pytest.mark.parametrize("call", CALLS)
def test_tiles_of_other_sizes(call, length, monkeypatch):
    small = length < 64
    cut(monkeypatch, forward=(32, 16) if small else (64, 32), queries=(16, 32), keys=(32, 16) if small else (32, 64))
    hold(arguments(length, **CALLS[call](length, length)))


@pytest.mark.parametrize("mask", ["own function", "blocks & causal"])
@pytest.mark.parametrize("weights", ["entmax", "relu"])
def test_a_table_of_pairs_is_held_a_few_rows_at_a_time(weights, mask, monkeypatch):
    monkeypatch.setattr(launch(), "PAIRS_AT_ONCE", 1)
    position = Relative(5, 2, on="both", value_size=7).to(F64)
    mask = MASK_EXAMPLES[mask](Size.of(18))
    hold(arguments(18, 17, weights=weights, mask=mask, position=position, dropout=0.3))


@pytest.mark.parametrize(("features", "width"), [(1, 8), (8, 8), (40, 24), (64, 96), (96, 1), (256, 40), (17, 256)])
def test_head_sizes(features, width):
    hold(arguments(5, 6, features=features, width=width, mask="causal"))


class TestInputs:
    """They are read where they lie, and left as they are."""

    LAID_OUT: ClassVar = {
        "by position": lambda tensor: tensor.detach().transpose(1, 2).contiguous().transpose(1, 2),
        "by feature": lambda tensor: tensor.detach().mT.contiguous().mT,
        "every other": lambda tensor: tensor.detach().repeat_interleave(2, 2)[:, :, ::2],
        "one for all heads": lambda tensor: tensor.detach()[:, :1].expand_as(tensor),
        "one for all rows": lambda tensor: tensor.detach()[:, :, :1].expand_as(tensor),
        "sliced features": lambda tensor: torch.cat([tensor.detach()] * 2, -1)[..., : tensor.shape[-1]],
    }

    @pytest.mark.parametrize("laid_out", LAID_OUT)
    def test_however_they_are_laid_out(self, laid_out):
        call = arguments(7, 9, heads=2, batch=2, mask="causal")
        turned = [self.LAID_OUT[laid_out](t) for t in (call.query, call.key, call.value)]
        before = [tensor.clone() for tensor in turned]
        there, packed = (
            dataclasses.replace(call, **dict(zip(("query", "key", "value"), map(self.leaf, three), strict=True)))
            for three in (turned, before)
        )
        with Copies() as copies:
            found = outcome(there, "triton")
        assert all(torch.equal(one, other) for one, other in zip(turned, before, strict=True))
        for name, tensor in outcome(packed, "triton").items():
            assert torch.equal(tensor, found[name]), name
        if laid_out != "by feature":  # whose tensors are copied
            assert not copies.found, copies.found

    @staticmethod
    def leaf(tensor: Tensor) -> Tensor:
        return tensor.requires_grad_()

    @pytest.mark.parametrize("by", ["expanded", "turned"])
    def test_a_gradient_however_it_is_laid_out(self, by):
        call = arguments(17, heads=2)
        output = call(attend, engine="triton")
        above = (
            torch.ones(()).to(F64).expand_as(output) if by == "expanded" else torch.randn(output.mT.shape).to(F64).mT
        )
        three = call.query, call.key, call.value
        expected = torch.autograd.grad(call(attend, engine="dense"), three, above)
        torch.testing.assert_close(torch.autograd.grad(output, three, above), expected)


class Made(TorchDispatchMode):
    """How many numbers of results there were."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.count += sum(each.numel() for each in tree_leaves(result) if isinstance(each, Tensor))
        return result


class Copies(TorchDispatchMode):
    """Which inputs were copied."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket.__name__ in ("clone", "_to_copy") and args[0].ndim == 4:
            self.found.append(f"{func} of {tuple(args[0].shape)}")
        return func(*args, **(kwargs or {}))


# To fill a table of pairs, these masks look at their lists on the host.
LOOKING = (
    "edges", "edges by item", "edges & lengths", "edges | window", "~edges & lengths", "blocks", "blocks & causal",
    "~(window | blocks)", "bigbird & lengths",
)  # fmt: skip
LAUNCHES = [
    pytest.param(case, dtype, marks=[pytest.mark.xfail(strict=True)] if case.mask in LOOKING else [])
    for case, dtype in zip(
        in_turn(
            {
                "score": (SCORES, 1),
                "mask": ([*MASK_EXAMPLES], 1),
                "weights": (WEIGHTS, 3),
                "position": (POSITIONS, 2),
                "size": (["two tiles"], 1),
                "dropout": ((0.3, 0.0), 1),
            },
            len(MASK_EXAMPLES),
        ),
        itertools.cycle((torch.bfloat16, torch.float32)),
        strict=False,
    )
]


class TestLaunches:
    """What the host does around the kernels, by tensors that have no numbers, and kernels that are only noted."""

    OPTIONS = "num_warps", "num_stages", "enable_fp_fusion"

    @pytest.fixture
    def launched(self, monkeypatch) -> list[str]:
        found: list[str] = []

        class Noted:
            def __init__(self, kernel: Any):
                self.signature, self.name = inspect.signature(kernel.fn), kernel.__name__

            def __getitem__(self, grid: tuple[int, ...]) -> Any:
                def launch(*args: Any, **named: Any) -> None:
                    assert self.name == "lay_out" or set(TestLaunches.OPTIONS) <= set(named)
                    own = {name: value for name, value in named.items() if name not in TestLaunches.OPTIONS}
                    given = self.signature.bind(*args, **own).arguments
                    # Which the interpreter would multiply, and a GPU wouldn't.
                    call = given.get("call")
                    if call is not None:
                        factors = call.query, call.key, call.value, given.get("GRAD_OUT", call.query)
                        assert len({tensor.dtype for tensor in factors}) == 1
                    assert all(type(size) is int and size > 0 for size in grid)
                    found.append(self.name)

                return launch

        names = {
            "outputs": ("forward", "merge"),
            "gradients": ("backward_of_keys", "backward_of_pairs", "backward_of_queries"),
            "additive": ("lay_out",),
            "summaries": ("summarise_columns", "summarise_rows"),
            "edge_kernels": (),  # which is imported while the interpreter is on
        }
        for module, own in names.items():
            kernels = importlib.import_module(f"regard.attention.engines.triton.{module}")
            for name in own:
                monkeypatch.setattr(kernels, name, Noted(getattr(kernels, name)))
        # Which no autocast of PyTorch knows, on that device.
        computation = importlib.import_module("regard.attention.engines.triton.computation")
        monkeypatch.setattr(computation, "no_autocast", lambda tensor: contextlib.nullcontext())
        monkeypatch.delenv("TRITON_INTERPRET")
        return found

    @pytest.mark.parametrize(("case", "dtype"), LAUNCHES, ids=str)
    def test_it_waits_for_no_number_and_gives_the_kernels_what_they_take(self, case, dtype, launched):
        """So that a call can be captured in a CUDA graph."""
        call = elsewhere(case.make(dtype), torch.device("meta"))
        request = request_of(call)
        output = triton.run(request)
        assert output.shape == (*call.query.shape[:3], call.value.shape[-1])
        named = call.named
        for (name, tensor), gradient in zip(
            named.items(),
            torch.autograd.grad(output, [*named.values()], torch.ones_like(output), materialize_grads=True),
            strict=True,
        ):
            assert (gradient.shape, gradient.dtype) == (tensor.shape, tensor.dtype), name
        beside = "lay_out", "backward_of_pairs"
        three = [name for name in launched if name not in beside]
        assert three == ["forward", "backward_of_queries", "backward_of_keys"]

    # Of one item, a list of graphs is one graph, which a summary leaves to `blocked`.
    @pytest.mark.parametrize(
        ("case", "dtype"), [one for one in LAUNCHES if one.values[0].mask != "edges by item"], ids=str
    )
    def test_nor_does_a_summary(self, case, dtype, launched):
        call = elsewhere(case.make(dtype), torch.device("meta"))
        selected = torch.zeros(2, dtype=torch.long, device="meta")
        found = Summary(**triton.summarise(request_of(call), 5, 4, selected))
        batch, heads, queries, keys = *call.query.shape[:3], call.key.shape[2]
        shapes = {name: tuple(getattr(found, name).shape[2:]) for name in Summary.__dataclass_fields__}
        assert shapes == {
            "top_index": (queries, 5), "top_weight": (queries, 5), "entropy": (queries,), "received": (keys,),
            "pooled": (4, 4), "pooled_max": (4, 4), "distance": (queries,), "zeros": (queries,), "rows": (2, keys),
        }  # fmt: skip
        assert all(getattr(found, name).shape[:2] == (batch, heads) for name in shapes)
        assert {getattr(found, name).dtype for name in shapes} == {torch.long, torch.float32}
        assert [name for name in launched if name != "lay_out"] == ["forward", "summarise_rows", "summarise_columns"]

    @pytest.mark.usefixtures("launched")
    @pytest.mark.parametrize("mask", ["causal", "no_self"])
    def test_the_memory_of_a_summary_is_linear(self, mask):
        made = []
        for length in (4096, 8192):
            call = elsewhere(arguments(length, dtype=torch.float32, mask=mask), torch.device("meta"))
            request = request_of(call)
            with torch.no_grad(), Made() as numbers:
                triton.summarise(request, 8, 64, None)
            made.append(numbers.count)
        assert made[0] < 4096 * (8 + 64) * 8
        assert made[1] <= 2 * made[0]


def elsewhere(call: Arguments, device: torch.device) -> Arguments:
    """The same call on another device; its mask is moved by the call itself, once it was checked."""

    def move(tensor: Tensor) -> Tensor:
        return tensor.detach().to(device).requires_grad_(tensor.requires_grad)

    mask = call.parts["mask"]
    spec, tensors = flatten_part(tuple({**call.parts, "mask": None}.values()))
    parts = dict(zip(call.parts, unflatten_part(spec, tuple(map(move, tensors))), strict=True))
    return Arguments(*map(move, (call.query, call.key, call.value)), {**parts, "mask": mask}, call.rest)


# By each way in which the kernels see masks; a table of pairs is what hides from all.
FROM_SOME = [
    *zip(
        ["causal", "window", "causal & lengths", "documents", "no_self", "prefix | window"] * 3,
        ["nan", "inf", "-inf", "large", "nan"] * 3,
        WEIGHTS,
        strict=False,
    )
]


class TestHidden:
    """What a mask hides cannot matter, whatever it holds; what is seen shows."""

    POISONED: ClassVar = [
        (case, *what)
        for case, what in zip(
            itertools.cycle(SOME),
            covering(POISONS, PLACES, ROUNDING)[::2],
            strict=False,
        )
    ]

    @pytest.mark.parametrize(("case", "poison", "place", "dtype"), POISONED, ids=str)
    def test_from_all(self, case, poison, place, dtype):
        row, column = 3, 4
        number = 3e38 if poison == "large" and dtype == torch.float32 else POISONS[poison]
        expected = outcome(hidden(case, row, column), "dense")
        call = hidden(case, row, column, dtype)
        far = gaps(outcome(poisoned(call, place, number, row, column), "triton"), expected, dtype)
        assert not far or explained(case, expected, far, dtype), far

    @pytest.mark.parametrize(("mask", "poison", "weights"), FROM_SOME)
    def test_from_some_rows(self, mask, poison, weights):
        case = Case(weights=weights, mask=mask, size="few queries", dropout=0.3)
        column = 4
        blind = ~visible(case)[..., column]
        expected = outcome(case.make(), "dense")
        actual = outcome(poisoned(case.make(), "key and value", POISONS[poison], 0, column), "triton")
        for name in ("output", "output without gradients", "gradient of query"):
            far = gaps({name: actual[name][blind]}, {name: expected[name][blind]}, F64)
            assert not far, far

    @pytest.mark.parametrize(("mask", "poison", "weights"), FROM_SOME)
    def test_a_query_from_some_keys(self, mask, poison, weights):
        case = Case(weights=weights, mask=mask, size="few queries")
        row = 5
        unseen = ~visible(case)[:, :, row]
        expected = outcome(case.make(), "dense")
        actual = outcome(poisoned(case.make(), "query", POISONS[poison], row, 0), "triton")
        others = torch.arange(7) != row
        for name in ("output", "gradient of query"):
            far = gaps({name: actual[name][:, :, others]}, {name: expected[name][:, :, others]}, F64)
            assert not far, far
        for name in ("gradient of key", "gradient of value"):
            far = gaps({name: actual[name][unseen]}, {name: expected[name][unseen]}, F64)
            assert not far, far

    @pytest.mark.parametrize(
        ("weights", "place", "mask"),
        [
            *zip(
                WEIGHTS * 2,
                itertools.cycle(["key", "value", "query"]),
                itertools.cycle(["dense", "causal", "own function", "causal"]),
                strict=False,
            )
        ],
    )
    def test_what_is_seen_shows(self, weights, mask, place):
        """NaN and infinities as the definition has them."""
        call = arguments(
            6,
            heads=HEADS,
            weights=WEIGHTS_EXAMPLES[weights](F64),
            mask=MASK_EXAMPLES[mask](None),
        )
        with torch.no_grad():
            for head, number in enumerate((torch.nan, torch.inf, -torch.inf)):
                getattr(call, place)[0, head, 4, 0] = number
            output, expected = (call(attend, engine=engine) for engine in ("triton", "dense"))
        torch.testing.assert_close(output, expected, equal_nan=True)

    @pytest.mark.parametrize(("weights", "mask"), [*zip(WEIGHTS, itertools.cycle(["causal", "lengths"]), strict=False)])
    def test_a_row_that_sees_nothing(self, mask, weights):
        """It gives zeros, and takes no gradient even of NaN: as more queries than keys, and by lengths."""
        call = arguments(
            7, 5 if mask == "causal" else 7, batch=2, heads=HEADS, weights=WEIGHTS_EXAMPLES[weights](F64),
            mask="causal" if mask == "causal" else Lengths(query=[7, 7], key=[0, 7]), position=Relative(5, 1).to(F64),
        )  # fmt: skip
        output = call(attend, engine="triton")
        nothing = (slice(None), slice(None), slice(2)) if mask == "causal" else (0,)
        assert (output[nothing] == 0).all()
        above = torch.ones_like(output)
        wanted = list(call.named.values())
        above[nothing] = 0.0
        expected = torch.autograd.grad(call(attend, engine="dense"), wanted, above, materialize_grads=True)
        above[nothing] = torch.nan
        found = torch.autograd.grad(output, wanted, above, materialize_grads=True)
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(("seed", "share"), [(0, 0.1), (1, 0.5), (-1, 0.999), (2**31, 0.5), (2**62 + 12345, 0.1)])
def test_the_same_weights_fall_as_on_a_cpu(share, seed):
    """Bit for bit: the output is the weights themselves, of which those that fell are zero."""
    call = arguments(17, 18, heads=2, batch=2, width=18, dropout=share)
    call.rest["seed"] = seed
    call.value = torch.eye(18, dtype=F64).expand(2, 2, 18, 18)
    found, expected = (call(attend, engine=engine) for engine in ("triton", "dense"))
    assert torch.equal(found == 0, expected == 0)
    assert (found == 0).any()
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("call", ["causal", "no_self, sigmoid, relative"])
def test_the_same_bits_at_every_call(call):
    made = arguments(18, **CALLS[call](18, 18))
    first, again = outcome(made, "triton"), outcome(made, "triton")
    for name, tensor in first.items():
        assert torch.equal(tensor, again[name]), name


class TestTopKeys:
    """Which keys are taken is searched for by value, and must not depend on how the gradient rounds the scores."""

    OF_TABLES: ClassVar = {
        "all equal": lambda table: 0 * table,
        "whole": lambda table: (2 * table).round(),
        "far below": lambda table: torch.where(table < 0, table - 1e9, table),
        "far above": lambda table: torch.where(table > 1.5, table + 1e9, table),
        "minus infinity": lambda table: torch.where(table < 0.8, -torch.inf, table),
        "tiny": lambda table: 1e-25 * table,
    }

    @pytest.mark.parametrize("keys", [1, 7, 40])
    @pytest.mark.parametrize("table", OF_TABLES)
    def test_whatever_the_scores(self, table, keys):
        call = arguments(3, 35, weights=TopK(keys), mask=shifted)
        call.query = torch.zeros_like(call.query).requires_grad_()
        call.parts["position"] = Bias(self.OF_TABLES[table](numbers(1, 1, 3, 35, seed=55, dtype=F64, grad=False)))
        hold(call)

    @pytest.mark.parametrize("share", [-(2.0**-52), 2.0**-52])
    @pytest.mark.parametrize("whole", [True, False])
    @pytest.mark.parametrize("mask", ["causal", "edges"])
    def test_scores_that_the_gradient_rounds_otherwise(self, mask, whole, share):
        """Even of equal scores, some of which are taken."""
        count = 7 if mask == "edges" else 18
        graph = Edges(torch.cartesian_prod(torch.arange(count), torch.arange(count)).T[:, 2:])
        call = arguments(count, weights=TopK(3), score="dot", mask=graph if mask == "edges" else mask)
        if whole:
            call.query, call.key = (each.detach().round().requires_grad_() for each in (call.query, call.key))
        output = call(attend, engine="dense")
        above = torch.linspace(-1, 1, output.numel(), dtype=F64).view_as(output)
        expected = torch.autograd.grad(output, (call.query, call.key, call.value), above)
        request = request_of(call)
        kernels = launcher(request)
        _, *saved = kernels.forward(request, saves=True)
        moved = dataclasses.replace(request, query=request.query.detach() * (1 + share))
        torch.testing.assert_close(tuple(kernels.backward(moved, above, saved)[:3]), expected)


class TestHalf:
    """What is rounded: a weight and a score's gradient before its product, and each result.

    With u half a step of the dtype, |rounded - exact| is at most

        output             u (sum_j w_ij |v_j| + |o_i|)
        gradient of value  u (sum_i w_ij |do_i| + |dv_j|)
        gradient of query  u (sum_j |ds_ij k_j| + |dq_i|) + sum_j |e_ij k_j|,    e_ij = |g_ij| u sum_j w_ij |v_j| |do_i|

    and likewise for the keys. e is what an output's error does to the mean that the gradient of softmax subtracts, with
    g a weight's slope; other normalisers compute it anew. Sums are in float32, whose rounding is a thousandth of that.
    """

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    @pytest.mark.parametrize(
        ("weights", "mask"),
        [
            ("softmax", "causal"),
            ("softmax", "own function"),
            ("sigmoid", "causal"),
            ("relu", "own function"),
            ("sparsemax", "causal"),
            ("entmax", "causal"),
            ("budget", "own function"),
            (TopK(3), "causal"),
        ],
    )
    def test_it_is_off_by_as_much_as_its_roundings(self, weights, mask, dtype):
        # What is no longer held of a bfloat16, the interpreter cuts off, where a GPU rounds.
        u = torch.finfo(dtype).eps * (1.0 if dtype == torch.bfloat16 else 0.5)
        call = arguments(
            17, 18, width=6, weights=weights if weights != "budget" else Budget(2.5), mask=MASK_EXAMPLES[mask](None)
        )
        call = call.rounded(dtype)
        query, key, value = three = [t.requires_grad_() for t in (call.query, call.key, call.value)]
        kept: list[Tensor] = []

        def score(query: Tensor, key: Tensor) -> Tensor:
            kept.append(query @ key.mT / query.shape[-1] ** 0.5)
            kept[-1].retain_grad()
            return kept[-1]

        part = call.parts["weights"]
        weight = weigh(query, key, weights=part, mask=call.parts["mask"], score=score)
        exact = weight @ value
        above = torch.linspace(-1, 1, exact.numel(), dtype=F64).view_as(exact).to(dtype).to(F64)
        expected = [exact, *torch.autograd.grad(exact, [*three, kept[-1]], above)]
        output, of_query, of_key, of_value, of_score = (t.detach() for t in expected)

        narrow = [t.detach().to(dtype).requires_grad_() for t in three]
        found = attend(*narrow, weights=part, mask=call.parts["mask"], engine="triton")
        grads = torch.autograd.grad(found, narrow, above.to(dtype))

        weight, query, key, value = (t.detach().abs() for t in (weight, query, key, value))
        most = u * weight @ value
        error = (
            weight * (most * above.abs()).sum(-1, keepdim=True)
            if weights == "softmax" or type(weights) is TopK
            else 0.0
        )
        of_pair = (u * of_score.abs() + error) / query.shape[-1] ** 0.5
        bounds = (
            most + u * output.abs(),
            of_pair @ key + u * of_query.abs(),
            of_pair.mT @ query + u * of_key.abs(),
            u * (weight.mT @ above.abs() + of_value.abs()),
        )
        for name, one, other, bound in zip(
            ("output", "query", "key", "value"),
            (found, *grads),
            (output, of_query, of_key, of_value),
            bounds,
            strict=True,
        ):
            over = (one.double() - other).abs() - 1.01 * bound - 2e-5 * other.abs().max() - torch.finfo(dtype).tiny
            assert one.dtype == dtype
            assert over.max() <= 0, f"{name}: {over.max():.2g} more than rounding explains"


def loss(output: Tensor) -> Tensor:
    return (output * torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)).sin().sum()


SECOND = [
    {},
    {"heads": 2, "key_heads": 1},
    {"mask": "causal", "weights": "sigmoid"},
    {"weights": "entmax"},
    {"position": "relative", "dropout": 0.3},
]


@pytest.mark.parametrize("parts", SECOND, ids=str)
def test_the_gradient_of_a_gradient(parts):
    """By `blocked`, from the kernels' first gradient."""
    position = Relative(5, 2).to(F64) if "position" in parts else None
    call = arguments(5, 6, **{**parts, "position": position})
    wanted = list(call.named.values())

    def second(engine: str) -> tuple[Tensor, ...]:
        first = torch.autograd.grad(loss(call(attend, engine=engine)), wanted, create_graph=True)
        return torch.autograd.grad(sum(gradient.square().sum() for gradient in first), wanted)

    torch.testing.assert_close(second("triton"), second("dense"))


@pytest.mark.parametrize(
    "parts", [{"mask": "causal"}, {"weights": "softmax by head", "mask": Lengths([0, 4])}], ids=str
)
def test_log_sums(parts):
    """They are a column more, with a gradient that doesn't sum to zero over the scores of a row."""
    if parts.get("weights") is not None:
        parts = {**parts, "weights": WEIGHTS_EXAMPLES["softmax by head"](F64)}
    call = arguments(5, 6 if parts["mask"] == "causal" else 5, heads=HEADS, key_heads=2, batch=2, **parts)

    def found(engine: str) -> tuple[Tensor, ...]:
        output, log_sums = call(attend, engine=engine, log_sums=True)
        seen = torch.where(log_sums == -torch.inf, 0.0, log_sums)
        total = loss(output) + (seen * torch.linspace(0, 1, seen.numel(), dtype=F64).view_as(seen)).sum()
        return output, log_sums, *torch.autograd.grad(total, list(call.named.values()))

    torch.testing.assert_close(found("triton"), found("dense"))


@pytest.mark.parametrize(("rows", "parts"), [(1, {}), (3, {"weights": "sigmoid", "mask": "causal"})], ids=str)
def test_few_rows_share_the_keys(rows, parts, monkeypatch):
    """As in decoding: several programs have a part of the keys each, and what they found is merged."""
    monkeypatch.setattr(launch(), "KEYS_OF_SPLIT", 16)
    merged: list[Any] = []
    outputs = importlib.import_module("regard.attention.engines.triton.outputs")
    merge = outputs.merge
    monkeypatch.setattr(
        outputs, "merge", type("", (), {"__getitem__": lambda self, grid: merged.append(grid) or merge[grid]})()
    )
    hold(arguments(rows, 70, heads=2, **parts))
    assert merged


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        (1, {"mask": "causal", "position": Rotary(4)}),
        (3, {"weights": "sigmoid"}),
        (1, {"weights": "entmax", "score": "cosine"}),
    ],
    ids=str,
)
def test_few_rows_of_heads_that_share_keys_are_one_tile(rows, parts, monkeypatch):
    call = arguments(rows, 40, heads=4, key_heads=2, batch=2, **parts)
    outputs, grids = importlib.import_module("regard.attention.engines.triton.outputs"), []
    forward = outputs.forward
    monkeypatch.setattr(
        outputs, "forward", type("", (), {"__getitem__": lambda self, grid: grids.append(grid) or forward[grid]})()
    )
    with torch.no_grad():
        found = call(attend, engine="triton")
    assert [grid[0] for grid in grids] == [2 * 2]
    torch.testing.assert_close(found, call(attend, engine="dense").detach())
    if "weights" not in parts:
        with torch.no_grad():
            found = call(attend, engine="triton", log_sums=True)
        torch.testing.assert_close(found[1], call(attend, engine="dense", log_sums=True)[1].detach())


@pytest.mark.slow
def test_the_modules_of_the_documents_run(tmp_path):
    """The score and the normaliser that docs/how-to/own-parts.md brings to a GPU, and its check of them."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "own-parts.md"
    modules = re.findall(r"<!-- a module: (\S+) -->\n```py\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert [name for name, _ in modules] == ["gpu_parts.py", "check.py"]
    for name, text in modules:
        (tmp_path / name).write_text(text, encoding="utf-8")
    # Triton's interpreter warns of NumPy's numbers that are hidden.
    command = [sys.executable, "-W", "error", "-W", "ignore::RuntimeWarning", "check.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


class TestTransforms:
    @pytest.mark.parametrize(
        "parts", [{}, {"mask": "causal", "weights": TopK(2)}, {"mask": "no_self", "dropout": 0.3}], ids=str
    )
    def test_gradients_of_each_sample(self, parts):
        call = arguments(5, 6, **parts)
        three = [torch.stack([t.detach(), -t.detach()]) for t in (call.query, call.key, call.value)]

        def run(query: Tensor, key: Tensor, value: Tensor, engine: str = "triton") -> Tensor:
            return loss(Arguments(query, key, value, call.parts, call.rest)(attend, engine=engine))

        found = vmap(grad(run, argnums=(0, 1, 2)))(*three)
        for sample in range(2):
            own = [tensor[sample].clone().requires_grad_() for tensor in three]
            expected = torch.autograd.grad(run(*own, engine="dense"), own)
            torch.testing.assert_close(tuple(tensor[sample] for tensor in found), expected)

    def test_autocast(self):
        call = arguments(5, 6, dtype=torch.float32, mask="causal")
        expected = outcome(call, "triton")
        with torch.autocast("cpu", torch.bfloat16):
            found = outcome(call, "triton")
        for name, tensor in expected.items():
            assert torch.equal(found[name], tensor), name

    @pytest.mark.slow
    def test_compiled(self):
        """In a process without the suite's shape checks, which a compiler can't see through."""
        names = [*compiled_checks.INTERPRETED]
        assert check_results(names) == dict.fromkeys(names)
