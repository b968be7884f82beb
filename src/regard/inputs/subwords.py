"""Text as pieces of words, learned: frequent words are one piece, rare ones several, nothing is unknown."""

from collections.abc import Iterable
from typing import Any

from regard.errors import ArgumentError
from regard.extras import require
from regard.inputs.saving import checked_names
from regard.inputs.sentences import as_list
from regard.inputs.special_ids import SPECIAL_IDS, checked_ids, checked_text

__all__ = ["Subwords"]

_SMALLEST = SPECIAL_IDS + 256
_PROBE = " See  <s>\t看见🙂\n"


class Subwords:
    """Pieces learned by byte pair encoding: beginning from bytes, the pair that comes most often becomes a piece.

    As every byte is a piece, every text is read back exactly, whatever it holds; what looks like the name of a special
    id is text like any other. A space belongs to the word behind it.

    Args:
        tokenizer: of the library `tokenizers`, without special tokens; `Subwords.fit` and `from_json` make it.

    Example:
        >>> vocabulary = Subwords.fit(["low lower lowest", "low low slow"], size=264)
        >>> vocabulary.pieces("slow and lower")
        ['s', 'low', ' ', 'a', 'n', 'd', ' lowe', 'r']
        >>> vocabulary.decode(vocabulary.encode("看见 🙂\\t!"))
        '看见 🙂\\t!'

    Source: Sennrich et al. 2016 (arXiv 1508.07909), section 3.2; on bytes, Radford et al. 2019, "Language models are
        unsupervised multitask learners", section 2.2.
    """

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer

    @classmethod
    def fit(cls, texts: Iterable[str], size: int) -> "Subwords":
        """Learn the pieces of the training texts.

        Args:
            texts: of the training data.
            size: how many ids there may be, with padding, start, end and 256 bytes; there are fewer if no pair is left
                that comes twice.

        Raises:
            ArgumentError: `texts` is no list of texts, or `size` is below 259.
            MissingExtraError: the library `tokenizers` is not installed.
        """
        if type(size) is not int or size < _SMALLEST:
            raise ArgumentError(
                f"`size` must be a whole number of at least {_SMALLEST} (256 bytes, padding, start, end), "
                f"but is {size!r:.60}."
            )
        library = require("tokenizers", extra="text")
        by_bytes = library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        tokenizer = library.Tokenizer(library.models.BPE())
        tokenizer.pre_tokenizer = by_bytes
        tokenizer.decoder = library.decoders.ByteLevel()
        trainer = library.trainers.BpeTrainer(
            vocab_size=size - SPECIAL_IDS,
            min_frequency=2,
            show_progress=False,
            # Sorted: the library gives them as a set.
            initial_alphabet=sorted(by_bytes.alphabet()),
        )
        tokenizer.train_from_iterator([checked_text(text) for text in as_list("texts", texts, "texts")], trainer)
        return cls(tokenizer)

    @property
    def size(self) -> int:
        """How many ids there are."""
        return SPECIAL_IDS + self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end.

        Raises:
            ArgumentError: it is no text.
        """
        # The library's own special tokens would be found inside texts too; so it has none, and its ids begin at 3.
        return [SPECIAL_IDS + identity for identity in self._tokenizer.encode(checked_text(text)).ids]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; padding, start and end are nothing, and bytes that are no UTF-8 are U+FFFD.

        Raises:
            ArgumentError: an id that isn't in the vocabulary.
        """
        return self._tokenizer.decode([identity - SPECIAL_IDS for identity in checked_ids(ids, self.size)])

    def pieces(self, text: str) -> list[str]:
        """Each id of a text as text, for showing; part of a character is U+FFFD."""
        return [self.decode([identity]) for identity in self.encode(text)]

    def to_json(self) -> dict[str, Any]:
        """What JSON needs to hold to make this vocabulary again: what the library itself writes, as one string."""
        return {"kind": "subwords", "tokenizer": self._tokenizer.to_str()}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Subwords":
        """From what `to_json` gave.

        Raises:
            ArgumentError: something is missing or isn't what `to_json` writes.
            MissingExtraError: the library `tokenizers` is not installed.
        """
        written = checked_names("vocabulary", saved, ["kind", "tokenizer"])["tokenizer"]
        library = require("tokenizers", extra="text")
        try:
            tokenizer = library.Tokenizer.from_str(written)
        # The library raises no narrower error.
        except Exception as error:
            raise ArgumentError(
                f"`tokenizer` must be what the library tokenizers writes, but can't be read ({error}). Save it again."
            ) from error
        vocabulary = cls(tokenizer)
        if vocabulary.decode(vocabulary.encode(_PROBE)) != _PROBE:
            raise ArgumentError("`tokenizer` must read back what it writes, but doesn't: it isn't one of Subwords.")
        return vocabulary
