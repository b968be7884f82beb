"""The script of Chinese: whether a text is in traditional or simplified characters, and the same text in the other.

A character is of one script alone if the standard of that script has it and that of the other hasn't. Python knows both
standards as codecs.

Source: GB 2312 (China, 1980), whose 6,763 characters are simplified; Big5 (Taiwan, 1984), whose first level are the
    5,401 frequent traditional characters.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache

from regard.errors import UnknownNameError
from regard.extras import require

__all__ = ["SCRIPTS", "in_script", "script_of"]

SCRIPTS = {"simplified": "tw2s", "traditional": "s2tw"}
"""The scripts by name, each with the configuration of OpenCC that converts to it."""

# tw2s and not t2s: the two differ in 著, which Taiwan also writes for 着. Of the 24,591 words of dev and test of
# ud-chinese-gsd that stand in both scripts, tw2s turns all but 19 into GSDSimp's own spelling (punctuation folded), t2s
# all but 53.

_FIRST_LEVEL = range(0xA440, 0xC67F)
# What one standard lacks, but OpenCC writes in both scripts: of Big5's first level what GB 2312 lacks, above all parts
# of names; of GB 2312 what Big5 lacks, as 着, which Hong Kong writes. A test makes this string anew.
_BOTH = frozenset(
    "伋伕佺倣偭偯偺傚僇僎僩儅儳劻勗勦吋呎啗啣嘐堉塭塽墦奭妳姅姪嬝屘屝崁巉帟彊徬惇愒慇抆揹搆搾撚撢擭敔昤晅晞暍暱暸杗枓"
    "栘梂梡梱棻楛榣槃橾櫂櫺歜毚毬汍沍沘沬泜洸浥浬涊湣湩湲潟潠澴濩濬炤焜煆煖燄燐燸牠玆玥玨珪珮琍琯瑯璘璟瓖甦甽疢痲痳瘉"
    "瞇瞋瞭砠砲硿祇祐穋箄箠篛籐籣籥糢縿繙耑脤脰芣蔆蘗衹裯褕褽覜觔觼詨詻誧豭賸跦跼踡踫迆迺遝郃鄗鄘釆釭鉼銲鎗鑤阬隄雊霤"
    "韹餽鯈鶸鼇"
    "丨丬丶丿亠亻仫伲倮傈兑冂冖冫凇凼刂劐勐勹卟卧卩厶叁吖吡吣吲呋咔咣咴哌哐哚唣唿啉喹嗪嗬嗵嘞嘣嘭噍噔噻噼嚯囱坂垡垧埝"
    "埯塄塬墒墚夂媪宀尜岙岜峁崾嵛嵴巛幞幺廴彐彡忄悦愠憷户扌揞揸擀攴攵敫晗桊桕榀榘檫毪氲氵氽沲浜温溻漤灬炻烀煅煊煳煺熘"
    "犏犟犭狍猸猹珉珏甙畲疃疒痃癀癍癔癯着睃砘砹砼硇硷碹磙礴礻税筢筻箢篼罱耠耥耱肀肟肷肼肽胩胬脎脒脱脲腈腙腚腽膪臁舭舾"
    "艹芪苄苊苘苷茚莜萘萜葜葱蒈蒽蔸藁蜕蝰蝽螋蟮衤踺軎辶郄酞酰酶醌鐾阝鞴骶骺鬏黢鼗齄"
)
_HAN = re.compile("[\u3400-\u9fff]")
_KANA = re.compile("[\u3041-\u30ff]")
# So many times as often as characters of the other script: a text may quote a name, a vocabulary hold a few.
_CLEARLY = 9
# A Chinese text may name a Japanese song.
_MOST_KANA = 0.1


def script_of(text: str) -> str | None:
    """The script of a Chinese text: that of nine tenths of the characters that only one script has.

    Args:
        text: of any length, or the words of a vocabulary, one after the other.

    Returns:
        a name in `SCRIPTS`; None where both scripts write it so, where it is in both, or is no Chinese.

    Example:
        >>> script_of("他在讀書。"), script_of("他在读书。"), script_of("他在看天。"), script_of("a book")
        ('traditional', 'simplified', None, None)
    """
    characters = _HAN.findall(text)
    # Japanese has characters of both scripts.
    if len(_KANA.findall(text)) > _MOST_KANA * len(characters):
        return None
    counts = Counter(filter(None, map(_script_of_character, characters)))
    for script, count in counts.most_common(1):
        if count >= _CLEARLY * (counts.total() - count):
            return script
    return None


def in_script(text: str, script: str) -> str:
    """A Chinese text in this script; what isn't Chinese stays as it is.

    Args:
        text: in any script.
        script: a name in `SCRIPTS`.

    Raises:
        UnknownNameError: no script of this name.
        MissingExtraError: OpenCC is not installed.

    Source: OpenCC (github.com/BYVoid/OpenCC), for the traditional characters of Taiwan.

    Example:
        >>> in_script("他在讀書。", "simplified"), in_script("他在读书。", "traditional")
        ('他在读书。', '他在讀書。')
    """
    if script not in SCRIPTS:
        raise UnknownNameError("script", script, SCRIPTS)
    return _converter(SCRIPTS[script])(text)


@cache
def _converter(configuration: str) -> Callable[[str], str]:
    return require("opencc", extra="data").OpenCC(configuration).convert


@cache
def _script_of_character(character: str) -> str | None:
    simplified, traditional = _encoded(character, "gb2312"), _encoded(character, "big5")
    if character in _BOTH or (simplified is None) == (traditional is None):
        return None
    if traditional is None:
        return "simplified"
    # The rare characters of Big5 are those of names, which simplified texts have, too.
    return "traditional" if int.from_bytes(traditional) in _FIRST_LEVEL else None


def _encoded(character: str, standard: str) -> bytes | None:
    try:
        return character.encode(standard)
    except UnicodeEncodeError:
        return None
