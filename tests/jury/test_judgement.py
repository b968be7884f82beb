"""What the jury says: verdicts, the page, JSON, tests of pytest."""

import json
import math

import pytest
import torch
from torch.autograd import forward_ad

from jury.broken import PLAIN, Steps, written
from regard import check
from regard.errors import ArgumentError, UnknownNameError
from regard.jury import LAWS, Case, Claims, Finding, Judgement, Slope, Verdict, report
from regard.jury.law import worst
from regard.page import as_html, as_text
from regard.testing import laws


def no_delta():
    return written("no delta")


def test_the_page_says_what_fails_and_what_it_means():
    judgement = check(no_delta(), PLAIN, only=["outputs", "gradients", "bias"])
    assert not judgement.holds
    assert [verdict.law.name for verdict in judgement.failed] == ["gradients"]
    assert judgement.summary == "1 of its laws fails (gradients); 1 holds; 1 is not offered"
    assert repr(judgement).endswith(f": {judgement.summary})")
    text = as_text(report(judgement), width=100)
    assert "Training follows a direction that doesn't lower the loss" in text
    assert "import torch" not in text
    html = as_html(report(judgement, scripts=True))
    assert "<pre" in html
    assert "import torch" in html
    assert "://" not in html


def test_json_has_finite_numbers():
    judgement = check("sdpa", only=["hidden", "outputs"])
    found = json.loads(json.dumps(judgement.as_json(), allow_nan=False))
    assert [law["answer"] for law in found["laws"]] == ["holds", "fails"]
    assert found["laws"][1]["error"] is None
    assert "scaled_dot_product_attention" in found["laws"][1]["script"]


def test_an_error_is_no_conviction():
    def picky(query, key, value):
        if key.shape[2] > 2:
            raise ValueError("two keys at most\nand more")
        return Steps()(query, key, value)

    found = check(picky, PLAIN, only=["outputs", "gradients", "large_scores"])
    assert found["outputs"].answer == "holds"
    assert found["outputs"].note == "5 of 6 cases raise an error: ValueError: two keys at most"
    assert found["large_scores"].answer == "not offered"


def test_plain_attention_that_raises_is_not_acquitted():
    def none(query, key, value):
        raise ValueError("no")

    found = check(none, PLAIN, only=["outputs"])
    assert found["outputs"].answer == "not judged"
    assert not found.holds


def test_a_kernel_for_half_precision_alone_is_judged_in_it():
    def half(query, key, value):
        if query.dtype not in (torch.float16, torch.bfloat16):
            raise RuntimeError("half precision only")
        return Steps()(query, key, value)

    judgement = check(half, Claims(), only=["outputs", "gradients", "lengths", "large_scores", "half"])
    assert judgement.holds
    assert judgement["outputs"].cases == 5


def test_an_infinite_bound_excuses_no_nan():
    numbers = [torch.tensor([number], dtype=torch.float64) for number in (math.nan, 1.0, math.inf)]
    found = worst({"x": numbers[0]}, {"x": numbers[1]}, {"x": numbers[2]}, torch.float64)
    assert not found.holds
    assert worst({"x": numbers[1] * 9}, {"x": numbers[1]}, {"x": numbers[2]}, torch.float64).holds


def test_a_tangent_that_is_lost_is_told():
    def constant(query, key, value):
        return Steps()(*(forward_ad.unpack_dual(tensor).primal for tensor in (query, key, value)))

    verdict = check(constant, PLAIN, only=["forward_mode"])["forward_mode"]
    assert verdict.answer == "fails"
    assert "lost without an error" in verdict.note


def test_a_failing_case_is_made_small():
    smallest = check("sdpa", only=["alignment"])["alignment"].smallest
    assert str(smallest) == "1 x 1 x 1 query, 2 keys of 1, float32, causal"
    # What the law is about stays: hidden values are hidden by something.
    smallest = check("sdpa", only=["hidden"])["hidden"].smallest
    assert str(smallest) == "1 x 1 x 1 query, 2 keys of 1, float32, mask 'end', nan in a hidden value"


def test_wrong_shapes_and_dtypes_are_told():
    wrong = check(lambda query, key, value: query[..., :1], PLAIN, only=["outputs"])["outputs"]
    assert wrong.note == "output has the shape (1, 1, 2, 1), and must have (1, 1, 2, 2)"
    wrong = check(lambda query, key, value: query.half(), PLAIN, only=["outputs"])["outputs"]
    assert "must be in torch.float32" in wrong.note


def test_what_cannot_be_judged():
    with pytest.raises(UnknownNameError, match="`only` must be one of outputs"):
        check("sdpa", only=["output"])
    with pytest.raises(UnknownNameError, match="Did you mean 'sdpa'"):
        check("spda")
    with pytest.raises(ArgumentError, match="`function` must be a function or a name, but is 3"):
        check(3)


def test_no_law_without_a_sentence():
    for name, law in LAWS.items():
        assert name == law.name
        assert law.says.endswith(".")
        assert law.matters.endswith(".")


def test_a_ratio_is_infinite_where_nothing_is_allowed():
    assert Finding(0.0, 0.0).holds
    assert not Finding(1e-300, 0.0).holds
    assert not Finding(math.nan, 1.0).holds
    assert Finding(1.0, 2.0).ratio == 0.5


def test_slopes_are_reported_without_a_verdict():
    judgement = Judgement("f", "cpu", (), (Slope(512, 0.1, 10.0), Slope(1024, 0.4, 20.0)))
    assert judgement.exponents() == (pytest.approx(2), pytest.approx(1))
    assert "time grows as n^2.0 and memory as n^1.0" in as_text(report(judgement))
    unknown = Judgement("f", "cpu", (), (Slope(512, 0.1, None), Slope(1024, 0.4, None)))
    assert "memory as unknown" in as_text(report(unknown))
    assert unknown.as_json()["slopes"]["exponent_of_memory"] is None


@pytest.mark.slow
def test_slopes_are_measured():
    judgement = check("sdpa-math", only=["outputs"], slopes=True)
    assert [each.length for each in judgement.slopes] == [256, 512, 1024, 2048]
    assert judgement.holds


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced", "expanded"])
def test_a_case_makes_the_same_numbers_in_any_layout(layout):
    made = Case(batch=2, layout=layout).make()
    plain = Case(batch=2).make()
    first = slice(0, 1) if layout == "expanded" else slice(None)
    assert torch.equal(made.query[first], plain.query[first])
    assert layout == "contiguous" or not made.query.is_contiguous()


test_sdpa_math = laws("sdpa-math", only=["outputs", "gradients", "bias"])
test_own = laws(Steps(), only=["outputs", "grouped"])


def test_a_law_that_fails_is_a_test_that_fails():
    broken = laws(no_delta(), PLAIN)
    broken("outputs")
    with pytest.raises(pytest.fail.Exception, match=r"gradients fails: .*\n.*without any error") as failed:
        broken("gradients")
    assert "import torch" in str(failed.value)
    with pytest.raises(pytest.skip.Exception, match="claims no mask"):
        broken("mask")
    marks = {mark.name for mark in broken.pytestmark}
    assert marks == {"parametrize"}
    with pytest.raises(UnknownNameError):
        laws("sdpb")
    with pytest.raises(UnknownNameError):
        laws("sdpa", only=["x"])


def test_verdicts_compare_and_print():
    verdict = Verdict(LAWS["outputs"], "holds", Finding(0.0, 1.0), 3)
    assert verdict == Verdict(LAWS["outputs"], "holds", Finding(0.0, 1.0), 3)
    assert "import torch" not in repr(Verdict(LAWS["outputs"], "fails", script="import torch"))
