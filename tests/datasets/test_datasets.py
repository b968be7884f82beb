"""By name or by path; what stands twice; and the real treebanks."""

import re
from functools import cache

import pytest
from treebank_files import SAW, sentence, word

from regard.datasets import (
    DATASETS,
    LABELS,
    SPLITS,
    TaggedSentence,
    check,
    count_duplicates,
    find_source,
    read,
)
from regard.errors import DataError, UnknownNameError
from regard.inputs import FOLDINGS

held = cache(read)  # a treebank is read once, for all tests


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "toy-train.conllu").write_text(SAW + sentence("one", "two") + SAW, encoding="utf-8")
    (tmp_path / "toy-dev.conllu").write_text(SAW + sentence("one", ("three", "NUM")), encoding="utf-8")
    (tmp_path / "toy-test.conllu").write_text(sentence("one", "two") * 2 + sentence("four"), encoding="utf-8")
    return tmp_path


def test_a_folder_has_its_splits_and_a_file_is_every_split(folder):
    assert [len(read(folder, split)) for split in SPLITS] == [3, 2, 3]
    assert len(read(str(folder))) == 3
    for split in SPLITS:
        assert read(folder / "toy-dev.conllu", split)[1].labels == ("NOUN", "NUM")
    assert read(folder, "dev", label="xpos")[1].labels == ("NN", "NN")


def test_what_can_not_be_read_says_why(folder, tmp_path_factory):
    with pytest.raises(
        UnknownNameError, match=r"`data` must be one of ud-english-ewt, .*Did you mean 'ud-english-ewt'"
    ):
        read("ud-englsh-ewt")
    with pytest.raises(DataError, match=r"no/where.conllu: there is no such file or folder"):
        read("no/where.conllu")
    for near in ("toy-tset.conllu", "toy-tset.conllu/"):
        with pytest.raises(
            DataError, match=re.escape(f"no such file or folder. Did you mean {folder}/toy-test.conllu?")
        ):
            read(f"{folder}/{near}")
    for nothing in ("no/where/at.conllu", "\0/at.conllu"):
        with pytest.raises(DataError, match=r"there is no such file or folder\.$"):
            read(nothing)
    # A long folder that they share doesn't make two names alike.
    with pytest.raises(DataError, match=r"there is no such file or folder\.$"):
        read(folder / "elsewhere")
    with pytest.raises(UnknownNameError, match="`split` must be one of train, dev, test, but is 'val'"):
        read(folder, "val")
    with pytest.raises(UnknownNameError, match="`label` must be one of"):
        read(folder, label="tag")
    with pytest.raises(DataError, match=re.escape("it has no file named like train.conllu")):
        read(tmp_path_factory.mktemp("empty"))
    (folder / "toy-test.conllu").unlink()
    with pytest.raises(DataError, match=re.escape("it has no file for the split 'test': none named like test.conllu")):
        read(folder, "test")
    (folder / "other-dev.conllu").write_text(SAW, encoding="utf-8")
    with pytest.raises(DataError, match=r"one file for the split 'dev', but has other-dev.conllu, toy-dev.conllu"):
        read(folder, "dev")


def test_duplicates_are_counted_by_their_words():
    def make(*texts):
        return [TaggedSentence(tuple(text.split()), tuple("x" * len(text.split()))) for text in texts]

    found = count_duplicates(
        {"train": make("a b", "c", "c", "，"), "dev": make("c", "d"), "test": make("c", "c", "d", ",")}
    )
    assert found.distinct == 2
    assert found.shared == {("train", "dev"): 1, ("train", "test"): 2, ("dev", "test"): 3}
    assert found.within == {"train": 1, "dev": 0, "test": 1}
    folded = count_duplicates({"train": make("，"), "test": make(",")}, fold="width")
    assert folded.distinct == 1
    with pytest.raises(UnknownNameError, match="`fold`"):
        count_duplicates({}, fold="widht")


def test_check_counts_what_there_is(folder):
    report = check(folder)
    assert [(each.split, each.sentences, each.words, each.out_of_vocabulary) for each in report.splits] == [
        ("train", 3, 12, None),
        ("dev", 2, 7, 1 / 7),
        ("test", 3, 5, 1 / 5),
    ]
    assert report.splits[0].labels == {"NOUN": 4, "PRON": 2, "VERB": 2, "DET": 2, "PUNCT": 2}
    assert report.duplicates.shared == {("train", "dev"): 1, ("train", "test"): 2, ("dev", "test"): 0}
    assert len(report.problems) == 1
    assert (
        "toy-dev.conllu: 1 label never stands in the training split, so no model can learn it: NUM."
        in report.problems[0]
    )


def test_check_names_every_problem(folder):
    (folder / "toy-train.conllu").write_text(SAW + "x\n\n" + word(2, "saw") + "\n\n" + SAW, encoding="utf-8")
    (folder / "toy-dev.conllu").write_bytes(b"\0")
    report = check(folder)
    places = [problem.split(": ")[0].removeprefix(str(folder)) for problem in report.problems]
    assert places == ["/toy-train.conllu, line 7", "/toy-train.conllu, line 9", "/toy-dev.conllu, line 1"]
    assert [each.sentences for each in report.splits] == [2, 0, 3]
    assert report.splits[1].out_of_vocabulary is None


def test_check_does_not_fill_the_memory_with_problems(folder):
    (folder / "toy-train.conllu").write_text("x\n" * 1009, encoding="utf-8")
    problems = check(folder / "toy-train.conllu").problems
    assert len(problems) == 1001
    assert problems[-1] == "and 9 problems more."


def test_a_file_alone_is_one_split(folder):
    report = check(folder / "toy-train.conllu")
    assert [each.split for each in report.splits] == ["all"]
    assert report.duplicates.within == {"all": 1}
    assert report.problems == ()


@pytest.mark.parametrize("name", [name for name, known in DATASETS.items() if known.is_treebank])
def test_the_catalog_is_complete(name):
    known = DATASETS[name]
    assert known.name == name
    assert tuple(known.files) == SPLITS
    assert known.label in LABELS
    assert known.fold in FOLDINGS
    for each in (known.title, known.language, known.licence, known.source, known.citation):
        assert each
    for file in known.files.values():
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        # A full commit, so that what is downloaded can't change.
        assert re.fullmatch(
            r"https://raw\.githubusercontent\.com/UniversalDependencies/[\w-]+/[0-9a-f]{40}/[\w-]+\.conllu", file.url
        )
        assert file.size > 1_000_000


@pytest.mark.usefixtures("real_data")
@pytest.mark.slow
def test_english_is_what_its_authors_published():
    train = held("ud-english-ewt", "train")
    assert (len(train), sum(len(each.words) for each in train)) == (12_544, 204_577)
    assert len({label for each in train for label in each.labels}) == 17
    # The notes' example: the treebank has the verb many times, the noun once.
    tags = [label for each in train for text, label in zip(each.words, each.labels, strict=True) if text == "saw"]
    assert (tags.count("VERB"), tags.count("NOUN")) == (25, 1)
    counts = [
        (len(held("ud-english-ewt", split)), sum(len(each.words) for each in held("ud-english-ewt", split)))
        for split in ("dev", "test")
    ]
    assert counts == [(2001, 25_147), (2077, 25_094)]


@pytest.mark.usefixtures("real_data")
@pytest.mark.slow
def test_chinese_halves_agree_once_folded():
    report = check("ud-chinese-gsd")
    assert [(each.sentences, each.words) for each in report.splits] == [(3997, 98_608), (500, 12_663), (500, 12_012)]
    assert report.problems == ()
    assert len(report.splits[0].labels) == 42
    # Without folding, every comma and stop of dev and test would be a word never seen: 24 % instead of 12 %.
    assert all(0.11 < each.out_of_vocabulary < 0.13 for each in report.splits[1:] if each.out_of_vocabulary is not None)
    words = {text for each in held("ud-chinese-gsd", "train") for text in each.words}
    assert {"简单", "他们", "着"} <= words
    assert not {"簡單", "他們", "著"} & words
    # Words are converted, not counted anew.
    raw = [
        line.split("\t")[1]
        for line in find_source("ud-chinese-gsd").files["train"].read_text("utf-8").splitlines()
        if line[:1].isdigit()
    ]
    assert [len(text) for text in raw] == [len(text) for each in held("ud-chinese-gsd", "train") for text in each.words]


@pytest.mark.usefixtures("real_data")
def test_english_duplicates_are_counted():
    found = count_duplicates({split: held("ud-english-ewt", split) for split in SPLITS})
    assert (found.shared["train", "dev"], found.shared["train", "test"]) == (68, 94)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["latest-train", "developers-dev"], {"train": "latest-train", "dev": "developers-dev"}),
        (["Train", "EN_Dev2", "test"], {"train": "Train", "dev": "EN_Dev2", "test": "test"}),
    ],
)
def test_a_split_is_a_word_of_the_name(tmp_path, names, found):
    for name in names:
        (tmp_path / f"{name}.conllu").write_text(SAW, encoding="utf-8")
    assert {split: path.stem for split, path in find_source(tmp_path).files.items()} == found


def test_a_name_of_two_splits_is_refused(tmp_path):
    (tmp_path / "train-dev.conllu").write_text(SAW, encoding="utf-8")
    with pytest.raises(DataError, match=r"train-dev.conllu: its name holds the names of two splits"):
        _ = find_source(tmp_path).files
