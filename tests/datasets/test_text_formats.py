"""What stands in a .txt file is found by looking at it."""

import zipfile

import pytest

from regard.cli.main import main
from regard.datasets import check, find_source, read
from regard.datasets.formats.text_formats import TextFormat, detect_format
from regard.errors import DataError

WORDS = "1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tsaw\tsee\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
FORMS = [
    ("text\tlabel\nclean, cheap\tgood\n", TextFormat(".tsv", "\t")),
    ("text,label\nclean,good\n", TextFormat(".csv", ",")),
    ('text,label\n"clean, cheap",good\n', TextFormat(".csv", ",")),
    ("text;label\nclean, and, cheap;good\n", TextFormat(".csv", ";")),
    ("\ntext|label\nclean|good\n", TextFormat(".csv", "|")),
    ('{"text": "clean", "label": "good"}\n', TextFormat(".jsonl")),
    (WORDS, TextFormat(".conllu")),
    ("# sent_id = 1\n1-2\tIsaw" + "\t_" * 8 + "\n" + WORDS, TextFormat(".conllu")),
    # Most rows are whole: the broken one is told by its line.
    ("text,label\na,good\nb\nc,bad\n", TextFormat(".csv", ",")),
    # The 50th line, with which the examined ones end, also stands in the first sentence.
    ("I PRON\nsaw VERB\n\n" * 40, TextFormat(".conll", " ")),
    ("", None),
    ("text,label\n", None),
    ("The room was clean.\nThe bed, too, was fine.\n", None),
    ("text,,label\na,b,c\n", None),
    ("a,a\nb,b\n", None),
    ("[1, 2]\n[3, 4]\n[5\n", None),
    ("text\nclean\n", None),
]


@pytest.fixture
def written(tmp_path):
    def write(text, name="mine.txt"):
        (tmp_path / name).write_text(text, "utf-8")
        return tmp_path / name

    return write


@pytest.mark.parametrize(("text", "form"), FORMS)
def test_the_form_of_a_text(written, text, form):
    assert detect_format(written(text)) == form


@pytest.mark.parametrize("text", [text for text, form in FORMS[:6]])
def test_tables_are_read_as_such(written, text):
    path = written(text)
    source = find_source(path)
    assert (source.has_columns, source.is_treebank) == (True, False)
    (example,) = read(path)
    assert (example.source[:5], example.target) == ("clean", "good")
    assert check(path).problems == ()


def test_sentences_are_read_as_such(written):
    path = written(WORDS)
    source = find_source(path)
    assert (source.has_columns, source.is_treebank) == (False, True)
    assert [sentence.words for sentence in read(path)] == [("I", "saw")]


def test_a_broken_row_is_named_as_everywhere(written):
    with pytest.raises(DataError, match=r"mine.txt, line 3: a row must have 2 columns, as the header, but has 1"):
        read(written("text,label\na,good\nb\nc,bad\n"))


def test_what_was_looked_for_is_said(written, capsys):
    path = written("The room was clean.\nThe bed was fine.\n")
    with pytest.raises(DataError, match=r"JSON on each line; the ten columns of CoNLL-U.* a first line that names two"):
        read(path)
    for task in ("tagger", "classifier", "seq2seq"):
        assert main(["train", task, "--data", str(path), "--out", str(path.parent / "out")]) == 1
        assert "mine.txt: it is a .txt file, but has none of the known formats" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
def test_a_workbook_is_named(tmp_path, name):
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(DataError, match=r"it is an Excel workbook\. Save it as CSV UTF-8, and name that file"):
        read(tmp_path / name)


@pytest.mark.parametrize("damage", [b"\xff\xfe", b""])
def test_a_damaged_zip_is_compressed(tmp_path, damage):
    with zipfile.ZipFile(tmp_path / "a.csv", "w") as archive:
        archive.writestr("x.csv", "a,b\n")
    held = (tmp_path / "a.csv").read_bytes()
    # A version that nobody reads, in the directory at the end; or a directory that is cut off.
    at = held.index(b"PK\x01\x02") + 6
    (tmp_path / "a.csv").write_bytes(held[:at] + damage + held[at + 2 :] if damage else held[:at])
    with pytest.raises(DataError, match="it is compressed"):
        read(tmp_path / "a.csv")


def test_other_files_that_are_no_text_are_named(tmp_path):
    (tmp_path / "a.json.gz").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(DataError, match=r"its name must end in"):
        read(tmp_path / "a.json.gz")
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("word/document.xml", "<document/>")
    with pytest.raises(DataError, match=r"it is a Word document\. Save it as plain text"):
        read(tmp_path / "a.docx")


def test_an_array_of_json_is_named(written):
    with pytest.raises(DataError, match=r"it holds an array\. Write one JSON object on each line, and call it \.jsonl"):
        read(written('[{"text": "clean", "label": "good"}]', "a.json"))


def test_a_text_beside_the_tables_of_a_folder_is_none_of_them(written):
    path = written("text,label\nclean,good\n", "train.csv")
    written("train,notes\na,b\n", "train-notes.txt")
    assert len(read(path.parent, "train")) == 1
