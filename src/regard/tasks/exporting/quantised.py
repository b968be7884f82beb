"""An ONNX file with weights of eight bits."""

import logging
import tempfile
import warnings
from pathlib import Path

from regard.extras import require

__all__ = ["quantised"]


def quantised(content: bytes) -> bytes:
    """The same file with the weights of matrix products, recurrences and tables in eight bits.

    Activations are quantised while the file runs ("dynamic quantisation"), so no data are needed.

    Raises:
        MissingExtraError: onnxruntime isn't installed.

    Source: Jacob et al. 2018 (arXiv 1712.05877), section 2.1, for weights and activations of eight bits.
    """
    library = require("onnxruntime.quantization", extra="onnx")
    shaped = require("onnxruntime.quantization.shape_inference", extra="onnx")
    root, level = logging.getLogger(), logging.getLogger().level
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The library advises its users on the root logger.
        root.setLevel(logging.ERROR)
        try:
            whole, ready, small = (Path(folder, f"{name}.onnx") for name in ("whole", "ready", "small"))
            whole.write_bytes(content)
            shaped.quant_pre_process(whole, ready, skip_symbolic_shape=True)
            library.quantize_dynamic(ready, small, weight_type=library.QuantType.QInt8)
            return small.read_bytes()
        finally:
            root.setLevel(level)
