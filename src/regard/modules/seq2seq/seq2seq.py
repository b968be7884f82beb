"""Sequence to sequence: the interface of all such models, for training and for generation.

A model encodes a source of any length, and generates ids one after the other until it generates `END`.
"""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.dropout import Dropout
from regard.modules.padding import zero_padding
from regard.modules.seq2seq.duration_plan import DurationPlan
from regard.special_ids import END, PADDING

__all__ = ["Memory", "ScaledEmbedding", "Seq2Seq", "checked_memory", "embed_source"]


@dataclass(frozen=True, eq=False)
class Memory:
    """A batch of encoded sources; each model fills in what its decoder needs.

    Args:
        lengths: (batch,) the number of items of each source.
        vector: (batch, width) one vector for each source.
        keys: (batch, length, width) the keys of the decoder's attention.
        values: (batch, length, width) the values of the decoder's attention.
        duration_plan: the duration plan of a model that predicts one.
        copyable: the `Copyable` of a model that copies.
    """

    lengths: Tensor
    vector: Tensor | None = None
    keys: Tensor | None = None
    values: Tensor | None = None
    duration_plan: DurationPlan | None = None
    copyable: Any = None

    def part(self, name: str) -> Any:
        """The vector, the keys, the values or what can be copied, for a decoder that requires them.

        Raises:
            ArgumentError: they are missing, because another kind of model encoded the sources.
        """
        found = getattr(self, name)
        if found is None:
            raise ArgumentError(f"`memory` must come from this model's own `encode`, but it holds no {name}.")
        return found


class ScaledEmbedding(nn.Embedding):
    """An embedding scaled by sqrt(width), to the magnitude of positional encodings; id 0 is padding, and zeros.

    The table itself isn't scaled, so that it can also score the outputs.

    Raises:
        ArgumentError: an invalid size, or (checked on the CPU only) an id that isn't in the table.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.4.
    """

    def __init__(self, vocabulary: int, width: int):
        check_count("vocabulary", vocabulary, "how many ids there are, with padding, start and end", least=END + 1)
        check_count("width", width, "the size of the vectors")
        super().__init__(vocabulary, width, padding_idx=PADDING)

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)
        self._fill_padding_idx_with_zero()

    def forward(self, input: Int[Tensor, "..."]) -> Float[Tensor, "..."]:
        if input.device.type == "cpu" and input.numel():
            least, most = input.aminmax()
            if least < 0 or most >= self.num_embeddings:
                raise ArgumentError(
                    f"`ids` must lie between 0 and {self.num_embeddings - 1}, but go from {int(least)} to {int(most)}. "
                    "Encode with the vocabulary that the model was made for."
                )
        return super().forward(input) * self.embedding_dim**0.5


def embed_source(
    module: nn.Module, source: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"], width: int
) -> Float[Tensor, "batch length width"]:
    """Embed the sources; the content of padding doesn't matter.

    Raises:
        ArgumentError: the module's output has another shape.
    """
    vectors = module(zero_padding(source, lengths))
    if vectors.shape != (*source.shape[:2], width):
        raise ArgumentError(
            f"`source` must be a module that makes vectors {(*source.shape[:2], width)} of {tuple(source.shape)}, "
            f"but makes {tuple(vectors.shape)}."
        )
    return vectors


class Seq2Seq(nn.Module):
    """The base of sequence-to-sequence models: the model decides how long the target is.

    To train: `model(model.encode(source, lengths), inputs)`, where the inputs are the target shifted by `START`, gives
    the scores of the next id at each position. To generate: `greedy` and `beam_search`, or step by step, `start` and
    `step`.

    Args:
        source: the size of the source's vocabulary, if sources are ids; otherwise, as for frames of speech, the module
            that makes vectors (batch, length, width) of them, such as a linear layer.
        vocabulary: the number of ids of the target, including `PADDING`, `START` and `END`.
        width: the size of the vectors inside the model.
        dropout: the fraction dropped of the embedded source and target.
        tied: whether the target's embedding table also computes the scores, instead of a matrix of their own.

    Attributes:
        spelling: the `CTCHead` on the encoded source, or None. Saved weights have this name as their prefix.
        copying: likewise the `CopyHead` of a model that copies (`AttentionSeq2Seq` can), or None.

    Source: the notes, 001, the third kind of output; tied: Press & Wolf 2017 (arXiv 1608.05859).
    """

    def __init__(self, source: int | nn.Module, vocabulary: int, width: int, *, dropout: float, tied: bool):
        super().__init__()
        self.source = ScaledEmbedding(source, width) if isinstance(source, int) else source
        self.target = ScaledEmbedding(vocabulary, width)
        self.output = None if tied else nn.Linear(width, vocabulary)
        self.dropout = Dropout(dropout)
        self.spelling: Any = None
        self.copying: Any = None

    @property
    def vocabulary(self) -> int:
        """The number of ids of the target."""
        return self.target.num_embeddings

    def encode(self, source: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> Memory:
        """Encode the sources.

        Args:
            source: (batch, length) ids, or (batch, length, feature) vectors; the content of padding doesn't matter.
            lengths: (batch,) the number of real items of each source; it may be 0.
        """
        raise NotImplementedError

    def forward(self, memory: Memory, inputs: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        """The scores of the next id after each of these ids, all at once (teacher forcing).

        Args:
            memory: the encoded sources.
            inputs: the previous ids: `START`, then the target.
        """
        raise NotImplementedError

    def start(self, memory: Memory) -> Any:
        """The state before the first step, whose input is `START`."""
        raise NotImplementedError

    def step(self, state: Any, ids: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocabulary"], Any]:
        """The scores of the next id after one more id, and the new state; the old state can't be used again."""
        raise NotImplementedError

    def reorder(self, state: Any, indices: Int[Tensor, " picked"]) -> Any:
        """The state of these items of the batch, in this order; an item may be selected repeatedly or not at all."""
        raise NotImplementedError

    def _embed_source(self, source: Tensor, lengths: Tensor) -> Tensor:
        return self.dropout(embed_source(self.source, source, lengths, self.target.embedding_dim))

    def _embed_target(self, memory: Memory, inputs: Tensor) -> Tensor:
        if len(inputs) != len(memory.lengths) or not inputs.shape[1]:
            raise ArgumentError(
                f"`inputs` must be ids ({len(memory.lengths)}, length) that begin with START, for as many sources as "
                f"were read, but are {tuple(inputs.shape)}."
            )
        return self.dropout(self.target(inputs))

    def _score(self, vectors: Tensor) -> Tensor:
        """Vectors (..., width) to the scores of every id, (..., vocabulary)."""
        return nn.functional.linear(vectors, self.target.weight) if self.output is None else self.output(vectors)


def checked_memory(model: Seq2Seq, source: Tensor, lengths: Tensor, memory: Memory | None) -> Memory:
    """The given memory, if it matches the sources; without one, the sources are encoded.

    Raises:
        ArgumentError: the memory is that of other sources.
    """
    if memory is None:
        return model.encode(source, lengths)
    if memory.lengths.tolist() != lengths.tolist():
        raise ArgumentError(
            f"`memory` must be of these sources, of lengths {lengths.tolist()!s:.60}, but is of sources of lengths "
            f"{memory.lengths.tolist()!s:.60}. Pass what `model.encode` gave for them, or None."
        )
    return memory
