"""Bad arguments get one clear sentence, and parts of the user's own are checked at the door."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from regard.attention import (
    SCORES,
    Causal,
    Dot,
    Learned,
    Lengths,
    Mask,
    Position,
    Relative,
    ScaledDot,
    Sinusoidal,
    Softmax,
    attend,
    weigh,
)
from regard.attention.parts import join, operands, split
from regard.errors import ArgumentError

X = torch.ones(2, 3, 5, 7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": torch.ones(5, 7)}, r"`query` must be a tensor \(batch, head, length, size\), but is \(5, 7\)"),
        ({"value": torch.ones(2, 3, 4, 7)}, r"`value` must be \(batch, head, key\) = \(2, 3, 5\)"),
        ({"key": torch.ones(1, 3, 5, 7), "value": torch.ones(1, 3, 5, 7)}, "the batch size of `query`, 2"),
        ({"key": torch.ones(2, 2, 5, 7), "value": torch.ones(2, 2, 5, 7)}, "multiple of the 2 heads of `key`"),
        ({"key": X.double()}, "`key` must be torch.float32"),
        ({"query": X.long(), "key": X.long(), "value": X.long()}, "must hold real numbers, but is torch.int64"),
        ({"score": "scaled_dto"}, "Did you mean 'scaled_dot'"),
        ({"weights": "sofmax"}, "Did you mean 'softmax'"),
        ({"weights": 3}, "`weights` must be a name"),
        ({"score": Dot}, r"did you mean Dot\(\)"),
        ({"position": "relativ"}, "Did you mean 'relative'"),
        ({"position": "relative"}, r"needs arguments.*pass Relative\(...\)"),
        ({"position": "sinusoidal"}, "added to the inputs, which attend never sees"),
        ({"position": Learned(7)}, "added to the inputs"),
        ({"key": torch.ones(2, 3, 5, 6)}, "`key` must have the feature size of `query`, 7, but has 6"),
        ({"position": lambda scores: scores}, "must be a name"),
        ({"position": Relative(5)}, r"must have a table \(2 reach \+ 1, 7\)"),
        ({"position": Relative(7, heads=2)}, "must have vectors for every head, but has them for 2"),
        ({"mask": lambda batch, head, query, key: 1.0 * (key > query)}, "must return a bool tensor"),
        ({"mask": Lengths([3]) | Lengths([3, 4])}, "one number for each of 2 items, but is 1"),
        ({"dropout": 1.5}, "`dropout` must be a share from 0 to 1, but is 1.5"),
        ({"engine": "quick"}, "`engine` must be one of auto, fused, blocked, dense"),
    ],
)
def test_bad_arguments(arguments, message, monkeypatch):
    # The shapes in the signature would speak first under the test hook; here the errors are what a user sees.
    bare = getattr(attend, "__wrapped__", attend)
    with pytest.raises(ArgumentError, match=message):
        bare(**({"query": X, "key": X, "value": X} | arguments))


class TestPartsOfOnesOwn:
    def test_a_score_with_a_declared_operand_gets_its_gradient(self):
        @dataclass(frozen=True)
        class Bilinear:
            matrix: Tensor

            def __call__(self, query, key):
                return query @ self.matrix @ key.mT

        matrix = torch.randn(7, 7, dtype=torch.float64, requires_grad=True)
        x = torch.randn(2, 3, 5, 7, dtype=torch.float64)
        gradients = []
        for engine in ("dense", "blocked"):
            output = attend(x, x, x, score=Bilinear(matrix), engine=engine)
            gradients.append(torch.autograd.grad(output.square().sum(), matrix)[0])
        torch.testing.assert_close(*gradients)
        assert gradients[0].abs().max() > 0

    @pytest.mark.parametrize("engine", ["auto", "dense", "blocked"])
    def test_a_module_declares_by_its_part(self, engine):
        class Temperature(nn.Module):
            def __init__(self):
                super().__init__()
                self.log = nn.Parameter(torch.zeros(()))

            def part(self):
                return Scaled(self.log)

        module = Temperature()
        x = torch.randn(2, 3, 5, 7)
        attend(x, x, x, weights=module, engine=engine).square().sum().backward()
        assert module.log.grad.abs() > 0
        torch.testing.assert_close(weigh(x, x, weights=module), weigh(x, x))

    @pytest.mark.parametrize("engine", ["auto", "blocked"])
    @pytest.mark.parametrize(
        ("kind", "make"),
        [
            ("score", lambda hidden: lambda query, key: hidden * (query @ key.mT)),
            ("score", lambda hidden: lambda query, key: (hidden if key.shape[-2] > 1 else 1) * (query @ key.mT)),
            ("weights", lambda hidden: lambda scores, allowed: torch.softmax(scores * hidden, -1)),
            ("weights", lambda hidden: lambda scores, allowed: scores.softmax(-1) * (1 if allowed is None else hidden)),
            ("position", lambda hidden: Hooked(heads=hidden)),
            ("position", lambda hidden: Hooked(outputs=hidden)),
        ],
    )
    def test_a_captured_tensor_that_wants_gradients_is_refused(self, kind, make, engine):
        """It would get none from tiles that are computed again; the definition gives it its gradient."""
        hidden = torch.ones((), requires_grad=True)
        with pytest.raises(ArgumentError, match=f"`{kind}` computes with a tensor that requires grad"):
            attend(X, X, X, **{kind: make(hidden)}, mask="causal", engine=engine)
        attend(X, X, X, **{kind: make(hidden.detach())}, mask="causal", engine=engine)
        with torch.no_grad():
            attend(X, X, X, **{kind: make(hidden)}, mask="causal", engine=engine)
        attend(X, X, X, **{kind: make(hidden)}, mask="causal", engine="dense").sum().backward()
        assert hidden.grad is not None

    @pytest.mark.parametrize("kind", ["score", "weights", "mask"])
    def test_a_subclass_of_a_built_in_part_is_a_part_of_its_own(self, kind):
        """The fused engine knows the built-in parts by their types; what a subclass computes it can't know."""

        @dataclass(frozen=True)
        class Half(ScaledDot):
            def __call__(self, query, key):
                return 0.5 * super().__call__(query, key)

        @dataclass(frozen=True)
        class Sharp(Softmax):
            def __call__(self, scores, allowed):
                return super().__call__(4 * scores, allowed)

        @dataclass(frozen=True)
        class Strict(Causal):
            def allows(self, at):
                return at.offset < 0

            def spans(self, frame):
                return Mask.spans(self, frame)

        part = {"score": Half(), "weights": Sharp(), "mask": Strict()}[kind]
        x = torch.randn(2, 3, 5, 7)
        torch.testing.assert_close(attend(x, x, x, **{kind: part}), attend(x, x, x, **{kind: part}, engine="dense"))

    @pytest.mark.parametrize("engine", ["dense", "blocked"])
    def test_a_score_without_derivative_at_the_padding(self, engine):
        """Cosine has none at zero, and zeros are what padding is made of."""

        def cosine(query, key):
            return (query / query.norm(dim=-1, keepdim=True)) @ (key / key.norm(dim=-1, keepdim=True)).mT

        x = torch.randn(2, 1, 5, 4)
        x[1, :, 3:] = 0
        x.requires_grad_()
        attend(x, x, x, score=cosine, mask=Lengths([5, 3]), engine=engine).square().sum().backward()
        assert torch.isfinite(x.grad).all()
        assert (x.grad[1, :, 3:] == 0).all()
        assert (x.grad[1, :, :3] != 0).all()

    def test_a_spec_hashes_and_holds_no_tensor(self):
        mask = Lengths([1, 2]) & (Lengths(key=[3, 3]) | ~Lengths(query=[0, 1]))
        spec, tensors = split(mask)
        assert hash(spec) == hash(split(mask)[0])
        assert [tensor.tolist() for tensor in tensors] == [[1, 2], [3, 3], [0, 1]]
        assert operands(join(spec, tensors)) == tensors


class Hooked(Position):
    """A position scheme that hides a tensor in its hooks."""

    def __init__(self, heads=None, outputs=None):
        self._heads, self._outputs = heads, outputs

    def heads(self, query, key, at):
        return (query, key) if self._heads is None else (query * self._heads, key)

    def outputs(self, output, weights, at):
        return output if self._outputs is None else output * self._outputs


@dataclass(frozen=True)
class Scaled:
    log: Tensor

    def __call__(self, scores, allowed):
        return torch.softmax(scores * self.log.exp(), -1)


class TestPositions:
    def test_relative_by_hand(self):
        """Two items, one feature: q = [1, 2], k = [0, 0], r = [-1, 0, 1] for a key before, beside, after."""
        position = Relative(1, reach=1)
        position.table.data = torch.tensor([[-1.0], [0.0], [1.0]])
        query, key = torch.tensor([[[[1.0], [2.0]]]]), torch.zeros(1, 1, 2, 1)
        scores = weigh(query, key, weights=lambda scores, allowed: scores, position=position)[0, 0]
        assert scores.tolist() == [[0.0, 1.0], [-2.0, 0.0]]

    def test_relative_is_the_sum_that_shaw_writes(self):
        torch.manual_seed(0)
        position = Relative(7, reach=2, heads=3).double()
        query, key = torch.randn(2, 3, 5, 7).double(), torch.randn(2, 3, 6, 7).double()
        offset = torch.arange(6).view(1, -1) - (torch.arange(5).view(-1, 1) + 1)
        vectors = position.table[:, offset.clamp(-2, 2) + 2]  # (head query key feature)
        expected = (query.unsqueeze(3) * (key.unsqueeze(2) + vectors)).sum(-1) / 7**0.5
        actual = weigh(query, key, weights=lambda scores, allowed: scores, position=position)
        torch.testing.assert_close(actual, expected)

    def test_relative_takes_any_length(self):
        position = Relative(4, reach=3)
        for length in (0, 1, 128, 129):
            x = torch.ones(1, 2, length, 4)
            assert attend(x, x, x, position=position).shape == x.shape

    def test_learned_says_where_it_ends(self):
        learned = Learned(4, length=128)
        assert learned(torch.zeros(1, 128, 4)).shape == (1, 128, 4)
        with pytest.raises(ArgumentError, match="at most 128 long, as many positions as were learned, but is 129 long"):
            learned(torch.zeros(1, 129, 4))

    def test_sinusoidal_takes_any_length_and_any_width(self):
        wave = Sinusoidal(5)(torch.zeros(1, 129, 5, dtype=torch.float64))[0]
        assert wave.shape == (129, 5)
        assert wave[128, 0].item() == pytest.approx(torch.tensor(128.0).double().sin().item())
        # Any fixed distance is a rotation of each pair: the inner product depends on the distance alone.
        pairs = wave[:, :4]
        assert (pairs[3] @ pairs[10]).item() == pytest.approx((pairs[100] @ pairs[107]).item())

    def test_relative_reach(self):
        with pytest.raises(ArgumentError, match="`reach` must be a distance, 0 or more, but is -1"):
            Relative(4, reach=-1)


def test_the_names_in_the_dict_are_the_names_in_the_errors():
    with pytest.raises(ArgumentError, match=", ".join(SCORES)):
        weigh(X, X, score="?")
