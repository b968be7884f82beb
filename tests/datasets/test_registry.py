"""The data sets of examples: what the catalog says, and what really stands in them."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import torch

from regard.datasets import DATASETS, SPLITS, check
from regard.datasets.example import Example
from regard.datasets.formats.idx import read_idx
from regard.datasets.reading import read
from regard.datasets.splits import split_by_hash
from regard.errors import DataError, UnknownNameError
from regard.inputs import FOLDINGS
from regard.inputs.sound.sound import Sound

held = cache(read)  # a data set is read once, for all tests
GIVES = {"label", "number", "text", "sound", "items", "labels"}


@pytest.mark.parametrize("name", DATASETS)
def test_the_catalog_is_complete(name):
    known = DATASETS[name]
    assert known.name == name
    assert known.fold in FOLDINGS
    assert known.label in known.labels
    assert known.modality in {"words", "text", "sound", "picture", "vectors", "molecule", "graph"}
    assert {known.target_type_of(label) for label in known.labels} <= GIVES
    for each in (known.title, known.licence, known.source, known.citation):
        assert each
    assert len(known.title) < 120
    assert bool(known.files) != bool(known.library)
    assert bool(known.questions) == (known.target_type == "labels")
    assert set(known.questions) <= set(known.labels)
    for file in known.files.values():
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.size > 1000
        assert file.filename
        # A full commit, so that what is downloaded can't change; or a way that a person can go.
        if file.url is None:
            assert known.by_hand.endswith(".")
        else:
            assert re.fullmatch(r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{40}/[\w./-]+", file.url)
            assert re.search(r"/([0-9a-f]{40})/", file.url)[1] in known.source


# Of each split: how many examples, and how many of the most frequent labels.
COUNTS = {
    "sst2": ((6920, 3610), (872, 444), (1821, 912)),
    "chinese-hotel-reviews": ((6260, None), (770, None), (736, None)),
    "multi30k": ((29_000, None), (1014, None), (1000, None)),
    "tatoeba-zh-en": ((23_301, None), (2923, None), (2931, None)),
    "fsdd": ((2400, 240), (300, 30), (300, 30)),
    "japanese-vowels": ((240, None), (30, None), (370, 88)),
    "digits": ((1462, None), (178, None), (157, None)),
    "esol": ((902, None), (113, None), (113, None)),
    "bbbp": ((1631, None), (204, None), (204, None)),
}


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("name", COUNTS)
def test_each_split_has_what_its_authors_published(name):
    for split, (count, most) in zip(SPLITS, COUNTS[name], strict=True):
        examples = held(name, split)
        assert len(examples) == count
        assert all(isinstance(example, Example) for example in examples)
        if most is not None:
            assert Counter(example.target for example in examples).most_common(1)[0][1] == most


@pytest.mark.usefixtures("real_data")
def test_reviews_are_kept_whole():
    reviews = [each for split in SPLITS for each in held("chinese-hotel-reviews", split)]
    assert len({each.source for each in reviews}) == len(reviews) == 7766
    assert Counter(each.target for each in reviews) == {"positive": 5322, "negative": 2444}
    assert all(split_by_hash(each.source) == "test" for each in held("chinese-hotel-reviews", "test"))


@pytest.mark.usefixtures("real_data")
@pytest.mark.slow
def test_phrases_are_added_to_train_alone():
    sentences, phrases, degrees = (
        held("sst2", "train"),
        held("sst2-phrases", "train"),
        held("sst2-phrases", "train", "degree"),
    )
    assert [each.source for each in phrases] == [each.source for each in degrees]
    assert len(set(degrees)) == len(degrees) > 150_000
    feelings = {"very negative": "negative", "neutral": None, "very positive": "positive"}
    assert [each.target for each in phrases] == [feelings.get(each.target, each.target) for each in degrees]
    assert set(sentences) <= set(phrases)
    assert {Example("gorgeously", "positive"), Example("a", None)} <= set(phrases)
    assert held("sst2-phrases", "test") == held("sst2", "test")
    # By degree a sentence may be neutral, too.
    assert len(held("sst2-phrases", "test", "degree")) == 2210
    assert Counter(each.target for each in held("sst2-phrases", "test", "degree"))["neutral"] == 389


@pytest.mark.usefixtures("real_data")
def test_translations_go_in_every_direction():
    german = held("multi30k", "dev", "en-de")
    assert german[0].source == "A group of men are loading cotton onto a truck"
    assert german[0].target == "Eine Gruppe von Männern lädt Baumwolle auf einen Lastwagen"
    assert [Example(each.target, each.source) for each in german] == held("multi30k", "dev", "de-en")
    assert held("multi30k", "dev", "fr-de")[0].target == german[0].target
    assert Example("Hi.", "嗨。") in [each for split in SPLITS for each in held("tatoeba-zh-en", split)]
    assert all(re.search("[\u4e00-\u9fff]", each.source) for each in held("tatoeba-zh-en", "test", "zh-en")[:99])


@pytest.mark.usefixtures("real_data")
def test_no_sentence_of_tatoeba_stands_on_two_sides():
    sides = {}
    total = 0
    for split in SPLITS:
        pairs = held("tatoeba-zh-en", split)
        total += len(pairs)
        for pair in pairs:
            for text in (f"en {pair.source}", f"zh {pair.target}"):
                assert sides.setdefault(text, split) == split
    assert total == 29_155


@pytest.mark.slow
@pytest.mark.usefixtures("real_data")
def test_pronunciations_are_split_by_word():
    words = {split: held("cmudict", split) for split in SPLITS}
    assert sum(map(len, words.values())) == 135_166
    sets = [{each.source for each in examples} for examples in words.values()]
    assert sum(map(len, sets)) == len(set.union(*sets)) == 126_052
    tomatoes = [each.target for examples in words.values() for each in examples if each.source == "tomato"]
    assert tomatoes == ["T AH0 M EY1 T OW2", "T AH0 M AA1 T OW2"]
    plain = held("cmudict", "test", "unstressed")
    assert len({phoneme for each in plain for phoneme in each.target.split()}) == 39
    assert {(each.source, re.sub("[0-2]", "", each.target)) for each in words["test"]} == {
        (each.source, each.target) for each in plain
    }
    assert len(set(plain)) == len(plain) < len(words["test"])


def test_spoken_digits_are_listed_and_not_opened(real_data: Path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    test = read("fsdd", "test")
    assert test[0] == Example(real_data / "fsdd" / "recordings" / "0_george_0.wav", "0", group="george")
    assert Counter(each.target for each in read("fsdd", "dev", "speaker")) == dict.fromkeys(
        ("george", "jackson", "lucas", "nicolas", "theo", "yweweler"), 50
    )
    indices = {split: {int(each.source.stem.split("_")[2]) for each in read("fsdd", split)} for split in SPLITS}
    assert indices == {"train": set(range(10, 50)), "dev": set(range(5, 10)), "test": set(range(5))}


@pytest.mark.usefixtures("real_data")
def test_strings_are_of_their_own_split_and_always_the_same():
    test = held("fsdd-strings", "test")
    assert len(test) == len(held("fsdd-strings", "dev")) == 200
    assert [each.target for each in test[:3]] == ["010", "485", "0518965"]
    first = test[0].source
    assert isinstance(first, Sound)
    assert first.rate == 8000
    frames = held("fsdd-strings", "test", "frames")
    assert all(len(each.target) == -(-each.source.samples.shape[1] // 80) for each in frames)
    assert DATASETS["fsdd-strings"].target_type_of("frames") == "items"


@pytest.mark.usefixtures("real_data")
def test_vowels_are_twelve_columns_of_frames():
    vowels = [each for split in SPLITS for each in held("japanese-vowels", split)]
    assert {each.source.shape[1] for each in vowels} == {12}
    lengths = [len(each.source) for each in vowels]
    assert (min(lengths), max(lengths)) == (7, 29)
    assert {each.target for each in vowels} == set("123456789")
    first = held("japanese-vowels", "train")[0].source
    assert first[0, 0].item() == pytest.approx(1.860936)
    assert first[0, 1].item() == pytest.approx(-0.207383)


@pytest.mark.usefixtures("real_data")
@pytest.mark.slow
def test_pictures_are_what_they_were(real_data: Path):
    test = read("mnist", "test")
    assert (len(test), test[0].source.shape, test[0].source.dtype) == (10_000, (28, 28), torch.uint8)
    assert [each.target for each in test[:5]] == ["7", "2", "1", "0", "4"]
    train, dev = read("mnist", "train"), read("mnist", "dev")
    assert (len(train), len(dev)) == (55_000, 5000)
    assert [each.target for each in train[:5]] == ["5", "0", "4", "1", "9"]
    whole = read_idx(real_data / "mnist" / "train-images-idx3-ubyte.gz")
    assert torch.equal(train[-1].source, whole[-5001])
    assert torch.equal(dev[0].source, whole[-5000])
    # The mean that everybody's MNIST has.
    assert whole.sum().item() / whole.numel() / 255 == pytest.approx(0.1307, abs=1e-4)
    digits = held("digits", "test")
    assert digits[0].source.shape == (8, 8)
    assert max(each.source.max().item() for each in digits) == 1


@pytest.mark.usefixtures("real_data")
def test_cora_is_one_graph_with_three_sets_of_labels():
    (train,), (dev,), (test,) = (held("cora", split) for split in SPLITS)
    assert train.source.vectors.shape == (2708, 1433)
    assert train.source.edges.shape == (2, 2 * 5278)
    assert torch.equal(train.source.vectors, test.source.vectors)
    known = [sum(label is not None for label in each.target) for each in (train, dev, test)]
    assert known == [140, 500, 1000]
    assert set(Counter(train.target).values()) == {20, 2568}
    # Papers cite papers of their own field: 81 % of all citations, if every label stands at its node.
    labels = [one or two or three for one, two, three in zip(train.target, dev.target, test.target, strict=True)]
    pairs = [(labels[a], labels[b]) for a, b in train.source.edges.T.tolist() if labels[a] and labels[b]]
    assert sum(a == b for a, b in pairs) / len(pairs) == pytest.approx(0.81, abs=0.01)


def test_the_karate_club_knows_who_is_who():
    clubs = [held("karate", split) for split in SPLITS]
    graph = clubs[0][0].source
    assert graph.vectors.shape == (34, 34)
    assert graph.edges.shape == (2, 2 * 78)
    labels = Counter(label for (each,) in clubs for label in each.target if label is not None)
    assert labels == {"Mr. Hi": 17, "Officer": 17}
    assert [sum(label is not None for label in each.target) for (each,) in clubs] == [2, 8, 24]
    # The two who fell out.
    assert clubs[0][0].target == ("Mr. Hi", *[None] * 32, "Officer")
    assert all(len({label for label in each.target if label}) == 2 for (each,) in clubs)


@pytest.mark.usefixtures("real_data")
@pytest.mark.slow
def test_molecules_are_split_by_scaffold():
    molecules = {split: held("esol", split) for split in SPLITS}
    assert sum(map(len, molecules.values())) == 1128
    scaffolds = [{each.group for each in examples} for examples in molecules.values()]
    assert sum(map(len, scaffolds)) == len(set.union(*scaffolds))
    assert "" in scaffolds[0]  # without a ring: the most frequent of all
    assert molecules["train"][0].target == -0.77 or any(each.target == -0.77 for each in molecules["test"])
    problems = []
    assert len(read("bbbp", "test", on_error=problems.append)) == 204
    assert len(problems) == 11
    assert all("BBBP.csv, line " in str(each) and "the column `smiles` is empty" in str(each) for each in problems)
    assert {each.target for each in held("bbbp", "test")} == {"penetrating", "non-penetrating"}


@pytest.mark.slow
@pytest.mark.usefixtures("real_data")
def test_large_sets_of_molecules():
    toxic = [each for split in SPLITS for each in held("tox21", split)]
    assert len(toxic) == 7831 - 8
    assert {len(each.target) for each in toxic} == {12}
    values = Counter(value for each in toxic for value in each.target)
    assert set(values) == {0, 1, None}
    one = [each for split in SPLITS for each in held("tox21", split, "SR-p53")]
    assert [each.target for each in one] == [each.target[-1:] for each in toxic]
    assert sum(len(held("lipophilicity", split)) for split in SPLITS) == 4200
    for label in ("all", "SR-p53"):
        report = check("tox21", label)
        answers = sum(each.labels["SR-p53: 1"] for each in report.splits)
        assert answers == sum(each.target == (1,) for each in one)
        assert len(report.problems) == 8


@pytest.mark.usefixtures("real_data")
def test_what_is_not_known_says_so():
    with pytest.raises(UnknownNameError, match=r"`label` must be one of en-de, de-en, .*, but is 'en-fi'"):
        read("multi30k", label="en-fi")
    with pytest.raises(UnknownNameError, match="`split` must be one of train, dev, test, but is 'val'"):
        read("multi30k", "val")
    with pytest.raises(UnknownNameError, match=r"`data` must be one of .* Did you mean 'multi30k'"):
        read("multi3k")


@pytest.mark.usefixtures("real_data")
def test_a_broken_file_under_a_known_name_is_refused(tmp_path, monkeypatch):
    (tmp_path / "cmudict").mkdir()
    (tmp_path / "cmudict" / "cmudict.dict").write_text("a AH0\n")
    monkeypatch.setenv("REGARD_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"cmudict.dict: its SHA-256 is not that of the file"):
        read("cmudict")


@pytest.mark.usefixtures("real_data")
def test_check_reports_what_is_wrong_with_real_examples():
    report = check("bbbp")
    assert sum("the column `smiles` is empty" in problem for problem in report.problems) == 11 == len(report.problems)
    assert [each.sentences for each in report.splits] == [1631, 204, 204]
    assert set(report.splits[0].labels) == {"penetrating", "non-penetrating"}
    # The same molecule has the same scaffold, however it is written: never on two sides.
    assert report.duplicates.distinct == 0
    assert sum(report.duplicates.within.values()) == 64
    reviews = check("chinese-hotel-reviews")
    assert [problem.split(": ")[1] for problem in reviews.problems] == ["1 of the texts in test is empty."]
    assert reviews.duplicates.distinct == 0
    sentences = check("sst2")
    assert sentences.problems == ()
    assert sentences.splits[2].labels == {"negative": 912, "positive": 909}
    assert sentences.duplicates.shared["train", "test"] == 2


@pytest.mark.usefixtures("real_data")
def test_a_treebank_comes_before_a_folder_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ud-chinese-gsd" / "cat").mkdir(parents=True)
    assert len(read("ud-chinese-gsd", "test")) == 500
