"""A traced model as the bytes of an ONNX file."""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from regard.attention.compilation.traceable import traceable
from regard.errors import ArgumentError
from regard.extras import require
from regard.tasks.exporting.traced import Traced, TracedModule

__all__ = ["OPSET", "onnx_program", "shapes_of"]

OPSET = 20
_LOGGERS = ("torch.onnx", "torch.export", "torch._export", "onnxscript", "onnx_ir")


def onnx_program(traced: Traced, tensors: Mapping[str, Tensor], name: str) -> bytes:
    """Trace a model, and write it as an ONNX file with axes of any size.

    Args:
        traced: what is exported.
        tensors: an example of its inputs, in which each axis that may vary has a size of 2 or more.
        name: the name of the model in errors and in the file.

    Raises:
        ArgumentError: the network has an operation that can't be traced.
        MissingExtraError: the libraries for ONNX aren't installed.
    """
    for library in ("onnx", "onnxscript", "onnxruntime"):
        require(library, extra="onnx")
    names = tuple(tensors)
    module = TracedModule(traced, names).eval()
    axes = tuple(dict.fromkeys(range(tensor.ndim), torch.export.Dim.AUTO) for tensor in tensors.values())
    try:
        with _quiet(), traceable(), torch.no_grad():
            exported = torch.export.export(module, tuple(tensors.values()), dynamic_shapes=(axes,), strict=False)
            program: Any = torch.onnx.export(
                exported,
                (),
                dynamo=True,
                opset_version=OPSET,
                input_names=list(names),
                output_names=[traced.name],
                external_data=False,
                verbose=False,
            )
            proto = program.model_proto
    except ArgumentError:
        raise
    # What can't be traced raises errors of many kinds.
    except Exception as error:
        raise ArgumentError(_why_not(name, error)) from error
    _name_axes(proto, traced)
    proto.graph.name = "regard"
    return proto.SerializeToString()


def shapes_of(proto: Any) -> dict[str, list[int | str]]:
    """The shape of each input and output of an ONNX model: a number, or the name of an axis of any size."""
    return {
        each.name: [axis.dim_param or axis.dim_value for axis in each.type.tensor_type.shape.dim]
        for each in (*proto.graph.input, *proto.graph.output)
    }


def _why_not(name: str, error: Exception) -> str:
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return (
        f"{name} can't be exported: its network has an operation that depends on more than the shapes of its inputs "
        f"({type(error).__name__}: {said:.160}). Train it with another network, position, mask or approximation; "
        "regard train --recipe names them."
    )


def _name_axes(proto: Any, traced: Traced) -> None:
    """Give the axes of any size the names that they have in the description, instead of numbered ones."""
    for each in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        for axis in each.type.tensor_type.shape.dim:
            # A size that the tracing found to be always the same is still written as a name.
            if axis.dim_param.isdigit():
                axis.dim_value = int(axis.dim_param)
    known: dict[str, str] = {}
    for each in proto.graph.input:
        for axis, name in zip(each.type.tensor_type.shape.dim, traced.network.input_axes[each.name], strict=True):
            if axis.dim_param:
                known.setdefault(axis.dim_param, name)
    for each in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        for axis in each.type.tensor_type.shape.dim:
            if axis.dim_param:
                axis.dim_param = known.get(axis.dim_param, axis.dim_param)


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what the exporter tells its developers."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = _set(loggers, [logging.ERROR] * len(loggers))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _set(loggers, levels)


def _set(loggers: Sequence[logging.Logger], levels: Sequence[int]) -> list[int]:
    before = [logger.level for logger in loggers]
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    return before
