"""The error of a model stands beside the numbers that it predicts: in its record, in files and in the sentence."""

import pytest

import regard
from regard.inspection import Outcome, Outcomes, Place, load_record, save_record, story_of

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


def test_of_labels_there_is_none():
    assert regard.load("english-pos").see("I saw a saw .", effects=False).outcomes.error is None
