"""The linear part of a tagger of words."""

import dataclasses
import random

import numpy as np
import pytest
import torch

from regard import Recipe, load, train
from regard.errors import ArgumentError, ModelError
from regard.inputs import Batch
from regard.inputs.text.hashed_affixes import TO_EACH_NEIGHBOUR, hashed_affixes
from regard.tasks import default_recipe
from regard.tasks.linear_words import LinearWords
from regard.tasks.tagger.data import TaggerData
from regard.tasks.targets import Label, Regression
from regard.tasks.training.linear_fit import fit_linear_part

ROWS = 4096
LABELS = Label(("DET", "NOUN", "VERB"))
DETERMINERS, STEMS = ["the", "a", "my"], ["saw", "run", "walk", "talk", "look", "play"]


def sentences(count, seed=0):
    """Sentences in which a word is a noun after a determiner, and else a verb."""
    drawn = random.Random(seed)
    found = []
    for _ in range(count):
        words: list[str] = []
        labels: list[str] = []
        for _ in range(drawn.randint(1, 5)):
            if drawn.random() < 0.5:
                words.append(drawn.choice(DETERMINERS))
                labels.append("DET")
            words.append(drawn.choice(STEMS))
            labels.append("NOUN" if words[-2:-1] and words[-2] in DETERMINERS else "VERB")
        found.append((words, labels))
    return found


def batch_of(texts, rows=ROWS):
    lengths = torch.tensor([len(text) for text in texts])
    return Batch(torch.zeros(len(texts), int(lengths.max()), 1), lengths, ngrams=hashed_affixes(texts, rows))


def fit(pairs, rows=ROWS, target=LABELS):
    part = LinearWords(rows, target.outputs)
    wanted = torch.cat([target.tensor(labels) for _, labels in pairs])
    ids = [hashed_affixes([words], rows)[0] for words, _ in pairs]
    return part, part.fit(ids, target, wanted, [place % 4 for place in range(len(pairs))])


class TestHashedAffixes:
    def test_a_word_has_what_it_is_to_each_neighbour_and_its_own(self):
        ids = hashed_affixes([["Tables"]], 1 << 30)[0, 0].tolist()
        # Twice lower case, suffix, shape; then both cases, shape, 4 prefixes, 5 suffixes, and that it begins and ends.
        assert len(set(ids)) == 2 * TO_EACH_NEIGHBOUR + 3 + 4 + 5 + 2

    def test_case_counts_once(self):
        one, other = hashed_affixes([["x", "Table", "x"], ["x", "table", "x"]], 1 << 30)[:, 1]
        differ = {*one.tolist()} ^ {*other.tolist()}
        # The word as it is, and the three that tell the shape.
        assert len(differ) == 2 * (1 + 3)

    def test_neighbours_change_nothing_of_a_word(self):
        one, other = hashed_affixes([["a", "saw", "b"], ["the", "saw", "of"]], ROWS)
        assert torch.equal(one[1], other[1])

    def test_ids_are_within_the_table_and_an_empty_sentence_has_none(self):
        ids = hashed_affixes([["x" * 100_000, "\ud800", ""], []], 16)
        assert int(ids.max()) < 16
        assert not ids[1].any()


class TestOutputs:
    def test_they_are_those_of_logistic_regression(self):
        """By scikit-learn's own solver, of features that are written out here."""
        linear = pytest.importorskip("sklearn.linear_model")
        vectorizer = pytest.importorskip("sklearn.feature_extraction").DictVectorizer
        pairs = sentences(60)

        def features(words, place):
            found = {f"own {words[place]}": 1.0}
            if place:
                found[f"before {words[place - 1]}"] = 1.0
            if place + 1 < len(words):
                found[f"after {words[place + 1]}"] = 1.0
            return found

        held = vectorizer()
        rows = [features(words, place) for words, _ in pairs for place in range(len(words))]
        labels = [label for _, own in pairs for label in own]
        judge = linear.LogisticRegression(C=3.0, tol=1e-6, max_iter=1000).fit(held.fit_transform(rows), labels)
        part, _ = fit(pairs)
        others = sentences(60, seed=1)
        both = []
        for words, own in others:
            found = part(batch_of([words]))[0].argmax(1).tolist()
            expected = judge.predict(held.transform([features(words, place) for place in range(len(words))]))
            both += zip([LABELS.labels[each] for each in found], expected, own, strict=True)
        assert np.mean([found == expected for found, expected, _ in both]) > 0.98
        assert np.mean([found == true for found, _, true in both]) > 0.98

    def test_what_was_fitted_is_what_is_predicted_in_any_batch(self):
        """Padding, and the other sentences of a batch, change nothing."""
        pairs = sentences(40)
        part, _ = fit(pairs)
        texts = [words for words, _ in pairs]
        features, lengths = part._features(hashed_affixes([words], ROWS)[0] for words in texts)
        expected = torch.from_numpy(features @ part.weights.weight.numpy() + part.bias.numpy())
        together = batch_of(texts)
        torch.testing.assert_close(part(together)[together.real], expected.float(), atol=1e-5, rtol=1e-5)
        alone = torch.cat([part(batch_of([words]))[0] for words in texts])
        torch.testing.assert_close(alone, expected.float(), atol=1e-5, rtol=1e-5)
        assert lengths == [len(words) for words in texts]

    def test_held_out_outputs_are_of_a_part_without_the_sentence(self):
        pairs = sentences(40)
        # A word that occurs once, with a label of its own: only who has read it can know it.
        pairs[0] = (["zyx"], ["DET"])
        part, held_out = fit(pairs)
        assert part(batch_of([["zyx"]]))[0, 0].argmax() == 0
        assert held_out[0].argmax() != 0

    def test_unknown_labels_are_left_out(self):
        pairs = sentences(40)
        pairs += [(["saw", "saw"], [None, None])] * 40
        part, held_out = fit(pairs)
        same, _ = fit(pairs[:40])
        assert held_out.isfinite().all()
        torch.testing.assert_close(part.weights.weight, same.weights.weight, atol=0.05, rtol=0.05)

    def test_numbers(self):
        target = Regression.fit([1.0, 2.0, 3.0, 6.0], "examples")
        pairs = [(["one", "two"], [1.0, 2.0]), (["three", "six"], [3.0, 6.0])] * 10
        part, _ = fit(pairs, target=target)
        found = target.decode(part(batch_of([["three", "six"]]))[0])
        assert list(found) == pytest.approx([3.0, 6.0], abs=0.3)

    def test_of_one_sentence_nothing_is_said_that_it_was_fitted_to(self):
        _, held_out = fit(sentences(1))
        assert not held_out.any()

    def test_sentences_without_words(self):
        batch = Batch(torch.zeros(2, 0, 1), torch.tensor([0, 0]), ngrams=hashed_affixes([[], []], 64))
        assert LinearWords(64, 3)(batch).shape == (2, 0, 3)

    def test_a_batch_without_ids_says_so(self):
        with pytest.raises(ArgumentError, match="`ngrams` of a batch must be ids"):
            LinearWords(8, 2)(Batch(torch.zeros(1, 2, 3), torch.tensor([2])))


RECIPE = Recipe(
    width=8,
    heads=2,
    hidden=8,
    layers=1,
    epochs=1,
    input={"linear": True, "linear_ngrams": "affixes", "linear_rows": ROWS},
)


@pytest.fixture(scope="module")
def tagger():
    return train(sentences(60), sentences(20, seed=1), recipe=RECIPE, progress="none")


class TestTagger:
    def test_it_is_added_to_what_the_network_says(self, tagger):
        network, source = tagger.network, tagger.recipe.input
        batch = source.batch(tagger.encoder, [["the", "saw"], ["saw"]])
        own = network.output(network.hidden(batch))
        torch.testing.assert_close(network.item_numbers(batch), own + network.linear(batch))
        torch.testing.assert_close(network(batch), network.item_numbers(batch)[batch.real])

    def test_it_predicts_and_is_saved(self, tagger, tmp_path):
        tagger.save(tmp_path / "saved")
        again = load(tmp_path / "saved")
        words = [["the", "saw"], ["saw", "the", "run"]]
        assert again.tag(words) == tagger.tag(words)
        assert [word.label for word in again.tag(words)[0]] == ["DET", "NOUN"]

    def test_a_saved_one_that_its_task_cannot_have_is_told_by_its_file(self, tagger, tmp_path):
        tagger.save(tmp_path / "saved")
        description = tmp_path / "saved" / "model.json"
        description.write_text(description.read_text("utf-8").replace('"affixes"', '"characters"'), "utf-8")
        with pytest.raises(ModelError, match=r"model\.json can't be used: .*set `input\.linear` to false"):
            load(tmp_path / "saved", edited=True)

    def test_members_share_one(self):
        recipe = dataclasses.replace(RECIPE, members=2)
        tagger = train(sentences(60), sentences(20, seed=1), recipe=recipe, progress="none")
        batch = tagger.recipe.input.batch(tagger.encoder, [["the", "saw"]])
        assert all(member.linear is None for member in tagger.network.members)
        own = torch.stack([member.item_numbers(batch) for member in tagger.network.members]).mean(0)
        torch.testing.assert_close(tagger.network.item_numbers(batch), own + tagger.network.linear(batch))
        torch.testing.assert_close(tagger.network(batch), tagger.network.item_numbers(batch)[batch.real])

    def test_training_adds_what_is_said_of_each_word_without_its_sentence(self):
        data = TaggerData(RECIPE, sentences(30), sentences(5, seed=1), None)
        objective = data.objective()
        batch = objective.dataset.batch([3, 5])
        assert batch.sources.ngrams is None
        assert batch.offsets.shape == (len(batch.targets[0]), len(objective.answers[0].labels))
        again = data.objective()
        again.dataset.read_by(RECIPE.input, None)
        held_out = fit_linear_part(again.network, RECIPE, again.dataset, again.answers[0])
        both = [held_out.split(again.dataset.lengths)[place] for place in (3, 5)]
        assert torch.equal(batch.offsets, torch.cat(both))
        told = objective.network.linear(batch_of([objective.dataset.items[3]]))[0]
        assert not torch.allclose(both[0], told, atol=0.01)

    def test_a_hidden_word_adds_nothing_to_its_neighbours(self):
        # A network that has learned nothing: without the determiner, the noun is less of a noun.
        recipe = dataclasses.replace(RECIPE, learning_rate=1e-12)
        seen = train(sentences(60), sentences(20, seed=1), recipe=recipe, progress="none").see(
            ["the", "saw"], effects=True
        )
        without_the = seen.outcomes.hidden[0][1]
        assert seen.outcomes.places[1].label == "NOUN"
        assert without_the.change < -0.3


def test_a_part_for_another_kind_of_output_is_refused():
    wrong = dataclasses.replace(RECIPE, input=dataclasses.replace(RECIPE.input, linear_ngrams="words"))
    with pytest.raises(ArgumentError, match='must be "affixes" for a tagger'):
        train(sentences(5), sentences(5, seed=1), recipe=wrong, progress="none")
    labelled = [("a b", "x"), ("c d", "y")] * 4
    recipe = Recipe(task={"kind": "classifier"}, width=8, heads=2, hidden=8, layers=1, epochs=1, input=RECIPE.input)
    with pytest.raises(ArgumentError, match='"words" or "characters" for a classifier'):
        train(labelled, labelled, recipe=recipe, progress="none")


def test_the_default_has_it_unless_there_are_too_many_words(monkeypatch):
    few = default_recipe(sentences(50))
    assert (few.input.linear, few.input.linear_ngrams, few.epochs) == (True, "affixes", 14)
    labels = [str(number) for number in range(1000)]
    assert default_recipe([(labels, labels)]).input.linear_rows * 1000 < 1 << 22
    monkeypatch.setattr("regard.tasks.tagger._MOST_WORDS", 100)
    many = default_recipe(sentences(50))
    assert (many.input.linear, many.epochs) == (False, 60)


def test_one_that_writes_can_have_none():
    recipe = Recipe(
        task="seq2seq", width=8, heads=2, hidden=8, layers=1, epochs=1, input={"kind": "words", "linear": True}
    )
    with pytest.raises(ArgumentError, match=r"`input.linear` must be false for seq2seq"):
        train([("a b", "b a")] * 4, [("a b", "b a")], recipe=recipe, progress="none")


@pytest.mark.parametrize("wrong", [None, 0.5])
def test_targets_of_another_form_are_refused_by_their_name(wrong):
    with pytest.raises(ArgumentError, match=r"labels of `examples\[1\]` must be a list of strings"):
        train([(["a", "b"], ["X", "Y"]), (["a"], wrong)], [(["a"], ["X"])], progress="none")
