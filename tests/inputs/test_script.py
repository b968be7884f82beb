"""Which script Chinese is in: told of traditional texts, never of simplified ones, and without OpenCC."""

import subprocess
import sys

import pytest

from regard.datasets import read
from regard.errors import MissingExtraError, UnknownNameError
from regard.inputs import SCRIPTS, convert_script, detect_script
from regard.inputs.text import script

SENTENCES = [("他在讀書，寫了許多東西。", "他在读书，写了许多东西。"), ("我們開車經過這座橋。", "我们开车经过这座桥。")]


@pytest.mark.parametrize(("traditional", "simplified"), SENTENCES)
def test_each_script_and_the_way_between(traditional, simplified):
    pytest.importorskip("opencc")
    assert (detect_script(traditional), detect_script(simplified)) == ("traditional", "simplified")
    assert convert_script(traditional, "simplified") == convert_script(simplified, "simplified") == simplified
    assert convert_script(simplified, "traditional") == convert_script(traditional, "traditional") == traditional


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I saw a saw .",
        "他在看天。",
        # As many of the one as of the other.
        "書书",
        # Japanese, whose characters are of both.
        "彼は図書館で本を読んでいる。東京の桜は綺麗です。",
        # A pronoun that few simplified texts write, a name, and what Hong Kong writes.
        "妳看上去非常累。",
        "天祐",
        "坐着",
        "\ud800\U00020000\x00",
    ],
)
def test_what_is_in_neither(text):
    assert detect_script(text) is None


def test_a_foreign_name_changes_nothing():
    assert detect_script("这本书是陳先生写的，我们都很喜欢读。") is None
    assert detect_script("这本书是陳先生写的，我们都很喜欢读，还会给孩子们讲书里的故事。") == "simplified"
    assert (
        detect_script("電影《となりのトトロ》在臺灣很受歡迎，觀眾們都說這部電影值得再看一遍，還會帶孩子們來。") is None
    )
    assert (
        detect_script("電影《トトロ》在臺灣很受歡迎，觀眾們都說這部電影值得再看一遍，還會帶孩子們來看。")
        == "traditional"
    )


def test_what_is_no_script():
    with pytest.raises(UnknownNameError, match="`script` must be one of simplified, traditional, but is 'simplifed'"):
        convert_script("他", "simplifed")


def test_it_is_told_without_opencc_but_not_converted(monkeypatch):
    monkeypatch.setitem(sys.modules, "opencc", None)
    script._converter.cache_clear()
    assert detect_script(SENTENCES[0][0]) == "traditional"
    with pytest.raises(MissingExtraError, match=r"`opencc` is not installed.*pip install '\.\[data\]'"):
        convert_script("書", "simplified")


def test_the_characters_of_both_scripts_are_those_that_opencc_leaves_as_they_are():
    """What one standard lacks, and the converters write all the same; the string in the module is made like this."""
    opencc = pytest.importorskip("opencc")
    to_simplified = opencc.OpenCC("tw2s").convert
    to_traditional = [opencc.OpenCC(name).convert for name in ("s2tw", "s2hk")]
    both = set()
    for character in map(chr, range(0x3400, 0xA000)):
        gb, big = (script._encoded(character, standard) for standard in ("gb2312", "big5"))
        if gb is None and big is not None and int.from_bytes(big) in script._FIRST_LEVEL:
            both |= {character} if to_simplified(character) == character else set()
        if big is None and gb is not None:
            both |= {character} if any(each(character) == character for each in to_traditional) else set()
    # Another version of OpenCC may know a character more.
    assert len(both ^ script._BOTH) <= 10


def test_a_simplified_text_is_never_told_and_a_traditional_one_almost_always(real_data):
    pytest.importorskip("opencc")
    texts = ["".join(each.words) for split in ("dev", "test") for each in read("ud-chinese-gsd", split)]
    texts += [each.source for each in read("chinese-hotel-reviews", "test", "sentiment")]
    texts += [each.source for each in read("tatoeba-zh-en", "test", "zh-en")]
    assert len(texts) > 4000
    assert [text for text in texts if detect_script(text) == "traditional"] == []
    long = [convert_script(text, "traditional") for text in texts if len(text) >= 10]
    assert sum(detect_script(text) == "traditional" for text in long) / len(long) > 0.97


def test_every_script_has_its_converter():
    pytest.importorskip("opencc")
    code = "import sys; from regard.inputs import detect_script; detect_script('書'); print('opencc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
    assert [convert_script("書书", name) for name in SCRIPTS] == ["书书", "書書"]
