"""The linear part of a classifier of texts, and the cross-validation that says how long to train beside it."""

import dataclasses
import math
import random

import numpy as np
import pytest
import torch

from regard import Recipe, load, train
from regard.errors import ArgumentError
from regard.inputs import Batch
from regard.inputs.text.hashed_ngrams import WORD_COLUMNS, hashed_ngrams
from regard.tasks import default_recipe
from regard.tasks.classifier.data import ClassifierData
from regard.tasks.folds import folds_of
from regard.tasks.judging.measure import ACCURACY, Measure
from regard.tasks.linear_ngrams import LinearNgrams
from regard.tasks.targets import Label, MultiLabel, Regression
from regard.tasks.training.cross_validation import choose_epoch, earliest_good, needs_cross_validation
from regard.tasks.training.objective import DevScore
from regard.tasks.training.state import is_over, next_row

ROWS = 4096
WORDS = ["good", "fine", "poor", "dull", "plot", "film", "the", "a", "cast"]


def texts_with_labels(count, seed=0):
    """Texts of random words; yes if there are more of the first two than of the next two."""
    drawn = random.Random(seed)
    texts = [drawn.choices(WORDS, k=drawn.randint(3, 9)) for _ in range(count)]
    scores = [sum((word in WORDS[:2]) - (word in WORDS[2:4]) for word in text) for text in texts]
    return texts, ["yes" if score > 0 else "no" for score in scores], scores


def batch_of(texts, rows=ROWS):
    lengths = torch.tensor([len(text) for text in texts])
    return Batch(torch.zeros(len(texts), int(lengths.max()), 1), lengths, ngrams=hashed_ngrams(texts, rows))


def fit(part, ids, target, wanted):
    """Fit with folds in turn."""
    return part.fit(ids, target, wanted, [place % 4 for place in range(len(wanted))])


def ids_of(texts, rows=ROWS):
    return [hashed_ngrams([text], rows)[0] for text in texts]


class TestHashedNgrams:
    def test_a_word_has_an_id_a_pair_and_its_characters(self):
        ids = hashed_ngrams([["to", "be"]], 1 << 30)[0]
        # " to ": 3 of two characters, 2 of three, 1 of four.
        assert [int((row > 0).sum()) for row in ids] == [1 + 6, 2 + 6]
        assert len({*ids.flatten().tolist()} - {0}) == 2 + 1 + 12

    def test_case_and_neighbours_after_it_change_nothing(self):
        one, other = hashed_ngrams([["To", "be"], ["to", "see"]], ROWS)
        assert torch.equal(one[0][one[0] > 0], other[0][other[0] > 0])
        assert one[1, 1] != other[1, 1]

    def test_a_script_without_spaces_has_short_ngrams(self):
        ids = hashed_ngrams([["很好看"]], 1 << 30, unspaced=True)[0]
        assert int((ids[:, WORD_COLUMNS:] > 0).sum()) == 3 + 2 + 1

    def test_ids_are_within_the_table_and_a_very_long_word_is_cut(self):
        ids = hashed_ngrams([["x" * 100_000], []], 16)
        assert ids.shape == (2, 1, WORD_COLUMNS + 60)
        assert int(ids.max()) < 16
        assert not ids[1].any()


class TestOutputs:
    def test_they_are_those_of_logistic_regression_on_tf_idf(self):
        """By scikit-learn's own tf-idf of words and pairs; characters are left out of both."""
        text = pytest.importorskip("sklearn.feature_extraction.text")
        linear = pytest.importorskip("sklearn.linear_model")
        texts, labels, _ = texts_with_labels(60)
        # Each word once in a text: repeated ones count in the norm once for each time.
        texts = [list(dict.fromkeys(each)) for each in texts]
        target = Label(("no", "yes"))
        ids = [
            torch.cat([each[:, :WORD_COLUMNS], torch.zeros(len(each), 1).long()], 1) for each in ids_of(texts, 1 << 20)
        ]
        part = LinearNgrams(1 << 20, 2)
        fit(part, ids, target, target.tensor(labels))
        vectorizer = text.TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 2))
        features = vectorizer.fit_transform([" ".join(each) for each in texts])
        expected = linear.LogisticRegression(C=10.0, max_iter=300).fit(features, labels).decision_function(features)
        found = part(dataclasses.replace(batch_of(texts, 1 << 20), ngrams=torch.nn.utils.rnn.pad_sequence(ids, True)))
        assert np.allclose((found[:, 1] - found[:, 0]).numpy(), expected, atol=2e-2)

    def test_what_it_says_of_a_text_it_was_not_fitted_to_is_the_same_by_the_model_of_the_others(self):
        """Held-out outputs: those of a part that is fitted to the other folds, computed by its own forward pass."""
        texts, labels, _ = texts_with_labels(41)
        target = Label(("no", "yes"))
        wanted, ids = target.tensor(labels), ids_of(texts)
        held_out = fit(LinearNgrams(ROWS, 2), ids, target, wanted)
        for fold in range(4):
            rest = [place for place in range(41) if place % 4 != fold]
            part = LinearNgrams(ROWS, 2)
            fit(part, [ids[place] for place in rest], target, wanted[rest])
            own = [place for place in range(41) if place % 4 == fold]
            assert torch.allclose(part(batch_of([texts[place] for place in own])), held_out[own], atol=1e-3)

    def test_padding_and_company_change_nothing(self):
        texts, labels, _ = texts_with_labels(30)
        part, target = LinearNgrams(ROWS, 2), Label(("no", "yes"))
        fit(part, ids_of(texts), target, target.tensor(labels))
        together = part(batch_of(texts))
        alone = torch.cat([part(batch_of([text])) for text in texts])
        assert torch.allclose(together, alone, atol=1e-5)

    def test_ngrams_that_no_text_had_add_nothing(self):
        texts, labels, _ = texts_with_labels(30)
        part, target = LinearNgrams(1 << 20, 2), Label(("no", "yes"))
        fit(part, ids_of(texts, 1 << 20), target, target.tensor(labels))
        (unknown,) = part(batch_of([["zyx"]], 1 << 20))
        assert torch.allclose(unknown, part.bias)

    def test_unknown_words_beside_a_known_one_take_nothing_from_it(self):
        texts, labels, _ = texts_with_labels(60)
        part, target = LinearNgrams(1 << 20, 2), Label(("no", "yes"))
        fit(part, ids_of(texts, 1 << 20), target, target.tensor(labels))
        one, with_unknown = part(batch_of([["good"], ["good", "zyx"]], 1 << 20))
        assert torch.allclose(one, with_unknown, atol=1e-5)

    def test_a_label_that_a_fold_lacks_and_unknown_targets(self):
        texts, labels, _ = texts_with_labels(20)
        target = Label(("maybe", "no", "yes"))
        labels[3], labels[7] = "maybe", None
        held_out = fit(LinearNgrams(ROWS, 3), ids_of(texts), target, target.tensor(labels))
        assert torch.isfinite(held_out).all()
        assert held_out[3].argmax() != 0

    def test_a_text_without_a_target_has_the_outputs_of_the_whole_model(self):
        texts, labels, _ = texts_with_labels(20)
        part, target = LinearNgrams(ROWS, 2), Label(("no", "yes"))
        labels[7] = None
        held_out = fit(part, ids_of(texts), target, target.tensor(labels))
        assert torch.allclose(held_out[7], part(batch_of(texts[7:8]))[0], atol=1e-3)

    def test_one_label_alone(self):
        part = LinearNgrams(ROWS, 1)
        fit(part, ids_of([["a"], ["b"]]), Label(("yes",)), torch.tensor([0, 0]))
        assert torch.isfinite(part(batch_of([["a"]]))).all()

    def test_several_questions_and_numbers(self):
        texts, labels, scores = texts_with_labels(200)
        questions = MultiLabel(("is it good?", "is it ever asked?"))
        rows = [(int(label == "yes"), None) for label in labels]
        part = LinearNgrams(ROWS, 2)
        fit(part, ids_of(texts), questions, questions.tensor(rows))
        assert questions.score(part(batch_of(texts)), questions.tensor(rows)) > 0.95
        number = Regression.fit([float(score) for score in scores])
        part = LinearNgrams(ROWS, 1)
        wanted = number.tensor([float(score) for score in scores])
        held_out = fit(part, ids_of(texts), number, wanted)
        assert float((held_out.flatten() - wanted.flatten()).square().mean()) < 0.3 * float(wanted.var())


RECIPE = Recipe(
    task={"kind": "classifier"},
    input={"linear": True, "linear_rows": ROWS, "features": {"minimum_count": 1}},
    width=8,
    heads=2,
    layers=1,
    epochs=2,
)


def pairs_of(count, seed=0):
    texts, labels, _ = texts_with_labels(count, seed)
    return [(" ".join(text), label) for text, label in zip(texts, labels, strict=True)]


class TestInAModel:
    def test_the_loss_of_a_network_that_has_learned_nothing_is_that_of_the_offsets(self):
        pairs = pairs_of(40)
        objective = ClassifierData(RECIPE, pairs, pairs[:9], None).objective()
        batch = objective.dataset.batch([*range(40)])
        assert batch.sources.ngrams is None  # training needs none
        expected = torch.nn.functional.cross_entropy(batch.offsets, batch.targets[0])
        assert float(expected) < 0.6
        assert math.isclose(objective.loss(batch).shown, float(expected), rel_tol=1e-5)

    def test_a_network_that_has_learned_nothing_says_what_the_part_says(self):
        pairs = pairs_of(60)
        recipe = dataclasses.replace(RECIPE, learning_rate=1e-12, epochs=1)
        model = train(pairs, pairs, recipe=recipe, progress="none")
        batch = model.encode([text for text, _ in pairs])
        assert torch.allclose(model.network(batch), model.network.linear(batch), atol=1e-4)
        assert model.evaluate(pairs).score > 0.9

    def test_it_is_saved_and_loaded(self, tmp_path):
        pairs = pairs_of(60)
        model = train(pairs, pairs, recipe=RECIPE, progress="none")
        again = load(model.save(tmp_path / "model"))
        texts = [text for text, _ in pairs]
        assert again.classify(texts) == model.classify(texts)
        assert float(again.network.linear.words.weight.abs().max()) > 0
        card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
        assert "beside it a linear model of n-grams, whose outputs are added" in card

    def test_training_leaves_it_as_it_was_fitted(self):
        pairs = pairs_of(60)
        few, many = (
            train(pairs, pairs, recipe=dataclasses.replace(RECIPE, epochs=epochs, patience=9), progress="none")
            for epochs in (1, 4)
        )
        assert torch.equal(few.network.linear.words.weight, many.network.linear.words.weight)

    def test_members_share_one(self):
        pairs = pairs_of(40)
        model = train(pairs, pairs, recipe=dataclasses.replace(RECIPE, members=2), progress="none")
        batch = model.encode(["good good film"])
        own = torch.stack([member(batch) for member in model.network.members]).mean(0)
        assert torch.allclose(model.network(batch), own + model.network.linear(batch))

    def test_hiding_a_word_hides_it_from_this_part(self):
        """A network that has learned nothing: without the word that says yes, the answer is less of a yes."""
        pairs = pairs_of(200)
        recipe = dataclasses.replace(RECIPE, learning_rate=1e-12, epochs=1)
        outcomes = train(pairs, pairs, recipe=recipe, progress="none").see("good plot", effects=True).outcomes
        (without_good,), (without_plot,) = outcomes.hidden
        assert outcomes.places[0].label == "yes"
        assert without_good.change < -0.3 < without_plot.change

    def test_the_default_recipe_has_one_for_texts(self, monkeypatch):
        recipe = default_recipe(pairs_of(100))
        assert recipe.input.linear
        assert recipe.best_by == "loss"
        assert default_recipe([("很好看" * 9, "好"), ("不好看" * 9, "坏")] * 40).input.linear_ngrams == "characters"
        monkeypatch.setattr("regard.tasks.sources.words._MOST_CHARACTERS", 1000)
        assert not default_recipe(pairs_of(100)).input.linear


class TestTheEpochToKeep:
    def test_the_earliest_that_is_not_clearly_worse(self):
        # The best in the mean is the third; the second is as good within the error, the first is not.
        assert earliest_good([[0.9, 0.50, 0.40], [0.9, 0.40, 0.45]]) == 1
        assert earliest_good([[0.9, 0.50, 0.40], [0.9, 0.50, 0.41]]) == 2
        # Epochs that not all folds have don't count.
        assert earliest_good([[0.9, 0.5, 0.1], [0.9, 0.5]]) == 1

    def test_each_example_is_held_out_once(self):
        seen = []

        def log_of(examples, dev):
            assert not {text for text, _ in examples} & {text for text, _ in dev}
            seen.extend(text for text, _ in dev)
            return [{"dev_loss": 1.0}]

        # Some texts twice: both are held out together.
        pairs = [(f"text {number % 9}", "yes") for number in range(11)]
        assert choose_epoch(RECIPE, pairs, log_of).keep_epoch == 1
        assert sorted(seen) == sorted(text for text, _ in pairs)

    def test_a_loss_that_is_not_finite_does_not_count(self):
        curves = iter([[0.9, math.inf], [0.9, 0.5], [0.9, math.nan], [0.9, 0.4]])

        def log_of(examples, dev):
            return [{"dev_loss": loss} for loss in next(curves)]

        assert choose_epoch(RECIPE, pairs_of(20), log_of).keep_epoch == 2
        curves = iter([[math.nan]] * 4)
        assert choose_epoch(RECIPE, pairs_of(20), log_of).keep_epoch is None

    def test_only_where_dev_is_small(self):
        recipe, pairs = dataclasses.replace(RECIPE, cross_validate=True), pairs_of(20)
        assert needs_cross_validation(recipe, pairs, pairs)
        assert not needs_cross_validation(recipe, pairs, pairs * 10)
        assert not needs_cross_validation(recipe, pairs[:7], pairs)
        assert not needs_cross_validation(RECIPE, pairs, pairs)
        assert not needs_cross_validation(dataclasses.replace(recipe, minutes=1.0), pairs, pairs)
        assert not needs_cross_validation(recipe, pairs * 251, pairs)

    def test_training_ends_with_it_and_keeps_it(self, tmp_path, capfd):
        pairs = pairs_of(40)
        recipe = dataclasses.replace(RECIPE, epochs=5, cross_validate=True)
        model = train(pairs, pairs[:9], recipe=recipe, out=tmp_path / "run", progress="lines")
        said = capfd.readouterr().err
        assert "Dev has 9 texts, too few to choose an epoch by" in said
        kept = model.recipe.keep_epoch
        assert f"Cross-validation keeps epoch {kept}." in said
        assert model.about["training"]["best_epoch"] == model.about["training"]["epochs"] == kept

    def test_a_resumed_run_keeps_its_epoch(self, tmp_path, capfd):
        pairs = pairs_of(40)
        recipe = dataclasses.replace(RECIPE, epochs=3, cross_validate=True)
        first = train(pairs, pairs[:9], recipe=recipe, out=tmp_path / "run", progress="none")
        again = train(pairs, pairs[:9], recipe=recipe, out=tmp_path / "run", resume=True, progress="lines")
        assert "Cross-validation" not in capfd.readouterr().err
        assert again.recipe == first.recipe

    def test_another_training_by_the_recipe_of_a_model_chooses_anew(self):
        pairs = pairs_of(240)
        recipe = dataclasses.replace(RECIPE, epochs=2, cross_validate=True)
        model = train(pairs[:30], pairs[:9], recipe=recipe, progress="none")
        assert model.recipe.keep_epoch is not None
        again = train(pairs[:30], pairs, recipe=model.recipe, progress="none")
        assert again.recipe.keep_epoch is None

    def test_a_folder_in_use_is_refused_before_it(self, tmp_path, capfd):
        (tmp_path / "mine.txt").touch()
        pairs = pairs_of(40)
        recipe = dataclasses.replace(RECIPE, cross_validate=True)
        with pytest.raises(ArgumentError, match="`out` must be a new or empty folder"):
            train(pairs, pairs[:9], recipe=recipe, out=tmp_path, progress="lines")
        assert "Cross-validation" not in capfd.readouterr().err

    def test_with_auxiliary_targets_dev_chooses_and_that_is_said(self, capfd):
        pairs = pairs_of(40)
        task = {"kind": "classifier", "auxiliary": {"other": 0.5}}
        recipe = Recipe.from_json({**RECIPE.to_json(), "task": task, "cross_validate": True})
        auxiliary = {"other": ["a", "b"] * 20}
        model = train(pairs, pairs[:9], recipe=recipe, auxiliary=auxiliary, progress="lines")
        assert model.recipe.keep_epoch is None
        assert "Dev has 9 texts, too few to choose an epoch by, but with auxiliary targets" in capfd.readouterr().err

    def test_two_examples_of_each_label_are_enough(self, capfd):
        pairs = [(f"{word} {number}", word) for word in ("red", "green", "blue", "black") for number in (1, 2)]
        recipe = dataclasses.replace(RECIPE, cross_validate=True)
        assert train(pairs, pairs, recipe=recipe, progress="lines").recipe.keep_epoch is not None
        assert "isn't possible" not in capfd.readouterr().err

    def test_the_epoch_to_keep_is_the_best_whatever_dev_says(self):
        recipe, history = dataclasses.replace(RECIPE, epochs=9, keep_epoch=2), []
        for score, loss in ((0.9, 0.4), (0.5, 0.7)):
            assert is_over(recipe, history) is None
            history.append(next_row(history, 1.0, DevScore(score, loss), 1.0, ACCURACY, recipe))
        assert history[-1]["best_epoch"] == 2
        assert is_over(recipe, history) == "epoch 2 is the one to keep"


class TestFolds:
    def test_equal_sources_share_one_and_each_label_is_in_all(self):
        """Labels in turn, as many as folds: by the place in the list, each fold would have one label alone."""
        labels = [("a", "b", "c", "d")[place % 4] for place in range(400)]
        folds = folds_of([f"text {place}" for place in range(400)], labels, 4)
        for fold in range(4):
            own = [label for label, each in zip(labels, folds, strict=True) if each == fold]
            assert [own.count(label) for label in "abcd"] == [25] * 4
        twice = folds_of(["one", "two", "one", "three"] * 5, ["a", "b", "a", "b"] * 5, 2)
        assert twice[0::4] == twice[2::4]

    def test_offsets_of_repeated_texts_with_random_labels_know_nothing(self):
        """Each text three times: a text in another fold would give its label away."""
        drawn = random.Random(1)
        texts = [f"w{drawn.randrange(10**9)} w{drawn.randrange(10**9)}" for _ in range(60)] * 3
        labels = [drawn.choice(["no", "yes"]) for _ in range(60)] * 3
        pairs = list(zip(texts, labels, strict=True))
        objective = ClassifierData(RECIPE, pairs, pairs[:9], None).objective()
        wanted = Label(("no", "yes")).tensor(labels)
        assert float((torch.stack(list(objective.dataset.offsets)).argmax(1) == wanted).float().mean()) < 0.8


class TestBestByLoss:
    def test_the_epoch_with_the_lowest_loss_is_kept(self):
        recipe, history = dataclasses.replace(RECIPE, epochs=9, best_by="loss", patience=2), []
        for score, loss in ((0.5, 0.7), (0.6, 0.4), (0.9, 0.5), (0.9, 0.6)):
            assert is_over(recipe, history) is None
            history.append(next_row(history, 1.0, DevScore(score, loss), 1.0, ACCURACY, recipe))
        assert [row["best_epoch"] for row in history] == [1, 2, 2, 2]
        assert history[-1]["best"] == 0.6
        assert is_over(recipe, history) == "no lower dev loss for 2 epochs"

    def test_too_confident_a_network_has_no_higher_loss(self):
        """The loss of dev is that at the best temperature: outputs that are ten times as large have the same."""
        pairs = pairs_of(60)
        model = train(pairs, pairs, recipe=RECIPE, progress="none")
        torch.manual_seed(0)
        objective = ClassifierData(dataclasses.replace(RECIPE, best_by="loss"), pairs, pairs, None).objective()
        objective.network.load_state_dict(model.network.state_dict())
        objective.eval()
        with torch.no_grad():
            before = objective.evaluate().loss
            for table in (objective.network.linear.words, objective.network.linear.characters):
                table.weight[:, :-1] *= 10
            objective.network.linear.bias *= 10
            objective.network.output.weight *= 10
            objective.network.output.bias *= 10
            after = objective.evaluate().loss
        assert math.isclose(after, before, rel_tol=1e-3)


class TestPerfectDev:
    @staticmethod
    def ends(scores, judged, **fields):
        """The epoch after which training ends, and why."""
        recipe, history = dataclasses.replace(RECIPE, best_by="score", patience=99, **fields), []
        for score in scores:
            history.append(next_row(history, 1.0, DevScore(score, 0.5, judged), 1.0, ACCURACY, recipe))
            if (why := is_over(recipe, history)) is not None:
                return len(history), why
        return None

    def test_training_ends_after_a_fifth_of_the_epochs_without_an_error(self):
        scores = [0.9, 1.0, 1.0, 0.99, *[1.0] * 20]
        assert self.ends(scores, 100, epochs=20) == (8, "dev has been perfect for 4 epochs")
        assert self.ends(scores, 100, epochs=4) == (4, "all epochs are done")
        assert self.ends([1.0] * 9, 100, epochs=10) == (3, "dev has been perfect for 3 epochs")

    def test_a_small_dev_ends_nothing(self):
        assert self.ends([1.0] * 20, 99, epochs=40) is None
        assert self.ends([1.0] * 20, 0, epochs=40) is None

    def test_the_epoch_to_keep_is_reached(self):
        assert self.ends([1.0] * 20, 500, epochs=40, keep_epoch=9) == (9, "epoch 9 is the one to keep")

    def test_no_error_is_perfect_where_errors_are_counted(self):
        recipe, falls = dataclasses.replace(RECIPE, epochs=9), Measure("character error rate", share=True, falls=True)
        assert next_row([], 1.0, DevScore(0.0, 0.5, 100), 1.0, falls, recipe)["perfect"]
        assert "perfect" not in next_row([], 1.0, DevScore(1.0, 0.5, 100), 1.0, falls, recipe)
