"""How often a vector attends most to itself, by hand."""

import pytest
import torch

from regard.datasets import TaggedSentence
from regard.inspection import LayerRecord, Record
from regard.lab.texts.own_weight import of_records, of_vectors
from regard.lab.texts.tagger import SMALL, tagger_recipe


def record(own):
    """Five items: the first `own` of them give themselves 0.6, the others 0.25 and 0.45 to the next."""
    weights = torch.full((1, 5, 5), 0.1)
    for query in range(5):
        if query < own:
            weights[0, query, query] = 0.6
        else:
            weights[0, query, query], weights[0, query, (query + 1) % 5] = 0.25, 0.45
    return Record(tuple("abcde"), layers=(LayerRecord.of_weights("layer 1", weights),))


def test_queries_of_all_sentences_count_alike():
    found = of_records([record(5), record(2)])
    assert found["largest on the diagonal"] == pytest.approx(7 / 10)
    assert found["weight on the diagonal"] == pytest.approx((7 * 0.6 + 3 * 0.25) / 10)


def test_short_sentences_are_left_out():
    short = Record(("a",), layers=(LayerRecord.of_weights("layer 1", torch.ones(1, 1, 1)),))
    assert of_records([short, record(0)])["largest on the diagonal"] == 0


def test_vectors_attend_by_their_inner_products(monkeypatch):
    from regard.lab.texts import tagger as module

    sentence = TaggedSentence(("a", "b", "c", "d", "e"), ("X", "Y", "X", "Y", "X"))
    monkeypatch.setattr(module, "first_examples", lambda *given: [sentence] * 2)
    tagger, dev = module.untrained_tagger(SMALL, seed=0)
    assert tagger.recipe == tagger_recipe(SMALL, seed=0)
    vectors = tagger.network.embedding(tagger.encode([dev[0].words]).vectors)[0].detach()
    weights = torch.softmax(vectors @ vectors.T / vectors.shape[-1] ** 0.5, -1)
    found = of_vectors(tagger, [dev[0].words, ("a", "b")])
    assert found["weight on the diagonal"] == pytest.approx(float(weights.diagonal().mean()), rel=1e-5)
    assert found["largest on the diagonal"] == float((weights.argmax(-1) == torch.arange(5)).float().mean())
