"""Ways to read text: one contract for all of them, then what is each one's own."""

import json
import os
import subprocess
import sys

import pytest
import torch

from regard.errors import ArgumentError, MissingExtraError, UnknownNameError
from regard.inputs.text.special_ids import UNKNOWN_PIECE
from regard.inputs.text.subwords import Subwords
from regard.inputs.text.tokenisation import split_words
from regard.inputs.text.vocabulary import VOCABULARIES, Bytes, Characters, Vocabulary, Words, vocabulary_from_json
from regard.special_ids import END, PADDING, START

TEXTS = ["I saw a saw.", "low lower lowest low low slow", "我 一 进门 就 看见 常威 在 打 来福", ""]
STRANGE = [
    "",
    " ",
    "  two  blanks\tand\ttabs \r\n\n",
    "看见 🙂 👩\u200d👩\u200d👧",
    "e\u0301 \u0301",
    "<padding> <s></s> [UNK] <0x41> Ġ Ċ ▁ ##a",
    "\0\x7f\ufeff\u202e\ufffd\U0010ffff",
    "a" * 5000,
    "I'm 3.14 DON'T",
]


@pytest.fixture(params=list(VOCABULARIES))
def vocabulary(request):
    return VOCABULARIES[request.param].fit(TEXTS, 261 if request.param == "subwords" else None)


def test_a_vocabulary_is_one(vocabulary):
    assert isinstance(vocabulary, Vocabulary)
    assert VOCABULARIES[vocabulary.to_json()["kind"]] is type(vocabulary)
    assert (PADDING, START, END) == (0, 1, 2)


def test_ids_are_in_the_vocabulary_and_never_special(vocabulary):
    for text in TEXTS + STRANGE:
        ids = vocabulary.encode(text)
        assert all(type(identity) is int and 3 <= identity < vocabulary.size for identity in ids)
    assert vocabulary.encode("") == []


def test_what_was_learned_is_read_back(vocabulary):
    for text in TEXTS:
        again = vocabulary.decode(vocabulary.encode(text))
        assert again == (" ".join(split_words(text)) if isinstance(vocabulary, Words) else text)


def test_special_ids_are_nothing_and_any_integers_do(vocabulary):
    ids = vocabulary.encode("saw")
    assert vocabulary.decode([START, *ids, END, PADDING, PADDING]) == "saw"
    assert vocabulary.decode(torch.tensor([START, *ids, END])) == "saw"
    assert vocabulary.decode([]) == ""
    for wrong in (-1, vocabulary.size):
        with pytest.raises(ArgumentError, match=f"from 0 to {vocabulary.size - 1}.* is {wrong}"):
            vocabulary.decode([wrong])


def test_a_piece_is_what_its_id_says(vocabulary):
    for text in TEXTS + STRANGE:
        assert vocabulary.pieces(text) == [vocabulary.decode([identity]) for identity in vocabulary.encode(text)]


def test_half_characters_are_read_as_broken(vocabulary):
    assert vocabulary.encode("saw \udcff") == vocabulary.encode("saw \ufffd")


def test_json_brings_the_same_vocabulary_back(vocabulary):
    again = vocabulary_from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert type(again) is type(vocabulary)
    assert again.size == vocabulary.size
    assert [again.encode(text) for text in TEXTS + STRANGE] == [vocabulary.encode(text) for text in TEXTS + STRANGE]


def test_learning_twice_is_learning_the_same(vocabulary):
    again = type(vocabulary).fit(iter(TEXTS), vocabulary.size)
    assert again.to_json() == vocabulary.to_json()


def test_a_broken_save_is_refused(vocabulary):
    saved = vocabulary.to_json()
    kind = saved["kind"]
    with pytest.raises(UnknownNameError, match="`vocabulary` must be one of kind"):
        vocabulary_from_json({**saved, "more": 1})
    for change in (1, "", "{}", [], None) if kind == "subwords" else (1, ["a"], None):
        for name in [name for name in saved if name != "kind"]:
            with pytest.raises(ArgumentError, match=r"Save it again|must be"):
                vocabulary_from_json({**saved, name: change})
    with pytest.raises(UnknownNameError, match="Did you mean 'bytes'"):
        vocabulary_from_json({"kind": "byte"})
    for nothing in ({}, {"kind": ["bytes"]}):
        with pytest.raises(ArgumentError, match="must be what `to_json` gave"):
            vocabulary_from_json(nothing)


def test_too_little_room_is_refused(vocabulary):
    with pytest.raises(ArgumentError, match="`size` must be"):
        type(vocabulary).fit(TEXTS, 3)


@pytest.mark.parametrize("kind", ["subwords", "bytes"])
def test_any_text_is_read_back_exactly(kind):
    vocabulary = VOCABULARIES[kind].fit(TEXTS, 280 if kind == "subwords" else None)
    for text in STRANGE:
        assert vocabulary.decode(vocabulary.encode(text)) == text
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000, 7)]))
    assert vocabulary.decode(vocabulary.encode(every)) == every


def test_bytes_by_hand():
    assert Bytes().encode("a看") == [3 + 0x61, 3 + 0xE7, 3 + 0x9C, 3 + 0x8B]
    assert Bytes().pieces("a看") == ["a", "\ufffd", "\ufffd", "\ufffd"]
    assert Bytes().decode([3 + 0x61, 3 + 0xE7]) == "a\ufffd"
    assert Bytes().size == 259


def test_characters_by_hand():
    vocabulary = Characters.fit(["abb", "b\n"])
    assert vocabulary.listed == ("b", "\n", "a")
    assert vocabulary.encode("ab!") == [6, 4, UNKNOWN_PIECE]
    assert vocabulary.decode([6, 4, UNKNOWN_PIECE]) == "ab\ufffd"
    assert Characters.fit(["abb"], 5).listed == ("b",)
    assert Characters.fit([]).encode("a") == [UNKNOWN_PIECE]
    assert Characters.fit(["\ufffd\udc80a"]).listed == ("a",)
    for listed in (("ab",), ("",), ("\ufffd",), ("a", "a")):
        with pytest.raises(ArgumentError, match="`listed` must"):
            Characters(listed)


def test_words_by_hand():
    vocabulary = Words.fit(["I can't.", "No. 7 can do it at 3pm in the U.S."])
    assert set(vocabulary.listed) >= {"ca", "n't", "No.", "3", "pm", "U.S."}
    assert vocabulary.decode(vocabulary.encode("I can't fly.")) == "I ca n't \ufffd ."
    for listed in (("a b",), ("",), ("a\nb",)):
        with pytest.raises(ArgumentError, match="`listed` must be words"):
            Words(listed)


def test_frequent_words_become_one_piece():
    vocabulary = Subwords.fit(["low lower lowest", "low low slow"], 264)
    # "lo" 6 times, "low" 6, " low" 4, " lowe" 2; then no pair is left that comes twice.
    assert vocabulary.size == 259 + 4
    assert vocabulary.pieces("low low lower") == ["low", " low", " lowe", "r"]
    assert len(vocabulary.encode("看见")) == 6
    # Nothing comes twice: bytes are all there is.
    assert Subwords.fit(["abc"], 1000).size == Subwords.fit([], 259).size == 259


def test_texts_and_sizes_are_checked():
    with pytest.raises(ArgumentError, match="`texts` must be a list of texts, but is the text"):
        Subwords.fit("low lower", 300)
    with pytest.raises(ArgumentError, match="at least 259"):
        Subwords.fit(TEXTS, 258)
    with pytest.raises(ArgumentError, match="`size` must be 259 for bytes"):
        Bytes.fit(TEXTS, 300)
    other = json.loads(Subwords.fit(TEXTS, 300).to_json()["tokenizer"]) | {"normalizer": {"type": "Lowercase"}}
    with pytest.raises(ArgumentError, match="must decode what it encodes"):
        Subwords.from_json({"kind": "subwords", "tokenizer": json.dumps(other)})


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[text\]'"):
        Subwords.fit(TEXTS, 300)


@pytest.mark.slow
def test_every_process_learns_the_same():
    code = (
        "import json; from regard.inputs.text.subwords import Subwords\n"
        "texts = [f'{n % 7} words {n % 11} of {n % 13} 看见{n % 5}' for n in range(500)]\n"
        "print(json.dumps(Subwords.fit(texts, 400).to_json()))"
    )
    learned = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(learned) == 1
