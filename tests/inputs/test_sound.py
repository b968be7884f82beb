"""Sounds come out of a file as they went in, and no broken file gets through."""

import struct

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError, DataError, MissingExtraError
from regard.inputs.sound.sound import Sound, read_sound, resample, write_sound

soundfile = pytest.importorskip("soundfile")
pytest.importorskip("librosa")

RATES = [8000, 11025, 16000, 22050, 44100, 48000]


def tone(hertz, seconds, rate):
    return torch.sin(torch.arange(round(seconds * rate)) / rate * hertz * 2 * torch.pi) / 2


def noise(channels, samples, seed=0):
    return torch.rand(channels, samples, generator=torch.Generator().manual_seed(seed)) - 0.5


def test_a_sound_knows_its_length_and_its_mean():
    sound = Sound(torch.tensor([[0.5, -0.5, 0.25], [0.5, 0.5, 0.75]]), 8000)
    assert sound.seconds == 3 / 8000
    assert sound.mono.tolist() == [0.5, 0.0, 0.5]
    assert Sound(torch.zeros(1, 0), 8000).seconds == 0


def test_sixteen_bits_come_back_bit_for_bit(tmp_path):
    # Every level that 16 bits have, in two channels, read, written and read again.
    levels = np.arange(-32768, 32768, dtype=np.int16).reshape(-1, 2)
    soundfile.write(tmp_path / "a.wav", levels, 11025, subtype="PCM_16")
    sound = read_sound(tmp_path / "a.wav")
    assert sound.rate == 11025
    assert torch.equal(sound.samples, torch.from_numpy(levels.T.astype(np.float32)) / 32768)
    write_sound(tmp_path / "new" / "b.wav", sound)
    assert soundfile.read(tmp_path / "new" / "b.wav", dtype="int16")[0].tolist() == levels.tolist()


def test_full_scale_upwards_is_one_step_less_and_never_turns_round(tmp_path):
    write_sound(tmp_path / "a.WAV", Sound(torch.tensor([[1.0, -1.0]], dtype=torch.float64), 8000))
    assert read_sound(tmp_path / "a.WAV").samples.tolist() == [[32767 / 32768, -1.0]]


@pytest.mark.parametrize(
    ("name", "subtype", "error"),
    [
        ("a.wav", "PCM_24", 1e-6),
        ("a.wav", "FLOAT", 0),
        ("a.wav", "ULAW", 0.02),
        ("a.flac", "PCM_16", 1e-4),
        ("a.aiff", "PCM_16", 1e-4),
        ("a.ogg", "VORBIS", 0.1),
    ],
)
@pytest.mark.parametrize("channels", [1, 2])
def test_kinds_of_files(tmp_path, name, subtype, error, channels):
    samples = torch.stack([tone(440, 0.5, 22050), tone(660, 0.5, 22050)])[:channels]
    soundfile.write(tmp_path / name, samples.T.numpy(), 22050, subtype=subtype)
    sound = read_sound(str(tmp_path / name))
    assert (sound.rate, sound.samples.shape, sound.samples.dtype) == (22050, samples.shape, torch.float32)
    assert (sound.samples - samples).abs().max() <= error


def test_a_sound_of_no_samples(tmp_path):
    write_sound(tmp_path / "a.wav", Sound(torch.zeros(2, 0), 8000))
    assert read_sound(tmp_path / "a.wav").samples.shape == (2, 0)
    assert resample(Sound(torch.zeros(2, 0), 8000), 44100).samples.shape == (2, 0)


@pytest.mark.parametrize("part", [0.01, 0.3, 0.7, 0.99])
@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.ogg", "a.aiff", "a.au", "a.mp3"])
def test_a_file_that_breaks_off_is_refused(tmp_path, name, part):
    # libsndfile reads what there is of most kinds without a word.
    path = tmp_path / name
    soundfile.write(path, noise(1, 40000).T.numpy(), 8000)
    assert read_sound(path).seconds == pytest.approx(5, abs=0.2)  # mp3 pads
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(DataError, match=rf"{name}: it (breaks off before its end|can't be read as a sound)"):
        read_sound(path)


def test_an_ogg_file_cut_between_pages_is_refused(tmp_path):
    path = tmp_path / "a.ogg"
    soundfile.write(path, noise(1, 80000).T.numpy(), 8000)
    content = path.read_bytes()
    assert content.count(b"OggS") > 3
    path.write_bytes(content[: content.rindex(b"OggS")])
    with pytest.raises(DataError, match="breaks off"):
        read_sound(path)


def test_a_recording_whose_length_was_never_written_is_refused(tmp_path):
    path = tmp_path / "a.wav"
    write_sound(path, Sound(noise(1, 1000), 8000))
    content = path.read_bytes()
    place = content.index(b"data") + 4
    path.write_bytes(content[:place] + bytes(4) + content[place + 4 :])
    with pytest.raises(DataError, match="breaks off"):
        read_sound(path)


@pytest.mark.parametrize("claimed", [0xFFFFFFFF, 0x7FFFF000])
def test_a_wav_file_out_of_a_pipe_is_read(tmp_path, claimed):
    # Whoever writes into a pipe can't go back and say how long it became.
    path = tmp_path / "a.wav"
    write_sound(path, Sound(noise(1, 1000), 8000))
    content = path.read_bytes()
    place = content.index(b"data") + 4
    size = struct.pack("<I", claimed)
    path.write_bytes(content[:4] + size + content[8:place] + size + content[place + 4 :])
    assert read_sound(path).samples.shape == (1, 1000)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.wav", b"", r"a\.wav: it can't be read as a sound \(it is empty\)\."),
        ("a.wav", b"I saw a saw.", "Format not recognised"),
        ("a.raw", b"I saw a saw.", "can't be read as a sound"),
        ("a", b"RIFF\0\0\0\0WAVE", "can't be read as a sound"),
        ("a.ogg", b"OggS", "can't be read as a sound"),
        ("a.flac", b"fLaC", "can't be read as a sound"),
    ],
)
def test_what_is_no_sound_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_sound(tmp_path / name)


def test_no_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"none\.wav: it can't be opened \(No such file"):
        read_sound(tmp_path / "none.wav")
    with pytest.raises(DataError, match=r"opened \(Is a directory"):
        read_sound(tmp_path)


def test_numbers_that_are_no_sound_are_refused(tmp_path):
    strange, loud = (
        "must be numbers, but 1 of 2 is NaN or infinite",
        "must be numbers .* 1 of 2 is not. Divide by full",
    )
    for name, value, message in [("nan", np.nan, strange), ("infinite", np.inf, strange), ("int16", 32767.0, loud)]:
        soundfile.write(tmp_path / f"{name}.wav", np.array([0.5, value], dtype=np.float32), 8000, subtype="FLOAT")
        with pytest.raises(DataError, match=rf"{name}\.wav: `samples` {message}"):
            read_sound(tmp_path / f"{name}.wav")
    # Louder than full scale is loud, not broken.
    soundfile.write(tmp_path / "loud.wav", np.array([0.5, -1.5], dtype=np.float32), 8000, subtype="FLOAT")
    assert read_sound(tmp_path / "loud.wav").samples.tolist() == [[0.5, -1.5]]


@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.ogg"])
def test_any_broken_byte_gives_a_sound_or_a_data_error(tmp_path, name):
    path = tmp_path / name
    soundfile.write(path, noise(2, 500).T.numpy(), 8000)
    content, chance = path.read_bytes(), np.random.default_rng(7)
    refused = 0
    for place in chance.integers(0, min(len(content), 300), 100):
        path.write_bytes(content[:place] + bytes([chance.integers(256)]) + content[place + 1 :])
        try:
            assert read_sound(path).samples.isfinite().all()
        except DataError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize(
    ("samples", "rate", "message"),
    [
        (torch.zeros(16000), 8000, r"`samples` must be \(channel, sample\) .* \(16000,\)\. .* samples\[None\]"),
        (torch.zeros(16000, 1), 8000, r"but the shape is \(16000, 1\)\. .* samples\.T"),
        (torch.zeros(0, 5), 8000, "1 to 1024 channels"),
        (torch.zeros(1, 5, dtype=torch.int16), 8000, r"must be floats, .* torch\.int16\. Divide .* 32768"),
        (torch.tensor([[0.0, torch.nan]]), 8000, "1 of 2 is NaN or infinite"),
        (torch.tensor([[0.0, -torch.inf]]), 8000, "1 of 2 is NaN or infinite"),
        (torch.zeros(1, 5), 0, "`rate` must be an integer .* from 1,000 to 1,000,000, but is 0"),
        (torch.zeros(1, 5), 2_000_000, "but is 2000000"),
    ],
)
def test_a_sound_refuses(samples, rate, message):
    with pytest.raises(ArgumentError, match=message):
        Sound(samples, rate)


def test_writing_refuses_rather_than_cuts(tmp_path):
    path = tmp_path / "a.wav"
    with pytest.raises(ArgumentError, match=r"must stay within -1 to 1, but reaches 1\.5"):
        write_sound(path, Sound(torch.tensor([[0.0, -1.5]]), 8000))
    with pytest.raises(ArgumentError, match=r"`path` must end in \.wav"):
        write_sound(tmp_path / "a.flac", Sound(torch.zeros(1, 5), 8000))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("old", RATES)
@pytest.mark.parametrize("new", RATES)
def test_resampling_keeps_the_length_and_the_tone(old, new):
    for samples in (1, 2, 997, old):
        changed = resample(Sound(noise(2, samples), old), new)
        assert changed.rate == new
        assert changed.samples.shape == (2, -(-samples * new // old))
    heard = resample(Sound(tone(440, 1, old)[None], old), new).samples[0]
    middle = slice(new // 10, -new // 10)  # the ends ring
    torch.testing.assert_close(heard[middle], tone(440, 1, new)[middle], atol=2e-3, rtol=0)


def test_resampling_takes_out_what_is_too_high():
    # 3.7 kHz has no place at 4 kHz a second: without a filter it would come back as a hum of 300 Hz.
    assert resample(Sound(tone(3700, 1, 8000)[None], 8000), 4000).samples[:, 400:-400].abs().max() < 1e-3


def test_the_same_rate_changes_nothing():
    sound = Sound(noise(2, 997), 8000)
    assert resample(sound, 8000) is sound
    with pytest.raises(ArgumentError, match="`rate` must be an integer"):
        resample(sound, 0)


def test_without_the_libraries_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[speech\]'"):
        read_sound(tmp_path / "a.wav")
