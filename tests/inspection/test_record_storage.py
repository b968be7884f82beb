"""A saved record tells the same story without the model, and nothing else is read."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
import safetensors.torch
import torch
from torch import nn

import regard
from regard.errors import DataError
from regard.inspection import LayerRecord, Record, Seen, load_record, save_record, story, watch
from regard.inspection.views.page_data import page_data
from regard.page import as_text
from sampling import examples


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    record = regard.load("english-pos").see("I saw a saw .")
    path = tmp_path_factory.mktemp("record") / "saws.safetensors"
    save_record(record, path)
    return SimpleNamespace(record=record, path=path)


@pytest.mark.parametrize(
    ("name", "source"),
    [("english-pos", "I saw a saw ."), ("english-sentiment", "a warm film"), ("german-english", "ein Mann .")],
)
def test_a_loaded_record_tells_the_same_story(name, source, tmp_path):
    record = regard.load(name).see(source)
    save_record(record, tmp_path / "record.safetensors")
    again = load_record(tmp_path / "record.safetensors")
    assert as_text(story(again)) == as_text(story(record))
    assert again.outcomes == record.outcomes
    for one, other in zip(again.layers, record.layers, strict=True):
        assert (one.name, one.shape) == (other.name, other.shape)
        assert torch.equal(one.weights(), other.weights())
    assert len(again.seen) == len(record.seen)


def test_a_record_of_look_is_saved_without_outcomes(tmp_path):
    short, long = regard.load("english-pos").look(["I saw", "I saw a saw ."])
    save_record(long, tmp_path / "record.safetensors")
    again = load_record(tmp_path / "record.safetensors")
    assert (again.items, again.labels, again.outcomes) == (long.items, long.labels, None)
    assert torch.equal(again.layers[1].weights(), long.layers[1].weights())
    assert short.layers[0].shape == (2, 2)


def test_a_picture_keeps_its_grid(tmp_path):
    layer = LayerRecord.of_weights("layer 1", torch.full((1, 4, 4), 0.25), "softmax")
    save_record(Record(("1,1", "1,2", "2,1", "2,2"), layers=(layer,), grid=(2, 2)), tmp_path / "record.safetensors")
    assert load_record(tmp_path / "record.safetensors").grid == (2, 2)


def test_items_that_are_several_keys_keep_their_bounds(tmp_path):
    layer = LayerRecord.of_weights("layer 1", torch.full((1, 4, 4), 0.25), "softmax")
    layer = replace(layer, query_bounds=(0, 3, 4), key_bounds=(0, 1, 4))
    save_record(Record(("0.0 s", "0.1 s"), layers=(layer,)), tmp_path / "record.safetensors")
    (again,) = load_record(tmp_path / "record.safetensors").layers
    assert (again.query_bounds, again.key_bounds) == ((0, 3, 4), (0, 1, 4))
    assert again.weights().tolist() == [[[0.25, 0.75], [0.25, 0.75]]]


def test_the_calls_alone_are_read_by_both(saved, tmp_path):
    seen = Seen.load(saved.path)
    assert seen.names == saved.record.seen.names
    model = nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    with watch(model) as seen:
        model(torch.randn(1, 3, 8))
    seen.save(tmp_path / "seen.safetensors")
    record = load_record(tmp_path / "seen.safetensors")
    assert (record.items, len(record.layers), record.outcomes) == (("1", "2", "3"), 1, None)


def rewritten(path, change, target):
    """The file with a change of what it says its calls are about."""
    content = path.read_bytes()
    metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    header = json.loads(metadata["regard"])
    change(header)
    tensors = safetensors.torch.load(content)
    safetensors.torch.save_file(tensors, target, {"regard": json.dumps(header)})
    return target


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: about.update(items=["I"]), "must have"),
        (lambda about: about.update(items="I saw"), "`items` must be a list, but is 'I saw'"),
        (lambda about: about.pop("noun"), "`noun` is missing"),
        (lambda about: about.update(noun=3), "`noun` must be text, but is 3"),
        (lambda about: about.update(scores=["high"] * 5), "`scores` must be numbers, but is"),
        (lambda about: about.update(scores=[10**400] * 5), "too large"),
        (lambda about: about.update(grid=[5]), r"`grid` must be two numbers, but is \[5\]"),
        (lambda about: about["layers"][0].update(calls=[9]), "must be numbers of calls"),
        (lambda about: about["layers"][0].update(calls=[]), "must hold a call"),
        (
            lambda about: about["layers"][0].update(along="item"),
            "`along` of a layer must be 'head' or 'query'",
        ),
        (lambda about: about["layers"][0].update(item=1), "within its calls"),
        (lambda about: about["layers"][0].update(keys=-1), "`layers`: `keys` must be a whole number, but is -1"),
        (lambda about: about["layers"][0].update(key_bounds=[0, 9]), "two numbers or more that grow, up to 5"),
        (lambda about: about["layers"][0].update(key_bounds="0"), "`layers`: `key_bounds` must be a list"),
        (lambda about: about["layers"][0].update(query_bounds=[0, 5]), r"must hold weights \(head, 5, 5\)"),
        (lambda about: about["outcomes"].update(kind="colours"), "`kind` must be"),
        (lambda about: about["outcomes"].update(form="before"), "`form` must be"),
        (lambda about: about["outcomes"].update(chosen=5), "`chosen` must be"),
        (lambda about: about["outcomes"].pop("hidden"), "outcomes must have"),
        (lambda about: about["outcomes"]["hidden"].pop(), "`hidden` must have 5 rows"),
        (lambda about: about["outcomes"]["removed"][0].pop(), "`removed` must have rows"),
        (lambda about: about["outcomes"]["places"][0].__setitem__(1, 7), "below 5"),
        (lambda about: about["outcomes"]["hidden"][0][0].__setitem__(2, "much"), "a change must be a number"),
        (lambda about: about["outcomes"]["hidden"][0][0].__setitem__(0, 3), "must be text"),
        (
            lambda about: about["outcomes"]["hidden"][0][0].pop(),
            "an outcome of `hidden` must be a list of 3",
        ),
        (lambda about: about["outcomes"].update(removed=3), "`outcomes`: `removed` must be a list, but is 3"),
        (lambda about: about["outcomes"].update(places=[3]), "`outcomes`: a place must be a list of 4, but is 3"),
        (lambda about: about.update(layers=3), "`layers` must be a list, but is 3"),
        (lambda about: about.update(pooling=[3]), r"`pooling`: a layer must be an object, but is \[3\]"),
        (lambda about: about.update(scores=[True] * 5), "`scores` must be numbers"),
    ],
)
def test_changed_files_are_refused_in_one_sentence(saved, change, message, tmp_path):
    target = rewritten(saved.path, lambda header: change(header["about"]), tmp_path / "changed.safetensors")
    for load in (load_record, Seen.load):
        with pytest.raises(DataError, match=message) as error:
            load(target)
        assert str(error.value).count("\n") == 0
        assert str(target) in str(error.value)
        assert "what it says is damaged" in str(error.value)


def test_changing_any_value_gives_a_record_or_the_one_error(saved, tmp_path):
    """Whatever is changed, a story is told or a `DataError` raised, and nothing else."""
    draw = random.Random(7)
    values = [None, True, -1, 0, 3, 10**9, 1e300, "x", [], {}, ["x"], [[0]]]

    def places(value, path=()):
        yield path
        if isinstance(value, dict | list):
            for key, each in value.items() if isinstance(value, dict) else enumerate(value):
                yield from places(each, (*path, key))

    def change(header):
        path = draw.choice([each for each in places(header["about"]) if each])
        target = header["about"]
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = draw.choice(values)

    refused = 0
    for _ in range(examples(180)):
        target = rewritten(saved.path, change, tmp_path / "changed.safetensors")
        try:
            seen = Seen.load(target)
        except DataError:
            refused += 1
        else:
            # What is loaded can be shown, by a story and a page.
            assert seen._repr_mimebundle_().keys() == {"text/plain", "text/html"}
    assert examples(60) < refused < examples(180)


@pytest.mark.parametrize("change", [7e4, -1e300])
def test_large_changes_are_drawn(saved, change, monkeypatch, tmp_path):
    monkeypatch.setattr("regard.inspection.views.page_data._SMALL", 0)
    target = rewritten(
        saved.path,
        lambda header: header["about"]["outcomes"]["hidden"][0][0].__setitem__(2, change),
        tmp_path / "changed.safetensors",
    )
    data, arrays = page_data([load_record(target)])
    where = data["records"][0]["outcomes"]["hidden"]["change"]
    assert where["kind"] == "f32"
    assert arrays.size


def test_what_it_is_about_must_be_an_object(saved, tmp_path):
    target = rewritten(saved.path, lambda header: header.update(about=[1]), tmp_path / "changed.safetensors")
    with pytest.raises(DataError, match="must say in an object"):
        load_record(target)
