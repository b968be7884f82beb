"""A hundred frames a second, each where it is said to be, and nothing of a sound falls between them."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs import Batch
from regard.inputs.sound import speech_frames
from regard.inputs.sound.sound import Sound, read_sound
from regard.inputs.sound.speech_frames import FEATURES, SpeechFrames

librosa = pytest.importorskip("librosa")
soundfile = pytest.importorskip("soundfile")

RATES = [8000, 11025, 16000, 22050, 44100, 48000]
RAW = SpeechFrames("samples", normalise=False)
MEL = SpeechFrames("filterbank", normalise=False)


def noise(samples, rate=8000, seed=0):
    return Sound(torch.rand(1, samples, generator=torch.Generator().manual_seed(seed)) - 0.5, rate)


def tone(hertz, seconds=1.0, rate=8000):
    return Sound(torch.sin(torch.arange(round(seconds * rate)) / rate * hertz * 2 * torch.pi)[None] / 2, rate)


@pytest.mark.parametrize("rate", RATES)
def test_a_second_is_a_hundred_frames_at_any_rate(rate):
    # Note 001: 1 s is 100 vectors, 60 s are 6000.
    assert RAW.frames(noise(rate, rate)).shape == (100, 200)
    assert RAW.frames(noise(60 * rate, rate)).shape == (6000, 200)
    # One sample more begins a frame more; the first sample alone begins the first.
    assert len(RAW.frames(noise(rate + 1, rate))) == 101
    assert len(RAW.frames(noise(1, rate))) == 1


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("normalise", [True, False])
def test_every_length_gives_its_frames_and_no_nan(features, normalise):
    settings = SpeechFrames(features, normalise=normalise)
    for samples in (0, 1, 79, 80, 81, 200, 7919):
        vectors = settings.frames(noise(samples))
        assert vectors.shape == (-(-samples // 80), settings.width)
        assert vectors.dtype == torch.float32
        assert vectors.isfinite().all()


@pytest.mark.parametrize("rate", [8000, 16000, 48000, 2000])
def test_the_ten_milliseconds_of_a_frame_are_in_its_middle(rate):
    step, window = rate // 100, rate // 40
    sound = noise(7 * step - 3, rate)
    vectors = SpeechFrames("samples", rate=rate, normalise=False).frames(sound)
    assert vectors.shape == (7, window)
    side = (window - step) // 2
    assert side / rate == 0.0075
    # Put side by side, the middles are the sound, every sample once; the rest is zeros.
    middles = vectors[:, side : side + step].flatten()
    assert torch.equal(middles[:-3], sound.samples[0])
    assert not middles[-3:].any()
    # And a frame goes on at both sides into what its neighbours have.
    assert torch.equal(vectors[3], sound.samples[0, 3 * step - side : 3 * step - side + window])
    assert not vectors[0, :side].any()
    assert torch.equal(vectors[0, side:], sound.samples[0, : window - side])


def test_times_say_where_the_middles_are():
    times = RAW.times(60 * 100)
    assert times.shape == (6000, 2)
    assert times.tolist() == [[frame / 100, (frame + 1) / 100] for frame in range(6000)]
    assert torch.equal(times[1:, 0], times[:-1, 1])
    assert RAW.times(0).shape == (0, 2)
    with pytest.raises(ArgumentError, match="`count` must be at least 0"):
        RAW.times(-1)


def by_hand(cut, filters):
    """The log powers of one frame by the definition of the Fourier transform, in float64."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(200) / 200)
    turns = np.exp(-2j * np.pi * np.outer(np.arange(257), np.arange(200)) / 512)
    power = np.abs(turns @ (window * cut.double().numpy())) ** 2
    return np.log(np.maximum(librosa.filters.mel(sr=8000, n_fft=512, n_mels=filters) @ power, 1e-10))


def test_filter_banks_are_the_logarithm_of_power():
    sound = noise(800)
    cut, vectors = RAW.frames(sound), MEL.frames(sound)
    for frame in (0, 5, 9):
        np.testing.assert_allclose(vectors[frame], by_hand(cut[frame], 40), rtol=0, atol=1e-4)


def test_a_tone_lights_up_its_own_band():
    centres = librosa.mel_frequencies(n_mels=42, fmax=4000)[1:-1]
    for hertz in (300, 1000, 2500):
        loudest = MEL.frames(tone(hertz))[10:-10].argmax(1).unique()
        assert loudest.tolist() == [int(np.abs(centres - hertz).argmin())]


def test_the_floor_is_silence():
    silence = MEL.frames(Sound(torch.zeros(1, 800), 8000))
    torch.testing.assert_close(silence, torch.full((10, 40), float(np.log(1e-10))))
    # Where 16 bits round, about that much is left.
    rounded = noise(8000).samples / 32768
    assert -24 < MEL.frames(Sound(rounded, 8000)).mean() < -20


def test_mfcc_are_the_cosine_transform():
    sound = noise(800)
    log_mel = MEL.frames(sound).double()
    place = torch.arange(40, dtype=torch.float64) + 0.5
    waves = torch.cos(torch.pi / 40 * torch.arange(13, dtype=torch.float64)[:, None] * place) * (2 / 40) ** 0.5
    waves[0] /= 2**0.5
    wanted = log_mel @ waves.T
    found = SpeechFrames("mfcc", normalise=False).frames(sound)
    torch.testing.assert_close(found.double(), wanted, atol=1e-4, rtol=1e-5)


def test_deltas_are_slopes():
    sound = noise(2000)
    plain = SpeechFrames("mfcc", normalise=False).frames(sound)
    both = SpeechFrames("mfcc", deltas=True, normalise=False).frames(sound)
    assert both.shape == (25, 39)
    assert torch.equal(both[:, :13], plain)

    def slopes(values):
        # (1 (next - last) + 2 (next but one - last but one)) / 10, the ends repeated.
        row = torch.cat([values[:1], values[:1], values, values[-1:], values[-1:]])
        return (row[3:-1] - row[1:-3] + 2 * (row[4:] - row[:-4])) / 10

    torch.testing.assert_close(both[:, 13:26], slopes(plain), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(both[:, 26:], slopes(both[:, 13:26]), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("features", ["filterbank", "mfcc"])
def test_normalised_has_mean_zero_and_variance_one(features):
    vectors = SpeechFrames(features).frames(noise(8000)).double()
    torch.testing.assert_close(vectors.mean(0), torch.zeros(vectors.shape[1], dtype=torch.float64), atol=1e-5, rtol=0)
    torch.testing.assert_close(vectors.square().mean(0), torch.ones(vectors.shape[1], dtype=torch.float64))


def test_loudness_is_normalised_away():
    loud = noise(8000)
    quiet = Sound(loud.samples / 16, 8000)
    torch.testing.assert_close(SpeechFrames().frames(quiet), SpeechFrames().frames(loud), atol=1e-3, rtol=0)
    torch.testing.assert_close(SpeechFrames("samples").frames(quiet), SpeechFrames("samples").frames(loud))
    samples = SpeechFrames("samples").frames(loud)[:, 60:140]
    assert abs(float(samples.mean())) < 1e-6
    assert float(samples.square().mean()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("level", [0.0, 0.3])
def test_what_does_not_vary_becomes_zeros(features, level):
    vectors = SpeechFrames(features).frames(Sound(torch.full((1, 80 * 997), level), 8000))
    if features != "samples" and level:
        vectors = vectors[2:-2, 1:]  # the ends go from the level to zero, and the lowest band hears it
        assert vectors.isfinite().all()
    else:
        assert not vectors.any()


def test_channels_and_kinds_of_floats_are_one():
    sound = noise(800)
    twice = Sound(sound.samples.repeat(2, 1).double(), 8000)
    assert torch.equal(SpeechFrames().frames(twice), SpeechFrames().frames(sound))
    other_way = Sound(torch.cat([sound.samples, -sound.samples]), 8000)
    assert not RAW.frames(other_way).any()


def test_a_frame_later_is_a_frame_later():
    sound = noise(8000)
    later = Sound(torch.nn.functional.pad(sound.samples, (80, 0)), 8000)
    torch.testing.assert_close(MEL.frames(later)[2:], MEL.frames(sound)[1:])


def test_the_same_sound_at_another_rate_has_nearly_the_same_frames():
    slow, fast = MEL.frames(tone(440)), MEL.frames(tone(440, rate=44100))
    # Where there is power: what is left far from the tone is what the resampler leaves.
    loud = slow[5:-5] > -3
    assert loud.any()
    assert (slow[5:-5] - fast[5:-5])[loud].abs().max() < 0.02


def test_a_long_recording_is_worked_out_in_parts(monkeypatch):
    whole = SpeechFrames().frames(noise(8000))
    monkeypatch.setattr(speech_frames, "_FRAMES_AT_ONCE", 7)
    torch.testing.assert_close(SpeechFrames().frames(noise(8000)), whole)


def test_the_same_bits_each_time():
    sound = noise(11025, 11025)
    for features in FEATURES:
        settings = SpeechFrames(features)
        assert torch.equal(settings.frames(sound), settings.frames(sound))


def test_frames_go_into_a_batch():
    batch = Batch.pad([SpeechFrames().frames(noise(800)), SpeechFrames().frames(noise(240))])
    assert batch.vectors.shape == (2, 10, 40)
    assert batch.lengths.tolist() == [10, 3]


@pytest.mark.parametrize("rate", [2000, 2400, 8000, 16000, 44000, 48000, 192000])
def test_every_filter_hears_something(rate):
    settings = SpeechFrames(rate=rate, filters=min(128, rate // 50), normalise=False)
    heard = speech_frames._mel_filters(rate, settings.filters)
    assert (heard > 0).any(0).all()


def test_the_way_back_sounds_alike():
    # A voice-like sound: a buzz that rises, with a pause.
    time = torch.arange(8000) / 8000
    buzz = sum(torch.sin(2 * torch.pi * k * (120 * time + 40 * time**2)) / k for k in range(1, 15)) / 4
    sound = Sound((buzz * (torch.sin(2 * torch.pi * 2 * time) > -0.5))[None], 8000)
    log_mel = MEL.frames(sound)
    back = MEL.to_sound(log_mel)
    assert (back.rate, back.samples.shape) == (8000, (1, 8000))
    assert torch.equal(back.samples, MEL.to_sound(log_mel).samples)
    again = MEL.frames(back)
    loud = log_mel > -5
    assert (again - log_mel)[loud].abs().mean() < 0.5
    # Not a frame earlier or later, where the gap is wider.
    for shifted in (again.roll(1, 0), again.roll(-1, 0)):
        assert (shifted - log_mel)[loud].abs().mean() > (again - log_mel)[loud].abs().mean()


def test_the_way_back_of_a_few_frames_and_of_silence():
    assert MEL.to_sound(torch.zeros(0, 40)).samples.shape == (1, 0)
    assert MEL.to_sound(MEL.frames(tone(440, 0.01))).samples.shape == (1, 80)
    assert MEL.to_sound(torch.full((5, 40), -torch.inf)).samples.abs().max() == 0
    # Louder than full scale is turned down to it.
    assert MEL.to_sound(MEL.frames(tone(440, 0.1)) + 10).samples.abs().max() == pytest.approx(1)


def test_the_way_back_refuses():
    for settings in (RAW, SpeechFrames(), SpeechFrames("mfcc", normalise=False), replace(MEL, top_db=50)):
        with pytest.raises(ArgumentError, match="normalise=False and top_db=0, but these have"):
            settings.to_sound(torch.zeros(5, settings.width))
    with pytest.raises(ArgumentError, match="`log_mel` must have 40 numbers a frame, but has 13"):
        MEL.to_sound(torch.zeros(5, 13))
    for value in (torch.nan, torch.inf, 80.0):
        with pytest.raises(ArgumentError, match="must be logarithms of power, at most 25"):
            MEL.to_sound(torch.full((5, 40), value))


@pytest.mark.parametrize("features", ["filterbank", "mfcc"])
def test_below_the_loudest_is_the_same_at_any_volume(features):
    settings = SpeechFrames(features, normalise=False, top_db=50)
    sound = Sound(torch.cat([torch.zeros(1, 700), tone(440, 0.2).samples, noise(900).samples / 20], 1), 8000)
    frames = settings.frames(sound)
    for volume in (0.0001, 0.02, 20.0):
        quieter = settings.frames(Sound(sound.samples * volume, 8000))
        torch.testing.assert_close(quieter, frames, atol=1e-3, rtol=0)
    # Absolute power isn't.
    absolute = replace(settings, top_db=0)
    assert (absolute.frames(Sound(sound.samples * 0.02, 8000)) - absolute.frames(sound)).abs().max() > 5


def test_below_the_loudest_lies_from_nothing_to_so_many_decibels():
    frames = SpeechFrames(normalise=False, top_db=50).frames(tone(440, 0.2))
    assert frames.max() == 0
    assert frames.min() == pytest.approx(-5 * np.log(10))
    # Librosa's own, of the same power.
    power = MEL.frames(tone(440, 0.2)).exp().numpy()
    decibels = librosa.power_to_db(power, ref=np.max, top_db=50)
    np.testing.assert_allclose(frames.numpy() * 10 / np.log(10), decibels, atol=1e-3)
    # Where nothing is heard, nothing is loud.
    silent = SpeechFrames(normalise=False, top_db=50).frames(Sound(torch.zeros(1, 800), 8000))
    assert silent.unique().tolist() == [pytest.approx(-5 * np.log(10))]


def test_a_warp_moves_frequencies():
    def loudest(hertz, warp):
        return int(MEL.frames(tone(hertz), warp=warp)[50].argmax())

    assert loudest(1100, 1.1) == loudest(1000, 1.0) != loudest(1100, 1.0)
    assert loudest(1800, 0.9) == loudest(2000, 1.0) != loudest(1800, 1.0)
    torch.testing.assert_close(MEL.frames(tone(440), warp=1.0), MEL.frames(tone(440)))
    with pytest.raises(ArgumentError, match="`warp` is for features 'filterbank' and 'mfcc'"):
        RAW.frames(tone(440), warp=1.1)


def test_settings_go_through_json():
    settings = SpeechFrames("mfcc", rate=16000, filters=80, coefficients=20, deltas=True, normalise=False)
    assert SpeechFrames.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    assert SpeechFrames.from_json({}) == SpeechFrames()
    with pytest.raises(UnknownNameError, match="Did you mean 'coefficients'"):
        SpeechFrames.from_json({"coeficients": 13})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": "mfc"}, "`features` must be one of samples, filterbank, mfcc, but is 'mfc'. Did you mean 'mfcc'"),
        ({"top_db": -1}, "`top_db` must be from 0 .absolute. to 200, but is -1"),
        ({"top_db": 50, "features": "samples"}, "`top_db` is for features 'filterbank' and 'mfcc', but"),
        ({"rate": 44100}, "`rate` must be a multiple of 400 .* but is 44100. .* take 44000"),
        ({"rate": 0}, "take 2000"),
        ({"rate": True}, "`rate` must be an integer, but is True"),
        ({"filters": 0}, "`filters` must be from 1 to 128 at 8000 Hz"),
        ({"filters": 50, "rate": 2000}, "`filters` must be from 1 to 40 at 2000 Hz"),
        ({"features": "mfcc", "coefficients": 41}, "`coefficients` must be from 1 to 40, .* but is 41"),
        ({"deltas": True}, "`deltas` are for features 'mfcc' alone, but `features` is 'filterbank'"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ArgumentError, match=message):
        SpeechFrames.from_json(changes)


def test_spoken_digits(real_data):
    paths = sorted((real_data / "fsdd" / "recordings").glob("*.wav"))
    assert len(paths) == 3000
    for path in paths[::30]:
        sound = read_sound(path)
        assert sound.rate == 8000
        vectors = SpeechFrames("mfcc", deltas=True).frames(sound)
        assert vectors.shape == (-(-sound.samples.shape[1] // 80), 39)
        assert vectors.isfinite().all()
