"""Texts as static vectors: each word has the vector that a file or folder says, wherever it stands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.inputs import Batch
from regard.inputs.text.splitters import FIRST, UNKNOWN
from regard.inputs.text.static_table import StaticTable, existing, table_digests
from regard.page.numbers import counted
from regard.tasks.judging.out_of_distribution import Statistic
from regard.tasks.settings import boolean, fraction, integer, one_of, real, text
from regard.tasks.sources.static_defaults import static_defaults
from regard.tasks.sources.static_encoder import StaticEmbedding, StaticEncoder, StaticItem, sif_weights
from regard.tasks.sources.word_source import CUTS, LinearWordSource

__all__ = ["StaticVectors"]


@dataclass(frozen=True)
class StaticVectors(LinearWordSource):
    """Sources that are texts, or lists of words, read by static vectors that were made from other texts.

    The vectors are scaled so that the mean square of the numbers of those that the training texts have is 1. They
    become part of the model; the file isn't needed afterwards.

    Args:
        path: a text file in the format of GloVe or word2vec, or a folder as model2vec saves it, whose tokenizer splits
            words into pieces.
        cut: how a text is split into words, a name in `CUTS`.
        most: of a text file: how many of its first words are kept beside those of the training texts; most files begin
            with the most frequent words.
        trained: whether the vectors are trained, too; else they stay as they are.
        sif: a of the weights a / (a + p), where p is the share of a word or piece in the training texts; 0: all weigh
            alike.
        word_dropout: the probability that the vector of a word is replaced by zeros in training.
        linear, linear_ngrams, linear_rows: of a classifier: the linear part, as in `Words`.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "static"
    vectors: ClassVar[str] = "the static vector of a word, or of its pieces, that a file or folder says"
    limits: ClassVar[str] = "It knows the languages of its vectors, and the subjects of its data."
    modalities: ClassVar[Mapping[str, int]] = {"text": 1}

    path: str = text()
    cut: str = one_of("words", *CUTS)
    most: int = integer(30_000, 0)
    trained: bool = boolean(False)
    sif: float = real(0.0, 0.0)
    word_dropout: float = fraction(0.0)
    linear: bool = boolean(False)
    linear_ngrams: str = one_of("words", "words", "characters")
    linear_rows: int = integer(65536, 2)

    @classmethod
    def suits(cls, source: Any) -> int:
        return 1 if isinstance(source, str | list | tuple) else 0

    def own_fields(self, pairs: Sequence[tuple[Any, Any]], task: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        return static_defaults(existing(self.path), pairs, task)

    @property
    def digests(self) -> Mapping[str, str]:
        return {f"vectors/{name}": digest for name, digest in table_digests(self.path).items()}

    def origin(self, saved: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"what": "static vectors", **saved.get("origin", {})}

    def fit(self, sources: Iterable[str | Sequence[str]]) -> StaticEncoder:
        sources = list(sources)
        words = {word for source in sources for word in self.words(source)}
        table = StaticTable.read(self.path, keep=words, first=self.most)
        encoder = StaticEncoder.of(table)
        ids = torch.cat(
            [torch.zeros(0, dtype=torch.int64), *(self.item(encoder, each).ids.flatten() for each in sources)]
        )
        if self.sif:
            own = sif_weights(table.splitter.size, ids[ids >= UNKNOWN], self.sif)
            table = replace(table, weights=own if table.weights is None else own * table.weights)
        return StaticEncoder.of(_scaled(table, ids[ids >= FIRST].unique() - FIRST))

    def encoder(self, saved: Any) -> StaticEncoder:
        return StaticEncoder.from_json(saved)

    def item(self, encoder: StaticEncoder, source: str | Sequence[str]) -> StaticItem:
        words = self.words(source)
        return encoder.encode(words, source if isinstance(source, str) else " ".join(words))

    def from_argument(self, encoder: StaticEncoder, argument: str) -> list[tuple[str, Any]]:
        # The text itself, as its tokenizer may split it otherwise than its words one by one.
        return [(argument, argument)]

    def linear_words(self, item: StaticItem) -> Sequence[str]:
        return item.words

    def batch(self, encoder: StaticEncoder, items: Sequence[StaticItem]) -> Batch:
        longest = max(item.ids.shape[1] for item in items)
        batch = Batch.pad([torch.nn.functional.pad(item.ids, (0, longest - item.ids.shape[1])) for item in items])
        return replace(batch, ngrams=self.ngrams([item.words for item in items])) if self.linear else batch

    def random_items(self, encoder: StaticEncoder, lengths: Sequence[int]) -> list[StaticItem]:
        draws = torch.Generator().manual_seed(0)
        ids = [torch.randint(UNKNOWN, encoder.splitter.size, (length, 2), generator=draws) for length in lengths]
        return [StaticItem([f"w{int(each)}" for each in own[:, 0]], own) for own in ids]

    def ood_statistics(self, encoder: StaticEncoder, source: str | Sequence[str]) -> tuple[Statistic, ...]:
        ids = self.item(encoder, source).ids
        if not len(ids):
            return ()
        unknown = int(((ids == UNKNOWN).any(1) & (ids <= UNKNOWN).all(1)).sum())
        said = f"{unknown:,} of its {counted(len(ids), 'word')} {'has' if unknown == 1 else 'have'} no vector"
        always = unknown == len(ids) > 1
        return (Statistic("unknown words", unknown, len(ids), said, 2, always, "{} of their words have no vector"),)

    def embedding(self, encoder: StaticEncoder, width: int) -> StaticEmbedding:
        return StaticEmbedding(encoder, width, trained=self.trained, dropout=self.word_dropout)


def _scaled(table: StaticTable, known: Tensor) -> StaticTable:
    """The table times a number, so that the mean square of the vectors at these places is 1."""
    rows = known if table.rows is None else table.rows[known]
    own = table.vectors[rows] if table.weights is None else table.vectors[rows] * table.weights[known][:, None]
    size = float(own.square().mean().sqrt()) if len(known) else 0.0
    return replace(table, vectors=table.vectors / size) if size > 0 else table
