import io
import json

import pytest
import torch
from torch import nn

from regard.attention import WEIGHTS, attend
from regard.cli.main import main
from regard.inspection import LayerRecord, Record, Seen, SeenLayer, save_record, watch
from regard.inspection.steps import EXAMPLES, STEP_SCORES


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def typed(monkeypatch, *answers):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))


def test_without_an_argument_it_walks_through_the_first_example(capsys):
    assert main(["steps"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Note 000")
    for part in ("4 + 0 + 0 = 4", "the note prints", "[2, 7, 1.5]", "[1.937, 6.683, 1.595]", "[1.864, 6.319, 1.704]"):
        assert part in out


@pytest.mark.parametrize(("name", "title"), [("000", "三个输入"), ("002", "常威、打、来福"), ("004", "搜索商品")])
def test_every_example_in_chinese(capsys, name, title):
    assert main(["steps", name, "--lang", "zh"]) == 0
    out = capsys.readouterr().out
    assert title in out.splitlines()[0]
    assert "归一化" in out
    assert "normalise" not in out


def test_the_help_names_every_example(capsys):
    assert main(["steps", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in EXAMPLES)
    assert all(name in out for name in (*STEP_SCORES, *WEIGHTS))


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("score", STEP_SCORES)
def test_json_ends_in_the_output(capsys, score, weights):
    assert main(["steps", "--score", score, "--weights", weights, "--causal", "--query", "2", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["query"] == "x2"
    assert told["allowed"] == [True, True, False]
    if score != "additive":
        output = attend(*EXAMPLES["000"].matrices.tensors, score=score, weights=weights, mask="causal", engine="dense")
        assert told["steps"][-1]["values"] == pytest.approx(output[0, 0, 1].tolist())
    assert told["steps"][-1]["name"] == "output"


@pytest.mark.parametrize(
    ("temperature", "weights"), [("0", [0, 1, 0]), ("inf", [1 / 3] * 3), ("1", [0.0634, 0.4683, 0.4683])]
)
def test_the_temperature(capsys, temperature, weights):
    assert main(["steps", "--temperature", temperature, "--format", "json"]) == 0
    told = {step["name"]: step["values"] for step in json.loads(capsys.readouterr().out)["steps"]}
    assert told["normalise"] == pytest.approx(weights, abs=1e-4)


def test_a_file_of_ones_own(tmp_path, capsys):
    path = tmp_path / "mine.csv"
    path.write_text("saw,1,0\na,0,2\n", "utf-8")
    assert main(["steps", str(path), "--query", "2", "--key", "1"]) == 0
    out = capsys.readouterr().out
    assert "From a to saw, number by number" in out
    assert "[0, 2] x [1, 0] = [0, 0]" in out


def test_a_page(tmp_path, capsys):
    path = tmp_path / "steps.html"
    assert main(["steps", "002", "--lang", "zh", "--html", str(path)]) == 0
    text = path.read_text("utf-8")
    assert '<html lang="zh">' in text
    assert "来福" in text
    assert "src=" not in text
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["005"], 2, "must be one of 000, 002, 004, but is '005'"),
        (["none.json"], 1, "none.json: there is no such file."),
        (["--query", "4"], 2, "`--query` must be from 1 to 3, but is 4."),
        (["--key", "0"], 2, "`--key` must be from 1 to 3, but is 0."),
        (["--temperature", "-1"], 2, "`--temperature` must be 0 or more, but is -1.0."),
        (["--temperature", "nan"], 2, "`--temperature` must be 0 or more, but is nan."),
        (["--temperature", "2", "--weights", "relu"], 2, "`--temperature` is for softmax, but --weights is relu."),
        (["--score", "scaled"], 2, "Did you mean scaled_dot?"),
        (["--exercise", "--format", "json"], 2, "`--exercise` asks for the numbers"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(capsys, words, code, said):
    assert main(["steps", *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_sizes_that_do_not_fit_are_refused_in_a_sentence(tmp_path, capsys):
    path = tmp_path / "mine.json"
    path.write_text('{"query": [[1, 0]], "key": [[1]], "value": [[1]]}', "utf-8")
    assert main(["steps", str(path)]) == 2
    assert "must have the feature size of" in capsys.readouterr().err


def test_an_exercise_names_slips_and_counts(monkeypatch, capsys):
    typed(monkeypatch, "4", "4", "2.31", "?", "0.4", "0.43", "q")
    assert main(["steps", "--score", "scaled_dot", "--exercise"]) == 0
    out = capsys.readouterr().out
    said = [line for line in out.splitlines() if line]
    assert "You forgot to divide by sqrt(d)." in said
    assert "You forgot the exponential: softmax divides exp(s), not s." in said
    assert "The answer is 1." in said
    assert said[-1] == "3 of 7 right, 1 of them at once; 1 shown."
    # What is asked for isn't shown before.
    assert "2.309" not in out
    assert "0.4319" not in out


def test_an_exercise_ends_with_the_input_and_speaks_chinese(monkeypatch, capsys):
    typed(monkeypatch, "4", "4")
    assert main(["steps", "--score", "scaled_dot", "--exercise", "--lang", "zh"]) == 0
    out = capsys.readouterr().out
    assert "忘了除以 √d。" in out
    assert out.splitlines()[-1] == "7 题中答对 1 题，其中 1 题一次答对；看答案 0 题。"


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """The file of a record of two layers, three heads, two items and 30 items in each."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(12, 3, 20, batch_first=True).eval()
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    mask = nn.Transformer.generate_square_subsequent_mask(30)
    with watch(model) as seen:
        model(torch.randn(2, 30, 12), mask=mask, is_causal=True)
    path = tmp_path_factory.mktemp("records") / "seen.safetensors"
    seen.save(path)
    return path


def test_a_record_is_followed_at_the_place_that_is_asked_for(record, capsys):
    words = ["--layer", "2", "--head", "3", "--item", "2", "--query", "5", "--format", "json"]
    assert main(["steps", str(record), *words]) == 0
    told = json.loads(capsys.readouterr().out)
    layer = Seen.load(record)[1]
    weights = layer.weights()[1, 2, 4]
    steps = {step["name"]: step["values"] for step in told["steps"]}
    assert steps["normalise"] == pytest.approx(weights.tolist(), abs=1e-6)
    assert told["allowed"] == [True] * 5 + [False] * 25
    named = ("layer", "head", "item", "query", "name")
    assert [told[name] for name in named] == [2, 3, 2, 5, "layers.1.self_attn"]
    assert told["key"] == int(weights.argmax()) + 1


def test_a_record_begins_with_its_first_query_and_any_name(record, tmp_path, capsys):
    path = tmp_path / "seen.json"
    path.write_bytes(record.read_bytes())
    assert main(["steps", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("layers.0.self_attn")
    assert "Layer 1 of the record, head 1 of 3, item 1 of the batch." in out
    assert "From query 1 to key 1, number by number" in out
    assert "24 of 30 keys are shown" in out


def test_a_record_in_a_narrow_terminal_in_chinese_and_as_a_page(record, tmp_path, capsys):
    assert main(["steps", str(record), "--query", "30", "--key", "2", "--width", "40", "--lang", "zh", "--plain"]) == 0
    out = capsys.readouterr().out
    assert "从 query 30 到 key 2" in out
    assert "\x1b" not in out
    page = tmp_path / "steps.html"
    assert main(["steps", str(record), "--html", str(page)]) == 0
    assert "layers.0.self_attn" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--layer", "3"], 2, "`--layer` must be from 1 to 2, but is 3."),
        (["--head", "0"], 2, "`--head` must be from 1 to 3, but is 0."),
        (["--item", "3"], 2, "`--item` must be from 1 to 2, but is 3."),
        (["--query", "31"], 2, "`--query` must be from 1 to 30, but is 31."),
        (["--key", "31"], 2, "`--key` must be from 1 to 30, but is 31."),
        (["--score", "dot"], 2, "`--score` is for an example or your own matrices, but"),
        (["--weights", "softmax"], 2, "`--weights` is for an example or your own matrices, but"),
        (["--temperature", "2"], 2, "`--temperature` is for an example or your own matrices, but"),
        (["--causal"], 2, "`--causal` is for an example or your own matrices, but"),
        (["--exercise"], 2, "`--exercise` asks for the numbers of an example or of your own matrices, but"),
    ],
)
def test_what_a_record_has_not_is_refused_in_a_sentence(record, capsys, words, code, said):
    assert main(["steps", str(record), *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("option", ["--layer", "--head", "--item"])
def test_an_example_has_no_layers(option, capsys):
    assert main(["steps", "002", option, "1"]) == 2
    assert f"`{option}` is for a record, a file that Seen.save wrote, but 002 is none." in capsys.readouterr().err


def test_an_empty_record_and_a_broken_one(tmp_path, capsys):
    path = tmp_path / "empty.safetensors"
    Seen([], "The model has no attention.").save(path)
    assert main(["steps", str(path)]) == 1
    assert "must have a call of attention, but has none. The model has no attention." in capsys.readouterr().err
    path.write_bytes(path.read_bytes()[:40])
    assert main(["steps", str(path)]) == 1
    assert "cut short, damaged or something else" in capsys.readouterr().err


def test_a_record_with_items_names_them(record, tmp_path, capsys):
    """The second item of the batch has four items, which are names of its keys; the others are padding."""
    calls = Seen.load(record)
    layers = tuple(LayerRecord(f"layer {i + 1}", (call,), item=1, queries=4, keys=4) for i, call in enumerate(calls))
    path = str(tmp_path / "named.safetensors")
    save_record(Record(("I", "saw", "a", "saw"), layers=layers, seen=calls), path)
    assert main(["steps", path, "--layer", "2", "--item", "2", "--query", "4", "--key", "2"]) == 0
    out = capsys.readouterr().out
    assert "From saw (4) to saw (2), number by number" in out
    assert main(["steps", path, "--item", "2", "--query", "5", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["items"][:6] == ["I", "saw (2)", "a", "saw (4)", "5", "6"]
    assert len(told["items"]) == 30
    assert told["query_item"] == ""
    # Another item of the batch has other items, which the record doesn't name.
    assert main(["steps", path, "--query", "4", "--key", "2"]) == 0
    assert "From query 4 to key 2, number by number" in capsys.readouterr().out


def test_the_steps_of_a_recurrent_decoder_have_the_names_of_their_queries(tmp_path, capsys):
    """Calls that follow each other along the queries: each has the next query item."""
    tables = [torch.full((1, 1, 1, 3), 1 / 3) for _ in range(2)]
    calls = tuple(SeenLayer.of_weights("attention", table) for table in tables)
    layer = LayerRecord("layer 1", calls, along="query")
    path = str(tmp_path / "named.safetensors")
    named = Record(("ein", "roter", "Hut"), queries=("a", "hat"), layers=(layer,), seen=Seen(list(calls)))
    save_record(named, path)
    assert main(["steps", path, "--layer", "2", "--key", "3"]) == 0
    assert "From hat to Hut, number by number" in capsys.readouterr().out


def test_matrices_of_many_rows_are_cut_and_the_page_says_so(tmp_path, capsys):
    path = tmp_path / "mine.csv"
    path.write_text("".join(f"{i / 100},1\n" for i in range(60)), "utf-8")
    assert main(["steps", str(path), "--query", "50"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "The first 24 of 60 rows are shown; the other 36 aren't." in out
    assert "24 of 60 keys are shown" in out


def test_an_exercise_shows_all_numbers_that_it_needs(tmp_path, monkeypatch, capsys):
    path = tmp_path / "mine.csv"
    path.write_text("".join(f"{i / 100},1\n" for i in range(60)), "utf-8")
    typed(monkeypatch, "q")
    assert main(["steps", str(path), "--query", "50", "--exercise"]) == 0
    out = capsys.readouterr().out
    assert "[0.59, 1]" in out
    assert "rows are shown" not in out


def test_the_notes_of_a_layer_are_told(tmp_path, capsys):
    layer = SeenLayer.of_weights("pooling", torch.tensor([[[[0.25, 0.75]]]]))
    layer.notes.append("It is special.")
    Seen([layer]).save(tmp_path / "seen.safetensors")
    assert main(["steps", str(tmp_path / "seen.safetensors")]) == 0
    out = capsys.readouterr().out
    assert "It is special." in out
    assert "the weight, from a table" in out
