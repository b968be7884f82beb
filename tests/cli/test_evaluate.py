import json

import pytest

from regard.cli.main import main
from regard.tasks import Recipe, Tagger, train

PAIRS = [
    (("I", "saw", "a", "saw", "."), ("PRON", "VERB", "DET", "NOUN", "PUNCT")),
    (("the", "saw", "fell"), ("DET", "NOUN", "VERB")),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a model that was hardly trained, and a file of sentences."""
    pytest.importorskip("conllu")
    folder = tmp_path_factory.mktemp("evaluate")
    features = {"minimum_count": 1, "affix_ids": 97, "ngram_ids": 31, "shape_ids": 31}
    recipe = Recipe(input={"features": features}, width=12, heads=3, hidden=7, epochs=2)
    train(PAIRS, PAIRS, recipe=recipe, progress="none", device="cpu").save(folder / "model")
    lines = []
    for words, labels in [*PAIRS, (("zzz",), ("X",))]:
        both = enumerate(zip(words, labels, strict=True), start=1)
        lines += [f"{n}\t{w}\t_\t{t}\tx{t}\t_\t0\troot\t_\t_" for n, (w, t) in both] + [""]
    (folder / "some.conllu").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def command(place, *more):
    return main(["evaluate", str(place / "model"), "--data", str(place / "some.conllu"), *more])


def test_text(place, capsys):
    assert command(place) == 0
    said = " ".join(capsys.readouterr().out.split())
    for text in (
        "model on all 3 sentences of ",
        "of 9 words in 3 sentences are right (95% interval",
        "Wilson score interval over sentences",
        "Of 1 out-of-vocabulary word, which doesn't occur in training",
    ):
        assert text in said
    for text in ("hardest labels", "precision", "Most frequent confusions", "words a second"):
        assert text in said
    assert "\x1b" not in said


def test_json(place, capsys):
    assert command(place, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["split"], found["examples"], found["sources"]) == ("model", "all", 9, 3)
    low, high = found["interval"]
    assert 0 <= low <= found["score"] <= high <= 1
    assert sum(label["examples"] for label in found["labels"].values()) == 9
    assert sum(count for *_, count in found["confusions"]) == round(9 * (1 - found["score"]))
    assert found["out_of_vocabulary"] == 1


def test_another_script_is_told_and_converted(tmp_path, capsys):
    pytest.importorskip("conllu")
    pytest.importorskip("opencc")

    def judged(words, *more):
        lines = [f"{n}\t{word}\t_\t_\t{label}\t_\t0\troot\t_\t_" for n, (word, label) in enumerate(words, start=1)]
        (tmp_path / "some.conllu").write_text("\n".join([*lines, "", ""]), encoding="utf-8")
        assert (
            main(["evaluate", "chinese-pos", "--data", str(tmp_path / "some.conllu"), "--format", "json", *more]) == 0
        )
        out, err = capsys.readouterr()
        return {key: value for key, value in json.loads(out).items() if key != "seconds"}, err

    labels = ["PRP", "RB", "VV", ",", "VV", "NN", "."]
    simplified, err = judged(zip(["我", "在", "读书", "，", "写", "东西", "。"], labels, strict=True))
    assert err == ""
    both = list(zip(["我", "在", "讀書", "，", "寫", "東西", "。"], labels, strict=True))
    _, err = judged(both)
    assert err == (
        "Note: 1 of 1 source is in traditional characters, but chinese-pos was trained on simplified ones, and is "
        "wrong more often on others. Convert them by --script simplified.\n"
    )
    assert judged(both, "--script", "simplified") == (simplified, "")


def test_forty_columns(place, capsys):
    assert command(place, "--width", "40") == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


def test_plain(place, capsys):
    assert command(place, "--plain") == 0
    assert "words in 3 sentences are right" in capsys.readouterr().out


def test_labels_of_another_kind_are_not_called_wrong(place, capsys):
    assert command(place, "--label", "xpos") == 2
    assert "`--label` must be the column with the model's labels (DET" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["englsh-pos", "--data", "ud-english-ewt"], 2, "`MODEL` must be one of"),
        (["./none", "--data", "ud-english-ewt"], 1, "There is no model folder none"),
    ],
)
def test_a_model_that_is_not_there(words, code, message, capsys):
    assert main(["evaluate", *words]) == code
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1


def test_data_that_is_not_there(place, capsys):
    assert main(["evaluate", str(place / "model"), "--data", "ud-englsh-ewt"]) == 2
    assert "Did you mean 'ud-english-ewt'?" in capsys.readouterr().err


def test_a_file_of_another_kind_is_no_treebank(place, tmp_path, capsys):
    (tmp_path / "empty.txt").touch()
    assert main(["evaluate", str(place / "model"), "--data", str(tmp_path / "empty.txt")]) == 1
    assert (
        "empty.txt: it is a .txt file, but has none of the known formats: an object of JSON" in capsys.readouterr().err
    )
    (tmp_path / "some.doc").touch()
    assert main(["evaluate", str(place / "model"), "--data", str(tmp_path / "some.doc")]) == 1
    assert (
        "some.doc: it must be a .txt file of word/TAG, or its name must end in .conllu or .conll."
        in capsys.readouterr().err
    )


def test_sentences_in_a_txt_file_are_read_as_such(place, tmp_path, capsys):
    text = (place / "some.conllu").read_text(encoding="utf-8")
    (tmp_path / "some.txt").write_text("# sent_id = 1\n" + text, encoding="utf-8")
    assert main(["evaluate", str(place / "model"), "--data", str(tmp_path / "some.txt"), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert command(place, "--format", "json") == 0
    assert found["score"] == json.loads(capsys.readouterr().out)["score"]


def test_help_teaches(capsys):
    assert main(["evaluate", "--help"]) == 0
    assert "regard evaluate english-pos --data ud-english-ewt" in capsys.readouterr().out


def test_a_column_that_shares_a_few_labels_is_not_the_models(place, tmp_path, capsys):
    text = (place / "some.conllu").read_text(encoding="utf-8")
    (tmp_path / "some.conllu").write_text(text.replace("xDET", "DET"), encoding="utf-8")
    assert main(["evaluate", str(place / "model"), "--data", str(tmp_path / "some.conllu"), "--label", "xpos"]) == 2
    assert "but only 2 of 9 words of" in capsys.readouterr().err


@pytest.mark.usefixtures("real_data")
def test_a_label_that_shares_a_few_names_is_not_the_classifiers(capsys):
    assert main(["evaluate", "english-sentiment", "--data", "sst2-phrases", "--label", "degree"]) == 2
    said = capsys.readouterr().err
    assert "the model's labels (negative, positive, ...), but only 2 of 5 labels of sst2-phrases have one" in said


def test_everything_is_tagged_once(place, monkeypatch):
    real, tagged = Tagger._outputs, []
    monkeypatch.setattr(Tagger, "_outputs", lambda self, *given, **more: tagged.append(1) or real(self, *given, **more))
    assert command(place) == 0
    assert len(tagged) == 1
