import dataclasses
import json
import os
import re
import signal
from unittest import mock

import pytest

from regard.cli.main import main
from regard.datasets import DATASETS, SPLITS, read_graph_folder, read_treebank
from regard.errors import RegardError
from regard.tasks import NAMED_RECIPES, Experiment, bundled, default_recipe, load
from regard.tasks.readers import find_reader
from regard.tasks.training.loop import Loop

SENTENCES = [
    [("I", "PRON"), ("saw", "VERB"), ("a", "DET"), ("saw", "NOUN"), (".", "PUNCT")],
    [("the", "DET"), ("saw", "NOUN"), ("fell", "VERB")],
    [("you", "PRON"), ("saw", "VERB"), ("it", "PRON")],
]
RECIPE = {
    "input": {"features": {"minimum_count": 1, "affix_ids": 97, "ngram_ids": 31, "shape_ids": 31}},
    "width": 12,
    "heads": 3,
    "hidden": 7,
    "epochs": 3,
}


@pytest.fixture
def treebank(tmp_path):
    pytest.importorskip("conllu")
    folder = tmp_path / "bank"
    folder.mkdir()
    lines = []
    for sentence in SENTENCES:
        lines += [f"{n}\t{w}\t_\t{t}\tx{t}\t_\t0\troot\t_\t_" for n, (w, t) in enumerate(sentence, start=1)] + [""]
    for split in ("train", "dev", "test"):
        (folder / f"toy-{split}.conllu").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "small.json"
    path.write_text(json.dumps(RECIPE), encoding="utf-8")
    return path


@pytest.fixture
def words(treebank, recipe, tmp_path):
    """The command line, and where it writes."""
    out = tmp_path / "out"
    start = ["train", "tagger", "--data", str(treebank), "--recipe", str(recipe), "--out", str(out), "--device", "cpu"]
    return start, out


def test_train_saves_a_judged_model_and_says_what_is_next(words, capsys):
    start, out = words
    assert main(start) == 0
    said, progress = capsys.readouterr()
    assert "epoch 3/3" in progress
    assert "\x1b" not in said + progress
    assert "95% interval" in said
    # In the words of the progress, and as it writes numbers.
    assert re.search(r"dev accuracy [\d.]+ %  best", progress)
    assert said.split("\n")[2].split()[:2] == ["split", "accuracy"]
    assert re.search(r"^dev +[\d.]+ %", said, re.MULTILINE)
    assert f"regard tag --model {out} -- 'I saw a saw .'" in " ".join(said.split())
    card = (out / "model" / "README.md").read_text(encoding="utf-8")
    for text in ("# Tagger of bank: UPOS", "| dev | ", "toy-train.conllu", "train: 3 sentences, 11 words"):
        assert text in card
    assert load(out).about["scores"]["dev"]["examples"] == 11
    assert "confusions" not in load(out).about["scores"]["dev"]


def test_test_is_read_when_it_is_asked_for_and_each_reading_is_counted(words, treebank, capsys):
    start, out = words
    assert main(start) == 0
    said = " ".join(capsys.readouterr().out.split())
    # The command that reads it, as it can be pasted.
    assert (
        f"Test was not read. Read it once, when all choices are made: regard evaluate {out} --data {treebank} " in said
    )
    assert {*load(out).about["scores"]} == {"dev"}
    assert "test" not in (out / "model" / "README.md").read_text(encoding="utf-8").split("## Scores")[1].split("##")[0]
    weights = (out / "model" / "model.safetensors").read_bytes()
    for place, counted in enumerate(("once", "2 times"), start=1):
        assert main([*start, "--resume", "--final"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"Test was read {counted} for this recipe." in said
        # What comes next reads it no more.
        assert f"regard evaluate {out} --data {treebank} --split dev The baseline, " in said
        assert load(out).about["test_reads"] == place
        assert load(out).about["scores"]["test"]["examples"] == 11
        card = (out / "model" / "README.md").read_text(encoding="utf-8")
        assert "| test | " in card
        assert f"Test was read {counted} for this recipe." in card
    # What was read stays where it is not read again.
    assert main([*start, "--resume"]) == 0
    assert "Test was" not in capsys.readouterr().out
    assert (load(out).about["test_reads"], {*load(out).about["scores"]}) == (2, {"dev", "test"})
    assert (out / "model" / "model.safetensors").read_bytes() == weights


def test_without_test_there_is_nothing_final(words, treebank, capsys):
    start, out = words
    (treebank / "toy-test.conllu").unlink()
    assert main([*start, "--final"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == f"regard: `--final` needs examples for test, but {treebank} has none. Leave it out."
    assert not out.exists()


def test_resume_of_a_finished_run_says_so_and_needs_no_recipe(words, capsys):
    start, out = words
    assert main(start) == 0
    before = (out / "model" / "model.safetensors").read_bytes()
    without = [word for word in start if word not in ("--recipe", start[5])]
    capsys.readouterr()
    assert main([*without, "--resume"]) == 0
    assert "is finished; its model is in" in " ".join(capsys.readouterr().err.split())
    assert (out / "model" / "model.safetensors").read_bytes() == before


def test_a_run_is_not_overwritten(words, capsys):
    start, _ = words
    assert main(start) == 0
    capsys.readouterr()
    assert main(start) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("regard: `--out` must be a new or empty folder, but ")
    assert "--resume" in said


def test_a_folder_that_can_not_be_made_is_told_before_training(words, capsys, tmp_path):
    start, out = words
    (tmp_path / "file").write_text("mine")
    start[start.index(str(out))] = str(tmp_path / "file" / "new" / "out")
    assert main(start) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    told = f"{tmp_path / 'file' / 'new' / 'out'} can't be: Not a directory. Name another."
    wrong = f"`--out` must be a folder that can be made and written, but {told}"
    assert said == f"regard: {wrong}"
    assert (tmp_path / "file").read_text() == "mine"


def test_ctrl_c_says_how_to_go_on(words, capsys):
    start, out = words
    real = Loop.train_epoch

    def press(self, epoch):
        if epoch == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, epoch)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Loop, "train_epoch", press)
        assert main(start) == 130
    assert "The same command with --resume continues" in capsys.readouterr().err
    assert main([*start, "--resume"]) == 0
    assert len((out / "log.jsonl").read_text().splitlines()) == 3


def test_the_seed_is_another(words):
    start, out = words
    assert main([*start, "--seed", "7"]) == 0
    assert load(out).recipe.seed == 7


def test_an_ensemble_has_as_many_networks(words):
    start, out = words
    assert main([*start, "--ensemble", "2"]) == 0
    assert load(out).recipe.members == 2


@pytest.mark.parametrize(
    ("change", "searches"),
    [([], True), (["--no-search"], False), (["--recipe", "small.json"], False), (["--recipe", "english-pos"], False)],
)
def test_without_a_recipe_the_network_is_chosen_unless_told_otherwise(
    treebank, recipe, tmp_path, monkeypatch, change, searches
):
    found = []

    def run(self, **how):
        found.append(how["search"])
        raise RegardError("enough")

    monkeypatch.setattr(Experiment, "run", run)
    monkeypatch.chdir(recipe.parent)
    assert main(["train", "tagger", "--data", str(treebank), "--out", str(tmp_path / "out"), *change]) == 1
    assert found == [searches]


def test_another_label_column(words):
    start, out = words
    assert main([*start, "--label", "xpos"]) == 0
    assert set(load(out).labels) == {"xPRON", "xVERB", "xDET", "xNOUN", "xPUNCT"}
    assert load(out).about["data"]["label"] == "xpos"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ["--recipe", "englsh-pos"],
            "but is 'englsh-pos'. Did you mean 'english-pos'?",
        ),
        (["--recipe", "english"], "`--recipe` must be a JSON file or one of "),
        (["--recipe", "missing.json"], "missing.json can't be read"),
        (["--recipe", "chinese-sentiment.jsn"], "Did you mean 'chinese-sentiment'?"),
        (["--recipe", "{}/smal.json"], "Did you mean '{}/small.json'?"),
        (["--data", "ud-englsh-ewt"], "Did you mean 'ud-english-ewt'?"),
        (["--label", "upso"], "Did you mean 'upos'?"),
        (["--seed", "-1"], "`--seed` must be at least 0"),
        (["--device", "tpu"], "`--device` must be auto, cpu or gpu"),
        (["--resume"], "`--resume` needs a run to go on with"),
    ],
)
def test_what_can_not_be_is_one_sentence_and_exit_2(words, capsys, change, message):
    start, out = words
    assert main([*start, *(word.replace("{}", str(out.parent)) for word in change)]) == 2
    # What the data were taken for may stand above.
    *above, said = capsys.readouterr().err.splitlines()
    assert message.replace("{}", str(out.parent)) in said
    assert all(" -> 5 labels; input: words" in line for line in above)
    assert not out.exists()


def test_a_recipe_that_does_not_read_the_data_is_refused(tmp_path, capsys):
    words = ["train", "tagger", "--data", "purchases", "--recipe", "loudness", "--out", str(tmp_path / "x")]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "`--recipe` must read graphs, which purchases holds, but reads speech. Leave it out" in said
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", NAMED_RECIPES)
def test_every_recipe_reads_its_own_data(name, request):
    named = NAMED_RECIPES[name]
    if DATASETS[named.data].is_treebank:
        # A treebank is looked for at once, and would be fetched.
        request.getfixturevalue("real_data")
    found = find_reader(named.data, named.recipe.task.kind, named.label)
    assert named.recipe.input.kind in found.kinds([])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("sst2", "for a tagger, but sst2 has one label. Take regard train classifier."),
        ("fsdd-strings", "for a tagger, but fsdd-strings has a text. Take --label frames."),
        ("multi30k", "but multi30k has a text. Take regard train seq2seq."),
    ],
)
def test_data_for_another_task_is_told_what_to_take(words, capsys, data, message):
    start, out = words
    assert main([*start, "--data", data]) == 2
    said = capsys.readouterr().err
    start = "regard: `--data` must have a label for each item as a source's target, to be for a tagger, but"
    assert said.startswith(start)
    assert said.endswith(f"{message}\n")
    assert len(said.splitlines()) == 1
    assert not out.exists()


def test_nodes_of_a_graph(tmp_path, capsys):
    """The karate club comes with networkx: no file is needed."""
    pytest.importorskip("networkx")
    out = tmp_path / "club"
    (tmp_path / "small.json").write_text('{"input": {"kind": "graphs"}, "width": 8, "heads": 2, "epochs": 2}')
    words = ["train", "tagger", "--data", "karate", "--out", str(out), "--recipe", str(tmp_path / "small.json")]
    assert main([*words, "--device", "cpu", "--progress", "none"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "regard evaluate" in said
    # Neither reads a graph without profiles from the command line.
    assert "regard predict" not in said
    assert "regard tag " not in said
    card = (out / "model" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("**For research and learning: ")
    assert "\n# Tagger of karate: club\n" in card
    assert main(["evaluate", str(out), "--data", "karate"]) == 0
    assert re.search(r"of \d+ items in 1 source are right", " ".join(capsys.readouterr().out.split()))
    assert main(["evaluate", str(out), "--data", "karate", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["label"] == "club"


def test_a_single_treebank_is_split_with_what_is_learned_beside(tmp_path, recipe, capsys):
    pytest.importorskip("conllu")
    lines = []
    for number in range(40):
        for place, (word, label) in enumerate([("I", "PRON"), (f"saw{number}", "VERB")], start=1):
            lines.append(f"{place}\t{word}\t_\t{label}\tx{label}\t_\t0\troot\t_\t_")
        lines.append("")
    path, out = tmp_path / "toy.conllu", tmp_path / "out"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    recipe.write_text(json.dumps({**RECIPE, "task": {"kind": "tagger", "auxiliary": {"xpos": 0.5}}}), encoding="utf-8")
    words = ["train", "tagger", "--data", str(path), "--recipe", str(recipe), "--out", str(out), "--device", "cpu"]
    assert main(words) == 0
    assert "40 examples split by a hash of each source" in capsys.readouterr().err
    data = find_reader(str(path), "tagger").with_splits()
    examples = data.read("train")
    assert load(out).about["data"]["splits"]["train"] == {"sentences": len(examples), "words": 2 * len(examples)}
    assert data.auxiliary("xpos", examples) == [("xPRON", "xVERB")] * len(examples)


def test_a_typo_in_the_recipe_names_the_file_and_the_nearest(words, recipe, capsys):
    start, _ = words
    recipe.write_text('{"widht": 3}', encoding="utf-8")
    assert main(start) == 2
    assert f"{recipe}: `--recipe` has no 'widht'. Did you mean 'width'?" in capsys.readouterr().err
    recipe.write_text('{"input": {"word_widht": 3}}', encoding="utf-8")
    assert main(start) == 2
    assert f"{recipe}: `recipe.input` has no 'word_widht'. Did you mean 'word_width'?" in capsys.readouterr().err


def test_help_teaches(capsys):
    assert main(["train", "tagger", "--help"]) == 0
    said = capsys.readouterr().out
    for text in ("Examples:", "--resume", "--recipe", "regard evaluate"):
        assert text in said
    assert main(["train"]) == 0
    assert "regard train tagger --data" in capsys.readouterr().out


@pytest.mark.usefixtures("one_epoch")
def test_a_treebank_of_few_words_gets_the_default_with_a_linear_part(words, treebank, capsys):
    start, out = words
    usual = [word for word in start if word not in ("--recipe", start[5])]
    assert main(usual) == 0
    recipe = load(out).recipe
    assert recipe.input.linear
    usually = default_recipe(read_treebank(treebank / "toy-train.conllu"), task="tagger")
    assert recipe == dataclasses.replace(usually, epochs=1)
    assert "auxiliary" not in capsys.readouterr().err


@pytest.mark.usefixtures("one_epoch")
def test_a_treebank_of_many_words_is_learned_with_other_labels_that_it_has(words, treebank, capsys, monkeypatch):
    monkeypatch.setattr("regard.tasks.tagger._MOST_WORDS", 0)
    start, out = words
    path = treebank / "toy-train.conllu"
    path.write_text(re.sub(r"\tx[A-Z]+\t", "\t_\t", path.read_text(encoding="utf-8")), encoding="utf-8")
    usual = [word for word in start if word not in ("--recipe", start[5])]
    assert main(usual) == 0
    assert "has no XPOS, so the recipe is used without it" in capsys.readouterr().err
    assert dict(load(out).recipe.task.auxiliary) == {"feats": 0.3}


@pytest.mark.usefixtures("one_epoch")
def test_one_word_without_xpos_is_not_called_a_column_without_it(words, treebank, capsys, monkeypatch):
    monkeypatch.setattr("regard.tasks.tagger._MOST_WORDS", 0)
    start, _ = words
    path = treebank / "toy-train.conllu"
    path.write_text(path.read_text(encoding="utf-8").replace("\txPRON\t", "\t_\t", 1), encoding="utf-8")
    usual = [word for word in start if word not in ("--recipe", start[5])]
    assert main(usual) == 0
    assert "a word of" in capsys.readouterr().err


def test_what_to_type_next_can_be_typed(words, treebank, tmp_path, monkeypatch, capsys):
    start, _ = words
    (treebank / "toy-test.conllu").unlink()
    monkeypatch.chdir(tmp_path)
    name = next(iter(bundled()), None)
    if name is None:
        pytest.skip("no model comes with this copy")
    assert main([*start, "--out", name]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"regard tag --model ./{name} -- 'I saw a saw .'" in said
    assert f"regard evaluate ./{name} --data {treebank} --split dev" in said


@pytest.mark.usefixtures("one_epoch")
def test_a_graph_of_ones_own_is_for_a_tagger(tmp_path, capsys):
    people = "".join(f"{place},cook,{place % 2},{split}\n" for place, split in enumerate(SPLITS * 2))
    (tmp_path / "profiles.csv").write_text(f"name,job,label,split\n{people}", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("0,1\n1,2\n3,4\n", encoding="utf-8")
    found = find_reader(str(tmp_path), "tagger")
    (train,) = found.read("train")
    assert found.kinds([train]) == ("graphs",)
    # Evaluated elsewhere, a job that training never had is none of those that it had.
    (tmp_path / "profiles.csv").write_text(f"name,job,label,split\n{people.replace('cook', 'smith')}", encoding="utf-8")
    assert [found.read("train", given)[0].source.vectors.sum() for given in (None, train.source.encoder)] == [6, 0]
    assert main(["train", "classifier", "--data", str(tmp_path), "--out", str(tmp_path / "x")]) == 2
    assert "has a label for each item. Take regard train tagger." in capsys.readouterr().err
    # One that exists is what to ask next; one by name isn't.
    with mock.patch("regard.datasets.sources.read_graph_folder", wraps=read_graph_folder) as reads:
        assert (
            main(["train", "tagger", "--data", str(tmp_path), "--out", str(tmp_path / "x"), "--progress", "none"]) == 0
        )
    assert [call.args[1] for call in reads.call_args_list] == ["train", "dev", "test"]
    assert f"regard predict {tmp_path / 'x'} {tmp_path}" in " ".join(capsys.readouterr().out.split())
    # The model's own vectors of other people's jobs, whatever one would learn from these.
    (tmp_path / "profiles.csv").write_text(f"name,job,label,split\n{people}", encoding="utf-8")
    assert main(["evaluate", str(tmp_path / "x"), "--data", str(tmp_path)]) == 0
    assert "RMSE on 2 items" in " ".join(capsys.readouterr().out.split())
