"""Sequence to sequence with frames as targets."""

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.modules.frame_seq2seq import FrameSeq2Seq, speak
from regard.modules.guide import Guide

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


@pytest.mark.parametrize("parts", [{}, {"position": "relative", "guide": Guide(1, 0.5)}], ids=["plain", "guided"])
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
        if memory.outline is not None:
            # The decoder's gradients don't pass through it: it learns from the target itself.
            total = total + memory.outline.frames.square().sum() + memory.outline.durations.square().sum()
        total.backward()
        still = [key for key, p in model.named_parameters() if p.grad is None or not p.grad.abs().max() > 1e-12]
        assert [key for key in still if not key.endswith("key.bias")] == []

    def test_spoken_alone_as_in_company(self, parts):
        model = make(**parts)
        together = speak(model, ids(), torch.tensor(LENGTHS), longest=2.0, spare=3)
        for item, length in enumerate(LENGTHS):
            own = ids()[item : item + 1, :length]
            (alone,) = speak(model, own, torch.tensor([length]), longest=2.0, spare=3)
            assert alone.ended == together[item].ended
            torch.testing.assert_close(alone.frames, together[item].frames)


class TestSpeaking:
    @pytest.mark.parametrize(("score", "expected"), [(-1.0, [7, 4, 2, 3]), (1.0, [1, 1, 1, 1])])
    def test_it_is_cut_and_says_so_or_ends_by_itself(self, score, expected):
        model = make()
        with torch.no_grad():
            model.output.weight[-1] = 0.0
            model.output.bias[-1] = score
        said = speak(model, ids(), torch.tensor(LENGTHS), longest=1.0, spare=2)
        assert [len(one.frames) for one in said] == expected
        assert [one.ended for one in said] == [score > 0] * 4

    def test_who_would_have_ended_beyond_its_limit_is_cut(self, monkeypatch):
        """All are done at the third frame; the item of no length may have two."""
        model, steps = make(), iter(range(1, 8))

        def step(state, frame):
            return frame, torch.full((4,), 1.0 if next(steps) == 3 else -1.0), state

        monkeypatch.setattr(model, "step", step)
        said = speak(model, ids(), torch.tensor(LENGTHS), longest=1.0, spare=2)
        assert [(len(one.frames), one.ended) for one in said] == [(3, True), (3, True), (2, False), (3, True)]

    def test_what_is_said_is_what_it_says_of_what_it_said(self):
        model = make().eval()
        source, lengths = ids()[:1], torch.tensor(LENGTHS[:1])
        (said,) = speak(model, source, lengths, longest=1.0, spare=2)
        inputs = torch.cat([torch.zeros_like(said.frames[:1]), said.frames[:-1]]).unsqueeze(0)
        torch.testing.assert_close(model(model.encode(source, lengths), inputs)[0][0].detach(), said.frames)

    @pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
    def test_few_sources_or_none(self, shape):
        given = torch.zeros(shape, dtype=torch.int64), torch.full(shape[:1], shape[1])
        assert [len(one.frames) <= 3 for one in speak(make(), *given, spare=3)] == [True] * shape[0]
        assert [len(one.frames) for one in speak(make(), *given, spare=0)] == [0] * shape[0]

    def test_errors(self):
        model, lengths = make(), torch.tensor(LENGTHS)
        memory = model.encode(ids(), lengths)
        with pytest.raises(ArgumentError, match=r"`inputs` must be frames \(4, length, 4\), but are \(4, 6, 3\)"):
            model(memory, frames()[:, :, :3])
        with pytest.raises(ArgumentError, match="`longest` must be a number, 0 or more"):
            speak(model, ids(), lengths, longest=-1.0)
        nn.init.constant_(model.output.weight, torch.nan)
        with pytest.raises(ArgumentError, match="`model` must give finite frames"):
            speak(model, ids(), lengths)
