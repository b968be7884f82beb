"""Strings of spoken digits, joined from recordings of one speaker each, with the label of every frame."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.datasets.example import Example
from regard.datasets.noise import frame_levels, with_noise
from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inputs.sound import Sound, read_sound

__all__ = ["FRAMES", "SILENCE", "STRING_LABELS", "speech_strings"]

FRAMES = 100
"""How many frames a second have a label."""

SILENCE = "silence"
"""The label of a frame in whose middle nobody speaks."""

STRING_LABELS = ("digits", "frames", "speaker", "energy", "speech")
"""What a string can be labelled with: the text, a label for each frame, who speaks; and how loud each frame was.

For "energy" the sound has noise in it as strong as the speech, and the target is of the sound without. "speech" turns
it round: from the text to the sound."""

_DIGITS = (3, 8)
_PAUSE = (0.05, 0.2)  # seconds


def speech_strings(
    recordings: Sequence[Example[Path, str]], count: int, *, seed: int = 0, label: str = "digits"
) -> list[Example[Any, Any]]:
    """Join 3 to 8 recordings of one speaker to a string, with 0.05 to 0.2 s of zeros before, between and behind them.

    Speakers, recordings and silences are drawn evenly, and follow from the seed alone. A frame is 10 ms; its label is
    what is heard in the middle of it, so that every frame has one, whatever the joints are: frame i is a digit if the
    sample at (i + 1/2) / 100 s belongs to that digit's recording. A last frame that is less than half there is silence.

    With "energy" the target is `frame_levels` of the string, and the source has white noise throughout, at 0 dB: of the
    mean power of the samples that are no pause (`with_noise`), which follows from the seed and the string's place.

    Args:
        recordings: of one digit each, labelled with it, with the speaker as the group.
        count: how many strings.
        seed: of the draws.
        label: what is the target, one of `STRING_LABELS`; the sounds are the same whichever it is, but for noise. For
            "speech" the sound is the target, and the source what to say: "jackson 4 0 7", the speaker and the digits.

    Raises:
        ArgumentError: no recordings, one without a speaker, or a label that isn't known.
        DataError: a recording that can't be read, or of another rate than the first.
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
    heard: dict[Path, torch.Tensor] = {}
    rates: dict[int, Path] = {}

    def samples(path: Path) -> torch.Tensor:
        if path not in heard:
            sound = read_sound(path)
            rates.setdefault(sound.rate, path)
            if len(rates) > 1:
                raise DataError(
                    f"it has {sound.rate} samples a second, but others have {next(iter(rates))}.", path=path
                )
            heard[path] = sound.mono
        return heard[path]

    # NumPy promises that this generator, unlike its newer ones, draws the same in every version.
    draws = np.random.RandomState(seed)
    names = sorted(speakers)
    strings: list[Example[Any, Any]] = []
    for place in range(count):
        speaker = names[draws.randint(len(names))]
        own = speakers[speaker]
        spoken = [own[each] for each in draws.randint(len(own), size=draws.randint(_DIGITS[0], _DIGITS[1] + 1))]
        pauses = draws.uniform(*_PAUSE, size=len(spoken) + 1)
        parts = [samples(each.source) for each in spoken]
        rate = next(iter(rates))
        pieces = [torch.zeros(round(pauses[0] * rate))]
        said: list[str] = [SILENCE]
        for each, part, pause in zip(spoken, parts, pauses[1:], strict=True):
            pieces += [part, torch.zeros(round(pause * rate))]
            said += [each.target, SILENCE]
        sound = Sound(torch.cat(pieces)[None], rate)
        digits = [each.target for each in spoken]
        match label:
            case "energy":
                noisy = with_noise(sound, float(torch.cat(parts).square().mean()), seed=(seed, place))
                source, target = noisy, frame_levels(sound)
            case "speech":
                source, target = " ".join([speaker, *digits]), sound
            case "frames":
                source, target = sound, _frames([len(piece) for piece in pieces], said, rate)
            case _:
                source, target = sound, speaker if label == "speaker" else "".join(digits)
        strings.append(Example(source, target, group=speaker))
    return strings


def _frames(lengths: Sequence[int], labels: list[str], rate: int) -> tuple[str, ...]:
    """The label of each frame: that of the piece which its middle falls into."""
    ends = np.cumsum(lengths)
    total = int(ends[-1])
    middles = (2 * np.arange(-(-total * FRAMES // rate)) + 1) * rate // (2 * FRAMES)
    places = np.searchsorted(ends, middles, side="right").tolist()
    return tuple(labels[place] if place < len(labels) else SILENCE for place in places)
