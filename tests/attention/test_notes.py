"""The numbers that the notes print, and the ones they leave out."""

import math

import pytest
import torch
import torch.nn.functional as F

from regard.attention import Relu, Softmax, attend, weigh

INPUTS = torch.tensor([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]], dtype=torch.float64)
QUERY = torch.tensor([[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]], dtype=torch.float64)
KEY = torch.tensor([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]], dtype=torch.float64)
VALUE = torch.tensor([[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]], dtype=torch.float64)

HAS_FLOAT64 = pytest.mark.skipif(
    torch.get_default_device().type != "cpu", reason="on a GPU no fused kernel takes float64, and fused refuses"
)

# Worked out once with 50 digits.
UNSCALED_WEIGHTS = [
    [0.0633789383, 0.4683105308, 0.4683105308],
    [6.0336648546e-6, 0.9820078649, 0.0179861014],
    [2.9538722303e-4, 0.8805369018, 0.1191677110],
]
UNSCALED = [
    [1.9366210617, 6.6831053083, 1.5950684075],
    [1.9999939663, 7.9639915951, 0.0539764053],
    [1.9997046128, 7.7598922547, 0.3583892947],
]
SCALED = [
    [1.8638742024, 6.3193710122, 1.7041886963],
    [1.9991095526, 7.8141235049, 0.2734720584],
    [1.9925551076, 7.4796355918, 0.7358772581],
]


def projected():
    return tuple((INPUTS @ matrix).view(1, 1, 3, 3) for matrix in (QUERY, KEY, VALUE))


class TestNote000:
    def test_its_intermediate_results(self):
        query, key, value = (tensor[0, 0].tolist() for tensor in projected())
        assert query == [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
        assert key == [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
        assert value == [[1, 2, 3], [2, 8, 0], [2, 6, 3]]

    # jit and banded refuse a plain dot product of all pairs, and say so: see test_plan.
    @pytest.mark.parametrize("engine", ["dense", pytest.param("fused", marks=HAS_FLOAT64), "blocked"])
    @pytest.mark.parametrize(("score", "expected"), [("dot", UNSCALED), ("scaled_dot", SCALED)])
    def test_its_outputs(self, score, expected, engine):
        output = attend(*projected(), score=score, engine=engine)[0, 0]
        torch.testing.assert_close(output, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-9)

    def test_its_weights_and_its_rounding(self):
        query, key, _ = projected()
        weights = weigh(query, key, score="dot")[0, 0]
        torch.testing.assert_close(weights, torch.tensor(UNSCALED_WEIGHTS, dtype=torch.float64), rtol=0, atol=1e-9)
        # The note prints softmax([2, 4, 4]) = [0, .5, .5] and a first output of [2, 7, 1.5]: to the nearest half.
        assert (weights[0] * 2).round().div(2).tolist() == [0, 0.5, 0.5]
        output = attend(*projected(), score="dot")[0, 0, 0]
        assert (output * 2).round().div(2).tolist() == [2, 6.5, 1.5]
        assert output.round().tolist()[:2] == [2, 7]


def test_note_002_forward():
    """The note's own function, transcribed: -1e9 for hidden scores, and k and v in the queries' length."""
    batch, length, heads, size = 2, 7, 3, 5
    torch.manual_seed(0)
    q, k, v = (torch.randn(batch, length, heads * size, dtype=torch.float64) for _ in range(3))
    mask = torch.rand(batch, 1, length, length) > 0.4
    mask[..., 0] = True  # a row that the mask leaves nothing is uniform in the note, and zeros here
    mask[0, 0, 3] = False

    def split(x):
        return x.view(batch, length, heads, size).transpose(1, 2)

    scores = torch.matmul(split(q), split(k).transpose(-1, -2)) / math.sqrt(size)
    scores = scores.masked_fill(mask == 0, -1e09)
    expected = torch.matmul(F.softmax(scores, dim=-1), split(v))

    output = attend(split(q), split(k), split(v), mask=lambda batch, head, query, key: mask[batch, 0, query, key])
    left = mask[:, 0].any(-1)
    for head in range(heads):
        torch.testing.assert_close(output[:, head][left], expected[:, head][left], rtol=1e-12, atol=1e-12)
    assert (output[0, :, 3] == 0).all()
    torch.testing.assert_close(expected[0, :, 3], split(v)[0].mean(1))


def test_note_001_normalisers_are_a_choice():
    scores = torch.tensor([[2.0, 4.0, 4.0, -1.0]])
    assert Softmax()(scores, None).sum().item() == pytest.approx(1.0)
    assert Relu()(scores, None).tolist() == [[0.5, 1.0, 1.0, 0.0]]


def test_note_000_why_divide_by_the_root_of_the_size():
    """q . k grows with the size; divided by its root, it doesn't: at any size the weights stay off 0 and 1."""
    torch.manual_seed(0)
    for size in (4, 64, 512):
        query, key = torch.randn(1, 1, 400, size), torch.randn(1, 1, 20, size)
        spread = (query @ key.mT).std().item()
        assert spread == pytest.approx(math.sqrt(size), rel=0.1)
        largest = weigh(query, key).max(-1).values.mean().item()
        assert 0.15 < largest < 0.35
    assert weigh(query, key, score="dot").max(-1).values.mean() > 0.9
