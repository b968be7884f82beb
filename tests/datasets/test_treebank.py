"""What CoNLL-U allows is read; what is broken is named, with its file and its line."""

import re

import pytest
from treebank_files import SAW, sentence, word

from regard.datasets import LABELS, TaggedSentence, read_treebank
from regard.errors import ArgumentError, DataError, MissingExtraError, UnknownNameError

READ = TaggedSentence(("I", "saw", "a", "saw", "."), ("PRON", "VERB", "DET", "NOUN", "PUNCT"))
BROKEN = SAW + "# a comment\n"  # six lines of a good sentence, one of a comment: what follows stands on line 8


def read(tmp_path, content, label="upos", **more):
    path = tmp_path / "a.conllu"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_treebank(path, label, **more))


@pytest.mark.parametrize(
    "content",
    [
        SAW,
        SAW.rstrip("\n"),
        SAW.replace("\n", "\r\n"),
        "\ufeff" + SAW,
        "\ufeff" + SAW.replace("\n", "\r\n").rstrip(),
        "\n\n" + SAW + "\n \n\t\n\n",
        "# newdoc\n# text = I saw a saw.\n# sent_id = 1\n" + SAW,
        "# only a comment\n\n" + SAW,
        SAW.replace("2\tsaw", "# in between\n2\tsaw"),
        SAW.replace("2\tsaw", "2-3\tsawa" + "\t_" * 8 + "\n2\tsaw"),
        SAW.replace("2\tsaw", "1.1\tghost\t_\tVERB" + "\t_" * 6 + "\n2\tsaw"),
        "0.1\tghost" + "\t_" * 8 + "\n" + SAW,
        "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n" + SAW,
        SAW.replace("\t_\n", "\tGloss=two  spaces|Note=#\n"),
        "".join(line.removesuffix("_") + "\n" if line else "\n" for line in SAW.split("\n")).rstrip(" "),
    ],
    ids=lambda content: repr(content[:24]),
)
def test_what_the_format_allows_is_read(tmp_path, content):
    assert read(tmp_path, content) == [READ]


def test_every_sentence_and_label_is_read(tmp_path):
    content = SAW + "1\tNew York\t_\tPROPN\tNNP\tNumber=Sing\t0\tflat:name\t_\t_\n2\t_\t_\tSYM\tNFP\t_\t1\tdep\t_\t_\n"
    assert [each.labels for each in read(tmp_path, content)] == [READ.labels, ("PROPN", "SYM")]
    assert read(tmp_path, content, "xpos")[1].labels == ("NNP", "NFP")
    # No features are features too: `_` is a label here, and nowhere else.
    assert read(tmp_path, content, "feats")[1].labels == ("Number=Sing", "_")
    assert read(tmp_path, content, "deprel")[1].labels == ("flat:name", "dep")
    # A word may hold a space, and may be an underscore.
    assert read(tmp_path, content)[1].words == ("New York", "_")


def test_odd_characters_stay_inside_their_word(tmp_path):
    odd = ["a\u2028b", "\u0085", "x\x0by", "\u200b", "#"]
    assert read(tmp_path, sentence(*odd[:1], "x\x0by", "\u200b", "#"))[0].words == ("a\u2028b", "x\x0by", "\u200b", "#")


def test_words_are_converted(tmp_path):
    assert read(tmp_path, SAW, convert=str.upper)[0].words == ("I", "SAW", "A", "SAW", ".")


def test_reading_is_lazy(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(SAW + "broken\n", encoding="utf-8")
    sentences = read_treebank(path)
    assert next(sentences) == READ
    with pytest.raises(DataError):
        next(sentences)


HOSTILE = {
    "spaces": ("1 saw _ VERB VBD _ _ _ _ _\n", 8, "must have 10 columns separated by tabs, but has 1. Are they separ"),
    "prose": ("saw\n", 8, "a line must have 10 columns separated by tabs, but has 1."),
    "too few columns": ("1\tsaw\tVERB\n", 8, "must have 10 columns separated by tabs, but has 3."),
    "too many columns": (word(1, "saw") + "\t_\n", 8, "must have 10 columns separated by tabs, but has 11."),
    "no number": (word("x", "saw"), 8, "the ID must be a number, as 3, or 3-4 or 8.1, but is 'x'."),
    "no id": (word("", "saw"), 8, "the ID must be a number, as 3, or 3-4 or 8.1, but is ''."),
    "a space before the id": (word(" 1", "saw"), 8, "the ID must be a number, as 3, or 3-4 or 8.1, but is ' 1'."),
    "an id of 5000 digits": (word("1" * 5000, "saw"), 8, "the ID must be a number, as 3, or 3-4 or 8.1, but is '111"),
    "Arabic digits": (word("١", "saw"), 8, "the ID must be a number, as 3, or 3-4 or 8.1, but is '١'."),
    "a word left out": (
        word(1, "I") + "\n" + word(3, "saw"),
        9,
        "numbered 1, 2, 3, ... in each sentence: 2 is due, but the ID is 3.",
    ),
    "no empty line": (word(1, "I") + "\n" + word(1, "saw"), 9, "2 is due, but the ID is 1."),
    "a range backwards": (word("2-1", "saw"), 8, "must be a range of words that follow, as 3-4, but is 2-1."),
    "a range too late": (word(1, "I") + "\n" + word("1-2", "saw"), 9, "words that follow, as 3-4, but is 1-2."),
    "a range past the sentence": (
        word(1, "I") + "\n" + word("2-9", "can't") + "\n" + word(2, "ca") + "\n" + word(3, "n't") + "\n\n" + SAW,
        9,
        "the multiword token 2-9 reaches past its sentence, whose last word is 3.",
    ),
    "a range at the end": (word("1-2", "I") + "\n" + word(1, "I"), 8, "1-2 reaches past its sentence, whose last wo"),
    "no word": (word(1, ""), 8, "the FORM (column 2), the word itself, is empty."),
    "a blank word": (word(1, "\u3000"), 8, "the FORM (column 2), the word itself, is empty."),
    "two spaces": (word(1, "New  York"), 8, "a column has two spaces in a row, which CoNLL-U does not allow."),
    "no label": (
        word(1, "saw", "_"),
        8,
        "the word 'saw' has no UPOS (column 4). Another column can be the label: 'xpos' or 'deprel'.",
    ),
    "an empty label": (word(1, "saw", ""), 8, "the word 'saw' has no UPOS (column 4)."),
    "not UTF-8": (b"1\tcaf\xe9\n", 8, "byte 6 of the line (0xe9) is not UTF-8. Save the file as UTF-8."),
    "half a character": (word(1, "看").encode()[:4], 8, "byte 3 of the line (0xe7) is not UTF-8."),
    "a zero byte": (b"1\tsa\0w\n", 8, "it holds a zero byte: a binary file, not CoNLL-U."),
    "a line of 5 MB": (
        word(1, "x" * 5_000_000),
        8,
        "the line is longer than 1,048,576 bytes. Is this CoNLL-U? It has one word",
    ),
    "CoNLL-U Plus": (
        "# global.columns = ID FORM UPOS\n1\tsaw\tVERB\n",
        8,
        "it is CoNLL-U Plus (other columns); only CoNLL-U is",
    ),
    "old Mac line ends": (SAW.replace("\n", "\r"), 8, "must have 10 columns separated by tabs, but has 46"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_broken_line_is_named(tmp_path, name):
    content, line, message = HOSTILE[name]
    content = content if isinstance(content, bytes) else content.encode()
    with pytest.raises(DataError) as caught:
        read(tmp_path, BROKEN.encode() + content)
    assert str(caught.value).startswith(f"{tmp_path / 'a.conllu'}, line {line}: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": it holds no sentence; a CoNLL-U file has one word a line."),
        (b"\n\n# nothing\n\n", ": it holds no sentence"),
        (SAW.encode("utf-16"), ", line 1: it is UTF-16; it must be UTF-8. Save it as UTF-8."),
        (b"\x1f\x8b\x08rest", ", line 1: it is compressed. Unpack it first."),
        (b"\x7fELF\x02\x01\x01\0\0\0", ", line 1: it holds a zero byte"),
        (sentence("_", "_").encode(), ": every word is `_`: this treebank is published without its text."),
    ],
    ids=["empty", "only comments", "UTF-16", "gzip", "binary", "no text"],
)
def test_a_file_that_is_no_treebank_is_named(tmp_path, content, message):
    with pytest.raises(DataError, match=re.escape(f"{tmp_path / 'a.conllu'}{message}")):
        read(tmp_path, content)


def test_every_problem_can_be_collected(tmp_path):
    problems = []
    content = SAW + "1\tx\n\n" + SAW + word(1, "a") + "\n" + word("b", "c") + "\n" + word(3, "d", "_") + "\n\n" + SAW
    assert read(tmp_path, content, on_error=problems.append) == [READ, READ, READ]
    assert [re.sub(r".*, line (\d+): .*", r"\1", str(problem)) for problem in problems] == ["7", "16", "17"]
    # What can't be read at all is one problem, not also an empty file.
    problems.clear()
    assert read(tmp_path, b"\x1f\x8b", on_error=problems.append) == []
    assert len(problems) == 1


def test_arguments_are_checked(tmp_path, monkeypatch):
    with pytest.raises(UnknownNameError, match="`label` must be one of upos, xpos, feats, deprel, but is 'pos'"):
        read_treebank(tmp_path / "a", "pos")
    with pytest.raises(DataError, match=r"no.conllu: there is no such file"):
        read_treebank(tmp_path / "no.conllu")
    with pytest.raises(DataError, match="it is a folder, not a file"):
        read_treebank(tmp_path)
    with pytest.raises(ArgumentError, match="one label for each of the 2 words, but has 1"):
        TaggedSentence(("I", "saw"), ("PRON",))
    monkeypatch.setitem(__import__("sys").modules, "conllu", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[data\]'"):
        read(tmp_path, SAW)


def test_columns_stand_where_the_format_says():
    columns = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]
    assert {name: columns.index(name) for name in LABELS} == LABELS
