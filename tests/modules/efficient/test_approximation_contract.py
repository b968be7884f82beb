"""What every approximation of attention keeps to, whatever it computes: padding, lengths, dtypes, state, causality."""

import functools
import inspect
from typing import Any

import pytest
import torch
from torch import nn

from modules.efficient.growth import Largest
from regard.attention import Causal, Lengths
from regard.errors import ArgumentError
from regard.modules import APPROXIMATIONS, Approximation, MultiHeadAttention, PerLayer, Projections
from regard.modules.make_part import make_part

HEADS, SIZE = 3, 4
LENGTHS = [13, 7, 1, 0]
# So small that a short sequence has several blocks and not a whole number of them.
SMALL = 4


class ByLength(Approximation):
    """For this file alone: an example that is right, so that the contract is tested where there is no other."""

    causal = True

    def __init__(self, heads, head_size):
        super().__init__()
        self.times = nn.Parameter(torch.randn(heads, 1, head_size))
        self.register_buffer("drawn", torch.randn(head_size))

    def approximate(self, query, key, value, *, real, causal):
        keys = (key * self.drawn.to(key)).sigmoid()
        if real is not None:
            keys = keys * real[:, None, :, None]
        both = torch.cat([keys * value, keys], dim=-1)
        sums = both.cumsum(2) if causal else both.sum(2, keepdim=True).expand_as(both)
        upper, lower = sums.chunk(2, dim=-1)
        return query.sigmoid() * self.times.to(query) * upper / (lower + 1e-6)


EVERY = {**APPROXIMATIONS, "example": ByLength}
CAUSAL = [(name, causal) for name, kind in EVERY.items() for causal in ((False, True) if kind.causal else (False,))]


def made(name: str, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    size = {EVERY[name].size_argument: SMALL} if EVERY[name].size_argument else {}
    part = PerLayer(functools.partial(EVERY[name], **size))
    return make_part("approximation", part, {}, heads=HEADS, head_size=SIZE).eval()


def drawn(name: str, batch: int, length: int) -> list[torch.Tensor]:
    """Query, key and value; the key is the query where it must be."""
    generator = torch.Generator().manual_seed(1)
    query, key, value = (torch.randn(batch, HEADS, length, SIZE, generator=generator) for _ in range(3))
    return [query, query.clone() if EVERY[name].shared_query_key else key, value]


def with_gradients(module, vectors, **options):
    """The output, and the gradients of query, key and value and of the parameters, of a sum with weights."""
    vectors = [each.detach().clone().requires_grad_() for each in vectors]
    output = module(*vectors, **options)
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    parameters = list(module.parameters())
    # Zero where something has no part in the output: the mean of random numbers doesn't need queries.
    return output.detach(), torch.autograd.grad(
        (output * weights).sum(), [*vectors, *parameters], allow_unused=True, materialize_grads=True
    )


@pytest.mark.parametrize("name", [name for name, kind in EVERY.items() if kind.size_argument])
def test_a_size_is_a_positive_integer_with_a_default(name):
    kind = EVERY[name]
    argument = inspect.signature(kind).parameters[kind.size_argument]
    assert isinstance(argument.default, int)
    sizes = {"heads": HEADS, "head_size": SIZE}
    needed = {each: sizes[each] for each in sizes if each in inspect.signature(kind).parameters}
    with pytest.raises(ArgumentError, match=f"`{kind.size_argument}` must be .* 1 or more, but is 0"):
        kind(**needed, **{kind.size_argument: 0})


@pytest.mark.parametrize(("name", "causal"), CAUSAL)
@pytest.mark.parametrize("poison", [float("nan"), float("inf"), 1e30])
def test_padding_does_not_matter(name, causal, poison):
    module, vectors = made(name), drawn(name, 4, 13)
    padding = torch.arange(13) >= torch.tensor(LENGTHS).unsqueeze(1)
    clean = [each.masked_fill(padding[:, None, :, None], 0.0) for each in vectors]
    poisoned = [each.masked_fill(padding[:, None, :, None], poison) for each in vectors]
    expected, gradients = with_gradients(module, clean, lengths=LENGTHS, causal=causal)
    found, poisoned_gradients = with_gradients(module, poisoned, lengths=LENGTHS, causal=causal)
    assert torch.equal(found, expected)
    assert not found.masked_select(padding[:, None, :, None]).any()
    for one, other in zip(gradients, poisoned_gradients, strict=True):
        assert torch.isfinite(one).all()
        assert torch.equal(one, other)
    for each in gradients[:3]:
        assert not each.masked_select(padding[:, None, :, None]).any()


@pytest.mark.parametrize(("name", "causal"), CAUSAL)
def test_an_item_of_a_batch_is_as_alone(name, causal):
    module, vectors = made(name), drawn(name, 4, 13)
    output, gradients = with_gradients(module, vectors, lengths=LENGTHS, causal=causal)
    for item, length in enumerate(LENGTHS):
        alone = [each[item : item + 1, :, :length].detach().clone().requires_grad_() for each in vectors]
        found = module(*alone, causal=causal)
        torch.testing.assert_close(found[0], output[item, :, :length], rtol=1e-4, atol=1e-5)
        weights = torch.linspace(-1, 1, output.numel()).view_as(output)[item : item + 1, :, :length]
        for one, whole in zip(
            torch.autograd.grad((found * weights).sum(), alone, allow_unused=True), gradients, strict=False
        ):
            own = torch.zeros(1, HEADS, length, SIZE) if one is None else one
            torch.testing.assert_close(own[0], whole[item, :, :length], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("lengths", [[2.5, 1.0], [True, False], [[2, 1]]])
def test_lengths_are_one_integer_for_each_item(name, lengths):
    with pytest.raises(ArgumentError, match=r"`lengths` of .* must be one integer for each item, but is torch"):
        made(name)(*drawn(name, 2, 3), lengths=torch.tensor(lengths))


@pytest.mark.parametrize(("name", "causal"), CAUSAL)
def test_items_may_be_in_any_order(name, causal):
    module, vectors, order = made(name), drawn(name, 4, 13), [2, 0, 3, 1]
    expected = module(*vectors, lengths=LENGTHS, causal=causal)[order]
    found = module(*(each[order] for each in vectors), lengths=[LENGTHS[item] for item in order], causal=causal)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "causal"), CAUSAL)
def test_any_length(name, causal):
    """0 and 1 included, and blocks that aren't full."""
    module = made(name)
    for length in (*range(10), 16, 23, 37):
        output, gradients = with_gradients(module, drawn(name, 2, length), causal=causal)
        assert output.shape == (2, HEADS, length, SIZE)
        assert torch.isfinite(output).all()
        assert all(torch.isfinite(each).all() for each in gradients)


@pytest.mark.parametrize(("name", "causal"), CAUSAL)
def test_full_lengths_are_as_none(name, causal):
    module, vectors = made(name), drawn(name, 2, 13)
    expected = module(*vectors, causal=causal)
    torch.testing.assert_close(module(*vectors, lengths=[13, 13], causal=causal), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "causal"), CAUSAL)
def test_sums_are_wide_and_outputs_have_the_dtype_of_the_queries(name, causal):
    module, vectors = made(name), [each.bfloat16() for each in drawn(name, 2, 13)]
    found = module(*vectors, lengths=[13, 5], causal=causal)
    assert found.dtype == torch.bfloat16
    expected = module(*(each.float() for each in vectors), lengths=[13, 5], causal=causal)
    assert expected.dtype == torch.float32
    assert torch.equal(found, expected.bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(module(*(each.float() for each in vectors), lengths=[13, 5], causal=causal), expected)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_module_may_have_any_dtype(name, dtype):
    module, vectors = made(name).to(dtype), [each.to(dtype) for each in drawn(name, 2, 13)]
    output, gradients = with_gradients(module, vectors, lengths=[13, 5])
    assert output.dtype == dtype
    assert all(torch.isfinite(each).all() for each in (output, *gradients))


@pytest.mark.parametrize("name", EVERY)
def test_it_is_saved_and_loaded(name):
    """What was drawn at random, too."""
    module, other, vectors = made(name, seed=0), made(name, seed=1), drawn(name, 2, 13)
    state = module.state_dict()
    other.load_state_dict(state)
    assert torch.equal(other(*vectors), module(*vectors))
    assert all(torch.equal(value, other.state_dict()[key]) for key, value in state.items())
    # Without parameters and random numbers, there is nothing to save.
    assert bool(state) or torch.equal(made(name, seed=2)(*vectors), module(*vectors))


@pytest.mark.parametrize("name", EVERY)
def test_a_seed_repeats_it(name):
    results = []
    for _ in range(2):
        module = made(name, seed=5).train()
        results.append(with_gradients(module, drawn(name, 2, 13), lengths=[13, 5]))
    (first, gradients), (second, others) = results
    assert torch.equal(first, second)
    assert all(map(torch.equal, gradients, others))


@pytest.mark.parametrize("name", EVERY)
def test_inputs_are_not_changed(name):
    module, vectors = made(name).train(), drawn(name, 2, 13)
    before = [each.clone() for each in vectors]
    module(*vectors, lengths=[13, 5])
    assert all(map(torch.equal, before, vectors))


@pytest.mark.parametrize("name", EVERY)
def test_a_causal_one_ignores_later_vectors_and_another_says_that_it_can_not(name):
    module, vectors = made(name), drawn(name, 2, 13)
    if not module.causal:
        with pytest.raises(ArgumentError, match=f"`causal` must be False for {type(module).__name__}"):
            module(*vectors, causal=True)
        return
    for position in range(13):
        later = [each.clone() for each in vectors]
        for each in later:
            each[:, :, position + 1 :] += 3.0
        expected, found = (module(*each, causal=True)[:, :, : position + 1] for each in (vectors, later))
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    # It does matter what comes before, and without `causal` what comes later.
    earlier = [each.clone() for each in vectors]
    for each in earlier:
        each[:, :, :6] += 3.0
    assert not torch.allclose(module(*earlier, causal=True)[:, :, 6:], module(*vectors, causal=True)[:, :, 6:])
    assert not torch.allclose(module(*vectors, causal=True), module(*vectors))


@pytest.mark.parametrize("what", [1e7, torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", [name for name, kind in EVERY.items() if kind.causal])
def test_a_causal_one_ignores_later_vectors_whatever_they_hold(name, padded, what):
    """From the first vector that isn't finite on, outputs are NaN; large ones leave no rounding behind."""
    module, vectors = made(name), drawn(name, 2, 23)
    lengths = [23, 19] if padded else None
    expected = module(*vectors, causal=True, lengths=lengths)
    for place in range(3):
        for position in (2, 7, 16):
            later = [each.clone() for each in vectors]
            for which in {place, 1 - place} if module.shared_query_key and place < 2 else {place}:
                later[which][:, :, position + 1 :] *= what
            found = module(*later, causal=True, lengths=lengths)
            seen = found[:, :, : position + 1], expected[:, :, : position + 1]
            torch.testing.assert_close(*seen, rtol=1e-6, atol=1e-6)
            if what != 1e7:
                assert torch.isnan(found[:, :, position + 1 : 19]).all()
            assert (found[1:, :, 19:] == 0).all() or not padded


@pytest.mark.parametrize("name", [name for name, kind in EVERY.items() if kind.causal])
def test_causal_outputs_of_a_sequence_that_is_cut_are_those_of_the_whole(name):
    """However large the vectors after the cut are."""
    module, vectors = made(name), drawn(name, 2, 150)
    for each in vectors[:2]:
        each[:, :, [9, 70, 140]] *= 10.0
    output, same = module(*vectors, causal=True), []
    for cut in (1, 9, 64, 70, 128, 140):
        found = module(*(each[:, :, :cut] for each in vectors), causal=True)
        same.append(torch.allclose(found, output[:, :, :cut], rtol=1e-4, atol=1e-4))
    # The exception, which its docstring states: the number of its buckets depends on the length.
    assert all(same) == (name != "reformer"), same


@pytest.mark.parametrize("name", [name for name, kind in EVERY.items() if kind.causal])
def test_no_gradient_comes_from_earlier_outputs(name):
    vectors = [each.requires_grad_() for each in drawn(name, 1, 13)]
    output = made(name)(*vectors, causal=True)
    for position in (0, 5, 11):
        for each in torch.autograd.grad(output[:, :, position].sum(), vectors, retain_graph=True, allow_unused=True):
            assert each is None or not each[:, :, position + 1 :].any()


@pytest.mark.parametrize(("name", "causal"), CAUSAL)
def test_no_tensor_is_of_all_pairs(name, causal):
    largest = []
    # With the default sizes, since the blocks of a long sequence may be compared with each other.
    module = make_part("approximation", PerLayer(EVERY[name]), {}, heads=HEADS, head_size=SIZE)
    for length in (1024, 2048):
        with Largest() as mode:
            with_gradients(module, drawn(name, 1, length), causal=causal)
        largest.append(mode.largest)
    assert largest[1] <= 2.2 * largest[0]
    assert largest[1] < 2048 * 2048


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_a_module_takes_its_name(name):
    """With the default sizes, on sequences that are shorter than any of them."""
    torch.manual_seed(3)
    projections = Projections(shared_key=EVERY[name].shared_query_key)
    module, other = (
        MultiHeadAttention(12, HEADS, projections=projections, approximation=name).eval() for _ in range(2)
    )
    vectors = torch.randn(3, 5, 12)
    mask = Lengths([5, 2, 0]) & Causal() if EVERY[name].causal else Lengths([5, 2, 0])
    output = module(vectors, mask=mask)
    assert torch.isfinite(output).all()
    # What remains of padding is the bias of the output.
    torch.testing.assert_close(output[2], module.output.bias.expand(5, -1))
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(vectors, mask=mask), output)
