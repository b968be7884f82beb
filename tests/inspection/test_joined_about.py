"""What a record says of its items after its steps were joined: the same story, or a sentence about what is left out."""

import pytest
import torch
from torch import nn

from regard.inspection import (
    LayerRecord,
    Outcome,
    Outcomes,
    Place,
    Record,
    Seen,
    load_record,
    save_record,
    story_of,
    watch,
)
from regard.inspection.record.joined_about import joined_about

ITEMS, PIECES = ("ein", "Hund", "rennt"), ("a", "dog", "runs", ".")


class Attending(nn.Module):
    def forward(self, query, key, value):
        return nn.functional.scaled_dot_product_attention(query, key, value)


class Translating(nn.Module):
    def __init__(self):
        super().__init__()
        self.cross, self.own = Attending(), Attending()


@pytest.fixture
def record():
    """A decoder of four steps with attention to the source, and attention to its own pieces with growing keys."""
    torch.manual_seed(0)
    model = Translating()
    source, pieces, queries = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 4, 4), torch.randn(1, 2, 4, 4)
    with watch(model) as seen:
        for step in range(4):
            model_step(model, queries[:, :, step : step + 1], source, pieces[:, :, : step + 1])
    steps = tuple(layer for layer in seen if layer.name == "cross")
    outcome = Outcome("a", 0.5, -0.25)
    outcomes = Outcomes(
        "labels",
        "generated",
        tuple(Place(piece, number, piece, 0.75) for number, piece in enumerate(PIECES)),
        hidden=((outcome,) * 4,) * 3,
        removed=(((outcome,) * 4,) * 2,),
    )
    layers = (LayerRecord("source", steps, along="query"),)
    return Record(ITEMS, layers=layers, queries=PIECES, model="mine", noun="word", seen=seen, outcomes=outcomes)


def model_step(model, query, source, pieces):
    # Modules are called, since only those name their calls.
    model.cross(query, source, source)
    model.own(query, pieces, pieces)


def joined_and_saved(seen, tmp_path):
    seen.joined().save(tmp_path / "joined.safetensors")
    return load_record(tmp_path / "joined.safetensors")


def loaded(record, tmp_path):
    save_record(record, tmp_path / "steps.safetensors")
    return Seen.load(tmp_path / "steps.safetensors")


def test_steps_tell_the_same_story_as_one_call(record, tmp_path):
    seen = loaded(record, tmp_path)
    found = joined_and_saved(seen, tmp_path)
    assert [len(found.seen), len(seen)] == [2, 8]
    assert (found.items, found.queries, found.model, found.noun) == (ITEMS, PIECES, "mine", "word")
    (layer,) = found.layers
    assert (layer.name, layer.along, len(layer.calls)) == ("source", "head", 1)
    torch.testing.assert_close(layer.weights(), record.layers[0].weights())
    assert found.outcomes == record.outcomes
    before, after = story_of(record, query=3), story_of(found, query=3)
    assert after.sentence == before.sentence
    assert after.weights == pytest.approx(before.weights)
    assert all("isn't kept" not in note for call in found.seen for note in call.notes)
    # What was joined wasn't changed.
    assert seen.about["layers"][0]["calls"] == [0, 2, 4, 6]


def test_calls_that_stay_get_their_new_numbers(record, tmp_path):
    seen = loaded(record, tmp_path)
    alone = watched_once()
    seen.layers.insert(0, alone)
    seen.about["layers"] = [{**seen.about["layers"][0], "calls": [1, 3, 5, 7]}]
    seen.about["pooling"] = {"name": "pooling", "calls": [0], "along": "head", "item": 0, "queries": None, "keys": None}
    found = joined_and_saved(seen, tmp_path)
    assert torch.equal(found.pooling.weights(), alone.weights()[0])
    torch.testing.assert_close(found.layers[0].weights(), record.layers[0].weights())


def watched_once():
    torch.manual_seed(1)
    model = Attending()
    with watch(model) as seen:
        model(torch.randn(1, 2, 1, 4), *[torch.randn(1, 2, 3, 4)] * 2)
    return seen[0]


@pytest.mark.parametrize("calls", [[0], [0, 2], [0, 2, 4], [6, 4, 2, 0], [0, 2, 4, 6, 1], [99], "?", [-2]])
def test_a_layer_of_other_calls_is_left_out_and_named(record, calls, tmp_path):
    seen = loaded(record, tmp_path)
    first = seen.about["layers"][0]
    seen.about["layers"] = [{**first, "name": "some", "calls": calls}, first]
    seen.about["outcomes"]["removed"] *= 2
    seen.about["pooling"] = {**first, "calls": [2]}
    joined = seen.joined()
    assert [layer["name"] for layer in joined.about["layers"]] == ["source"]
    assert len(joined.about["outcomes"]["removed"]) == 1
    assert joined.about["pooling"] is None
    said = " ".join(joined[0].notes)
    assert "Some isn't kept: " in said
    assert "The pooling isn't kept: its calls aren't one joined call." in said
    found = joined_and_saved(seen, tmp_path)
    torch.testing.assert_close(found.layers[0].weights(), record.layers[0].weights())


def test_steps_with_padding_between_them_are_left_out(record, tmp_path):
    seen = loaded(record, tmp_path)
    seen.about["layers"][0]["queries"] = 0
    joined = seen.joined()
    assert joined.about["layers"] == []
    assert "Source isn't kept: its steps have padding between them." in joined[0].notes


def test_heads_beside_each_other_are_no_steps(record, tmp_path):
    seen = loaded(record, tmp_path)
    seen.about["layers"][0]["along"] = "head"
    joined = seen.joined()
    assert joined.about["layers"] == []
    assert "Source isn't kept: its calls are no steps of each other." in joined[0].notes


def test_what_names_no_calls_is_kept_as_it_is():
    about = {"text": "mine"}
    assert Seen([watched_once()], about=about).joined().about == about
    assert Seen([], "nothing").joined().about is None


def test_outcomes_of_heads_go_with_their_layers_of_each_kind(record):
    calls = list(record.seen)
    steps = [number for number, call in enumerate(calls) if call.name == "cross"]
    whole = {"name": "source", "calls": steps, "along": "query", "queries": None, "keys": None}
    first = {**whole, "name": "first", "calls": steps[:1], "along": "head"}
    about = {"encoder": [first, whole], "decoder": [first], "layers": [whole], "outcomes": {"removed": [*"abcd"]}}
    found, said = joined_about(about, calls, [steps])
    assert [[layer["name"] for layer in found[kind]] for kind in ("encoder", "decoder", "layers")] == [
        ["source"],
        [],
        ["source"],
    ]
    assert found["outcomes"]["removed"] == ["b", "d"]
    assert [each.split(":")[0] for each in said] == ["First isn't kept"] * 2
