"""What is checked of `attend` in compiled and exported programs, in a process of its own.

The test suite's shape checks wrap every function, which the compiler can't see through; so `test_transforms.py` runs
this file without them: `python compiled_checks.py NAME ...` prints a JSON line for each check, its name and its error.
"""

import dataclasses
import functools
import importlib
import json
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch._dynamo.testing
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from regard.attention import SCORES, WEIGHTS, attend, masks, positions, scores, weights
from regard.attention.compilation import call_text
from regard.errors import ArgumentError, RefusedError, UnknownNameError
from regard.modules import MultiHeadAttention, Projections
from regard.modules.make_part import make_part

COMPILED: dict[str, Callable[[], None]] = {}
EXPORTED: dict[str, Callable[[], None]] = {}
SLOW: dict[str, Callable[[], None]] = {}
INTERPRETED: dict[str, Callable[[], None]] = {}
"""Those that need TRITON_INTERPRET=1."""

SELF = 13


def tensors(keys: int = SELF, batch: int = 2, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Query, key and value that want gradients."""
    return [torch.randn(batch, 2, length, 6, dtype=dtype, requires_grad=True) for length in (keys, keys, keys)]


def compiled(function: Callable[..., Any], **options: Any) -> tuple[Callable[..., Any], Any]:
    """The function without graph breaks, and what counts how often it was compiled."""
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    return torch.compile(function, backend=counter, fullgraph=True, **options), counter


def with_grads(output: Tensor, inputs: Any) -> list[Tensor | None]:
    """The output and the gradients of a scalar made of it."""
    return [output, *torch.autograd.grad(output.square().sum(), list(inputs), allow_unused=True)]


def equal(one: Callable[..., Tensor], two: Callable[..., Tensor], inputs: Any, *rest: Any, also: Any = ()) -> None:
    """Both functions have the same output and gradients, from the same state of torch's generator."""
    found = []
    for function in (one, two):
        torch.manual_seed(7)
        found.append(with_grads(function(*inputs, *rest), (*inputs, *also)))
    assert_close(*found, rtol=1e-4, atol=1e-5, equal_nan=True)


def raises(error: type[Exception], words: str, call: Callable[[], Any]) -> None:
    """The call raises this error with these words in it."""
    with pytest.raises(error, match=re.escape(words)):
        call()


def distance(query: Tensor, key: Tensor) -> Tensor:
    """A score of a user's own."""
    return -(query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)


def squared(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """A normaliser of a user's own."""
    return torch.where(scores == -torch.inf, 0.0, scores).square()


def shifted(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """A mask of a user's own."""
    return (key + 2 * query + batch + head) % 3 != 0


@dataclasses.dataclass(frozen=True)
class Powered:
    """A score of a user's own with a tensor and a number."""

    scale: Tensor
    power: int = 2

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return (query @ key.mT) * self.scale**self.power


@dataclasses.dataclass(frozen=True)
class Shifting(positions.Position):
    """A position scheme of a user's own, with every hook."""

    strength: Tensor

    def heads(self, query, key, query_position, key_position):
        return query * (1 + 0.1 * query_position.unsqueeze(-1)), key * self.strength

    def scores(self, scores, query, key, at):
        return scores - self.strength * at.offset.abs().to(scores.dtype)

    def outputs(self, output, weights, at):
        return output + self.strength * (weights * at.offset.to(weights.dtype)).sum(-1, keepdim=True)


class Fixed:
    """A score of a user's own that is no dataclass."""

    def __init__(self, scale: float):
        self.scale = scale

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT * self.scale

    def scored(self, query: Tensor, key: Tensor) -> Tensor:
        return self(query, key)


class _Cosine(nn.Module):
    """A score of a user's own that is a module, and declares nothing."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return nn.functional.cosine_similarity(query.unsqueeze(-2), key.unsqueeze(-3), dim=-1)


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": dict,
    "causal": lambda: {"mask": "causal"},
    "dot, relu, window": lambda: {"score": "dot", "weights": "relu", "mask": masks.Window(2, 1)},
    "additive, sigmoid, no_self": lambda: {
        "score": scores.LearnedAdditive(6, heads=2),
        "weights": weights.LearnedSigmoid(SELF),
        "mask": "no_self",
    },
    "bilinear, softmax, documents": lambda: {
        "score": scores.LearnedBilinear(6),
        "weights": weights.LearnedSoftmax(heads=2),
        "mask": masks.Documents([0] * 5 + [1] * 8),
    },
    "cosine, sparsemax, prefix": lambda: {
        "score": scores.LearnedCosine(2),
        "weights": "sparsemax",
        "mask": masks.Prefix(3),
    },
    "entmax, relative": lambda: {"weights": "entmax", "position": positions.Relative(6, 3, on="both")},
    "trained alpha": lambda: {"weights": weights.LearnedEntmax(heads=2)},
    "top_k, causal": lambda: {"weights": weights.TopK(3), "mask": "causal"},
    "budget": lambda: {"weights": "budget"},
    "hard, bucketed": lambda: {"weights": "hard", "position": positions.Bucketed(heads=2, buckets=8, reach=9)},
    "edges, alibi": lambda: {
        "mask": masks.Edges(torch.randint(0, SELF, (2, 60))),
        "position": positions.Alibi(heads=2),
    },
    "rotary and a bias, lengths": lambda: {
        "position": positions.Rotary() + positions.Bias(torch.randn(2, SELF, SELF, requires_grad=True)),
        "mask": masks.Lengths([SELF, 4]) & masks.Causal(),
    },
    "blocks": lambda: {"mask": ~masks.Blocks(torch.eye(4, dtype=torch.bool), size=4) | masks.Causal()},
    "own": lambda: {
        "score": Powered(torch.tensor(0.7, requires_grad=True)),
        "weights": squared,
        "mask": masks.Causal() & shifted,
        "position": Shifting(torch.tensor(0.3, requires_grad=True)),
    },
    "own function, dropout": lambda: {"score": distance, "dropout": 0.3},
    "fewer heads of keys": lambda: {"weights": "entmax"},
    "dense": lambda: {"engine": "dense", "mask": "causal"},
}


# Each named part stands in one of them at least.
for _kind, _known in (("score", SCORES), ("weights", WEIGHTS)):
    for _part in _known:
        if _part not in " ".join(PARTS) and _part != "scaled_dot":
            PARTS[_part] = lambda kind=_kind, known=_known, part=_part: {
                kind: make_part(kind, part, known, head_size=6, heads=2)
            }


def _checked(name: str) -> Callable[[], None]:
    def check() -> None:
        torch.manual_seed(3)
        parts, (query, key, value) = PARTS[name](), tensors()
        if name == "fewer heads of keys":
            key, value = (tensor.detach()[:, :1].requires_grad_() for tensor in (key, value))
        held = [tensor for part in parts.values() for tensor in _trained(part)]

        def function(*three: Tensor) -> Tensor:
            return attend(*three, **parts)

        equal(function, compiled(function)[0], (query, key, value), also=held)

    return check


def _trained(part: Any) -> list[Tensor]:
    if isinstance(part, nn.Module):
        return list(part.parameters())
    if isinstance(part, Tensor):
        return [part] if part.requires_grad else []
    if dataclasses.is_dataclass(part):
        return [tensor for field in dataclasses.fields(part) for tensor in _trained(getattr(part, field.name))]
    return []


for _name in PARTS:
    COMPILED[f"parts: {_name}"] = _checked(_name)


def check(kind: dict[str, Callable[[], None]]) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Put a check into one of the lists."""

    def put(function: Callable[[], None]) -> Callable[[], None]:
        kind[function.__name__] = function
        return function

    return put


@check(COMPILED)
def lengths_that_change_are_seen() -> None:
    def inside(query: Tensor, key: Tensor, value: Tensor, lengths: Tensor) -> Tensor:
        return attend(query, key, value, mask=masks.Lengths(lengths) & masks.Causal())

    function, counter = compiled(inside)
    for lengths in ([SELF, 5], [3, 9], [0, 1]):
        equal(inside, function, tensors(), torch.tensor(lengths))
    assert counter.frame_count == 1
    outside = masks.Lengths(torch.tensor([SELF, 5]))

    def closed(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return attend(query, key, value, mask=outside)

    function, counter = compiled(closed)
    equal(closed, function, tensors())
    outside.both.copy_(torch.tensor([2, 7]))
    equal(closed, function, tensors())
    assert counter.frame_count == 1


@check(COMPILED)
def parameters_that_change_are_seen() -> None:
    part = positions.Relative(6, 3)

    def run(*three: Tensor) -> Tensor:
        return attend(*three, position=part)

    function, counter = compiled(run)
    for _ in range(2):
        equal(run, function, tensors(), also=[part.table])
        with torch.no_grad():
            part.table.add_(1.0)
    assert counter.frame_count == 1


@check(COMPILED)
def another_part_is_another_program() -> None:
    def run(query: Tensor, key: Tensor, value: Tensor, mask: Any, weights: Any = "softmax") -> Tensor:
        return attend(query, key, value, mask=mask, weights=weights)

    function, counter = compiled(run)

    def near(reach: int) -> Callable[..., Tensor]:
        return lambda batch, head, query, key: (query - key).abs() <= reach

    inputs = tensors()
    for mask in (masks.Window(2, 1), masks.Window(2, 1), masks.Window(3, 1), masks.Causal(), near(1), near(2)):
        assert_close(run(*inputs, mask), function(*inputs, mask))
    assert counter.frame_count == 5
    torch._dynamo.reset()
    scored = distance

    @functools.wraps(scored)
    def halved(query: Tensor, key: Tensor) -> Tensor:
        return scored(query, key) / 2

    function, counter = compiled(lambda *three, score: attend(*three, score=score))
    for score in (scored, halved, scored, halved):
        assert_close(function(*inputs, score=score), attend(*inputs, score=score))
    assert counter.frame_count == 2
    torch._dynamo.reset()
    function, _ = compiled(run)
    for temperature in (1.0, 2.0, 0.5, 0.25, 0.5):
        softmax = weights.Softmax(temperature)
        assert_close(run(*inputs, None, softmax), function(*inputs, None, softmax))


@check(COMPILED)
def parts_made_inside_are_parts() -> None:
    def run(query: Tensor, key: Tensor, value: Tensor, scale: Tensor) -> Tensor:
        mask = (masks.Window(3, 0) | masks.Prefix(2)) & (lambda batch, head, query, key: key != 1)
        return attend(query, key, value, score=Powered(scale, 3), mask=mask, weights=weights.Entmax(1.7))

    equal(run, compiled(run)[0], (*tensors(), torch.tensor(0.9, requires_grad=True)))


@check(COMPILED)
def objects_and_methods_of_the_users_own() -> None:
    part, inputs = Fixed(2.0), tensors()
    if torch.__version__ < "2.13":
        raises(torch._dynamo.exc.Unsupported, "from PyTorch 2.13 on", lambda: compiled(attend)[0](*inputs, score=part))
        return
    for score in (part, part.scored, _Cosine()):

        def run(*three: Tensor, score: Any = score) -> Tensor:
            return attend(*three, score=score)

        function, counter = compiled(run)
        part.scale = 2.0
        equal(run, function, inputs)
        part.scale = 3.0
        equal(run, function, inputs)
        assert counter.frame_count == 1

    def given(query: Tensor, key: Tensor, value: Tensor, part: Fixed) -> Tensor:
        return attend(query, key, value, score=part.scored)

    function, _ = compiled(given)
    for scale in (1.0, 2.0):
        equal(given, function, inputs, Fixed(scale))


@check(COMPILED)
def a_tensor_that_a_part_captures() -> None:
    scale, inputs = torch.tensor(0.3), tensors()

    def scored(query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT * scale

    def run(*three: Tensor) -> Tensor:
        return attend(*three, score=scored)

    function, _ = compiled(run)
    equal(run, function, inputs)
    scale.fill_(2.0)
    equal(run, function, inputs)
    scale.requires_grad_()
    raises(ArgumentError, "doesn't declare", lambda: function(*inputs))


@check(COMPILED)
def what_is_made_inside_and_captures_is_refused() -> None:
    def captures(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        gate = query.sum()
        return attend(query, key, value, score=lambda one, other: one @ other.mT * gate)

    def captures_a_number(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        gate = 0.5
        return attend(query, key, value, score=lambda one, other: one @ other.mT * gate)

    def makes(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return attend(query, key, value, score=Fixed(2.0))

    inputs = [tensor.detach() for tensor in tensors()]
    for function, words in (
        (captures, "captures a variable of it"),
        (captures_a_number, "captures a variable of it"),
        (makes, "can't keep a part of type Fixed"),
    ):
        raises(torch._dynamo.exc.Unsupported, words, lambda f=function: compiled(f)[0](*inputs))
        torch._dynamo.reset()
        # With a graph break it runs as it stands.
        assert_close(torch.compile(function, backend="aot_eager")(*inputs), function(*inputs))


@check(COMPILED)
def lengths_of_sequences_are_not_compiled_in() -> None:
    def run(*three: Tensor) -> Tensor:
        return attend(*three, mask="causal", weights="relu", position="rotary")

    function, counter = compiled(run)
    for length in (13, 17, 19):
        inputs = tensors(length)
        for tensor in inputs:
            torch._dynamo.mark_dynamic(tensor, 2)
        equal(run, function, inputs)
    assert counter.frame_count == 1
    torch._dynamo.reset()
    function, counter = compiled(run, dynamic=True)
    for length, batch in ((13, 3), (17, 2), (19, 5)):
        equal(run, function, tensors(length, batch))
    assert counter.frame_count <= 2


@check(COMPILED)
def dropout_differs_from_call_to_call_unless_a_seed_is_given() -> None:
    def run(query: Tensor, key: Tensor, value: Tensor, seed: int | None = None) -> Tensor:
        return attend(query, key, value, dropout=0.5, seed=seed)

    function, counter = compiled(run)
    inputs = tensors()
    assert (function(*inputs) != function(*inputs)).any()
    equal(run, function, inputs)
    assert counter.frame_count == 1
    for seed in (1, 2, 3, 2**40, -5, 2**63 - 1):
        assert_close(run(*inputs, seed), function(*inputs, seed))
    assert counter.frame_count <= 3
    large, _ = compiled(lambda *three: run(*three, seed=2**63 + 5))
    assert_close(run(*inputs, 2**63 + 5), large(*inputs))


@check(COMPILED)
def checkpoints_drop_the_same_again() -> None:
    def run(*three: Tensor) -> Tensor:
        return attend(*three, dropout=0.5, mask="causal")

    def kept(*three: Tensor) -> Tensor:
        return checkpoint(run, *three, use_reentrant=False)

    equal(run, compiled(kept)[0], tensors())


@check(COMPILED)
def what_is_hidden_cannot_matter() -> None:
    inputs = [tensor.detach() for tensor in tensors()]
    for tensor in inputs[1:]:
        tensor[:, :, -1] = torch.nan
    inputs = [tensor.requires_grad_() for tensor in inputs]

    def run(*three: Tensor) -> Tensor:
        return attend(*three, mask="causal")[:, :, :-1]

    function, _ = compiled(run)
    assert function(*inputs).isfinite().all()
    equal(run, function, inputs)


@check(COMPILED)
def errors_are_those_of_eager() -> None:
    query, key, value = tensors()
    for error, words, parts in (
        (UnknownNameError, "`score`", {"score": "dott"}),
        (UnknownNameError, "`engine`", {"engine": "fast"}),
        (ArgumentError, "must be a rule, not a tensor", {"mask": torch.ones(SELF, SELF)}),
        (ArgumentError, "`lengths`", {"mask": masks.Lengths([1, 99])}),
        (ArgumentError, "`dropout`", {"dropout": 2.0}),
        (RefusedError, "'fused' can't", {"engine": "fused", "mask": "no_self"}),
    ):
        torch._dynamo.reset()
        function, _ = compiled(lambda *three, parts=parts: attend(*three, **parts))
        raises(error, words, lambda function=function: function(query, key, value))
    torch._dynamo.reset()
    raises(ArgumentError, "`key`", lambda: compiled(attend)[0](query, key.detach()[..., :5], value))


@check(COMPILED)
def modules() -> None:
    for options in (
        {"position": "relative", "weights": "entmax", "dropout": 0.3},
        {"projections": Projections(kv_heads=1), "position": "rotary", "score": "additive"},
        {"projections": Projections(shared_key=True, shared_value=True), "score": "cosine"},
    ):
        torch._dynamo.reset()
        module = MultiHeadAttention(12, heads=2, **options)

        def run(x: Tensor, lengths: Tensor, module: nn.Module = module) -> Tensor:
            return module(x, mask=masks.Lengths(lengths) & "causal")

        function, _ = compiled(run)
        for length in (7, 11):
            x, lengths = torch.randn(3, length, 12, requires_grad=True), torch.tensor([length, 2, 0])
            equal(run, function, (x,), lengths, also=list(module.parameters()))
        module.eval()
        equal(run, function, (x,), lengths, also=list(module.parameters()))


@check(COMPILED)
def autocast() -> None:
    module = MultiHeadAttention(12, heads=2, position="relative", weights="entmax")

    def run(x: Tensor) -> Tensor:
        return module(x, mask="causal")

    x = torch.randn(3, 7, 12, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        function, _ = compiled(run)
        outputs = [run(x), function(x)]
    assert {output.dtype for output in outputs} == {torch.bfloat16}
    grads = [with_grads(output.float(), (x, *module.parameters())) for output in outputs]
    assert_close(*grads, rtol=2e-2, atol=2e-2)


@check(COMPILED)
def half_precision_keeps_nothing_rounded_for_the_gradient() -> None:
    """From an output rounded to bfloat16 the gradient of a float32 matrix would be off by 1e-2."""
    three = [t.detach().bfloat16() for t in tensors(keys=64)]
    for mask in (None, "causal"):
        found = []
        for function in (attend, compiled(attend)[0]):
            matrix = torch.randn(6, 6, generator=torch.Generator().manual_seed(0)).requires_grad_()
            output = function(*three, score=scores.Bilinear(matrix), mask=mask)
            assert output.dtype == torch.bfloat16
            found.append(torch.autograd.grad(output.float().square().sum(), matrix)[0])
        assert (found[0] - found[1]).abs().max() <= 1e-4 * found[0].abs().max()


@check(COMPILED)
def log_sums() -> None:
    for mask, dtype in ((None, torch.float32), ("causal", torch.bfloat16), ("no_self", torch.float32)):
        torch._dynamo.reset()

        def run(*three: Tensor, mask: Any = mask) -> Tensor:
            output, log_sums = attend(*three, mask=mask, log_sums=True)
            assert log_sums.dtype == torch.float32
            return torch.cat([output, log_sums.unsqueeze(-1)], -1)

        function, _ = compiled(run)
        for keys in (SELF, SELF + 4):
            three = tensors(keys, dtype=dtype)
            equal(run, function, three)
        with torch.no_grad():
            assert_close(function(*three), run(*three))
    function, _ = compiled(lambda *three: attend(*three, weights="relu", log_sums=True)[1])
    raises(ArgumentError, "`log_sums` are those of softmax", lambda: function(*tensors()))


@check(COMPILED)
def large_scores_have_the_gradient_of_tiles() -> None:
    """Weights sum to 1 in the gradient of the values too."""
    query, key, value = tensors(keys=64)
    output = compiled(attend)[0](1e5 * query.detach(), key, value)
    (gradient,) = torch.autograd.grad(output, value, torch.ones_like(output))
    assert abs(gradient.double().mean().item() - 1) < 2e-5
    for parts in ({"position": "rotary"}, {"position": "rotary", "mask": "causal"}, {"score": "cosine"}):
        for scale, above in ((1e3, 1.0), (1.0, torch.nan)):
            found = []
            for function in (attend, compiled(attend)[0]):
                three = [t.detach().clone().requires_grad_() for t in (scale * query, key, value)]
                output = function(*three, **parts)
                upward = torch.ones_like(output)
                upward[:, :, 40] = above
                found.append([t.nan_to_num(nan=7.0) for t in torch.autograd.grad(output, three, upward)])
            for one, eager in zip(*found, strict=True):
                assert_close(one, eager, rtol=1e-4, atol=1e-5)


@check(COMPILED)
def derivatives_that_a_compiled_function_has_not() -> None:
    query, key, value = tensors()

    def run(query: Tensor) -> Tensor:
        return attend(query, key, value, weights="relu")

    function, _ = compiled(run)
    (first,) = torch.autograd.grad(function(query).square().sum(), query, create_graph=True)
    raises(RuntimeError, "double backward", lambda: first.square().sum().backward())
    x = query.detach()

    def plain(x: Tensor) -> Tensor:
        return attend(x, key.detach(), value.detach(), weights="relu")

    for transform in (
        lambda f: torch.func.grad(lambda x: f(x).sum()),
        lambda f: lambda x: torch.func.vmap(f)(x.unsqueeze(0)),
    ):
        torch._dynamo.reset()
        function, _ = compiled(transform(plain))
        raises(torch._dynamo.exc.Unsupported, "RefusedError", lambda function=function: function(x))
        # With a graph break it runs as it stands; and so does what is compiled inside of a transform.
        torch._dynamo.reset()
        assert_close(torch.compile(transform(plain), backend="aot_eager")(x), transform(plain)(x))
        torch._dynamo.reset()
        assert_close(transform(torch.compile(plain, backend="aot_eager"))(x), transform(plain)(x))
    torch._dynamo.reset()
    function, _ = compiled(lambda x: torch.func.jvp(plain, (x,), (x,)))
    raises(torch._dynamo.exc.Unsupported, "RefusedError", lambda: function(x))
    torch._dynamo.reset()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        # PyTorch 2.14 or newer refuses by itself, before it traces the call: it writes "forward-mode".
        with pytest.raises(Exception, match=r"forward[- ]mode"):
            compiled(run)[0](dual)


@check(COMPILED)
def operators_keep_what_they_promise() -> None:
    task = call_text.as_text(("dot", "softmax", "causal", positions.RelativeKeys(torch.ones(3, 6))), 0.0, "auto")[0]
    plain = call_text.as_text(("dot", "softmax", "causal", None), 0.0, "auto")[0]
    inputs = tensors()
    table = torch.randn(3, 6, requires_grad=True)
    with warnings.catch_warnings():
        # PyTorch 2.14 or newer checks copies, which aren't leaves, and warns of itself.
        warnings.filterwarnings("ignore", "The .grad attribute of a Tensor that is not a leaf", UserWarning)
        torch.library.opcheck(torch.ops.regard.attend.default, (*inputs, [table], None, task))
        torch.library.opcheck(torch.ops.regard.attend.default, (*inputs, [], None, plain))
    bare = [tensor.detach() for tensor in inputs]
    kept = torch.ops.regard.attend_forward(*bare, [], None, plain)
    assert kept[1].numel()
    tests = ("test_schema", "test_faketensor")
    torch.library.opcheck(torch.ops.regard.attend_forward.default, (*bare, [], None, plain), test_utils=tests)
    for of, arguments in ((task, ([torch.randn(3, 6)], None, task, [])), (plain, ([], None, plain, list(kept)))):
        wanted = [0, 2, 3] if of is task else [0, 2]
        operator = torch.ops.regard.attend_backward.default
        torch.library.opcheck(operator, (torch.randn_like(bare[0]), *bare, *arguments, wanted), test_utils=tests)


@check(COMPILED)
def under_a_mode_that_turns_autograd_off() -> None:
    """Inside of such a mode an operator runs without autograd, which would make the gradients of a user's part 0."""
    part, inputs = Powered(torch.tensor(0.7, requires_grad=True)), tensors()

    def run(*three: Tensor) -> Tensor:
        return attend(*three, score=part, weights=squared)

    task = call_text.as_text((part, squared, None, None), 0.0, "auto")[0]
    with FlopCounterMode(display=False):
        found = with_grads(torch.ops.regard.attend(*inputs, [part.scale], None, task), (*inputs, part.scale))
    assert_close(found, with_grads(run(*inputs), (*inputs, part.scale)), rtol=1e-4, atol=1e-5)


@check(COMPILED)
def tensors_without_numbers() -> None:
    x = torch.zeros(2, 2, 5, 4, device="meta", requires_grad=True)
    attend(x, x, x, mask=masks.Lengths([3, 4])).sum().backward()
    assert x.grad.shape == x.shape
    with torch._subclasses.fake_tensor.FakeTensorMode():
        x = torch.zeros(2, 2, 5, 4, requires_grad=True)
        attend(x, x, x, mask="causal", weights="entmax").sum().backward()
        assert x.grad.shape == x.shape


class _Masked(nn.Module):
    def __init__(self, mask: Any, **options: Any):
        super().__init__()
        self.mask = mask
        self.attention = MultiHeadAttention(12, heads=2, **options)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.attention(x, mask=masks.Lengths(lengths) if self.mask == "lengths" else self.mask)


def _exported(strict: bool) -> None:
    length = torch.export.Dim("length", min=2, max=512)
    for mask, options in (
        (None, {}),
        ("causal", {"position": "rotary", "projections": Projections(kv_heads=1)}),
        ("lengths", {"position": "relative"}),
    ):
        module = _Masked(mask, **options)
        inputs = torch.randn(3, 7, 12), torch.tensor([7, 2, 0])
        program = torch.export.export(module, inputs, dynamic_shapes=({1: length}, None), strict=strict)
        inputs = torch.randn(3, 11, 12), torch.tensor([11, 5, 0])
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(program, Path(folder) / "program.pt2")
            loaded = torch.export.load(Path(folder) / "program.pt2").module()
        names = [name for name, _ in module.named_parameters()]
        found = []
        for one in (module, loaded):
            parameters = dict(one.named_parameters())
            found.append(with_grads(one(*inputs), [parameters[name] for name in names]))
        assert_close(*found)
        (first,) = torch.autograd.grad(loaded(*inputs).square().sum(), parameters[names[0]], create_graph=True)
        raises(RefusedError, "gradient of a gradient", lambda first=first: first.square().sum().backward())
        assert_close(program.run_decompositions().module()(*inputs), module(*inputs))


@check(EXPORTED)
def exported() -> None:
    _exported(strict=False)


@check(EXPORTED)
def exported_strictly() -> None:
    _exported(strict=True)


class _Merged(nn.Module):
    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        output, log_sums = attend(query, key, value, mask="causal", log_sums=True)
        return output * log_sums.sigmoid().unsqueeze(-1)


@check(EXPORTED)
def exported_with_log_sums() -> None:
    program = torch.export.export(_Merged(), tuple(tensors()))
    with tempfile.TemporaryDirectory() as folder:
        torch.export.save(program, Path(folder) / "program.pt2")
        loaded = torch.export.load(Path(folder) / "program.pt2").module()
    equal(_Merged(), loaded, tensors())


@check(EXPORTED)
def an_exported_program_is_good_in_its_own_process_and_version_alone() -> None:
    task = call_text.as_text((distance, "softmax", None, None), 0.0, "auto")[0]
    inputs = [tensor.detach() for tensor in tensors()]
    assert_close(torch.ops.regard.attend(*inputs, [], None, task), attend(*inputs, score=distance))
    elsewhere = task.replace(call_text._PROCESS, "0" * 32)
    raises(RefusedError, "only the process", lambda: torch.ops.regard.attend(*inputs, [], None, elsewhere))
    older = task.replace(call_text.__version__, "0.0.1", 1)
    raises(RefusedError, "regard 0.0.1", lambda: torch.ops.regard.attend(*inputs, [], None, older))


@check(SLOW)
def inductor() -> None:
    module = MultiHeadAttention(12, heads=2, position="relative", dropout=0.3)

    def run(x: Tensor, lengths: Tensor) -> Tensor:
        return module(x, mask=masks.Lengths(lengths) & "causal")

    function = torch.compile(run, fullgraph=True)
    for length in (7, 11):
        x, lengths = torch.randn(3, length, 12, requires_grad=True), torch.tensor([length, 2, 0])
        equal(run, function, (x,), lengths, also=list(module.parameters()))
    for parts in ({}, {"mask": "causal"}, {"weights": "entmax", "score": "cosine"}):
        torch._dynamo.reset()
        three = tensors()
        function = torch.compile(lambda *three, parts=parts: attend(*three, **parts), fullgraph=True)
        equal(lambda *three, parts=parts: attend(*three, **parts), function, three)


@check(INTERPRETED)
def by_the_kernels_of_triton() -> None:
    launch: Any = importlib.import_module("regard.attention.engines.triton.launch")
    forward = launch.forward
    for parts, dtype, shared, forwards in (
        ({"mask": "causal"}, torch.float32, 1, 1),
        ({"mask": "causal", "weights": "entmax"}, torch.bfloat16, 2, 1),
        ({"mask": "causal", "position": "rotary"}, torch.bfloat16, 1, 1),
        ({"mask": "no_self", "weights": "entmax", "position": positions.Relative(6, 2)}, torch.float32, 1, 1),
        ({"position": positions.Relative(6, 2, on="both", value_size=6)}, torch.float32, 1, 2),
        ({"weights": weights.LearnedSigmoid(SELF), "dropout": 0.3}, torch.float32, 1, 1),
    ):
        query, key, value = tensors(batch=1, dtype=dtype)
        key, value = (each[:, : 2 // shared].detach().requires_grad_() for each in (key, value))
        three = query, key, value

        def run(*three: Tensor, parts: dict[str, Any] = parts, engine: str = "triton") -> Tensor:
            return attend(*three, engine=engine, **parts)

        function, counter = compiled(run)
        # In half precision, the definition rounds otherwise.
        equal(functools.partial(run, engine="dense" if dtype == torch.float32 else "triton"), function, three)
        assert counter.frame_count == 1
        # What the gradient needs was kept, where one tensor holds it.
        with mock.patch.object(launch, "forward", side_effect=forward) as counted:
            function(*three).sum().backward()
        assert counted.call_count == forwards, (parts, counted.call_count)


def main(names: list[str]) -> None:
    """Run these checks and print how each ended."""
    warnings.simplefilter("error", UserWarning)
    warnings.filterwarnings("ignore", "The given buffer is not writable")  # PyTorch's own, as it loads a program
    every = COMPILED | EXPORTED | SLOW | INTERPRETED
    for name in names:
        torch._dynamo.reset()
        torch.manual_seed(0)
        try:
            every[name]()
            error = None
        except BaseException:
            error = traceback.format_exc()
        print(json.dumps({"name": name, "error": error}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(COMPILED | EXPORTED))
