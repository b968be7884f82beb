"""One `Prediction` for every kind of model: its value, its JSON, its rows and its text."""

import json
from pathlib import Path

import pytest
import torch

from regard.inputs import Sound, WordFeatures
from regard.tasks import GeneratedText, Prediction, SynthesizedSpeech, TaggedWord, load
from regard.tasks.sources import Words
from regard.tasks.tagger.model import NumberedItem
from tasks.toys import untrained

WORDS = Words(features=WordFeatures(minimum_count=1))
TEXTS = ["a warm film", "good"]
SOUND = Sound(torch.zeros(1, 4000), 8000)
LABEL, TEXT = ("label", "score"), ("text", "score", "ended")
# The value and the columns; then the fields of JSON, the cells of a table and the text for people.
KINDS = {
    "label": (("good", 0.87654321), LABEL, {"label": "good", "score": 0.876543}, None, "            good     88%  a b"),
    "number": (1.5, ("number",), {"number": 1.5}, None, "      1.5000  a b"),
    "several": ({"x": 0.25, "y": 1.0}, ("x", "y"), {"x": 0.25, "y": 1.0}, None, "a b\n     25%  x\n    >99%  y"),
    "items": (
        [TaggedWord("a", "DET", 0.5), TaggedWord("b", "X", 0.25)],
        ("text", *LABEL),
        {"items": [{"text": "a", "label": "DET", "score": 0.5}, {"text": "b", "label": "X", "score": 0.25}]},
        [{"text": "a", "label": "DET", "score": 0.5}, {"text": "b", "label": "X", "score": 0.25}],
        "a/DET b/X",
    ),
    "items with blanks": (
        [NumberedItem("Cy Do", 0.123456)],
        ("text", "number"),
        {"items": [{"text": "Cy Do", "number": 0.123456}]},
        [{"text": "Cy Do", "number": 0.123456}],
        "Cy Do\t0.1235",
    ),
    "no items": ([], ("text", *LABEL), {"items": []}, [{}], "                 nothing  a b"),
    "text": (GeneratedText("so", -0.5, True), TEXT, {"text": "so", "score": -0.5, "ended": True}, None, "so"),
    "cut text": (
        GeneratedText("so", -0.5, False),
        TEXT,
        {"text": "so", "score": -0.5, "ended": False},
        None,
        "so ... (cut: it had not ended at the longest that is allowed)",
    ),
    "sound": (
        SynthesizedSpeech(SOUND, True, (0.0, 0.25)),
        ("seconds", "ended", "begins"),
        {"seconds": 0.5, "ended": True, "begins": [0.0, 0.25]},
        None,
        "      0.50 s  a b",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_value_has_its_json_its_rows_and_its_text(kind):
    value, columns, fields, rows, text = KINDS[kind]
    found = Prediction("a b", value, columns, columns[:1])
    assert found.to_json() == {"source": "a b", **fields}
    json.dumps(found.to_json())
    assert found.rows == [{"source": "a b", **row} for row in rows or [fields]]
    assert all(set(row) <= {"source", *columns} for row in found.rows)
    assert str(found) == text


def test_where_there_is_nothing_the_missing_columns_are_null():
    empty = Prediction("", None, LABEL, ("label",))
    assert (empty.to_json(), str(empty)) == ({"source": "", "label": None}, f"{'nothing':>24}  ")
    assert empty.rows == [{"source": "", "label": None}]
    # Lines of generated texts must stay beside those of their sources.
    assert str(Prediction("", None, TEXT, ("text",))) == ""


@pytest.mark.parametrize(
    ("source", "plain"),
    [("a b", "a b"), (Path("a.wav"), "a.wav"), (("a", "b"), ["a", "b"]), (torch.eye(2), None), (SOUND, None)],
)
def test_a_source_is_plain_where_it_is_text(source, plain):
    found = Prediction(source, 1.5, ("number",))
    assert found.source is source
    assert found.to_json()["source"] == plain
    assert "1.5000" in str(found)


def test_characters_that_cannot_be_seen_are_shown():
    assert "\x1b" not in str(Prediction("a\x1b", ("b\x1b", 0.5), LABEL))


@pytest.mark.parametrize(
    ("targets", "task"),
    [
        (None, {"kind": "classifier"}),
        ([0.5, 1.5], {"kind": "classifier"}),
        ([(1, 0), (0, 1)], {"kind": "classifier"}),
        (None, {"kind": "tagger"}),
    ],
)
def test_predict_wraps_what_the_model_s_own_method_returns(targets, task):
    model = untrained(WORDS, TEXTS, *([] if targets is None else [targets]), task=task)
    found = model.predict(["a warm film", ["good"], ""])
    own = getattr(model, model.task.verb)([["a", "warm", "film"], ["good"], []])
    assert [each.value for each in found] == own
    assert [each.source for each in found] == ["a warm film", ["good"], ""]
    assert {each.columns for each in found} == {model.columns}
    for each in found:
        assert set(each.rows[0]) <= {"source", *model.columns}
    assert found[1].to_json()["source"] == ["good"]


def test_a_model_that_writes_and_one_that_speaks_predict_alike():
    written, nothing = load("letters-to-phonemes").predict(["read", ""])
    assert list(written.to_json()) == ["source", "text", "score", "ended"]
    assert nothing.to_json() == {"source": "", "text": None}
    pytest.importorskip("librosa")
    said, silence = load("synthesis").predict(["theo 7", ""])
    assert said.to_json()["seconds"] == said.value.sound.seconds > 0
    assert len(said.to_json()["begins"]) == 2
    assert silence.to_json() == {"source": "", "seconds": None}
