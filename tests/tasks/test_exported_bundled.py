"""The bundled models, exported: a hundred sources of different lengths, in batches of different sizes."""

import numpy as np
import pytest
import torch
from exported_cases import largest_gap

from regard import load
from regard.inputs import Sound
from regard.tasks import bundled, export_onnx

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::regard.errors.UnreliablePrediction"),
    pytest.mark.filterwarnings("ignore::regard.errors.LongerThanTrained"),
]
DECODED = ("chinese-english", "german-english", "letters-to-phonemes", "synthesis")
COUNT = 100
BATCHES = [1, 7, 2, 30, 1, 16]


def sources_of(model):
    """A hundred sources of the model's kind, of up to 60 items."""
    draws, kind = np.random.default_rng(3), model.recipe.input.kind
    if kind == "words":
        known = [*model.encoder.vocabulary, "Unheard", "x1", "-", "ß"]
        return [[str(each) for each in draws.choice(known, draws.integers(1, 60))] for _ in range(COUNT)]
    if kind == "speech":
        lengths = draws.integers(80, 24_000, COUNT)
        return [Sound(torch.tensor(draws.uniform(-0.5, 0.5, length))[None], 8000) for length in lengths]
    if kind == "pictures":
        return [draws.random((28, 28)) for _ in range(COUNT)]
    rings = ["C", "N", "O", "c1ccccc1", "CC(=O)", "C(F)(F)", "[C@H](C)", "C=C", "S"]
    return ["".join(draws.choice(rings, draws.integers(1, 12))) + "C" for _ in range(COUNT)]


# That of "toxicity", of six networks, takes a minute and a half.
EXPORTED = [
    pytest.param(name, marks=pytest.mark.exhaustive) if name == "toxicity" else name
    for name in bundled()
    if name not in DECODED
]


@pytest.mark.parametrize("name", EXPORTED)
def test_file_gives_what_the_model_gives(name, tmp_path):
    pytest.importorskip("onnxruntime")
    model = load(name)
    if model.recipe.input.kind in ("speech", "molecules"):
        pytest.importorskip({"speech": "librosa", "molecules": "rdkit"}[model.recipe.input.kind])
    export_onnx(model, tmp_path / "model.onnx")
    assert largest_gap(model, (tmp_path / "model.onnx").read_bytes(), sources_of(model), BATCHES) < 1e-5
