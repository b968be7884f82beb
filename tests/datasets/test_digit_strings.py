"""Strings of digits: what is said is what the labels say, frame by frame."""

from itertools import groupby

import pytest
import torch

from regard.datasets.example import Example
from regard.datasets.known.digit_strings import SILENCE, _frames, frame_levels, make_digit_strings
from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inputs.sound.sound import Sound, write_sound

RATE = 8000


@pytest.fixture
def recordings(tmp_path):
    """Digits that can be told by their loudness, 2 to 5 frames long; digit d of a speaker is d / 16 or -d / 16."""
    found = []
    for speaker, sign in (("anna", 1), ("bert", -1)):
        for digit in range(1, 8):
            path = tmp_path / f"{digit}_{speaker}_0.wav"
            samples = torch.full((1, 160 + 37 * digit), sign * digit / 16)
            write_sound(path, Sound(samples, RATE))
            found.append(Example(path, str(digit), group=speaker))
    return found


def test_every_frame_is_labelled_by_its_middle(recordings):
    strings = make_digit_strings(recordings, 53, seed=3)
    frames = make_digit_strings(recordings, 53, seed=3, label="frames")
    speakers = make_digit_strings(recordings, 53, seed=3, label="speaker")
    speeches = make_digit_strings(recordings, 53, seed=3, label="speech")
    for string, framed, speaker, speech in zip(strings, frames, speakers, speeches, strict=True):
        heard = string.source.mono
        # Turned round: who says what, and how that sounds.
        assert speech.source == " ".join([speaker.target, *string.target])
        assert torch.equal(speech.target.mono, heard)
        assert speech.group == string.group
        assert torch.equal(heard, framed.source.mono)
        assert speaker.target == string.group == ("anna" if heard.sum() > 0 else "bert")
        assert len(framed.target) == -(-len(heard) // 80)
        for place, label in enumerate(framed.target):
            middle = 80 * place + 40
            loudness = abs(float(heard[middle])) if middle < len(heard) else 0
            assert label == (str(round(16 * loudness)) if loudness else SILENCE)
        # Silences stand between all digits, so equal neighbours stay two.
        said = "".join(label for label, _ in groupby(framed.target) if label != SILENCE)
        assert said == string.target
        assert 3 <= len(said) <= 8
        assert framed.target[0] == SILENCE
    assert {len(string.target) for string in strings} == set(range(3, 9))
    assert {string.group for string in strings} == {"anna", "bert"}


def test_silences_are_zeros_and_as_long_as_promised(recordings):
    for string in make_digit_strings(recordings, 31):
        runs = [(quiet, len(list(run))) for quiet, run in groupby(string.source.mono.tolist(), lambda x: x == 0)]
        assert [quiet for quiet, _ in runs[::2]] == [True] * (len(string.target) + 1)
        assert all(400 <= length <= 1600 for quiet, length in runs if quiet)


def test_the_seed_says_it_all(recordings):
    first, again, other = (make_digit_strings(recordings, 7, seed=seed) for seed in (1, 1, 2))
    assert [each.target for each in first] == [each.target for each in again]
    assert all(torch.equal(one.source.samples, two.source.samples) for one, two in zip(first, again, strict=True))
    assert [each.target for each in first] != [each.target for each in other]
    # More strings begin with the same ones.
    assert [each.target for each in make_digit_strings(recordings, 11, seed=1)][:7] == [each.target for each in first]
    assert make_digit_strings(recordings, 0) == []


def test_noise_as_strong_as_the_speech_and_the_levels_below_it(recordings):
    clean = make_digit_strings(recordings, 7, seed=3)
    for string, noisy in zip(clean, make_digit_strings(recordings, 7, seed=3, label="energy"), strict=True):
        heard, noise = string.source.mono, noisy.source.mono - string.source.mono
        speech = heard[heard != 0]
        assert float(noise.square().mean() / speech.square().mean()) == pytest.approx(1, abs=0.1)
        # The pauses have as much of it as the rest.
        assert float(noise[heard == 0].square().mean() / noise.square().mean()) == pytest.approx(1, abs=0.1)
        # White: neighbours know nothing of each other.
        assert abs(float((noise[1:] * noise[:-1]).mean() / noise.square().mean())) < 0.05
        assert noisy.target == frame_levels(string.source)
        assert noisy.group == string.group
    again = make_digit_strings(recordings, 3, seed=3, label="energy")
    assert torch.equal(
        again[2].source.samples, make_digit_strings(recordings, 7, seed=3, label="energy")[2].source.samples
    )
    # Each string has noise of its own.
    noises = [noisy.source.mono[:400] for noisy in again]  # all begin with a pause of 400 samples or more
    assert abs(float(torch.corrcoef(torch.stack(noises))[0, 1])) < 0.2


def test_frames_by_hand():
    # 8 samples a frame; the middles are samples 4, 12, 20, 28.
    assert _frames([4, 9, 8], ["a", "b", "c"], 800) == ("b", "b", "c")
    assert _frames([5, 7, 13], ["a", "b", "c"], 800) == ("a", "c", "c", SILENCE)
    assert _frames([0, 8], ["a", "b"], 800) == ("b",)
    # A rate that isn't a multiple of 100: 11.025 samples a frame.
    assert len(_frames([1102], ["a"], 1102)) == 100
    assert len(_frames([11025], ["a"], 11025)) == 100


def test_what_can_not_be_joined_says_why(recordings, tmp_path):
    with pytest.raises(ArgumentError, match="`recordings` must hold at least one recording"):
        make_digit_strings([], 3)
    with pytest.raises(ArgumentError, match="`recordings` must have their speakers as groups"):
        make_digit_strings([Example(tmp_path / "a.wav", "1")], 3)
    with pytest.raises(
        UnknownNameError, match="`label` must be one of digits, frames, speaker, energy, speech, but is 'digit'"
    ):
        make_digit_strings(recordings, 3, label="digit")
    write_sound(recordings[2].source, Sound(torch.zeros(1, 300), 11025))
    with pytest.raises(DataError, match=r".wav: it has (8000|11025) samples a second, but others have"):
        make_digit_strings(recordings, 99)
    recordings[0].source.write_bytes(b"no sound")
    with pytest.raises(DataError, match=r"1_anna_0.wav: it can't be read as a sound"):
        make_digit_strings(recordings[:1], 3)
