"""Specialisation of heads, by hand."""

import pytest
import torch
from torch.nn.functional import cross_entropy

import regard
from regard import Recipe
from regard.datasets import TaggedSentence
from regard.lab.texts.specialisation import head_damage, specialisation, specialisation_by_chance


def test_heads_that_hurt_other_labels_alone():
    labels = torch.tensor([0, 1, 2])
    assert specialisation(torch.eye(3), labels) == pytest.approx(2 / 3)


def test_how_much_a_head_hurts_does_not_count():
    labels = torch.tensor([0, 1])
    assert specialisation(torch.tensor([[3.0, 1.0], [30.0, 10.0]]), labels) == pytest.approx(0)


def test_shares_by_hand():
    # Shares (3/4, 1/4) and (1/4, 3/4), the mean of which is (1/2, 1/2): each head is 1/4 from it.
    labels = torch.tensor([0, 0, 1])
    damage = torch.tensor([[1.0, 2.0, 1.0], [0.5, 0.5, 3.0]])
    assert specialisation(damage, labels) == pytest.approx(0.25)


def test_words_that_gain_weigh_against_those_of_their_label():
    # Label 0 loses 2 - 1 = 1; label 1 gains, which counts as 0.
    labels = torch.tensor([0, 0, 1])
    damage = torch.tensor([[2.0, -1.0, -5.0], [0.0, 0.0, 1.0]])
    assert specialisation(damage, labels) == pytest.approx(0.5)


def test_a_head_that_hurts_nothing_is_left_out():
    labels = torch.tensor([0, 1])
    assert specialisation(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), labels) == 0
    assert specialisation(torch.zeros(2, 2), labels) == 0


def test_chance_is_small_among_many_words_and_below_heads_that_specialise():
    torch.manual_seed(0)
    labels = torch.randint(4, (2000,))
    alike = torch.rand(4, 2000)
    own = alike + 3.0 * (labels == torch.arange(4)[:, None])
    assert specialisation(alike, labels) == pytest.approx(specialisation_by_chance(alike, labels, 0), abs=0.01)
    assert specialisation(own, labels) > 0.2 + specialisation_by_chance(own, labels, 0)


def test_strength_is_not_specialisation_by_chance():
    torch.manual_seed(0)
    labels = torch.arange(2).repeat(500)
    damage = torch.rand(2, 1000) * torch.tensor([[1.0], [100.0]])
    assert specialisation_by_chance(damage, labels, 0) < 0.03


def test_damage_is_the_loss_without_the_head_minus_that_with_it():
    sentences = [TaggedSentence(("a", "b", "a"), ("X", "Y", "X")), TaggedSentence(("b",), ("Y",))]
    recipe = Recipe(input={"features": {"minimum_count": 1}}, width=8, heads=2, hidden=8, layers=1, epochs=2)
    tagger = regard.train(sentences, sentences, recipe=recipe, progress="none")
    damage, labels = head_damage(tagger, [*sentences, TaggedSentence(("a",), ("new",))])
    assert damage.shape == (2, 4)
    assert labels.tolist() == [tagger.labels.index(label) for label in "XYXY"]

    def losses():
        rows = [torch.as_tensor(tagger.numbers([each.words])[0]) for each in sentences]
        return cross_entropy(torch.cat(rows), labels, reduction="none")

    attention = tagger.network.network.encoder.layers[0].attention
    before = losses()
    for head in range(2):
        kept = attention.output.weight.data.clone()
        # Without the columns of its numbers, the output projection doesn't see a head.
        attention.output.weight.data[:, 4 * head : 4 * head + 4] = 0
        after = losses()
        attention.output.weight.data = kept
        assert torch.allclose(damage[head], after - before, atol=1e-5)
        assert (after - before).abs().max() > 1e-3
