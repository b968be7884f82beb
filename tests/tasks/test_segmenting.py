"""Chinese without spaces, split into words."""

import itertools
import warnings

import pytest
import torch

from regard import load
from regard.cli.main import main
from regard.datasets import BEGINS, INSIDE, TaggedSentence, read, segmented
from regard.errors import ArgumentError, DataError, OutOfDistribution
from regard.tasks.tagger.segmenting import segment

SENTENCE = ("我", "在", "2004年", "看见", "了", "图书馆", "。")


class Oracle:
    """A tagger that knows the answer."""

    name, labels = "oracle", (BEGINS, INSIDE)

    def __init__(self, *sentences):
        self.rows = [segmented(TaggedSentence(words, words)) for words in sentences]

    def tag(self, sources):
        found = []
        for own, row in zip(sources, self.rows, strict=True):
            assert tuple(own) == row.words
            items = [
                type("Item", (), {"text": text, "label": label})
                for text, label in zip(row.words, row.labels, strict=True)
            ]
            found.append(items)
        return found


def test_what_is_learned_is_where_words_begin():
    found = segmented(TaggedSentence(SENTENCE, SENTENCE))
    assert found.labels == ("B", "B", "B", "I", "B", "I", "B", "B", "I", "I", "B")
    assert found.words[:4] == ("^我在", "我在2004", "在2004年", "2004年看")


def test_who_knows_where_words_begin_finds_them():
    assert segment(Oracle(SENTENCE, ("好",)), ["".join(SENTENCE), "好"]) == [[*SENTENCE], ["好"]]
    assert segment(Oracle(), []) == []
    assert segment(Oracle(()), ["  "]) == [[]]


def test_a_space_ends_a_word_whatever_the_tagger_says():
    class Never(Oracle):
        def tag(self, sources):
            return [[type("Item", (), {"text": each, "label": INSIDE}) for each in own] for own in sources]

    assert segment(Never(), ["看见 2004年 好"]) == [["看见", "2004年", "好"]]


def test_another_tagger_is_refused():
    with pytest.raises(
        ArgumentError, match="must be a tagger with the label B, where words begin, but chinese-pos has"
    ):
        segment(load("chinese-pos"), ["看见"])


def test_on_the_command_line(capsys):
    text = "北京大学的学生在看书。"
    assert main(["tag", text, "--top", "0", "--split", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert '"text": "北京"' in out
    assert '"text": "学生"' in out
    assert err == ""
    assert main(["tag", text, "--top", "0"]) == 0
    assert (
        "has no spaces, so it is split into the longest words that the tagger knows. Use --split"
        in capsys.readouterr().err
    )
    # Where words are said, nothing is split.
    assert main(["tag", "北京大学 的 学生", "--top", "0", "--split"]) == 0
    told = capsys.readouterr()
    assert told.out.split()[:3] == ["北京大学", "的", "学生"]
    assert told.err == ""


def test_the_bundled_one_finds_the_words_of_dev(real_data):
    """F1 of words that have both ends; the longest words that training has give 82 %."""
    gold = [sentence.words for sentence in read("ud-chinese-gsd", "dev")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfDistribution)
        found = segment(load("chinese-segmentation"), ["".join(words) for words in gold])
    right = sum(len(spans(one) & spans(other)) for one, other in zip(gold, found, strict=True))
    assert 2 * right / (sum(map(len, gold)) + sum(map(len, found))) > 0.865
    assert all("".join(one) == "".join(other) for one, other in zip(gold, found, strict=True))


def spans(words) -> set[tuple[int, int]]:
    ends = torch.tensor([0, *map(len, words)]).cumsum(0).tolist()
    return set(itertools.pairwise(ends))


def test_only_a_treebank_has_segmentation(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\na,b\n")
    with pytest.raises((ArgumentError, DataError)):
        read(tmp_path / "a.csv", "train", "segmentation")
