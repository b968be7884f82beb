"""A vocabulary of lower-case pieces with each of them in capitals, too."""

import json
from typing import NamedTuple

from regard.inputs.text.pretrained_tokenizer import PretrainedTokenizer

__all__ = ["CasedVocabulary"]

_CONTINUES = "##"


class CasedVocabulary(NamedTuple):
    """A tokenizer that keeps capitals, made from one that reads lower case alone.

    Each of its pieces of letters is there three times: "may", "May" and "MAY", and so is each that goes on with a word.
    So a word in lower case, with a capital or in capitals is split as before. A word with capitals inside, such as
    "iPhone", is split before each of them.

    Args:
        tokenizer: the tokenizer.
        start: the first id of what it has more; they follow each other.
        lower: the id of the same piece in lower case, for each.
        capitals: whether all of its letters are capitals, and not the first alone, for each.
    """

    tokenizer: PretrainedTokenizer
    start: int
    lower: tuple[int, ...]
    capitals: tuple[bool, ...]

    @classmethod
    def of(cls, tokenizer: PretrainedTokenizer, start: int) -> "CasedVocabulary | None":
        """That of a tokenizer of WordPiece, as BERT has it; None for one that keeps capitals, or of another kind.

        Args:
            tokenizer: the tokenizer.
            start: the first id that no piece has.

        Source: Wu et al. 2016 (arXiv 1609.08144), section 4.1, for WordPiece.
        """
        held = json.loads(tokenizer.files["tokenizer.json"])
        normalizer, model = held.get("normalizer") or {}, held["model"]
        if model.get("type") != "WordPiece" or normalizer.get("type") != "BertNormalizer":
            return None
        if not normalizer["lowercase"]:
            return None
        pieces, lower, capitals = dict(model["vocab"]), [], []
        for piece, place in model["vocab"].items():
            for cased, is_capitals in _cased(piece):
                if cased not in pieces:
                    pieces[cased] = start + len(lower)
                    lower.append(place)
                    capitals.append(is_capitals)
        # Not said, accents are stripped where letters are made lower.
        accents = {"strip_accents": normalizer.get("strip_accents") in (None, True)}
        held["normalizer"] = {**normalizer, "lowercase": False, **accents}
        held["model"] = {**model, "vocab": pieces}
        # transformers makes the normaliser anew from these.
        settings = {**json.loads(tokenizer.files["tokenizer_config.json"]), "do_lower_case": False, **accents}
        files = {
            "tokenizer.json": json.dumps(held, ensure_ascii=False),
            "tokenizer_config.json": json.dumps(settings, ensure_ascii=False, indent=2),
        }
        return cls(PretrainedTokenizer(files), start, tuple(lower), tuple(capitals))


def _cased(piece: str) -> list[tuple[str, bool]]:
    """A piece with a capital first, and in capitals, and which of them it is.

    Example:
        >>> _cased("may"), _cased("##s"), _cased("!")
        ([('May', False), ('MAY', True)], [('##S', False)], [])
    """
    mark = _CONTINUES if piece.startswith(_CONTINUES) else ""
    letters = piece.removeprefix(mark)
    found = {letters.upper(): True, letters.capitalize(): False}
    # Of some letters the capital is several, or is that of another letter.
    return [
        (mark + cased, is_capitals)
        for cased, is_capitals in reversed(found.items())
        if letters.isalnum() and cased != letters and cased.lower() == letters
    ]
