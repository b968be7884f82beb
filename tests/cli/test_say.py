"""`regard train synthesis` and `regard say`: from recordings of one's own to a model, and from that to WAV files."""

import csv
import io
import json

import pytest
import torch

from regard import load
from regard.cli.main import main
from regard.inputs import Sound, read_sound, write_sound
from regard.tasks import Synthesizer

RECIPE = {
    "task": {"kind": "synthesis", "filters": 8, "decoder_layers": 1, "longest": 0.2, "spare": 0.1},
    "input": {"kind": "texts", "vocabulary": "words", "size": 16},
    "width": 8,
    "heads": 2,
    "hidden": 8,
    "layers": 1,
    "epochs": 2,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with tables for every split, recordings, a recipe, and a model that was trained of them."""
    folder = tmp_path_factory.mktemp("synthesis")
    hum = torch.sin(torch.arange(800) / 4)[None] / 2
    write_sound(folder / "low.wav", Sound(hum, 8000))
    write_sound(folder / "high.wav", Sound(hum[:, ::2], 8000))
    (folder / "data").mkdir()
    for split in ("train", "dev", "test"):
        with (folder / "data" / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            # Seen from the table's folder, as the source's files are.
            rows = [(word, f"../{word}.wav") for word in ("low", "high")]
            csv.writer(file).writerows([("text", "sound"), *rows])
    (folder / "recipe.json").write_text(json.dumps(RECIPE), encoding="utf-8")
    words = ["train", "synthesis", "--data", folder / "data", "--out", folder / "out"]
    words += ["--recipe", folder / "recipe.json", "--device", "cpu", "--progress", "none"]
    assert main([str(word) for word in words]) == 0
    return folder


def run(capsys, *words):
    code = main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_training_saves_a_judged_model_and_says_what_to_do_next(trained, capsys):
    model = load(trained / "out")
    assert model.kind == "synthesis"
    assert model.about["scores"]["dev"]["measure"] == "error in dB"
    card = (trained / "out" / "model" / "README.md").read_text(encoding="utf-8")
    for text in ("# Synthesis of data", 'model.say(["low"])', "sounds hollow", "| dev | error in dB |"):
        assert text in card
    code, out, _ = run(capsys, "evaluate", trained / "out", "--data", trained / "data")
    assert code == 0
    assert "error in dB on 2 examples" in " ".join(out.split())


def test_one_text_becomes_a_file_and_several_a_folder(trained, tmp_path, capsys):
    code, out, _ = run(capsys, "say", trained / "out", "low high", "--out", tmp_path / "new" / "a.wav")
    assert code == 0
    assert out.startswith(f"{tmp_path / 'new' / 'a.wav'}  ")
    assert read_sound(tmp_path / "new" / "a.wav").seconds > 0
    (tmp_path / "list.txt").write_text("low\n\nlow high\n", encoding="utf-8")
    code, out, _ = run(capsys, "say", trained / "out", "-f", tmp_path / "list.txt", "--out", tmp_path / "all")
    assert code == 0
    assert [line.split()[-1] for line in out.splitlines()] == ["low", "high"]
    # As the lines are numbered; an empty one is no text.
    assert sorted(each.name for each in (tmp_path / "all").iterdir()) == ["1.wav", "3.wav"]
    # The same text is the same sound.
    code, _, _ = run(capsys, "say", trained / "out", "low high", "--out", tmp_path / "b.wav")
    assert (tmp_path / "b.wav").read_bytes() == (tmp_path / "new" / "a.wav").read_bytes()


def test_one_that_is_cut_says_so(trained, tmp_path, capsys):
    model = load(trained / "out")
    with torch.no_grad():
        model.network.output.bias[-1] = -100.0
    model.save(tmp_path / "endless")
    code, out, _ = run(capsys, "say", tmp_path / "endless", "low", "--out", tmp_path / "a.wav")
    assert code == 0
    assert "cut: the model predicted no end" in out


def test_where_it_looked_is_shown_and_written(trained, tmp_path, capsys):
    page = tmp_path / "seen.html"
    words = ["say", trained / "out", "low high", "--out", tmp_path / "a.wav", "--width", "60", "--no-color"]
    code, out, err = run(capsys, *words, "--map", "--html", page)
    assert code == 0
    assert "Each row attends to the columns (1 low, 2 high)." in out
    assert "1 0.00 s " in out
    assert "low high" in page.read_text(encoding="utf-8")
    assert err.endswith(f"\nWrote {page}.\n")
    # The page doesn't take the place of the sound.
    words[4] = tmp_path / "d.wav"
    assert "is neither" in run(capsys, *words, "--html", tmp_path / "d.wav")[2]
    assert (tmp_path / "d.wav").read_bytes() == (tmp_path / "a.wav").read_bytes()
    # Watched or not, it is the same sound.
    words[4] = tmp_path / "b.wav"
    code, plain, _ = run(capsys, *words)
    assert code == 0
    assert plain == out.splitlines()[0].replace("a.wav", "b.wav") + "\n"
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()
    words[4] = tmp_path / "c.wav"
    code, out, _ = run(capsys, *words, "--plain")
    assert "0.00 s attends to low" in out


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["low", "--out", "{}/x.wav", "--layer", "9"], 2, "`--layer` must be"),
        (["low", "--out", "{}/x.wav", "--html", "{}"], 2, "`--html` must be a file to write, but"),
        (["low", "--out", "{}/x.wav", "--html", "{}/list.txt/page.html"], 2, "/list.txt is no folder."),
        (["low", "tone", "--out", "{}/x"], 2, "must be made of high, low, but 'tone' has 'tone'"),
        (["-f", "{}/list.txt", "--out", "{}/x"], 1, "list.txt, line 2: `sources` must be made of"),
        (["low", "", "--out", "{}/x"], 2, "`TEXT` must not be empty, but '' is"),
        (["low", "high", "--out", "{}/x.wav"], 2, "`--out` must be a folder for 2 texts"),
        (["low", "--out", "{}/full"], 2, "`--out` must be a new folder, or a name that ends in .wav, but"),
        (["low", "--out", "{}/list.txt"], 2, "`--out` must be a new folder, or a name that ends in .wav, but"),
        (["low", "--out", "{}/full/mine.wav"], 2, "`--out` must be a new file, but"),
        (["low", "--out", "{}/x.mp3"], 2, "`--out` must end in .wav, the format that is written, but is"),
        (["--out", "{}/x.wav"], 2, "give a model and what it is to say"),
        (["low", "-f", "{}/list.txt", "--out", "{}/x"], 2, "give either texts or -f FILE"),
        (["low"], 2, "--out"),
    ],
)
def test_what_can_not_be_said_leaves_nothing_behind(trained, tmp_path, capsys, words, code, sentence):
    (tmp_path / "list.txt").write_text("low\ntone\n", encoding="utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.wav").write_text("kept", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    found = run(capsys, "say", trained / "out", *(word.format(tmp_path) for word in words))
    assert found[0] == code
    assert found[2].startswith("regard: ")
    assert sentence in found[2]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_model_or_a_text_alone_is_told_with_an_example(tmp_path, capsys):
    code, _, said = run(capsys, "say", "low high", "--out", tmp_path / "x.wav")
    assert (code, "give a model and what it is to say, as in regard say synthesis" in said) == (2, True)
    assert "but there is only 'low high'" in said


def test_a_text_longer_than_any_of_training_is_warned_of_once(trained, tmp_path, capsys):
    code, _, said = run(capsys, "say", trained / "out", "low high low high", "--out", tmp_path / "x.wav")
    assert (code, said.count("a source has 4 pieces")) == (0, 1)


def test_all_texts_are_checked_before_the_first_is_said(trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("regard.tasks.Synthesizer.say", lambda *_: pytest.fail("it was asked"))
    (tmp_path / "list.txt").write_text("low\n" * 200 + "tone\n", encoding="utf-8")
    code, _, said = run(capsys, "say", trained / "out", "-f", tmp_path / "list.txt", "--out", tmp_path / "x")
    assert code == 1
    assert "list.txt, line 201: `sources` must be made of high, low, but 'tone' has 'tone'" in said


@pytest.fixture
def say_one(monkeypatch):
    """Of sources that are all the same one is said, for what happens around many."""
    real = Synthesizer.say
    monkeypatch.setattr(Synthesizer, "say", lambda self, sources: real(self, sources[:1]) * len(sources))


@pytest.mark.usefixtures("say_one")
def test_a_stop_in_the_middle_leaves_nothing_and_no_more_than_some_are_held(trained, tmp_path, capsys, monkeypatch):
    real, written = Synthesizer.say, []

    def say(self, sources):
        written.append(len([*tmp_path.rglob("*.wav")]))
        if len(written) == 3:
            raise KeyboardInterrupt
        return real(self, sources)

    monkeypatch.setattr("regard.tasks.Synthesizer.say", say)
    (tmp_path / "list.txt").write_text("low\n" * 150, encoding="utf-8")
    code, out, _ = run(capsys, "say", trained / "out", "-f", tmp_path / "list.txt", "--out", tmp_path / "x")
    assert (code, out, written) == (130, "", [0, 64, 128])
    assert [each.name for each in tmp_path.iterdir()] == ["list.txt"]


@pytest.mark.usefixtures("say_one")
def test_progress_is_shown_on_a_terminal(trained, tmp_path, capsys, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    for stream in ("sys.stdout", "sys.stderr"):
        monkeypatch.setattr(stream, terminal)
    words = [str(trained / "out"), *["low"] * 30]
    assert main(["say", *words, "--out", str(tmp_path / "many")]) == 0
    assert "saying" in terminal.getvalue()
    terminal.truncate(0)
    assert main(["say", *words[:3], "--out", str(tmp_path / "two")]) == 0
    assert "saying" not in terminal.getvalue()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["tag", "low", "--model"],
            "`--model` must be a tagger of words, but {} is a speech synthesizer: use regard say.",
        ),
        (
            ["translate", "low", "--model"],
            "`--model` must be a seq2seq model, but {} is a speech synthesizer: use regard say.",
        ),
        (
            ["predict"],
            "`MODEL` must predict labels, numbers or texts, but out is a speech synthesizer: use regard say.",
        ),
    ],
)
def test_who_asks_a_speaker_is_told_at_once(trained, capsys, words, message):
    more = ["low"] if words == ["predict"] else []
    code, out, said = run(capsys, *words, trained / "out", *more)
    assert (code, out, said) == (2, "", f"regard: {message.format(trained / 'out')}\n")


def test_a_model_that_does_not_speak_is_refused(model, tmp_path, capsys):
    code, _, said = run(capsys, "say", model, "low", "--out", tmp_path / "x.wav")
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert "`MODEL` must be a speech synthesizer" in said


@pytest.mark.parametrize(
    ("task", "label", "sentence"),
    [
        ("synthesis", "digits", "must have a sound as a source's target, to be for a synthesis"),
        ("seq2seq", "speech", "has a sound. Take --label digits."),
    ],
)
def test_the_other_way_round_is_told(task, label, sentence, tmp_path, capsys):
    words = ["train", task, "--data", "fsdd-strings", "--label", label, "--out", tmp_path / "x"]
    code, _, said = run(capsys, *words)
    assert code == 2
    assert sentence in said


@pytest.mark.parametrize(("data", "step"), [("sst2", "regard train classifier"), ("fsdd", "regard train classifier")])
def test_the_one_data_set_that_gives_sounds_is_named(data, step, tmp_path, capsys):
    code, _, said = run(capsys, "train", "synthesis", "--data", data, "--out", tmp_path / "x")
    assert (code, f"has one label. Take {step}, or --data fsdd-strings --label speech." in said) == (2, True)


@pytest.mark.parametrize(
    ("header", "task", "message"),
    [
        ("text,target", "synthesis", "has one label or a text. Take regard train classifier, or regard train seq2seq."),
        (
            "text,target",
            "tagger",
            "holds tables, with one target for each source. Take regard train classifier, or regard train seq2seq.",
        ),
        ("text,sound", "classifier", "has a sound. Take regard train synthesis."),
        ("text,number", "seq2seq", "has a number. Take regard train classifier."),
    ],
)
def test_tables_of_ones_own_for_another_task(header, task, message, tmp_path, capsys):
    (tmp_path / "1").touch()
    for split in ("train", "dev"):
        (tmp_path / f"{split}.csv").write_text(f"{header}\na,1\n", encoding="utf-8")
    code, _, said = run(capsys, "train", task, "--data", tmp_path, "--out", tmp_path / "x")
    assert code == 2
    assert said.startswith("regard: `--data` must have ")
    assert f"to be for a {task}, but {tmp_path} {message}" in said


def test_help_says_what_a_table_holds(capsys):
    said = run(capsys, "train", "synthesis", "--help")[1]
    assert "with the columns text and sound" in " ".join(said.split())
