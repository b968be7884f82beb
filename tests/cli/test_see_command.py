"""`regard see`: any model, one input, the story in a terminal of any kind, as JSON and as a page."""

import html
import json
import re

import pytest
import torch
from rich.cells import cell_len

from regard import train
from regard.cli.main import main
from regard.cli.see import AttributionName
from regard.inspection import ATTRIBUTIONS, watch
from regard.tasks import Recipe

SENTENCE = "I saw a saw ."


@pytest.fixture
def see(tmp_path, capsys, monkeypatch):
    """Run `regard see` in an empty folder: code, standard output, standard error."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main(["see", *map(str, words)])
        return code, *capsys.readouterr()

    return run


def test_the_story_in_its_order(see):
    code, out, err = see("english-pos", SENTENCE)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[2].split() == ["I", "saw", "a", "[saw]", "."]
    assert lines[3].split() == ["PRON", "VERB", "DET", "NOUN", "PUNCT"]
    parts = [
        '"saw (4)" is NOUN (80%). In the last layer, it attended most to "a" (50%)',
        "word     attended",
        "head  pattern",
        "Checked:",
    ]
    assert [out.index(part) for part in parts] == sorted(out.index(part) for part in parts)
    assert out.rstrip().endswith("Each row attends to the columns (numbered as the rows are).")
    assert re.search(r"^a +█+ 50% +█+ +80% -> 4% +VERB 55%$", out, re.MULTILINE)


def test_words_are_split_as_regard_tag_does(see):
    assert see("english-pos", "I saw a saw.")[1] == see("english-pos", SENTENCE)[1]


@pytest.mark.parametrize("width", [32, 40, 80])
def test_narrow(see, width):
    out = see("english-pos", SENTENCE, "--width", width)[1]
    # The map has its own least width.
    assert max(map(cell_len, out[: out.index("Checked")].splitlines())) <= width
    assert "\x1b" not in out
    for number in ("50%", "80% -> 4%", "VERB 55%"):
        assert number in out


def test_colours_are_asked_for(see, monkeypatch):
    assert "\x1b[" in see("english-pos", SENTENCE, "--color")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in see("english-pos", SENTENCE)[1]


def test_plain_sentences(see):
    out = see("english-pos", SENTENCE, "--plain")[1]
    assert "a: attended 50 percent, mattered: NOUN 80 percent to 4 percent, without it VERB 55 percent." in out
    assert not set(out) & set("█▏░▒▓")


def test_what_is_chosen(see):
    out = see("english-pos", SENTENCE, "--query", 2, "--layer", 1, "--head", 3, "--top", 2, "--no-map")[1]
    assert "I  [saw]  a" in " ".join(out.split("\n")[2].split(" ")).replace("   ", "  ").replace("    ", "  ")
    assert out.count("Layer 1 of 2, head 3 of 4") == 1
    told = "3 others have 1% at most; hiding one of them changes the answer by 2 points at most."
    assert told in " ".join(out.split())
    assert "Each of the other 6 heads, removed alone, changes the answer by" in " ".join(out.split())
    assert "in percent" not in out


def test_without_effects(see):
    out = " ".join(see("english-pos", SENTENCE, "--no-effects")[1].split())
    assert "What mattered wasn't measured. " in out
    assert "To measure what mattered: regard see --effects, or see(..., effects=True)." in out
    assert "mattered:" not in out.replace("To measure what mattered:", "")


def test_json_has_the_numbers(see):
    code, out, err = see("english-pos", SENTENCE, "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["answer"] == {"of": "saw", "position": 4, "label": "NOUN", "score": pytest.approx(0.7988, abs=1e-3)}
    assert [item["text"] for item in found["items"]] == SENTENCE.split()
    assert sum(item["weight"] for item in found["items"]) == pytest.approx(1, abs=1e-4)
    assert found["items"][2]["hidden"]["label"] == "VERB"
    assert found["items"][2]["hidden"]["change"] == pytest.approx(-0.763, abs=1e-2)
    assert [(head["layer"], head["head"]) for head in found["heads"]] == [(n, h) for n in (1, 2) for h in range(1, 5)]
    assert -1 <= found["rank_agreement"] <= 1
    assert found["largest_difference"] < 1e-4
    assert found["sentence"] in " ".join(see("english-pos", SENTENCE)[1].split())


def test_a_saved_record_tells_the_same_without_the_model(see, tmp_path):
    code, out, err = see("english-pos", SENTENCE, "--save", "saws.safetensors")
    assert (code, err) == (0, "Wrote saws.safetensors.\n")
    assert see("saws.safetensors") == (0, out, "")
    assert "[saw]" in see("saws.safetensors", "--query", 2)[1]
    code, _, err = see("saws.safetensors", SENTENCE)
    assert code == 2
    assert "`INPUT` must be left out: saws.safetensors is a record" in err
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "saws.safetensors").read_bytes()[:500])
    code, _, err = see("cut.safetensors")
    assert code == 1
    assert "cut short, damaged or something else" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("method", ATTRIBUTIONS)
def test_another_method_of_attribution(see, method):
    code, out, err = see("english-pos", SENTENCE, "--attribution", method, "--no-map")
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    assert f"Attribution: {method}. {ATTRIBUTIONS[method].means}" in said
    assert f"Where it misleads: {ATTRIBUTIONS[method].misleads}" in said
    found = json.loads(see("english-pos", SENTENCE, "--attribution", method, "--format", "json")[1])
    own = ATTRIBUTIONS[method]
    assert found["attribution"] == {"name": method, "means": own.means, "misleads": own.misleads}
    assert sum(abs(item["weight"]) for item in found["items"]) == pytest.approx(1, abs=1e-4)
    assert found["sentence"] in said
    plain = json.loads(see("english-pos", SENTENCE, "--format", "json")[1])
    assert plain["attribution"] is None
    weights = [[item["weight"] for item in each["items"]] for each in (found, plain)]
    assert (weights[0] == weights[1]) is (method == "raw")


def test_the_option_names_the_methods_that_there_are():
    assert [str(each) for each in AttributionName] == list(ATTRIBUTIONS)


def test_a_record_has_no_gradients(see):
    see("english-pos", SENTENCE, "--save", "saws.safetensors")
    shown = see("english-pos", SENTENCE, "--attribution", "rollout")
    assert see("saws.safetensors", "--attribution", "rollout") == shown
    code, out, err = see("saws.safetensors", "--attribution", "gradient-weighted")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "which only the running model gives. Give the model and its input instead" in err


def test_a_record_of_calls_alone_shows_its_weights(see, tmp_path):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    with watch(layer) as seen:
        layer(torch.randn(1, 3, 8))
    seen.save(tmp_path / "seen.safetensors")
    code, out, err = see("seen.safetensors", "--top", 1)
    assert (code, err) == (0, "")
    assert "what mattered isn't known" in " ".join(out.split())
    assert out.count("Layer 1 of 1, average of heads 1-2") == 2
    code, out, err = see("seen.safetensors", "--attribution", "rollout")
    assert (code, out) == (2, "")
    assert "`--attribution` must be left out: seen.safetensors is a record without predictions." in err
    found = json.loads(see("seen.safetensors", "--format", "json")[1])
    assert [len(item["attends"]) for item in found["items"]] == [3, 3, 3]


def test_a_page(see, tmp_path):
    code, out, err = see("english-pos", SENTENCE, "--html", "saw.html")
    assert (code, err) == (0, "Wrote saw.html.\n")
    assert "[saw]" in out
    page = (tmp_path / "saw.html").read_text("utf-8")
    assert 'class="bar effect"' in page
    assert "<title>english-pos: what it attended to, and what mattered</title>" in page
    (tmp_path / "mine.html").write_text("mine")
    assert see("english-pos", SENTENCE, "--html", "mine.html")[0] == 2


def test_other_models_of_regard(see):
    out = see("german-english", "ein Mann .", "--no-map")[1]
    assert "was written" in out
    out = see("english-sentiment", "a warm , funny film")[1]
    assert out.index("answer") < out.index("The answer is positive")
    assert "Pooling" in out


def test_a_python_file(see, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\ndef build(text='a b'):\n    words = text.split()\n"
        "    model = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)\n"
        "    return model, torch.randn(1, len(words), 8), words\n"
    )
    assert "The output at" in see("mine.py")[1]
    assert "x  y  [z]" in see("mine.py:build", "x y z", "--query", 3)[1]
    assert "Did you mean 'build'" in see("mine.py:biuld")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["english-pos"], "give a model and an input"),
        (["englsh-pos", "I saw"], "Did you mean 'english-pos'"),
        (["english-pos", ""], "there is no word in it"),
        (["english-pos", SENTENCE, "--query", "9"], "`--query` must be from 1 to 5, but is 9"),
        (["english-pos", SENTENCE, "--layer", "3"], "`--layer` must be from 1 to 2, but is 3"),
        (["english-pos", SENTENCE, "--head", "0"], "`--head` must be from 1 to 4 in layer 2, but is 0"),
        (["english-pos", SENTENCE, "--attribution", "rollout", "--head", "1"], "`--head` must be left out: rollout"),
        (["german-english", "ein Mann .", "--attribution", "rollout"], "but they attend to other pieces"),
        (["english-pos", SENTENCE, "--width", "9"], "`--width` must be 32 or more"),
        (["chinese-segmentation", "我 看见"], "`MODEL` must attend to its words, but chinese-segmentation doesn't."),
        (["synthesis", "theo 7"], "makes sounds, whose change isn't measured"),
        (["english-pos", SENTENCE, "--save", "."], "`--save` must be a file to write, but . is a folder"),
    ],
)
def test_what_fails_says_why_in_one_line(see, words, message):
    code, out, err = see(*words)
    assert code in (1, 2)
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"I saw a saw .", bytes(range(256))])
def test_a_file_that_is_no_record_is_named(see, tmp_path, content):
    (tmp_path / "dog.st").write_bytes(content)
    code, out, err = see(str(tmp_path / "dog.st"))
    assert (code, out) == (2, "")
    assert "dog.st must be a record, as --save writes it" in err
    assert err.count("\n") == 1


def test_an_approximated_model_says_what_to_use_instead(see, tmp_path):
    recipe = Recipe(
        approximation="linear", attention_dropout=0.0, position="none", width=8, heads=2, layers=1, epochs=1
    )
    pairs = [(["I", "saw"], ["PRON", "VERB"]), (["a", "saw"], ["DET", "NOUN"])]
    train(pairs, pairs, recipe=recipe, progress="none", device="cpu").save(tmp_path / "linear")
    code, out, err = see("linear", "I saw")
    assert (code, out) == (2, "")
    assert "is approximated by LinearAttention" in err
    assert err.endswith(
        "Train with approximation 'none' to see weights. To see its prediction alone, use regard predict; to train a "
        "model that attends, use regard train with --no-search or with a recipe.\n"
    )


def test_the_help_has_examples(see):
    out = see("--help")[1]
    assert 'regard see english-pos "I saw a saw ."' in out
    assert "save_pretrained" in out


STRANGE = "'qwfp zxcv asdf' is unlike what english-sentiment was made for: 3 of its 3 words are unknown to it."


def test_a_warning_is_told_once_in_a_terminal_and_stays_in_files(see, tmp_path):
    written = ("--html", "seen.html", "--save", "seen.safetensors")
    code, out, err = see("english-sentiment", "qwfp zxcv asdf", *written)
    assert (code, err.count(STRANGE), out.count("Warning:")) == (0, 1, 0)
    # Once for a reader without a script, once in the data of the page.
    page = (tmp_path / "seen.html").read_text(encoding="utf-8")
    assert html.unescape(page).count(STRANGE) == 2
    # Who reads the record hasn't seen the model run.
    code, out, err = see("seen.safetensors")
    assert (code, err, " ".join(out.split()).count(f"Warning: {STRANGE}")) == (0, "", 1)
    (warning,) = json.loads(see("seen.safetensors", "--format", "json")[1])["warnings"]
    assert warning.startswith(STRANGE)


def test_in_a_comparison_a_warning_is_told_once_too(see, tmp_path):
    words = ("english-sentiment", "qwfp zxcv asdf", "--compare-input", "a warm film")
    code, out, err = see(*words, "--html", "both.html")
    assert (code, err.count(STRANGE), out.count("Warning:")) == (0, 1, 0)
    page = html.unescape((tmp_path / "both.html").read_text(encoding="utf-8"))
    # In the comparison, in the story of A, and in the data.
    assert page.count(STRANGE) == 3
    assert [len(each["warnings"]) for each in json.loads(see(*words, "--format", "json")[1])["compared"]] == [1, 0]


def test_how_a_chinese_text_is_split_is_among_the_warnings(see, tmp_path):
    code, out, err = see("chinese-pos", "我爱北京天安门", "--html", "seen.html", "--no-effects")
    assert (code, err.count("is split into the longest words"), out.count("Warning:")) == (0, 1, 0)
    assert (
        html.unescape((tmp_path / "seen.html").read_text(encoding="utf-8")).count("split into the longest words") == 2
    )
    assert "longest words" not in see("chinese-pos", "我 爱 北京", "--save", "spaced.st", "--no-effects")[2]
    assert "Warning:" not in see("spaced.st")[1]
