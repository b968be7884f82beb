"""The encoder of texts by static vectors, and the embedding that looks them up."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inputs.saved import checked_names
from regard.inputs.text.special_ids import checked_text
from regard.inputs.text.splitters import FIRST, UNKNOWN, Splitter, splitter_from_json
from regard.inputs.text.static_table import StaticTable
from regard.special_ids import PADDING

__all__ = ["StaticEmbedding", "StaticEncoder", "StaticItem", "sif_weights"]

_SIZES = ("rows", "width")


class StaticItem(NamedTuple):
    """An encoded text.

    Args:
        words: its words.
        ids: the ids of each word's pieces, padded with 0.
    """

    words: Sequence[str]
    ids: Int64[Tensor, "word piece"]

    def __len__(self) -> int:
        return len(self.words)


class StaticEncoder:
    """Finds the ids of words and their pieces; while a model is trained, it has their vectors, too.

    Args:
        splitter: splits texts.
        rows: the number of vectors.
        width: their size.
        mapped: whether ids share vectors, so that a table says which.
        weighted: whether each id has a weight.
        origin: where the vectors come from (`StaticTable`).
        table: the vectors; None once they are in a network.

    Example:
        >>> from regard.inputs.text.splitters import WordSplitter
        >>> table = StaticTable(WordSplitter(["saw"]), torch.ones(1, 3))
        >>> encoder = StaticEncoder.of(table)
        >>> encoder.encode(["I", "saw"], "I saw").ids.tolist(), StaticEncoder.from_json(encoder.to_json()).width
        ([[1], [2]], 3)
    """

    def __init__(
        self,
        splitter: Splitter,
        *,
        rows: int,
        width: int,
        mapped: bool,
        weighted: bool,
        origin: Mapping[str, Any],
        table: StaticTable | None = None,
    ):
        self.splitter = splitter
        self.rows, self.width, self.mapped, self.weighted = rows, width, mapped, weighted
        self.origin = dict(origin)
        self.table = table

    @classmethod
    def of(cls, table: StaticTable) -> "StaticEncoder":
        """The encoder of a table."""
        return cls(
            table.splitter,
            rows=len(table.vectors),
            width=table.width,
            mapped=table.rows is not None,
            weighted=table.weights is not None,
            origin=table.origin,
            table=table,
        )

    def encode(self, words: Sequence[str], text: str) -> StaticItem:
        """Encode a text.

        Args:
            words: its words.
            text: the text that holds them in this order.
        """
        rows = self.splitter.ids([checked_text(word) for word in words], checked_text(text))
        longest = max(map(len, rows), default=0) or 1
        padded = [row + [PADDING] * (longest - len(row)) for row in rows]
        return StaticItem(words, torch.tensor(padded, dtype=torch.int64).reshape(len(rows), longest))

    def to_json(self) -> dict[str, Any]:
        """The encoder as a JSON object, without the vectors: those are in the network."""
        sizes = {"rows": self.rows, "width": self.width, "mapped": self.mapped, "weighted": self.weighted}
        return {"splitter": self.splitter.to_json(), **sizes, "origin": self.origin}

    @classmethod
    def from_json(cls, saved: Any) -> "StaticEncoder":
        """The encoder of the JSON object that `to_json` returned.

        Raises:
            ArgumentError: something is missing or invalid.
            MissingExtraError: the library `tokenizers` is not installed, and it has a tokenizer.
        """
        values = checked_names("reader", saved, ["splitter", *_SIZES, "mapped", "weighted", "origin"])
        for name in _SIZES:
            if type(values[name]) is not int or values[name] < 1:
                raise ArgumentError(f"`{name}` must be a whole number, 1 or more, but is {values[name]!r:.60}.")
        for name in ("mapped", "weighted"):
            if not isinstance(values[name], bool):
                raise ArgumentError(f"`{name}` must be true or false, but is {values[name]!r:.60}.")
        if not isinstance(values["origin"], dict):
            raise ArgumentError(f"`origin` must be a JSON object, but is {values['origin']!r:.60}.")
        splitter = splitter_from_json(values.pop("splitter"))
        if not values["mapped"] and values["rows"] != splitter.size - FIRST:
            raise ArgumentError(
                f"`rows` must be {splitter.size - FIRST:,}, one for each id, but is {values['rows']:,}."
            )
        return cls(splitter, **values)


def sif_weights(size: int, ids: Int64[Tensor, " piece"], smoothing: float) -> Float[Tensor, " id"]:
    """The weight a / (a + p) of each id from 2 on, where p is its share of these ids: frequent ones count less.

    Args:
        size: the number of ids, with padding and unknown.
        ids: the ids of the training texts.
        smoothing: a.

    Source: Arora et al. 2017, A Simple but Tough-to-Beat Baseline for Sentence Embeddings (ICLR 2017), algorithm 1.

    Example:
        >>> sif_weights(5, torch.tensor([2, 2, 2, 3]), 0.25).tolist()
        [0.25, 0.5, 1.0]
    """
    shares = ids.bincount(minlength=size) / max(1, len(ids))
    return (smoothing / (smoothing + shares))[FIRST:]


class StaticEmbedding(nn.Module):
    """Looks up the vectors of pieces, and projects them where a network has another width.

    The vector of a word of several pieces is their sum, so that the sum over a text is that of all pieces. What has no
    vector is zeros.

    Args:
        encoder: has the sizes and, in training, the vectors.
        width: the size of the vectors that it gives.
        trained: whether the vectors are trained further.
        dropout: the probability that the vector of a word is replaced by zeros in training.

    Example:
        >>> from regard.inputs.text.splitters import WordSplitter
        >>> table = StaticTable(WordSplitter(["a", "saw"]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> StaticEmbedding(StaticEncoder.of(table), 2)(torch.tensor([[[2, 3], [1, 0]]])).tolist()
        [[[4.0, 6.0], [0.0, 0.0]]]
    """

    rows: Tensor | None
    weights: Tensor | None

    def __init__(self, encoder: StaticEncoder, width: int, *, trained: bool = False, dropout: float = 0.0):
        super().__init__()
        size = encoder.splitter.size
        self.table = nn.Embedding(FIRST + encoder.rows, encoder.width, padding_idx=PADDING)
        self.table.weight.requires_grad_(trained)
        # As int32, the type that a saved model may hold.
        self.register_buffer("rows", torch.zeros(size, dtype=torch.int32) if encoder.mapped else None)
        self.register_buffer("weights", torch.zeros(size) if encoder.weighted else None)
        self.dropout = dropout
        self.project = None if width == encoder.width else nn.Linear(encoder.width, width)
        if encoder.table is not None:
            self._fill(encoder.table)

    def _fill(self, table: StaticTable) -> None:
        with torch.no_grad():
            self.table.weight[:FIRST] = 0.0
            self.table.weight[FIRST:] = table.vectors
            if self.rows is not None and table.rows is not None:
                self.rows[UNKNOWN] = UNKNOWN
                self.rows[FIRST:] = FIRST + table.rows
            if self.weights is not None and table.weights is not None:
                self.weights[FIRST:] = table.weights

    def forward(self, ids: Int64[Tensor, "batch length piece"]) -> Float[Tensor, "batch length width"]:
        """The vectors of items; zeros at padding."""
        if self.training and self.dropout:
            ids = ids.masked_fill(torch.rand(ids.shape[:2], device=ids.device)[..., None] < self.dropout, PADDING)
        found = self.table(ids if self.rows is None else self.rows[ids].long())
        if self.weights is not None:
            found = found * self.weights[ids][..., None]
        # (b n p f) -> (b n f)
        vectors = found.sum(2)
        return vectors if self.project is None else self.project(vectors)
