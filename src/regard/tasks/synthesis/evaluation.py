"""Evaluation of synthesized speech: the distance to a recording, after alignment in time."""

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
    """The length limits for `generate_frames`, converted from the seconds of the recipe to steps."""
    second = 100 / speech.together
    return {"longest": task.longest * second, "spare": math.ceil(task.spare * second)}


def frame_errors(network: FrameSeq2Seq, dataset: SpeechDataset, task: SynthesisSettings, batch_items: int) -> Tensor:
    """Synthesize each source, and compare it with its recording.

    Args:
        network: the network.
        dataset: the examples.
        task: has the length limits.
        batch_items: the approximate number of items in a batch.

    Returns:
        (example, 2): the sum of the errors in dB along the alignment path, and the length of the path.

    Raises:
        MissingExtraError: the library `librosa` is not installed.
    """
    speech = dataset.speech
    device = next(network.parameters()).device
    spreads = torch.tensor(speech.standard.spreads, dtype=torch.float64) * DECIBELS
    found = torch.zeros(len(dataset.lengths), 2, dtype=torch.float64)
    limits = limits_of(task, speech)
    # Batched by the length limit, not by the true length: a sound without an end runs up to the limit.
    may = [math.ceil(limits["longest"] * items) + limits["spare"] for items in dataset.source_lengths]
    for members in batches_by_length(may, batch_items):
        batch = dataset.batch(members)
        given = batch.sources.to(device)
        said = generate_frames(network, given.vectors, given.lengths, **limits)
        true = batch.frames(speech.together)
        for member, own, each, count in zip(members, said, true, batch.counts.tolist(), strict=True):
            generated = own.frames.cpu().reshape(-1, len(spreads))
            found[member] = torch.tensor(warped_error(generated.double() * spreads, each[:count].double() * spreads))
    return found


def warped_error(said: Float[Tensor, "frame band"], recorded: Float[Tensor, "other_frame band"]) -> tuple[float, int]:
    """The distance of two sounds by dynamic time warping.

    An alignment path leads from the beginning of both sounds to their end. Each step advances one of them, or both, by
    one frame. The distance is that of the cheapest path.

    Returns:
        the sum, over the path, of the mean distance of the bands; and the number of pairs of frames on the path.

    Raises:
        MissingExtraError: the library `librosa` is not installed.

    Source: Kubichek 1993, "Mel-cepstral distance measure for objective speech quality assessment", with distances of
        bands for those of cepstra.

    Example:
        >>> warped_error(torch.tensor([[1.0], [1.0], [5.0]]), torch.tensor([[1.0], [4.0]]))
        (1.0, 3)
    """
    # A sound without frames is replaced by one frame of the mean sound, which is 0.
    said = said if len(said) else recorded.new_zeros(1, recorded.shape[1])
    costs = torch.cdist(said, recorded, p=1.0) / recorded.shape[1]
    total, way = require("librosa.sequence", extra="speech").dtw(C=costs.numpy())
    return float(total[-1, -1]), len(way)
