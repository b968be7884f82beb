"""Forward mode: tangents of every combination, and what is made of them."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.autograd.function import once_differentiable
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

from attention.cases import Arguments, numbers, pairwise, rotation
from regard.attention import Causal, Entmax, Lengths, Relative, Window, attend
from regard.attention.parts import flatten_part, unflatten_part
from regard.errors import ArgumentError, RefusedError
from regard.modules import EncoderLayer

F64 = torch.float64
# PyTorch's own: the first use of its forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is ")


def directions(call: Arguments) -> dict[str, Tensor]:
    """A direction for each tensor that has a gradient."""
    return {
        name: numbers(*t.shape, seed=i, dtype=t.dtype, grad=False) for i, (name, t) in enumerate(call.named.items())
    }


def tangent(call: Arguments, moved: dict[str, Tensor], **more: Any) -> Tensor:
    """The tangent of the output by dual numbers."""
    with forward_ad.dual_level():
        by_id = {id(call.named[name]): direction for name, direction in moved.items()}

        def dual(tensor: Tensor) -> Tensor:
            direction = by_id.get(id(tensor))
            return tensor.detach() if direction is None else forward_ad.make_dual(tensor.detach(), direction)

        spec, tensors = flatten_part(tuple(call.parts.values()))
        parts = dict(zip(call.parts, unflatten_part(spec, tuple(map(dual, tensors))), strict=True))
        three = dual(call.query), dual(call.key), dual(call.value)
        output = Arguments(*three, parts, call.rest)(attend, **more)
        return forward_ad.unpack_dual(output).tangent.clone()


def hold(call: Arguments) -> None:
    """The tangent and the gradient of the definition say the same of each direction above."""
    moved = directions(call)
    of_output = tangent(call, moved)
    for seed in range(3):
        above = numbers(*of_output.shape, seed=seed, dtype=of_output.dtype, grad=False)
        gradients = torch.autograd.grad(
            call(attend, engine="dense"), [*call.named.values()], above, materialize_grads=True
        )
        expected = [(gradient * moved[name]).sum() for name, gradient in zip(call.named, gradients, strict=True)]
        scale = sum(float((g * moved[n]).abs().sum()) for n, g in zip(call.named, gradients, strict=True))
        torch.testing.assert_close((above * of_output).sum(), sum(expected), rtol=0, atol=1e-12 * max(1.0, scale))


# Six hundred combinations: `make test-all` runs every second one.
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.exhaustive if place % 2 else pytest.mark.slow, id=str(case))
        for place, case in enumerate(pairwise())
    ],
)
def test_the_tangent_is_the_gradient_transposed(case):
    hold(case.make())


@pytest.mark.every_case
@pytest.mark.parametrize("case", rotation(dropout=(0.0, 0.3)), ids=str)
def test_the_tangent_is_the_limit_of_differences(case):
    call, step = case.make(), 1e-6
    moved = directions(call)

    def output(by: float) -> Tensor:
        at = {id(call.named[name]): call.named[name] + by * direction for name, direction in moved.items()}
        spec, tensors = flatten_part(tuple(call.parts.values()))
        parts = unflatten_part(spec, tuple(at.get(id(tensor), tensor) for tensor in tensors))
        three = (at[id(tensor)] for tensor in (call.query, call.key, call.value))
        return Arguments(*three, dict(zip(call.parts, parts, strict=True)), call.rest)(attend, engine="dense").detach()

    found, expected = tangent(call, moved), (output(step) - output(-step)) / (2 * step)
    # A best key may change within a step, which the limit doesn't see.
    if case.weights not in ("hard", "top_k"):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def heads(queries: int = 5, keys: int = 5, *, batch: int = 2, seed: int = 0) -> list[Tensor]:
    lengths = enumerate((queries, keys, keys))
    return [numbers(batch, 2, length, 4, seed=seed + i, grad=False) for i, length in lengths]


TRANSFORMED: dict[str, dict[str, Any]] = {
    "softmax": {},
    "causal": {"mask": "causal"},
    "entmax, window": {"weights": "entmax", "mask": Window(2, 1)},
    "sigmoid, lengths": {"weights": "sigmoid", "mask": Lengths([3, 2])},
    "relu, dropout": {"weights": "relu", "dropout": 0.3, "seed": 3},
    "relative keys": {"position": Relative(4, 2)},
}


@pytest.mark.parametrize("parts", TRANSFORMED.values(), ids=TRANSFORMED)
class TestTransforms:
    """Against reverse mode alone, of the definition."""

    @staticmethod
    def loss(parts: dict[str, Any], engine: str = "auto") -> Any:
        def run(*three: Tensor) -> Tensor:
            return attend(*three, engine=engine, **parts).pow(3).sum()

        return run

    def test_jacfwd(self, parts):
        query, key, value = heads()
        found = jacfwd(lambda q, v: attend(q, key, v, **parts), argnums=(0, 1))(query, value)
        expected = jacrev(lambda q, v: attend(q, key, v, engine="dense", **parts), argnums=(0, 1))(query, value)
        torch.testing.assert_close(found, expected)

    @pytest.mark.parametrize("which", [0, 1])
    def test_forward_over_reverse_and_reverse_over_forward(self, parts, which):
        three = heads(3)
        direction = numbers(*three[which].shape, seed=9, grad=False)

        def of(engine: str = "auto") -> Any:
            def run(moving: Tensor) -> Tensor:
                return self.loss(parts, engine)(*three[:which], moving, *three[which + 1 :])

            return run

        # The Hessian times a direction, from two reverse passes.
        _, pull = vjp(grad(of("dense")), three[which])
        (expected,) = pull(direction)
        assert expected.abs().max() > 1e-3
        torch.testing.assert_close(jvp(grad(of()), (three[which],), (direction,))[1], expected)
        torch.testing.assert_close(grad(lambda at: jvp(of(), (at,), (direction,))[1])(three[which]), expected)

    def test_one_tensor_by_another(self, parts):
        """The mixed derivative, forward over reverse."""
        query, key, value = heads(3)
        found = jacfwd(jacrev(self.loss(parts), 1), 2)(query, key, value)
        torch.testing.assert_close(found, jacrev(jacrev(self.loss(parts, "dense"), 1), 2)(query, key, value))

    def test_a_laplacian(self, parts):
        """The trace of the Hessian as physics-informed networks take it: vmap of jvp of grad."""
        query, key, value = heads(3)
        directions = torch.eye(query.numel(), dtype=F64).view(-1, *query.shape)

        def along(direction: Tensor) -> Tensor:
            _, change = jvp(grad(lambda q: self.loss(parts)(q, key, value)), (query,), (direction,))
            return (change * direction).sum()

        whole = jacrev(jacrev(lambda q: self.loss(parts, "dense")(q, key, value)))(query)
        trace = whole.reshape(query.numel(), -1).trace()
        torch.testing.assert_close(vmap(along)(directions).sum(), trace)

    def test_samples(self, parts):
        three, moved = ([torch.stack([*pair]) for pair in zip(heads(seed=a), heads(seed=b), strict=True)]
                        for a, b in ((0, 7), (20, 40)))  # fmt: skip

        def one(three: list[Tensor], moved: list[Tensor]) -> Tensor:
            return jvp(lambda *each: attend(*each, **parts), tuple(three), tuple(moved))[1]

        alone = [one([t[i] for t in three], [t[i] for t in moved]) for i in range(2)]
        torch.testing.assert_close(vmap(one)(three, moved), torch.stack(alone))


class TestHidden:
    """What is hidden has no effect on a tangent; what is seen has."""

    @pytest.mark.parametrize("of", range(3))
    @pytest.mark.parametrize("poison", [torch.nan, torch.inf, "largest"])
    @pytest.mark.parametrize(
        "parts",
        [{}, {"weights": "entmax"}, {"score": "cosine"}, {"position": Relative(4, 2)}, {"dropout": 0.2, "seed": 1}],
        ids=str,
    )
    @pytest.mark.parametrize("moves", [False, True], ids=["numbers", "tangents"])
    @pytest.mark.parametrize("mask", [Lengths([3, 5]), Lengths([3, 5]) & Causal()], ids=["lengths", "causal"])
    def test_of_padding(self, of, poison, parts, moves, mask):
        for dtype in (torch.float32, F64):
            three, moved = ([each.to(dtype) for each in heads(seed=seed)] for seed in (0, 10))
            clean = jvp(lambda *each: attend(*each, mask=mask, **parts), tuple(three), tuple(moved))
            changed = (moved if moves else three)[of]
            changed[0, :, 3:] = torch.finfo(dtype).max if poison == "largest" else poison
            found = jvp(lambda *each: attend(*each, mask=mask, **parts), tuple(three), tuple(moved))
            torch.testing.assert_close(found, clean)

    def test_what_overflows_where_it_is_hidden(self):
        query, key, value = (torch.ones(1, 1, 2, 4) for _ in range(3))
        large = torch.ones_like(key)
        large[0, 0, 1] = 3e38
        found = jvp(lambda k: attend(query, k, value, mask="causal"), (key,), (large,))[1]
        assert (found[0, 0, 0] == 0).all()

    def test_later_ones_are_not_seen_and_earlier_ones_are(self):
        three, moved = heads(), heads(seed=10)
        clean = jvp(lambda *each: attend(*each, mask="causal"), tuple(three), tuple(moved))[1]
        moved[1][:, :, 3] = torch.nan
        found = jvp(lambda *each: attend(*each, mask="causal"), tuple(three), tuple(moved))[1]
        torch.testing.assert_close(found[:, :, :3], clean[:, :, :3])
        assert found[:, :, 3:].isnan().all()

    def test_rows_that_see_nothing_do_not_move(self):
        three, moved = heads(), heads(seed=10)
        moved[0][0] = torch.nan
        found = jvp(lambda *each: attend(*each, mask=Lengths([0, 5])), tuple(three), tuple(moved))[1]
        assert (found[0] == 0).all()
        assert found[1].abs().max() > 0


def test_a_hessian():
    query, key, value = heads(2, batch=1)

    def loss(query: Tensor, engine: str = "auto") -> Tensor:
        return attend(query, key, value, mask="causal", engine=engine).pow(3).sum()

    torch.testing.assert_close(hessian(loss)(query), jacrev(jacrev(lambda q: loss(q, "dense")))(query))


def test_log_sums_move():
    three, moved = heads(), heads(seed=10)

    def run(*three: Tensor, engine: str = "auto") -> tuple[Tensor, Tensor]:
        return attend(*three, mask="causal", log_sums=True, engine=engine)

    found = jvp(run, tuple(three), tuple(moved))[1]
    torch.testing.assert_close(found, jvp(lambda *each: run(*each, engine="dense"), tuple(three), tuple(moved))[1])


def test_a_trained_alpha_moves():
    three = heads()
    alpha, direction = torch.tensor([1.3, 1.8], dtype=F64), torch.tensor([1.0, -2.0], dtype=F64)
    found = jvp(lambda a: attend(*three, weights=Entmax(a)), (alpha,), (direction,))[1]
    expected = jvp(lambda a: attend(*three, weights=Entmax(a), engine="dense"), (alpha,), (direction,))[1]
    assert expected.abs().max() > 1e-3
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_tangent_has_the_dtype_of_its_output(dtype):
    three, moved = ([each.to(dtype) for each in heads(seed=seed)] for seed in (0, 10))
    output, found = jvp(lambda *each: attend(*each, mask="causal"), tuple(three), tuple(moved))
    exact = jvp(
        lambda *each: attend(*each, mask="causal"), *(tuple(t.to(F64) for t in each) for each in (three, moved))
    )[1]
    assert output.dtype == found.dtype == dtype
    torch.testing.assert_close(found.to(F64), exact, rtol=0, atol=8 * torch.finfo(dtype).eps * float(exact.abs().max()))


@pytest.mark.parametrize("engine", ["auto", "dense"])
@pytest.mark.parametrize("parts", [{"mask": "causal"}, {"weights": "entmax"}, {"weights": "budget"}], ids=str)
def test_forward_over_forward_is_refused(parts, engine):
    query, key, value = heads()

    def run(query: Tensor) -> Tensor:
        return attend(query, key, value, engine=engine, **parts)

    with pytest.raises(RefusedError, match="forward mode over forward mode"):
        jvp(lambda q: jvp(run, (q,), (key,))[1], (query,), (value,))


SEVERAL: dict[str, dict[str, Any]] = {
    "softmax": {},
    "entmax": {"weights": "entmax"},
    "sigmoid, causal": {"weights": "sigmoid", "mask": "causal"},
    "a score of one's own": {"score": lambda query, key: torch.tanh(query @ key.mT)},
    "dropout": {"dropout": 0.3, "seed": 2},
}


@pytest.mark.parametrize("parts", SEVERAL.values(), ids=SEVERAL)
class TestDualNumbers:
    """Reverse mode while a level of dual numbers is active, or begun before it; transforms aren't involved."""

    @pytest.mark.parametrize("create_graph", [False, True])
    def test_of_a_gradient(self, parts, create_graph):
        query, key, value = heads()
        direction = numbers(*query.shape, seed=9, grad=False)
        found = []
        for engine in ("auto", "dense"):
            with forward_ad.dual_level():
                moving = forward_ad.make_dual(query.clone().requires_grad_(), direction)
                loss = attend(moving, key, value, engine=engine, **parts).pow(3).sum()
                (gradient,) = torch.autograd.grad(loss, moving, create_graph=create_graph)
                found.append(forward_ad.unpack_dual(gradient).tangent.detach().clone())
        torch.testing.assert_close(*found)

    @pytest.mark.parametrize("create_graph", [False, True])
    def test_of_an_output_from_before(self, parts, create_graph):
        query, key, value = heads()
        above, direction = (numbers(*query.shape, seed=seed, grad=False) for seed in (8, 9))
        found = []
        for engine in ("auto", "dense"):
            at = query.clone().requires_grad_()
            output = attend(at, key, value, engine=engine, **parts)
            with forward_ad.dual_level():
                (gradient,) = torch.autograd.grad(
                    output, at, forward_ad.make_dual(above, direction), create_graph=create_graph
                )
                found.append(forward_ad.unpack_dual(gradient).tangent.detach().clone())
        torch.testing.assert_close(*found)

    def test_backward_on_a_tangent_comes_after_the_level(self, parts):
        query, key, value = heads()
        direction = numbers(*query.shape, seed=9, grad=False)
        at = query.clone().requires_grad_()
        with forward_ad.dual_level():
            output = attend(forward_ad.make_dual(at, direction), key, value, **parts)
            change = forward_ad.unpack_dual(output).tangent
            with pytest.raises(RefusedError, match="when the level of dual numbers has ended"):
                torch.autograd.grad(change.pow(2).sum(), at, retain_graph=True)
        (found,) = torch.autograd.grad(change.pow(2).sum(), at)

        def loss(q: Tensor) -> Tensor:
            run = lambda q: attend(q, key, value, **(parts | {"engine": "dense"}))  # noqa: E731
            return jvp(run, (q,), (direction,))[1].pow(2).sum()

        torch.testing.assert_close(found, grad(loss)(query))


class _Once(torch.autograd.Function):
    """tanh, whose gradient PyTorch may not differentiate."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        ctx.save_for_backward(scores.tanh())
        return scores.tanh()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * (1 - ctx.saved_tensors[0].square())


def test_a_part_that_is_differentiable_once_is_refused():
    query, key, value = heads()

    def score(query: Tensor, key: Tensor) -> Tensor:
        return _Once.apply(query @ key.mT)  # pyright: ignore

    with (
        forward_ad.dual_level(),
        pytest.raises(RefusedError, match="once_differentiable"),
    ):
        attend(forward_ad.make_dual(query, key), key, value, score=score)
    at = query.clone().requires_grad_()
    (first,) = torch.autograd.grad(attend(at, key, value, score=score).pow(3).sum(), at, create_graph=True)
    with pytest.raises(RefusedError, match="once_differentiable"):
        first.sum().backward()


@pytest.mark.parametrize("transform", [lambda f: lambda x: jvp(f, (x,), (x,)), lambda f: grad(lambda x: f(x).sum())])
def test_a_part_that_draws_random_numbers_is_refused(transform):
    query, key, value = heads()

    def weights(scores: Tensor, allowed: Tensor | None) -> Tensor:
        return torch.softmax(scores * torch.rand_like(scores), -1)

    with pytest.raises(ArgumentError, match="draws random numbers"):
        transform(lambda q: attend(q, key, value, weights=weights))(query)


def test_a_constant_made_in_inference_mode_is_taken():
    (query, key, value), position = heads(), Relative(4, 2)
    with torch.inference_mode():
        constant = key.clone()
    found = jvp(lambda q: attend(q, constant, value, position=position), (query,), (key,))[1]
    expected = jvp(lambda q: attend(q, key, value, position=position), (query,), (key,))[1]
    torch.testing.assert_close(found, expected)


def test_a_step_of_a_consistency_model_trains():
    """The loss of sCM (Lu et al. 2025): the tangent of the network along its path, in the gradient of its weights."""
    torch.manual_seed(0)
    network = EncoderLayer(4, 2, hidden=8)
    # The gradient of a tangent through PyTorch's LayerNorm is wrong (2.13), as its own finite differences show.
    network.attention_norm, network.connected_norm = nn.RMSNorm(4), nn.RMSNorm(4)
    network.double()
    start, noise = numbers(2, 6, 4, seed=1, grad=False), numbers(2, 6, 4, seed=2, grad=False)
    parameters = {name: each.detach() for name, each in network.named_parameters()}

    def loss(parameters: dict[str, Tensor], mode: str) -> Tensor:
        def run(x: Tensor) -> Tensor:
            return functional_call(network, parameters, (x,))

        if mode == "forward":
            output, change = jvp(run, (start,), (noise,))
        else:
            step = 1e-5
            output, change = run(start), (run(start + step * noise) - run(start - step * noise)) / (2 * step)
        return (output - change).square().mean()

    gradients = grad(lambda each: loss(each, "forward"))(parameters)
    expected = grad(lambda each: loss(each, "differences"))(parameters)
    assert max(float(each.abs().max()) for each in expected.values()) > 1e-3
    torch.testing.assert_close(gradients, expected, rtol=1e-4, atol=1e-7)


def test_memory_is_linear():
    """All pairs of 20,000 tokens would take 3.2 GB."""
    three, moved = ([numbers(1, 1, 20_000, 8, seed=s + i, grad=False).float() for i in range(3)] for s in (0, 10))
    _, found = jvp(lambda *each: attend(*each, mask=Window(64, 64)), tuple(three), tuple(moved))
    near = [each[:, :, 9_900:10_100] for each in (*three, *moved)]
    _, expected = jvp(lambda *each: attend(*each, mask=Window(64, 64)), tuple(near[:3]), tuple(near[3:]))
    torch.testing.assert_close(found[:, :, 9_990:10_010], expected[:, :, 90:110], rtol=1e-4, atol=1e-5)
