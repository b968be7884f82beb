"""A gradient that is asked for alone."""

from collections.abc import Iterator
from dataclasses import replace

from regard.jury.cases import Case
from regard.jury.claims import Claims
from regard.jury.law import Finding, Law, worst
from regard.jury.subject import RefusedCase, Subject

__all__ = ["ONE_GRADIENT"]


def _cases(claims: Claims) -> Iterator[Case]:
    if claims.gradients:
        case = Case(dtype=claims.usual, queries=3, keys=4)
        yield case
        if claims.bias:
            yield replace(case, bias="whole")
        if claims.mask:
            yield replace(case, mask="some", queries=19, keys=23)


def _judge(subject: Subject, case: Case) -> Finding:
    inputs = subject.make(case)
    right, bounds = subject.expected(inputs), subject.bounds(inputs)
    findings = []
    for name in inputs.wanted:
        leaves = {each: tensor.detach() for each, tensor in inputs.wanted.items()}
        leaves[name] = leaves[name].clone().requires_grad_()
        options = subject.options(inputs)
        if "bias" in leaves and subject.claims.bias is not None:
            options[subject.claims.bias] = leaves["bias"]
        output = subject.call(leaves["query"], leaves["key"], leaves["value"], options)
        if not output.requires_grad:
            raise RefusedCase(f"the output has no gradient where {name} alone wants one")
        found = subject.backward(output, {name: leaves[name]}, inputs.upward)
        label = f"gradient of {name}"
        findings.append(worst(found, {label: right[label]}, bounds, inputs.query.dtype))
    return max(findings, key=lambda finding: (finding.ratio, finding.error))


ONE_GRADIENT = Law(
    "one_gradient",
    "A gradient is the same where one tensor alone wants it.",
    "Frozen layers, adapters and probes train on a wrong gradient, or on none.",
    _cases,
    _judge,
    "a gradient",
    script="one gradient",
)
