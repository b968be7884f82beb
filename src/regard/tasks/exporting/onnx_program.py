"""A traced model as the bytes of an ONNX file."""

import logging
import warnings
from collections.abc import Iterator, Mapping
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


def onnx_program(traced: Traced, tensors: Mapping[str, Tensor], name: str, *, fixed: bool = False) -> bytes:
    """Trace a model, and write it as an ONNX file with axes of any size.

    Args:
        traced: what is exported.
        tensors: an example of its inputs, in which each axis that may vary has a size of 2 or more.
        name: the name of the model in errors.
        fixed: whether all sources have the same number of items.

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
        said = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        raise ArgumentError(_why_not(name, f"{type(error).__name__}: {said:.160}")) from error
    _name_axes(proto, traced)
    of_any_size = {axis for shape in shapes_of(proto).values() for axis in shape if isinstance(axis, str)}
    if "batch" not in of_any_size or not (fixed or traced.network.item_axis in of_any_size):
        raise ArgumentError(_why_not(name, "it computes otherwise for each number of items"))
    proto.graph.name = "regard"
    return proto.SerializeToString()


def shapes_of(proto: Any) -> dict[str, list[int | str]]:
    """The shape of each input and output of an ONNX model: a number, or the name of an axis of any size."""
    return {
        each.name: [axis.dim_param or axis.dim_value for axis in each.type.tensor_type.shape.dim]
        for each in (*proto.graph.input, *proto.graph.output)
    }


def _why_not(name: str, why: str) -> str:
    return (
        f"{name} can't be exported: its network has an operation that depends on more than the shapes of its inputs "
        f"({why}). Train it with another network, position, score, normaliser or approximation; regard train --recipe "
        "names them."
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
    """Leave out what the exporter tells its developers, such as the whole graph of a network that it can't trace."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
