"""The warnings that were given of an input stay with its record: in its file, its story, a comparison, a notebook."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import regard
from regard.errors import DataError, OutOfDistribution
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record, comparison, load_record, save_record, story
from regard.inspection.views.notebook import in_notebook
from regard.page import Prose, as_text

STRANGE = "qwfp zxcv asdf"
LAYER = " (layer 1 of 1, head 1 of 1)"
WARNED = ("'qwfp' is unlike all others.", "and it is long.")


def record_of(*warned, measured=True):
    layer = LayerRecord.of_weights("layer 1", torch.tensor([[[0.75, 0.25], [0.25, 0.75]]]), "softmax")
    places = (Place("a", 0, "DET", 0.75), Place("saw", 1, "NOUN", 0.75))
    hidden = tuple(tuple(Outcome(each.label, 0.75, 0.0) for each in places) for _ in places) if measured else ()
    outcomes = Outcomes("labels", "item", places, hidden)
    names, scores = ("DET", "NOUN"), (0.75, 0.75)
    return Record(("a", "saw"), names, scores, (layer,), "toy", noun="word", outcomes=outcomes, warnings=warned)


def paragraphs(page):
    return [block.text for block in page.blocks if isinstance(block, Prose)]


@pytest.mark.parametrize(
    ("name", "usual", "source"),
    [
        ("english-sentiment", "a warm film", STRANGE),
        ("english-pos", "I saw a saw .", "Привет мир"),
        ("german-english", "ein Mann .", "ein 漢 ."),
    ],
)
def test_a_record_has_what_its_model_warned_of(name, usual, source):
    model = regard.load(name)
    assert model.see(usual, effects=False).warnings == ()
    with pytest.warns(OutOfDistribution) as told:
        record = model.see(source, effects=False)
    assert record.warnings
    assert list(record.warnings) == [str(each.message) for each in told]
    # Of several sources each record has its own.
    with pytest.warns(OutOfDistribution):
        assert [each.warnings for each in model.look([source, usual, source])] == [record.warnings, (), record.warnings]


def test_a_file_keeps_them(tmp_path):
    save_record(record_of(*WARNED), tmp_path / "record.safetensors")
    assert load_record(tmp_path / "record.safetensors").warnings == WARNED


def edited(path, change):
    """Change what the file of a record says that it is about."""
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    (name,) = [key for key, text in metadata.items() if '"warnings"' in text]
    header = json.loads(metadata[name])
    change(header["about"])
    save_file(load_file(path), path, metadata | {name: json.dumps(header)})


def test_an_older_file_has_none(tmp_path):
    save_record(record_of(*WARNED), tmp_path / "record.safetensors")
    edited(tmp_path / "record.safetensors", lambda about: about.pop("warnings"))
    assert load_record(tmp_path / "record.safetensors").warnings == ()


@pytest.mark.parametrize("damaged", ["text", [3], None, {}])
def test_a_damaged_one_is_refused(tmp_path, damaged):
    save_record(record_of(*WARNED), tmp_path / "record.safetensors")
    edited(tmp_path / "record.safetensors", lambda about: about.update(warnings=damaged))
    with pytest.raises(DataError, match="`warnings`"):
        load_record(tmp_path / "record.safetensors")


def test_the_story_tells_them_above_its_sentence():
    told = paragraphs(story(record_of(*WARNED)))
    assert told[:2] == [f"Warning: {each}" for each in WARNED]
    assert told[2].startswith('"a" is DET')
    assert not [each for each in paragraphs(story(record_of())) if "Warning" in each]
    # Words of an input don't control a terminal.
    assert "\x1b" not in as_text(story(record_of("\x1b[31mred")))


def test_in_a_comparison_each_side_has_its_own():
    told = paragraphs(comparison(record_of(WARNED[0]), record_of(WARNED[1]), ("one", "other")))
    assert told[:4] == [f"A: one{LAYER}", f"Warning: {WARNED[0]}", f"B: other{LAYER}", f"Warning: {WARNED[1]}"]


@pytest.mark.parametrize("outcomes", [True, False])
def test_a_notebook_shows_them(outcomes):
    record = record_of(*WARNED) if outcomes else replace(record_of(*WARNED), outcomes=None)
    found = in_notebook(record)
    for each in WARNED:
        assert f"Warning: {each}" in found["text/plain"]
        assert each.split("'")[-1] in found["text/html"]


def test_hiding_is_defined_where_something_was_hidden():
    for page in (story(record_of()), comparison(record_of(), record_of())):
        assert sum("by setting the attention weights on it to 0" in each for each in paragraphs(page)) == 1
    for page in (
        story(record_of(measured=False)),
        comparison(record_of(measured=False), record_of(measured=False)),
    ):
        assert not any("isn't deleted" in each for each in paragraphs(page))
