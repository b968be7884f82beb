"""The error of a model stands beside the numbers that it predicts: in its record, in files and in the sentence."""

import re
from dataclasses import replace

import pytest
import torch

import regard
from regard.cli.answering.showing import facts_as_json
from regard.inspection import (
    LayerRecord,
    Outcome,
    Outcomes,
    Place,
    Record,
    answer_page,
    comparison,
    load_record,
    save_record,
    story,
    story_of,
)
from regard.page import as_text

PLACES = (Place("the whole", None, "-1.5", None),)


def outcomes(error=0.5):
    return Outcomes("numbers", "item", PLACES, ((Outcome("-1.25", None, 0.25),),), error=error)


@pytest.mark.parametrize("error", [None, 0.0, 0.5])
def test_what_is_saved_is_read(error):
    assert Outcomes.from_json(outcomes(error).to_json()) == outcomes(error)


def test_older_files_do_not_tell_it():
    saved = outcomes().to_json()
    del saved["error"]
    assert Outcomes.from_json(saved) == outcomes(None)


@pytest.mark.parametrize("damaged", ["0.5", [0.5], -1.0, float("inf"), float("nan"), True])
def test_a_damaged_one_is_refused(damaged):
    with pytest.raises(ValueError, match="`error` must be a number from 0 or null"):
        Outcomes.from_json(outcomes().to_json() | {"error": damaged})


def test_that_of_a_bundled_model_is_what_its_card_says(tmp_path):
    pytest.importorskip("rdkit", reason="comes with the extra molecules")
    model = regard.load("solubility")
    record = model.see("CCO")
    assert record.outcomes.error == model.about["scores"]["test"]["score"]
    save_record(record, tmp_path / "record.safetensors")
    told = story_of(load_record(tmp_path / "record.safetensors"))
    assert told.sentence.startswith("log solubility (mol/l) is ")
    assert f"(RMSE of the model {record.outcomes.error:.2g})." in told.sentence


def test_without_a_test_it_is_that_of_dev_and_without_both_none():
    pytest.importorskip("rdkit", reason="comes with the extra molecules")
    model = regard.load("solubility")
    scores = model.about["scores"]
    model.about["scores"] = {"dev": scores["dev"]}
    assert model.see("C", effects=False).outcomes.error == scores["dev"]["score"]
    model.about["scores"] = {}
    assert model.see("C", effects=False).outcomes.error is None


def test_numbers_are_written_with_the_decimals_of_the_error():
    hidden = tuple((Outcome(f"{-5.226 + change:#.4g}", None, change),) for change in (-0.0741, -0.0007))
    layer = LayerRecord.of_weights("layer 1", torch.full((1, 2, 2), 0.5))
    places = (Place("the whole", None, "-5.226", None),)
    made = [Outcomes("numbers", "item", places, hidden, (hidden[:1],), error=each) for each in (0.8145, None)]
    fine, coarse = (Record(("C1", "O2"), layers=(layer,), noun="atom", outcomes=each) for each in made)
    text = as_text(story(fine))
    numbers = re.findall(r"-?\d+\.\d\d+", text.partition("Checked")[0])
    assert numbers == [
        *("-5.23", "-5.23", "0.81", "-5.23", "-5.30"),
        *("-0.07", "-5.30", "-5.23", "-0.07", "-5.30"),
    ]
    assert "unchanged" in text
    assert "-5.226" in as_text(story(coarse))
    assert facts_as_json(fine, story_of(fine))["answer"]["label"] == "-5.226"
    assert as_text(answer_page(replace(fine, answer=-5.2264))).split() == ["answer", "-5.23"]
    # A comparison has the decimals of each side.
    both = as_text(comparison(fine, coarse))
    assert "A gives -5.23, B gives -5.226" in both
    assert "-0.07 -5.30" in both
    assert "-0.074 -5.3" in both


def test_of_labels_there_is_none():
    assert regard.load("english-pos").see("I saw a saw .", effects=False).outcomes.error is None
