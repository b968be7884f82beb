"""Other names for labels: how they are written, and what they do to each kind of target."""

import pytest

from regard.datasets import BinaryLabels, Example, TaggedSentence, check, labels_of, parse_label_names, rename_labels
from regard.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0=negative,1=positive", {"0": "negative", "1": "positive"}),
        (" 0 = negative , 1=very positive", {"0": "negative", "1": "very positive"}),
        ('"yes, please=yes",no=no', {"yes, please": "yes", "no": "no"}),
        ("a=b=c", {"a": "b=c"}),
        ("a=b,b=a", {"a": "b", "b": "a"}),
    ],
)
def test_a_list_of_names(text, names):
    assert parse_label_names(text) == names


@pytest.mark.parametrize("text", ["", "0", "0=", "=negative", "0=negative,", "0=negative,,1=b", '"0=a', "0:negative"])
def test_what_is_no_list_says_what_it_must_be(text):
    with pytest.raises(
        ArgumentError, match=r"`--labels` must be OLD=NEW for each label, such as 0=negative,1=positive, but"
    ):
        parse_label_names(text)


def test_a_label_has_one_name():
    with pytest.raises(ArgumentError, match="names '0' twice: 0=a and 0=b"):
        parse_label_names("0=a,0=b")


def test_labels_of_every_kind_are_renamed_and_nothing_else():
    names = {"a": "b", "b": "a", "c": "a"}
    examples = [
        TaggedSentence(("a", "x"), ("a", "d")),
        Example("a", "c", "a"),
        Example("a", None),
        Example("a", (None, "b")),
        Example("a", 1.0),
        Example("a", BinaryLabels((1, None), ("a", "b"))),
    ]
    assert rename_labels(examples, names) == [
        TaggedSentence(("a", "x"), ("b", "d")),
        Example("a", "a", "a"),
        Example("a", None),
        Example("a", (None, "a")),
        *examples[4:],
    ]
    assert rename_labels(examples, names)[-1].target.names == ("a", "b")
    assert labels_of(examples) == ["a", "b", "c", "d"]
    assert labels_of(examples[4:]) == []


def test_a_data_set_is_looked_over_under_the_new_names(tmp_path):
    (tmp_path / "train.csv").write_text("text,label\ngood,1\nbad,0\nso so,2\n", "utf-8")
    (tmp_path / "test.csv").write_text("text,label\nfine,1\n", "utf-8")
    report = check(tmp_path, names={"0": "no", "2": "no"})
    assert [split.labels for split in report.splits] == [{"no": 2, "1": 1}, {"1": 1}]
    assert report.problems == ()
    with pytest.raises(ArgumentError, match=r"labels of .* on the left, which are 0, 1, 2, but has '3'"):
        check(tmp_path, names={"3": "no"})
    (tmp_path / "one.csv").write_text("text,label\na,good\n", "utf-8")
    with pytest.raises(ArgumentError, match=r"but has 'goood'\. Did you mean 'good'"):
        check(tmp_path / "one.csv", names={"goood": "no"})
