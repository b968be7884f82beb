"""Saved calls of attention are read as they were, and nothing else is read."""

import itertools
import json
import os
import random

import pytest
import safetensors.torch
import torch
from torch import nn

from regard.attention import (
    Additive,
    Alibi,
    Bias,
    Blocks,
    Bucketed,
    Budget,
    Causal,
    Cosine,
    Documents,
    Edges,
    Entmax,
    Guided,
    LearnedAdditive,
    Lengths,
    NoSelf,
    Prefix,
    Relative,
    Rotary,
    Softmax,
    Window,
    attend,
)
from regard.attention.masks import ExtraKeysMask, KeyRange, Pairs
from regard.errors import ArgumentError, DataError
from regard.inspection import RemoveHead, Seen, SeenLayer, watch
from regard.inspection.capture.by_hand.rules import Distances, KeyIntervals
from regard.inspection.record.part_json import PARTS
from sampling import examples

QUERIES = 7
GRAPH = torch.tensor([[0, 1, 2, 2, 6], [1, 0, 0, 3, 5]])
CASES = {
    "names": {"score": "cosine", "weights": "entmax", "mask": "causal"},
    "nothing": {},
    "composed": {"mask": (Causal() & Lengths([7, 4])) | ~NoSelf()},
    "window": {"mask": Window(2, 1), "position": Rotary(4) + Alibi(2).part()},
    "documents": {"mask": Documents([0, 0, 1, 1, 2, 2, -1])},
    "edges": {"mask": Edges(GRAPH), "weights": Entmax(1.3)},
    "edges of items": {"mask": Edges([GRAPH, GRAPH.flip(0)[:, :3]])},
    "blocks": {"mask": Blocks(torch.tensor([[True, False, True], [False, False, False], [True, True, True]]), 3)},
    "pairs of blocks": {"mask": Blocks(torch.tensor([[0, 1, 1], [0, 1, 2]]), 3)},
    "ranges": {"mask": KeyRange(torch.tensor([0, 2]), torch.tensor([6, 7])) & Guided(3)},
    "prefix": {"mask": Prefix(3), "weights": Softmax(torch.tensor([0.5, 2.0]))},
    "extra": {"mask": ExtraKeysMask(Causal(), 2)},
    "table": {"mask": Pairs(torch.rand(1, 1, 7, 7) > 0.4), "position": Bias(torch.randn(1, 1, 7, 7))},
    "intervals": {
        "mask": KeyIntervals(torch.zeros(1, 2, 7, dtype=torch.long), torch.arange(14).view(1, 2, 7) % 7 + 1),
        "position": Distances(torch.randn(2, 13), 6),
    },
    "modules": {"score": LearnedAdditive(5), "position": Relative(5) + Bucketed(2)},
    "vectors": {"score": Additive(torch.randn(2, 5), activation="leaky_relu"), "weights": Budget(2.5)},
    "scale": {"score": Cosine(torch.tensor([1.0, 3.0]))},
}


class Own(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def forward(self, query):
        return attend(query, query.flip(2), query * 2, **self.parts)


def seen_with(parts, dtype=torch.float32, queries=QUERIES):
    torch.manual_seed(3)
    vectors = torch.randn(2, 2, queries, 5, dtype=dtype)
    model = Own(parts)
    with watch(model) as seen, torch.no_grad():
        model(vectors)
    return seen


def same(first, second):
    assert first.names == second.names
    assert first.nothing == second.nothing
    assert first.verify() == second.verify()
    for one, other in zip(first, second, strict=True):
        for name in ("query", "key", "value", "rows", "outputs"):
            assert getattr(one, name).dtype == getattr(other, name).dtype
            assert torch.equal(getattr(one, name), getattr(other, name)), name
        assert torch.equal(one.weights(), other.weights())
        for name in ("entropy", "received", "pooled", "top_index", "top_weight", "distance"):
            assert torch.equal(getattr(one.summary, name), getattr(other.summary, name)), name
        assert torch.equal(one.recomputed(one.rows), other.recomputed(other.rows))
        assert (one.function, one.dropout, one.notes) == (other.function, other.dropout, other.notes)


@pytest.mark.parametrize("name", CASES)
def test_what_was_saved_is_read_to_the_bit(name, tmp_path):
    seen = seen_with(CASES[name])
    assert len(seen) == 1
    seen.save(tmp_path / "seen.safetensors")
    again = Seen.load(tmp_path / "seen.safetensors")
    same(seen, again)
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "seen.safetensors").read_bytes()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_all_dtypes(dtype, tmp_path):
    seen = seen_with({"mask": "causal"}, dtype)
    seen.save(tmp_path / "seen.safetensors")
    again = Seen.load(tmp_path / "seen.safetensors")
    assert again[0].query.dtype == dtype
    same(seen, again)


def test_models_of_pytorch_with_their_projections(tmp_path):
    torch.manual_seed(0)
    model = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, batch_first=True), 2, enable_nested_tensor=False
    ).eval()
    with watch(model) as seen:
        model(torch.randn(2, 5, 8), src_key_padding_mask=torch.tensor([[False] * 5, [False, False, True, True, True]]))
    assert [layer.projection is not None for layer in seen] == [True, True]
    seen.save(tmp_path / "seen.safetensors")
    del model
    same(seen, Seen.load(tmp_path / "seen.safetensors"))


def test_nothing_seen_keeps_its_reason(tmp_path):
    Seen(nothing="No attention was seen.").save(tmp_path / "seen.safetensors")
    assert str(Seen.load(tmp_path / "seen.safetensors")) == "No attention was seen."


def test_the_size_is_that_of_three_vectors_for_each_item_and_head(tmp_path):
    sizes = []
    for queries in (1000, 2000, 4000):
        seen_with({"mask": "causal"}, queries=queries).save(tmp_path / "seen.safetensors")
        sizes.append(os.path.getsize(tmp_path / "seen.safetensors"))
        vectors = 3 * 2 * 2 * queries * 5 * 4
        assert vectors < sizes[-1] < vectors + 6000
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.01)


def test_tensors_that_layers_share_are_stored_once(tmp_path):
    mask = Pairs(torch.rand(1, 1, 300, 300) > 0.5)
    one, two = seen_with({"mask": mask}, queries=300), seen_with({"mask": mask}, queries=300)
    Seen([*one, *two]).save(tmp_path / "seen.safetensors")
    tensors = safetensors.torch.load_file(tmp_path / "seen.safetensors")
    assert sum(tensor.numel() == 300 * 300 for tensor in tensors.values()) == 1


@pytest.mark.parametrize(
    ("parts", "kind", "own"),
    [
        ({"score": lambda query, key: query @ key.mT}, "score", "<lambda>"),
        ({"mask": lambda batch, head, query, key: key <= query}, "mask", "<lambda>"),
        ({"mask": Causal() & (lambda batch, head, query, key: key > 0)}, "mask", "Predicate"),
        ({"weights": lambda scores, allowed: scores.softmax(-1)}, "normaliser", "<lambda>"),
    ],
)
def test_a_users_function_cannot_be_saved(parts, kind, own, tmp_path):
    seen = seen_with(parts)
    with pytest.raises(
        ArgumentError, match=rf"`{kind}` of layer 0 \(''\) must be a part of regard .* is {own},"
    ) as error:
        seen.save(tmp_path / "seen.safetensors")
    assert "del seen.layers[0]" in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["Sharp", "Softmax"])
def test_a_subclass_cannot_be_saved_whatever_its_name(name, tmp_path):
    own = type(name, (Softmax,), {})
    with pytest.raises(ArgumentError, match=f"`normaliser` of layer 0 .* is {name}, which"):
        seen_with({"weights": own()}).save(tmp_path / "seen.safetensors")


def test_tables_with_too_few_queries_are_refused(tmp_path):
    path = tmp_path / "seen.safetensors"
    seen_with(CASES["intervals"]).save(path)
    with safetensors.safe_open(path, "pt") as file:
        header = file.metadata()
        # Copies: the tensors are mapped from the file, which is about to be overwritten.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    fields = layer(json.loads(header["regard"]))["mask"]["fields"]
    for name in ("start", "stop"):
        table = fields[name]["tensor"]
        tensors[table] = tensors[table][..., :6].clone()
    path.write_bytes(safetensors.torch.save(tensors, header))
    with pytest.raises(DataError, match="layer 0 is damaged"):
        Seen.load(path)


def test_all_parts_of_the_attention_room_can_be_named():
    from regard.attention import MASKS, POSITIONS, SCORES, WEIGHTS

    classes = {
        each for known in (MASKS, SCORES, WEIGHTS, POSITIONS) for each in known.values() if isinstance(each, type)
    }
    parts = {each for each in classes if not issubclass(each, nn.Module)}
    assert parts <= set(PARTS.values())
    assert {"And", "Or", "Not", "Both", "Slopes", "RelativeKeys", "KeyIntervals", "Distances", "SoftCapped"} <= set(
        PARTS
    )
    assert not {"Predicate", "ScoreMod", "Mask", "Position"} & set(PARTS)


def file_of(path, change=lambda header, tensors: None):
    """A saved file with its header and tensors changed."""
    seen_with(
        {"mask": Causal() & Lengths([7, 4]), "score": Cosine(torch.tensor([1.0, 3.0])), "position": Rotary(4)}
    ).save(path)
    with safetensors.safe_open(path, "pt") as file:
        header = json.loads(file.metadata()["regard"])
        # Copies: the tensors are mapped from the file, which is about to be overwritten.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    change(header, tensors)
    safetensors.torch.save_file(tensors, path, {"regard": json.dumps(header)})
    return path


def layer(header):
    return header["layers"][0]


def replace(key, value):
    return lambda header, tensors: layer(header).update({key: value})


def with_query(value):
    return lambda header, tensors: tensors.update({layer(header)["query"]["tensor"]: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, tensors: header.update(format=2), "format 1, but has 2, written by regard"),
        (lambda header, tensors: header.update(format=True), "format 1, but has True"),
        (lambda header, tensors: header.pop("layers"), "`layers` of the header must be a list, but is None"),
        (lambda header, tensors: header.update(nothing=3), "`nothing` of the header must be text, but is 3"),
        (lambda header, tensors: header.pop("about"), "`about` of the header must say"),
        (lambda header, tensors: header.update(layers=float("nan")), "NaN is no number of JSON"),
        (replace("mask", {"class": "os.system", "fields": {}}), "of a class of regard, but is of 'os.system'"),
        (replace("mask", {"class": "Predicate", "fields": {"function": "print"}}), "but is of 'Predicate'"),
        (replace("mask", {"class": "Window", "fields": {"before": 1}}), "layer 0 is damaged .*after"),
        (
            replace("mask", {"class": "Window", "fields": {"before": {"float": "nan"}, "after": 1}}),
            "`before` of Window",
        ),
        (replace("mask", {"class": "Window", "fields": {"before": 10**30, "after": 1}}), "layer 0 is damaged"),
        (replace("mask", {"class": "Softmax", "fields": {}}), "layer 0 is damaged"),
        (replace("score", "dto"), "did you mean 'dot'"),
        (replace("query", {"tensor": "77"}), "'77' is missing"),
        (replace("query", 3), "`query` must be a tensor"),
        (replace("dropout", {"float": "nan"}), "`dropout` must be a number"),
        (replace("dropout", 2), "`dropout` must be a fraction"),
        (replace("notes", [3]), "`notes`"),
        (replace("projection", {"tuple": [1]}), "`projection` must be"),
        (replace("extra", 3), "a layer must have"),
        (with_query(torch.zeros(2, 2, 7, 3)), "layer 0 is damaged"),
        (with_query(torch.zeros(2, 2, 0, 5)), "`rows` must be numbers of queries below 0"),
        (with_query(torch.zeros(7)), "must have the axes"),
        (with_query(torch.zeros(2, 2, 7, 5, dtype=torch.long)), "`query` must be a tensor of real numbers"),
        (lambda header, tensors: tensors.update(more=torch.zeros(3)), "holds a tensor 'more' that no layer has"),
    ],
)
def test_changed_files_are_refused_in_one_sentence(change, message, tmp_path):
    path = file_of(tmp_path / "seen.safetensors", change)
    with pytest.raises(DataError, match=f"(?i){message}") as error:
        Seen.load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "seen.safetensors"
    for content in (b"", b"hello", b"\x80\x04]q", b"{}", os.urandom(300), b"\xff" * 40):
        path.write_bytes(content)
        with pytest.raises(DataError, match="cut short, damaged or something else"):
            Seen.load(path)
    safetensors.torch.save_file({"a": torch.zeros(3)}, path)
    with pytest.raises(DataError, match="holds other tensors"):
        Seen.load(path)
    with pytest.raises(DataError, match=r"Did you mean .*seen\.safetensors"):
        Seen.load(tmp_path / "sen.safetensors")
    with pytest.raises(DataError, match="can't be read"):
        Seen.load(tmp_path)


def test_files_cut_short_anywhere_are_refused(tmp_path):
    path = file_of(tmp_path / "seen.safetensors")
    content = path.read_bytes()
    draw = random.Random(0)
    for size in {*range(12), *(draw.randrange(len(content)) for _ in range(200)), len(content) - 1}:
        path.write_bytes(content[:size])
        with pytest.raises(DataError):
            Seen.load(path)


def places(tree, path=()):
    """The paths of all values in a tree of JSON."""
    yield path
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from places(tree[key], (*path, key))


VALUES = [None, True, -1, 0, 1, 7, 10**6, 10**30, 0.5, -1e300, float("nan"), float("inf"), "", "causal", "é\n", [], {}]
VALUES += [{"class": "Not", "fields": {}}, {"tensor": "0"}, {"tensor": "3"}, {"tuple": [{}]}, {"float": "nan"}, [[[]]]]


def test_changing_any_value_gives_a_layer_or_the_one_error(tmp_path):
    path = tmp_path / "seen.safetensors"
    file_of(path)
    with safetensors.safe_open(path, "pt") as file:
        header = file.metadata()["regard"]
        # Copies: the tensors are mapped from the file, which is about to be overwritten.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    refused, read, lines = 0, 0, set()
    every = list(itertools.product(places(json.loads(header)), VALUES))
    for place, value in random.Random(0).sample(every, examples(len(every))):
        changed = {"": json.loads(header)}
        inside = changed
        for key in ("", *place)[:-1]:
            inside = inside[key]
        inside[("", *place)[-1]] = value
        path.write_bytes(safetensors.torch.save(tensors, {"regard": json.dumps(changed[""])}))
        try:
            again = Seen.load(path)
        except DataError as error:
            refused += 1
            lines.add(len(str(error).splitlines()))
        else:
            read += 1
            for each in again:
                assert isinstance(each, SeenLayer)
                each.weights()
    assert lines == {1}
    assert refused > examples(500)
    assert read > examples(10)


def test_exchanging_any_two_tensors_gives_a_layer_or_the_one_error(tmp_path):
    path = file_of(tmp_path / "seen.safetensors")
    with safetensors.safe_open(path, "pt") as file:
        header = file.metadata()
        # Copies: the tensors are mapped from the file, which is about to be overwritten.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    shapes = [
        torch.zeros(0),
        torch.zeros(1, 1, 1, 1),
        torch.full((2,), -9),
        torch.zeros(2, 2, 7, 0),
        torch.ones(()) > 0,
    ]
    for name in tensors:
        for other in (*tensors.values(), *shapes):
            path.write_bytes(safetensors.torch.save({**tensors, name: other.clone()}, header))
            try:
                again = Seen.load(path)
            except DataError:
                continue
            assert again[0].weights().ndim == 4
            assert again[0].verify() is not None


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "seen.safetensors"
    seen_with({}).save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device.*seen\.safetensors"):
        seen_with({"mask": "causal"}).save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["seen.safetensors"]


def test_a_removed_head_stays_noted(tmp_path):
    model = torch.nn.MultiheadAttention(8, 2)
    x = torch.randn(5, 1, 8)
    with watch(model, changes=[RemoveHead(1, 1)]) as seen:
        model(x, x, x)
    seen.save(tmp_path / "seen.safetensors")
    (layer,) = Seen.load(tmp_path / "seen.safetensors")
    assert layer.removed
    assert layer.verify() is None
