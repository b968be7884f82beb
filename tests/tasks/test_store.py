import errno
import json
import os
import shutil
import stat

import pytest
import safetensors.torch
import torch
from toys import SAWS, tiny

from regard.errors import ArgumentError, ModelError, UncheckedModel, UnknownNameError
from regard.modules import NETWORKS, POOLINGS
from regard.tasks import TASKS, bundled, load, train
from regard.tasks.saving import loading
from regard.tasks.saving.card import model_card


@pytest.fixture(scope="module")
def tagger():
    return train(SAWS, SAWS, recipe=tiny(), progress="none", device="cpu", data={"name": "toy", "licence": "CC0"})


@pytest.fixture
def folder(tagger, tmp_path):
    return tagger.save(tmp_path / "model")


def edit(folder, **changes):
    path = folder / "model.json"
    described = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in {**described, **changes}.items() if value != "gone"}))


def test_a_round_trip_is_exact(tagger, folder):
    loaded = load(folder)
    for name, value in tagger.network.state_dict().items():
        other = loaded.network.state_dict()[name]
        assert value.dtype == other.dtype == torch.float32
        assert torch.equal(value, other)
    assert torch.equal(tagger.seen, loaded.seen)
    assert (loaded.labels, loaded.recipe, loaded.about) == (tagger.labels, tagger.recipe, tagger.about)
    assert loaded.tag([SAWS[0][0]]) == tagger.tag([SAWS[0][0]])
    again = loaded.save(folder.parent / "again")
    for name in ("model.safetensors", "model.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_loading_draws_no_random_number(folder):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    loaded = load(folder)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(value.device.type == "cpu" for value in loaded.network.state_dict().values())


def test_a_loaded_tagger_can_be_trained_on(folder):
    loaded = load(folder)
    loaded.network(loaded.encode([["I", "saw"]])).sum().backward()
    assert all(value.grad is not None for value in loaded.network.parameters())


def test_the_folder_holds_three_files_that_others_can_read(folder):
    assert {path.name for path in folder.iterdir()} == {"model.safetensors", "model.json", "README.md"}
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o777 & ~umask
    assert stat.S_IMODE((folder / "model.json").stat().st_mode) == 0o666 & ~umask


def test_the_card_says_what_is_known(tagger, tmp_path):
    scores = tagger.evaluate(SAWS).to_json()
    tagger.about = {**tagger.about, "scores": {"test": scores}}
    card = (tagger.save(tmp_path / "model") / "README.md").read_text()
    for text in (
        "# tagger",
        "- name: toy",
        "- licence: CC0",
        "- train: 5 sentences, 20 words",
        f"| test | {100 * scores['score']:.2f} %",
        "Wilson score interval over sentences",
        "float16",
        f"- parameters: {tagger.parameters:,}",
        "- seed: 0",
        f"torch {torch.__version__}",
        "- seconds: ",
        "## Limits",
    ):
        assert text in card


def test_saving_again_replaces_a_model_and_nothing_else(tagger, folder, tmp_path):
    tagger.save(folder)
    (tmp_path / "mine").mkdir()
    tagger.save(tmp_path / "mine")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    # Of another program, whose description has the same name.
    (tmp_path / "other" / "data").mkdir(parents=True)
    (tmp_path / "other" / "model.json").write_text("{}")
    for name in ("thesis", "file", "other"):
        with pytest.raises(ArgumentError, match=r"holds something else \(.*\). Name another"):
            tagger.save(tmp_path / name)
    assert (tmp_path / "thesis" / "thesis.txt").read_text() == "mine"
    assert (tmp_path / "other" / "data").is_dir()


def test_reading_moves_and_deletes_nothing(folder):
    (folder.parent / ".model.old").mkdir()
    (folder.parent / ".model.old" / "thesis.txt").write_text("mine")
    load(folder)
    assert (folder.parent / ".model.old" / "thesis.txt").read_text() == "mine"


def test_what_a_kill_left_aside_is_read_where_it_is(tagger, folder):
    aside = folder.rename(folder.parent / ".model.old")
    for loaded in (load(folder), load(folder.parent)):
        assert loaded.tag([SAWS[0][0]]) == tagger.tag([SAWS[0][0]])
    assert load(folder).name == "model"
    assert list(folder.parent.iterdir()) == [aside]


def test_damaged_weights_are_never_used(folder):
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"is damaged: its SHA-256 isn't the one in model.json. Copy it again"):
        load(folder)


def test_weights_without_a_digest_are_read_but_not_if_a_number_is_not_finite(folder):
    edit(folder, sha256="gone")
    load(folder, edited=True)
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors["output.bias"][0] = float("nan")
    safetensors.torch.save_file(tensors, path)
    with pytest.raises(ModelError, match=r"is damaged: 'output.bias' holds a number that isn't finite"):
        load(folder, edited=True)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float64, torch.complex64])
def test_weights_of_another_type_are_refused(folder, dtype):
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors["output.bias"] = tensors["output.bias"].to(dtype)
    safetensors.torch.save_file(tensors, path)
    edit(folder, sha256="gone")
    with pytest.raises(ModelError, match=f"must hold float16, but 'output.bias' is {dtype}"):
        load(folder, edited=True)


EDITS = {
    "labels in another order": lambda held: held["answer"]["names"].reverse(),
    "another mask": lambda held: held["recipe"].update(mask="no_self"),
    "another score": lambda held: held["recipe"].update(score="dot"),
    "another seed": lambda held: held["recipe"].update(seed=5),
    "another licence": lambda held: held["about"]["data"].update(licence="MIT"),
    "no digest of the weights": lambda held: held.pop("sha256"),
    "no digest": lambda held: held.pop("description_sha256"),
    "another digest": lambda held: held.update(description_sha256="0" * 64),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_description_that_was_edited_is_told_unless_the_edit_is_trusted(folder, name, tmp_path):
    path = folder / "model.json"
    held = json.loads(path.read_bytes())
    EDITS[name](held)
    path.write_text(json.dumps(held))
    with pytest.raises(
        ModelError, match=r"model.json was edited since it was saved: .* `edited=True` \(--trust-edits\)"
    ):
        load(folder)
    again = load(folder, edited=True).save(tmp_path / "again")
    # Saving it keeps the edit.
    load(again)
    assert json.loads((again / "model.json").read_bytes())["recipe"] == held["recipe"]


def test_how_the_json_is_written_is_no_edit(folder):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=4))
    load(folder)


def test_a_model_of_the_format_before_is_told_to_be_unchecked(tagger, folder, tmp_path):
    edit(folder, format=2, description_sha256="gone")
    with pytest.warns(UncheckedModel, match=r"model.json was saved by an earlier version of regard, without a digest"):
        loaded = load(folder)
    assert loaded.tag([SAWS[0][0]]) == tagger.tag([SAWS[0][0]])
    # As the warning says; the weights stay as they are.
    before = (folder / "model.safetensors").read_bytes()
    load(loaded.save(folder))
    assert (folder / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("temperature", [1e-320, 0.0, 1e300, True])
def test_a_temperature_that_gives_no_number_is_refused_even_if_the_edit_is_trusted(folder, temperature):
    answer = json.loads((folder / "model.json").read_bytes())["answer"]
    edit(folder, answer={**answer, "temperature": temperature})
    with pytest.raises(ModelError, match=r"`temperature` must be a number from 0.001 to 1000"):
        load(folder, edited=True)


def test_a_full_disk_leaves_the_old_model(tagger, folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            tagger.save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_weight_too_large_for_float16_is_refused(tagger, tmp_path):
    with torch.no_grad():
        kept = tagger.network.output.bias[0].item()
        tagger.network.output.bias[0] = 7e4
        with pytest.raises(ArgumentError, match=r"`output.bias` must be finite and below 65504 .* reaches 70000"):
            tagger.save(tmp_path / "model")
        tagger.network.output.bias[0] = kept
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [0, 4, 9, 200, 3000])
def test_truncated_weights(folder, size):
    os.truncate(folder / "model.safetensors", size)
    with pytest.raises(ModelError, match=r"model.safetensors can't be read, it is cut short or damaged"):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b'{"format": 1', b"[" * 200_000])
def test_broken_json(folder, content):
    (folder / "model.json").write_bytes(content)
    with pytest.raises(ModelError, match=r"model.json isn't JSON"):
        load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 1}, "must have format 3, but has 1. Another version"),
        ({"format": "gone"}, "must have format 3, but has None"),
        ({"format": [3]}, r"must have format 3, but has \[3\]"),
        ({"kind": ["tagger"]}, r"must be of kind 'tagger' .* but is \['tagger'\]"),
        ({"recipe": {"task": {"kind": ["tagger"]}}}, r"`task.kind` must be one of .* but is \"\['tagger'\]\""),
        ({"kind": "parser"}, f"must be of kind {' or '.join(map(repr, TASKS))}, but is 'parser'"),
        ({"answer": "gone"}, "has no 'answer'"),
        (
            {"answer": {"kind": "label", "names": ["A"]}},
            r"'output.weight' must be \(1, 24\), as model.json says, but is",
        ),
        ({"answer": {"kind": "label", "names": [3]}}, "`labels` must be a list of strings"),
        ({"anwser": []}, "Did you mean 'answer'"),
        ({"recipe": {"widht": 24}}, "Did you mean 'width'"),
        ({"recipe": {"width": 24, "heads": 2}}, "must be"),
        ({"recipe": 3}, "`recipe` must be a JSON object"),
        ({"answer": {"kind": "label", "names": ["A", "A"]}}, "`labels` must be distinct, but has 'A' twice"),
        ({"about": 5}, "`about` must be a JSON object, but is 5"),
        ({"about": {"data": [1]}}, r"`about\['data'\]` must be a JSON object"),
        ({"reader": {}}, "the saved word encoder can't be read"),
        ({"reader": 3}, "`reader` must be a JSON object, but is 3"),
    ],
)
def test_a_description_that_does_not_fit(folder, changes, message):
    edit(folder, **changes)
    with pytest.raises(ModelError, match=message) as caught:
        load(folder, edited=True)
    assert str(folder) in str(caught.value)


def test_layers_too_many_or_too_few(folder):
    recipe = json.loads((folder / "model.json").read_text())["recipe"]
    edit(folder, recipe={**recipe, "layers": 3})
    with pytest.raises(ModelError, match=r"has no tensor 'network.encoder.layers.2"):
        load(folder, edited=True)
    edit(folder, recipe={**recipe, "layers": 1})
    with pytest.raises(
        ModelError, match=r"a network of the recipe in model.json has no tensor 'network.encoder.layers.1"
    ):
        load(folder, edited=True)


def test_a_net_that_no_memory_holds(folder):
    recipe = json.loads((folder / "model.json").read_text())["recipe"]
    edit(folder, recipe={**recipe, "width": 2 * 10**9, "heads": 1})
    with pytest.raises(ModelError, match=r"model.json can't be used: .* Copy the whole folder again"):
        load(folder, edited=True)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"has no {name}"):
        load(folder)


def test_the_card_is_for_people_only(folder):
    with_card = load(folder)
    (folder / "README.md").unlink()
    loaded = load(folder)
    assert (loaded.name, loaded.labels, loaded.recipe) == (with_card.name, with_card.labels, with_card.recipe)
    assert loaded.about == with_card.about != {}
    assert loaded.tag([SAWS[0][0]]) == with_card.tag([SAWS[0][0]])


def test_a_missing_folder(tmp_path):
    with pytest.raises(ModelError, match="There is no model folder"):
        load(tmp_path / "none")
    with pytest.raises(ModelError, match="There is no model folder"):
        load(str(tmp_path / "none"))
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="file is a file, not the folder of a model"):
        load(tmp_path / "file")
    for name in ("", "folder"):
        with pytest.raises(UnknownNameError, match=f" or a folder, but is {name!r}.$"):
            load(name)


def test_a_folder_that_can_not_be_read_is_a_model_error(folder, monkeypatch):
    (folder.parent / "loop").symlink_to("loop")
    for path in ("loop", "loop/model", "a" * 300):
        with pytest.raises(ModelError, match=path.split("/")[0]):
            load(folder.parent / path)

    def forbidden(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder / "model.json"))

    monkeypatch.setattr(type(folder), "read_bytes", forbidden)
    with pytest.raises(ModelError, match=r"model.json can't be read: Permission denied. Make it readable"):
        load(folder)


def test_a_folder_whose_name_is_no_utf8_has_a_name_that_can_be_written(tagger, tmp_path):
    loaded = load(tagger.save(tmp_path / "o\udcff"))
    assert loaded.name == "o\ufffd"
    assert "o\ufffd" in (loaded.save(tmp_path / "again") / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", [None, 5])
def test_neither_name_nor_path(name):
    with pytest.raises(ArgumentError, match="`name_or_folder` must be a name or a path"):
        load(name)


@pytest.mark.parametrize("name", ["a\0b", "a/b\0"])
def test_no_path_has_a_zero_byte(name):
    with pytest.raises(ArgumentError, match="of a model has no zero byte"):
        load(name)


def test_bundled_names(folder, monkeypatch, tmp_path):
    models = tmp_path / "models"
    shutil.copytree(folder, models / "english-pos")
    monkeypatch.setattr(loading, "_MODELS", models)
    assert list(bundled()) == ["english-pos"]
    assert load("english-pos").name == "english-pos"
    with pytest.raises(UnknownNameError, match="Did you mean 'english-pos'"):
        load("englsh-pos")


@pytest.mark.parametrize("network", NETWORKS)
def test_the_card_of_a_net_without_attention_claims_none(network):
    answer = {"kind": "label", "names": ["A"]}
    described = {"kind": "tagger", "answer": answer, "parameters": 7, "recipe": {"network": network}}
    described |= {"about": {"example": ['"', "\\"]}}
    card = model_card("toy", described)
    without = not NETWORKS[network].attends
    assert ("without attention" in card) == ("no attention to show" in card) == without
    assert ("The attention shows" in card) == (not without)
    assert 'model.tag([["\\"", "\\\\"]])' in card


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_card_of_a_classifier_knows_what_pools(network, pooling):
    recipe = {"task": {"kind": "classifier", "pooling": pooling}, "network": network}
    answer = {"kind": "label", "names": ["A"]}
    card = model_card("toy", {"kind": "classifier", "answer": answer, "parameters": 7, "recipe": recipe})
    attends = NETWORKS[network].attends or pooling in ("attention", "class")
    assert ("without attention" in card) == ("no attention to show" in card) == (not attends)
    assert ("The attention shows" in card) == attends
    assert ("and attention that draws the answer" in card) == (attends and not NETWORKS[network].attends)


@pytest.mark.parametrize(
    ("licence", "first"),
    [
        (
            "none stated",
            "**For research and learning: the data that this model was trained on states no terms of use.**",
        ),
        ("CC BY-NC-SA (the pictures aside)", "**Not for commercial use: the terms of the data that this model was"),
        ("CC BY-SA 4.0 (the 2016 readme of train said NC; lifted in 2019)", "# toy"),
    ],
)
def test_terms_that_bind_come_before_all_else(licence, first):
    answer = {"kind": "label", "names": ["A"]}
    described = {"kind": "classifier", "answer": answer, "parameters": 7, "about": {"data": {"licence": licence}}}
    assert model_card("toy", described).startswith(first)


@pytest.mark.parametrize(
    ("kind", "source", "answer", "said"),
    [
        (
            "tagger",
            "speech",
            {"kind": "label", "names": ["A"]},
            ("one of 1 labels (A) for each frame", "predict", "recording"),
        ),
        ("tagger", "graphs", {"kind": "number"}, ("a number for each node", "predict", "model.tag([graph])")),
        ("classifier", "molecules", {"kind": "number"}, ("a number for a source", "predict", '"CCO"')),
        ("seq2seq", "texts", {"kind": "text"}, ("A seq2seq model", "predict", "model.write(")),
        ("synthesis", "texts", {"kind": "speech"}, ("A speech synthesizer", "regard say", "model.say(")),
        ("tagger", "words", {"kind": "label", "names": ["A"]}, ("each word of a sentence", "regard tag", "saw")),
    ],
)
def test_the_card_speaks_of_what_the_model_reads(kind, source, answer, said):
    described = {"kind": kind, "answer": answer, "parameters": 7, "recipe": {"input": {"kind": source}}}
    card = model_card("toy", described)
    assert all(each in card for each in said)


def test_the_card_tells_the_figures_of_each_split_and_counts_what_there_is():
    score = {"accuracy": 0.5, "interval": [0.4, 0.6], "words": 9, "macro_f1": 0.5, "method": "drawn"}
    answer = {"kind": "label", "names": ["A"]}
    described = {"kind": "tagger", "answer": answer, "parameters": 7, "recipe": {"input": {"kind": "graphs"}}}
    card = model_card("toy", {**described, "about": {"scores": {"test": score}}})
    assert "| nodes |" in card
    assert "treebank" not in card
    scores = {
        split: {"measure": "BLEU", "score": 1.0, "interval": [0, 2], "examples": 3, "method": "drawn", "more": more}
        for split, more in (("dev", {"chrF": 1.234, "signature": "x"}), ("test", {"chrF": 5.678, "signature": "x"}))
    }
    card = model_card(
        "toy", {"kind": "seq2seq", "answer": {"kind": "text"}, "parameters": 7, "about": {"scores": scores}}
    )
    assert "chrF of dev: 1.23. signature: x. chrF of test: 5.68. Interval: drawn." in card


def test_a_run_that_is_not_finished_is_told_from_a_broken_model(tmp_path):
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match=r"isn't finished, so it has no model yet. Go on with it by --resume"):
        load(tmp_path)
