"""Sequence to sequence with frames as targets."""

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.inspection import watch
from regard.modules.guide import Guide
from regard.modules.projections import PROJECTIONS
from regard.modules.seq2seq.duration_plan import DurationPlan
from regard.modules.seq2seq.frame_seq2seq import FrameSeq2Seq, generate_frames
from regard.modules.seq2seq.seq2seq import embed_source

LENGTHS, FEATURES = [5, 2, 0, 1], 4


def make(**parts):
    torch.manual_seed(3)
    model = FrameSeq2Seq(7, FEATURES, 6, **{"layers": 2, "heads": 2, "hidden": 11, **parts}).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return model


def ids():
    return torch.randint(3, 7, (4, 5), generator=torch.Generator().manual_seed(5))


def frames(length=6):
    made = torch.randn(4, length, FEATURES, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    made[:, :1] = 0.0
    return made


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"position": "relative", "guide": Guide(1, 0.5)},
        {"mask": "no_self", "projections": PROJECTIONS["shared_query_key"]},
    ],
    ids=["plain", "guided", "masked"],
)
class TestModel:
    def test_teacher_forcing_equals_step_by_step(self, parts):
        model = make(**parts)
        with torch.no_grad():
            memory = model.encode(ids(), torch.tensor(LENGTHS))
            state, found = model.start(memory), []
            for frame in frames().unbind(1):
                *said, state = model.step(state, frame)
                found.append(said)
            expected, last = model(memory, frames())
        torch.testing.assert_close(torch.stack([frame for frame, _ in found], 1), expected)
        torch.testing.assert_close(torch.stack([score for _, score in found], 1), last)

    def test_gradients_reach_every_parameter(self, parts):
        model = make(**parts)
        memory = model.encode(ids(), torch.tensor(LENGTHS))
        said, last = model(memory, frames())
        total = said.square().sum() + last.square().sum()
        if memory.duration_plan is not None:
            # The decoder's gradients don't pass through it: it learns from the target itself.
            total = total + memory.duration_plan.frames.square().sum() + memory.duration_plan.durations.square().sum()
        total.backward()
        still = [key for key, p in model.named_parameters() if p.grad is None or not p.grad.abs().max() > 1e-12]
        assert [key for key in still if not key.endswith("key.bias")] == []

    def test_spoken_alone_as_in_company(self, parts):
        model = make(**parts)
        together = generate_frames(model, ids(), torch.tensor(LENGTHS), longest=2.0, spare=3)
        for item, length in enumerate(LENGTHS):
            own = ids()[item : item + 1, :length]
            (alone,) = generate_frames(model, own, torch.tensor([length]), longest=2.0, spare=3)
            assert alone.ended == together[item].ended
            torch.testing.assert_close(alone.frames, together[item].frames)


class TestOutlined:
    """Two strides a frame, two parts an item; what the decoder adds is nothing."""

    def model(self, width=1):
        model = make(guide=Guide(width, 0.5), strides=2, parts_per_item=2)
        nn.init.zeros_(model.output.weight)
        nn.init.zeros_(model.output.bias)
        return model

    def outline(self, durations):
        count = durations.shape[1]
        drawn = torch.arange(2.0 * count, dtype=torch.float64).reshape(1, count, 2)
        return DurationPlan(durations, drawn, torch.tensor([count]), per_item=2)

    def test_by_hand(self):
        """Parts of 1, 2, 1 and 3 strides: seven, which four frames of two are nearest to."""
        model, durations = self.model(), torch.tensor([[1.0, 2.0, 1.0, 3.0]], dtype=torch.float64)
        memory = model.encode(torch.tensor([[3, 4]]), torch.tensor([2]))
        said, last = model(memory, frames(5)[:1], self.outline(durations))
        assert said.tolist() == [[[0, 1, 2, 3], [2, 3, 4, 5], [6, 7, 6, 7], [6, 7, 6, 7], [6, 7, 6, 7]]]
        assert (last > 0).tolist() == [[False, False, False, True, True]]
        assert last[0].tolist() == [-4, -2, 0, 2, 4]

    def test_it_ends_where_the_outline_does(self):
        model = self.model()
        with torch.no_grad():
            model.outliner.duration.weight.zero_()
            model.outliner.duration.bias.fill_(20.0)
        source, lengths = torch.tensor([[3, 4, 5]]), torch.tensor([3])
        total = model.encode(source, lengths).duration_plan.durations.sum().item()
        (said,) = generate_frames(model, source, lengths, longest=1000.0)
        assert said.ended
        assert abs(2 * len(said.frames) - total) <= 1

    @pytest.mark.parametrize("durations", [[4.0, 2.0], [3.0, 3.0]])
    def test_frames_and_sources_are_told_where_they_are(self, durations):
        """Another pace is another place: what enters the decoder, and what its keys are, depends on it."""
        model, entered = make(guide=Guide(1, 0.5), parts_per_item=1), []
        model.decoder.register_forward_pre_hook(lambda _, given: entered.append(given))
        memory = model.encode(torch.tensor([[3, 3]]), torch.tensor([2]))
        for times in (durations, [2.0, 4.0]):
            drawn = torch.zeros(1, 2, FEATURES, dtype=torch.float64)
            model(memory, frames(6)[:1], DurationPlan(torch.tensor([times]), drawn, torch.tensor([2]), 1))
        (given, keys), (other, _) = entered
        assert not torch.allclose(given, other)
        torch.testing.assert_close(
            given - other, model.waves.at(places(durations)) - model.waves.at(places([2.0, 4.0]))
        )
        plain = model.encoder(embed_source(model.source, torch.tensor([[3, 3]]), torch.tensor([2]), 6))
        torch.testing.assert_close(keys - plain, model.waves.encode(2)[None])

    def test_what_can_t_be(self):
        with pytest.raises(ArgumentError, match="`features` must be a multiple of `strides`, 3, but is 4"):
            make(guide=Guide(1, 0.5), strides=3)
        model = make()
        memory = model.encode(ids(), torch.tensor(LENGTHS))
        with pytest.raises(ArgumentError, match="`duration_plan` must be None for a model without a guide"):
            model(memory, frames(), self.outline(torch.ones(4, 2)))
        model = self.model()
        nn.init.constant_(model.outliner.duration.bias, torch.nan)
        with pytest.raises(ArgumentError, match="`model` must give finite frames"):
            generate_frames(model, ids(), torch.tensor(LENGTHS))

    @pytest.mark.parametrize("width", [0, 0.05])
    def test_however_narrow_the_guide_each_frame_sees_an_item(self, width):
        model = self.model(width)
        with watch(model) as seen, torch.no_grad():
            model(model.encode(ids()[:, :3], torch.tensor([3, 1, 2, 3])), frames(9))
        weights = [each.weights().sum(-1) for each in seen if each.weights().shape[2:] == (9, 3)]
        assert len(weights) == 2
        for each in weights:
            torch.testing.assert_close(each, torch.ones_like(each))


def places(durations):
    own = DurationPlan(torch.tensor([durations]), torch.zeros(1, 2, 1), torch.tensor([2]), 1)
    return own.at(0, 6)[0]


class TestSpeaking:
    @pytest.mark.parametrize(("score", "expected"), [(-1.0, [7, 4, 2, 3]), (1.0, [1, 1, 1, 1])])
    def test_it_is_cut_and_says_so_or_ends_by_itself(self, score, expected):
        model = make()
        with torch.no_grad():
            model.output.weight[-1] = 0.0
            model.output.bias[-1] = score
        said = generate_frames(model, ids(), torch.tensor(LENGTHS), longest=1.0, spare=2)
        assert [len(one.frames) for one in said] == expected
        assert [one.ended for one in said] == [score > 0] * 4

    def test_who_would_have_ended_beyond_its_limit_is_cut(self, monkeypatch):
        """All are done at the third frame; the item of no length may have two."""
        model, steps = make(), iter(range(1, 8))

        def step(state, frame):
            return frame, torch.full((4,), 1.0 if next(steps) == 3 else -1.0), state

        monkeypatch.setattr(model, "step", step)
        said = generate_frames(model, ids(), torch.tensor(LENGTHS), longest=1.0, spare=2)
        assert [(len(one.frames), one.ended) for one in said] == [(3, True), (3, True), (2, False), (3, True)]

    def test_what_is_said_is_what_it_says_of_what_it_said(self):
        model = make().eval()
        source, lengths = ids()[:1], torch.tensor(LENGTHS[:1])
        (said,) = generate_frames(model, source, lengths, longest=1.0, spare=2)
        inputs = torch.cat([torch.zeros_like(said.frames[:1]), said.frames[:-1]]).unsqueeze(0)
        torch.testing.assert_close(model(model.encode(source, lengths), inputs)[0][0].detach(), said.frames)

    @pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
    def test_few_sources_or_none(self, shape):
        given = torch.zeros(shape, dtype=torch.int64), torch.full(shape[:1], shape[1])
        assert [len(one.frames) <= 3 for one in generate_frames(make(), *given, spare=3)] == [True] * shape[0]
        assert [len(one.frames) for one in generate_frames(make(), *given, spare=0)] == [0] * shape[0]

    def test_errors(self):
        model, lengths = make(), torch.tensor(LENGTHS)
        memory = model.encode(ids(), lengths)
        with pytest.raises(ArgumentError, match=r"`inputs` must be frames \(4, length, 4\), but are \(4, 6, 3\)"):
            model(memory, frames()[:, :, :3])
        with pytest.raises(ArgumentError, match="`longest` must be a number, 0 or more"):
            generate_frames(model, ids(), lengths, longest=-1.0)
        nn.init.constant_(model.output.weight, torch.nan)
        with pytest.raises(ArgumentError, match="`model` must give finite frames"):
            generate_frames(model, ids(), lengths)
