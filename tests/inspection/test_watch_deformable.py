"""`watch` of deformable attention: a weight for each pixel around the points that a query samples."""

import pytest
import torch

from regard.attention import Index, weigh
from regard.errors import ArgumentError
from regard.inspection import HideKey, RemoveHead, Seen, watch
from regard.inspection.capture.by_hand.rules import AsScores
from regard.inspection.capture.layers.deformable import pixels_of
from regard.inspection.capture.layers.sampled import Sampled

BATCH, QUERIES, HEADS, POINTS, SIZE = 2, 5, 3, 4, 6
LEVELS = [(4, 7), (2, 3)]
PIXELS = sum(height * width for height, width in LEVELS)


def given(seed: int = 0):
    """The arguments of the layer; a third of the points lie outside of the picture."""
    generator = torch.Generator().manual_seed(seed)
    shape = BATCH, QUERIES, HEADS, len(LEVELS), POINTS
    weights = torch.randn(*shape, generator=generator).flatten(3).softmax(-1).view(shape)
    return {
        "value": torch.randn(BATCH, PIXELS, HEADS, SIZE, generator=generator),
        "value_spatial_shapes": torch.tensor(LEVELS),
        "value_spatial_shapes_list": LEVELS,
        "level_start_index": torch.tensor([0, LEVELS[0][0] * LEVELS[0][1]]),
        "sampling_locations": torch.rand(*shape, 2, generator=generator) * 1.4 - 0.2,
        "attention_weights": weights,
        "im2col_step": 64,
    }


@pytest.fixture(params=["grounding_dino", "rf_detr", "deformable_detr"])
def layer(request):
    of = pytest.importorskip(f"transformers.models.{request.param}.modeling_{request.param}")
    return of.MultiScaleDeformableAttention()


def test_weights_are_what_the_layer_answers_to_single_pixels(layer):
    """The outputs are linear in the values, so that a pixel of 1 shows a column of the weights."""
    arguments = given()
    plain = layer(**arguments)
    with watch(layer, rows=QUERIES) as seen:
        output = layer(**arguments)
    assert torch.equal(plain, output)
    assert seen.verify()[""] < 1e-6
    own = torch.zeros(BATCH, HEADS, QUERIES, PIXELS)
    for pixel in range(PIXELS):
        single = torch.zeros(BATCH, PIXELS, HEADS, 1)
        single[:, pixel] = 1
        own[..., pixel] = layer(**{**arguments, "value": single}).transpose(1, 2)
    torch.testing.assert_close(seen[0].weights(), own, rtol=0, atol=1e-6)
    torch.testing.assert_close(seen[0].weights([3, 1]), own[:, :, [3, 1]], rtol=0, atol=1e-6)


def test_hand_worked_points_of_a_picture_of_two_by_two():
    """In the middle of a pixel, in the middle of the picture, at its corner, and outside."""
    points = torch.tensor([[0.25, 0.25], [0.5, 0.5], [0.0, 0.0], [2.0, 0.5]])
    places, shares = pixels_of(points, 2, 2)
    position = Sampled(places[None, None], shares[None, None])
    found = weigh(torch.zeros(1, 1, 4, 1), torch.zeros(1, 1, 4, 1), weights=AsScores(), position=position)
    expected = [[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.25, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    torch.testing.assert_close(found[0, 0], torch.tensor(expected))


def test_a_record_is_saved_in_linear_memory(tmp_path):
    of = pytest.importorskip("transformers.models.grounding_dino.modeling_grounding_dino")
    with watch(layer := of.MultiScaleDeformableAttention()) as seen:
        layer(**given())
    assert seen[0].position.places.shape == (BATCH, HEADS, QUERIES, len(LEVELS) * POINTS * 4)
    seen.save(tmp_path / "seen.safetensors")
    assert torch.equal(Seen.load(tmp_path / "seen.safetensors")[0].weights(), seen[0].weights())
    walk = seen[0].steps(query=2, head=1, item=1)
    torch.testing.assert_close(walk.weights.float(), seen[0].weights()[1, 1, 2], rtol=0, atol=1e-6)


def test_heads_can_be_removed_and_keys_not_hidden(layer):
    with watch(layer, changes=[RemoveHead(1, 2)]):
        output = layer(**given())
    assert not output[..., SIZE : 2 * SIZE].any()
    assert output[..., :SIZE].any()
    with pytest.raises(ArgumentError, match="follow no known rule"), watch(layer, changes=[HideKey(1)]):
        layer(**given())


def test_pairs_that_stand_apart_are_those_of_the_table():
    """Keys that aren't next to each other, as kernels along edges ask for them."""
    arguments = torch.tensor([[[[0, 2, 2], [1, 3, 0]]]]), torch.tensor([[[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]]])
    zero = torch.zeros(1, 1, 1, dtype=torch.long)
    at = Index(zero, zero, torch.tensor([[[0], [1]]]), torch.tensor([[[2, 0, 3]]]))
    found = Sampled(*arguments).scores(torch.zeros(1, 2, 3), torch.zeros(1, 2, 1), torch.zeros(1, 3, 1), at)
    torch.testing.assert_close(found, torch.tensor([[[0.5, 0.1, 0.0], [0.0, 0.6, 0.5]]]))
