"""Tables whose first line is data: they are told, and read with `header`."""

import re

import pytest

from regard.datasets import Example, check, read
from regard.datasets.formats.headers import names_for_data
from regard.errors import ArgumentError, DataError, GuessedColumns

REVIEWS = 'The room was clean,good\n"It was dirty, and loud",bad\nLovely,good\n'
ROWS = [
    # The rows of a table, and the names that are proposed; None: its first line names the columns.
    ("clean,good dirty,bad lovely,good", ["text", "label"]),
    ("good,clean bad,dirty good,lovely", ["label", "text"]),
    # A name of a label could be that of a column, if it didn't come again.
    ("blue,jazz red,rock green,jazz", ["text", "label"]),
    ("blue,jazz red,rock green,pop", None),
    ("review,stars good,5 bad,1", None),
    ("text,good clean,good dirty,bad", None),
    ("very-nice,4.5 bad,1.5 loud,2.5", ["text", "number"]),
    ("1,clean,good 2,dirty,bad 3,ok,good 4,odd,bad", ["", "text", "label"]),
    ("clips/1.wav,yes clips/2.wav,no clips/3.wav,yes", ["path", "label"]),
    ("x.jpg,1 y.jpg,2 z.jpg,3", ["path", "number"]),
    # Which pandas writes for columns without names.
    ("0,1 clean,good dirty,good", None),
    (",0,1 0,clean,good 1,dirty,good", None),
    ("我喜欢。,好 我讨厌,差 一般般,好", ["text", "label"]),
    ("Hi.,Hallo. Bye.,Tschüs. Who?,Wer?", ["text", "target"]),
]


@pytest.fixture
def written(tmp_path):
    def write(text, name="mine.csv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


@pytest.mark.parametrize(("rows", "names"), ROWS)
def test_a_header_is_told_from_data(rows, names):
    found = names_for_data([row.split(",") for row in rows.split()])
    if names == ["text", "target"]:
        # Which of two languages is the source can't be known.
        assert sorted(found) == sorted(names)
    else:
        assert found == names


@pytest.mark.parametrize(("name", "mark"), [("mine.csv", ","), ("mine.tsv", "\t"), ("mine.txt", ";")])
def test_the_error_names_the_option_which_reads_the_table(written, name, mark):
    path = written(REVIEWS if mark == "," else REVIEWS.replace('"', "").replace(", ", " ").replace(",", mark), name)
    said = re.escape(
        "line 1: it looks like data, but must name the columns. Name them by --columns text,label; from Python: "
        "columns={'header': ['text', 'label']}."
    )
    with pytest.raises(DataError, match=said):
        read(path)
    examples = read(path, columns={"header": ["text", "label"]})
    assert [example.target for example in examples] == ["good", "bad", "good"]
    assert examples[0].source == "The room was clean"
    assert check(path, columns={"header": ["text", "label"]}).splits[0].sentences == 3


def test_words_with_labels_are_no_texts(written):
    message = "line 1: its lines look like words with labels, with empty lines between sentences. Call it .conll, and"
    with pytest.raises(DataError, match=message):
        read(written("John\tNNP\nsaw\tVBD\n\n" * 3, "a.tsv"))


def test_duplicates_in_data_are_no_duplicate_names(written):
    with pytest.raises(DataError, match="it looks like data, but must name the columns"):
        read(written("good,good\nbad,bad\ngood,bad\n"))
    with pytest.raises(DataError, match="two columns are called 'a'"):
        read(written("a,a\nb,c\n"))


def test_a_header_that_is_there_all_the_same_is_no_example(written):
    path = written("\ufefftext,label\r\nclean,good\r\n")
    assert read(path, columns={"header": ("text", "label")}) == [Example("clean", "good")]
    path = written("id, text, label\n7,clean,good\n")
    assert read(path, columns={"header": ("", "text", "label")}) == [Example("clean", "good")]


def test_columns_without_a_name_are_not_read(written):
    path = written("7,clean,x,good\n8,dirty,y,bad\n")
    assert read(path, columns={"header": ["", "text", "", "label"]})[1] == Example("dirty", "bad")
    # As pandas writes an index, and a spreadsheet empty columns.
    for text in (",text,label\n0,clean,good\n", "text,label,\nclean,good,\n", ",text,,label,\n0,clean,1,good,2\n"):
        assert read(written(text)) == [Example("clean", "good")]
    for text in (",text,label\n0,clean,good\n", "text;label;\nclean;good;\n"):
        assert read(written(text, "mine.txt")) == [Example("clean", "good")]


def test_own_names_of_all_columns_may_be_chosen_from(written):
    path = written("clean,1,0\ndirty,0,\n")
    columns = {"header": ["what", "nice", "cheap"], "text": "what", "labels": ["nice", "cheap"]}
    assert [example.target for example in read(path, columns=columns)] == [(1, 0), (0, None)]
    with pytest.raises(DataError, match="no column 'whta' for text, but what, nice, cheap"):
        read(path, columns=columns | {"text": "whta"})


@pytest.mark.parametrize(
    ("content", "header", "message"),
    [
        (REVIEWS, ["text"], "line 1: --columns must name every column, but names 1 of 2. Leave the name"),
        (REVIEWS.replace(",", ";"), ["text", "label"], "line 1: columns must be divided by commas"),
        ("", ["text", "label"], "it is empty"),
        ("\n \n", ["text"], "one column must be called label, number, target or sound, but no other one is there"),
        (b"clean,good\nd\xefrty,bad\n", ["text", "label"], "line 2: byte 2 of the line"),
        (b"cl\xe9an,good\ndirty,bad\n", ["text", "label"], "line 1: byte 3 of the line"),
        ("clean,good\n\0,bad\n", ["text", "label"], "line 2: it holds a zero byte"),
        (
            'clean,good\n"dirty,bad\n',
            ["text", "label"],
            "line 2: a quotation mark in the row that begins here is never closed",
        ),
        (
            "text,label\nclean,good\n",
            ["label", "text"],
            "line 1: the first line names the columns itself (text, label), in another order than --columns. Leave",
        ),
        ("clean,good\ndirty\n", ["text", "label"], "line 2: a row must have 2 columns, as --columns names, but has 1."),
        ("a,b\rc,d\r", ["text", "label"], "line 1: a carriage return alone doesn't end a line"),
    ],
)
def test_what_can_not_be_read_is_named(written, content, header, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read(written(content), columns={"header": header})


def test_quoted_line_ends_and_mixed_ones_are_kept_apart(written):
    content = 'text,label\r\n"one\ntwo",a\n"three\r\nfour",b\r\n\r\nfive,a\n'
    assert [example.source for example in read(written(content))] == ["one\ntwo", "three\nfour", "five"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ([], "`columns` must name the columns in order under 'header', as ['text', 'label'], but has []."),
        (["", ""], "but has ['', '']."),
        ("text,label", "but has 'text,label'."),
        (["text", 1], "but has ['text', 1]."),
        (["text", "text"], "`columns` must name a column once, but 'header' names text twice."),
    ],
)
def test_names_are_checked(written, header, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        read(written(REVIEWS), columns={"header": header})


def test_objects_name_their_values(written):
    with pytest.raises(ArgumentError, match="`columns` must have no 'header' for JSON Lines"):
        read(written('{"text": "a", "label": "b"}\n', "a.jsonl"), columns={"header": ["text", "label"]})


def test_numbers_are_not_the_text_however_long():
    rows = [["Film 0", "0.3333333333333333"], ["Film 1", "0.6666666666666666"], ["Film 2", "0.1111111111111111"]]
    assert names_for_data(rows) == ["text", "number"]


LINES = [["The room was clean", "good"], ["It was bad", "bad"], ["Fine", "good"], ["Never again", "bad"]]
BODY = "".join(f"{text},{label}\n" for text, label in LINES)


def named(text, folder, names):
    (folder / "a.csv").write_text(text, "utf-8")
    return [[each.source, each.target] for each in read(folder / "a.csv", columns={"header": names})]


@pytest.mark.parametrize("line", ["review,stars", "Text,Label", "review text,class", " de , en "])
def test_a_header_with_other_names_is_no_example(tmp_path, line):
    with pytest.warns(GuessedColumns, match=r"the first line \(.*\) seems to name the columns, and isn't read"):
        assert named(f"{line}\n{BODY}", tmp_path, ["text", "label"]) == LINES
    numbers = BODY.replace("good", "4.5").replace(",bad", ",2")
    with pytest.warns(GuessedColumns):
        found = named(f"{line}\n{numbers}", tmp_path, ["text", "number"])
    assert [number for _, number in found] == [4.5, 2.0, 4.5, 2.0]


@pytest.mark.parametrize(
    "line",
    [
        "Great,good",  # its label occurs again
        "The food was cold and late,awful",  # a sentence
        "Bad.,awful",
        "Great,5",
        "Fine,fair",  # the text occurs again
    ],
)
def test_a_first_line_of_data_is_an_example(tmp_path, line):
    assert named(f"{line}\n{BODY}", tmp_path, ["text", "label"]) == [line.split(","), *LINES]


def test_a_word_above_numbers_is_no_label(tmp_path):
    with pytest.warns(GuessedColumns):
        assert named("review,stars\nGood,4\nBad,1\nFair,2\n", tmp_path, ["text", "label"])[0] == ["Good", "4"]


def test_labels_and_texts_that_stand_once_are_no_sign_of_a_header(tmp_path):
    found = named(f"Great,superb\n{BODY}Nice,fair\n", tmp_path, ["text", "label"])
    assert found[0] == ["Great", "superb"]
    assert len(named("de,en\ngehen,go\nsehen,see\n", tmp_path, ["text", "target"])) == 3
