"""Classifiers of sentiment: which phrases they learn from, and how they are measured."""

import math
from dataclasses import dataclass

import pytest

from regard.datasets import Example
from regard.errors import UnknownNameError
from regard.lab.texts import sentiment_phrases
from regard.lab.texts.sentiment_phrases import FULL, SMALL, measure_sentiment, negative_log_likelihood, some_phrases
from regard.tasks import RECIPES

_LABELLED = [Example(f"phrase {number}", "positive") for number in range(1000)]


def test_the_likelihood_is_that_of_the_target():
    found = negative_log_likelihood([("good", 0.8), ("bad", 0.6), ("good", 0.5)], ["good", "good", "bad"])
    assert found == pytest.approx(-(math.log(0.8) + math.log(0.4) + math.log(0.5)) / 3)


def test_a_certain_error_counts_as_one_in_a_million():
    assert negative_log_likelihood([("good", 1.0)], ["bad"]) == pytest.approx(6 * math.log(10))


def test_all_labelled_sentences_are_kept_and_nothing_without_a_label():
    phrases = [Example("a b", "positive"), Example("c", None), Example("c d", "negative"), Example("e f", None)]
    assert some_phrases(phrases, ["c d", "e f"], 0.0) == [2]
    assert some_phrases(phrases, ["c d", "e f"], 1.0) == [0, 2]


def test_about_as_many_phrases_are_kept_as_asked_for():
    # 300 are expected, with a standard deviation of 14.
    assert 230 < len(some_phrases(_LABELLED, [], 0.3)) < 370


def test_a_larger_share_only_adds_phrases():
    small, large = ({*some_phrases(_LABELLED, ["phrase 7"], share)} for share in (0.2, 0.6))
    assert 7 in small < large
    # Whether another phrase has a label makes no difference.
    unlabelled = [Example("phrase 0", None), *_LABELLED[1:]]
    assert {*some_phrases(unlabelled, ["phrase 7"], 0.2)} == small - {0}


@dataclass
class _AlwaysPositive:
    parameters: int = 5

    def classify(self, sources):
        return [("positive", 0.75) for _ in sources]


def test_a_setting_reaches_training_and_dev_is_measured(monkeypatch):
    given = {}

    def first_examples(data, split, count=None, label="sentiment"):
        phrases = [("a good film", "positive", "very positive"), ("film", None, "neutral"), ("bad", "negative", "bad")]
        if split == "dev":
            return [Example("fine", "positive"), Example("dull", "negative"), Example("good", "positive")]
        if data == "sst2":
            return [Example("a good film", "positive")]
        return [Example(source, degree if label == "degree" else own) for source, own, degree in phrases]

    def train(examples, dev, **named):
        given.update(named, examples=examples, dev=dev)
        return _AlwaysPositive()

    monkeypatch.setattr(sentiment_phrases, "first_examples", first_examples)
    monkeypatch.setattr(sentiment_phrases, "train", train)
    sentiment_phrases._training_data.cache_clear()
    found = measure_sentiment({"share": 1.0, "network": "connected", "epochs": 2}, 7)
    sentiment_phrases._training_data.cache_clear()
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["negative log likelihood"] == pytest.approx(-(2 * math.log(0.75) + math.log(0.25)) / 3)
    assert [each.source for each in given["examples"]] == ["a good film", "bad"]
    assert given["auxiliary"] == {"degree": ["very positive", "bad"]}
    assert (given["recipe"].network, given["recipe"].epochs, given["recipe"].seed) == ("connected", 2, 7)


def test_a_field_that_no_recipe_has_is_refused(monkeypatch):
    monkeypatch.setattr(sentiment_phrases, "first_examples", lambda *_, **__: [])
    sentiment_phrases._training_data.cache_clear()
    with pytest.raises(UnknownNameError, match="width"):
        measure_sentiment({"share": 1.0, "widht": 8}, 0)
    sentiment_phrases._training_data.cache_clear()


def test_the_full_size_is_that_of_the_recipe():
    recipe = RECIPES["english-sentiment"]
    assert all(getattr(recipe, name) == value for name, value in FULL.items() if name != "share")
    assert SMALL["share"] < FULL["share"] == 1
