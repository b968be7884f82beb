"""A subword vocabulary: frequent words are one piece, rare words several, and no text is out of vocabulary."""

from collections.abc import Iterable
from typing import Any

from regard.errors import ArgumentError
from regard.extras import require
from regard.inputs.saved import checked_names
from regard.inputs.text.sentences import as_list
from regard.inputs.text.special_ids import SPECIAL_IDS, checked_ids, checked_text

__all__ = ["Subwords"]

_SMALLEST = SPECIAL_IDS + 256
_PROBE = " See  <s>\t看见🙂\n"


class Subwords:
    """Byte pair encoding: starting from bytes, the most frequent pair of pieces is merged into a new piece, repeatedly.

    Every byte is a piece, so that every text is decoded exactly; names of special tokens are ordinary text. A space
    belongs to the word after it.

    Args:
        tokenizer: a tokenizer of the library `tokenizers` without special tokens, as made by `fit` and `from_json`.

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
        """Learn the pieces from the training texts.

        Args:
            texts: the training texts.
            size: the maximum number of ids, including padding, start, end and 256 bytes; there are fewer if no pair
                occurs twice any more.

        Raises:
            ArgumentError: `texts` isn't a list of texts, or `size` is below 259.
            MissingExtraError: the library `tokenizers` is not installed.
        """
        if type(size) is not int or size < _SMALLEST:
            raise ArgumentError(
                f"`size` must be an integer of at least {_SMALLEST} (256 bytes, padding, start, end), "
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
            # Sorted, because the library returns a set.
            initial_alphabet=sorted(by_bytes.alphabet()),
        )
        tokenizer.train_from_iterator([checked_text(text) for text in as_list("texts", texts, "texts")], trainer)
        return cls(tokenizer)

    @property
    def size(self) -> int:
        """The number of ids."""
        return SPECIAL_IDS + self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end.

        Raises:
            ArgumentError: it isn't a text.
        """
        # The library would recognise special tokens inside texts, too, so it has none; its ids are shifted by 3.
        return [SPECIAL_IDS + identity for identity in self._tokenizer.encode(checked_text(text)).ids]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; padding, start and end are left out, and invalid UTF-8 becomes U+FFFD.

        Raises:
            ArgumentError: an id that isn't in the vocabulary.
        """
        return self._tokenizer.decode([identity - SPECIAL_IDS for identity in checked_ids(ids, self.size)])

    def pieces(self, text: str) -> list[str]:
        """The text of each id of a text, for display; a part of a character is U+FFFD."""
        return [self.decode([identity]) for identity in self.encode(text)]

    def to_json(self) -> dict[str, Any]:
        """The vocabulary as a JSON object: the library's own JSON as one string."""
        return {"kind": "subwords", "tokenizer": self._tokenizer.to_str()}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Subwords":
        """The vocabulary of the JSON object that `to_json` returned.

        Raises:
            ArgumentError: something is missing or invalid.
            MissingExtraError: the library `tokenizers` is not installed.
        """
        written = checked_names("vocabulary", saved, ["kind", "tokenizer"])["tokenizer"]
        library = require("tokenizers", extra="text")
        try:
            tokenizer = library.Tokenizer.from_str(written)
        # The library raises no more specific error.
        except Exception as error:
            raise ArgumentError(
                f"`tokenizer` must be what the library tokenizers writes, but can't be read ({error}). Save it again."
            ) from error
        vocabulary = cls(tokenizer)
        if vocabulary.decode(vocabulary.encode(_PROBE)) != _PROBE:
            raise ArgumentError("`tokenizer` must decode what it encodes, but doesn't: it wasn't made by Subwords.")
        return vocabulary
