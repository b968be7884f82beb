"""Texts as the ids of their pieces: characters, words, bytes, or subwords."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.inputs.text.tokenisation import split_words

__all__ = ["encode"]

FIRST_BYTE, UNKNOWN, FIRST_PIECE = 3, 3, 4  # 0 is padding; 1 and 2 are start and end


def encode(description: dict[str, Any], sources: Sequence[str]) -> dict[str, np.ndarray]:
    """The inputs of the network for texts, none of which may be empty. Subwords need the library tokenizers."""
    saved = description["encoder"]
    # Half of a character, from a command line that isn't UTF-8, becomes U+FFFD.
    texts = [text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") for text in sources]
    if saved["kind"] == "subwords":
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(saved["tokenizer"])
        rows = [[FIRST_BYTE + number for number in tokenizer.encode(text).ids] for text in texts]
    elif saved["kind"] == "bytes":
        rows = [[FIRST_BYTE + byte for byte in text.encode()] for text in texts]
    else:
        words = saved["kind"] == "words"
        listed = saved["listed"].split("\n") if words else saved["listed"]
        ids = {piece: number for number, piece in enumerate(listed, start=FIRST_PIECE)}
        rows = [[ids.get(piece, UNKNOWN) for piece in (split_words(text) if words else text)] for text in texts]
    vectors = np.zeros((len(rows), max(map(len, rows), default=0), 1), np.int64)
    for row, own in zip(vectors, rows, strict=True):
        row[: len(own), 0] = own
    return {"vectors": vectors, "lengths": np.array([len(row) for row in rows], np.int64)}
