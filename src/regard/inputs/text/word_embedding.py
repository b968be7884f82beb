"""The embedding of words from the ids of their features."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inputs.text.embedding_sum import EmbeddingSum
from regard.inputs.text.word_encoder import UNKNOWN, WordEncoder

__all__ = ["WordEmbedding"]


class WordEmbedding(nn.Module):
    """The vector of a word: learned vectors of its features, summed for each kind, concatenated, and projected.

    x = W [word ; sum of affixes ; sum of n-grams ; sum of shapes] + b, and zeros for padding. A kind of width 0, or one
    that `encoder.features` leaves out, is left out here, too.

    Args:
        encoder: the encoder that makes the ids; only its sizes are used.
        width: the size of the vector of a word.
        word_width: the size of the vectors of known words, before the projection.
        affix_width: the same for prefixes and suffixes.
        ngram_width: the same for n-grams.
        shape_width: the same for shapes.
        word_dropout: in training, the probability that a word's id is replaced by that of the unknown word, so that the
            model learns to use the other features. Drawn from torch's generator.
        feature_dropout: in training, the probability that an affix or n-gram is left out.
        dropout: in training, the probability that a number of the concatenated vector is set to zero.

    Raises:
        ArgumentError: a size below 0, a probability outside 0 to 1, or no kind of feature at all.

    Example:
        >>> encoder = WordEncoder.fit([["I", "saw", "a", "saw"]], minimum_count=1)
        >>> embedding = WordEmbedding(encoder, 7)
        >>> batch = encoder.encode([["I", "saw"], ["saw"]])
        >>> vectors = embedding(batch.vectors)
        >>> vectors.shape, bool((vectors[1, 1] == 0).all())
        (torch.Size([2, 2, 7]), True)
    """

    def __init__(
        self,
        encoder: WordEncoder,
        width: int,
        *,
        word_width: int = 64,
        affix_width: int = 64,
        ngram_width: int = 64,
        shape_width: int = 16,
        word_dropout: float = 0.0,
        feature_dropout: float = 0.0,
        dropout: float = 0.0,
    ):
        super().__init__()
        features = encoder.features
        for name, probability in (
            ("word_dropout", word_dropout),
            ("feature_dropout", feature_dropout),
            ("dropout", dropout),
        ):
            if not 0 <= probability <= 1:
                raise ArgumentError(f"`{name}` must be a probability from 0 to 1, but is {probability}.")
        for name, size in (
            ("word", word_width),
            ("affix", affix_width),
            ("ngram", ngram_width),
            ("shape", shape_width),
        ):
            if size < 0:
                raise ArgumentError(f"`{name}_width` must be at least 0 (none), but is {size}.")
        if width < 1:
            raise ArgumentError(f"`width` must be at least 1, but is {width}.")
        self.word_dropout, self.feature_dropout = word_dropout, feature_dropout
        self.columns = dict(features.columns)
        word_columns = self.columns["word"]
        # The usual number of features of each kind, so that initially their sum is about as large as one word's vector.
        usual = {"word": word_columns, "affix": 3.0, "ngram": 3.0, "shape": 1.0}
        sizes = {
            "word": (encoder.word_ids, word_width, word_columns),
            "affix": (features.affix_ids, affix_width, self.columns["affix"]),
            "ngram": (features.ngram_ids, ngram_width, int(features.has_ngrams)),
            "shape": (features.shape_ids, shape_width, self.columns["shape"]),
        }
        self.tables = nn.ModuleDict()
        for kind, (ids, size, count) in sizes.items():
            if size and count:
                table = EmbeddingSum(ids, size)
                with torch.no_grad():
                    table.weight.normal_(0, 1 / usual[kind])
                    table.weight[0] = 0
                self.tables[kind] = table
        if not self.tables:
            raise ArgumentError("at least one kind of feature must have a width above 0, but none has.")
        self.dropout = nn.Dropout(dropout)
        self.project = nn.Linear(sum(sizes[kind][1] for kind in self.tables), width)

    def forward(self, ids: Int64[Tensor, "batch length feature"]) -> Float[Tensor, "batch length width"]:
        """The vectors of words.

        Args:
            ids: the ids that `WordEncoder.encode` returned, (batch, length, feature).
        """
        batch, length, _ = ids.shape
        ids = ids.flatten(0, 1)  # (b n f) -> (b n) f
        kinds = self._split(ids)
        joined = torch.cat([table(self._drop(kind, kinds[kind])) for kind, table in self.tables.items()], dim=-1)
        vectors = self.project(self.dropout(joined))
        # The bias would give padding a vector; real words have an id above 0 in the first column.
        vectors = torch.where(ids[:, :1] > 0, vectors, 0)
        return vectors.unflatten(0, (batch, length))

    def _split(self, ids: Tensor) -> dict[str, Tensor]:
        """The ids of each kind of feature."""
        sizes = [*self.columns.values(), ids.shape[1] - sum(self.columns.values())]
        return dict(zip((*self.columns, "ngram"), ids.split(sizes, dim=1), strict=True))

    def _drop(self, kind: str, ids: Tensor) -> Tensor:
        """In training, replace ids of words by the unknown word, and leave out affixes and n-grams, at random."""
        if kind == "word" and self.training and self.word_dropout:
            # One draw for each word, so that both spellings become unknown together. Padding is zeroed at the end.
            dropped = torch.rand(len(ids), 1, device=ids.device) < self.word_dropout
            return torch.where(dropped, UNKNOWN, ids)
        if kind in ("affix", "ngram") and self.training and self.feature_dropout:
            return ids * (torch.rand(ids.shape, device=ids.device) >= self.feature_dropout)
        return ids
