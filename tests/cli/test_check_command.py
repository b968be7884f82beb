import dataclasses
import json

import pytest
import torch
from torch import nn

from regard.cli.main import main
from regard.inspection import RemoveHead, Seen, watch


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def seen_of(training=False, changes=(), rows=16):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(12, 3, 20, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).train(training)
    with watch(model, changes=changes, rows=rows) as seen, torch.no_grad():
        model(torch.randn(2, 5, 12))
    return seen


def saved(seen, tmp_path):
    path = tmp_path / "seen.safetensors"
    seen.save(path)
    return str(path)


def spoiled(seen, number):
    layer = seen.layers[number]
    seen.layers[number] = dataclasses.replace(layer, outputs=layer.outputs + 0.25)
    return seen


def test_a_right_record(tmp_path, capsys):
    seen = seen_of()
    assert main(["check", saved(seen, tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[-1] == "The 2 layers give what the record gives, within rounding."
    for part in (*seen.names, "multi_head_attention_forward", "2 x 3 heads x 5 queries x 5 keys x 4", "softmax"):
        assert part in out
    assert out.count("verdict: right") == 2


def test_a_layer_that_differs_is_named(tmp_path, capsys):
    path = saved(spoiled(seen_of(), 1), tmp_path)
    assert main(["check", path]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"regard: {path}: what a layer gave must be what its record gives, but ")
    assert "layer 2 (layers.1.self_attn) differs by 0.25, and its tolerance is 0.0001" in err
    assert "layers.0" not in err
    assert err.count("\n") == 1
    assert out.count("verdict: right") == out.count("verdict: differs") == 1
    assert "within rounding" not in out


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_what_is_not_finite_differs(number, tmp_path, capsys):
    seen = seen_of()
    seen.layers[0].outputs[0, 0, 0] = number
    assert main(["check", saved(seen, tmp_path), "--format", "json"]) == 1
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["right"] is False
    assert [each["right"] for each in told["layers"]] == [False, True]
    assert told["layers"][0]["difference"] is None
    assert told["layers"][0]["tolerance"] < 1e-3
    assert "layer 1 (layers.0.self_attn) differs by inf" in err


def test_json_has_the_differences_and_the_tolerances(tmp_path, capsys):
    seen = seen_of()
    path = saved(seen, tmp_path)
    assert main(["check", path, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["right"] is True
    assert told["record"] == path
    assert [each["difference"] for each in told["layers"]] == [layer.verify() for layer in seen]
    assert [each["tolerance"] for each in told["layers"]] == [layer.tolerance for layer in seen]
    sizes = ("layer", "batch", "heads", "key_heads", "queries", "keys", "feature")
    assert [told["layers"][1][name] for name in sizes] == [2, 2, 3, 3, 5, 5, 4]


@pytest.mark.parametrize(
    ("arguments", "instead", "said"),
    [
        ({"training": True}, "dropout 0.1", "Dropout: the layer set weights to 0 at random"),
        ({"rows": 0}, "no outputs", "No outputs: the record was made without rows to compare."),
        ({"changes": [RemoveHead(1, 2)]}, "heads changed", "Heads changed: the layer went on with other outputs"),
    ],
)
def test_what_can_not_be_compared_says_so(arguments, instead, said, tmp_path, capsys):
    path = saved(seen_of(**arguments), tmp_path)
    assert main(["check", path]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"verdict: {instead}" in out
    assert said in out
    compared = 1 if "changes" in arguments else 0
    last = "The layer gives what the record gives, within rounding. 1 more could not be compared."
    assert out.endswith(last if compared else "Nothing could be compared.")
    assert main(["check", path, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["right"] is (True if compared else None)
    assert told["layers"][0]["right"] is None
    assert told["layers"][0]["not_compared"] == instead


def test_many_layers_that_differ_are_counted(tmp_path, capsys):
    seen = Seen([layer for _ in range(3) for layer in seen_of()])
    for number in range(6):
        spoiled(seen, number)
    assert main(["check", saved(seen, tmp_path)]) == 1
    err = capsys.readouterr().err
    assert "layer 3 (" in err
    assert "layer 4 (" not in err
    assert "and 3 more layers differ." in err


def test_the_notes_of_the_layers_are_told(tmp_path, capsys):
    seen = seen_of()
    for layer in seen:
        layer.notes.append("It is special.")
    seen[1].notes.append("It is more special.")
    assert main(["check", saved(seen, tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "Layers 1, 2: It is special." in out
    assert "Layer 2: It is more special." in out


def test_a_narrow_terminal_and_plain_sentences(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    path = saved(seen_of(), tmp_path)
    assert main(["check", path, "--width", "40"]) == 0
    out = capsys.readouterr().out
    # The name of the file may be one long word.
    assert all(len(line) <= 40 for line in out.replace(path, "").splitlines() if "/" not in line)
    assert "\x1b" not in out
    assert main(["check", path, "--plain"]) == 0
    out = capsys.readouterr().out
    assert "layer: 1; name: layers.0.self_attn; function: multi_head_attention_forward;" in out


def test_what_is_no_record_is_refused_in_a_sentence(tmp_path, capsys):
    for words, code, said in (
        (["check"], 2, "`RECORD` is missing: a file that Seen.save or regard see --save wrote."),
        (["check", str(tmp_path / "none.safetensors")], 1, "must be one that Seen.save wrote, but can't be read"),
        (["check", saved(Seen([], "Nothing ran."), tmp_path)], 1, "must have a call of attention, but has none."),
    ):
        assert main(words) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err
        assert err.count("\n") == 1


def test_the_help_has_examples(capsys):
    assert main(["check", "--help"]) == 0
    assert "regard check seen.safetensors --format json" in capsys.readouterr().out


def about_damaged(tmp_path, about, spoil=False):
    """A record whose layers are right, or one of them isn't, and whose items can't be read."""
    seen = spoiled(seen_of(), 1) if spoil else seen_of()
    seen.about = about
    return saved(seen, tmp_path)


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"model": "mine"}, "(`items` is missing)"),
        ([1], "it must be an object"),
        ({"items": [3], "noun": "word"}, "`items` must be text, but is 3"),
    ],
)
def test_layers_are_checked_though_what_they_are_about_is_damaged(about, why, tmp_path, capsys):
    path = about_damaged(tmp_path, about)
    assert main(["check", path]) == 0
    out, err = capsys.readouterr()
    assert out.count("verdict: right") == 2
    assert out.splitlines()[-1] == "The 2 layers give what the record gives, within rounding."
    assert err.count("\n") == 1
    assert f"What {path} says its layers are about can't be read (" in err
    assert why in err
    assert "wasn't checked." in err
    assert main(["check", path, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["right"] is True
    assert why in found["warning"]
    assert found["warning"] in err


def test_a_wrong_layer_is_wrong_beside_damage(tmp_path, capsys):
    path = about_damaged(tmp_path, {"model": "mine"}, spoil=True)
    assert main(["check", path]) == 1
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 2
    assert "wasn't checked" in err[0]
    assert "layer 2 (layers.1.self_attn) differs by 0.25" in err[1]


def test_what_can_be_read_gives_no_warning(tmp_path, capsys):
    assert main(["check", saved(seen_of(), tmp_path), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["warning"], err) == (None, "")
