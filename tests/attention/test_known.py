"""A call that was seen before is looked up: what depends on numbers, on a part that changed, or on a state, is not."""

import gc
import weakref

import pytest
import torch

from attention.cases import seeded
from regard.attention import Additive, Causal, Guided, LearnedAdditive, Lengths, Softmax, Window, attend, plan
from regard.attention.known import CALLS, _form, signature
from regard.errors import ArgumentError
from regard.inspection.explain.change_parts import Hidden, Where


def three(rows: int = 9, keys: int = 9, heads: int = 2, size: int = 4, **options) -> list[torch.Tensor]:
    generator = seeded(0)
    return [torch.randn(1, heads, length, size, generator=generator, **options) for length in (rows, keys, keys)]


def same_as_dense(given, **options):
    found, expected = (attend(*given, engine=engine, **options) for engine in ("auto", "dense"))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5, equal_nan=True)
    return found


def test_a_tensor_of_a_part_that_changes_in_place():
    vector, given = torch.linspace(-1, 1, 4), three()
    before = same_as_dense(given, score=Additive(vector), mask="causal")
    vector.mul_(-3)
    assert not same_as_dense(given, score=Additive(vector), mask="causal").equal(before)


def test_lengths_that_change_in_place():
    lengths, given = torch.tensor([7]), three()
    mask = Lengths(lengths)
    for _ in range(2):
        same_as_dense(given, mask=mask, weights="relu")
    lengths.fill_(3)
    assert not same_as_dense(given, mask=mask, weights="relu")[0, :, 3:].any()
    lengths.fill_(10)
    with pytest.raises(ArgumentError, match="`lengths` of the query must be from 0 to 9"):
        attend(*given, mask=mask, weights="relu")


def test_a_part_of_the_users_own_that_changes():
    class Scaled:
        scale: float | str = 1.0

        def __call__(self, query, key):
            return self.scale * query @ key.mT

    score, given = Scaled(), three()
    before = same_as_dense(given, score=score)
    score.scale = -2.0
    assert not same_as_dense(given, score=score).equal(before)
    score.scale = "a word"
    with pytest.raises(TypeError):
        attend(*given, score=score)


def test_a_module_whose_parameters_are_replaced():
    module, given = LearnedAdditive(4, bias=False), three()
    before = same_as_dense(given, score=module)
    module.vector = torch.nn.Parameter(-module.vector.detach())
    assert not same_as_dense(given, score=module).equal(before)
    module.vector = torch.nn.Parameter(torch.ones(5))
    with pytest.raises(ArgumentError, match="`score` must have a vector"):
        attend(*given, score=module)


def test_numbers_that_are_equal_but_mean_something_else():
    given = three(12, 12)
    keys, share = (same_as_dense(given, mask=Guided(width), weights="relu") for width in (1, 1.0))
    assert not keys.equal(share)


@pytest.mark.parametrize("mask", ["causal", Window(2, 0)])
@pytest.mark.parametrize("score", ["scaled_dot", Additive(torch.linspace(-1, 1, 4))])
def test_a_call_with_a_hidden_nan_after_one_without(mask, score):
    given = three()
    clean = same_as_dense(given, score=score, mask=mask)
    poisoned = [tensor.clone() for tensor in given]
    poisoned[1][..., -1, :], poisoned[2][..., -1, :] = torch.nan, torch.inf
    found = same_as_dense(poisoned, score=score, mask=mask)
    torch.testing.assert_close(found[..., :-1, :], clean[..., :-1, :])
    torch.testing.assert_close(same_as_dense(given, score=score, mask=mask), clean)


@pytest.mark.parametrize("options", [{"mask": "causal"}, {"mask": Window(2, 2), "weights": "relu"}])
def test_other_shapes_dtypes_and_heads(options):
    for given in (three(), three(5, 11), three(size=6), three(heads=4), three(dtype=torch.float64)):
        for _ in range(2):
            same_as_dense(given, **options)
    query, key, value = three(heads=4)
    same_as_dense((query, key[:, :2], value[:, :2]), **options)
    for _ in range(2):
        with pytest.raises(ArgumentError, match="`query` must have a multiple of the 3 heads"):
            attend(query, key[:, :3], value[:, :3], **options)


def test_what_was_found_in_inference_mode_or_a_transform_serves_no_other_call():
    options = {"mask": Window(1, 1), "score": Additive(torch.ones(4)), "weights": "sigmoid"}
    query, key, value = three(7, 7)
    with torch.inference_mode():
        expected = attend(query, key, value, **options)
    found = attend(query.requires_grad_(), key, value, **options)
    found.sum().backward()
    torch.testing.assert_close(found, expected)
    three_more = three(8, 8)
    torch.func.grad(lambda query: attend(query, *three_more[1:], engine="dense", **options).sum())(three_more[0])
    same_as_dense(three_more, **options)


def test_an_engine_that_is_named_is_no_other_calls():
    given = three()
    for engine in ("blocked", "auto", "fused", "auto"):
        attend(*given, mask="causal", engine=engine)
    assert plan(*given, mask="causal").engine == "fused"
    assert plan(*given, mask="causal", dropout=0.5).engine != "fused"


def test_equal_parts_have_one_signature():
    one, other, longer = (signature(Additive(torch.rand(n)), Softmax(2.0), Causal(), None) for n in (4, 4, 5))
    assert one
    assert other
    assert longer
    assert one[0] == other[0] != longer[0]
    assert signature(lambda query, key: query @ key.mT) is None
    assert signature(Causal() & (lambda batch, head, query, key: key > 2)) is None


def test_no_tensor_outlives_its_call_and_few_calls_are_remembered():
    vector = torch.linspace(-1, 1, 4)
    alive = weakref.ref(vector)
    query, key, value = three()
    attend(query.requires_grad_(), key, value, score=Additive(vector)).sum().backward()
    del vector
    gc.collect()
    assert alive() is None
    for length in range(2, 2 * CALLS):
        attend(
            query, key[..., :1, :].expand(1, 2, length, 4), value[..., :1, :].expand(1, 2, length, 4), weights="relu"
        )
    assert _form.cache_info().currsize == CALLS


def test_a_mask_with_tensors_that_hides_something_after_one_that_hid_nothing():
    given = three()
    for length in (9, 9, 4, 9):
        keys = [tensor.clone() for tensor in given[1:]]
        for tensor in keys:
            tensor[..., length:, :] = torch.nan
        for options in ({}, {"weights": "sigmoid"}, {"score": Additive(torch.ones(4))}):
            assert same_as_dense((given[0], *keys), mask=Lengths(key=[length]), **options).isfinite().all()


@pytest.mark.parametrize("where", [Where(item=1), Where(head=1), Where(item=0, head=0), Where()])
@pytest.mark.parametrize("heads", [2, 32])  # with 32, a tile of the longer call holds one item
def test_a_mask_of_one_item_or_head_hides_nothing_of_another(where, heads):
    given = [torch.randn(2, heads, 9, 4, generator=seeded(1)) for _ in range(3)]
    for _ in range(2):
        same_as_dense(given, mask=Hidden(where) & "causal", weights="relu")
        same_as_dense([tensor.repeat(1, 1, 30, 1)[:, :, :256] for tensor in given], mask=Hidden(where), weights="relu")
