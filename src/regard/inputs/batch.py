"""A batch: sequences of vectors, padded to one length. Every input is turned into one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int64, Shaped
from torch import Tensor

from regard.attention.compilation.traceable import is_traceable
from regard.attention.parts import map_operands
from regard.errors import ArgumentError

__all__ = ["IGNORED", "Batch", "pad_labels"]

IGNORED = -100
"""The label of items without a label, such as padding; PyTorch's `cross_entropy` ignores it by default."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Several inputs as one tensor: each input is a sequence of vectors, of which the first `lengths` are real.

    The meaning is the same for all kinds of input, so that one model can read them all:

    | input | an item of the sequence | its vector |
    |---|---|---|
    | text | a word or a character | float: one-hot or embedded; int64: ids of features, one row of ids for each word |
    | speech | a frame of 25 ms, one every 10 ms | float: samples, filter banks or MFCC |
    | picture | a pixel or a patch, row by row | float: its channels |
    | graph | a node, in the order of the node list | float: its profile; its edges are the mask |

    Padding follows the real items, and is zeros: float zeros, or id 0, which every table of features reserves. An empty
    batch, an input of length 0 and a maximum length of 0 are all allowed.

    Args:
        vectors: (batch, length, width) float vectors, or (batch, length, feature) int64 ids.
        lengths: (batch,) int64, the number of real items of each sequence.
        labels: (batch, length) int64, the label of each item, `IGNORED` at padding; None without labels.
        mask: which items may attend to which, in addition to padding: a mask of `regard.attention`, such as a graph's
            edges; None if all may attend to all.
        relations: (batch, query, key) int64, the relation of each key to each query as an id, such as the kind of bond
            between them; None if all relations are alike.
        ngrams: (batch, length, ngram) int64, the ids of the n-grams or affixes of each item (`hashed_ngrams`,
            `hashed_affixes`); None for none.
        whole: (batch, feature) float features of each input as a whole, such as counts of its items; None if there are
            none.

    Raises:
        ArgumentError: shapes or dtypes that don't match, or (checked on the CPU only) a length that is negative or
            exceeds that of the batch.

    Example:
        >>> batch = Batch.pad([torch.ones(2, 3), torch.ones(1, 3)], labels=[[5, 7], [5]])
        >>> batch.vectors.shape, batch.lengths.tolist(), batch.labels.tolist()
        (torch.Size([2, 2, 3]), [2, 1], [[5, 7], [5, -100]])
        >>> batch.real.tolist()
        [[True, True], [True, False]]
    """

    vectors: Shaped[Tensor, "..."]
    lengths: Shaped[Tensor, "..."]
    labels: Shaped[Tensor, "..."] | None = None
    mask: Any = None
    relations: Shaped[Tensor, "..."] | None = None
    ngrams: Shaped[Tensor, "..."] | None = None
    whole: Shaped[Tensor, "..."] | None = None

    def __post_init__(self) -> None:
        vectors, lengths, labels = self.vectors, self.lengths, self.labels
        if vectors.dim() != 3:
            raise ArgumentError(
                "`vectors` must have 3 axes (batch, length, width), but its shape is "
                f"{tuple(vectors.shape)}. One sequence alone needs a batch axis: vectors[None]."
            )
        if not (vectors.is_floating_point() or vectors.dtype == torch.int64):
            raise ArgumentError(f"`vectors` must be floats, or int64 for ids of features, but is {vectors.dtype}.")
        if lengths.shape != vectors.shape[:1] or lengths.dtype != torch.int64:
            raise ArgumentError(
                f"`lengths` must be int64 of shape ({vectors.shape[0]},), one for each sequence of `vectors`, "
                f"but is {lengths.dtype} of shape {tuple(lengths.shape)}."
            )
        if labels is not None and (labels.shape != vectors.shape[:2] or labels.dtype != torch.int64):
            raise ArgumentError(
                f"`labels` must be int64 of shape {tuple(vectors.shape[:2])}, one for each item of `vectors`, "
                f"but is {labels.dtype} of shape {tuple(labels.shape)}."
            )
        relations, square = self.relations, (vectors.shape[0], vectors.shape[1], vectors.shape[1])
        if relations is not None and (relations.shape != square or relations.dtype != torch.int64):
            raise ArgumentError(
                f"`relations` must be int64 of shape {square}, one for each pair of items, "
                f"but is {relations.dtype} of shape {tuple(relations.shape)}."
            )
        ngrams = self.ngrams
        if ngrams is not None and (ngrams.shape[:-1] != vectors.shape[:2] or ngrams.dtype != torch.int64):
            raise ArgumentError(
                f"`ngrams` must be int64 of shape ({len(vectors)}, {vectors.shape[1]}, ...), ids for each item of "
                f"`vectors`, but is {ngrams.dtype} of shape {tuple(ngrams.shape)}."
            )
        whole = self.whole
        if whole is not None and (
            whole.dim() != 2 or whole.shape[0] != vectors.shape[0] or not whole.is_floating_point()
        ):
            raise ArgumentError(
                f"`whole` must be floats of shape ({len(vectors)}, feature), a row for each sequence of `vectors`, "
                f"but is {whole.dtype} of shape {tuple(whole.shape)}."
            )
        # Reading values would synchronise with a GPU; batches are made on the CPU, so they are checked there.
        if lengths.device.type == "cpu" and not is_traceable() and len(lengths):
            shortest, longest = int(lengths.min()), int(lengths.max())
            if shortest < 0 or longest > vectors.shape[1]:
                wrong = shortest if shortest < 0 else longest
                raise ArgumentError(
                    f"`lengths` must lie between 0 and {vectors.shape[1]}, the length of `vectors`, but one is {wrong}."
                )

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def real(self) -> Bool[Tensor, "batch length"]:
        """True where an item is real, False where it is padding."""
        return torch.arange(self.vectors.shape[1], device=self.lengths.device) < self.lengths[:, None]

    def to(self, device: torch.device | str) -> "Batch":
        """Move the batch to a device; it returns itself if it is there already, as tensors do.

        Example:
            >>> batch = Batch.pad([torch.ones(2, 3)])
            >>> batch.to("cpu") is batch
            True
        """
        held = (self.vectors, self.lengths, self.labels, self.relations, self.ngrams, self.whole)
        if self.mask is None and all(tensor is None or tensor.device == torch.device(device) for tensor in held):
            return self
        labels = None if self.labels is None else self.labels.to(device)
        mask = None if self.mask is None else map_operands(lambda tensor: tensor.to(device), self.mask)
        relations = None if self.relations is None else self.relations.to(device)
        ngrams = None if self.ngrams is None else self.ngrams.to(device)
        whole = None if self.whole is None else self.whole.to(device)
        return Batch(self.vectors.to(device), self.lengths.to(device), labels, mask, relations, ngrams, whole)

    @classmethod
    def pad(cls, sequences: Sequence[Tensor], labels: Sequence[Sequence[int]] | None = None) -> "Batch":
        """Make a batch of sequences of vectors, padded with zeros to the length of the longest.

        Args:
            sequences: tensors (length, width) of one width.
            labels: the labels of the items of each sequence.

        Raises:
            ArgumentError: no sequence (the width would be unknown), differing widths, or labels that don't match.
        """
        if not sequences:
            raise ArgumentError("`sequences` must hold at least one tensor (length, width), but is empty.")
        shapes = {tuple(sequence.shape[1:]) for sequence in sequences}
        if len(shapes) > 1 or len(next(iter(shapes))) != 1:
            raise ArgumentError(
                "`sequences` must be tensors (length, width) of one width, but the shapes are "
                f"{', '.join(sorted({str(tuple(sequence.shape)) for sequence in sequences}))}."
            )
        lengths = torch.tensor([len(sequence) for sequence in sequences], device=sequences[0].device)
        vectors = torch.nn.utils.rnn.pad_sequence(list(sequences), batch_first=True)
        return cls(vectors, lengths, None if labels is None else pad_labels(labels, lengths))


def pad_labels(labels: Sequence[Sequence[int]], lengths: Int64[Tensor, " batch"]) -> Int64[Tensor, "batch length"]:
    """The labels of several sequences as one tensor, with `IGNORED` at padding.

    Raises:
        ArgumentError: the number of labels of a sequence isn't its length.

    Example:
        >>> pad_labels([[5, 7], [5]], torch.tensor([2, 1])).tolist()
        [[5, 7], [5, -100]]
    """
    wanted, given = lengths.tolist(), [len(row) for row in labels]
    if wanted != given:
        raise ArgumentError(
            f"`labels` must have one label for each item, so {wanted[:8]} (the first 8), but it has {given[:8]}."
        )
    padded = torch.full((len(wanted), max(wanted, default=0)), IGNORED, dtype=torch.int64, device=lengths.device)
    for row, values in zip(padded, labels, strict=True):
        row[: len(values)] = torch.as_tensor(values, dtype=torch.int64, device=lengths.device)
    return padded
