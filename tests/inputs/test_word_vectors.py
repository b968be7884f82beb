"""Word vectors from text files: GloVe's and word2vec's, and who is near whom."""

import pytest
import torch

from regard.errors import ArgumentError, DataError
from regard.inputs.text.one_hot import OneHotWords
from regard.inputs.text.word_vectors import WordVectors

GLOVE = "cat 2 1\ndog 1.5 1\napple -1 2\n. . . 3 -4\n"


def written(folder, text):
    path = folder / "vectors.txt"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_both_formats_say_the_same(tmp_path):
    glove = WordVectors.read(written(tmp_path, GLOVE))
    # word2vec writes a space behind each vector.
    word2vec = WordVectors.read(written(tmp_path, "4 2\r\n" + GLOVE.replace("\n", " \r\n")))
    assert glove.words == word2vec.words == ("cat", "dog", "apple", ". . .")
    assert glove.vectors.equal(word2vec.vectors)
    assert glove.vectors.tolist() == [[2, 1], [1.5, 1], [-1, 2], [3, -4]]
    assert glove.width == 2


def test_words_may_hold_what_python_takes_for_a_space(tmp_path):
    read = WordVectors.read(written(tmp_path, "cat 1 2\na\xa0b 3 4\n\x85 5 6\nat name@domain.com 7 8\n12 9 9\n"))
    assert read.words == ("cat", "a\xa0b", "\x85", "at name@domain.com", "12")


def test_only_some_words_are_kept(tmp_path):
    read = WordVectors.read(written(tmp_path, GLOVE), keep={"apple", "cat", "unicorn"})
    assert read.words == ("cat", "apple")
    assert read.vectors.tolist() == [[2, 1], [-1, 2]]
    none = WordVectors.read(written(tmp_path, GLOVE), keep=[])
    assert none.vectors.shape == (0, 2)
    # What isn't kept has to be as wide all the same, but its numbers are not looked at.
    assert len(WordVectors.read(written(tmp_path, "cat 1 2\ndog x y\n"), keep={"cat"}).words) == 1
    with pytest.raises(DataError, match="line 2"):
        WordVectors.read(written(tmp_path, "cat 1 2\ndog 1\n"), keep={"cat"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat 1 2\ndog 1\n", "line 2: a line must be a word and 2 numbers, but 'dog 1' has 1 parts"),
        ("cat 1 2\ndog 1.5 2.5 3.5\n", "line 2: a line must be a word and 2 numbers, but 'dog 1.5 2.5 3.5' has 3"),
        ("cat 1 2\n\ndog 1 2\n", "line 2: a line must be a word and 2 numbers"),
        ("cat 1 2\n 3 4\n", "line 2: a line must be a word"),
        ("cat\n", "line 1: a line must be a word and its numbers"),
        ("cat 1 2\ndog 1 2\ncat 3 4\n", "line 3: the word 'cat' occurs twice"),
        ("cat 1 2\ndog 1 two\n", "line 2: a vector must be numbers .* one is 'two'"),
        ("cat 1 nan\n", "line 1: a vector must be numbers .* one is 'nan'"),
        ("cat 1 1e39\n", "line 1: a vector must be numbers that float32 can hold"),
        ("cat  1 2\n", "line 1: a vector must be numbers .* one is ''"),
        ("cat\t1 2\n", "line 1: a line must be separated by spaces"),
        ("3 2\ncat 1 2\ndog 3 4\n", "line 3: its first line promises 3 words, but it has 2"),
        ("1 2\ncat 1 2\ndog 3 4\n", "promises 1 words, but it has 2"),
        ("2 3\ncat 1 2\ndog 3 4\n", "line 2: a line must be a word and 3 numbers"),
        ("", "it is empty"),
    ],
)
def test_a_broken_file_names_its_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        WordVectors.read(written(tmp_path, text))


def test_a_header_alone_is_a_file_of_no_words(tmp_path):
    assert WordVectors.read(written(tmp_path, "0 7\n")).vectors.shape == (0, 7)


def test_who_is_near_whom(tmp_path):
    words = WordVectors.read(written(tmp_path, GLOVE))
    near = words.nearest("cat")
    assert [word for word, _ in near] == ["dog", ". . .", "apple"]
    # cat . dog / (|cat| |dog|) = (3 + 1) / sqrt(5 * 3.25)
    assert [cosine for _, cosine in near] == pytest.approx([4 / 16.25**0.5, 2 / (5**0.5 * 5), 0], abs=1e-6)
    assert words.nearest("cat", 1) == near[:1]
    assert words.nearest("cat", 0) == []
    # One-hot, every two words are equally far apart.
    one_hot = OneHotWords(["cat", "dog", "apple"])
    same = WordVectors(one_hot.vocabulary, one_hot.encode([list(one_hot.vocabulary)]).vectors[0])
    assert same.nearest("cat") == [("dog", 0.0), ("apple", 0.0)]


def test_equally_near_words_come_in_order_and_length_does_not_count():
    vectors = torch.tensor([[1.0, 0], [1e-30, 0], [0, 0], [1e30, 0], [-2, 0]])
    words = WordVectors(("a", "b", "zero", "c", "d"), vectors)
    assert words.nearest("b") == [("a", 1.0), ("c", 1.0), ("zero", 0.0), ("d", -1.0)]
    assert words.nearest("zero", 2) == [("a", 0.0), ("b", 0.0)]


def test_unknown_words_are_zeros(tmp_path):
    words = WordVectors.read(written(tmp_path, GLOVE))
    batch = words.encode([["unicorn", "dog", "dog"], [], ["cat"]], labels=[[3, 5, 7], [], [11]])
    assert batch.lengths.tolist() == [3, 0, 1]
    assert batch.vectors[0].tolist() == [[0, 0], [1.5, 1], [1.5, 1]]
    assert batch.vectors[2].tolist() == [[2, 1], [0, 0], [0, 0]]
    assert batch.labels.tolist()[2] == [11, -100, -100]
    assert (words.knows("dog"), words.knows("unicorn")) == (True, False)
    assert words.encode([]).vectors.shape == (0, 0, 2)


def test_arguments_are_checked(tmp_path):
    words = WordVectors.read(written(tmp_path, GLOVE))
    for call, message in [
        (lambda: words.nearest("unicorn"), "one of the 4 words that have a vector, but is 'unicorn'"),
        (lambda: words.nearest("cat", -1), "`count` must be at least 0"),
        (lambda: words.encode(["cat"]), "split_words"),
        (lambda: WordVectors(("a", "a"), torch.ones(2, 3)), "each word once"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()
