"""Tables: what their columns say, and every broken row with its line."""

import json
import re

import pytest

from regard.datasets import check
from regard.datasets.example import Example
from regard.datasets.formats.columns import Columns
from regard.datasets.formats.tables import has_source_column, read_sources, read_table
from regard.errors import ArgumentError, DataError, GuessedColumns, UnknownNameError

ANSWERS = Columns("smiles", ("a", "b"), source_type="smiles", target_type="labels")


def read(tmp_path, content, columns=None, name="a.csv", **more):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_table(path, columns, **more))


def test_columns_with_usual_names_are_found(tmp_path):
    assert read(tmp_path, "label,text\nyes,good\n") == [Example("good", "yes")]
    assert read(tmp_path, "label, text \nyes,good\n") == [Example("good", "yes")]
    assert has_source_column(tmp_path / "a.csv")
    assert read(tmp_path, "text,number,other\ngood,-1.5e1,x\n") == [Example("good", -15.0)]
    assert read(tmp_path, "text\ttarget\ngo\t走\n", name="a.tsv") == [Example("go", "走")]
    assert read(tmp_path, '{"text": "go", "label": 3}\n\n{"label": true, "text": "no"}\n', name="a.jsonl") == [
        Example("go", "3"),
        Example("no", "true"),
    ]
    (tmp_path / "1.wav").touch()
    assert read(tmp_path, "path,label\n1.wav,cat\n") == [Example(tmp_path / "1.wav", "cat")]
    assert read(tmp_path, "text,sound\none,1.wav\n") == [Example("one", tmp_path / "1.wav")]


CALLED = {
    "source": ("review,label,text\ngood,yes,x\n", {"text": "review"}, Example("good", "yes")),
    "target": ("text,label,stars\ngood,yes,x\n", {"label": "stars"}, Example("good", "x")),
    "other target": ("text,label,stars\ngood,yes,4\n", {"number": "stars"}, Example("good", 4.0)),
    "both": ("de,en\ngehen, go\n", {"text": "de", "target": "en"}, Example("gehen", " go")),
    "molecule": ("structure,label\nCCO,yes\n", {"smiles": "structure"}, Example("CCO", "yes", "")),
    "the others": ("text,number,label\ngood,4,yes\n", {"text": "number"}, Example("4", "yes")),
    "questions": ("text,a,b\ngood,1,\n", {"labels": ["a", "b"]}, Example("good", (1, None))),
    "one question": ("text,a,b\ngood,1,\n", {"labels": "a"}, Example("good", (1,))),
}


@pytest.mark.parametrize("name", CALLED)
def test_columns_may_be_called_otherwise(tmp_path, name):
    content, called, wanted = CALLED[name]
    assert read(tmp_path, content, called) == [wanted]


def test_questions_are_called_as_their_columns(tmp_path):
    (found,) = read(tmp_path, "text,a,b\ngood,1,\n", {"labels": ["b", "a"]})
    assert (found.target, found.target.names) == ((None, 1), ("b", "a"))


@pytest.mark.parametrize(
    ("called", "message"),
    [
        ({"txt": "a"}, "`columns` must be one of text, path, smiles, label, .*Did you mean 'text'"),
        ({"text": "a", "path": "b"}, "`columns` must have one name for a source, but has text and path"),
        ({"number": "a", "labels": "b"}, "`columns` must have one name for a target, but has number and labels"),
        ({"label": ["a", "b"]}, r"`columns` must have the name of a column for label, but has \['a', 'b'\]"),
        ({"text": ["a", "b"], "labels": "b"}, "`columns` must have the name of a column for text"),
        ({"text": ""}, "`columns` must have the name of a column for text, but has ''"),
        ({"text": None}, "`columns` must have the name of a column for text, but has None"),
        ({"labels": []}, r"`columns` must have names of columns for labels, but has \[\]"),
        ({"labels": {"a", "b"}}, r"`columns` must have names of columns for labels, but has \{"),
        ({"labels": ["a", None]}, r"`columns` must have names of columns for labels, but has \['a', None\]"),
        ({"labels": 5}, "`columns` must have names of columns for labels, but has 5"),
        ({"labels": ["a", "a"]}, "`columns` must name a column once, but names a twice"),
        ({"text": "a", "labels": ["a", "b"]}, "`columns` must name a column once, but names a twice"),
        ({"text": "label", "label": "label"}, "`columns` must name a column once, but names label twice"),
        ({5: "a"}, "`columns` must be one of text, .*, but is 5"),
        (["text"], r"`columns` must be a mapping as \{'text': 'review'\}, but is \['text'\]"),
        ("text=a", "`columns` must be a mapping as .*, but is 'text=a'"),
    ],
)
@pytest.mark.parametrize("rows", ["x,y,1,2\n", ""])
def test_what_columns_can_not_be_called(tmp_path, called, message, rows):
    with pytest.raises(ArgumentError, match=message):
        read(tmp_path, f"text,label,a,b\n{rows}", called)
    with pytest.raises(ArgumentError, match=message):
        check(tmp_path / "a.csv", columns=called)


def test_quotes_are_of_csv_alone(tmp_path):
    assert read(tmp_path, 'text,label\n"a ""b"",\n c", yes \nd,no\n') == [
        Example('a "b",\n c', "yes"),
        Example("d", "no"),
    ]
    assert read(tmp_path, 'text\tlabel\n"a\tyes\n', name="a.tsv") == [Example('"a', "yes")]


def test_numbers_beside_semicolons_may_have_commas(tmp_path):
    found = read(tmp_path, "text;number\na;-3,30\nb;2.5\n", name="a.txt")
    assert found == [Example("a", -3.3), Example("b", 2.5)]
    # Beside tabs a comma may mark thousands.
    with pytest.raises(DataError, match=r"must be a number, but is '1,285'. Write decimals with a point"):
        read(tmp_path, "text\tnumber\na\t1,285\n", name="a.tsv")


def test_rows_between_two_stray_quotes_are_told(tmp_path):
    rows = "".join(f"good {number},yes\n" for number in range(3))
    with pytest.warns(GuessedColumns, match="a.csv, line 3: one cell goes on over 5 lines, which could be rows. Is a"):
        found = read(tmp_path, f'text,label\nbad,no\n"awful,no\n{rows}dull",no\n')
    assert len(found) == 2
    # Paragraphs of a text, or of the only column, and lines that end otherwise are no rows.
    assert (
        len(
            read(tmp_path, 'text,label\n"Dear all,\nplease come,I beg you all\nto us,at nine or ten\nx,y z a b\n.",a\n')
        )
        == 1
    )
    assert len(read(tmp_path, 'text,label\n"x\na\rb,c\nd,e\ne,f\nf",y\ng,z\n')) == 2
    assert len(read(tmp_path, 'text,label\n"I saw.\nYou, too.\n\nThey saw, too.\nWe did.\nI left.",no\n')) == 1


def test_windows_files_are_read(tmp_path):
    assert read(tmp_path, "\ufefftext,label\r\ngood,yes\r\n\r\n") == [Example("good", "yes")]


def test_several_labels_may_be_missing(tmp_path):
    content = "smiles,a,b\nCCO,1,\nc1ccccc1C,0.0,1.0\n"
    assert read(tmp_path, content, ANSWERS) == [Example("CCO", (1, None), ""), Example("c1ccccc1C", (0, 1), "c1ccccc1")]
    rows = [{"text": "x", "a": None, "b": False}, {"text": "y", "a": 1, "b": 0.0}]
    content = "\n".join(json.dumps(row) for row in rows)
    columns = Columns(target=("a", "b"), target_type="labels", group="text")
    found = read(tmp_path, content, columns, "a.jsonl")
    assert found == [Example("x", (None, 0), "x"), Example("y", (1, 0), "y")]
    assert [each.target.names for each in found] == [("a", "b")] * 2


BROKEN = {
    "a column too many": ("text,label\na,b\na,b,c\n", None, 3, "a row must have 2 columns, as the header, but has 3."),
    "a quote never closed": (
        'text,label\na,b\n"a,b\nc,d\n',
        None,
        3,
        "a quotation mark in the row that begins here is never closed",
    ),
    "a quote in the middle": ('text,label\n"a"x,b\n', None, 2, "the row that begins here isn't CSV ("),
    "behind a long row": ('text,label\n"a\nb",c\nd\n', None, 4, "a row must have 2 columns, as the header, but has 1."),
    "a missing label": ("text,label\nnan,x\na,NaN\n", None, 3, "the column `label` is empty: NaN stands"),
    "no text": ("text,label\n ,b\n", None, 2, "the column `text` is empty."),
    "no label": ("text,label\na, \n", None, 2, "the column `label` is empty."),
    "two columns": ("text,text,label\n", None, 1, "two columns are called 'text'."),
    "semicolons": (
        "text;label\na;b\n",
        None,
        1,
        "must be divided by commas in a .csv file, but seem to be by semicolons",
    ),
    "tabs": ("text\tlabel\na\tb\n", None, 1, "seem to be by tabs. Save the table with commas, or call it .tsv."),
    "no usual names": (
        "review,label\na,b\n",
        None,
        1,
        "one column must be called text, path or smiles, but none of review",
    ),
    "two usual names": (
        "text,label,number\na,b,1\n",
        None,
        1,
        "label, number, target or sound, but label and number are there.",
    ),
    "no number": ("text,number\na,1_0\n", None, 2, "the column `number` must be a number, but is '1_0'."),
    "not a number": ("text,number\na,nan\n", None, 2, "the column `number` must be a number, but is 'nan'."),
    "a decimal comma": (
        'text,number\na,"3,30"\n',
        None,
        2,
        "must be a number, but is '3,30'. Write decimals with a point, and thousands without a mark, as 1285.84.",
    ),
    "too large": (
        "text,number\na,1e308\n",
        None,
        2,
        "the column `number` must be a number that float32 can hold, but is '1e308'.",
    ),
    "a cell of a megabyte": ("text,number\na," + "x" * 1_000_000 + "\n", None, 2, "must be a number, but is 'xxx"),
    "a name of a megabyte": ("text," + "x" * 1_000_000 + "\na,1\n", None, 1, "Say which is the target"),
    "infinite": ("text,number\na,1e999\n", None, 2, "the column `number` must be a number"),
    "no such column": ("text,labl\na,b\n", Columns(), 2, "`column` must be one of text, labl, but is 'label'. Did you"),
    "no such file": ("path,label\na.wav,b\n", None, 2, "there is no file "),
    "no such sound": ("text,sound\na,a.wav\n", None, 2, "there is no file "),
    "an empty sound": ("text,sound\na,\n", None, 2, "the column `sound` is empty."),
    "no target": ("text,wanted\na,b\n", None, 1, "Say which is the target: --column label=wanted or number="),
    "the target as source": (
        "text,target\na,b\n",
        {"text": "target"},
        1,
        "or sound, but the only one left is called text. Say",
    ),
    "the only column": (
        "text\na\n",
        {"text": "text"},
        1,
        "or sound, but no other one is there. Say which is the target",
    ),
    "two in one": ("review,stars\na,b\n", {"text": "review,label=stars"}, 1, "write --column anew. Say which"),
    "no such name": ("text,wanted\na,b\n", {"label": "wantd"}, 1, "no column 'wantd' for label, but text, wanted. Did"),
    "no molecule": ("smiles,label\nCC(,b\n", None, 2, "`smiles` must be a molecule, but 'CC(' isn't one"),
    "a blank molecule": ("smiles,label\n,b\n", None, 2, "the column `smiles` is empty."),
    "neither yes nor no": ("smiles,a,b\nC,1,2\n", ANSWERS, 2, "the column `b` must be 0, 1 or empty, but is '2'."),
    "not UTF-8": (b"text,label\ncaf\xe9,b\n", None, 2, "byte 4 of the line (0xe9) is not UTF-8."),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_row_is_named(tmp_path, name):
    content, columns, line, message = BROKEN[name]
    with pytest.raises(DataError) as caught:
        read(tmp_path, content, columns)
    assert str(caught.value).startswith(f"{tmp_path / 'a.csv'}, line {line}: ")
    assert message in str(caught.value)
    assert not str(caught.value).endswith(("..", "?."))
    assert len(str(caught.value)) <= 2000


def test_rows_that_are_not_utf8_are_skipped_alone(tmp_path):
    content = b'text,label\na,yes\n"caf\xe9\nb",no\nc,\xff\n"d\ne",yes\nf,\n'
    problems = []
    assert read(tmp_path, content, on_error=problems.append) == [Example("a", "yes"), Example("d\ne", "yes")]
    assert [each.line for each in problems] == [3, 5, 8]
    with pytest.raises(DataError, match="line 1: byte 4"):
        read(tmp_path, b"tex\xe9,label\na,yes\n", on_error=problems.append)


def test_a_cell_may_be_as_long_as_a_line(tmp_path):
    text = "word " * 50_000
    assert read(tmp_path, f"text,label\n{text},yes\n") == [Example(text, "yes")]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ('{"text": "a", "label": "b"}\n{"text"', 2, "it isn't JSON ("),
        ("[1]", 1, "a line must be a JSON object, but is [1]."),
        ("[" * 100_000, 1, "it isn't JSON ("),
        ('{"text": "\\ud800", "label": "b"}', 1, "the column `text` must be a text, but has half a character, as '"),
        ('{"text": 1.5, "label": "b"}', 1, "the column `text` must be a text, but is 1.5."),
        (r'{"text": "a", "label": "b\ud800"}', 1, "the column `label` must be a text, but has half a character, as '"),
        ('{"text": "a", "number": true}', 1, "the column `number` must be a number, but is True."),
        ('{"text": "a", "number": NaN}', 1, "the column `number` must be a number, but is nan."),
        ('{"text": "a", "number": [1]}', 1, "the column `number` must be a number, but is [1]."),
        ('{"text": "a", "number": ' + "9" * 5000 + "}", 1, "it isn't JSON ("),
    ],
)
def test_a_broken_object_is_named(tmp_path, content, line, message):
    with pytest.raises(DataError) as caught:
        read(tmp_path, content, name="a.jsonl")
    assert str(caught.value).startswith(f"{tmp_path / 'a.jsonl'}, line {line}: {message}")


def test_whole_characters_may_be_escaped_as_two_halves(tmp_path):
    (found,) = read(tmp_path, r'{"text": "a\ud83d\ude00", "label": "\ud83d\ude00"}', name="a.jsonl")
    assert (found.source, found.target) == ("a\U0001f600", "\U0001f600")
    with pytest.raises(DataError, match="line 1: the column `text` must be a text, but has half a character"):
        read(tmp_path, r'{"text": "a\ud83d", "label": "b"}', name="a.jsonl")


def test_problems_can_be_collected(tmp_path):
    problems = []
    content = "text,number\na,1\nb,x\nc\nd,4\n"
    assert read(tmp_path, content, on_error=problems.append) == [Example("a", 1.0), Example("d", 4.0)]
    assert [re.sub(r".*, line (\d+): .*", r"\1", str(each)) for each in problems] == ["3", "4"]
    # A column that isn't there is one problem, not one a row.
    with pytest.raises(DataError, match="line 2: `column` must be one of"):
        read(tmp_path, content, Columns(), on_error=problems.append)


@pytest.mark.parametrize(
    ("content", "message"), [("", "it is empty"), ("\n\n", "it is empty"), ("text,label\n", "it holds no examples")]
)
def test_an_empty_table_is_named(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, content)


def test_arguments_are_checked(tmp_path):
    with pytest.raises(UnknownNameError, match="`source_type` must be one of text, path, smiles, but is 'txt'"):
        Columns(source_type="txt")
    with pytest.raises(UnknownNameError, match="`target_type` must be one of label, number, labels, text, sound"):
        Columns(target_type="labl")
    with pytest.raises(
        ArgumentError, match="`target` must be a tuple of names for target_type='labels', but is 'label'"
    ):
        Columns(target_type="labels")
    with pytest.raises(ArgumentError, match=r"`target` must be one name for target_type='label', but is \('a', 'b'\)"):
        Columns(target=("a", "b"))
    with pytest.raises(ArgumentError, match=r"`path` must end in .csv, .tsv, .jsonl"):
        read(tmp_path, "", name="a.xlsx")
    with pytest.raises(DataError, match="there is no such file"):
        list(read_table(tmp_path / "no.csv"))


def test_sources_are_read_without_targets(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,review\n1,"clean, and\n cheap"\n2, \n3,bad\n')
    assert list(read_sources(path, {"text": "review"})) == [(2, "clean, and\n cheap"), (5, "bad")]
    assert next(iter(read_sources(path, {"header": ["", "text"]}))) == (1, "review")
    with pytest.raises(DataError, match=r"line 1: it has the columns id, review\. Name the one with the sources"):
        list(read_sources(path))
    with pytest.raises(DataError, match=r"it has no column 'text', but id, review\. Name the one"):
        list(read_sources(path, {"text": "text"}))
    (tmp_path / "1.wav").touch()
    (tmp_path / "b.tsv").write_text("path\tlabel\n1\tx\n2\ty\n")
    found: list[DataError] = []
    assert list(read_sources(tmp_path / "b.tsv", on_error=found.append)) == [(2, str(tmp_path / "1.wav"))]
    assert found[0].line == 3
    (tmp_path / "c.jsonl").write_text('{"text": "good", "other": 1}\n')
    assert list(read_sources(tmp_path / "c.jsonl")) == [(1, "good")]
    assert [has_source_column(tmp_path / name) for name in ("a.csv", "b.tsv", "c.jsonl")] == [False, True, True]
    with pytest.raises(ArgumentError, match=r"`path` must end in \.csv, \.tsv, \.jsonl to have columns"):
        list(read_sources(tmp_path / "1.wav"))


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (
            "text,kind",
            "but the only one left is called kind. Say which is the target: --column label=kind or number=kind",
        ),
        ("CID,Class,text,MW", "none of CID, Class, MW is. Say which is the target: --column label=Class or"),
        ("a,b,Review,label", "b, Review, label is. Say which is the source: --column text=Review or path=Review"),
        ("a,b,text", "none of a, b is. Say which is the target: --column label=NAME or"),
        (",".join(["text", *(f"x{n}" for n in range(40))]), "x10, x11 and 28 more is. Say which is the target"),
    ],
)
def test_the_column_that_is_probably_meant_stands_in_the_next_command(tmp_path, header, told):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n{','.join('a' for _ in header.split(','))}\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(read_table(path))
    assert told in str(caught.value)
