"""Splitting loses nothing, leaves alone what is split already, and follows the treebanks."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.inputs import longest_match, split_characters, split_chinese, split_words

# Written out once more, apart from the code: what may go, and what is replaced.
UNSEEN = {chr(code) for code in [*range(0x20), *range(0x7F, 0xA0), 0x200B, 0x200E, 0x200F, 0xFEFF]}
UNSEEN |= {chr(code) for code in [*range(0x2028, 0x202F), *range(0x2060, 0x206A)]}


def kept(text):
    """What must be left of a text, whatever splits it."""
    whole = (character for character in text if character not in UNSEEN and not character.isspace())
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in whole)


TEXTS = st.text(st.characters()) | st.text(st.sampled_from("aI'’.-@:/()!$3,nt \t\u200d\u0301看见，。\x1b\udcff👩"))


@given(TEXTS)
def test_words_lose_no_character(text):
    words = split_words(text)
    assert "".join(words) == kept(text)
    assert all(words)
    assert not any(character.isspace() or character in UNSEEN for word in words for character in word)


@given(TEXTS)
def test_characters_lose_no_character(text):
    assert "".join(split_characters(text)) == kept(text)


@given(TEXTS, st.sets(st.text("看见我一进门aI3", min_size=1, max_size=4)))
def test_longest_match_loses_no_character(text, vocabulary):
    words = longest_match(text, vocabulary)
    assert "".join(words) == kept(text)
    assert all(words)


@given(st.text("看见我一进门", min_size=1, max_size=12), st.sets(st.text("看见我一进门", min_size=1, max_size=4)))
def test_longest_match_takes_the_longest(text, vocabulary):
    start = 0
    for word in longest_match(text, vocabulary):
        known = [text[start:end] for end in range(start + 1, len(text) + 1) if text[start:end] in vocabulary]
        assert word == max([text[start], *known], key=len)
        start += len(word)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I saw a saw.", "I saw a saw ."),
        ("I saw a saw .", "I saw a saw ."),
        ("我 一 进门 就 看见 常威 在 打 来福", "我 一 进门 就 看见 常威 在 打 来福"),
        ("我一进门，就看见常威。", "我一进门 ， 就看见常威 。"),
        ("他说：“好！”（《论语》）", "他说 ： “ 好 ！ ” （ 《 论语 》 ）"),
        ("don't can't won't isn't", "do n't ca n't wo n't is n't"),
        ("I'm she'll we've you're he'd it's John's", "I 'm she 'll we 've you 're he 'd it 's John 's"),
        ("He shouldn't've, I'd've.", "He should n't 've , I 'd 've ."),
        ("Don’t — it’s", "Do n’t — it ’s"),
        ("dont cannot gonna CANNOT IM", "do nt can not gon na CAN NOT IM"),
        ("do n't I 'm John 's", "do n't I 'm John 's"),
        ("the dogs' bowls, O'Connell, rock'n'roll", "the dogs ' bowls , O'Connell , rock'n'roll"),
        ("pi is 3.14, not 1,200 or -5 at 7:30.", "pi is 3.14 , not 1,200 or -5 at 7:30 ."),
        ("at 3pm, 7:30 PM, 398,487MMBTU", "at 3 pm , 7:30 PM , 398,487 MMBTU"),
        ("$5.50 (50%)", "$ 5.50 ( 50 % )"),
        ("on 9/11 and 12/05/2001, call 713-853-5660.", "on 9/11 and 12/05/2001 , call 713-853-5660 ."),
        ("See http://a.org/x?y=1&z=(2), www.b.com.", "See http://a.org/x?y=1&z=(2 ) , www.b.com ."),
        ("Mail me: jo.doe+x@mail.example.org!", "Mail me : jo.doe+x@mail.example.org !"),
        ("Mr. Smith of the U.S. saw Dr. No. 5 at 5 p.m.", "Mr. Smith of the U.S. saw Dr. No. 5 at 5 p.m."),
        ("Is it? No. J. Smith sat.", "Is it ? No . J. Smith sat ."),
        ("a well-known e-mail, anti-American", "a well - known e-mail , anti-American"),
        ("and/or AT&T b/c", "and / or AT&T b/c"),
        ("Wow!!! Really?! Well... no--yes", "Wow !!! Really ?! Well ... no -- yes"),
        ("nice :) (or not :-( )", "nice :) ( or not :-( )"),
        ('"Quoted," he said.', '" Quoted , " he said .'),
        ("हिन्दी में", "हिन्दी में"),
        ("e\u0301tude", "e\u0301tude"),
        ("👩\u200d👩\u200d👧 ❤\ufe0f!", "👩\u200d👩\u200d👧 ❤\ufe0f !"),
        ("\ufeffa\x00b\x1b[31mc\u202ed", "a b [ 31mc d"),
        ("bad \udcff byte", "bad \ufffd byte"),
        ("", ""),
        (" \t\n\x07 ", ""),
    ],
)
def test_words(text, words):
    assert split_words(text) == words.split()


ODD = [
    "'",
    "a-",
    "1.",
    "a.b@",
    ":-",
    "看",
    "a.",
    "1",
    "A",
    "1/",
    "1-",
    "http://",
    "看1",
    "看1.",
    "a'",
    "n't",
    "(",
    "e\u0301",
    "0:",
    "x@y.",
]


@pytest.mark.parametrize("piece", ODD)
def test_no_text_takes_for_ever(piece):
    text = piece * (100_003 // len(piece))
    start = time.process_time()
    words = split_words(text)
    assert time.process_time() - start < 2
    assert "".join(words) == text


def test_characters():
    assert split_characters("看见 saw") == ["看", "见", "s", "a", "w"]
    assert split_characters("e\u0301 👩\u200d👧\x00") == ["e\u0301", "👩\u200d👧"]
    assert split_characters("\u0301") == ["\u0301"]


def test_longest_match():
    words = {"北京", "北京大学", "大学生", "学生", "2004"}
    assert longest_match("北京大学生", words) == ["北京大学", "生"]  # greedy: it can't know better
    assert longest_match("北京大学生", ["大学生"]) == ["北", "京", "大学生"]
    assert longest_match("在2004年，T恤3.14元。", words) == ["在", "2004", "年", "，", "T", "恤", "3.14", "元", "。"]
    assert longest_match("我", set()) == ["我"]
    assert longest_match("", words) == []


def test_chinese_that_is_spaced_is_left_alone():
    words = {"进", "来"}
    assert split_chinese("我 一 进门 就 看见 常威", words) == ["我", "一", "进门", "就", "看见", "常威"]
    # A space behind a mark, or beside Latin letters, says nothing about words.
    assert split_chinese("进来。 我用 Python 写", words) == ["进", "来", "。", "我", "用", "Python", "写"]


def test_the_treebank_is_split_as_its_authors_did(real_data):
    """The share of words whose two ends are both found, over the development sentences of EWT."""
    found = wanted = given_ = 0
    words, text = [], ""
    for line in (real_data / "ud-english-ewt" / "en_ewt-ud-dev.conllu").read_text("utf-8").splitlines():
        if line.startswith("# text = "):
            text = line[9:]
        elif line and line[0].isdigit() and line.split("\t")[0].isdigit():
            words.append(line.split("\t")[1])
        elif not line:
            one, other = spans(words), spans(split_words(text))
            found, wanted, given_ = found + len(one & other), wanted + len(one), given_ + len(other)
            words = []
    assert 2 * found / (wanted + given_) > 0.985


def spans(words):
    ends, start = set(), 0
    for word in words:
        size = len(unicodedata.normalize("NFC", word).replace(" ", ""))
        ends.add((start, start + size))
        start += size
    return ends
