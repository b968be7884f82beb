"""Encodings: what a file is read as follows from its bytes, and what is doubtful stays UTF-8, whose lines are named."""

import gzip
import os
import sys
import warnings

import pytest

from regard.errors import DataError, GuessedEncoding, MissingExtraError, UnknownNameError
from regard.inputs.encodings import check_encoding, encoding_of, open_text
from regard.inputs.lines import read_lines

GERMAN = "Das Café war schön, für alle Gäste.\nÜber die Öffnungszeiten müssen wir reden.\nGrößte Freude, übrigens.\n"
FRENCH = "Le café était délicieux, très bon accueil.\nÇa m'a plu, à refaire dès que possible !\n"
ENGLISH = "It\u2019s a \u201cgreat\u201d place \u2013 I\u2019d go again.\nDon\u2019t miss the caf\u00e9.\n"
CHINESE = "这是第一个评论,东西很好,我以后还会再来看看。\n质量非常差,非常失望。\n"
KNOWN = [
    (GERMAN, "cp1252"),
    (FRENCH, "cp1252"),
    (ENGLISH, "cp1252"),
    (CHINESE, "gb18030"),
    (GERMAN, "utf-16"),
    (CHINESE, "utf-16"),
    (GERMAN, "utf-32"),
    (GERMAN, "utf-16-le"),
    (GERMAN, "utf-16-be"),
    (CHINESE, "utf-16-le"),
    (CHINESE, "utf-16-be"),
    (CHINESE, "utf-8-sig"),
    (CHINESE, "utf-8"),
]
OTHER = [
    ("Żółta łódź była świetna, jakość bardzo dobra. Obsługa okropna, źle się czułem.", "cp1250"),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy. Hotel byl skvělý.", "cp1250"),
    ("Hotel je bio odličan, ali hrana je bila loša. Žao mi je što smo došli.", "cp1250"),
    ("Güzel bir yerdi, çok beğendim, ığdır ve şişli'den geldik.", "cp1254"),
    ("Это первый отзыв, всё очень хорошо, приду ещё.", "cp1251"),
    ("Это первый отзыв, всё очень хорошо, приду ещё.", "koi8_r"),
    ("Αυτή είναι η πρώτη κριτική, όλα πολύ καλά.", "cp1253"),
    ("これは最初のレビューです。とても良いので、また来ます。", "cp932"),
    ("これは最初のレビューです。とても良いので、また来ます。", "euc_jp"),
    ("이것은 첫 번째 리뷰입니다. 아주 좋아요. 다시 올게요.", "cp949"),
    ("這是第一個評論,東西很好,我以後還會再來看看。", "big5"),
    (FRENCH, "mac_roman"),
    (FRENCH, "cp850"),
    # Too little to judge by.
    ("one café only", "cp1252"),
]


def write(tmp_path, content, name="a.txt"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    return path


def told(path):
    """What a file is read as, and what is said of it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return encoding_of(path), [str(warning.message) for warning in said]


@pytest.mark.parametrize(("text", "encoding"), KNOWN)
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_known_encoding_is_found_told_once_and_read(tmp_path, text, encoding, name):
    path = write(tmp_path, f"a,b\n{text}".encode(encoding), name)
    found, said = told(path)
    if encoding.startswith("utf-8"):
        assert (found, said) == ("utf-8", [])
    else:
        assert found == encoding
        (sentence,) = said
        assert sentence.startswith(f"{path} isn't UTF-8, and is read as ")
        # UTF-16 is no guess.
        assert ("--encoding NAME" in sentence) == (not encoding.startswith("utf"))
    assert told(path) == (found, [])
    lines = [line for _, line in read_lines(path, encoding=found)]
    assert lines == ["a,b", *text.splitlines()]


@pytest.mark.parametrize(("text", "encoding"), OTHER)
def test_what_is_doubtful_is_not_guessed(tmp_path, text, encoding):
    path = write(tmp_path, text.encode(encoding))
    assert told(path) == ("utf-8", [])
    # Named, it is read.
    assert [line for _, line in read_lines(path, encoding=encoding)] == text.splitlines()


def test_broken_lines_of_utf8_stay_broken_lines(tmp_path):
    # 20 lines are Windows-1252, and speak for it; 3 lines are UTF-8 beyond ASCII, and speak against it.
    latin = GERMAN.encode("cp1252") * 7
    assert told(write(tmp_path, latin))[0] == "cp1252"
    assert told(write(tmp_path, latin + "schön\n".encode() * 3, "b.txt")) == ("utf-8", [])
    # A word of GB18030 may be UTF-8 by chance.
    chance = "模\n".encode("gb18030")
    assert chance.decode()
    assert told(write(tmp_path, CHINESE.encode("gb18030") * 10 + chance, "c.txt"))[0] == "gb18030"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"plain\n",
        b"text 1\0,no\ntext 2\0,yes\n" * 5,
        b"\x7fELF\x02\x01\x01\0\0\0",
        b"\0" * 64,
        bytes(range(256)) * 4,
        b"\x1f\x8b\x08rest",
        b"PK\x03\x04\0\0",
    ],
)
def test_what_is_no_other_text_is_left_to_whoever_reads_it(tmp_path, content):
    assert told(write(tmp_path, content)) == ("utf-8", [])


def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    assert encoding_of(tmp_path / "a.csv") == "utf-8"


def test_a_truncated_archive_is_left_to_whoever_reads_it(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(GERMAN.encode("cp1252") * 100, mtime=0)[:-20])
    assert encoding_of(path) == "utf-8"
    with pytest.raises(DataError, match="it can't be unpacked any further"):
        list(read_lines(path, lambda _: None))


def test_bytes_that_an_encoding_lacks_break_their_line_alone(tmp_path):
    problems = []
    path = write(tmp_path, b"caf\xe9\nbad \x81 byte\nna\xefve\n")
    assert list(read_lines(path, problems.append, encoding="cp1252")) == [(1, "café"), (3, "naïve")]
    assert [str(problem) for problem in problems] == [
        f"{path}, line 2: the line holds the byte 0x81, which cp1252 doesn't have. Save the file as UTF-8."
    ]


def test_an_encoding_that_utf8_is_not_is_left_out(tmp_path):
    path = write(tmp_path, "naïve\n".encode())
    with pytest.raises(DataError, match=r"a.txt: it isn't utf-16, but UTF-8\. Leave --encoding out"):
        list(read_lines(path, encoding="utf-16"))


def test_half_a_character_of_utf16_ends_the_file(tmp_path):
    path = write(tmp_path, "good\nbad\n".encode("utf-16") + b"x")
    with pytest.raises(DataError, match=r"a.txt: it isn't utf-16 to its end \(truncated data\)"):
        list(read_lines(path, encoding="utf-16"))
    # Half of a pair of surrogates.
    path = write(tmp_path, b"a\0\n\0\x00\xd8", "b.txt")
    with pytest.raises(DataError, match="to its end"):
        list(read_lines(path, encoding="utf-16-le"))


def test_lines_are_cut_where_they_end_whatever_the_buffer(tmp_path):
    text = "".join(f"{'ü' * count}{count}\n" for count in range(0, 3000, 7))
    path = write(tmp_path, text.encode("utf-16"))
    with open_text(path, "utf-16") as file:
        assert file.read().decode() == text
    assert [line for _, line in read_lines(path, encoding="utf-16")] == text.splitlines()


def test_names_are_checked():
    assert check_encoding("GBK") == "gbk"
    for name in ("klingon", "hex", "rot13", "", "a\0b"):
        with pytest.raises(UnknownNameError, match="`encoding` must be one of utf-8, utf-16, windows-1252"):
            check_encoding(name)


def test_without_the_library_only_a_guess_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    with pytest.raises(MissingExtraError, match=r"`charset_normalizer` is not installed.*pip install '\.\[data\]'"):
        encoding_of(write(tmp_path, GERMAN.encode("cp1252")))
    assert told(write(tmp_path, GERMAN.encode(), "b.txt")) == ("utf-8", [])
    with pytest.warns(GuessedEncoding, match="is read as UTF-16"):
        assert encoding_of(write(tmp_path, GERMAN.encode("utf-16"), "c.txt")) == "utf-16"
