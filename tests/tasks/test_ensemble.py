"""Several nets as one: each learns as it would alone, and what they say, and where they look, is put together."""

import dataclasses
import json

import pytest
import torch
from toys import SAWS, tiny, untrained

import regard
from regard.errors import ArgumentError, ModelError
from regard.tasks import Recipe
from regard.tasks.network import Ensemble
from regard.tasks.sources import Vectors
from regard.tasks.tagger.data import TaggerData
from regard.tasks.training.objective import Loss

SOURCES = [torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.ones(2, 3)]


def alone(model, place):
    """The model that one member would be."""
    network = model.network.members[place]
    return type(model)(network, model.encoder, model.target, model.recipe)


@pytest.mark.parametrize(
    ("targets", "task"),
    [
        (["a", "b"], "classifier"),
        ([1.0, 2.0], "classifier"),
        ([(1, 0), (0, None)], "classifier"),
        ([("a", "b", "a", "b"), ("a", "b")], "tagger"),
    ],
)
def test_the_numbers_are_the_mean_of_the_members(targets, task):
    model = untrained(Vectors(), SOURCES, targets, task={"kind": task}, members=3)
    items = [model.read(source) for source in SOURCES]
    each = [alone(model, place).numbers(items) for place in range(3)]
    for together, *own in zip(model.numbers(items), *each, strict=True):
        assert not torch.equal(own[0], own[1])
        assert not torch.equal(own[1], own[2])
        torch.testing.assert_close(together, (own[0] + own[1] + own[2]) / 3)
    if task == "tagger":
        batch = model.encode(SOURCES)
        scores = model.score(batch)
        torch.testing.assert_close(scores[batch.real], torch.cat([*model.numbers(items)]))


def test_each_member_learns_as_it_would_alone():
    again = {"again": [labels for _, labels in SAWS]}
    recipe = tiny(members=2, dropout=0.0, attention_dropout=0.0, task={"auxiliary": {"again": 0.5}})
    recipe = Recipe.from_json({**recipe.to_json(), "input": {**recipe.input.to_json(), "word_dropout": 0.0}})
    objective = TaggerData(recipe, SAWS, SAWS, again).objective().eval()
    batch = next(iter(objective.batches(0)))
    loss = objective.loss(batch)
    loss.total.backward()
    members = objective.network.members
    got = [[parameter.grad.clone() for parameter in member.parameters()] for member in members]
    heads = [[parameter.grad.clone() for parameter in own.parameters()] for own in objective.auxiliary]
    assert len(heads[0]) == 2
    assert not torch.equal(heads[0][0], heads[1][0])
    terms = []
    for place, member in enumerate(members):
        objective.zero_grad()
        own = objective._terms(member, objective.auxiliary[place], batch)
        Loss(tuple(own)).total.backward()
        for halved, parameter in zip(got[place], member.parameters(), strict=True):
            torch.testing.assert_close(2 * halved, parameter.grad)
        # The other has no part in it.
        assert all(parameter.grad is None for parameter in members[1 - place].parameters())
        terms.append(own)
    for term, first, second in zip(loss.terms, *terms, strict=True):
        torch.testing.assert_close(term.mean, (first.mean + second.mean) / 2)
        assert term.items == first.items


def test_a_layer_shows_the_heads_of_all_members_side_by_side():
    model = untrained(Vectors(), SOURCES, task={"kind": "classifier", "pooling": "attention"}, members=3)
    each = [alone(model, place).look(SOURCES) for place in range(3)]
    for record, *own in zip(model.look(SOURCES), *each, strict=True):
        assert [layer.name for layer in record.layers] == ["layer 1", "layer 2"]
        assert [layer.heads for layer in record.layers] == [6, 6]
        for number, layer in enumerate(record.layers):
            torch.testing.assert_close(layer.weights(), torch.cat([one.layers[number].weights() for one in own]))
        torch.testing.assert_close(record.pooling.weights(), torch.cat([one.pooling.weights() for one in own]))


def test_members_learn_and_are_saved_and_read(tmp_path):
    tagger = regard.train(SAWS, SAWS, recipe=tiny(members=2), progress="none", device="cpu")
    assert isinstance(tagger.network, Ensemble)
    one = regard.train(SAWS, SAWS, recipe=tiny(), progress="none", device="cpu")
    assert tagger.parameters == 2 * one.parameters
    sentences = [words for words, _ in SAWS]
    folder = tagger.save(tmp_path / "both")
    assert "nothing recurrent; 2 such nets, whose mean is the answer; trained" in (folder / "README.md").read_text()
    assert "such nets" not in (one.save(tmp_path / "one") / "README.md").read_text()
    read = regard.load(folder)
    again = regard.load(read.save(tmp_path / "again"))
    assert [[word.label for word in words] for words in read.tag(sentences)] == [
        [word.label for word in words] for words in again.tag(sentences)
    ]
    description = json.loads((folder / "model.json").read_text())
    description["recipe"]["members"] = 3
    (folder / "model.json").write_text(json.dumps(description))
    with pytest.raises(ModelError, match=r"no tensor 'members\.2\."):
        regard.load(folder, edited=True)


@pytest.mark.parametrize("kind", ["seq2seq", "synthesis"])
def test_what_writes_or_speaks_is_one_net(kind):
    with pytest.raises(ArgumentError, match=f"`members` must be 1 for '{kind}', which is one network, but is 2"):
        Recipe(task={"kind": kind}, members=2)
    wanted = f"`consistency` must be 0 for '{kind}', which predicts sequences, but is 0.5"
    with pytest.raises(ArgumentError, match=wanted):
        Recipe(task={"kind": kind}, consistency=0.5)
    assert Recipe(task={"kind": kind}).members == 1


def test_a_description_can_not_ask_for_nets_without_end():
    with pytest.raises(ArgumentError, match="`members` must be at least 1 and at most 100, but is 1000000000"):
        Recipe.from_json({"members": 10**9})


def test_members_agree_each_with_itself_about_what_nobody_labelled():
    pairs = list(zip(SOURCES, [("a", None, "b", None), (None, "a")], strict=True))
    again = {"again": [(1.0, 2.0, 3.0, None), (2.5, 0.0)]}
    recipe = tiny(members=2, consistency=2.0, dropout=0.4, batch_items=100, task={"auxiliary": {"again": 0.5}})
    recipe = dataclasses.replace(recipe, input=Vectors())
    objective = TaggerData(recipe, pairs, pairs, again).objective()
    batch = next(iter(objective.batches(0)))
    torch.manual_seed(0)
    own, beside, agreement = objective.loss(batch).terms
    assert (own.items, beside.items, agreement.items) == (3, 5, 6)
    torch.manual_seed(0)
    label, other = objective.answers
    expected = torch.zeros(3)
    for member, (head,) in zip(objective.network.members, objective.auxiliary, strict=True):
        drawn = [member.features(batch.sources) for _ in range(4)]
        given = torch.stack([member.output(features) for features in drawn])
        for features, numbers in zip(drawn, given, strict=True):
            expected[0] += label.loss(numbers, batch.targets[0], recipe.smoothing)[0].detach() / 8
            expected[1] += 0.5 * other.loss(head(features), batch.targets[1], 0.0)[0].detach() / 8
        expected[2] += 2.0 * label.disagreement(given).detach() / 2
    torch.testing.assert_close(torch.stack([own.mean, beside.mean, agreement.mean]).detach(), expected)
