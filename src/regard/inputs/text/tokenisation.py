"""Tokenisation: splitting text into words or characters."""

import re
import unicodedata
from collections.abc import Collection, Sequence

__all__ = ["is_spaced", "longest_match", "split_characters", "split_chinese", "split_words", "trigrams"]

_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # with the kana, which have no spaces either
# Invisible characters: control characters, byte order marks, marks of the writing direction. They end a word like a
# space; otherwise they would act on the terminal that shows the word.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SURROGATES = re.compile("[\ud800-\udfff]")  # lone surrogates, from a command line that isn't UTF-8
_PICTURE = "[\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"

# The conventions are those of the UD English treebanks.
_ABBREVIATIONS = (
    "Mr|Mrs|Ms|Dr|St|Prof|Sr|Jr|Inc|Ltd|Corp|Lt|Col|Sgt|Capt|Gov|Sen|Reps?|Rev|Ft|Mt|vs|etc|eg|ie|ext|Attn|approx|dept"
    "|Jan|Feb|Apr|Aug|Sept|Oct|Nov|Dec|Tues?|Thurs?|Wed|Fri"
)
# These may also be words or the end of a name, so they are abbreviations only if another word follows.
_BEFORE_MORE = "Co|Gen|Mar|Jun|Jul|Mon|Sat|Sun|Fig|Vol|Ave|Blvd"
_PREFIXES = "anti|bi|co|cross|e|ex|inter|intra|mid|multi|neo|non|over|post|pre|pro|re|semi|socio|sub|super|tri|ultra|un"
_ENDINGS = "com|org|net|edu|gov|mil|info|biz|co\\.uk|doc|docx|xls|xlsx|pdf|txt|html?|jpg|png|zip"
# Every repetition is bounded or can start at one position only, so that matching takes linear time for any text.
_TOKEN = re.compile(
    rf"""
      (?<!\S)[A-Za-z]++(?![^\s,;!?])                 # most words: what follows would find the same, but more slowly
    | (?:https?://|ftp://|www\.|mailto:)[^\s<>"“”，。；！？、（）《》]*[^\s<>"“”，。；！？、（）《》'.,;:!?)\]}}]
    | (?<![\w.+%-])[\w.+%-]{{1,64}}@\w[\w-]*(?:\.[\w-]+)+                                        # e-mail
    | \w[\w.-]{{0,64}}\.(?:{_ENDINGS})\b                                             # enron.com, report.doc
    | (?<![\w:;=])(?:[:;=]['’]?[-^o]?[()DPp|/\\*\[\]]|[(]-?[:;=]|<3|\^_\^)(?![\w/])    # emoticons
    | (?<!\w)(?:[A-Za-z]\.){{2,}}(?!\w) | (?<!\w)(?:[A-Za-z]\.)+[A-Za-z](?!\w)    # U.S., p.m., U.S.A
    | (?<!\w)[A-Za-z]/[A-Za-z](?!\w) | (?<!\w)w/(?=\s)                           # b/c, w/
    | (?<!\w)(?:{_ABBREVIATIONS})\.
    | (?<!\w)(?:{_BEFORE_MORE})\.(?=\s+\w)
    | (?<!\w)No\.(?=\s*\d)
    | (?<!\w)[A-HJ-Z]\.(?=\s+[A-Z])                                             # an initial
    | (?<![\w-])(?:\+?1-)?(?:\d{{3}}-)?\d{{3}}-\d{{4}}(?![\w-])                     # telephone
    | (?<!\w)\d{{1,4}}(?:-\d{{1,2}}-|/\d{{1,2}}/)\d{{1,4}}(?!\w) | (?<!\w)\d+/\d+(?!\w)      # dates, 9/11
    | (?<!\w)\d+(?:[:.]\d+)*(?=[AaPp]\.?[Mm]\b)                                 # 3pm: 3 pm
    | (?<!\w)\d+['’]s(?!\w)                                                     # the 60's
    | (?<![^\s(])[+-]?\d++(?:[.,:]\d+)*+(?!\w) | \d+(?:[.,:]\d+)++                 # 3.14, 1,200, 7:30
    | (?<!\w)['’`](?:s|S|m|re|ve|ll|d|t|em|n|cause|tis|twas|\d\ds?)(?!\w)             # 's, when it stands alone
    | (?<!\w)n['’`]t(?!\w)
    | [A-Z]+&[A-Z]+(?!\w)
    | (?<!\w)(?i:{_PREFIXES})-\w+
    | \w+(?:\.\w+){{2,}}                                                        # alt.animals.cat
    | (?<!\w)[@\#][A-Za-z_]\w*
    | \w*?[{_HAN}](?=\d+[.,:]\d)                                                # 恤3.14: 恤 3.14
    | \w+(?:['’`]\w+)*
    | {_PICTURE}(?:[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]|\u200d{_PICTURE})*
    | [!?.。！？]{{2,}} | ``|''
    | (?P<run>[^\w\s"'()\[\]{{}}<>“”‘’「」（）《》])(?P=run)+ | <<+ | >>+
    | \S
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTRACTION = re.compile(r"(?<=.)(?:n['’`]t|['’`](?:s|m|re|ve|ll|d))$", re.IGNORECASE)
_JOINED = {"cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3, "outta": 3, "im": 1, "ive": 1} | {
    f"{verb}nt": len(verb)
    for verb in "do,does,did,is,was,were,are,have,has,had,could,would,should,must,ai,ca,wo".split(",")  # noqa: SIM905
}
"""Words written as one that the treebanks split, with the position of the split."""


def split_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks, as in the UD English treebanks.

    Punctuation marks are separate, contractions are split (don't: do n't), and addresses, numbers, dates, abbreviations
    and emoticons are kept together. Only spaces and invisible characters (control characters, marks of direction) are
    dropped, and lone surrogates become U+FFFD. A text that is already split isn't changed. Chinese is split at spaces
    and punctuation marks only: see `split_chinese`.

    Example:
        >>> split_words("I saw a saw.")
        ['I', 'saw', 'a', 'saw', '.']
        >>> split_words("Dr. Who doesn't pay $3.14, I'm told.")
        ['Dr.', 'Who', 'does', "n't", 'pay', '$', '3.14', ',', 'I', "'m", 'told', '.']
        >>> split_words("我 一 进门 就 看见 常威 在 打 来福")
        ['我', '一', '进门', '就', '看见', '常威', '在', '打', '来福']
    """
    text = _without_invisible(text)
    words: list[str] = []
    # Combining marks, as of Hindi vowels, belong to the word but don't match \w, so the pattern sees letters instead.
    for match in _TOKEN.finditer(_with_marks_as_letters(text)):
        words.extend(_parts(text[match.start() : match.end()]))
    return words


def split_characters(text: str) -> list[str]:
    """Split a text into its characters, without spaces; a combining mark stays with its letter.

    Example:
        >>> split_characters("看见 saw")
        ['看', '见', 's', 'a', 'w']
    """
    characters: list[str] = []
    for character in _without_invisible(text):
        joined = unicodedata.category(character)[0] == "M" or character == "\u200d"
        joined = joined or (bool(characters) and characters[-1].endswith("\u200d") and not character.isspace())
        if characters and joined:
            characters[-1] += character
        elif not character.isspace():
            characters.append(character)
    return characters


def longest_match(text: str, vocabulary: Collection[str]) -> list[str]:
    """Split Chinese without spaces into words by forward maximum matching: always the longest word of the vocabulary.

    A character at which no known word starts is a word of its own; numbers and Latin letters stay together. The search
    is greedy, so that a long word can take the beginning of the next one: a trained segmenter is better.

    Args:
        text: the text.
        vocabulary: the known words; a set is fastest.

    Example:
        >>> longest_match("我一进门就看见2004年的常威。", {"进门", "看见", "常威", "进"})
        ['我', '一', '进门', '就', '看见', '2004', '年', '的', '常威', '。']
    """
    known = vocabulary if isinstance(vocabulary, set | frozenset) else set(vocabulary)
    longest = max(map(len, known), default=1)
    words: list[str] = []
    for chunk in split_words(text):
        start = 0
        while start < len(chunk):
            run = _LATIN.match(chunk, start)
            stop = run.end() if run else start + 1
            for end in range(min(len(chunk), start + longest), stop, -1):
                if chunk[start:end] in known:
                    stop = end
                    break
            words.append(chunk[start:stop])
            start = stop
    return words


def split_chinese(text: str, vocabulary: Collection[str]) -> list[str]:
    """Split Chinese into words: at spaces if there are any between characters, else by `longest_match`.

    Example:
        >>> split_chinese("常威 在 打 来福", {"来"}), split_chinese("常威在打来福", {"常威"})
        (['常威', '在', '打', '来福'], ['常威', '在', '打', '来', '福'])
    """
    return split_words(text) if is_spaced(text) else longest_match(text, vocabulary)


def trigrams(items: Sequence[str]) -> list[str]:
    """The trigram around each item: the item before it, itself, and the item after it; ^ and $ mark the ends.

    Two adjacent characters say more about word boundaries than one.

    Example:
        >>> trigrams(["看", "见", "了"])
        ['^看见', '看见了', '见了$']
    """
    padded = ["^", *items, "$"]
    return ["".join(padded[start : start + 3]) for start in range(len(items))]


def is_spaced(text: str) -> bool:
    """Whether a Chinese text has a space between two characters, so that it is already split into words.

    Example:
        >>> is_spaced("我 看见"), is_spaced("我看见 2 只")
        (True, False)
    """
    return _SPACED.search(_without_invisible(text)) is not None


# A run of other characters than Han, so that numbers and names aren't cut.
_LATIN = re.compile(rf"[^{_HAN}]+")
_SPACED = re.compile(rf"[{_HAN}]\s+[{_HAN}]")


def _without_invisible(text: str) -> str:
    """The text with invisible characters replaced by spaces, and lone surrogates by U+FFFD."""
    return _SURROGATES.sub("\ufffd", _INVISIBLE.sub(" ", text))


def _with_marks_as_letters(text: str) -> str:
    """The text, of the same length, with a letter for each combining mark that continues a word."""
    if text.isascii():
        return text
    marks = {each for each in set(text) if unicodedata.category(each)[0] == "M" or each in "\u200c\u200d"}
    if not marks:
        return text
    shown: list[str] = []
    for character in text:
        shown.append("x" if character in marks and shown and shown[-1].isalnum() else character)
    return "".join(shown)


def _parts(word: str) -> list[str]:
    """A word without its contractions, followed by the contractions."""
    if "." in word[:-1] or "@" in word or word[0].isdigit():
        return [word]
    cut = _JOINED.get(word.lower(), 0)
    # IM is an instant message, but DONT and GONNA are capitalised contractions.
    if cut and not (word.isupper() and word == "IM"):
        return [word[:cut], word[cut:]]
    # Contractions have an apostrophe, which most words haven't.
    if word.isalpha():
        return [word]
    endings: list[str] = []
    # At most as many as in shouldn't've. Only the end is searched, so that a long word takes linear time.
    while len(endings) < 3 and len(word) > 2 and (match := _CONTRACTION.search(word, len(word) - 3)):
        endings.insert(0, match.group())
        word = word[: match.start()]
    return [word, *endings]
