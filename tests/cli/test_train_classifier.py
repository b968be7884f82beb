"""The commands around a classifier: train on a table of one's own, judge, predict, and what is said of bad input."""

import csv
import io
import json
import re
from itertools import islice
from pathlib import Path

import pytest

from regard import load
from regard.cli.main import main
from regard.datasets import BinaryLabels, Example
from regard.datasets.known import sentiment
from regard.errors import ArgumentError
from regard.tasks.readers import find_reader

ROWS = [("good not bad", "yes"), ("bad not good", "no"), ("good and bad", "yes"), ("bad and good", "no")]
RECIPE = {
    "task": {"kind": "classifier"},
    "input": {"features": {"minimum_count": 1}, "word_dropout": 0.0},
    "width": 16,
    "heads": 2,
    "hidden": 16,
    "dropout": 0.0,
    "epochs": 40,
    "patience": 40,
    "learning_rate": 0.01,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with tables for every split, a recipe, and what training on them left and said."""
    folder = tmp_path_factory.mktemp("classifier")
    (folder / "data").mkdir()
    for split in ("train", "dev", "test"):
        with (folder / "data" / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *ROWS])
    (folder / "recipe.json").write_text(json.dumps(RECIPE), encoding="utf-8")
    assert main(start(folder)) == 0
    return folder


@pytest.fixture
def start_briefly(trained, tmp_path):
    """The words of `start` with a recipe of one epoch, for what doesn't depend on the answers that were learned."""
    path = tmp_path / "brief.json"
    path.write_text(json.dumps(RECIPE | {"epochs": 1}), encoding="utf-8")
    return lambda *more: start(trained, "--recipe", str(path), *more)


def start(folder, *more):
    words = [
        "train",
        "classifier",
        "--data",
        folder / "data",
        "--out",
        folder / "out",
        "--recipe",
        folder / "recipe.json",
    ]
    return [str(word) for word in (*words, "--device", "cpu", "--progress", "none", *more)]


def test_training_saves_a_judged_model(trained):
    model = load(trained / "out")
    assert model.about["scores"].keys() == {"dev"}
    assert model.about["scores"]["dev"]["score"] == 1.0
    assert "confusions" not in model.about["scores"]["dev"]
    card = (trained / "out" / "model" / "README.md").read_text(encoding="utf-8")
    for text in ("# Classifier of data", "2 labels (no, yes)", "| dev | accuracy | 100.00 % |", "train: 4 examples"):
        assert text in card


def test_a_mistyped_folder_of_ones_own_may_be_meant_as_well_as_a_data_set(trained, monkeypatch, capsys):
    (trained / "friends").mkdir()
    monkeypatch.chdir(trained)
    assert main(["train", "classifier", "--data", "frinds", "--out", "out2"]) == 2
    said = capsys.readouterr().err
    assert "Did you mean 'friends'?" in said
    # What stands beside is meant, perhaps; it isn't listed.
    assert said.count("friends") == 1


def test_a_finished_run_is_resumed_and_another_refused(trained, capsys):
    assert main(start(trained)) == 2
    assert "holds a run. Go on with it by `--resume`" in capsys.readouterr().err
    assert main(start(trained, "--resume")) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--data", "sst3"], "Did you mean 'sst2'?"),
        (["--data", "ud-english-ewt"], "but ud-english-ewt has a label for each item. Take regard train tagger."),
        (["--data", "multi30k"], "for a classifier, but multi30k has a text."),
        (["--data", "fsdd", "--label", "speeker"], "Did you mean 'speaker'?"),
        (["--recipe", "english-pos"], "must be a classifier's, but is a tagger's"),
        (["--label", "speaker"], "`--label` must be left out for"),
    ],
)
def test_what_can_not_be_trained(trained, tmp_path, capsys, change, message):
    assert main(start(trained, "--out", str(tmp_path / "new"), *change)) in (1, 2)
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.fixture
def reviews(tmp_path):
    """A single table: forty texts, ten of which stand twice, with other capitals; and its path."""
    rows = [
        (f"{word} number {place}", answer) for place in range(20) for word, answer in (("good", "yes"), ("bad", "no"))
    ]
    path = tmp_path / "reviews.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows, *((text.upper(), answer) for text, answer in rows[:10])])
    return path


def test_a_single_table_is_split_and_judged_on_what_it_was_not_trained_on(start_briefly, reviews, tmp_path, capsys):
    assert main(start_briefly("--data", str(reviews), "--out", str(tmp_path / "new"), "--final")) == 0
    err = capsys.readouterr().err
    data = find_reader(str(reviews), "classifier").with_splits()
    splits = {split: data.read(split) for split in data.splits}
    counts = ", ".join(f"{len(examples)} {split}" for split, examples in splits.items())
    assert f"reviews.csv: 50 examples split by a hash of each source, duplicates together: {counts}." in err
    assert sum(map(len, splits.values())) == 50
    texts = [{example.source.lower() for example in examples} for examples in splits.values()]
    assert len(set.union(*texts)) == sum(map(len, texts)) == 40
    assert load(tmp_path / "new").about["data"]["splits"]["train"]["examples"] == len(splits["train"])
    # What is suggested next must not judge what was learned.
    main(["evaluate", str(tmp_path / "new"), "--data", str(reviews), "--format", "json"])
    told = capsys.readouterr()
    assert "split by a hash of each source, as for training; this is test" in told.err
    judged = json.loads(told.out)
    assert judged["examples"] == len(splits["test"])
    assert judged["score"] == load(tmp_path / "new").about["scores"]["test"]["score"]
    # Data of the same name with splits of their own have these.
    folder = tmp_path / "elsewhere" / "reviews.csv"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (folder / f"{split}.csv").write_text("text,label\ngood,yes\nbad,no\n")
    main(["evaluate", str(tmp_path / "new"), "--data", str(folder), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["examples"] == 2
    # Another file is taken whole.
    other = tmp_path / "others.csv"
    other.write_bytes(reviews.read_bytes())
    main(["evaluate", str(tmp_path / "new"), "--data", str(other), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["examples"] == 50


def test_texts_to_write_are_no_labels(trained, tmp_path, capsys):
    rows = "".join(f"snake_{n},snake{n}\n" for n in range(40))
    (tmp_path / "pairs.csv").write_text(f"text,target\n{rows}")
    assert main(start(trained, "--data", str(tmp_path / "pairs.csv"), "--out", str(tmp_path / "new"))) == 2
    assert re.search(r"labels that repeat, .* are different\. .* use regard train seq2seq\.", capsys.readouterr().err)


def test_where_dev_is_lacking_it_is_taken_from_train(start_briefly, reviews, tmp_path, capsys):
    own = tmp_path / "own"
    own.mkdir()
    (own / "train.csv").write_bytes(reviews.read_bytes())
    (own / "test.csv").write_text("text,label\ngood,yes\nbad,no\n")
    assert main(start_briefly("--data", str(own), "--out", str(tmp_path / "new"), "--final")) == 0
    assert "50 examples split by a hash of each source" in capsys.readouterr().err
    about = load(tmp_path / "new").about
    assert {split: counts["examples"] for split, counts in about["data"]["splits"].items()} == {"train": 38, "dev": 12}
    assert about["scores"]["test"]["examples"] == 2


def test_too_few_to_be_split_and_nothing_to_train_on(trained, tmp_path, capsys):
    (tmp_path / "few.csv").write_text("text,label\na,yes\nb,no\n")
    assert main(start(trained, "--data", str(tmp_path / "few.csv"), "--out", str(tmp_path / "new"))) == 2
    assert re.search(r"but of the 2 in .* none falls into dev", capsys.readouterr().err)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "test.csv").write_text("text,label\na,yes\n")
    assert main(start(trained, "--data", str(tmp_path / "own"), "--out", str(tmp_path / "new"))) == 2
    assert "must have examples to train on" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["jsonl", "folder", "tsv"])
def test_each_kind_of_single_file_is_split(trained, tmp_path, ending):
    pillow = pytest.importorskip("PIL.Image")
    path = tmp_path / f"own.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps({"text": f"text {n}", "label": "ab"[n % 2]}) + "\n" for n in range(40)))
    elif ending == "tsv":
        path.write_text("text\ttarget\n" + "".join(f"text {n}\t{n} txet\n" for n in range(40)))
    else:
        for n in range(40):
            (path / "ab"[n % 2]).mkdir(parents=True, exist_ok=True)
            pillow.new("L", (4, 5), n).save(path / "ab"[n % 2] / f"{n}.png")
    data = find_reader(str(path), "seq2seq" if ending == "tsv" else "classifier").with_splits()
    splits = [data.read(split) for split in data.splits]
    assert len(splits) == 3
    assert all(splits)
    assert sum(map(len, splits)) == 40


def test_a_broken_test_file_is_told_and_a_missing_one_is_not(start_briefly, tmp_path, capsys):
    table = "text,label\ngood,yes\nbad,no\n"
    for split in ("train", "dev"):
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own" / f"{split}.csv").write_text(table, encoding="utf-8")
    words = start_briefly("--data", str(tmp_path / "own"))
    assert main([*words, "--out", str(tmp_path / "first")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "--split dev" in said
    (tmp_path / "own" / "test.csv").write_text("text,label\ngood\n", encoding="utf-8")
    assert main([*words, "--out", str(tmp_path / "second")]) == 1
    assert "test.csv, line 2" in capsys.readouterr().err
    # Before training, not after it.
    assert not (tmp_path / "second").exists()


def test_columns_that_are_called_otherwise(start_briefly, tmp_path, capsys):
    data, out = tmp_path / "data", str(tmp_path / "out")
    data.mkdir()
    for split in ("train", "dev", "test"):
        with (data / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = ((review, int(like == "yes"), "") for review, like in ROWS)
            csv.writer(file).writerows([("review", "likes", "buys"), *rows])
    words = [*start_briefly(), "--data", str(data), "--out", out, "--column", "text=review"]
    assert main([*words, "--column", "labels=likes", "--column", "labels=buys"]) == 0
    assert load(out).target.names == ("likes", "buys")
    # They are known from training, and each side of an example may be called anew.
    for given, told in (
        ([], "--column text=review --column labels=likes --column labels=buys"),
        (["--column", "text=review"], "--column labels=likes --column labels=buys"),
        (["--column", "labels=likes", "--column", "labels=buys"], "--column text=review"),
    ):
        capsys.readouterr()
        assert main(["evaluate", out, "--data", str(data), "--format", "json", *given]) == 0
        said = capsys.readouterr()
        assert json.loads(said.out)["examples"] == 4
        assert json.loads(said.out)["columns"] == {"text": "review", "labels": ["likes", "buys"]}
        assert said.err == f"Note: the columns are those of the data that out was trained on: {told}\n"
    # Of a data set that regard knows they say nothing.
    assert main(["evaluate", out, "--data", "nowhere"]) == 2
    assert "Note" not in capsys.readouterr().err
    table = "text,likes\n" + "".join(f"{text},{int(like == 'yes')}\n" for text, like in ROWS)
    (tmp_path / "other.csv").write_text(table, encoding="utf-8")
    words = ["evaluate", out, "--data", str(tmp_path / "other.csv")]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "other.csv, line 1: it has no column 'review' for text, but text, likes. Say which column" in said
    assert "--column text=NAME" in said
    assert main([*words, "--column", "text=text", "--column", "labels=likes"]) == 2
    assert "as many answers as training had questions, 2, each" in capsys.readouterr().err
    turned = ["--column", "text=review", "--column", "labels=buys", "--column", "labels=likes"]
    assert main(["evaluate", out, "--data", str(data), *turned]) == 2
    assert "must answer likes, buys, in this order, but answers buys, likes." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["text"], "`--column` must be like text=review, but is 'text'."),
        (["text="], "`--column` must be like text=review, but is 'text='."),
        (["text=a", "text=b"], "`--column` must name one column for text, but names a and b."),
        (["txt=a"], "`--column` must be one of text, path, smiles, label, "),
        (["txt=a"], "Did you mean 'text'?"),
        (["text=a", "label=a"], "`--column` must name a column once, but names a twice."),
        (["text=a", "label=b", "number=c"], "`--column` must have one name for a target, but has label and number."),
    ],
)
def test_what_is_no_column(trained, tmp_path, capsys, given, message):
    words = [word for each in given for word in ("--column", each)]
    assert main([*start(trained), "--out", str(tmp_path / "new"), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_run_goes_on_with_columns_of_other_names(start_briefly, tmp_path, capsys):
    """The data are the same, so it is the same run; what comes next is said, and done, with the names of now."""
    for names, folder in ((("review", "stars"), "before"), (("text", "label"), "now")):
        (tmp_path / folder).mkdir()
        for split in ("train", "dev", "test"):
            with (tmp_path / folder / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([names, *ROWS])
    out = str(tmp_path / "out")
    words = [*start_briefly(), "--out", out]
    called = ["--column", "text=review", "--column", "label=stars"]
    assert main([*words, "--data", str(tmp_path / "before"), *called]) == 0
    assert load(out).about["data"]["columns"] == {"text": "review", "label": "stars"}
    assert main([*words, "--data", str(tmp_path / "now"), "--resume"]) == 0
    assert "columns" not in load(out).about["data"]
    assert load(out).about["data"]["splits"]["train"] == {"examples": 4}
    capsys.readouterr()
    assert main(["evaluate", out, "--data", str(tmp_path / "now")]) == 0
    assert "Note" not in capsys.readouterr().err


@pytest.mark.parametrize("given", ["sst2", "ud-english-ewt"])
def test_known_data_have_no_columns_to_name(given):
    task = "tagger" if given == "ud-english-ewt" else "classifier"
    # Before anything is downloaded.
    with pytest.raises(ArgumentError, match=rf"`columns` \(--column\) must be left out for {given}, but are there"):
        find_reader(given, task, columns={"text": "review"})


def test_a_tagger_has_no_columns_to_name(capsys):
    assert main(["train", "tagger", "--help"]) == 0
    assert "--column" not in capsys.readouterr().out
    assert main(["train", "tagger", "--data", "x", "--out", "y", "--column", "text=review"]) == 2
    assert "there is no option --column" in capsys.readouterr().err


def test_evaluate(trained, capsys):
    words = ["evaluate", str(trained / "out"), "--data", str(trained / "data")]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The accuracy on 4 examples is 100.00 % (95% interval 51.01 % to 100.00 %" in said
    assert main([*words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["measure"], found["score"], found["examples"], found["split"]) == ("accuracy", 1.0, 4, "test")


@pytest.mark.parametrize(
    ("column", "targets", "message"),
    [
        ("label", ["x", "y"], "`examples` must have labels that occur in training (no, yes), but has none of them"),
        ("number", ["1.5", "2.5"], "the target of `examples[0]` must be a label or None, but is 1.5."),
    ],
)
def test_evaluate_on_something_else_is_refused_in_a_sentence(trained, tmp_path, capsys, column, targets, message):
    table = f"text,{column}\n" + "".join(f"{text},{each}\n" for (text, _), each in zip(ROWS, targets, strict=False))
    (tmp_path / "own.csv").write_text(table, encoding="utf-8")
    assert main(["evaluate", str(trained / "out"), "--data", str(tmp_path / "own.csv")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


@pytest.mark.usefixtures("one_epoch")
def test_auxiliary_answers_that_the_data_lack(trained, tmp_path, capsys):
    recipe = RECIPE | {"task": {"kind": "classifier", "auxiliary": {"degree": 1.0}}}
    (tmp_path / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    words = ["--out", str(tmp_path / "out"), "--recipe", str(tmp_path / "recipe.json")]
    assert main([*start(trained), *words]) == 2
    assert "than what is learned (it has none), but names 'degree'. Use a recipe" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    # A recipe by name helps where it can.
    words = ["--out", str(tmp_path / "out"), "--recipe", "english-sentiment"]
    assert main([*start(trained), *words]) == 0
    assert "data has no auxiliary label degree, so the recipe is used without it" in capsys.readouterr().err
    assert dict(load(tmp_path / "out").recipe.task.auxiliary) == {}


# The first phrases stand for the treebank, which is read and hashed three times.
@pytest.mark.parametrize("phrases", [20_000, pytest.param(None, id="all", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("real_data")
def test_auxiliary_answers_of_a_data_set_by_name(monkeypatch, phrases):
    real = sentiment.read_phrases
    monkeypatch.setattr(sentiment, "read_phrases", lambda *given, **more: islice(real(*given, **more), phrases))
    data = find_reader("sst2-phrases", "classifier")
    examples = data.read("train")
    degrees = dict(zip((each.source for each in examples), data.auxiliary("degree", examples), strict=True))
    assert {text: degrees[text] for text in ("gorgeously", "a", "bad")} == {
        "gorgeously": "positive",
        "a": "neutral",
        "bad": "very negative",
    }
    with pytest.raises(ArgumentError, match="known of the same examples as sentiment, but sst2-phrases has other"):
        data.auxiliary("degree", examples[1:])
    for name in ("sentiment", "degre"):
        with pytest.raises(ArgumentError, match=rf"than what is learned \(degree\), but names '{name}'"):
            data.auxiliary(name, examples)


def test_predict(trained, capsys):
    words = ["predict", str(trained / "out"), *(text for text, _ in ROWS)]
    assert main(words) == 0
    for line, (text, label) in zip(capsys.readouterr().out.splitlines(), ROWS, strict=True):
        assert line.split()[0] == label
        assert line.endswith(text)
    assert main([*words, "--format", "json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(answer["source"], answer["label"]) for answer in answers] == ROWS
    assert all(0.5 < answer["score"] <= 1 for answer in answers)
    assert main([*words, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["source"], row["label"]) for row in rows] == ROWS


def test_predict_from_a_file(trained, tmp_path, capsys):
    (tmp_path / "many.txt").write_text("".join(f"{text}\n" for text, _ in ROWS * 200), encoding="utf-8")
    assert main(["predict", str(trained / "out"), "-f", str(tmp_path / "many.txt"), "--format", "json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["label"] for line in lines] == [label for _, label in ROWS] * 200


def test_predict_says_what_it_needs(trained, capsys):
    assert main(["predict", str(trained / "out")]) == 2
    assert "give either sources or -f FILE" in capsys.readouterr().err
    assert main(["predict", str(trained / "out"), "-f", "missing.txt"]) == 1
    assert "missing.txt" in capsys.readouterr().err
    assert main(["predict", "nowhere", "text"]) == 2


def test_predict_with_a_tagger(model, capsys):
    assert main(["predict", model, "I saw a saw .", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [item["text"] for item in answer["items"]] == ["I", "saw", "a", "saw", "."]


MOLECULES = [("CO", "alcohol"), ("CCO", "alcohol"), ("CN", "amine"), ("CCN", "amine")]


@pytest.fixture
def molecules(tmp_path):
    pytest.importorskip("rdkit")
    for split in ("train", "dev"):
        with (tmp_path / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("smiles", "label"), *MOLECULES])
    (tmp_path / "few.json").write_text(json.dumps({"task": {"kind": "classifier"}, "epochs": 1}), encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("one_epoch")
@pytest.mark.parametrize(
    ("more", "kind", "said"),
    [
        ([], "molecules", "4 molecules -> 2 labels; input: molecules, because of the column `smiles`.\n"),
        (["--input", "texts"], "texts", "4 texts -> 2 labels; input: texts, as --input says.\n"),
        (["--recipe", "{}/few.json"], "words", "4 texts -> 2 labels; input: words, as --recipe says.\n"),
    ],
)
def test_a_column_of_molecules_is_read_as_molecules_and_training_says_so(molecules, capsys, more, kind, said):
    words = ["train", "classifier", "--data", molecules, "--out", molecules / "out", "--progress", "none"]
    assert main([str(word).replace("{}", str(molecules)) for word in [*words, *more]]) == 0
    assert capsys.readouterr().err.startswith(said)
    assert load(molecules / "out").recipe.input.kind == kind


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--input", "molecule"], "`--input` must be one of molecules, texts, words, but is 'molecule'. Did you mean"),
        (["--input", "speech"], "`--input` must be one of molecules, texts, words, but is 'speech'."),
        (
            ["--input", "texts", "--recipe", "{}/few.json"],
            "`--input` must be words, as --recipe has it, but is texts. Leave it out.",
        ),
    ],
)
def test_an_input_that_does_not_fit_is_refused(molecules, capsys, more, message):
    words = ["train", "classifier", "--data", molecules, "--out", molecules / "out"]
    assert main([str(word).replace("{}", str(molecules)) for word in [*words, *more]]) == 2
    assert capsys.readouterr().err.startswith(f"regard: {message}")


def test_what_the_data_were_taken_for_is_said(tmp_path):
    (tmp_path / "train.csv").write_text("review,label\na,yes\n")
    sound, number = [Example(Path("a.wav"), "yes"), Example(Path("b.wav"), "no")], [Example("a", 1.0)]
    several = [Example("a", BinaryLabels((1, None), ("x", "y")))]
    for task, examples, kind, said in (
        ("classifier", sound, "speech", "2 recordings -> 2 labels; input: speech, because of the endings of the file"),
        ("classifier", number, "words", "1 text -> numbers; input: words, because of the column `review`."),
        ("classifier", several, "words", "1 text -> 2 questions; input: words"),
        ("seq2seq", [Example("a", "b")], "texts", "1 text -> texts; input: texts, because of the column `review`."),
    ):
        data = find_reader(str(tmp_path), task, columns={"text": "review"})
        assert data.summary(examples, kind).startswith(said)
