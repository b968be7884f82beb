"""An experiment gives the model of `train`, judges it once, and never loses it."""

import dataclasses
import json
import shutil

import pytest
import torch

from regard import load, train
from regard.errors import ArgumentError, UnknownNameError
from regard.tasks import TASKS, Experiment, Recipe, Splits, experiment, read_splits
from tasks.toys import BY_HEART, SAWS, tiny

SHORT = {**BY_HEART, "epochs": 3}
HELD = Splits(SAWS, SAWS[:2], SAWS[2:4], about={"name": "saws"}, name="saws.conllu", title="saws: UPOS")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """An experiment that read test, and its folder."""
    out = tmp_path_factory.mktemp("experiment") / "out"
    return Experiment(tiny(**SHORT), HELD, out).run(final=True, progress="none"), out


def test_the_model_is_that_of_train_to_the_bit(done):
    trained, _ = done
    alone = train(SAWS, SAWS[:2], recipe=tiny(**SHORT), progress="none")
    own, other = trained.model.network.state_dict(), alone.network.state_dict()
    assert all(torch.equal(own[name], other[name]) for name in other)
    for split, examples in (("dev", SAWS[:2]), ("test", SAWS[2:4])):
        expected = dataclasses.replace(alone.evaluate(examples), seconds=None)
        assert dataclasses.replace(trained.evaluations[split], seconds=None) == expected


def test_the_card_tells_the_scores_and_the_warnings(done):
    trained, out = done
    assert trained.folder == out / "model"
    about = load(out).about
    assert about == json.loads(json.dumps(trained.model.about))
    assert (about["title"], about["example"], about["test_reads"]) == ("Tagger of saws: UPOS", SAWS[0][0], 1)
    assert {name: score["score"] for name, score in about["scores"].items()} == {
        name: score.score for name, score in trained.evaluations.items()
    }
    assert about["data"] == {"name": "saws", "splits": about["data"]["splits"]}
    assert about["warnings"] == [*trained.warnings]
    assert any("It was trained on 20 items" in said for said in trained.warnings)
    assert [row["epoch"] for row in trained.log] == [1, 2, 3]
    card = (out / "model" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# Tagger of saws: UPOS")
    assert "Test was read once" in card


def test_each_reading_of_test_counts_and_its_score_stays(done, tmp_path):
    out = shutil.copytree(done[1], tmp_path / "out")
    begun = Experiment(tiny(**SHORT), HELD, out)
    for final, reads in ((False, 1), (True, 2)):
        again = begun.run(resume=True, final=final, progress="none")
        assert set(again.evaluations) == ({"dev", "test"} if final else {"dev"})
        assert load(out).about["test_reads"] == reads
        assert set(load(out).about["scores"]) == {"dev", "test"}


def test_without_a_folder_nothing_is_written_and_no_warning_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = []
    real = experiment.model_warnings
    monkeypatch.setattr(experiment, "model_warnings", lambda *given: asked.append(given) or real(*given))
    trained = Experiment(tiny(**SHORT), dataclasses.replace(HELD, title="")).run(progress="none")
    assert (asked, trained.folder, trained.log, [*tmp_path.iterdir()]) == ([], None, (), [])
    assert set(trained.evaluations) == {"dev"}
    assert "title" not in trained.model.about
    assert trained.warnings == trained.warnings != ()
    assert len(asked) == 1


def test_final_needs_a_test_before_anything_is_trained(tmp_path):
    splits = dataclasses.replace(HELD, test=())
    with pytest.raises(ArgumentError, match=r"`final` needs examples for test, but saws\.conllu has none"):
        Experiment(tiny(**SHORT), splits, tmp_path / "out").run(final=True, progress="none")
    assert not (tmp_path / "out").exists()


def test_an_error_while_warnings_are_looked_for_does_not_lose_the_model(tmp_path, monkeypatch):
    def failing(*given):
        raise RuntimeError("no warnings today")

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(experiment, "model_warnings", failing)
        with pytest.raises(RuntimeError, match="no warnings today"):
            Experiment(tiny(**SHORT), HELD, out).run(final=True, progress="none")
    about = load(out).about
    assert (set(about["scores"]), about["test_reads"], "warnings" in about) == ({"dev", "test"}, 1, False)
    again = Experiment(tiny(**SHORT), HELD, out).run(resume=True, progress="none")
    assert load(out).about["warnings"] == [*again.warnings]


def test_only_the_first_of_several_processes_judges_and_saves(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "is_first", lambda: False)
    trained = Experiment(tiny(**SHORT), HELD, tmp_path / "out").run(progress="none")
    assert (trained.evaluations, trained.folder) == ({}, None)
    assert "scores" not in load(tmp_path / "out").about


def test_dev_is_taken_from_train_with_its_auxiliary_targets():
    pairs = [(f"text {number}", "odd" if number % 2 else "even") for number in range(40)]
    held = Splits(pairs, auxiliary={"number": list(range(40))}).with_dev()
    assert 0 < len(held.dev) < len(held.train)
    assert sorted([*held.train, *held.dev]) == sorted(pairs)
    assert [pairs[number] for number in held.auxiliary["number"]] == held.train
    assert held.with_dev() is held
    recipe = Recipe(task="classifier", width=8, heads=2, hidden=8, layers=1, epochs=1)
    trained = Experiment(recipe, Splits(pairs)).run(progress="none")
    assert trained.splits.dev == held.dev
    assert trained.evaluations["dev"].examples == len(held.dev)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "words.csv"
    rows = [f"word {number},{'odd' if number % 2 else 'even'}" for number in range(60)]
    path.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    return path


def test_splits_of_a_file_are_all_of_it(table):
    splits = read_splits(table, "classifier", names={"odd": "strange"})
    every = [*splits.train, *splits.dev, *splits.test]
    assert len(every) == len({each.source for each in every}) == 60
    assert {each.target for each in every} == {"even", "strange"}
    assert (splits.name, splits.title) == (str(table), "words.csv")
    assert splits.about == {
        "name": "words.csv",
        "label": "",
        "renamed": {"odd": "strange"},
        "made": ["train", "dev", "test"],
    }
    assert json.loads(json.dumps(splits.about)) == splits.about


LABELLED = [f"task={name!r}" for name, task in TASKS.items() if task.accepts(("label", "text"))]


@pytest.mark.parametrize(
    ("task", "error", "said"),
    [
        ("synthesis", ArgumentError, f"has one label or a text. Take {', or '.join(LABELLED)}."),
        ("tagger", ArgumentError, "is a table, with one target for each source. Take task='classifier', or"),
        ("clasifier", UnknownNameError, f"`task` must be one of {', '.join(TASKS)}"),
    ],
)
def test_a_task_that_does_not_suit_is_refused_in_the_words_of_python(table, task, error, said):
    with pytest.raises(error) as caught:
        read_splits(table, task)
    assert said in str(caught.value)


def test_examples_that_are_no_splits_are_refused():
    with pytest.raises(
        ArgumentError, match=r"`splits` must be Splits, but is a list\. Make them .* Splits\(train, dev\)"
    ):
        Experiment(Recipe(), [("good", "yes")])


def test_a_predicted_number_has_the_name_of_its_column():
    pairs = [("a small house", 1.0), ("a big house", 2.0), ("a house", 1.5)]
    recipe = Recipe(task="classifier", input="words", width=8, heads=2, hidden=8, layers=1, epochs=1)
    about = {"name": "houses.csv", "columns": {"number": "price, in euros", "text": "advertisement"}}
    named = Experiment(recipe, Splits(pairs, pairs, about=about)).run(baseline=False, progress="none").model
    assert named.target.subject == "price, in euros"
    assert named.target.named("another").subject == "price, in euros"
    unnamed = Experiment(recipe, Splits(pairs, pairs)).run(baseline=False, progress="none").model
    assert unnamed.target.subject == ""
