"""Patching between two inputs, and what a removal does to attention downstream, on models whose parts are known."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import regard
from regard.errors import ArgumentError
from regard.inspection import (
    Case,
    HideKey,
    RemoveHead,
    comparison_of,
    downstream,
    intervene,
    patch_cases,
    patching,
    watch,
)


class Summed(nn.Module):
    """A layer of three heads, of which each adds 1, 2 and 5 times its first feature at position 2."""

    def forward(self, given):
        heads = functional.scaled_dot_product_attention(given, given, given)
        return (heads[:, :, 1, 0] * torch.tensor([1.0, 2.0, 5.0])).sum(1)


def by_hand(given):
    """What each of the heads adds, (head,)."""
    heads = torch.softmax(given @ given.mT / 2, -1) @ given
    return heads[0, :, 1, 0].double() * torch.tensor([1.0, 2.0, 5.0])


@pytest.mark.parametrize("direction", ["denoising", "noising"])
def test_shares_are_those_of_the_parts_of_a_sum(direction):
    torch.manual_seed(0)
    clean, corrupted = torch.randn(2, 1, 3, 4, 4)
    model = Summed().eval()
    found = patching(model, model, lambda output: output, clean, corrupted, direction=direction)
    # In a sum both directions give the same share.
    parts = by_hand(clean) - by_hand(corrupted)
    torch.testing.assert_close(found.head_shares, (parts / parts.sum())[None], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        found.position_shares, torch.tensor([[0.0, 1.0, 0.0, 0.0]], dtype=torch.double), rtol=1e-4, atol=1e-5
    )
    ends = {float(by_hand(each).sum()) for each in (clean, corrupted)}
    assert {round(end, 4) for end in (found.target, found.source)} == {round(end, 4) for end in ends}
    assert ("restores" in str(found)) == (direction == "denoising")
    assert [str(each.change) for each in found.positions[0]][1] == (
        "patch all heads of layer 1 at query 2 from the other input"
    )


def test_directions_differ_where_one_head_stands_in_for_another():
    class Larger(nn.Module):
        def forward(self, given):
            return functional.scaled_dot_product_attention(given, given, given)[:, :, 0].amax((1, 2))

    # Each head gives 1 for the clean input, and 0 for the other.
    clean, corrupted = torch.ones(1, 2, 3, 4), torch.zeros(1, 2, 3, 4)
    model = Larger().eval()
    restored = patching(model, model, lambda output: output, clean, corrupted)
    lost = patching(model, model, lambda output: output, clean, corrupted, direction="noising")
    assert restored.head_shares.tolist() == [[1.0, 1.0]]
    assert lost.head_shares.tolist() == [[0.0, 0.0]]
    assert lost.position_shares.tolist() == [[1.0, 0.0, 0.0]]


def test_a_layer_that_all_goes_through_restores_everything():
    """The last layer's outputs at the place that is read, and its residual stream, which isn't patched."""
    tagger = regard.load("english-pos")
    clean, corrupted = (tagger.case(text) for text in ("I saw a saw .", "I will we saw ."))
    found = patch_cases(clean, corrupted, place=3)
    network = tagger.network.eval()

    def logit(case):
        with torch.no_grad():
            probabilities = case.predict(case.run(case.inputs))[0, 3].double()
        noun, verb = (list(tagger.labels).index(label) for label in ("NOUN", "VERB"))
        return float((probabilities[noun] / probabilities[verb]).log())

    assert (found.target, found.source) == (pytest.approx(logit(corrupted)), pytest.approx(logit(clean)))
    assert int(found.position_shares[1].argmax()) == 3
    assert found.position_shares[1, [0, 1, 2, 4]].abs().max() < 1e-5
    with watch(network) as seen:
        clean.run(clean.inputs)
    from regard.inspection import PatchHead

    with intervene(network, PatchHead(seen, 2, 4)):
        after = logit(corrupted)
    assert float(found.head_shares[1, 3]) == pytest.approx(
        (after - logit(corrupted)) / (logit(clean) - logit(corrupted)), abs=1e-4
    )
    assert patch_cases(clean, corrupted).heads[0][0].before != 0
    noisy = patch_cases(clean, corrupted, place=3, direction="noising", noise=19)
    assert [len(each.noise) for each in noisy.positions[1]] == [19] * 5
    assert noisy.positions[1][3].above_noise
    assert "1.01*" in str(noisy).splitlines()[-1]
    assert "*" not in str(found)


def toy(vectors, module, kind="vectors", batched=True):
    items = tuple("abcde"[: vectors.shape[1]])
    places = tuple((item, number) for number, item in enumerate(items))
    predict = {"vectors": lambda output: output, "numbers": lambda output: output[:, :, :1]}[kind]
    return Case("toy", module, vectors, module, predict, kind, items, places, batched=batched)


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("kind", ["vectors", "numbers"])
def test_cases_of_vectors_and_numbers_are_patched(kind, batched):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    clean, corrupted = torch.randn(2, 1, 4, 8)
    found = patch_cases(*(toy(each, layer, kind, batched) for each in (clean, corrupted)), place=1)
    assert found.head_shares.shape == (1, 2)
    assert float(found.position_shares[0, [0, 2, 3]].abs().max()) < 1e-5
    if kind == "vectors":
        with torch.no_grad():
            gap = (layer(clean) - layer(corrupted))[0, 1].double()
        assert found.source - found.target == pytest.approx(float(gap @ gap), rel=1e-4)


def test_what_cannot_be_patched_is_named():
    torch.manual_seed(0)
    model = Summed().eval()
    clean, corrupted, longer = torch.randn(1, 3, 4, 4), torch.randn(1, 3, 4, 4), torch.randn(1, 3, 5, 4)
    for arguments, message in (
        ((clean, longer), "`clean` must have as many items as the other input, .* 5 queries, but its layers have 4"),
        ((clean, clean.clone()), "`measure` must tell the two inputs apart"),
    ):
        with pytest.raises(ArgumentError, match=message):
            patching(model, model, lambda output: output, *arguments)
    with pytest.raises(ArgumentError, match="`direction` must be 'denoising' or 'noising', but is 'both'"):
        patching(model, model, lambda output: output, clean, corrupted, direction="both")
    with pytest.raises(ArgumentError, match=r"`measure` must give a tensor with one number .* gave shape \(1, 2\)"):
        patching(model, model, lambda output: torch.stack([output, output], -1), clean, corrupted)
    with pytest.raises(ArgumentError, match="`model` must have attention that is seen"):
        patching(nn.Linear(4, 1), lambda given: given.sum((1, 2, 3)), lambda output: output, clean, corrupted)
    one, other = (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval() for _ in range(2))
    case = toy(torch.randn(1, 4, 8), one)
    with pytest.raises(ArgumentError, match="`corrupted` must be a case of the same model object"):
        patch_cases(case, toy(torch.randn(1, 4, 8), other))
    with pytest.raises(ArgumentError, match="`corrupted` must predict vectors at 4 places"):
        patch_cases(case, toy(torch.randn(1, 5, 8), one))
    with pytest.raises(ArgumentError, match="`place` must be the number of a prediction, below 4, but is 4"):
        patch_cases(case, toy(torch.randn(1, 4, 8), one), place=4)


def encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(12, 3, 13, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), torch.randn(2, 5, 12)


def test_the_weights_that_a_removal_moves_are_those_of_two_records():
    model, vectors = encoder()
    change = RemoveHead(1, 2)
    found = downstream(model, lambda: model(vectors), change)
    with watch(model) as before, torch.no_grad():
        model(vectors)
    with intervene(model, change) as after, torch.no_grad():
        model(vectors)
    assert found.distances[0] == (0.0, 0.0, 0.0)
    moved = after[1].weights() - before[1].weights()
    torch.testing.assert_close(
        torch.tensor(found.distances[1]), (moved.abs().sum(-1) / 2).mean((0, 2)), rtol=1e-5, atol=1e-6
    )
    assert min(found.distances[1]) > 1e-3
    torch.testing.assert_close(found.difference(2, 3, item=1), moved[1, 2])
    torch.testing.assert_close(found.difference(2, rows=[4]), moved[0].mean(0)[[4]])
    assert str(found).splitlines()[0] == "The share of each head's weight that moves: remove head 2 of layer 1"
    both = downstream(model, lambda: model(vectors), [RemoveHead(1, 1), RemoveHead(1, 2)])
    assert both.distances[1] != found.distances[1]


def test_a_hidden_key_moves_its_own_weight():
    """By hand: the weight of a hidden key goes to the others, so that as much moves as it had."""
    model, vectors = encoder()
    with watch(model) as before, torch.no_grad():
        model(vectors)
    found = downstream(model, lambda: model(vectors), HideKey(2, layer=1))
    expected = before[0].weights()[..., 1].mean((0, 2))
    torch.testing.assert_close(torch.tensor(found.distances[0]), expected, rtol=1e-5, atol=1e-6)


def test_a_record_of_a_changed_model_is_compared_with_its_own():
    tagger = regard.load("english-pos")
    change = RemoveHead(1, 1)
    record, changed = tagger.see("I saw a saw ."), tagger.see("I saw a saw .", changes=[change])
    assert changed.model == "english-pos, remove head 1 of layer 1"
    network, batch = tagger.network.eval(), tagger.encode([["I", "saw", "a", "saw", "."]])
    moved = downstream(network, lambda: network(batch), change).distances
    differ = {(each.layer, each.head): each.difference for each in comparison_of(record, changed).heads}
    assert differ[(2, 1)] == pytest.approx(moved[1][0], rel=1e-4)
    # The effects are those of the changed model: with the head removed again nothing changes.
    assert [outcome.change for outcome in changed.outcomes.removed[0][0]] == [0.0] * 5
    assert abs(record.outcomes.removed[0][0][3].change) > 0.1
    noun = changed.outcomes.places[3]
    assert noun.score == pytest.approx(record.outcomes.removed[0][0][3].score, abs=1e-5)


def test_what_has_no_weights_downstream_is_named():
    model, vectors = encoder()
    with pytest.raises(ArgumentError, match=r"`head` of RemoveHead .* but is 4"):
        downstream(model, lambda: model(vectors), RemoveHead(1, 4))
    lengths = iter([5, 4])
    with pytest.raises(ArgumentError, match="`run` must make the same calls of attention with the change"):
        downstream(model, lambda: model(vectors[:, : next(lengths)]), RemoveHead(1, 1))
    found = downstream(model, lambda: model(vectors), RemoveHead(1, 1))
    for arguments, message in (
        ((3,), "`layer` must be from 1 to 2, but is 3"),
        ((1, 4), "`head` must be from 1 to 3, but is 4"),
    ):
        with pytest.raises(ArgumentError, match=message):
            found.difference(*arguments)
    with pytest.raises(ArgumentError, match="`item` must be below 2, but is 2"):
        found.difference(1, item=2)
