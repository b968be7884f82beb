"""`regard.watch` of calls that processes share: the record of each, changes, and the records put together."""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

import regard
from attention.cases import numbers
from distributed.ranks import together
from distributed.test_contract import own
from regard import distributed
from regard.attention import Alibi, Bias, Documents, Relative, Window
from regard.errors import ArgumentError
from regard.inspection import (
    HideKey,
    HidePair,
    LayerRecord,
    NothingSeen,
    Record,
    RecordDiffers,
    RemoveHead,
    Seen,
    Temperature,
    live_page,
    watch,
)
from regard.inspection.record.record_storage import record_of
from regard.modules import MultiHeadAttention

WORST = 1e-12
LENGTH = 11


def by_thirds(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return (query + key) % 3 > 0


CALLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"mask": "causal", "position": Alibi(2)},
    "window": {"mask": Window(2, 1), "weights": "entmax"},
    # The first query of the second document sees nothing.
    "documents": {"mask": Documents([0, 0, 0, -1, 1, 1, 1, 2, 2, 2, 2]), "score": "cosine"},
    "function": {"mask": by_thirds, "weights": "sigmoid"},
    "table": {"position": Bias(numbers(2, LENGTH, LENGTH, seed=5, grad=False))},
}


class Layer(nn.Module):
    """One call of a function with the module's own arguments."""

    def __init__(self, attend: Any, **named: Any):
        super().__init__()
        self.attend, self.named = attend, named

    def forward(self, *three: Tensor) -> Tensor:
        return self.attend(*three, **self.named)


def three() -> list[Tensor]:
    return [numbers(2, 2, LENGTH, 6, seed=seed, grad=False) for seed in (1, 2, 3)]


def gap(one: Tensor, other: Tensor) -> float:
    assert one.shape == other.shape, (one.shape, other.shape)
    far = (one - other).abs().max().item() if one.numel() else 0.0
    return far if far == far else float("inf")


def compared(rank: int, ranks: int, name: str, cut: str) -> dict[str, Any]:
    """The record of this rank, and that of all ranks together, against that of one process."""
    order = "zigzag" if cut == "zigzag" else "contiguous"
    model = Layer(regard.attend, **CALLS[name])
    with watch(model) as alone:
        model(*three())
    expected = alone[0]
    mine = [own(each, rank, ranks, cut) for each in three()]
    model = Layer(distributed.attend, order=order, **CALLS[name])
    with watch(model, rows=3) as seen:
        model(*mine)
    with Alone():
        layer, places = seen[0], own(torch.arange(LENGTH)[None, None, :, None], rank, ranks, cut).flatten()
        # Read on one rank alone: nothing is sent from here on.
        weights = own(expected.weights(), rank, ranks, cut)
        summary, whole = layer.summary, expected.summary
        some = [*range(len(places))][-2:]
        found = {
            "numbers": float(layer.query_numbers.tolist() != places.tolist()),
            "weights": gap(layer.weights(), weights),
            "rows": gap(layer.weights(rows=some), weights[:, :, some]),
            "received": gap(summary.received, weights.sum(2)),
            "outputs": gap(layer.head_outputs, own(expected.head_outputs, rank, ranks, cut)),
            "verified": seen.verify()[""],
        }
        for field in ("entropy", "distance", "top_weight", "zeros"):
            found[field] = gap(getattr(summary, field), own(getattr(whole, field), rank, ranks, cut))
        if len(places):
            found["steps"] = gap(layer.steps(query=len(places) - 1, item=1).weights, weights[1, 0, -1])
    joined = seen.unshard()
    found |= {
        "joined weights": gap(joined[0].weights(), expected.weights()),
        "joined received": gap(joined[0].summary.received, whole.received),
        "joined pooled": gap(joined[0].summary.pooled, whole.pooled),
        "joined query": gap(joined[0].query, expected.query) + gap(joined[0].value, expected.value),
        "joined is whole": float(joined[0].is_part),
        "joined rows": float(joined[0].rows.tolist() != sorted(set(joined[0].rows.tolist()))),
        "joined verified": joined.verify()[""],
    }
    return found


class Alone:
    """Refuses every message to another rank inside of the block."""

    def __enter__(self) -> None:
        self._patch = pytest.MonkeyPatch()
        for name in ("all_gather", "batch_isend_irecv", "all_to_all_single", "all_reduce"):
            self._patch.setattr(torch.distributed, name, lambda *_, **__: pytest.fail("other ranks were asked"))

    def __exit__(self, *error: object) -> None:
        self._patch.undo()


def every_comparison(rank: int, ranks: int) -> dict[str, dict[str, Any]]:
    cuts = "even", "uneven", "one empty", "zigzag"
    return {f"{name}, {cut}": compared(rank, ranks, name, cut) for name in CALLS for cut in cuts}


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_record_of_a_rank_is_that_of_one_process_cut_to_its_queries(ranks):
    wrong = [
        f"{name}: {what} of rank {rank} is off by {far:.2g}"
        for rank, found in enumerate(together(ranks, every_comparison, ranks))
        for name, each in found.items()
        for what, far in each.items()
        if not far <= WORST
    ]
    assert not wrong, "\n".join(wrong)


def module(**more: Any) -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(12, 2, position=Relative(6, 3), **more).double()


def vectors() -> Tensor:
    return torch.randn(2, 9, 12, generator=torch.Generator().manual_seed(1)).double()


def laws(rank: int) -> dict[str, Any]:
    """Everything that is asked of two ranks, by name, so that they start once."""
    mesh = init_device_mesh("cpu", (2,))
    return {
        "text": text(mesh),
        "stored": stored(rank, mesh),
        "changed": changed(mesh),
        "refused": refused(mesh),
        "one rank": one_rank(rank, mesh),
        "dtensors": dtensors(mesh),
        "random": random(mesh),
        "differs": differs(mesh),
        "other calls": other_calls(rank, mesh),
    }


def seen_of(mesh: Any, order: str = "contiguous", **more: Any) -> Seen:
    model = module(mesh=mesh, order=order).eval()
    with watch(model, **more) as seen, torch.no_grad():
        model(distributed.shard(vectors(), 1, order=order), mask="causal")
    return seen


def text(mesh: Any) -> list[str]:
    seen = seen_of(mesh, "zigzag")
    return [str(seen[0]), *seen[0].notes, *seen.unshard()[0].notes]


def stored(rank: int, mesh: Any) -> list[Any]:
    """A record of a part is saved, loaded and shown, with the names of the whole for keys and queries."""
    seen = seen_of(mesh)
    with TemporaryDirectory() as folder:
        seen.save(Path(folder) / "seen.safetensors")
        again = Seen.load(Path(folder) / "seen.safetensors")
    record = record_of(again)
    words = ("I", "saw", "a", "saw", "that", "saw", "a", "saw", ".")
    named = Record(
        words,
        queries=tuple(words[number] for number in seen[0].query_numbers),
        layers=(LayerRecord("layer 1", (seen[0],), item=1),),
    )
    page = live_page(named)
    joined = seen.unshard()
    return [
        torch.equal(again[0].weights(), seen[0].weights()),
        again[0].query_numbers.tolist(),
        [list(record.items), list(record.query_items)],
        "saw" in page,
        gap(named.layers[0].weights().double(), seen[0].weights()[1]) < 1e-6,
        live_page(Record(words, layers=(LayerRecord("layer 1", (joined[0],)),))) != page,
    ]


def changed(mesh: Any) -> list[float]:
    """Changes by parts are those of one process, in outputs and gradients."""
    gaps = []
    for change in (RemoveHead(1, 2), HideKey(3), Temperature(2.0, 1, 1)):
        alone, here = module().eval(), module(mesh=mesh, order="zigzag").eval()
        with watch(alone, changes=[change]):
            expected = alone(vectors(), mask="causal")
        expected.square().sum().backward()
        with watch(here, changes=[change]) as seen:
            output = here(distributed.shard(vectors(), 1, order="zigzag"), mask="causal")
        output.square().sum().backward()
        gaps.append(gap(output.detach(), distributed.shard(expected.detach(), 1, order="zigzag")))
        for one, other in zip(here.parameters(), alone.parameters(), strict=True):
            torch.distributed.all_reduce(one.grad)
            gaps.append(gap(one.grad, other.grad))
        assert seen[0].notes[-1].startswith("Changed: ")
        found = seen.verify()[""]
        gaps.append(0.0 if found is None else found)
    return gaps


def refused(mesh: Any) -> list[str]:
    told = []
    for change in (HidePair(1, 1), RemoveHead(1, 1, by="mean")):
        try:
            seen_of(mesh, changes=[change])
            told.append("nothing was raised")
        except ArgumentError as error:
            told.append(str(error))
    return told


def one_rank(rank: int, mesh: Any) -> list[Any]:
    """Where only one rank watches, or one watches twice, all go on as without the block."""
    model, given = module(mesh=mesh).eval(), distributed.shard(vectors(), 1)
    expected = model(given, mask="causal")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if rank:
            found = model(given, mask="causal")
        else:
            with watch(model):
                found = model(given, mask="causal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with watch(model) as around:
            if rank:
                again = model(given, mask="causal")
            else:
                with watch(model) as inner:
                    again = model(given, mask="causal")
                assert len(inner) == 1
    messages = [str(each.message) for each in told if issubclass(each.category, NothingSeen)]
    return [torch.equal(found, expected), torch.equal(again, expected), len(around), *messages]


def dtensors(mesh: Any) -> list[Any]:
    """Tensors that know how they are divided."""
    given = [distribute_tensor(each, mesh, [Shard(2)]) for each in three()]
    model = Layer(distributed.attend, mask="causal")
    with watch(model) as seen:
        model(*given)
    expected = distributed.shard(regard.weigh(*three()[:2], mask="causal"))
    return [len(seen), gap(seen[0].weights(), expected)]


def random(mesh: Any) -> bool:
    """Watching draws no random numbers, and keeps dropout."""
    found = []
    for watches in (False, True):
        model = module(mesh=mesh, dropout=0.5).train()
        torch.manual_seed(3)
        if watches:
            with watch(model):
                output = model(distributed.shard(vectors(), 1))
        else:
            output = model(distributed.shard(vectors(), 1))
        found.append([output, torch.rand(1)])
    return all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def differs(mesh: Any) -> list[str]:
    """The record is held to what the layer gave."""
    seen = seen_of(mesh)
    seen[0].value = seen[0].value + 1
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        seen.check()
    return [each.category.__name__ for each in told]


def other_calls(rank: int, mesh: Any) -> str:
    seen = seen_of(mesh)
    try:
        Seen([*seen, *seen] if rank else [*seen]).unshard()
    except ArgumentError as error:
        return str(error)
    return "nothing was raised"


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    return together(2, laws)


def test_a_record_says_which_queries_it_has(found):
    shown, note, joined = found[0]["text"]
    assert "regard.distributed.attend  2 x 2 heads x 5 queries x 9 keys" in shown
    assert note == "Of 9 queries, counted from 0, it has 0 to 2 and 7 to 8, those of rank 0 of 2, and all keys."
    assert joined == "Put together from the records of 2 ranks."
    assert "it has 3 to 6, those of rank 1 of 2" in found[1]["text"][1]


def test_a_record_is_stored_and_shown_with_the_names_of_the_whole(found):
    items = [str(number) for number in range(1, 10)]
    for each, numbers_ in zip(found, ([0, 1, 2, 3, 4], [5, 6, 7, 8]), strict=True):
        queries = [items[number] for number in numbers_]
        assert each["stored"] == [True, numbers_, [items, queries], True, True, True]


def test_changes_of_shared_calls(found):
    for each in found:
        assert max(each["changed"]) < WORST, each["changed"]
        assert all("needs the queries of all processes" in said for said in each["refused"]), each["refused"]
        assert "hide key 1 from query 1" in each["refused"][0]


def test_a_rank_that_does_not_watch_changes_nothing(found):
    first, second = (each["one rank"] for each in found)
    assert first[:3] == [True, True, 0]
    assert second == [True, True, 1]
    (message,) = first[3:]
    assert "All ranks must watch a call that they share, but ranks [1] don't." in message


def test_tensors_that_know_how_they_are_divided_are_seen(found):
    for each in found:
        count, far = each["dtensors"]
        assert count == 1
        assert far < WORST


def test_watching_draws_no_random_numbers(found):
    assert all(each["random"] for each in found)


def test_a_record_that_differs_is_told(found):
    assert all(each["differs"] == [RecordDiffers.__name__] for each in found)


def test_records_of_other_calls_are_not_put_together(found):
    assert all("ranks [1] have seen others than rank 0" in each["other calls"] for each in found)
