"""What PyTorch can do to `attend`: it works, or it says in one sentence that it doesn't; never a wrong number."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import filelock
import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, hessian, jacrev, jvp, stack_module_state, vmap
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from attention import compiled_checks
from regard.attention import attend, masks, positions, weights
from regard.attention.gradients import autograd
from regard.errors import ArgumentError, RefusedError
from regard.modules import MultiHeadAttention, Projections

BATCH, HEADS, KEYS, FEATURE, SAMPLES = 2, 2, 5, 4, 3

WEIGHTS = (
    weights.Softmax(),
    weights.Entmax(torch.tensor([1.3, 1.8], dtype=torch.float64)),
    weights.Sparsemax(),
    weights.Budget(2),
    weights.TopK(3),
)

# For each engine that auto may choose, and for those that keep something for their gradient, a call that it gets.
CALLS = {
    "fused": {},
    "fused causal": {"mask": "causal"},
    "banded": {"mask": masks.Window(1, 1)},
    "blocked": {"weights": "relu", "mask": "no_self"},
    "jit": {"weights": "entmax", "mask": "causal"},
    "edges": {"mask": masks.Edges(torch.tensor([[0, 1, 2, 4, 3], [1, 1, 0, 3, 4]]))},
    "relative": {
        "position": positions.RelativeKeys(torch.randn(3, FEATURE, dtype=torch.float64)),
        "weights": "sigmoid",
    },
}


@pytest.fixture
def three() -> list[Tensor]:
    """Query, key and value."""
    torch.manual_seed(0)
    return [torch.randn(BATCH, HEADS, KEYS, FEATURE, dtype=torch.float64) for _ in range(3)]


def loss(output: Tensor) -> Tensor:
    return output.square().sum()


def one_by_one(function, *samples: Tensor) -> Tensor:
    """What vmap has to be equal to."""
    return torch.stack([function(*sample) for sample in zip(*samples, strict=True)])


# PyTorch's own: the first use of its forward mode. The warning's category depends on the version of PyTorch, and its
# second half on that of Python.
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is ")
class TestDerivatives:
    @pytest.mark.parametrize("call", CALLS)
    def test_grad(self, call, three):
        ours = grad(lambda q, k, v: loss(attend(q, k, v, **CALLS[call])), argnums=(0, 1, 2))(*three)
        three = [tensor.clone().requires_grad_() for tensor in three]
        assert_close(ours, torch.autograd.grad(loss(attend(*three, **CALLS[call], engine="dense")), three))

    @pytest.mark.parametrize("call", ["fused causal", "blocked", "jit", "relative"])
    def test_jacrev_of_jacrev(self, call, three):
        query, key, value = (tensor[:1, :, :3] for tensor in three)

        def run(query: Tensor, engine: str = "auto") -> Tensor:
            return loss(attend(query, key, value, **CALLS[call], engine=engine))

        expected = torch.autograd.functional.hessian(lambda q: run(q, "dense"), query)
        assert_close(jacrev(jacrev(run))(query), expected)
        assert expected.abs().max() > 1e-3

    def test_second_order_with_dropout(self, three):
        """The seed travels with the tensors, but has no gradient."""
        query, key, value = (tensor[:1, :, :3] for tensor in three)

        def run(query: Tensor, engine: str = "auto") -> Tensor:
            return loss(attend(query, key, value, weights="relu", dropout=0.5, seed=3, engine=engine))

        expected = torch.autograd.functional.hessian(lambda q: run(q, "dense"), query)
        assert_close(jacrev(jacrev(run))(query), expected)
        assert expected.abs().max() > 1e-3

    def test_third_order_is_refused(self, three):
        query, key, value = three
        first = grad(lambda q: loss(attend(q, key, value, weights="relu")))
        second = grad(lambda q: loss(first(q)))
        with pytest.raises(RefusedError, match="up to the second"):
            grad(lambda q: loss(second(q)))(query)

    def test_gradients_of_operands(self, three):
        @dataclass(frozen=True)
        class Scaled:
            scale: Tensor

            def __call__(self, query: Tensor, key: Tensor) -> Tensor:
                return query @ key.mT * self.scale

        def run(scale: Tensor, engine: str = "auto") -> Tensor:
            return loss(attend(*three, score=Scaled(scale), engine=engine))

        scale = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        assert_close(grad(run)(scale.detach()), torch.autograd.grad(run(scale, "dense"), scale)[0])

    @pytest.mark.parametrize("of", range(3))
    @pytest.mark.parametrize("mask", [None, "causal"])
    @pytest.mark.parametrize("weights", [*WEIGHTS], ids=lambda weights: type(weights).__name__)
    def test_dense_has_forward_mode(self, weights, mask, of, three):
        def run(changed: Tensor) -> Tensor:
            return attend(*three[:of], changed, *three[of + 1 :], weights=weights, mask=mask, engine="dense")

        at, direction, step = three[of], torch.randn_like(three[of]), 1e-6
        _, tangent = jvp(run, (at,), (direction,))
        by_steps = (run(at + step * direction) - run(at - step * direction)) / (2 * step)
        assert_close(tangent, by_steps, rtol=1e-5, atol=1e-7)
        assert_close(hessian(lambda at: loss(run(at)))(at), jacrev(jacrev(lambda at: loss(run(at))))(at))

    def test_dense_has_forward_mode_for_a_trained_alpha(self, three):
        def run(alpha: Tensor) -> Tensor:
            return attend(*three, weights=weights.Entmax(alpha), mask="causal", engine="dense")

        at, direction, step = torch.tensor([1.3, 1.8]).double(), torch.tensor([1.0, -2.0]).double(), 1e-6
        _, tangent = jvp(run, (at,), (direction,))
        by_steps = (run(at + step * direction) - run(at - step * direction)) / (2 * step)
        assert tangent.abs().max() > 1e-3
        assert_close(tangent, by_steps, rtol=1e-5, atol=1e-7)

    @pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
    @pytest.mark.parametrize("call", CALLS)
    def test_many_gradients_at_once(self, call, three):
        """vmap around the gradient of what was computed outside of it; PyTorch's older way of that refuses."""
        query, key, value = (tensor.clone().requires_grad_() for tensor in three)
        output = attend(query, key, value, **CALLS[call])
        above = torch.randn(SAMPLES, *output.shape, dtype=output.dtype)

        def first(above: Tensor) -> tuple[Tensor, ...]:
            return torch.autograd.grad(output, (query, value), above, retain_graph=True)

        several, alone = vmap(first)(above), [first(one) for one in above]
        assert_close(list(several), [torch.stack(grads) for grads in zip(*alone, strict=True)])

    def test_many_gradients_at_once_the_older_way_are_refused(self, three):
        query, key, value = (tensor.requires_grad_() for tensor in three)
        output = attend(query, key, value, weights="relu")
        with pytest.raises(RuntimeError, match="Batching rule not implemented"):
            torch.autograd.grad(output, query, torch.ones(SAMPLES, *output.shape), is_grads_batched=True)


class TestSamples:
    @pytest.mark.parametrize("call", CALLS)
    def test_vmap_and_its_gradients(self, call, three):
        query, key, value = three
        queries = torch.randn(SAMPLES, *query.shape, dtype=query.dtype)

        def run(query: Tensor, key: Tensor = key) -> Tensor:
            return attend(query, key, value, **CALLS[call])

        assert_close(vmap(run)(queries), one_by_one(run, queries))
        first = grad(lambda *inputs: loss(run(*inputs)))
        assert_close(vmap(first)(queries), one_by_one(first, queries))
        # All three of them: then samples may be taken as one batch.
        every = [torch.randn(SAMPLES, *tensor.shape, dtype=tensor.dtype) for tensor in three]

        def whole(*three: Tensor) -> Tensor:
            return attend(*three, **CALLS[call])

        assert_close(vmap(whole)(*every), one_by_one(whole, *every))
        second = grad(lambda *three: loss(whole(*three)), argnums=2)
        assert_close(vmap(second)(*every), one_by_one(second, *every))

    def test_samples_are_one_batch_where_they_can(self, three, monkeypatch):
        every = [torch.randn(SAMPLES, *tensor.shape) for tensor in three]
        taken = []
        monkeypatch.setattr(autograd, "_sample", lambda *arguments: taken.append(1))
        vmap(grad(lambda *three: loss(attend(*three, mask="causal", weights="relu"))))(*every)
        assert not taken

    def test_what_tells_items_apart_keeps_samples_apart(self, three):
        """A user's mask knows the item of the batch, and dropout is keyed by it: a sample's items start from 0."""
        every = [torch.randn(SAMPLES, *tensor.shape) for tensor in three]

        def first(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return (batch == 0) | (query == key)

        for parts in ({"mask": first}, {"mask": masks.NoSelf() & first}, {"dropout": 0.5, "seed": 3}):

            def run(*three: Tensor, parts: dict = parts) -> Tensor:
                return attend(*three, **parts)

            assert_close(vmap(run)(*every), one_by_one(run, *every))

    def test_dimensions_of_samples(self, three):
        _, key, value = three
        queries, keys = torch.randn(*key.shape, SAMPLES), torch.randn(BATCH, SAMPLES, *key.shape[1:])

        def run(query: Tensor, key: Tensor) -> Tensor:
            return attend(query, key, value.float(), weights="relu")

        expected = one_by_one(run, queries.movedim(-1, 0), keys.movedim(1, 0)).movedim(0, 2)
        assert_close(vmap(run, in_dims=(4, 1), out_dims=2)(queries, keys), expected)
        chunks = vmap(run, in_dims=(4, 1), out_dims=2, chunk_size=2)
        assert_close(chunks(queries, keys), expected)

    def test_lengths_of_each_sample(self, three):
        lengths = torch.tensor([[5, 2], [1, 0], [3, 4]])
        for score in ("scaled_dot", lambda query, key: -(query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)):

            def run(lengths: Tensor, score=score) -> Tensor:
                return attend(*three, mask=masks.Lengths(lengths) & masks.Causal(), score=score)

            assert_close(vmap(run)(lengths), one_by_one(run, lengths))
        with pytest.raises(ArgumentError, match="`lengths`"):
            vmap(run)(lengths + 3)

    def test_tables_of_each_sample(self, three):
        query, key, value = three
        tables, queries = torch.randn(SAMPLES, 7, FEATURE).double(), torch.stack([query, -query])

        def first(table: Tensor, query: Tensor) -> Tensor:
            position = positions.RelativeKeys(table)
            return grad(lambda table: loss(attend(query, key, value, position=positions.RelativeKeys(table))))(
                position.table
            )

        nested = vmap(vmap(first, in_dims=(None, 0)), in_dims=(0, None))(tables, queries)
        assert_close(nested, torch.stack([torch.stack([first(table, q) for q in queries]) for table in tables]))

    def test_fewer_heads_of_keys(self, three):
        query, key, value = three
        queries = torch.stack([query, -query])

        def first(query: Tensor, key: Tensor) -> Tensor:
            return grad(lambda k: loss(attend(query, k, value[:, :1], weights="relu")))(key)

        assert_close(
            vmap(first, in_dims=(0, None))(queries, key[:, :1]), torch.stack([first(q, key[:, :1]) for q in queries])
        )

    def test_dropout(self, three):
        query, key, value = three
        queries = torch.stack([query, query])

        def run(query: Tensor, seed: int | None = None) -> Tensor:
            return attend(query, key, value, dropout=0.5, seed=seed)

        given = vmap(lambda q: run(q, 3))(queries)
        assert_close(given, torch.stack([run(query, 3)] * 2))
        same = vmap(run, randomness="same")(queries)
        assert torch.equal(same[0], same[1])
        for every in ((queries,), (queries, torch.stack([key, key]), torch.stack([value, value]))):
            different = vmap(lambda q, k=key, v=value: attend(q, k, v, dropout=0.5), randomness="different")(*every)
            assert not torch.equal(different[0], different[1])
        with pytest.raises(RuntimeError, match="randomness"):
            vmap(run)(queries)

    def test_gradients_drop_what_outputs_drop(self, three):
        query, key, value = three

        def run(value: Tensor) -> Tensor:
            return attend(query, key, value, dropout=0.5, weights="relu")

        torch.manual_seed(1)
        ours = grad(lambda value: loss(run(value)))(value)
        torch.manual_seed(1)
        value = value.clone().requires_grad_()
        assert_close(ours, torch.autograd.grad(loss(run(value)), value)[0])

    def test_dense_says_what_it_can_not(self, three):
        query, key, value = three
        with pytest.raises(RefusedError, match="vmap"):
            vmap(lambda q: attend(q, key, value, mask="causal", engine="dense"))(query.unsqueeze(0))


class TestCaptured:
    """A tensor that a part computes with, but doesn't declare, would be taken as it was before the transform."""

    PARTS: ClassVar = {
        "score": lambda scale: {"score": lambda query, key: query @ key.mT * scale},
        "weights": lambda scale: {"weights": lambda scores, allowed: scores.softmax(-1) * scale},
        "position": lambda scale: {"position": _Captures(scale)},
    }

    @pytest.mark.parametrize("part", PARTS)
    def test_is_refused(self, part, three):
        def run(scale: Tensor) -> Tensor:
            return loss(attend(*three, **self.PARTS[part](scale)))

        scale = torch.tensor([0.5, 1.0], dtype=torch.float64)
        for call in (lambda: grad(run)(scale[0]), lambda: vmap(run)(scale), lambda: vmap(grad(run))(scale)):
            with pytest.raises(ArgumentError, match="doesn't declare"):
                call()
        assert (
            vmap(lambda query: attend(query, *three[1:], **self.PARTS[part](scale[0])))(three[0].unsqueeze(0)).ndim == 5
        )

    def test_by_a_mask(self, three):
        query, key, value = three

        def run(table: Tensor, query: Tensor = query) -> Tensor:
            mask = lambda batch, head, row, column: (table[row, column] > 0) | (row == column)  # noqa: E731
            return attend(query * table.sum(), key, value, mask=mask)

        table = torch.randn(KEYS, KEYS, dtype=torch.float64)
        with pytest.raises(ArgumentError, match="doesn't declare"):
            vmap(run)(table.unsqueeze(0))
        # No gradient goes through a mask, so there is none to lose.
        ours = grad(lambda table: loss(run(table)))(table)
        table = table.requires_grad_()
        assert_close(ours, torch.autograd.grad(loss(run(table)), table)[0])


class TestModules:
    OPTIONS = (
        {},
        {"position": "relative", "weights": "entmax"},
        {"projections": Projections(kv_heads=1), "score": "additive", "position": "rotary"},
    )

    @pytest.mark.parametrize("options", OPTIONS)
    def test_ensembles(self, options):
        torch.manual_seed(0)
        modules = [MultiHeadAttention(8, heads=2, **options).double() for _ in range(SAMPLES)]
        parameters, _ = stack_module_state(modules)
        x = torch.randn(BATCH, KEYS, 8, dtype=torch.float64)

        def run(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
            return functional_call(modules[0], parameters, (x,), {"mask": "causal"})

        assert_close(vmap(run, in_dims=(0, None))(parameters, x), torch.stack([m(x, mask="causal") for m in modules]))
        first = vmap(grad(lambda parameters, x: loss(run(parameters, x))), in_dims=(0, None))(parameters, x)
        for i, module in enumerate(modules):
            loss(module(x, mask="causal")).backward()
            for name, parameter in module.named_parameters():
                assert_close(first[name][i], parameter.grad)

    @pytest.mark.parametrize("options", OPTIONS)
    def test_gradients_of_each_sample(self, options):
        torch.manual_seed(0)
        module = MultiHeadAttention(8, heads=2, **options).double()
        parameters = {name: parameter.detach() for name, parameter in module.named_parameters()}
        x = torch.randn(SAMPLES, KEYS, 8, dtype=torch.float64)

        def run(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
            return loss(functional_call(module, parameters, (x,)))

        each = vmap(grad(lambda parameters, x: run(parameters, x.unsqueeze(0))), in_dims=(None, 0))(parameters, x)
        together = grad(run)(parameters, x)
        for name in parameters:
            assert each[name].shape == (SAMPLES, *parameters[name].shape)
            assert_close(each[name].sum(0), together[name])


class TestAutocast:
    @pytest.mark.parametrize(
        "options",
        [{}, {"position": "relative", "weights": "entmax"}, {"score": "additive", "weights": "sigmoid"}],
    )
    def test_modules(self, options):
        torch.manual_seed(0)
        module = MultiHeadAttention(8, heads=2, **options)
        x = torch.randn(BATCH, 11, 8, requires_grad=True)
        full = module(x, mask="causal")
        expected = torch.autograd.grad(loss(full), (x, *module.parameters()))
        with torch.autocast(x.device.type, torch.bfloat16):
            output = module(x, mask="causal")
        assert output.dtype == torch.bfloat16
        assert_close(output.float(), full, rtol=0.05, atol=0.05)
        found = torch.autograd.grad(loss(output.float()), (x, *module.parameters()))
        for ours, wanted in zip(found, expected, strict=True):
            assert ours.dtype == wanted.dtype
            assert (ours - wanted).norm() <= 0.05 * wanted.norm() + 0.05

    @pytest.mark.parametrize("call", CALLS)
    def test_sums_are_not_narrowed(self, call, three):
        """Inside of autocast and outside of it, the same numbers make the same numbers."""
        three = [tensor.float().requires_grad_() for tensor in three]
        outside = attend(*three, **CALLS[call])
        expected = torch.autograd.grad(loss(outside), three)
        with torch.autocast(three[0].device.type, torch.bfloat16):
            inside = attend(*three, **CALLS[call])
            found = torch.autograd.grad(loss(inside), three)
            function_transforms = grad(lambda q: loss(attend(q, *three[1:], **CALLS[call])))(three[0].detach())
        assert torch.equal(inside, outside)
        assert_close(found, expected, rtol=0, atol=0)
        assert_close(function_transforms, expected[0])


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("parts", [{}, {"weights": "entmax"}, {"mask": "no_self"}])
def test_checkpoints_drop_the_same_again(reentrant, parts, three):
    def run(*three: Tensor) -> Tensor:
        return attend(*three, dropout=0.5, **parts)

    three = [tensor.requires_grad_() for tensor in three]
    torch.manual_seed(2)
    plain = run(*three)
    expected = torch.autograd.grad(loss(plain), three)
    torch.manual_seed(2)
    again = checkpoint(run, *three, use_reentrant=reentrant)
    torch.manual_seed(5)
    loss(again).backward()
    assert torch.equal(again, plain)
    assert_close([tensor.grad for tensor in three], list(expected))


class _Captures(positions.Position):
    """A position scheme that declares nothing."""

    def __init__(self, scale: Tensor):
        self.scale = scale

    def outputs(self, output, weights, at):
        return output * self.scale


def check_results(names: list[str]) -> dict[str, str | None]:
    """The checks of compiled_checks.py, run in a process without the suite's shape checks; each one's error."""
    folder = Path(__file__).parent
    ran = subprocess.run(
        [sys.executable, str(folder / "compiled_checks.py"), *names], capture_output=True, text=True, env={**os.environ}
    )
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    found = {line["name"]: line["error"] for line in lines}
    return {name: found.get(name, f"did not run:\n{ran.stderr}") for name in names}


@pytest.fixture(scope="module")
def compiled_results(request, tmp_path_factory) -> dict[str, str | None]:
    """Those of the checks that this run has, made once, whichever of its processes asks first."""
    law = test_compiled_and_exported.__name__
    names = [item.callspec.params["name"] for item in request.session.items if item.originalname == law]
    folder = tmp_path_factory.getbasetemp()
    path = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "compiled_results.json"
    with filelock.FileLock(f"{path}.lock"):
        if not path.exists():
            path.write_text(json.dumps(check_results(names)), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*compiled_checks.COMPILED, *compiled_checks.EXPORTED])
def test_compiled_and_exported(name, compiled_results):
    assert compiled_results[name] is None, compiled_results[name]


@pytest.mark.slow
def test_with_pytorchs_own_backend(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    assert check_results([*compiled_checks.SLOW]) == dict.fromkeys(compiled_checks.SLOW)
