"""Exporting a model as an ONNX file, with a description and an encoder beside it."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import ArgumentError, ModelError
from regard.extras import require
from regard.files import write_together
from regard.tasks.exporting.encoder_file import encoder_source
from regard.tasks.exporting.exported_card import exported_card
from regard.tasks.exporting.file_names import checked_files
from regard.tasks.exporting.onnx_program import OPSET, onnx_program, shapes_of
from regard.tasks.exporting.onnx_session import onnx_session
from regard.tasks.exporting.quantised import quantised
from regard.tasks.exporting.traced import Traced
from regard.tasks.exporting.usage import javascript_usage, python_usage
from regard.tasks.model import Model
from regard.tasks.saving.store import encode_json
from regard.version import __version__

__all__ = ["Exported", "export_onnx", "inputs_of"]

FORMAT = 1
_TRACED = (5, 3, 4)
"""The numbers of items of the sources that the network is traced with; all sizes that may vary differ."""
_CHECKED = ((5, 3, 4), (1,), (7, 1), (2,), (6, 6, 1, 11))
"""Those of the batches on which the file must equal the model."""
_TOLERANCE = 1e-4
_TYPES = {torch.float32: "float32", torch.int64: "int64", torch.bool: "bool", torch.float64: "float64"}


@dataclass(frozen=True)
class Exported:
    """A model that was exported.

    Args:
        files: the files that were written: the network, its description, its encoder if there is one, and its card.
        description: the content of the description.
    """

    files: tuple[Path, ...]
    description: dict[str, Any]


def export_onnx(
    model: Model[Any],
    path: str | Path,
    *,
    int8: bool = False,
    examples: Iterable[Any] | None = None,
    force: bool = False,
) -> Exported:
    """Write a model as an ONNX file, so that it can be used without regard and without PyTorch.

    The file gives what `predict` gives before the best label is chosen: probabilities, with the temperature that was
    fitted on dev, or numbers in their unit. Beside FILE.onnx stand FILE.json, which describes its inputs and output and
    holds the labels and the encoder, FILE.md, the model's card with what the export changed, and FILE.py, which encodes
    sources with NumPy, if that can be done. Before anything is written, the file is run on several batches and compared
    with the model.

    Args:
        model: a tagger, a classifier, or a recogniser with a CTC head.
        path: the file to write, which ends in .onnx.
        int8: whether weights are stored in eight bits: about a quarter of the size, and a little less exact.
        examples: with `int8`, examples with known targets, such as dev, by which the loss in score is measured.
        force: whether files of these names may be overwritten.

    Raises:
        ArgumentError: the model has no such form, a file is there already, or another argument can't be used.
        ModelError: the file gives something else than the model.
        MissingExtraError: the libraries for ONNX aren't installed.
        OSError: the files can't be written; nothing is then changed.

    Source: ONNX, onnx.ai; Wolf et al. 2020 (arXiv 1910.03771), section 5, for exports of models to other programs.

    Example:
        >>> import tempfile, regard
        >>> from regard.tasks import export_onnx
        >>> folder = tempfile.TemporaryDirectory()
        >>> exported = export_onnx(regard.load("written-digit"), f"{folder.name}/digit.onnx")
        >>> [file.name for file in exported.files], exported.description["output"]["shape"]
        (['digit.onnx', 'digit.json', 'digit.py', 'digit.md'], ['batch', 10])
        >>> folder.cleanup()
    """
    path = Path(path)
    files = checked_files(path, force=force)
    if examples is not None and not int8:
        raise ArgumentError("`examples` measure what `int8` costs, but that is False. Leave one out.")
    if next(model.network.parameters()).device.type != "cpu":
        raise ArgumentError("`model` must be on the CPU to be exported. Move it: model.network.cpu().")
    model.network.eval()
    traced, source = model.traced(), model.recipe.input
    inputs = _random_inputs(model, traced, _TRACED)
    fixed = len(set(map(len, source.random_items(model.encoder, _TRACED)))) == 1
    whole = onnx_program(traced, inputs, model.name, fixed=fixed)
    difference, _ = _difference(model, traced, onnx_session(whole))
    if not difference <= _TOLERANCE:
        raise ModelError(
            f"{model.name} can't be exported: the file differs from the model by up to {difference:.2g}. Export "
            "it with another version of PyTorch, and report what was exported."
        )
    content, cost = whole, None
    if int8:
        content = quantised(whole)
        cost = _cost(model, traced, whole, content, examples)
    encoder = source.encoder_file(model.encoder)
    description = _description(model, traced, path, content, files[2].name if encoder else None)
    description["file"]["largest_difference"] = difference
    description["int8"] = cost
    example = source.numpy_example(model.encoder) or repr(model.about.get("example") or "I saw a saw.")
    description["usage"] = {
        "python": python_usage(description, traced, example),
        "javascript": javascript_usage(description),
    }
    written = {files[0]: content, files[1]: encode_json(description) + b"\n"}
    if encoder:
        written[files[2]] = encoder_source(encoder).encode()
    written[files[3]] = exported_card(description, model.card).encode()
    write_together(written)
    return Exported((*written,), description)


def inputs_of(model: Model[Any], sources: Iterable[Any]) -> dict[str, np.ndarray]:
    """The inputs of the exported file of a model for sources, as arrays by name.

    Args:
        model: the model that was exported.
        sources: sources of the kind in the recipe's `input`, none of them empty.

    Raises:
        ArgumentError: a source that the model can't read, or an empty one.

    Example:
        >>> import regard
        >>> from regard.tasks import inputs_of
        >>> inputs = inputs_of(regard.load("toxicity"), ["CCO", "C"])
        >>> inputs["lengths"].tolist(), inputs["relations"].shape
        ([3, 1], (2, 3, 3))
    """
    batch = model.encode(sources)
    if len(batch) and not int(batch.lengths.min()):
        raise ArgumentError("`sources` must not be empty, but one has no item. Leave it out.")
    return {name: tensor.cpu().numpy() for name, tensor in model.traced().network.inputs_of(batch).items()}


def _random_inputs(model: Model[Any], traced: Traced, lengths: Sequence[int]) -> dict[str, Tensor]:
    source = model.recipe.input
    return traced.network.inputs_of(source.batch(model.encoder, source.random_items(model.encoder, lengths)))


def _difference(
    model: Model[Any], traced: Traced, run: Callable[[Mapping[str, Tensor]], Tensor]
) -> tuple[float, float]:
    """The largest difference of a file from the model over random sources, relative above 1; and the mean one."""
    found = []
    for lengths in _CHECKED:
        inputs = _random_inputs(model, traced, lengths)
        with torch.inference_mode():
            wanted = traced.values(traced.network.outputs_for(inputs))
        gap = (run(inputs) - wanted).abs() / wanted.abs().clamp(min=1)
        if "length" in traced.axes:
            gap = gap[torch.arange(gap.shape[1]) < inputs["lengths"][:, None]]
        found.append(gap.flatten())
    gaps = torch.cat(found)
    return float(gaps.max()), float(gaps.mean())


def _cost(
    model: Model[Any], traced: Traced, whole: bytes, small: bytes, examples: Iterable[Any] | None
) -> dict[str, Any]:
    """What eight bits cost: bytes, differences, and the score if there are examples."""
    run = onnx_session(small)
    largest, mean = _difference(model, traced, run)
    found: dict[str, Any] = {
        "bytes_before": len(whole),
        "bytes": len(small),
        "largest_difference": largest,
        "mean_difference": mean,
    }
    if examples is not None:
        given = [*examples]
        before, after = (model.with_outputs(traced, each).evaluate(given) for each in (onnx_session(whole), run))
        found |= {"measure": model.measure.name, "score_before": before.score, "score": after.score}
    return found


def _description(
    model: Model[Any], traced: Traced, path: Path, content: bytes, encoder_file: str | None
) -> dict[str, Any]:
    proto = require("onnx", extra="onnx").load_from_string(content)
    shapes, source, about = shapes_of(proto), model.recipe.input, model.about
    example = _random_inputs(model, traced, _TRACED)
    with torch.inference_mode():
        kind = _TYPES[traced.values(traced.network.outputs_for(example)).dtype]
    inputs = [
        {"name": name, "type": _TYPES[example[name].dtype], "shape": shapes[name], "meaning": meaning}
        for name, meaning in traced.network.input_meanings.items()
        if name in shapes
    ]
    target = model.target.to_json()
    return {
        "format": FORMAT,
        "regard": __version__,
        "model": {
            "name": model.name,
            "kind": model.kind,
            "title": about.get("title", model.name),
            "parameters": model.parameters,
            "data": {key: about.get("data", {}).get(key) for key in ("name", "label", "licence", "source")},
            "scores": about.get("scores", {}),
        },
        "file": {
            "name": path.name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
            "opset": OPSET,
        },
        "inputs": inputs,
        "output": {"name": traced.name, "type": kind, "shape": shapes[traced.name], "meaning": traced.meaning},
        "left_out": traced.left_out,
        "labels": [*traced.labels],
        "target": target,
        "temperature_applied": "temperature" in target,
        "longest": model.position_limit,
        "encoding": source.encoding,
        "encoder_file": encoder_file,
        "source": source.to_json(),
        "encoder": model.encoder.to_json(),
    }
