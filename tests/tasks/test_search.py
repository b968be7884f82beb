"""The search for a network before training."""

import dataclasses
import json
import math

import pytest
from toys import SAWS, tiny

from regard import train
from regard.tasks import Experiment, Recipe, Splits
from regard.tasks.defaults import candidate_recipes, default_recipe
from regard.tasks.registry import TASKS
from regard.tasks.training.search import plan_rounds, search

PAIRS = [([f"word{number}", "saw"], ["X", "Y"]) for number in range(60)]
THREE = {"default": Recipe(), "one": Recipe(layers=1), "three": Recipe(layers=3)}


def chosen(losses, pairs=PAIRS, candidates=THREE):
    """What is chosen if each candidate loses so much in each round, and what was tried."""
    tried, left = [], {name: iter(each) for name, each in losses.items()}

    def loss_of(name, recipe, train, judged):
        tried.append((name, recipe, train, judged))
        return next(left[name])

    plan = plan_rounds(Recipe(epochs=40), len(candidates), len(pairs), 2.0)
    return search(candidates, plan, pairs, loss_of), tried


class TestTheRule:
    def test_a_candidate_that_is_better_in_both_rounds_takes_the_place_of_the_default(self):
        found, tried = chosen({"default": [2, 2], "one": [3], "three": [1, 1]})
        assert (found.chosen, found.recipe.layers) == ("three", 3)
        assert [name for name, *_ in tried] == ["default", "one", "three", "default", "three"]

    @pytest.mark.parametrize(
        "losses",
        [
            {"default": [2, 1], "one": [1, 2], "three": [3]},
            {"default": [1], "one": [2], "three": [3]},
            {"default": [1], "one": [1], "three": [1]},
            {"default": [1], "one": [math.inf], "three": [math.nan]},
            {"default": [2, 1], "one": [1, 1], "three": [2]},
        ],
        ids=["once better", "worse", "equal", "not finite", "equal in the second round"],
    )
    def test_the_default_stays_otherwise(self, losses):
        found, tried = chosen(losses)
        assert (found.chosen, found.recipe) == ("default", THREE["default"])
        # No second round where nothing could win it.
        assert len(tried) == sum(map(len, losses.values()))

    def test_a_default_that_diverges_is_left(self):
        assert chosen({"default": [math.nan, math.nan], "one": [2, 2], "three": [3]})[0].chosen == "one"

    def test_each_round_judges_on_examples_that_it_isnt_trained_on_and_that_the_other_judged_not(self):
        _, tried = chosen({"default": [2, 2], "one": [3], "three": [1, 1]})
        sources = [
            ({word for (word, _), _ in train}, {word for (word, _), _ in judged}) for _, _, train, judged in tried
        ]
        assert all(train and judged and not train & judged for train, judged in sources)
        assert not sources[0][1] & sources[-1][1]

    def test_candidates_of_a_round_have_the_same_examples_and_epochs(self):
        _, tried = chosen({"default": [2, 2], "one": [3], "three": [1, 1]})
        first = tried[:3]
        assert len({(recipe.epochs, recipe.batch_items, recipe.best_by) for _, recipe, *_ in first}) == 1
        assert all(train == first[0][2] and judged == first[0][3] for _, _, train, judged in first)

    def test_the_recipe_that_is_chosen_keeps_its_own_epochs(self):
        assert chosen({"default": [2, 2], "one": [3], "three": [1, 1]})[0].recipe == THREE["three"]


class TestThePlan:
    @pytest.mark.parametrize("count", [40, 100, 1000, 30_000, 1_000_000])
    @pytest.mark.parametrize("length", [1.0, 20.0, 400.0])
    @pytest.mark.parametrize("epochs", [1, 14, 100])
    def test_it_keeps_to_a_minute_or_a_tenth_of_the_training(self, count, length, epochs):
        recipe = Recipe(epochs=epochs)
        plan = plan_rounds(recipe, 4, count, length)
        whole = epochs * count * length * (1e-4 + 0.02 / recipe.batch_items)
        assert sum(each.seconds for each in plan) <= max(60.0, 0.11 * whole + 0.1)
        for each in plan:
            assert 20 <= each.examples <= 0.75 * count
            assert min(3, epochs) <= each.epochs <= epochs

    def test_there_is_none_for_one_network_few_examples_or_such_as_take_too_long(self):
        assert not plan_rounds(Recipe(), 1, 1000, 10.0)
        assert not plan_rounds(Recipe(), 4, 39, 10.0)
        assert plan_rounds(Recipe(), 4, 40, 10.0)
        assert not plan_rounds(Recipe(), 4, 40, 100_000.0)


BLIND = tiny(network="connected", epochs=16, batch_items=100, learning_rate=0.03, dropout=0.0)
"""A tagger that sees no neighbours, which a candidate does."""


@pytest.fixture
def seeing(monkeypatch):
    monkeypatch.setattr(type(TASKS["tagger"]), "candidates", lambda self, recipe: {"seeing": {"network": "attention"}})
    # Equal sentences would be in one fold.
    return [([*words, f"{place}"], [*labels, "NUM"]) for place, (words, labels) in enumerate(SAWS * 9)]


class TestTraining:
    @pytest.mark.slow
    def test_the_network_that_sees_more_is_chosen_and_stands_in_the_card(self, seeing, tmp_path):
        trained = Experiment(BLIND, Splits(seeing, seeing[:8]), tmp_path / "run").run(
            search=True, baseline=False, progress="none"
        )
        model = trained.model
        assert (model.recipe.network, model.recipe.epochs) == ("attention", 16)
        record = model.about["training"]["search"]
        assert record["chosen"] == "seeing"
        assert [sorted(each["loss"]) for each in record["rounds"]] == [
            ["default", "seeing"],
            ["default", "seeing"],
        ]
        card = (trained.folder / "README.md").read_text(encoding="utf-8")
        assert "chosen on parts of the training examples" in card
        assert "seeing" in card

    def test_dev_has_no_part_in_it(self, seeing):
        recipe = dataclasses.replace(BLIND, epochs=2)
        by_dev = [train(seeing, dev, recipe=recipe, search=True, progress="none") for dev in ([seeing[0]], SAWS)]
        one, other = (model.about["training"]["search"] for model in by_dev)
        assert one == other

    def test_a_recipe_of_ones_own_is_trained_as_it_is(self, seeing):
        model = train(seeing, seeing[:8], recipe=dataclasses.replace(BLIND, epochs=1), progress="none")
        assert model.recipe.network == "connected"
        assert "search" not in model.about["training"]

    def test_it_says_what_it_tries_and_what_it_takes(self, seeing, capsys):
        recipe = dataclasses.replace(BLIND, epochs=3)
        train(seeing, seeing[:8], recipe=recipe, search=True, progress="lines")
        said = capsys.readouterr().err
        assert "Networks to choose from: default, seeing." in said
        assert "--no-search (from Python, search=False) takes the default." in said
        assert "The network: " in said

    def test_it_says_that_the_network_it_takes_has_no_attention(self, seeing, monkeypatch, capsys):
        blind = dataclasses.replace(BLIND, network="attention", learning_rate=1e-9, epochs=3)
        beside = {"convolution": {"network": "convolution", "learning_rate": 0.03}}
        monkeypatch.setattr(type(TASKS["tagger"]), "candidates", lambda _, recipe: beside)
        train(seeing, seeing[:8], recipe=blind, search=True, progress="lines")
        assert "The network: convolution, which has no attention to show. --no-search" in capsys.readouterr().err

    def test_beside_a_linear_part_a_default_tagger_has_no_candidate(self):
        assert list(candidate_recipes(default_recipe(PAIRS))) == ["default"]
        assert len(candidate_recipes(Recipe())) == 2

    def test_a_resumed_run_keeps_its_network_and_its_record(self, seeing, tmp_path, monkeypatch):
        recipe, out = dataclasses.replace(BLIND, epochs=4), tmp_path / "run"
        whole = train(seeing, seeing[:8], recipe=recipe, search=True, out=out, progress="none")
        (out / "model").rename(tmp_path / "away")

        def never(*_):
            raise AssertionError("a resumed run searched again")

        monkeypatch.setattr("regard.tasks.training.choices.search", never)
        again = train(seeing, seeing[:8], recipe=recipe, search=True, out=out, resume=True, progress="none")
        assert again.recipe == whole.recipe
        assert again.about["training"]["search"] == whole.about["training"]["search"]
        assert json.loads((out / "run.json").read_text())["search"]["chosen"] in ("default", "seeing")

    @pytest.mark.slow
    def test_candidates_are_tried_without_auxiliary_targets_and_trained_with_them(self, seeing):
        task = dataclasses.replace(BLIND.task, auxiliary={"again": 0.5})
        beside = {"again": [labels for _, labels in seeing]}
        recipe = dataclasses.replace(BLIND, task=task)
        model = train(seeing, seeing[:8], recipe=recipe, search=True, auxiliary=beside, progress="none")
        assert model.about["training"]["search"]["chosen"] == "seeing"
        assert (model.recipe.network, dict(model.recipe.task.auxiliary)) == ("attention", {"again": 0.5})


@pytest.mark.parametrize("task", ["tagger", "classifier", "seq2seq"])
def test_the_candidates_of_a_default_recipe_are_recipes_of_the_same_task_and_source(task):
    examples = {
        "tagger": SAWS,
        "classifier": [("a good film", "yes"), ("a bad film", "no")] * 4,
        "seq2seq": [("hi", "salut"), ("yes", "oui"), ("no", "non"), ("one", "un")],
    }
    recipe = default_recipe(examples[task], task=task)
    candidates = candidate_recipes(recipe)
    assert next(iter(candidates.values())) == recipe
    assert len(candidates) <= 5
    for each in candidates.values():
        assert (each.task.kind, each.input.kind, each.epochs) == (task, recipe.input.kind, recipe.epochs)
