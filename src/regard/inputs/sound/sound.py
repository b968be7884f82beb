"""Sounds: reading and writing files, and resampling."""

import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from regard.errors import ArgumentError, DataError
from regard.extras import require
from regard.files import open_regular, write_bytes
from regard.inputs.contents import why_unreadable

__all__ = ["Sound", "read_sound", "resample", "wav", "write_sound"]

_MOST_CHANNELS = 1024  # the limit of libsndfile
_LOUDEST = 100  # 40 dB above full scale: larger samples are integers that weren't divided by it
_RATES = range(1_000, 1_000_001)

# The message in libsndfile's log that the samples (of WAV, AIFF, AU) end earlier than the header says.
_SHORTER = re.compile(r"^\s*(?:data|SSND|Data Size)\s*:\s*(\d+) \(should be (\d+)\)", re.MULTILINE)
_LENGTH_UNKNOWN = 0x7FFFF000  # programs that write to a pipe put this length or more into the header


@dataclass(frozen=True, eq=False)
class Sound:
    """A recording: samples in each channel, with full scale from -1 to 1, and the sampling rate.

    Samples somewhat beyond full scale are allowed: files of floats may contain them, and resampling may produce them.

    Args:
        samples: (channel, sample) floats, -100 to 100. There may be no samples.
        rate: the sampling rate (Hz), from 1,000 to 1,000,000.

    Raises:
        ArgumentError: an invalid shape or dtype, or a sample or rate out of range.

    Example:
        >>> sound = Sound(torch.tensor([[0.5, 0.5], [0.0, -0.5]]), rate=8000)
        >>> sound.seconds, sound.mono.tolist()
        (0.00025, [0.25, 0.0])
    """

    samples: Shaped[Tensor, "..."]
    rate: int

    def __post_init__(self) -> None:
        samples = self.samples
        _check_rate(self.rate)
        if samples.dim() != 2 or not 1 <= len(samples) <= _MOST_CHANNELS:
            raise ArgumentError(
                f"`samples` must be (channel, sample) with 1 to {_MOST_CHANNELS} channels, but the shape is "
                f"{tuple(samples.shape)}. One channel alone is samples[None]; (sample, channel) is turned by samples.T."
            )
        if not samples.is_floating_point():
            raise ArgumentError(
                f"`samples` must be floats, -1 to 1 being full scale, but is {samples.dtype}. "
                "Divide by full scale: 32768 for int16."
            )
        if strange := int((~samples.isfinite()).sum()):
            raise ArgumentError(
                f"`samples` must be numbers, but {strange:,} of {samples.numel():,} "
                f"{'is' if strange == 1 else 'are'} NaN or infinite. Look for a "
                "division by zero in their computation."
            )
        if strange := int((samples.abs() > _LOUDEST).sum()):
            raise ArgumentError(
                f"`samples` must be numbers from -1 to 1, full scale, {_LOUDEST} at the very most, but {strange:,} of "
                f"{samples.numel():,} {'is' if strange == 1 else 'are'} not. "
                "Divide by full scale: 32768 where they were int16."
            )

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.samples.shape[1] / self.rate

    @property
    def mono(self) -> Float[Tensor, " sample"]:
        """The mean of the channels."""
        return self.samples.mean(0)


def read_sound(path: str | Path) -> Sound:
    """Read the sound in a file: WAV, FLAC, OGG, MP3, AIFF and all other formats of libsndfile, at any sampling rate.

    Args:
        path: the file.

    Raises:
        DataError: the file doesn't exist, isn't a sound, is broken, or is truncated.
        MissingExtraError: the library `soundfile` is not installed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_sound(f"{folder}/a.wav", Sound(torch.tensor([[0.0, 0.5, -0.25]]), rate=8000))
        ...     read_sound(f"{folder}/a.wav").samples
        tensor([[ 0.0000,  0.5000, -0.2500]])
    """
    soundfile = require("soundfile", extra="speech")
    try:
        with open_regular(path) as file:
            if not file.read(1):
                raise ValueError("it is empty")
            file.seek(0)
            with soundfile.SoundFile(file) as opened:
                samples = opened.read(dtype="float32", always_2d=True)
                shorter = len(samples) < opened.frames or _is_shorter(opened.extra_info, opened.frames)
                complete = not shorter and _is_complete_ogg(file)
                rate = opened.samplerate
    # Decoders raise all kinds of errors for broken files.
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            step = " Name the files in it." if Path(path).is_dir() else ""
            raise DataError(f"it can't be opened ({error.strerror}).{step}", path=path) from error
        if (other := why_unreadable(path, "sound", "WAV or FLAC")) is not None:
            raise DataError(other, path=path) from error
        why = str(getattr(error, "error_string", error)).rstrip(".")
        raise DataError(f"it can't be read as a sound ({why}). Save it again as WAV or FLAC.", path=path) from error
    if not complete:
        raise DataError("it breaks off before its end. Copy or convert it again from its source.", path=path)
    try:
        return Sound(torch.from_numpy(np.ascontiguousarray(samples.T)), rate)
    except ArgumentError as error:
        raise DataError(str(error), path=path) from error


def write_sound(path: str | Path, sound: Sound) -> None:
    """Write a sound as a WAV file of 16 bits, atomically.

    Samples that were read from a file of 16 bits are written exactly. 1.0 is one step above the largest integer of 16
    bits and becomes that integer.

    Args:
        path: the file, ending in .wav.
        sound: the sound.

    Raises:
        ArgumentError: the name doesn't end in .wav, or the sound is louder than full scale.
        MissingExtraError: the library `soundfile` is not installed.
        OSError: the disk is full or the folder can't be written.
    """
    if Path(path).suffix.lower() != ".wav":
        raise ArgumentError(f"`path` must end in .wav, the format that is written, but is {str(path)!r}.")
    write_bytes(path, wav(sound))


def wav(sound: Sound) -> bytes:
    """The bytes of a WAV file of 16 bits, as `write_sound` writes it.

    Raises:
        ArgumentError: the sound is louder than full scale.
        MissingExtraError: the library `soundfile` is not installed.

    Example:
        >>> wav(Sound(torch.zeros(1, 8), rate=8000))[:4], len(wav(Sound(torch.zeros(1, 8), rate=8000)))
        (b'RIFF', 60)
    """
    soundfile = require("soundfile", extra="speech")
    samples = sound.samples.double()
    peak = float(samples.abs().max()) if samples.numel() else 0.0
    if peak > 1:
        raise ArgumentError(f"`sound` must stay within -1 to 1, but reaches {peak:.4g}. Divide its samples by that.")
    integers = (samples * 32768).round().clamp(max=32767).to(torch.int16)
    content = BytesIO()
    soundfile.write(content, integers.T.cpu().numpy(), sound.rate, format="WAV", subtype="PCM_16")
    return content.getvalue()


def resample(sound: Sound, rate: int) -> Sound:
    """Resample a sound to another sampling rate.

    The duration is kept, rounded up to an integer number of samples. Frequencies above half of the new rate are removed
    first.

    Args:
        sound: the sound.
        rate: the new sampling rate (Hz).

    Raises:
        ArgumentError: a rate out of range.
        MissingExtraError: the library `librosa` is not installed.

    Example:
        >>> resample(Sound(torch.zeros(1, 44100), rate=44100), 8000).samples.shape
        torch.Size([1, 8000])
    """
    _check_rate(rate)
    if rate == sound.rate:
        return sound
    samples = sound.samples.float().cpu().numpy()
    changed = require("librosa", extra="speech").resample(samples, orig_sr=sound.rate, target_sr=rate)
    # The library computes the length in floats, which may give one sample too many.
    length = -(-samples.shape[1] * rate // sound.rate)
    return Sound(torch.from_numpy(changed[:, :length]), rate)


def _check_rate(rate: int) -> None:
    # `type` instead of isinstance, because True is an int.
    if type(rate) is not int or rate not in _RATES:
        raise ArgumentError(
            f"`rate` must be an integer of samples a second from {_RATES[0]:,} to {_RATES[-1]:,}, but is {rate!r}."
        )


def _is_shorter(log: str, frames: int) -> bool:
    """Whether libsndfile found fewer samples than the header says.

    Or none at all: a program that was killed while recording leaves a length of 0, followed by data that isn't a chunk.
    """
    found = _SHORTER.search(log)
    if found is None:
        return frames == 0 and "Exiting parser" in log
    return int(found[2]) < int(found[1]) < _LENGTH_UNKNOWN


def _is_complete_ogg(file: BinaryIO) -> bool:
    """Whether an OGG file ends with a complete page that is marked as the last; True for any other file.

    libsndfile ends at the last page that it can read, so that it doesn't notice missing pages.

    Source: RFC 3533, section 6.
    """
    file.seek(0)
    if file.read(4) != b"OggS":
        return True
    file.seek(max(0, file.seek(0, 2) - (1 << 16)))  # no page is longer than 65,307 bytes
    end = file.read()
    page = end[end.rfind(b"OggS") :]
    segments = page[27 : 27 + page[26]] if len(page) > 26 else b""
    return len(page) > 26 and bool(page[5] & 4) and len(page) >= 27 + page[26] + sum(segments)
