"""A record of a model that generates: its calls share the keys that they have in common."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.inspection import watch

BATCH, HEADS, SIZE, STEPS = 2, 3, 4, 40


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Calling(nn.Module):
    def forward(self, query, key, value):
        return functional.scaled_dot_product_attention(query, key, value)


def seen_of(*calls):
    with watch(model := Calling()) as seen:
        for query, key, value in calls:
            # What a cache gives: tensors of its own at each step, which it may write over later.
            given = [each.clone() for each in (query, key, value)]
            model(*given)
            for each in given:
                each.zero_()
    for layer, call in zip(seen, calls, strict=True):
        assert torch.equal(layer.key, call[1])
        assert torch.equal(layer.value, call[2])
    assert max(seen.verify().values()) < 1e-6
    return seen


def kept(seen) -> int:
    """How many numbers of keys and values are in memory."""
    storages = {
        each.untyped_storage().data_ptr(): each.untyped_storage().size() // each.element_size()
        for layer in seen
        for each in (layer.key, layer.value)
    }
    return sum(storages.values())


def growing(steps=STEPS, first=5):
    query, key, value = (vectors(BATCH, HEADS, first + steps, SIZE, seed=seed) for seed in range(3))
    yield query[:, :, :first], key[:, :, :first], value[:, :, :first]
    for count in range(first + 1, first + steps + 1):
        yield query[:, :, count - 1 : count], key[:, :, :count], value[:, :, :count]


def test_memory_grows_with_the_length_and_not_with_its_square():
    seen = seen_of(*growing())
    assert len(seen) == STEPS + 1
    of_one_pass = 2 * BATCH * HEADS * (5 + STEPS) * SIZE
    assert kept(seen) < 5 * of_one_pass


def test_one_call_is_kept_without_room_for_others():
    (call,) = growing(steps=0)
    seen = seen_of(call)
    assert seen[0].key.is_contiguous()
    # Queries, keys and values lie in one block.
    assert kept(seen) == 3 * call[0].numel()


def test_the_keys_of_a_source_are_kept_once():
    query, key, value = (vectors(BATCH, HEADS, 6, SIZE, seed=seed) for seed in range(3))
    seen = seen_of(*((query[:, :, i : i + 1], key, value) for i in range(6)))
    assert len({layer.key.data_ptr() for layer in seen}) == 1


def test_two_texts_are_kept_apart():
    first, second = list(growing(steps=3)), [tuple(-each for each in call) for call in growing(steps=3)]
    seen_of(*first, *second, *first)


def test_keys_that_are_equal_only_at_first():
    query, key, value = (vectors(BATCH, HEADS, 6, SIZE, seed=seed) for seed in range(3))
    other = key.clone()
    other[:, :, 2] += 1
    seen_of((query, key[:, :, :4], value[:, :, :4]), (query, other, value), (query, key, -value))


def test_steps_that_are_taken_back():
    """As in assisted generation, where a guess may be refused: then fewer keys come, and others after them."""
    query, key, value = (vectors(BATCH, HEADS, 8, SIZE, seed=seed) for seed in range(3))
    other = torch.cat([key[:, :, :4], -key[:, :, 4:]], 2)
    seen_of(*((query, each[:, :, :count], value[:, :, :count]) for each, count in ((key, 4), (key, 8), (other, 6))))


def test_layers_that_share_a_module():
    """Each goes on with its own keys: smaller ones, as scores that are four times as large would be rounded more."""
    calls = [each for call in growing() for each in (call, tuple(part / 2 for part in call))]
    seen = seen_of(*calls)
    assert kept(seen) < 10 * 2 * BATCH * HEADS * (5 + STEPS) * SIZE


@pytest.mark.parametrize("change", [lambda each: each.double(), lambda each: each[:1], lambda each: each[..., :2]])
def test_other_sizes_and_types_begin_anew(change):
    calls = list(growing(steps=1))
    seen_of(*calls, tuple(map(change, calls[-1])))


def test_inference_mode():
    with torch.inference_mode():
        calls = list(growing(steps=3))
        seen_of(*calls)
