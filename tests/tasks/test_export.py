"""Exported models: what is traced gives what the model gives, and the files hold what they say."""

import hashlib
import json
import subprocess
import sys

import pytest
import torch
from exported_cases import LABELS, largest_gap, untrained
from source_cases import CASES, case_of

from regard import load
from regard.attention import INPUT_POSITIONS, POSITIONS
from regard.attention.compilation.traceable import traceable
from regard.attention.masks import MASKS
from regard.attention.scores import SCORES
from regard.attention.weights import WEIGHTS
from regard.errors import ArgumentError, ModelError
from regard.modules.efficient import APPROXIMATIONS
from regard.modules.networks import NETWORKS
from regard.tasks import export_onnx, inputs_of
from regard.tasks.exporting import export as exporting
from regard.tasks.exporting.quantised import quantised
from regard.tasks.targets import Label, MultiLabel, Regression

pytestmark = pytest.mark.filterwarnings("ignore::regard.errors.UnreliablePrediction")

WORDS, SENTENCES, _ = CASES["words"]
SENTENCES = [*SENTENCES, "a film as good as a good film can be", "one", "Bad, bad!"]
PARTS = {
    **{f"position {name}": {"position": name} for name in (*POSITIONS, *INPUT_POSITIONS) if name != "flow"},
    **{f"weights {name}": {"weights": name} for name in WEIGHTS},
    **{f"score {name}": {"score": name} for name in SCORES},
    **{f"mask {name}": {"mask": name} for name in ("no_self", "causal", "window", "strided", "longformer", "bigbird")},
    **{f"network {name}": {"network": name} for name in NETWORKS if name not in ("recurrent", "bidirectional")},
    **{
        f"pooling {name}": {"task": {"kind": "classifier", "pooling": name}} for name in ("mean", "sum", "max", "class")
    },
    "ensemble": {"members": 3},
    "linear words": {"input": {"linear": True, "linear_rows": 101}},
    "linear characters": {"input": {"linear": True, "linear_ngrams": "characters", "linear_rows": 101}},
    "linear affixes": {
        "task": "tagger",
        "input": {"linear": True, "linear_ngrams": "affixes", "linear_rows": 101},
    },
    "projections": {"projections": "query_only"},
}


def made(**fields):
    """A model of words with random weights."""
    if "connected" in fields.values() or "window" in fields.values() or "convolution" in fields.values():
        fields.setdefault("position", "none")
    given = {"minimum_count": 1}
    return untrained(
        SENTENCES, **{"task": "classifier", **fields, "input": {"features": given, **fields.get("input", {})}}
    )


def traced_gap(model, sources):
    """The largest difference of what is traced, on all sources in one batch, from the model on each alone."""
    traced, batch = model.traced(), model.encode(sources)
    with traceable(), torch.no_grad():
        found = traced.values(traced.network.outputs_for(traced.network.inputs_of(batch)))
    worst = 0.0
    for source, row, length in zip(sources, found, batch.lengths.tolist(), strict=True):
        (numbers,) = model.numbers([model.read(source)])
        row = row[:length] if "length" in traced.axes else row
        wanted = traced.values(numbers)
        assert 0.01 < float(wanted.max()) < 0.99, "an answer that is certain hides what differs"
        worst = max(worst, float((row - wanted).abs().max()))
    return worst


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("task", ["tagger", "classifier"])
def test_what_is_traced_of_each_kind_of_source_is_the_model(kind, task):
    settings, sources, _ = case_of(kind)
    assert traced_gap(untrained(sources, task=task, input=settings), sources) < 1e-5


@pytest.mark.parametrize("name", PARTS)
def test_what_is_traced_of_each_part_is_the_model(name):
    assert traced_gap(made(**PARTS[name]), SENTENCES) < 1e-5


@pytest.mark.parametrize(
    "target",
    [Label(("a", "b"), 2.5), MultiLabel(("a", "b", "c"), 0.7), Regression(mean=100.0, spread=20.0)],
    ids=lambda target: target.kind,
)
def test_outputs_of_values_are_the_outputs(target):
    """Of labels up to a number that is the same for all, which changes no probability."""
    outputs = torch.randn(5, target.outputs, generator=torch.Generator().manual_seed(0))
    values = target.values(outputs)
    again = target.outputs_of(values)
    torch.testing.assert_close(target.values(again), values)
    assert target.kind == "label" or torch.allclose(again, outputs, atol=1e-4)
    assert target.exported[0] == ("numbers" if target.kind == "number" else "probabilities")


@pytest.fixture(scope="module")
def model():
    """With a recurrent network, attention in the pooling, and a linear part."""
    return made(network="bidirectional", task={"kind": "classifier", "pooling": "attention"}, input={"linear": True})


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    """The model, exported once for many tests."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    return export_onnx(model, tmp_path_factory.mktemp("exported") / "my-model.onnx")


@pytest.fixture
def at_once(monkeypatch, exported):
    """Exporting the model gives the bytes that are known already."""
    content = exported.files[0].read_bytes()
    monkeypatch.setattr(exporting, "onnx_program", lambda *given, **more: content)


@pytest.mark.slow
def test_file_gives_what_the_model_gives(model, exported):
    content = exported.files[0].read_bytes()
    assert largest_gap(model, content, SENTENCES, [1, 2, 3]) < 1e-5
    assert largest_gap(model, content, SENTENCES, [len(SENTENCES)]) < 1e-5


def test_description_is_of_the_file(model, exported):
    description = json.loads(exported.files[1].read_bytes())
    names = ["my-model.onnx", "my-model.json", "my-model.py", "my-model.md"]
    assert [file.name for file in exported.files] == names
    assert description == json.loads(json.dumps(exported.description))
    file = description["file"]
    assert file["sha256"] == hashlib.sha256(exported.files[0].read_bytes()).hexdigest()
    assert (file["name"], file["bytes"]) == ("my-model.onnx", exported.files[0].stat().st_size)
    assert file["largest_difference"] < 1e-5
    assert [(each["name"], each["type"], each["shape"]) for each in description["inputs"]] == [
        ("vectors", "int64", ["batch", "length", "feature"]),
        ("lengths", "int64", ["batch"]),
        ("ngrams", "int64", ["batch", "length", "ngram"]),
    ]
    assert description["output"]["shape"] == ["batch", 3]
    assert description["labels"] == list(LABELS.names)
    assert description["temperature_applied"]
    assert description["target"]["temperature"] == 1.5
    assert description["encoder"] == json.loads(json.dumps(model.encoder.to_json()))
    assert description["encoder_file"] == "my-model.py"


def test_usage_runs_without_regard(exported, monkeypatch):
    code = exported.description["usage"]["python"].replace("'I saw a saw.'", "'bad, bad!', 'good'")
    guard = "import sys\nsys.modules['regard'] = sys.modules['torch'] = None\n"
    found = subprocess.run(
        [sys.executable, "-c", guard + code],
        cwd=exported.files[0].parent,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = found.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.split()[0] in LABELS.names for line in lines)
    assert len(code.splitlines()) <= 16


def test_eight_bits_are_smaller_and_nearly_the_same(model, exported, at_once, tmp_path):
    content = exported.files[0].read_bytes()
    small = quantised(content)
    assert len(small) < 0.75 * len(content)
    assert 0 < largest_gap(model, small, SENTENCES, [2, 5]) < 0.3
    pairs = [(sentence, LABELS.names[place % 3]) for place, sentence in enumerate(SENTENCES)]
    found = export_onnx(model, tmp_path / "small.onnx", int8=True, examples=pairs).description["int8"]
    assert found["measure"] == "accuracy"
    assert found["score_before"] == model.evaluate(pairs).score
    assert (found["bytes_before"], found["bytes"]) == (len(content), (tmp_path / "small.onnx").stat().st_size)
    assert 0 < found["mean_difference"] <= found["largest_difference"]
    card = (tmp_path / "small.md").read_text(encoding="utf-8")
    assert card.endswith(model.card)
    scores = [f"{100 * found[name]:.2f} %" for name in ("score_before", "score")]
    assert f"On dev: accuracy {scores[0]} with weights of 32 bits, {scores[1]} with eight." in card


def test_files_that_are_there_are_kept(model, exported, at_once, tmp_path):
    (tmp_path / "one.json").write_text("mine")
    with pytest.raises(ArgumentError, match=r"`path` must be a new file, but .*one\.json is there already"):
        export_onnx(model, tmp_path / "one.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["one.json"]
    export_onnx(model, tmp_path / "one.onnx", force=True)
    assert json.loads((tmp_path / "one.json").read_bytes())["file"]["name"] == "one.onnx"
    with pytest.raises(ArgumentError, match=r"`path` must be a file that ends in \.onnx, but is 'one'"):
        export_onnx(model, "one")
    (tmp_path / "two.py").mkdir()
    with pytest.raises(ArgumentError, match=r"two\.py is a folder"):
        export_onnx(model, tmp_path / "two.onnx", force=True)


def test_a_full_disk_leaves_nothing(model, exported, at_once, tmp_path, monkeypatch):
    written = []

    def fails(handle):
        written.append(handle)
        if len(written) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(OSError, match=r"No space left on device: .*one\.json"):
        export_onnx(model, tmp_path / "one.onnx")
    assert not [*tmp_path.iterdir()]


def test_a_file_that_gives_something_else_is_refused(model, exported, monkeypatch, tmp_path):
    content = exported.files[0].read_bytes()
    other = made(network="bidirectional", task={"kind": "classifier", "pooling": "attention"}, input={"linear": True})
    with torch.no_grad():
        other.network.output.bias += torch.tensor([3.0, 0.0, 0.0])
    monkeypatch.setattr(exporting, "onnx_program", lambda *given, **more: content)
    with pytest.raises(ModelError, match="differs from the model by up to 0"):
        export_onnx(other, tmp_path / "one.onnx")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(("name", "why"), [("synthesis", "step by step"), ("german-english", "CTC head")])
def test_what_writes_step_by_step_is_refused(name, why, tmp_path):
    with pytest.raises(ArgumentError, match=f"{name} can't be exported: .*{why}"):
        export_onnx(load(name), tmp_path / "one.onnx")


def test_what_cannot_be_traced_is_refused_in_one_sentence(tmp_path):
    pytest.importorskip("onnxscript")
    model = made()

    class Asks(torch.nn.Module):
        def forward(self, vectors, lengths, mask=None, bias=None):
            return vectors if float(vectors.sum()) > 0 else -vectors

    model.network.network = Asks()
    with pytest.raises(ArgumentError, match="can't be exported: its network has an operation that depends on more"):
        export_onnx(model, tmp_path / "one.onnx")
    assert not [*tmp_path.iterdir()]


def test_arguments_that_contradict_each_other_are_refused(model, tmp_path):
    with pytest.raises(ArgumentError, match="`examples` measure what `int8` costs"):
        export_onnx(model, tmp_path / "one.onnx", examples=[])
    with pytest.raises(ArgumentError, match="`sources` must not be empty, but one has no item"):
        inputs_of(model, ["a", ""])
    assert inputs_of(model, ["a film"])["lengths"].tolist() == [2]
    assert MASKS


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_file_of_each_kind_of_source(kind, tmp_path):
    settings, sources, _ = case_of(kind)
    made = untrained(sources, task="tagger" if kind in ("graphs", "texts") else "classifier", input=settings)
    export_onnx(made, tmp_path / "model.onnx")
    assert largest_gap(made, (tmp_path / "model.onnx").read_bytes(), sources, [1, 2]) < 1e-5


REFUSED = (*APPROXIMATIONS, "position recurrent", "mask bigbird", "weights budget")
"""What computes by numbers that aren't known before the file runs."""
TOGETHER = ("position", "weights", "score", "mask", "pooling")
"""Of these each file has one part of every kind: what is traced was compared for each part by itself."""


def files():
    """Name -> the fields of a model, such that each part stands in some file."""
    kinds = [[name for name in PARTS if name.startswith(kind) and name not in REFUSED] for kind in TOGETHER]
    found = {name: fields for name, fields in PARTS.items() if not any(name in kind for kind in kinds)}
    for place in range(max(map(len, kinds))):
        names = [kind[place % len(kind)] for kind in kinds]
        found[", ".join(names)] = {field: value for name in names for field, value in PARTS[name].items()}
    return found | {
        "gru": {"network": "recurrent"},
        "lstm": {"network": "bidirectional", "cell": "lstm", "task": "tagger"},
    }


FILES = files()


def test_each_part_stands_in_a_file():
    assert {part for name in FILES for part in name.split(", ")} == {*PARTS, "gru", "lstm"}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_file_of_each_part(name, tmp_path):
    check_file(made(**FILES[name]), name, tmp_path / "model.onnx")


@pytest.mark.slow
@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_approximations_are_refused(name, tmp_path):
    shared = "shared_query_key" if APPROXIMATIONS[name].shared_query_key else "usual"
    model = made(approximation=name, position="sinusoidal", max_length=16, projections=shared)
    check_file(model, name, tmp_path / "model.onnx")


def check_file(model, name, path):
    """Export a model, and compare the file with it; or see that it is refused in a sentence."""
    if name in REFUSED:
        with pytest.raises((ArgumentError, ModelError), match="can't be exported"):
            export_onnx(model, path)
        assert not path.exists()
        return
    export_onnx(model, path)
    assert largest_gap(model, path.read_bytes(), SENTENCES, [1, 3]) < 1e-5
