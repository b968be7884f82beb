"""Texts, or lists of words, as the ids of each word's features."""

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from regard.inputs.text.character_folding import FOLDINGS
from regard.inputs.text.tokenisation import split_characters, split_words

__all__ = ["encode"]

CUTS: dict[str, Callable[[str], list[str]]] = {
    "words": split_words,
    "characters": split_characters,
    "blanks": str.split,
}
UNKNOWN, MOST_SHAPE = 1, 64
MOST_OF_WORD, MOST_OF_UNSPACED = 60, 400


def encode(description: dict[str, Any], sources: Sequence[str | Sequence[str]]) -> dict[str, np.ndarray]:
    """The inputs of the network for sources, which are texts or lists of words; none may be empty."""
    source, saved = description["source"], description["encoder"]
    features = saved["features"]
    fold = FOLDINGS[features["fold"]]
    ids = {word: place for place, word in enumerate(saved["vocabulary"].split("\n"), start=UNKNOWN + 1)}
    texts = [CUTS[source["cut"]](each) if isinstance(each, str) else each for each in sources]
    known: dict[str, list[int]] = {}
    for text in texts:
        for word in text:
            if word not in known:
                known[word] = of_word(fold(word), features, ids)
    least = [0] * (fixed(features) + int(has_ngrams(features)))
    found = {
        "vectors": padded([[known[word] for word in text] for text in texts], least),
        "lengths": np.array([len(text) for text in texts], np.int64),
    }
    if source["linear"]:
        rows, kind = source["linear_rows"], source["linear_ngrams"]
        if kind == "affixes":
            linear = [affixes([fold(word) for word in text], rows) for text in texts]
        else:
            linear = [ngrams(text, rows, kind == "characters") for text in texts]
        found["ngrams"] = padded(linear, [0] * 2)
    return found


def padded(texts: Sequence[Sequence[Sequence[int]]], least: list[int]) -> np.ndarray:
    """The ids of the items of each text, filled up with zeros; as many columns as `least` at least."""
    width = max([len(least), *(len(ids) for text in texts for ids in text)])
    found = np.zeros((len(texts), max(map(len, texts), default=0), width), np.int64)
    for row, text in zip(found, texts, strict=True):
        for place, ids in enumerate(text):
            row[place, : len(ids)] = ids
    return found


def hashed(text: str, size: int) -> int:
    """An id from 1 to `size` - 1."""
    return crc32(text.encode("utf-8", "surrogatepass")) % (size - 1) + 1


def fixed(features: dict[str, Any]) -> int:
    """The number of ids of a word that aren't n-grams."""
    words = 2 if features["case"] == "both" else 1
    parts = sum(features[name] for name in ("prefixes", "suffixes", "first_characters", "last_characters"))
    return words + parts + int(features["shape"]) + int(features["flags"]) + int(features["length_buckets"] > 0)


def has_ngrams(features: dict[str, Any]) -> bool:
    """Whether words have n-grams."""
    return features["longest_ngram"] >= features["shortest_ngram"] and features["most_ngrams"] > 0


def of_word(word: str, features: dict[str, Any], ids: dict[str, int]) -> list[int]:
    """The ids of a folded word: itself, its affixes, its shape, and its n-grams."""
    lower, count = word.lower(), len(word.lower())
    spelt = {"exact": (word,), "lower": (lower,), "both": (word, lower)}[features["case"]]
    found = [ids.get(spelling, UNKNOWN) for spelling in spelt]
    pieces = [(size, f"p{lower[:size]}") for size in range(1, features["prefixes"] + 1)]
    pieces += [(size, f"s{lower[-size:]}") for size in range(1, features["suffixes"] + 1)]
    pieces += [(at, f"P{at}{lower[at - 1 : at]}") for at in range(1, features["first_characters"] + 1)]
    pieces += [(at, f"Q{at}{lower[-at:][:1]}") for at in range(1, features["last_characters"] + 1)]
    found += [hashed(piece, features["affix_ids"]) if needed <= count else 0 for needed, piece in pieces]
    named = [f"S{shape(word)}"] if features["shape"] else []
    if features["flags"]:
        some = any(map(str.isdigit, word)), any(map(str.isalpha, word))
        facts = word[:1].isupper(), word.isupper(), *some, "-" in word
        named.append("F" + "".join("01"[fact] for fact in facts))
    if features["length_buckets"]:
        named.append(f"L{min(len(word), features['length_buckets'])}")
    found += [hashed(name, features["shape_ids"]) for name in named]
    if has_ngrams(features):
        most, longest = features["most_ngrams"], features["longest_ngram"]
        marked = f"<{lower}>"[: most + longest]
        sizes = range(features["shortest_ngram"], longest + 1)
        grams = [marked[start : start + size] for size in sizes for start in range(len(marked) - size + 1)]
        found += [hashed(f"n{gram}", features["ngram_ids"]) for gram in grams[:most]]
    return found


def shape(word: str) -> str:
    """X for a capital, x for a small letter, d for a digit, c for another letter; at most two of a kind in a row."""
    kinds: list[str] = []
    for character in word[:MOST_SHAPE]:
        tests = (("X", character.isupper()), ("x", character.islower()), ("d", character.isdigit()))
        kind = next((name for name, true in (*tests, ("c", character.isalpha())) if true), character)
        if kinds[-2:] != [kind, kind]:
            kinds.append(kind)
    return "".join(kinds)


def ngrams(words: Sequence[str], rows: int, unspaced: bool) -> list[list[int]]:
    """For the linear part of a classifier: each word, the pair with the word before it, and its characters' n-grams."""
    found, before = [], ""
    for word in (each.lower() for each in words):
        marked, sizes = (word, range(1, 4)) if unspaced else (f" {word} ", range(2, 6))
        grams = [marked[at : at + size] for size in sizes for at in range(len(marked) - size + 1)]
        pair = hashed(f"p{before} {word}", rows) if before else 0
        most = MOST_OF_UNSPACED if unspaced else MOST_OF_WORD
        found.append([hashed(f"w{word}", rows), pair, *(hashed(f"c{gram}", rows) for gram in grams[:most])])
        before = word
    return found


def affixes(words: Sequence[str], rows: int) -> list[list[int]]:
    """For the linear part of a tagger: what each word is to its neighbours, and its own spelling."""
    found = []
    for place, word in enumerate(words):
        lower, own = word.lower(), shape(word)
        beside = f"w{lower}", f"s{lower[-3:]}", f"h{own}"
        texts = [f"{side}{text}" for side in ("after ", "before ") for text in beside]
        texts += [f"W{word}", f"w{lower}", f"h{own}"]
        texts += [f"p{lower[:size]}" for size in range(1, 5) if size < len(lower)]
        texts += [f"s{lower[-size:]}" for size in range(1, 6) if size < len(lower)]
        texts += [f"first{own}"] if place == 0 else []
        texts += [f"last{own}"] if place == len(words) - 1 else []
        found.append([hashed(text, rows) for text in texts])
    return found
