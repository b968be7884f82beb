"""The bounds hold for what they allow, and are not far above it."""

import pytest
import torch

from regard.jury import Case, Subject, rounding_bounds
from regard.jury.bounds import Precision
from regard.jury.candidates.sdpa import CLAIMS, sdpa_by


def exact(query, key, value):
    """Attention in float64, rounded once."""
    scores = query.double() @ key.double().mT / query.shape[-1] ** 0.5
    return (scores.softmax(-1) @ value.double()).to(query.dtype)


def test_precision():
    assert Precision.of(torch.bfloat16).unit == 2**-8
    assert Precision.of(torch.float16).sums == Precision.of(torch.float32).unit == 2**-24
    assert Precision.of(torch.float64).sums == 2**-53


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("magnitude", [0.1, 1.0, 4.0])
def test_one_rounding_is_within_it_and_three_are_not(dtype, magnitude):
    """A function that rounds its result alone stays within the bound, though the bound is less than three of them."""
    case = Case(dtype=dtype, batch=2, queries=7, keys=11, feature=8, value=8, magnitude=magnitude)
    subject = Subject(exact, CLAIMS)
    inputs = subject.make(case)
    found, right = subject.outcome(inputs), subject.expected(inputs)
    bounds = rounding_bounds(inputs, inputs.allowed())
    assert bounds.keys() == right.keys()
    unit = Precision.of(inputs.query.dtype).unit
    for name, wanted in right.items():
        error = (found[name].double() - wanted).abs()
        assert (error <= bounds[name]).all(), name
        if dtype in ("bfloat16", "float16") and magnitude == 1:
            # An operand and a result are rounded; half precision that rounds each term more often shows.
            assert bounds[name].median() < 20 * unit * wanted.abs().max()


def test_what_no_row_sees_counts_as_zero():
    case = Case(mask="end", queries=3, keys=3)
    plain = Subject(exact, CLAIMS).make(case)
    poisoned = Subject(exact, CLAIMS).make(Case(mask="end", queries=3, keys=3, poison="nan", place="hidden value"))
    for name, bound in rounding_bounds(plain, plain.allowed()).items():
        assert torch.equal(bound, rounding_bounds(poisoned, plain.allowed())[name])
        assert bound.isfinite().all()


def test_an_output_that_was_rounded_before_the_backward_breaks_it():
    """The gradient of few keys, where terms cancel: PyTorch's CPU kernel in bfloat16 is off by many bounds."""
    case = Case(dtype="bfloat16", heads=1, key_heads=1, queries=1024, keys=2, feature=8, value=8, same=True)
    off = {}
    for backend in ("FLASH_ATTENTION", "MATH"):
        subject = Subject(lambda *three, backend=backend: sdpa_by(backend, *three), CLAIMS)
        inputs = subject.make(case)
        found, right = subject.outcome(inputs), subject.expected(inputs)
        name = "gradient of query"
        off[backend] = ((found[name].double() - right[name]).abs() / subject.bounds(inputs)[name]).max()
    assert off["FLASH_ATTENTION"] > 50
    assert off["MATH"] < 1
