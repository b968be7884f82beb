"""Evaluation of synthesized speech: the distance to a recording of the same, aligned in time."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.extras import require
from regard.modules import FrameSeq2Seq, generate_frames
from regard.tasks.synthesis.dataset import SpeechDataset
from regard.tasks.synthesis.settings import SynthesisSettings
from regard.tasks.synthesis.target import DECIBELS, SpeechTarget
from regard.tasks.training.batching import batches_by_length

__all__ = ["frame_errors", "limits_of", "warped_error"]


def limits_of(task: SynthesisSettings, speech: SpeechTarget) -> dict[str, Any]:
    """How long a source may become, for `generate_frames`: the recipe counts in seconds, the net in steps."""
    second = 100 / speech.together
    return {"longest": task.longest * second, "spare": math.ceil(task.spare * second)}


def frame_errors(network: FrameSeq2Seq, dataset: SpeechDataset, task: SynthesisSettings, batch_items: int) -> Tensor:
    """Say each source, and compare it with its recording.

    Args:
        network: the net.
        dataset: the examples.
        task: how long a sound may become.
        batch_items: about how many items go through the net at a time.

    Returns:
        (example, 2): the sum of the errors along the way through both in dB, and how long that way is.

    Raises:
        MissingExtraError: the library `librosa` is not installed.
    """
    speech = dataset.speech
    device = next(network.parameters()).device
    spreads = torch.tensor(speech.standard.spreads, dtype=torch.float64) * DECIBELS
    found = torch.zeros(len(dataset.lengths), 2, dtype=torch.float64)
    limits = limits_of(task, speech)
    # As long as they may become, not as long as they were: who never ends fills its batch.
    may = [math.ceil(limits["longest"] * items) + limits["spare"] for items in dataset.source_lengths]
    for members in batches_by_length(may, batch_items):
        batch = dataset.batch(members)
        given = batch.sources.to(device)
        said = generate_frames(network, given.vectors, given.lengths, **limits)
        true = batch.frames(speech.together)
        for member, own, each, count in zip(members, said, true, batch.counts.tolist(), strict=True):
            heard = own.frames.cpu().reshape(-1, len(spreads))
            found[member] = torch.tensor(warped_error(heard.double() * spreads, each[:count].double() * spreads))
    return found


def warped_error(said: Float[Tensor, "frame band"], recorded: Float[Tensor, "other_frame band"]) -> tuple[float, int]:
    """The distance of two sounds along the cheapest way through both: dynamic time warping.

    A way goes from both beginnings to both ends, one frame on in one of them or in both at a time.

    Returns:
        the sum, over the way, of the mean distance of the bands; and how many pairs of frames the way has.

    Raises:
        MissingExtraError: the library `librosa` is not installed.

    Source: Kubichek 1993, "Mel-cepstral distance measure for objective speech quality assessment", with distances of
        bands for those of cepstra.

    Example:
        >>> warped_error(torch.tensor([[1.0], [1.0], [5.0]]), torch.tensor([[1.0], [4.0]]))
        (1.0, 3)
    """
    # Who says nothing at all is compared by a frame of the mean sound, which is 0.
    said = said if len(said) else recorded.new_zeros(1, recorded.shape[1])
    costs = torch.cdist(said, recorded, p=1.0) / recorded.shape[1]
    total, way = require("librosa.sequence", extra="speech").dtw(C=costs.numpy())
    return float(total[-1, -1]), len(way)
