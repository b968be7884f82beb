"""Looking up: what a batch holds, and what is measured before training, by hand."""

import math

import pytest
import torch

from regard.lab.synthetic.lookup import lookup_loss, lookup_start, lookups


def first(seed):
    return next(lookups(seed))


def test_the_query_is_nearest_to_the_item_whose_label_is_wanted():
    batch = first(3)
    gaps = (batch.items - batch.query[:, None]).norm(dim=-1)
    nearest = gaps.argmin(1)
    assert torch.equal(batch.labels[torch.arange(len(nearest)), nearest], batch.wanted)
    # Noise of half a standard deviation in each of 32 numbers.
    assert gaps.amin(1).mean() == pytest.approx(0.5 * math.sqrt(32), rel=0.1)


def test_a_seed_decides_on_the_batches():
    assert torch.equal(first(1).items, first(1).items)
    assert not torch.equal(first(1).items, first(2).items)


def test_batches_differ():
    stream = lookups(0)
    assert not torch.equal(next(stream).items, next(stream).items)


def softmax_of_normal_scores(spread, items=16, draws=20_000):
    """The mean of the largest weight over independent normal scores."""
    drawn = torch.Generator().manual_seed(1)
    return float(torch.softmax(spread * torch.randn(draws, items, generator=drawn), -1).amax(-1).mean())


@pytest.mark.parametrize("size", [64, 1024])
def test_scores_begin_with_a_spread_of_a_third_of_the_root_of_d(size):
    # nn.Linear draws weights of variance 1 / (3 width), and so does its bias: q and k have variance 1/3 (1.25 for the
    # noise in the query), and a product of d of them d / 9 times that.
    dot, scaled = (lookup_start(score, size, 0) for score in ("dot", "scaled_dot"))
    assert dot.largest == pytest.approx(softmax_of_normal_scores(math.sqrt(1.25 * size) / 3), rel=0.1)
    assert scaled.largest == pytest.approx(softmax_of_normal_scores(math.sqrt(1.25) / 3), rel=0.1)


def test_the_gradient_by_scores_is_that_of_equal_weights(monkeypatch):
    # A head whose scores are nearly 0 has equal weights, so that the gradient of -log p by a score s_j is
    # w_j (1 - 1 / p) for an item of the wanted label, and w_j for another, with w = 1/16 and p their share.
    from regard.lab.synthetic import lookup

    batch = first(1_000_000)
    monkeypatch.setattr(lookup, "_unseen", lambda seed: [batch, batch])
    monkeypatch.setitem(lookup.SCORES, "nothing", lambda: lambda query, key: 1e-4 * (query @ key.mT))
    found = lookup.lookup_start("nothing", 16, 0)
    norms = []
    for labels, wanted in zip(batch.labels.tolist(), batch.wanted.tolist(), strict=True):
        share = labels.count(wanted) / 16
        each = [(1 - 1 / share) / 16 if label == wanted else 1 / 16 for label in labels]
        norms.append(math.sqrt(sum(number**2 for number in each)))
    assert found.gradient == pytest.approx(sum(norms) / len(norms), rel=1e-2)
    assert found.largest == pytest.approx(1 / 16, rel=1e-2)
    # The same batch twice: no spread.
    assert found.spread == pytest.approx(0, abs=1e-6)


def test_training_lowers_the_loss():
    before = lookup_loss("scaled_dot", 16, 0, steps=0, learning_rate=0.01)
    after = lookup_loss("scaled_dot", 16, 0, steps=100, learning_rate=0.01)
    assert before > 1.5
    assert after < before / 2


def test_the_best_learning_rate_counts(monkeypatch):
    from regard.lab.synthetic import lookup

    losses = {0.1: 3.0, 0.2: 1.0, 0.4: 2.0}
    monkeypatch.setattr(lookup, "lookup_loss", lambda *given, steps, learning_rate: losses[learning_rate])
    found = lookup.measure_lookup("dot", 16, 0, steps=1, rates=[*losses])
    assert found["loss"] == 1.0
    assert found["best learning rate"] == 0.2
    assert found["loss at the largest rate"] == 2.0
    assert found["largest weight"] == lookup_start("dot", 16, 0).largest
