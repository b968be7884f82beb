"""Ambiguous words, and the accuracy on them."""

import math
from types import SimpleNamespace

import pytest

from regard.lab.texts.ambiguity import accuracy_on_words, ambiguous_words

TRAIN = [(["I", "saw", "a", "Saw"], ["PRON", "VERB", "DET", "NOUN"]), (["I", "saw", "it"], ["PRON", "VERB", "PRON"])]


class AlwaysVerb:
    """Says VERB of every word."""

    def tag(self, sentences):
        return [[SimpleNamespace(text=word, label="VERB", score=1.0) for word in own] for own in sentences]


def test_a_word_is_ambiguous_if_it_has_two_labels_whatever_its_case():
    assert ambiguous_words(TRAIN) == {"saw"}
    assert ambiguous_words(TRAIN[1:]) == set()


def test_only_the_words_that_were_asked_for_count():
    assert accuracy_on_words(AlwaysVerb(), TRAIN, {"saw"}) == pytest.approx(2 / 3)
    assert accuracy_on_words(AlwaysVerb(), TRAIN, {"saw", "it"}) == pytest.approx(2 / 4)
    assert math.isnan(accuracy_on_words(AlwaysVerb(), TRAIN, {"elephant"}))
