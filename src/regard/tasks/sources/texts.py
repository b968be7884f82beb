"""Texts, split by a vocabulary into words, characters, subwords or bytes; and which vocabulary suits which texts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inputs import VOCABULARIES, Bytes, Characters, Subwords, Vocabulary, Words, vocabulary_from_json
from regard.page.numbers import counted
from regard.special_ids import END, PADDING
from regard.tasks.judging.out_of_distribution import Statistic
from regard.tasks.settings import fraction, integer, one_of
from regard.tasks.sources.source import Source

if TYPE_CHECKING:
    from regard.tasks.baselines import SimpleFeatures

__all__ = ["PieceEmbedding", "Texts", "mostly_unspaced", "vocabulary_settings"]


@dataclass(frozen=True)
class Texts(Source):
    """Sources that are texts.

    Args:
        vocabulary: how a text is split, a name in `inputs.VOCABULARIES`.
        size: the largest number of pieces in the vocabulary; not for bytes.
        piece_dropout: the probability that the vector of a piece is replaced by zeros in training.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "texts"
    noun: ClassVar[str] = "piece"
    source_noun: ClassVar[str] = "text"
    given: ClassVar[str] = "a text"
    vectors: ClassVar[str] = "a learned vector for each subword, character, byte or word"
    is_text: ClassVar[bool] = True
    example: ClassVar[str] = '"I saw a saw."'
    limits: ClassVar[str] = "It knows the languages and the subjects of its data."
    encoding: ClassVar[str] = (
        "A text becomes the ids of its pieces, from 3 on for subwords and bytes, from 4 on for characters and words. A "
        "subword vocabulary is the tokenizer.json of the library tokenizers, which JavaScript has as @huggingface/"
        "tokenizers; 3 is added to its ids."
    )
    modalities: ClassVar[Mapping[str, int]] = {"text": 2, "molecule": 2}

    vocabulary: str = one_of("subwords", *VOCABULARIES)
    size: int = integer(8000, 8)
    piece_dropout: float = fraction(0.1)

    @classmethod
    def suits(cls, source: Any) -> int:
        return 2 if isinstance(source, str) else 0

    @classmethod
    def fitted(cls, pairs: Sequence[tuple[Any, Any]]) -> Mapping[str, Any]:
        return {"input": vocabulary_settings([source for source, _ in pairs if isinstance(source, str)])}

    def fit(self, sources: Iterable[str]) -> Vocabulary:
        # The number of bytes is fixed.
        return Bytes() if self.vocabulary == "bytes" else VOCABULARIES[self.vocabulary].fit(sources, self.size)

    def encoder(self, saved: Any) -> Vocabulary:
        return vocabulary_from_json(saved)

    def item(self, encoder: Vocabulary, source: str) -> Int64[Tensor, "piece 1"]:
        if not isinstance(source, str):
            raise ArgumentError(f"a source must be a text, but is {source!r:.60}.")
        return torch.tensor(encoder.encode(source), dtype=torch.int64).unsqueeze(1)

    def unknown_pieces(self, encoder: Vocabulary, source: str) -> list[str]:
        # Subwords and bytes spell what they don't know.
        return encoder.unknown_pieces(source) if isinstance(encoder, Characters | Words) else []

    def ood_statistics(self, encoder: Vocabulary, source: str) -> tuple[Statistic, ...]:
        # Words that are frequent in training are one piece; others are split into many.
        if not source or not isinstance(encoder, Subwords | Bytes):
            return ()
        pieces = len(encoder.encode(source))
        said = f"its {counted(len(source), 'character')} fall into {counted(pieces, 'piece')}"
        of_set = "their characters fall into {} pieces each"
        return (Statistic("pieces", pieces, len(source), said, of_set=of_set, shown="{:.2f}".format),)

    def known_text(self, encoder: Vocabulary) -> str:
        # All bytes are known from the start, whatever was in training.
        return "" if isinstance(encoder, Bytes) else encoder.decode(range(END + 1, encoder.size))

    def random_items(self, encoder: Vocabulary, lengths: Sequence[int]) -> list[Int64[Tensor, "piece 1"]]:
        draws = torch.Generator().manual_seed(0)
        return [torch.randint(END + 1, encoder.size, (length, 1), generator=draws) for length in lengths]

    def encoder_file(self, encoder: Vocabulary) -> str:
        return "pieces"

    def embedding(self, encoder: Vocabulary, width: int) -> nn.Module:
        return PieceEmbedding(encoder.size, width, self.piece_dropout)

    def simple_features(self, encoder: Vocabulary) -> "SimpleFeatures":
        from regard.tasks.baselines.features import TextFeatures

        return TextFeatures()

    def names(self, encoder: Vocabulary, source: str) -> list[str]:
        return encoder.pieces(source)


class PieceEmbedding(nn.Module):
    """A learned vector for each piece of text.

    Args:
        size: the number of pieces.
        width: the size of the vectors.
        dropout: the probability that a vector is replaced by zeros in training.
    """

    def __init__(self, size: int, width: int, dropout: float):
        super().__init__()
        self.table = nn.Embedding(size, width, padding_idx=PADDING)
        self.dropout = dropout

    def forward(self, ids: Int64[Tensor, "batch length 1"]) -> Float[Tensor, "batch length width"]:
        """The vectors of pieces; zeros at padding."""
        ids = ids.squeeze(-1)
        if self.training and self.dropout:
            ids = ids.masked_fill(torch.rand(ids.shape, device=ids.device) < self.dropout, PADDING)
        return self.table(ids)


_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_FEW_CHARACTERS = 200
_SHORT = 40  # characters
_FEW_TEXTS = 5000
_FEW_WORDS = 2.5  # in a text, on average


def vocabulary_settings(texts: Sequence[str]) -> dict[str, Any]:
    """The vocabulary for texts: characters for words, single or by twos, and for a few short texts; else subwords."""
    characters = {*"".join(texts)}
    short = sum(map(len, texts)) <= _SHORT * len(texts)
    # A word may stand beside what is asked of it: "walk V;PST".
    spelt = sum(len(text.split()) for text in texts) <= _FEW_WORDS * len(texts)
    if len(characters) <= _FEW_CHARACTERS and (spelt or (short and len(texts) <= _FEW_TEXTS)):
        return {"vocabulary": "characters", "size": _FEW_CHARACTERS + 8}
    return {"vocabulary": "subwords"}


def mostly_unspaced(texts: Sequence[str]) -> bool:
    """Whether most characters belong to a script without spaces between words."""
    letters = sum(map(len, texts))
    return bool(letters) and 2 * sum(len(_UNSPACED.findall(text)) for text in texts) > letters
