"""Taggers that know words by a vector of each."""

import pytest

from regard.datasets import TaggedSentence
from regard.lab.texts import word_tagger
from regard.lab.texts.tagger import SMALL

TRAIN = [TaggedSentence(("The", "cat", "sleeps"), ("DET", "NOUN", "VERB"))] * 6
DEV = [TaggedSentence(("the", "dog", "sleeps"), ("DET", "NOUN", "VERB"))] * 2


@pytest.mark.parametrize("kind", ["one_hot", "counted", "drawn"])
def test_words_are_known_by_their_vectors(monkeypatch, kind):
    # The labelled sentences lack the dog, but the others, which are counted, have it.
    monkeypatch.setattr(word_tagger, "tagger_data", lambda setting: (TRAIN, DEV))
    monkeypatch.setattr(word_tagger, "first_examples", lambda *given: [*TRAIN, *DEV])
    word_tagger._counted_vectors.cache_clear()
    setting = {**SMALL, "size": 4, "epochs": 30, "width": 16, "dropout": 0.0}
    found = word_tagger.measure_word_tagger(setting, kind, seed=0)
    word_tagger._counted_vectors.cache_clear()
    assert 2 / 3 <= found["accuracy"] <= 1
    assert found["accuracy on new words"] == pytest.approx(3 * found["accuracy"] - 2)
    if kind == "one_hot":
        # No two words have the same label, and one-hot vectors are orthogonal.
        assert found["closeness"] == 0
    if kind == "counted":
        assert found["accuracy on new words"] == 1
