"""The script of Chinese text: detection of traditional and simplified characters, and conversion between them.

A character belongs to one script only if the standard of that script has it and the standard of the other hasn't.
Python has codecs for both standards.

Source: GB 2312 (China, 1980), whose 6,763 characters are simplified; Big5 (Taiwan, 1984), whose first level has the
    5,401 frequent traditional characters.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache

from regard.errors import UnknownNameError
from regard.extras import require

__all__ = ["SCRIPTS", "convert_script", "detect_script"]

SCRIPTS = {"simplified": "tw2s", "traditional": "s2tw"}
"""The scripts by name, each with the OpenCC configuration that converts to it."""

# tw2s instead of t2s: they differ in 著, which is also the Taiwanese form of 着. Of the 24,591 words of dev and test of
# ud-chinese-gsd that exist in both scripts, tw2s converts all but 19 to GSDSimp's spelling (after folding
# punctuation), and t2s all but 53.

_FIRST_LEVEL = range(0xA440, 0xC67F)
# Characters that one standard lacks but OpenCC uses in both scripts: those of Big5's first level that GB 2312 lacks,
# mostly in names, and those of GB 2312 that Big5 lacks, such as 着, which is used in Hong Kong. A test computes them.
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
# The required ratio to characters of the other script: a text may quote names in it.
_MINIMUM_RATIO = 9
# The maximum fraction of kana: a Chinese text may mention a Japanese title.
_MOST_KANA = 0.1


def detect_script(text: str) -> str | None:
    """Detect the script of a Chinese text: at least nine tenths of the characters specific to a script are of this one.

    Args:
        text: a text of any length, or the concatenated words of a vocabulary.

    Returns:
        a name in `SCRIPTS`; None if the text is the same in both scripts, mixes them, or isn't Chinese.

    Example:
        >>> [detect_script(text) for text in ("他在讀書。", "他在读书。", "他在看天。", "a book")]
        ['traditional', 'simplified', None, None]
    """
    characters = _HAN.findall(text)
    # Japanese uses characters of both scripts.
    if len(_KANA.findall(text)) > _MOST_KANA * len(characters):
        return None
    counts = Counter(filter(None, map(_script_of_character, characters)))
    for script, count in counts.most_common(1):
        if count >= _MINIMUM_RATIO * (counts.total() - count):
            return script
    return None


def convert_script(text: str, script: str) -> str:
    """Convert a Chinese text to this script; other text isn't changed.

    Args:
        text: a text in any script.
        script: a name in `SCRIPTS`.

    Raises:
        UnknownNameError: an unknown script.
        MissingExtraError: OpenCC is not installed.

    Source: OpenCC (github.com/BYVoid/OpenCC), for the traditional characters of Taiwan.

    Example:
        >>> convert_script("他在讀書。", "simplified"), convert_script("他在读书。", "traditional")
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
    # The rare characters of Big5 occur in names, which simplified texts contain, too.
    return "traditional" if int.from_bytes(traditional) in _FIRST_LEVEL else None


def _encoded(character: str, standard: str) -> bytes | None:
    try:
        return character.encode(standard)
    except UnicodeEncodeError:
        return None
