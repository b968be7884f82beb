"""The tokenizer of a pretrained model, as `save_pretrained` of transformers writes it."""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.errors import ArgumentError
from regard.extras import require
from regard.inputs.saved import checked_names
from regard.inputs.text.special_ids import checked_text

__all__ = ["TOKENIZER_FILES", "PretrainedTokenizer"]

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
"""The files of a tokenizer in a folder of `save_pretrained`."""


_VOCABULARIES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
)


class PretrainedTokenizer:
    """Splits texts, or words, into the pieces that a pretrained model knows. It needs the library tokenizers alone.

    Args:
        files: the content of each of `TOKENIZER_FILES`, by name.

    Attributes:
        prefix, suffix: the ids of the special tokens that stand before and after each text, such as [CLS] and [SEP].

    Raises:
        ArgumentError: the files aren't those of a tokenizer.
        MissingExtraError: the library `tokenizers` is not installed.
    """

    def __init__(self, files: dict[str, str]):
        self.files = dict(checked_names("tokenizer", files, TOKENIZER_FILES))
        library = require("tokenizers", extra="text")
        try:
            self._tokenizer: Any = library.Tokenizer.from_str(self.files["tokenizer.json"])
        # The library raises no more specific error.
        except Exception as error:
            raise ArgumentError(
                f"`tokenizer.json` must be what the library tokenizers writes, but can't be read ({error}). Save it "
                "again."
            ) from error
        # How long a text may be is checked by who reads it: nothing is cut here without a word.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        probe = self._tokenizer.encode("a")
        special = probe.special_tokens_mask
        first = special.index(0) if 0 in special else len(special)
        last = len(special) - special[::-1].index(0) if 0 in special else len(special)
        self.prefix, self.suffix = probe.ids[:first], probe.ids[last:]

    @classmethod
    def read(cls, folder: str | Path, *, words: bool = False) -> "PretrainedTokenizer":
        """Read the tokenizer in a folder.

        Args:
            folder: what `save_pretrained` wrote.
            words: whether it will split words, not texts: where a space belongs to the word after it, each then has
                one.

        Raises:
            ArgumentError: the folder holds no tokenizer, or one that is written in Python alone.
            MissingExtraError: transformers is not installed.
        """
        if not any((Path(folder) / name).is_file() for name in _VOCABULARIES):
            # The library would make an empty one.
            raise ArgumentError(
                f"{folder} must hold a tokenizer beside the model, but holds none. Save it there with "
                "tokenizer.save_pretrained."
            )
        auto = require("transformers", extra="huggingface").AutoTokenizer
        more = {"add_prefix_space": True} if words and _by_bytes(Path(folder)) else {}
        try:
            # Left out, transformers would ask whether to run the folder's own code.
            found = auto.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **more)
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ArgumentError(
                f"{folder} must hold a tokenizer beside the model, but it can't be loaded: {lines[0]} Save it there "
                "with tokenizer.save_pretrained."
            ) from error
        with TemporaryDirectory() as place:
            found.save_pretrained(place)
            paths = {name: Path(place, name) for name in TOKENIZER_FILES}
            if not paths["tokenizer.json"].is_file():
                raise ArgumentError(
                    f"the tokenizer in {folder} must be one of the library tokenizers (tokenizer.json), but is "
                    f"{type(found).__name__}, which is written in Python alone. Choose another base."
                )
            return cls({name: path.read_text(encoding="utf-8") for name, path in paths.items()})

    @property
    def unknown(self) -> int | None:
        """The id of what has no piece; None for a tokenizer that spells everything."""
        token = getattr(self._tokenizer.model, "unk_token", None)
        return None if token is None else self._tokenizer.token_to_id(token)

    @property
    def size(self) -> int:
        """One more than the largest id."""
        return 1 + max(self._tokenizer.get_vocab().values(), default=-1)

    @cached_property
    def padding(self) -> int | None:
        """The id of the padding token; None if the tokenizer has none."""
        try:
            token = json.loads(self.files["tokenizer_config.json"]).get("pad_token")
        except (ValueError, AttributeError):
            return None
        token = token.get("content") if isinstance(token, dict) else token
        return self._tokenizer.token_to_id(token) if isinstance(token, str) else None

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The text of each piece, without the mark of those that go on with a word."""
        return frozenset(piece.removeprefix("##") for piece in self._tokenizer.get_vocab())

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without the special tokens around it.

        Raises:
            ArgumentError: it isn't a text.
        """
        return self._tokenizer.encode(checked_text(text), add_special_tokens=False).ids

    def encode_words(self, words: Sequence[str]) -> list[list[int]]:
        """The ids of each word, one or more: a word without any, such as an invisible character, is unknown.

        Raises:
            ArgumentError: a word isn't a text.
        """
        found = self._tokenizer.encode(
            [checked_text(word) for word in words], is_pretokenized=True, add_special_tokens=False
        )
        ids: list[list[int]] = [[] for _ in words]
        for word, piece in zip(found.word_ids, found.ids, strict=True):
            ids[word].append(piece)
        stand_in = self.unknown if self.unknown is not None else (self.suffix or self.prefix or [0])[-1]
        return [own or [stand_in] for own in ids]

    def names(self, ids: Sequence[int]) -> list[str]:
        """The text of pieces for display: those that go on with a word keep the mark of it."""
        return [self._name(each) for each in ids]

    def _name(self, piece: int) -> str:
        token = self._tokenizer.id_to_token(piece)
        if token is None or token.startswith("##") or piece in (*self.prefix, *self.suffix):
            return str(token)
        return self._tokenizer.decode([piece], skip_special_tokens=False).strip() or token

    def to_json(self) -> dict[str, str]:
        """The content of its files."""
        return self.files

    @classmethod
    def from_json(cls, saved: Any) -> "PretrainedTokenizer":
        """The tokenizer whose `to_json` returned this.

        Raises:
            ArgumentError: something is missing or invalid.
        """
        return cls(checked_names("tokenizer", saved, TOKENIZER_FILES))


def _by_bytes(folder: Path) -> bool:
    """Whether a tokenizer splits bytes, of which a space belongs to the word after it."""
    try:
        return '"ByteLevel"' in (folder / "tokenizer.json").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        # An older folder, with the vocabulary of such a tokenizer.
        return (folder / "merges.txt").is_file()
