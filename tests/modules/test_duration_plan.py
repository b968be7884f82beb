"""Outlines: where a frame is, how a recording is aligned, and what is learned in turns with it."""

import pytest
import torch

from regard.errors import ArgumentError
from regard.modules import DurationPlan, DurationPredictor


def outline(durations, counts, per_item=1, features=2):
    durations = torch.tensor(durations)
    frames = torch.arange(durations.numel() * features, dtype=torch.float32).reshape(*durations.shape, features)
    return DurationPlan(durations, frames, torch.tensor(counts), per_item)


def test_places_by_hand():
    """Two parts an item: of 2 and 4 frames, of 1 and 3; the second source has one item."""
    made = outline([[2.0, 4.0, 1.0, 3.0], [1.0, 1.0, 0.0, 0.0]], [4, 2], per_item=2)
    places, frames = made.at(0, 10)
    halves = [0.25, 0.75, 1.125, 1.375, 1.625, 1.875, 2.5, 3 + 1 / 6, 3.5, 3 + 5 / 6]
    torch.testing.assert_close(places[0], torch.tensor(halves, dtype=torch.float64) / 2 - 0.5)
    assert places[1].tolist() == [-0.25, 0.25, *[0.5] * 8]
    assert (frames[0, :, 0] / 2).tolist() == [0, 0, 1, 1, 1, 1, 2, 3, 3, 3]
    assert (frames[1, :, 0] / 2).tolist() == [4, *[5] * 9]


def test_a_later_frame_alone_as_among_all():
    made = outline([[2.3, 0.4, 5.1]], [3])
    together = made.at(0, 12)
    for first in range(11):
        for whole, part in zip(together, made.at(first, 2), strict=True):
            torch.testing.assert_close(part, whole[:, first : first + 2])


def test_a_place_is_one_of_the_source_whatever_is_said():
    made = outline([[0.0, 0.0, 1e9], [1e-30, 2.0, 0.0]], [3, 2])
    places, frames = made.at(0, 50)
    assert bool((places.diff(dim=1) >= 0).all())
    assert bool(((places >= -0.5) & (places <= torch.tensor([[2.5], [1.5]]))).all())
    assert bool(frames.isfinite().all())


def test_when_each_item_begins_by_hand():
    durations = torch.tensor([[2.0, 1.0, 0.5, 4.0], [3.0, 1.0, 0.0, 0.0]])
    outline = DurationPlan(durations, torch.zeros(2, 4, 1), torch.tensor([4, 2]), per_item=2)
    assert outline.starts().tolist() == [[0.0, 3.0], [0.0, 4.0]]


def test_a_source_of_nothing():
    nothing = DurationPlan(torch.zeros(1, 0), torch.zeros(1, 0, 2), torch.tensor([0]), 1)
    for made in (outline([[0.0, 0.0]], [0]), nothing):
        places, frames = made.at(1, 3)
        assert places.tolist() == [[0.0] * 3]
        assert frames.tolist() == [[[0.0, 0.0]] * 3]


def test_a_recording_is_put_to_what_it_is_like():
    """Frames of 1, 5 and 3, a little off, belong to the parts that expect 1, 5 and 3."""
    made = DurationPlan(
        torch.ones(1, 3), torch.tensor([[[1.0], [5.0], [3.0]]], requires_grad=True), torch.tensor([3]), 1
    )
    recorded = torch.tensor([[[1.2], [0.7], [4.0], [5.5], [4.4], [2.9], [0.0], [0.0]]])
    found = made.aligned(recorded, torch.tensor([6]))
    assert found.durations.tolist() == [[2, 3, 1]]
    assert not found.durations.requires_grad
    assert made.even(torch.tensor([6])).durations.tolist() == [[2, 2, 2]]


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64])
def test_recordings_of_another_type_of_number(kind):
    made = DurationPlan(torch.ones(1, 2), torch.tensor([[[1.0], [5.0]]]).to(kind), torch.tensor([2]), 1)
    assert made.aligned(torch.tensor([[[1.0], [4.5], [5.0]]]), torch.tensor([3])).durations.tolist() == [[1, 2]]


def test_it_learns_where_each_kind_begins_though_nobody_says():
    """Three kinds of items, each with two sounds in turn that last a time of their own, joined in any order."""
    draws = torch.Generator().manual_seed(1)
    sounds = torch.tensor([[0.0, 4.0], [8.0, -4.0], [-8.0, 12.0]])
    times = torch.tensor([[2, 5], [4, 2], [3, 3]])
    kinds = torch.randint(0, 3, (60, 4), generator=draws)
    strings = [torch.repeat_interleave(sounds[each].flatten(), times[each].flatten()) for each in kinds]
    lengths = torch.tensor([len(each) for each in strings])
    recorded = torch.nn.utils.rnn.pad_sequence(strings, batch_first=True).unsqueeze(2)
    recorded = recorded + 0.3 * torch.randn(recorded.shape, generator=draws)
    torch.manual_seed(2)
    outliner = DurationPredictor(3, features=1, per_item=2, rate=0.2)
    optimizer = torch.optim.Adam(outliner.parameters(), lr=0.1)
    counts = torch.full((60,), 4)
    real = torch.arange(recorded.shape[1]) < lengths[:, None]
    for turn in range(300):
        own = outliner(torch.eye(3)[kinds], counts)
        found = own.even(lengths) if turn < 60 else own.aligned(recorded, lengths)
        near = (found.at(0, recorded.shape[1])[1] - recorded).abs().squeeze(2)[real].mean()
        loss = near + (own.durations.log1p() - found.durations.log1p()).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    learned = outliner(torch.eye(3)[None], torch.tensor([3]))
    torch.testing.assert_close(learned.frames.detach().reshape(3, 2), sounds, atol=0.5, rtol=0)
    torch.testing.assert_close(learned.durations.detach().reshape(3, 2), times.float(), atol=0.4, rtol=0)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_a_rate_that_can_t_be(rate):
    with pytest.raises(ArgumentError, match="`rate` must be"):
        DurationPredictor(3, 2, per_item=1, rate=rate)


def test_an_item_has_parts():
    with pytest.raises(ArgumentError, match="`per_item` must be"):
        DurationPredictor(3, 2, per_item=0, rate=1.0)
