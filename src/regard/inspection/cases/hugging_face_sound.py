"""A sound for a model of Hugging Face's that names sounds or writes down what is said, as a case for `see`."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from torch import Tensor

from regard.errors import DataError, ModelError
from regard.inputs import read_sound, resample
from regard.inspection.cases.case import Case, Layers
from regard.inspection.cases.hugging_face_seq2seq import seq2seq_case
from regard.inspection.cases.hugging_face_source import Source, runner, sequence_length
from regard.inspection.record.record import calls_to_show
from regard.inspection.record.seen import Seen

__all__ = ["reads_sounds", "sound_case"]

_CLASSIFIERS = ("ForSequenceClassification", "ForAudioClassification")
# An item is the shortest of these intervals (seconds) of which a sound has at most so many.
_INTERVALS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_MOST_ITEMS = 60


def reads_sounds(model: Any) -> bool:
    """Whether a model reads sounds."""
    return getattr(model, "main_input_name", "") in ("input_values", "input_features")


def sound_case(
    extractor: Any, model: Any, name: str, source: str, label: Callable[[int], str], piece: Callable[[int], str]
) -> Case:
    """The case of a model and a sound, whose items are intervals of time.

    Args:
        extractor: makes what the model reads of samples.
        model: the model, in evaluation mode.
        name: its name.
        source: the name of the file.
        label: the name of a class, given its number.
        piece: the text of a token that is written, given its number.

    Raises:
        MissingExtraError: the library that reads sounds isn't installed.
        ModelError: the model does something else with sounds.
        DataError: the file can't be read, or is too short or too long.
    """
    writes = not type(model).__name__.endswith(_CLASSIFIERS)
    # Pictures of sounds are cut in patches, which are no intervals of time.
    if (writes and not model.can_generate()) or hasattr(model.config, "patch_size"):
        raise ModelError(
            f"{name} must read frames of a sound and give one label, or a text, but is a {type(model).__name__}. Write "
            "a Python file with a function that returns the model and its inputs."
        )
    read = _source(extractor, model, name, source)
    if writes:
        return seq2seq_case(model, name, read, piece)

    def layers(seen: Seen) -> Layers:
        calls = calls_to_show(call for call in seen if call.query.shape[2] == call.key.shape[2] == read.length)
        return Layers(tuple(read.to_itself(f"layer {number}", call) for number, call in enumerate(calls, start=1)))

    def predict(output: Any) -> Tensor:
        return output.logits.softmax(-1).unsqueeze(1)

    return Case(
        name,
        model,
        read.inputs,
        runner(model, name),
        predict,
        "labels",
        read.items,
        (("the whole", None),),
        classes=label,
        noun=read.noun,
        layers=layers,
        hide=read.hiding,
    )


def _source(extractor: Any, model: Any, name: str, source: str) -> Source:
    sound = resample(read_sound(source), extractor.sampling_rate)
    seconds = sound.seconds
    # Some models read so many seconds of any sound, and silence after it.
    whole = getattr(extractor, "n_samples", 0) / extractor.sampling_rate
    if whole and seconds > whole:
        raise DataError(
            f"a sound may have {whole:g} s, which {name} reads at once, but has {seconds:.1f} s. Cut it.", path=source
        )
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model
    try:
        found = extractor(sound.mono.numpy(), sampling_rate=extractor.sampling_rate, return_tensors="pt")
        # The samples have the precision of the weights, which may be half.
        inputs = {model.main_input_name: found[model.main_input_name].to(model.dtype)}
        if "attention_mask" in found:
            inputs["attention_mask"] = found["attention_mask"]
        frames = sequence_length(encoder, inputs)
    except (RuntimeError, ValueError, IndexError) as error:
        # Convolutions over less than a frame, or over nothing.
        raise DataError(
            f"a sound must be long enough for a frame of {name}, but has {seconds:.3f} s. Give it a longer one.",
            path=source,
        ) from error
    if not frames:
        raise ModelError(
            f"{name} must attend to frames of a sound, but doesn't. Write a Python file with a function that returns "
            "the model and its inputs."
        )
    return Source(inputs, *_intervals(seconds, frames, whole or seconds))


def _intervals(seconds: float, frames: int, whole: float) -> tuple[tuple[str, ...], str, tuple[int, ...]]:
    """The names of the intervals of a sound, what one is called, and the bounds of each among the frames.

    Args:
        seconds: how long the sound is.
        frames: how many frames there are.
        whole: how many seconds they are of, with the silence after the sound.
    """
    frame = whole / frames
    step = next((each for each in _INTERVALS if seconds <= _MOST_ITEMS * each), seconds / _MOST_ITEMS)
    real = min(frames, max(1, math.ceil(seconds / frame - 1e-6)))
    bounds = (*range(0, real, max(1, round(step / frame))), real, *[frames][: real < frames])
    names = [f"{first * frame:.2f} s" for first, _ in pairwise(bounds)]
    if real < frames:
        names[-1] = f"after {seconds:.2f} s"
    return tuple(names), "interval", bounds
