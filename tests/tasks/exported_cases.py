"""Models to export: small networks with random weights, and how far a file is from its model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from regard.tasks import Classifier, Recipe, Tagger
from regard.tasks.exporting.onnx_session import onnx_session
from regard.tasks.registry import TASKS
from regard.tasks.targets import Label

LABELS = Label(("first", "second", "third"), temperature=1.5)
SMALL = {"width": 12, "heads": 2, "hidden": 10, "layers": 1, "attention_dropout": 0.0}


def untrained(sources: Sequence[Any], target: Any = LABELS, **fields: Any) -> Tagger | Classifier:
    """A model with random weights, in which nothing is zero by its initial weights."""
    recipe = Recipe(**{**SMALL, **fields})
    encoder = recipe.input.fit(sources)
    kind = TASKS[recipe.task.kind].model
    with torch.random.fork_rng():
        torch.manual_seed(7)
        network = kind.new_network(recipe, encoder, target)
        for name, parameter in network.named_parameters():
            # A linear part of texts holds squares.
            parameter.data.uniform_(0 if name.startswith("linear") else -0.3, 0.3)
    return kind(network, encoder, target, recipe)


def outputs_of(model: Any, source: Any) -> torch.Tensor:
    """The outputs for one source, as the model computes them; of a recogniser those of its CTC head."""
    if hasattr(model.network, "spelling"):
        batch = model.encode([source])
        with torch.inference_mode():
            return model.network.spelling(model.network.encode(batch.vectors, batch.lengths).part("keys"))[0]
    (numbers,) = model.numbers([model.read(source)])
    return numbers


def largest_gap(model: Any, content: bytes, sources: Sequence[Any], batches: Sequence[int]) -> float:
    """The largest difference of a file from the model's own `values`, over the sources in batches of these sizes.

    The model answers for each source alone, as users ask it; the file for batches with padding. Differences are told in
    units of a row's largest value where that exceeds 1: single precision rounds log-probabilities down to -24, as the
    recogniser gives them, to steps of 1.9e-6, and the model itself differs there from its double precision by 1.5e-5.
    """
    run, traced = onnx_session(content), model.traced()
    worst, start, sizes, answers = 0.0, 0, [*batches], []
    while start < len(sources):
        some = sources[start : start + sizes[0]]
        start, sizes = start + sizes[0], [*sizes[1:], sizes[0]]
        batch = model.encode(some)
        found = run(traced.network.inputs_of(batch)).double().numpy()
        for each, row, length in zip(some, found, batch.lengths.tolist(), strict=True):
            wanted = traced.values(outputs_of(model, each)).double().numpy()
            row = row[:length] if "length" in traced.axes else row
            assert row.shape == wanted.shape
            answers.extend(wanted.reshape(-1, wanted.shape[-1]))
            sizes_of_rows = np.abs(wanted).max(-1, keepdims=True).clip(min=1)
            worst = max(worst, float((np.abs(row - wanted) / sizes_of_rows).max()))
    assert np.std(answers, axis=0).max() > 1e-3, "all answers are alike, so that nothing is compared"
    return worst
