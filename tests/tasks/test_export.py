"""Exported models: their files give what the models give, for batches of any size and sources of any length."""

import pytest

from exported_cases import largest_gap, untrained
from regard.tasks import export_onnx
from source_cases import case_of

pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("kind", ["words"])
def test_kind(kind, tmp_path):
    settings, sources, _ = case_of(kind)
    model = untrained(sources, task="classifier", input=settings)
    export_onnx(model, tmp_path / "model.onnx")
    assert largest_gap(model, (tmp_path / "model.onnx").read_bytes(), sources, [1, 3]) < 1e-5
