"""Heads replaced by what they give for other inputs, and several changes at once, against hand-computed outputs."""

import math

import pytest
import torch
from torch import nn

from regard.attention import attend
from regard.errors import ArgumentError
from regard.inspection import (
    HideKey,
    PatchHead,
    RandomDirection,
    RemoveHead,
    Temperature,
    Together,
    UniformHead,
    all_heads,
    effects,
    intervene,
    watch,
)


class Plain(nn.Module):
    """Attention of vectors to themselves, with heads that are slices of the width, written out."""

    def heads(self, vectors):
        split = vectors.unflatten(-1, (3, 4)).transpose(1, 2)
        return torch.softmax(split @ split.mT / 2, -1) @ split

    def forward(self, vectors):
        # Through the layer's own function, so that something is intercepted.
        split = vectors.unflatten(-1, (3, 4)).transpose(1, 2)
        return nn.functional.scaled_dot_product_attention(split, split, split)


@pytest.fixture
def model():
    return Plain().eval()


def inputs(count, length=5, seed=0):
    torch.manual_seed(seed)
    return [torch.randn(1, length, 12) for _ in range(count)]


def seen_of(model, vectors):
    with watch(model) as seen:
        model(vectors)
    return seen


def close(first, second):
    torch.testing.assert_close(first, second, rtol=1e-5, atol=2e-6)


def test_each_draw_takes_another_input_at_the_same_positions(model):
    one, *others = inputs(5)
    seen = tuple(seen_of(model, each) for each in others)
    heads = [model.heads(each) for each in others]
    plain, taken = model.heads(one), []
    for draw in range(5):
        with intervene(model, RemoveHead(1, 2, "resample", seen, draw)):
            changed = model(one)
        close(changed[:, [0, 2]], plain[:, [0, 2]])
        gaps = [(changed[:, 1] - each[:, 1]).abs().max() for each in heads]
        taken.append(min(range(4), key=lambda which: gaps[which]))
        assert gaps[taken[-1]] < 1e-5
    assert sorted(taken[:4]) == [0, 1, 2, 3]
    assert taken[4] == taken[0]


def test_another_seed_takes_the_inputs_in_another_order(model):
    one, *others = inputs(7)
    seen = tuple(seen_of(model, each) for each in others)

    def first(seed):
        with intervene(model, RemoveHead(1, 1, "resample", seen, seed=seed)):
            return model(one)

    assert torch.equal(first(3), first(3))
    assert any(not torch.equal(first(0), first(seed)) for seed in range(1, 6))


def test_items_of_a_batch_are_other_inputs_and_get_different_ones(model):
    batch = torch.cat(inputs(2))
    others = torch.cat(inputs(2, seed=1))
    with intervene(model, RemoveHead(1, 1, "resample", seen_of(model, others))):
        changed = model(batch)[:, 0]
    expected = model.heads(others)[:, 0]
    assert any((changed - each).abs().max() < 1e-5 for each in (expected, expected.flip(0)))


def test_an_input_of_another_length_gives_outputs_of_its_own_positions(model):
    one, other = inputs(1)[0], inputs(1, length=7, seed=1)[0]
    with intervene(model, RemoveHead(1, 3, "resample", seen_of(model, other))):
        changed = model(one)[0, 2]
    rows = model.heads(other)[0, 2]
    distances = torch.cdist(changed, rows)
    assert distances.amin(1).max() < 1e-5
    assert len(set(distances.argmin(1).tolist())) > 1


def test_the_same_draw_takes_the_same_input_in_every_layer():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(12, 3, 13, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    one, *others = inputs(4)
    seen = tuple(seen_of(encoder, each) for each in others)
    with torch.no_grad():
        for draw in range(3):
            with intervene(encoder, RemoveHead(None, None, "resample", seen, draw)) as changed:
                encoder(one)
            taken = []
            for number, call in enumerate(changed):
                weight, bias = call.projection
                gaps = []
                for each in seen:
                    heads = attend(*(getattr(each[number], name) for name in ("query", "key", "value")))
                    joined = heads.transpose(1, 2).flatten(2)[:, call.rows] @ weight.mT + bias
                    gaps.append(float((joined - call.outputs).abs().max()))
                assert min(gaps) < 1e-5
                taken.append(gaps.index(min(gaps)))
            assert taken[0] == taken[1]


def test_a_patch_puts_in_what_the_head_gave_there(model):
    one, other = inputs(2)
    seen, plain, patch = seen_of(model, other), model.heads(one), model.heads(other)
    with intervene(model, PatchHead(seen, 1, 2)) as record:
        changed = model(one)
    expected = plain.clone()
    expected[:, 1] = patch[:, 1]
    close(changed, expected)
    assert record[0].notes == ["Changed: patch head 2 of layer 1 from the other input."]
    with watch(model, changes=[PatchHead(seen, 1, query=3)]):
        changed = model(one)
    expected = plain.clone()
    expected[:, :, 2] = patch[:, :, 2]
    close(changed, expected)
    with intervene(model, PatchHead(seen, 1, 3, query=1, source_query=5)):
        changed = model(one)
    expected = plain.clone()
    expected[:, 2, 0] = patch[:, 2, 4]
    close(changed, expected)


def test_a_patch_of_a_batch_is_item_by_item_or_of_one_for_all(model):
    batch, others = torch.cat(inputs(2)), torch.cat(inputs(2, seed=1))
    for source in (others, others[:1]):
        with intervene(model, PatchHead(seen_of(model, source), 1, 1)):
            close(model(batch)[:, 0], model.heads(source)[:, 0].expand(2, -1, -1))


def test_a_patch_of_a_model_that_runs_step_by_step_is_of_the_same_step(model):
    one, other = inputs(2)
    expected = [model.heads(other[:, : step + 1])[:, 0] for step in range(5)]
    with watch(model) as seen:
        for step in range(5):
            model(other[:, : step + 1])
    with intervene(model, PatchHead(seen, 1, 1)):
        for step in range(5):
            close(model(one[:, : step + 1])[:, 0], expected[step])
        with pytest.raises(ArgumentError, match=r"must have the call .* it called the model itself 5 times"):
            model(one)


def test_a_patch_of_its_own_input_changes_nothing(model):
    one = inputs(1)[0]
    with intervene(model, PatchHead(seen_of(model, one))):
        close(model(one), model.heads(one))


def test_several_changes_at_once_are_each_of_them(model):
    one = inputs(1)[0]
    changes = (HideKey(2), RemoveHead(1, 1), RemoveHead(1, 3, "mean"))
    with intervene(model, *changes):
        expected = model(one)
    with intervene(model, Together(changes)) as seen:
        assert torch.equal(model(one), expected)
    assert str(Together(changes)).startswith("hide key 2 in all heads of all layers, remove head 1 of layer 1 and remo")
    assert len(seen[0].notes) == 1
    nested = Together((Together(changes[:2]), changes[2]))
    assert nested.members == changes
    with (
        pytest.raises(ArgumentError, match=r"`head` of RemoveHead .* but is 4"),
        intervene(model, Together((RemoveHead(1, 1), RemoveHead(1, 4)))),
    ):
        model(one)


def test_a_random_direction_is_as_large_and_the_same_everywhere(model):
    one = inputs(1)[0]
    plain = model.heads(one)
    for change in (RemoveHead(1, 2), HideKey(1), Together((RemoveHead(1, 1), HideKey(3)))):
        with intervene(model, change):
            difference = model(one) - plain
        with intervene(model, RandomDirection(change, 5)) as seen:
            turned = model(one) - plain
        # Rotations keep lengths and the products of all pairs of positions.
        close(turned @ turned.mT, difference @ difference.mT)
        assert (turned - difference).abs().max() > 1e-2
        assert seen.verify() == {"": None}
    with intervene(model, RandomDirection(RemoveHead(1, 2), 6)):
        assert (model(one) - plain - turned).abs().max() > 1e-2

    # Each adds what it does beside the changes that are made as they are.
    def difference_of(*changes):
        with intervene(model, *changes):
            return model(one) - plain

    first, second = RandomDirection(HideKey(1, head=2), 5), RandomDirection(HideKey(2, head=3), 6)
    both = difference_of(first, second, RemoveHead(1, 1))
    close(both[:, 0], -plain[:, 0])
    close(both[:, 1:], (difference_of(first) + difference_of(second))[:, 1:])


def test_random_directions_are_uniform():
    """Of 4 features the square of a coordinate of a random direction has the mean 1/4 and the variance 1/24."""
    from regard.inspection.explain.random_directions import random_rotation

    entries = torch.stack([random_rotation(4, seed) for seed in range(3000)])
    assert torch.allclose(entries @ entries.mT, torch.eye(4, dtype=torch.double).expand(3000, 4, 4))
    error = math.sqrt(1 / 24 / 3000)
    assert ((entries.square().mean(0) - 1 / 4).abs() < 4 * error).all()
    assert (entries.mean(0).abs() < 4 * math.sqrt(1 / 4 / 3000)).all()
    assert abs(float((torch.linalg.det(entries) > 0).double().mean()) - 0.5) < 4 * 0.5 / math.sqrt(3000)


def test_gradients_pass_through_resampled_and_patched_heads(model):
    one, other = inputs(2)
    seen = seen_of(model, other)
    one = one.requires_grad_()
    for change in (PatchHead(seen, 1, 2), RemoveHead(1, 2, "resample", seen), RandomDirection(RemoveHead(1, 2))):
        with intervene(model, change):
            model(one).square().sum().backward()
        assert one.grad.isfinite().all()
        one.grad = None


def test_what_is_missing_or_of_another_model_is_named(model):
    one, other = inputs(2)
    seen = seen_of(model, other)
    longer = seen_of(model, inputs(1, length=7)[0])

    class Wide(nn.Module):
        def forward(self, vectors):
            split = vectors.unflatten(-1, (2, 6)).transpose(1, 2)
            return nn.functional.scaled_dot_product_attention(split, split, split)

    layer = nn.TransformerEncoderLayer(12, 3, 13, batch_first=True).eval()
    other_model, wide = seen_of(layer, other), seen_of(Wide(), other)
    with intervene(model, RemoveHead(1, 1)) as removed:
        model(other)
    for change, message in (
        (RemoveHead(1, 1, "resample"), r"`others` must hold what was seen of other inputs.* is missing\. Give it to"),
        (RemoveHead(1, 1, "resample", other_model), "`others` must be of the same model, but has nothing of the model"),
        (
            RemoveHead(1, 1, "resample", wide),
            "`others` must be of the same model, .* 2 heads of 6 features there, and 3",
        ),
        (RemoveHead(1, 1, "resample", removed), "can't be computed again, since it had outputs that were replaced"),
        (PatchHead(other_model, 1, 1), "`source` of PatchHead must have the call .* but it has self_attn"),
        (PatchHead(wide, 1, 1), "`source` of PatchHead must be of one item or 1, with 3 heads of 4 features"),
        (
            PatchHead(longer, 1, 1),
            "`source` of PatchHead must have 5 queries .* but has 7. Take inputs of the same len",
        ),
        (PatchHead(seen, 1, 1, 2, 6), "`source_query` of PatchHead must be at most 5"),
        (PatchHead(seen, 1, 1, 6), "`query` of PatchHead .* but is 6"),
    ):
        with pytest.raises(ArgumentError, match=message), intervene(model, change):
            model(one)
    with intervene(model, PatchHead(longer, 1, 1, 2, 7)):
        close(model(one)[0, 0, 1], model.heads(inputs(1, length=7)[0])[0, 0, 6])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda seen: RemoveHead(1, 1, "resample", ()), "`others` of RemoveHead must hold what was seen"),
        (lambda seen: RemoveHead(1, 1, "resample", "others"), "`others` of RemoveHead must hold what was seen"),
        (lambda seen: RemoveHead(1, 1, "resample", [seen], -1), "`draw` must be a number, 0 or more, but is -1"),
        (lambda seen: PatchHead(None, 1, 1), "`source` of PatchHead must be what was seen"),
        (lambda seen: PatchHead(seen, 1, 0), "`head` of PatchHead must be a number from 1, but is 0"),
        (lambda seen: PatchHead(seen, 1, 1, 2, 0), "`source_query` of PatchHead must be a number from 1, but is 0"),
        (lambda seen: PatchHead(seen, 1, 1, None, 2), "`source_query` of PatchHead needs `query`"),
        (lambda seen: Together(()), "`changes` of Together must hold changes"),
        (lambda seen: Together((RemoveHead(1, 1), "head")), "`changes` of Together must hold changes"),
        (lambda seen: RandomDirection("head"), "`change` of RandomDirection must be a change"),
    ],
)
def test_wrong_arguments_are_named(model, make, message):
    seen = seen_of(model, inputs(1)[0])
    with pytest.raises(ArgumentError, match=message):
        make(seen)
    assert all_heads(seen, "resample")[2] == RemoveHead(1, 3, "resample")


def bert(implementation):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=11, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=13
    )
    config._attn_implementation = implementation
    torch.manual_seed(0)
    model = transformers.BertModel(config).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model, torch.randint(0, 11, (4, 1, 5))


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_a_patch_of_bert_equals_a_hook_that_replaces_what_its_head_gives(implementation):
    model, (one, other, *_) = bert(implementation)
    layer = model.encoder.layer[1].attention.self
    given = []
    with torch.no_grad():
        handle = layer.register_forward_hook(lambda module, args, output: given.append(output[0].clone()))
        model(other)
        handle.remove()

        def patch(module, args, output):
            context = output[0].clone()
            context[:, 2, 4:8] = given[0][:, 2, 4:8]
            return (context, *output[1:])

        handle = layer.register_forward_hook(patch)
        expected = model(one).last_hidden_state
        handle.remove()
        with watch(model) as seen:
            model(other)
        with intervene(model, PatchHead(seen, 2, 2, query=3)):
            changed = model(one).last_hidden_state
        close(changed, expected)
        assert (changed - model(one).last_hidden_state).abs().max() > 1e-2


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_in_a_batch_each_change_acts_as_it_does_alone(implementation):
    model, (one, *others) = bert(implementation)
    with torch.no_grad():
        seen = tuple(seen_of(model, each) for each in others)
    changes = [
        RemoveHead(1, 2, "resample"),
        RemoveHead((1, 2), None, "resample"),
        PatchHead(seen[0], 2, query=1),
        Together((HideKey(2), RemoveHead(2, 1, "mean"))),
        UniformHead(1, 3),
        *(RandomDirection(each, 4) for each in (UniformHead(1, 3), Temperature(3.0), HideKey(3, layer=2))),
    ]
    single = effects(
        model, lambda: model(one), lambda output: output.pooler_output[0], changes, others=seen, draws=3, noise=19
    )
    together = effects(
        model,
        model,
        lambda output: output.pooler_output,
        changes,
        inputs=one,
        others=others,
        draws=3,
        noise=19,
        batch=7,
    )
    for alone, batched in zip(single, together, strict=True):
        assert alone.change == batched.change
        close(alone.after, batched.after)
        close(alone.noise_floor, batched.noise_floor)
        # The floor is the largest of them.
        assert min(alone.size, alone.noise[0]) > 1e-3
    close(single[0].spread, together[0].spread)
    assert single[5].after.sub(single[4].after).abs().max() > 1e-3
