"""Words with labels as taggers' data have them: columns, and word/TAG."""

import pytest
from treebank_files import SAW

from regard.datasets import TaggedSentence, check, find_source, read, read_columns, read_tagged
from regard.errors import DataError, UnknownNameError

EU = "EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n. . O O\n\n"
GERMANY = "Peter NNP B-NP B-PER\nspoke VBD B-VP O\n"
NER = "-DOCSTART- -X- -X- O\n\n" + EU + GERMANY
READ = [
    TaggedSentence(("EU", "rejects", "."), ("B-ORG", "O", "O")),
    TaggedSentence(("Peter", "spoke"), ("B-PER", "O")),
]
TABS = "New York\tNNP\nis\tVBZ\n\n#\tSYM\n1\tCD\n"
SLASHES = "The/DET dog/NOUN barks/VERB ./PUNCT\n\nAnd\\/or/CONJ 1/2/NUM cats/NOUN ./PUNCT\n"


@pytest.fixture
def written(tmp_path):
    def write(text, name="mine.conll"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["mine.conll", "mine.txt", "MINE.CONLL"])
def test_conll_2003_is_read(written, ends, name):
    path = written("\ufeff" + NER.replace("\n", ends), name)
    source = find_source(path)
    assert (source.is_treebank, source.label, source.labels) == (True, "column4", ("column2", "column3", "column4"))
    assert read(path) == READ
    assert read(path, label="column2")[1].labels == ("NNP", "VBD")
    assert check(path).problems == ()


def test_tabs_divide_where_there_are_any(written):
    sentences = [TaggedSentence(("New York", "is"), ("NNP", "VBZ")), TaggedSentence(("#", "1"), ("SYM", "CD"))]
    assert read(written(TABS)) == sentences
    assert read(written("# text = New York is\n# a remark of some length\n" + TABS)) == sentences


def test_a_hash_is_a_word_where_its_line_has_the_columns(written):
    assert read(written("a X\n# SYM\n\n# id = 1\nb X\n")) == [
        TaggedSentence(("a", "#"), ("X", "SYM")),
        TaggedSentence(("b",), ("X",)),
    ]


def test_numbered_words_are_the_second_column(written):
    # CoNLL-X and CoNLL-U have ten columns, whose names are known.
    path = written(SAW)
    assert (find_source(path).label, find_source(path).labels[:2]) == ("upos", ("upos", "xpos"))
    assert read(path)[0].labels == ("PRON", "VERB", "DET", "NOUN", "PUNCT")
    # Others haven't.
    path = written("1 I PRON 2\n2 saw VERB 0\n\n1 You PRON 2\n")
    assert find_source(path).labels == ("column3", "column4")
    assert read(path, label="column3")[0] == TaggedSentence(("I", "saw"), ("PRON", "VERB"))


def test_a_folder_has_a_file_for_each_split(written):
    path = written(NER, "eng.train.conll")
    written(EU, "eng.test.conll")
    assert find_source(path.parent).splits == ("train", "test")
    assert len(read(path.parent, "train")) == 2
    assert read(path.parent, "test") == READ[:1]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (
            EU + "Peter NNP O\nspoke VBD B-VP O\n",
            5,
            "a line must have 4 columns divided by spaces, as the first, but has",
        ),
        ("a\tX\nb\t\n", 2, "the label, column 2, is empty."),
        ("a\tX\n \tY\n", 2, "the word, column 1, is empty."),
        (b"a\tX\nb\xff\tX\n", 2, "byte 2 of the line (0xff) is not UTF-8."),
        (b"a\tX\nb\0\tX\n", 2, "it holds a zero byte"),
        ("\na\nb\n", 2, "the word 'a' has no label: the file has one column. Write a label behind each word, "),
        ("", None, "it holds no sentence"),
        ("-DOCSTART- -X- O\n\n", None, "it holds no sentence"),
    ],
)
def test_what_is_broken_is_named(written, content, line, message):
    path = written(content)
    with pytest.raises(DataError) as caught:
        list(read_columns(path))
    assert str(caught.value).startswith(f"{path}{'' if line is None else f', line {line}'}: {message}")


def test_a_sentence_with_a_broken_line_is_left_out_alone(written):
    problems = []
    path = written(EU + "Peter NNP O\nspoke VBD B-VP O\nto\n\n" + EU + b"x \xff X X\n".decode("latin-1"))
    path.write_bytes(path.read_bytes().replace("ÿ".encode(), b"\xff"))
    assert list(read_columns(path, on_error=problems.append)) == READ[:1] * 2
    assert [problem.line for problem in problems] == [5, 7, 13]


def test_labels_that_are_not_there_are_refused(written):
    with pytest.raises(UnknownNameError, match="`label` must be one of column2, column3, column4, but is 'ner'"):
        list(read_columns(written(NER), "ner"))
    for label in ("column1", "upos"):
        with pytest.raises(UnknownNameError, match="`label` must be one of column2"):
            read(written(NER), label=label)
    with pytest.raises(UnknownNameError, match="`label` must be one of tag, but is 'upos'"):
        read(written(SLASHES, "mine.txt"), label="upos")


def test_words_with_tags_are_read(written):
    path = written(SLASHES, "mine.txt")
    sentences = [
        TaggedSentence(("The", "dog", "barks", "."), ("DET", "NOUN", "VERB", "PUNCT")),
        TaggedSentence(("And\\/or", "1/2", "cats", "."), ("CONJ", "NUM", "NOUN", "PUNCT")),
    ]
    assert (find_source(path).label, read(path)) == ("tag", sentences)
    chinese = written("迈向/v 充满/v 希望/n 的/u 新/a 世纪/n\n我/r 看见/v 他/r\n", "zh.txt")
    assert read(chinese)[1] == TaggedSentence(("我", "看见", "他"), ("r", "v", "r"))
    assert read(written("snake_case_NN is_VB a_DT name_NN\n", "b.txt"))[0].words[0] == "snake_case"


def test_a_word_without_a_tag_breaks_its_line(written):
    lines = ["a/X b/Y c/X d/Y"] * 19
    path = written("\n".join([*lines, "a/X b c/"]), "mine.txt")
    with pytest.raises(DataError, match=r"line 20: each word must have its label, as saw/VERB, but 'b' has none."):
        read(path)
    problems = []
    assert len(read(path, on_error=problems.append)) == 19
    assert [problem.line for problem in problems] == [20]
    with pytest.raises(DataError, match="it holds no sentence; each line must have words with labels"):
        list(read_tagged(written("\n", "b.txt")))


@pytest.mark.parametrize(
    "text",
    [
        "The room was clean.\nThe bed and/or the sofa was fine.\n",
        "http://a.b/c\nhttp://d.e/f\n",
        "1/2 3/4 5/6\n7/8 1/2 3/4\n",
        "a_b c_d e_f g_h\n",
        "one two\nthree four\n\nfive six\nseven eight\n",
        "one word\n\ntwo words\n\n",
    ],
)
def test_plain_texts_are_neither(written, text):
    with pytest.raises(DataError, match=r"it is a .txt file, but has none of the known formats"):
        read(written(text, "mine.txt"))


def test_a_table_with_empty_lines_stays_a_table(written):
    path = written("text\tlabel\n\na\tgood\n\nb\tgood\n", "mine.txt")
    assert not find_source(path).is_treebank
    assert len(read(path)) == 2


def test_other_encodings_are_read(written):
    path = written("Gäste X\nmögen Y\n\nschöne X\nKüche Y\nsüß Y\nim X\nGrünen X\n".encode("cp1252"))
    with pytest.warns(UserWarning, match="is read as Windows-1252"):
        assert read(path)[1].words == ("schöne", "Küche", "süß", "im", "Grünen")
    assert read(written(SAW.encode("utf-16"), "b.conllu"), encoding="utf-16") == read(written(SAW, "c.conllu"))


def test_a_file_without_a_line_has_no_labels(written):
    with pytest.raises(DataError, match="it holds no sentence"):
        list(read_columns(written("\n"), "column2"))
    with pytest.raises(UnknownNameError, match="`label` must be one of column2, but is 'column1'"):
        list(read_columns(written("a X\nb Y\n"), "column1"))
