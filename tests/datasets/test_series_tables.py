"""Tables of series: one in each row, or in the rows with one name; and tables that are none."""

import pytest

from regard.cli.main import main
from regard.datasets import check, find_series_table, read
from regard.errors import DataError, GuessedColumns

ROWS = [("slow", "1.5,2,3.25"), ("fast", "4,2,1.5"), ("slow", "1,2.5,3"), ("fast", "4.5,2,1")]
SERIES = [[float(number) for number in numbers.split(",")] for _, numbers in ROWS]
LABELS = [label for label, _ in ROWS]
FIRST = "\n".join(f"{label},{numbers}" for label, numbers in ROWS)
LAST = "\n".join(f"{numbers},{label}" for label, numbers in ROWS)
CODED = FIRST.replace("slow", "1").replace("fast", "2")
WIDE = {
    "headed, first": ("label,t1,t2,t3\n" + FIRST, "a.csv", LABELS),
    "headed, last": ("t1,t2,t3,class\n" + LAST, "a.csv", LABELS),
    "first": (FIRST, "a.csv", LABELS),
    "last": (LAST, "a.csv", LABELS),
    "UCR": (CODED.replace(",", "\t"), "a_TRAIN.tsv", ["1", "2", "1", "2"]),
    "UCR, old": (
        CODED.replace("1,1.5", " 1.0000000e+00,1.5").replace("\n2", "\n 2").replace(",", "   "),
        "a.txt",
        ["1", "2", "1", "2"],
    ),
    "numbered": ("0,1,2,3\n" + CODED, "a.csv", ["1", "2", "1", "2"]),
    "pandas": (",0,1,2,label\n" + "\n".join(f"{i},{row}" for i, row in enumerate(LAST.split())), "a.csv", LABELS),
    "Excel": ("t1;t2;t3;class\n" + LAST.replace(",", ";").replace(".", ","), "a.csv", LABELS),
    "Excel, bare": (FIRST.replace(",", ";").replace(".", ","), "a.csv", LABELS),
    "trailing comma": ("t1,t2,t3,class,\n" + LAST.replace("\n", ",\n") + ",", "a.csv", LABELS),
}


@pytest.fixture
def written(tmp_path):
    def write(text, name="a.csv"):
        (tmp_path / name).write_text(text + "\n", "utf-8")
        return tmp_path / name

    return write


def read_warned(path, message="Each row is read as a series of 3 numbers", **more):
    with pytest.warns(GuessedColumns, match=message):
        return read(path, **more)


@pytest.mark.parametrize("name", WIDE)
def test_each_row_is_a_series(written, name):
    text, file, labels = WIDE[name]
    found = read_warned(written(text, file))
    assert [(example.source[:, 0].tolist(), example.target) for example in found] == list(
        zip(SERIES, labels, strict=True)
    )
    assert all(example.source.shape == (3, 1) for example in found)


def test_a_short_series_ends_with_blanks(written):
    for blank in ("", "NaN"):
        found = read_warned(written(FIRST.replace("4,2,1.5", f"4,{blank},{blank}")))
        assert [len(example.source) for example in found] == [3, 1, 3, 3]


def test_columns_that_are_not_read_are_told(written):
    names = ",".join(f"t{place}" for place in range(9))
    rows = "\n".join(f"p{place},{'ab'[place % 2]},1,2,3,4,5,6,7,8,9" for place in range(4))
    path = written(f"patient,class,{names}\n{rows}")
    (first, *_) = read_warned(
        path, "of 9 numbers, with its label in the column 'class'. The column 'patient' isn't read"
    )
    assert (first.target, len(first.source)) == ("a", 9)


def test_the_column_of_the_labels_may_be_named(written):
    path = written("t1,t2,t3,mood,size\n1,2,3,good,0.5\n2,3,4,bad,0.75\n1,2,4,good,0.5")
    assert [example.target for example in read_warned(path, columns={"label": "mood"}, message="of 4 numbers")] == [
        "good",
        "bad",
        "good",
    ]
    path = written("t1,t2,t3,size\n1,2,3,0.5\n2,3,4,0.75")
    assert [example.target for example in read_warned(path, columns={"number": "size"})] == [0.5, 0.75]
    assert [example.target for example in read_warned(written("number,t1,t2,t3\n1,1,2,3\n2,1,2,4"))] == [1.0, 2.0]


def test_y_is_a_label_only_without_words(written):
    rows = "\n".join(f"{k},{k + 0.5},{k + 0.25},{'ab'[k % 2]}" for k in range(4))
    found = read_warned(written("x,y,z,mood\n" + rows))
    assert [example.target for example in found] == ["a", "b", "a", "b"]
    found = read_warned(written("t1,t2,t3,y\n" + rows.replace("a", "0.5").replace("b", "0.75")))
    assert [example.target for example in found] == [0.5, 0.75, 0.5, 0.75]


def test_rows_with_one_name_are_a_series(written):
    rows = [f"s{k},{i},{k + i},{-i},{'ab'[k]}" for k in range(2) for i in range(3)]
    path = written("series,time,x,y,label\n" + "\n".join(rows))
    message = "The rows with the same name in the column 'series' are read as a series of vectors of 2, with its label"
    first, second = read_warned(path, message)
    assert (first.target, second.target) == ("a", "b")
    assert second.source.tolist() == [[1.0, 0.0], [2.0, -1.0], [3.0, -2.0]]
    path = written("series,time,x,y,label\n" + "\n".join([*rows, "s1,3,1,1,a"]))
    with pytest.raises(DataError, match=r"line 8: the series 's1' has the label 'b', but here 'a'"):
        read_warned(path, message)


def test_a_broken_number_is_told_with_its_line(written):
    path = written("t1,t2,t3,class\n" + LAST.replace("4.5,2", "4.5,two"))
    with pytest.warns(GuessedColumns):
        report = check(path)
    assert report.splits[0].labels == {"slow": 2, "fast": 1}
    assert report.problems == (
        f"{path}, line 5: the column 't2' must be a number that float32 can hold, but is 'two'.",
    )
    with pytest.raises(DataError, match=r"line 3: column 3 must be a number .* Missing values aren't supported"):
        read_warned(written(FIRST.replace("1,2.5,3", "1,,3")))


def test_a_missing_label_is_told_with_its_line(written):
    problems: list[DataError] = []
    assert len(read_warned(written(f"{FIRST}\nnan,1,2,3"), on_error=problems.append)) == 4
    assert [str(wrong).partition("a.csv, ")[2] for wrong in problems] == [
        "line 5: column 1 is empty: nan stands for none. Write another word if it is a label."
    ]


@pytest.mark.parametrize(("slow", "fast"), [("slow", "fast"), ("1", "2")])
def test_a_broken_number_in_the_first_row_makes_no_names_of_it(written, slow, fast):
    text = f"slow,1.5,x,3.25\n{FIRST}".replace("slow", slow).replace("fast", fast)
    problems: list[DataError] = []
    found = read_warned(written(text), on_error=problems.append)
    assert [example.target for example in found] == [slow, fast, slow, fast]
    assert [(wrong.line, wrong.reason[:31]) for wrong in problems] == [(1, "column 3 must be a number that ")]


def test_names_that_count_columns_beside_one_word_are_names(written):
    rows = [f"{place % 3},1.5,2.5,{place}.25" for place in range(12)]
    found = read_warned(written("\n".join(["0,1,2,target", *rows])))
    assert [example.target for example in found] == [place + 0.25 for place in range(12)]


def test_series_without_labels_are_refused_with_the_next_step(written):
    with pytest.raises(
        DataError, match=r"series of 3 numbers, but which column has their labels .* --column label=NAME"
    ):
        read(written("t1,t2,t3\n1.5,2,3\n2.5,3,4"))


@pytest.mark.parametrize(
    "text",
    [
        "text,label,a,b,c\ngood,yes,1,2,3\nbad,no,1,2,3\ngood,yes,1,2,3",
        "review,stars,a,b\nIt was dirty,1,2,3\nLovely,4,2,3",
        "file,label,a,b,c\n1.png,yes,1,2,3\n2.png,no,1,2,3\n3.png,no,1,2,3",
        "word,kind,a,b,c\ncat,noun,1,2,3\nrun,verb,1,2,3\ndog,noun,1,2,3",
        "smiles,label,a,b,c\nCC,yes,1,2,3\nCCO,no,1,2,3\nC,no,1,2,3",
    ],
)
def test_other_tables_are_none(written, text):
    path = written(text)
    assert find_series_table(path) is None
    assert find_series_table(path, {"text": text.partition(",")[0]}) is None


def test_numbers_that_have_no_order_may_be_no_series(written):
    iris = written("sepal_length,sepal_width,petal_length,species\n5,3,1,setosa\n4,3,1,setosa\n6,3,4,virginica")
    read_warned(iris, "If the order of the columns means nothing, these are no series")


def test_the_check_says_how_it_reads_them(written, capsys):
    path = written("series;time;x;label\n" + "\n".join(f"{k};{i};0,{i};{k % 2}" for k in range(4) for i in range(3)))
    assert main(["data", "check", str(path)]) == 0
    said = capsys.readouterr()
    assert said.err.count("The rows with the same name in the column 'series' are read as a series") == 1
    assert said.out.split("labels")[1].split()[:3] == ["all", "4", "2"]


def test_a_model_reads_the_series_of_a_table(written):
    from regard.inputs import Standardise
    from regard.tasks.sources import Vectors

    encoder = Standardise((0.0,), (1.0,))
    bare = "\n".join(numbers for _, numbers in ROWS)
    for text in (FIRST, bare, "t1,t2,t3\n" + bare):
        found = Vectors().from_argument(encoder, str(written(text)))
        assert [vectors[:, 0].tolist() for _, vectors in found] == SERIES
    ((name, vectors),) = Vectors().from_argument(encoder, str(written(bare.splitlines()[0])))
    assert (vectors[:, 0].tolist(), name.endswith("a.csv: line 1")) == (SERIES[0], True)
    # For a model of vectors of three numbers, they are one series.
    three = Standardise((0.0,) * 3, (1.0,) * 3)
    ((_, vectors),) = Vectors().from_argument(three, str(written(bare)))
    assert vectors.tolist() == SERIES
