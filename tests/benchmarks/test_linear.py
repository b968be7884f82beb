"""The linear models of the text classifiers: chosen on dev, test read when that is asked for."""

import pytest

from regard.datasets import Example

TRAIN = [Example(f"{word} {noun}", label) for noun in "abcd" for word, label in (("warm", "up"), ("dull", "down"))]
SPLITS = {
    # Of the phrases one has no label, and the words of dev stand in the sentences alone.
    ("sst2-phrases", "train"): [Example("film", None), *(Example(each.source[-1] * 2, each.target) for each in TRAIN)],
    ("sst2", "train"): TRAIN,
    ("sst2-phrases", "dev"): [Example("WARM x", "up"), Example("dull x", "down")],
    ("sst2-phrases", "test"): [Example("warm y", "up"), Example("dull y", "up")],
}


@pytest.fixture
def linear(benchmark_module, tmp_path, monkeypatch):
    """The module, its data, and the splits that it has read."""
    pytest.importorskip("sklearn")
    module = benchmark_module("linear")
    read = []

    def splits(data, split, label):
        read.append((data, split))
        return SPLITS[data, split]

    monkeypatch.setattr(module.datasets, "read", splits)
    monkeypatch.setattr(module, "LINES", tmp_path / "linear.jsonl")
    return module, read


def test_dev_chooses_and_test_is_read_when_asked(linear, capsys):
    module, read = linear
    module.run("english-sentiment")
    assert ("sst2-phrases", "test") not in read
    (line,) = module.lines()
    assert (line["trained_on"], line["dev"], line["examples"]) == ("sst2", 1.0, 8)
    assert (line["test"], line["interval"], line["test_reads"]) == (None, None, 0)
    assert "--final reads test" in capsys.readouterr().out
    # It is written down, so nothing is to be done.
    read.clear()
    module.run("english-sentiment")
    assert not read
    module.run("english-sentiment", final=True)
    module.run("english-sentiment", final=True)
    assert read.count(("sst2-phrases", "test")) == 1
    assert module.lines()[-1]["test"] == 0.5
    assert module.lines()[-1]["test_reads"] == 1
    module.run("english-sentiment", final=True, again=True)
    assert module.lines()[-1]["test_reads"] == 2


def test_the_rows_are_those_that_classify_texts(linear):
    module, _ = linear
    assert module.ROWS == ("english-sentiment", "chinese-sentiment", "chinese-sentiment-ensemble")


def test_texts_are_read_as_the_recipe_reads_them(linear):
    module, _ = linear
    features = module.features_of(module.NAMED_RECIPES["chinese-sentiment"].recipe, "characters")
    features.fit(["很好，ＯＫ"])
    named = {name.removeprefix("characters__") for name in features.get_feature_names_out()}
    assert {"很好,", "ok", ",o"} <= named
    assert not any(len(name) > 3 or "，" in name for name in named)
