"""Strings of spoken digits of one speaker, with a label for every frame, and with noise."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.datasets.example import Example
from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inputs.sound.sound import Sound, read_sound

__all__ = ["FRAMES", "SILENCE", "SILENCE_LEVEL", "STRING_LABELS", "add_noise", "frame_levels", "make_digit_strings"]

SILENCE_LEVEL = -60.0
"""The level of a frame of zeros, in dB, which is the lowest possible level."""


def add_noise(sound: Sound, power: float, *, seed: Sequence[int]) -> Sound:
    """Add white Gaussian noise of this power to a sound.

    Args:
        sound: the sound.
        power: the mean square of the noise, relative to full scale; the power of the speech gives a ratio of 0 dB.
        seed: integers that seed the generator.

    Example:
        >>> noise = add_noise(Sound(torch.zeros(1, 80_000), 8000), 0.25, seed=(1, 2))
        >>> round(float(noise.samples.square().mean()), 2)
        0.25
    """
    # NumPy guarantees that this legacy generator draws the same numbers in every version.
    draws = np.random.RandomState(list(seed)).standard_normal(sound.samples.shape)
    return Sound(sound.samples + power**0.5 * torch.from_numpy(draws).float(), sound.rate)


def frame_levels(sound: Sound) -> tuple[float, ...]:
    """The log energy of each frame of 10 ms, in dB: 10 log10(mean square of its samples + 10^-6).

    The frames are those of `inputs.SpeechFrames`; the last one is filled up with zeros. The added constant keeps
    silence finite, at `SILENCE_LEVEL`.

    Example:
        >>> [round(level, 2) for level in frame_levels(Sound(torch.tensor([[1.0] * 80 + [0.0] * 81]), 8000))]
        [0.0, -60.0, -60.0]
    """
    samples = sound.mono.double()
    count = -(-len(samples) * 100 // sound.rate)
    # If the rate isn't a multiple of 100, the lengths of frames differ by one sample.
    frame = torch.arange(len(samples)) * 100 // sound.rate
    energy = torch.zeros(count, dtype=torch.float64).index_add_(0, frame, samples.square())
    return tuple((10 * torch.log10(energy / (sound.rate / 100) + 10 ** (SILENCE_LEVEL / 10))).tolist())


FRAMES = 100
"""The number of labelled frames in a second."""

SILENCE = "silence"
"""The label of a frame without speech in its middle."""

STRING_LABELS = ("digits", "frames", "speaker", "energy", "speech")
"""The labels of a string: its text, a label for each frame, its speaker, and the level of each frame.

For "energy" the sound has noise as strong as the speech, and the targets are the levels without noise. "speech" is the
reverse task: from the text to the sound."""

_DIGITS = (3, 8)
_PAUSE = (0.05, 0.2)  # seconds


def make_digit_strings(
    recordings: Sequence[Example[Path, str]], count: int, *, seed: int = 0, label: str = "digits"
) -> list[Example[Any, Any]]:
    """Concatenate 3 to 8 recordings of one speaker, with 0.05 to 0.2 s of zeros before, between and after them.

    Speakers, recordings and silences are drawn uniformly and depend on the seed only. A frame has 10 ms, and its label
    is that of its middle: frame i is a digit if the sample at (i + 1/2) / 100 s belongs to that digit's recording. A
    last frame of less than half its length is silence.

    With "energy" the target is `frame_levels` of the string, and white noise is added to the source at 0 dB: its power
    is the mean power of the samples outside of pauses (`add_noise`), and its seed that of the strings with the string's
    index.

    Args:
        recordings: recordings of single digits, labelled with the digit, with the speaker as their group.
        count: the number of strings.
        seed: the seed of the generator.
        label: the target, one of `STRING_LABELS`; the sounds are the same for all labels, except for noise. For
            "speech" the sound is the target, and the source is a text with speaker and digits: "jackson 4 0 7".

    Raises:
        ArgumentError: no recordings, a recording without a speaker, or an unknown label.
        DataError: a recording that can't be read, or whose sampling rate differs from that of the first.
        MissingExtraError: the library `soundfile` is not installed.
    """
    if label not in STRING_LABELS:
        raise UnknownNameError("label", label, STRING_LABELS)
    speakers: dict[str, list[Example[Path, str]]] = {}
    for recording in recordings:
        if recording.group is None:
            raise ArgumentError(f"`recordings` must have their speakers as groups, but {recording.source} has none.")
        speakers.setdefault(recording.group, []).append(recording)
    if not speakers:
        raise ArgumentError("`recordings` must hold at least one recording, but is empty.")
    loaded: dict[Path, torch.Tensor] = {}
    rates: dict[int, Path] = {}

    def samples(path: Path) -> torch.Tensor:
        if path not in loaded:
            sound = read_sound(path)
            rates.setdefault(sound.rate, path)
            if len(rates) > 1:
                raise DataError(
                    f"it has {sound.rate} samples a second, but others have {next(iter(rates))}.", path=path
                )
            loaded[path] = sound.mono
        return loaded[path]

    # NumPy guarantees that this legacy generator draws the same numbers in every version.
    draws = np.random.RandomState(seed)
    names = sorted(speakers)
    strings: list[Example[Any, Any]] = []
    for index in range(count):
        speaker = names[draws.randint(len(names))]
        recorded = speakers[speaker]
        spoken = [
            recorded[which] for which in draws.randint(len(recorded), size=draws.randint(_DIGITS[0], _DIGITS[1] + 1))
        ]
        pauses = draws.uniform(*_PAUSE, size=len(spoken) + 1)
        parts = [samples(recording.source) for recording in spoken]
        rate = next(iter(rates))
        pieces = [torch.zeros(round(pauses[0] * rate))]
        labels: list[str] = [SILENCE]
        for recording, part, pause in zip(spoken, parts, pauses[1:], strict=True):
            pieces += [part, torch.zeros(round(pause * rate))]
            labels += [recording.target, SILENCE]
        sound = Sound(torch.cat(pieces)[None], rate)
        digits = [recording.target for recording in spoken]
        match label:
            case "energy":
                noisy = add_noise(sound, float(torch.cat(parts).square().mean()), seed=(seed, index))
                source, target = noisy, frame_levels(sound)
            case "speech":
                source, target = " ".join([speaker, *digits]), sound
            case "frames":
                source, target = sound, _frames([len(piece) for piece in pieces], labels, rate)
            case _:
                source, target = sound, speaker if label == "speaker" else "".join(digits)
        strings.append(Example(source, target, group=speaker))
    return strings


def _frames(lengths: Sequence[int], labels: list[str], rate: int) -> tuple[str, ...]:
    """The label of each frame: that of the piece at its middle."""
    ends = np.cumsum(lengths)
    total = int(ends[-1])
    middles = (2 * np.arange(-(-total * FRAMES // rate)) + 1) * rate // (2 * FRAMES)
    pieces = np.searchsorted(ends, middles, side="right").tolist()
    return tuple(labels[piece] if piece < len(labels) else SILENCE for piece in pieces)
