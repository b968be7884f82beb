"""Outputs and gradients equal the definition, within rounding: plainly, with each argument, length and size."""

from collections.abc import Iterator
from dataclasses import replace

from regard.jury.cases import Case
from regard.jury.claims import Claims
from regard.jury.law import Finding, Law, worst
from regard.jury.subject import Subject

__all__ = [
    "BIAS",
    "CAUSAL",
    "GRADIENTS",
    "GROUPED",
    "LARGE_SCORES",
    "LENGTHS",
    "MASK",
    "OUTPUTS",
    "SCALE",
    "STRIDES",
    "compared",
    "outputs_alone",
]

BLOCK_EDGES = (15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)


def compared(subject: Subject, case: Case) -> Finding:
    """Output and gradients against the oracle's."""
    inputs, gradients = subject.make(case), subject.claims.gradients
    # Before the function is called, which may change its inputs: that is another law.
    right, bounds = subject.expected(inputs, gradients=gradients), subject.bounds(inputs)
    return worst(subject.outcome(inputs, gradients=gradients), right, bounds, inputs.query.dtype)


def outputs_alone(subject: Subject, case: Case) -> Finding:
    """The output, where no gradient is wanted: a function may take another way then."""
    inputs = subject.make(case)
    right, bounds = subject.expected(inputs, gradients=False), subject.bounds(inputs)
    return worst(subject.outcome(inputs, gradients=False), right, bounds, inputs.query.dtype)


def plain_cases(claims: Claims) -> Iterator[Case]:
    """From few numbers to many; lengths, sizes and dtypes that differ."""
    case = Case(dtype=claims.usual)
    yield replace(case, heads=1, key_heads=1, queries=2, keys=2, feature=2, value=2)
    yield case
    yield replace(case, batch=2, queries=3, keys=7)
    yield replace(case, batch=2, heads=3, key_heads=3, queries=19, keys=23, feature=8, value=8)
    if claims.value_size:
        yield replace(case, queries=7, keys=5, value=6)
    if "float64" in claims.dtypes and claims.usual != "float64":
        yield replace(case, dtype="float64", queries=7)
    yield replace(case, queries=70, keys=150, feature=64, value=64)


def _gradients(claims: Claims) -> Iterator[Case]:
    if claims.gradients:
        yield from plain_cases(claims)


def _lengths(claims: Claims) -> Iterator[Case]:
    case = Case(dtype=claims.usual, heads=1, key_heads=1)
    yield replace(case, queries=1, keys=1)
    yield replace(case, queries=1, keys=3)
    yield replace(case, queries=3, keys=1)
    yield replace(case, queries=0)
    yield replace(case, keys=0)
    yield replace(case, batch=0)
    for length in BLOCK_EDGES:
        yield replace(case, queries=length, keys=length, causal=bool(claims.causal))
        if length % 2:
            yield replace(case, queries=2, keys=length, mask="some" if claims.mask else "")


def _strides(claims: Claims) -> Iterator[Case]:
    case = Case(dtype=claims.usual, batch=2, queries=3, keys=3)
    for layout in ("transposed", "sliced", "expanded"):
        yield replace(case, layout=layout)
        yield replace(case, layout=layout, queries=17, keys=19, feature=8, value=8)
    if claims.gradients:
        for layout in ("transposed", "sliced", "one"):
            yield replace(case, upward_layout=layout)
            yield replace(case, upward_layout=layout, queries=17, keys=19, feature=8, value=8)


def _grouped(claims: Claims) -> Iterator[Case]:
    if claims.grouped:
        case = Case(dtype=claims.usual)
        yield replace(case, heads=2, key_heads=1, queries=1, keys=2)
        yield replace(case, heads=4, key_heads=2, queries=3, keys=5)
        yield replace(case, batch=2, heads=6, key_heads=2, queries=19, keys=33, feature=8, value=8)


def _scale(claims: Claims) -> Iterator[Case]:
    if claims.scale:
        case = Case(dtype=claims.usual)
        for scale in (1.0, 0.37, -0.5):
            yield replace(case, scale=scale, queries=2, keys=3)
        yield replace(case, scale=0.21, queries=19, keys=23, feature=8, value=8)


def _mask(claims: Claims) -> Iterator[Case]:
    if claims.mask:
        case = Case(dtype=claims.usual)
        for mask in ("some", "edge", "end"):
            yield replace(case, mask=mask, queries=3, keys=4)
            yield replace(case, mask=mask, batch=2, queries=19, keys=23 if mask != "edge" else 19)
        yield replace(case, mask="edge", queries=70, keys=70, heads=1, key_heads=1)


def _bias(claims: Claims) -> Iterator[Case]:
    if claims.bias:
        case = Case(dtype=claims.usual, bias="whole")
        yield replace(case, heads=1, key_heads=1, queries=1, keys=2)
        yield replace(case, batch=2, queries=3, keys=4)
        yield replace(case, batch=2, queries=19, keys=23)
        yield replace(case, bias="table", batch=3, queries=3, keys=4)
        yield replace(case, bias="table", batch=3, queries=19, keys=23)


def _causal(claims: Claims) -> Iterator[Case]:
    if claims.causal:
        for length in (2, 5, 19, 70):
            yield Case(dtype=claims.usual, causal=True, queries=length, keys=length)


def _large(claims: Claims) -> Iterator[Case]:
    case = Case(dtype=claims.usual)
    for magnitude in (30.0, 100.0, 1000.0):
        yield replace(case, magnitude=magnitude, queries=2, keys=3)
        yield replace(case, magnitude=magnitude, queries=19, keys=35)
    if "float16" in claims.dtypes:
        # Products beyond 65504, the largest number of float16: scores are sums of them, which belong in float32.
        yield replace(case, dtype="float16", magnitude=150.0, queries=3, keys=5, feature=64, value=64)


OUTPUTS = Law(
    "outputs",
    "The output equals softmax(query . key / sqrt(feature)) value, within rounding.",
    "The model computes another function than the one that was written down.",
    plain_cases,
    outputs_alone,
)
GRADIENTS = Law(
    "gradients",
    "The gradients of query, key and value are those of the definition, within rounding.",
    "Training follows a direction that doesn't lower the loss, without any error.",
    _gradients,
    compared,
    "a gradient",
)
SCALE = Law(
    "scale",
    "A scale that is given multiplies the products, in the output and in the gradients.",
    "A model that sets its own scale trains with another temperature.",
    _scale,
    compared,
    "a scale",
)
MASK = Law(
    "mask",
    "A mask hides exactly the pairs that it says, in the output and in the gradients.",
    "Items attend to what they must not see, or miss what they should.",
    _mask,
    compared,
    "a mask",
)
BIAS = Law(
    "bias",
    "A bias is added to the scores, and its gradient is right, also where all items share it.",
    "Learned positions (T5, Swin) train on a wrong gradient.",
    _bias,
    compared,
    "a bias",
)
CAUSAL = Law(
    "causal",
    "With causal, a query attends to no later key, in the output and in the gradients.",
    "A language model sees the word that it has to predict.",
    _causal,
    compared,
    "a causal rule",
)
LENGTHS = Law(
    "lengths",
    "Every length gives the same function: 0, 1, and one less and one more than a block.",
    "Batches with a length that the kernel's blocks don't divide train on wrong numbers.",
    _lengths,
    compared,
)
STRIDES = Law(
    "strides",
    "Results don't depend on how tensors lie in memory: transposed, sliced, expanded; nor on how the gradient does.",
    "A transpose before attention, or `sum()` behind it, changes what is learned.",
    _strides,
    compared,
)
GROUPED = Law(
    "grouped",
    "With fewer heads of keys, the heads i k to (i + 1) k - 1 of queries share head i of keys.",
    "Grouped-query models read the keys of another head.",
    _grouped,
    compared,
    "grouped heads",
)
LARGE_SCORES = Law(
    "large_scores",
    "Scores of thousands, of either sign, give finite and right outputs and gradients.",
    "exp overflows: the loss is NaN as soon as the logits grow.",
    _large,
    compared,
)
