"""An ONNX file at work: a session of onnxruntime, and a model whose outputs come from it."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.extras import require
from regard.inputs import Batch
from regard.tasks.exporting.traced import Traced

__all__ = ["OnnxNetwork", "onnx_session"]


def onnx_session(content: bytes) -> Callable[[Mapping[str, Tensor]], Tensor]:
    """A function that runs an ONNX file with one output on named tensors.

    Raises:
        MissingExtraError: onnxruntime isn't installed.
    """
    runtime = require("onnxruntime", extra="onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors alone
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]

    def run(tensors: Mapping[str, Tensor]) -> Tensor:
        (found,) = session.run(None, {name: tensors[name].numpy() for name in names})
        return torch.from_numpy(found)

    return run


class OnnxNetwork(nn.Module):
    """In the place of a model's network: its outputs are those of an ONNX file, so that the file can be evaluated.

    Args:
        network: the network that was exported.
        traced: what is exported.
        outputs_of: the outputs that have the values of the file.
        run: the file, as from `onnx_session`.
    """

    def __init__(
        self,
        network: Any,
        traced: Traced,
        outputs_of: Callable[[Tensor], Tensor],
        run: Callable[[Mapping[str, Tensor]], Tensor],
    ):
        super().__init__()
        self.network, self.pooling = network, network.pooling
        self._traced, self._outputs_of, self._run = traced, outputs_of, run
        self.eval()

    def item_numbers(self, batch: Batch) -> Tensor:
        """The outputs for each item; those at padding are meaningless."""
        return self._outputs_of(self._run(self._traced.network.inputs_of(batch)))

    def forward(self, batch: Batch) -> Tensor:
        outputs = self.item_numbers(batch)
        return outputs[batch.real] if self.pooling is None else outputs
