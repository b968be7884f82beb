"""Texts, or lists of words, as the pieces of a pretrained model's tokenizer."""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["encode"]


def encode(description: dict[str, Any], sources: Sequence[str | Sequence[str]]) -> dict[str, np.ndarray]:
    """The inputs of the network for texts, or for lists of words. It needs the library tokenizers."""
    from tokenizers import Tokenizer

    saved, names = description["encoder"], {each["name"] for each in description["inputs"]}
    tokenizer: Any = Tokenizer.from_str(saved["tokenizer"]["tokenizer.json"])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    special = tokenizer.encode("a").special_tokens_mask
    before, after = special.index(0), special[::-1].index(0)
    around = tokenizer.encode("a").ids
    prefix, suffix = around[:before], around[len(around) - after :]
    most: int = min(saved["most_pieces"], description["source"]["longest"] or saved["most_pieces"])
    unknown = getattr(tokenizer.model, "unk_token", None)
    stand_in = tokenizer.token_to_id(unknown) if unknown else (suffix or prefix or [0])[-1]
    rows, firsts = [], []
    for source in sources:
        whole = isinstance(source, str)
        found = tokenizer.encode(source if whole else list(source), is_pretokenized=not whole, add_special_tokens=False)
        words: list[list[int]] = [[] for _ in source]
        if whole:
            words = [[piece] for piece in found.ids[:most]]
        else:
            for word, piece in zip(found.word_ids, found.ids, strict=True):
                words[word].append(piece)
            words = [own or [stand_in] for own in words]
        ends = np.cumsum([len(prefix), *map(len, words)])
        rows.append([*prefix, *(piece for own in words for piece in own), *suffix])
        firsts.append(ends[:-1].tolist())
    ids, mask = _padded(rows, saved["padding"]), _padded([[1] * len(row) for row in rows], 0)
    inputs = {"input_ids": ids, "attention_mask": mask, "first": _padded(firsts, 0)}
    inputs["lengths"] = np.array([len(row) for row in firsts], np.int64)
    if "vectors" in names:
        # A network above the model reads each piece as an item, special tokens, too; 0 is none.
        inputs["lengths"] = mask.sum(1)
        inputs["vectors"] = ((ids + 1) * mask)[..., None]
    return {name: array for name, array in inputs.items() if name in names}


def _padded(rows: Sequence[Sequence[int]], padding: int) -> np.ndarray:
    found = np.full((len(rows), max(map(len, rows))), padding, np.int64)
    for row, own in zip(found, rows, strict=True):
        row[: len(own)] = own
    return found
