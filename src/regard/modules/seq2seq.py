"""Sequence to sequence: what every such model offers, for training and for generation.

The model decides the length: it reads a source of any length, and says ids one after the other until it says `END`.
"""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.dropout import Dropout
from regard.modules.outline import Outline
from regard.modules.padding import zero_padding
from regard.special_ids import END, PADDING

__all__ = ["Memory", "ScaledEmbedding", "Seq2Seq", "embed_source", "memory_of"]


@dataclass(frozen=True, eq=False)
class Memory:
    """What is left of a batch of sources when they have been read; each model fills in what its decoder needs.

    Args:
        lengths: (batch,) how many items each source has.
        vector: (batch, width) each whole source as one vector.
        keys: (batch, length, width) what the decoder's attention finds an item of the source by.
        values: (batch, length, width) what it gets of an item that it has found.
        outline: how the target is to go along the source, of a model that keeps time.
    """

    lengths: Tensor
    vector: Tensor | None = None
    keys: Tensor | None = None
    values: Tensor | None = None
    outline: Outline | None = None

    def part(self, name: str) -> Tensor:
        """The vector, the keys or the values, of a model whose decoder can't do without.

        Raises:
            ArgumentError: there are none: another kind of model read the sources.
        """
        found = getattr(self, name)
        if found is None:
            raise ArgumentError(f"`memory` must come from this model's own `encode`, but it holds no {name}.")
        return found


class ScaledEmbedding(nn.Embedding):
    """A vector for each id, times sqrt(width), so that it is of the size of a position; id 0 is padding, and zeros.

    The table itself stays small enough to score the outputs with.

    Raises:
        ArgumentError: sizes that can't be, or (on the CPU, where looking is free) an id that the table doesn't have.

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
    """The vectors of the sources, whatever stands at padding.

    Raises:
        ArgumentError: the module makes something else of them.
    """
    vectors = module(zero_padding(source, lengths))
    if vectors.shape != (*source.shape[:2], width):
        raise ArgumentError(
            f"`source` must be a module that makes vectors {(*source.shape[:2], width)} of {tuple(source.shape)}, "
            f"but makes {tuple(vectors.shape)}."
        )
    return vectors


class Seq2Seq(nn.Module):
    """A source in, a target out, whose length the model decides.

    To train: `model(model.encode(source, lengths), inputs)`, where the inputs are the target shifted behind `START`,
    gives at each place the scores of what comes next. To generate: `greedy`, `beam_search`; or by hand, `start` and
    `step`.

    Args:
        source: the size of the source's vocabulary, where sources are ids; or, where they are frames of speech or
            anything else, the module that makes vectors (batch, length, width) of them, such as a linear layer.
        vocabulary: how many ids the target has, with `PADDING`, `START` and `END`.
        width: the size of the vectors inside.
        dropout: the share dropped of the embedded source and target.
        tied: whether a target's scores come of the table that embeds it, and not of a matrix of their own.

    Attributes:
        spelling: a `Spelling`, where it learns beside its decoder what each of a source's vectors says; or None.

    Source: the notes, 001, the third kind of output; tied: Press & Wolf 2017 (arXiv 1608.05859).
    """

    def __init__(self, source: int | nn.Module, vocabulary: int, width: int, *, dropout: float, tied: bool):
        super().__init__()
        self.source = ScaledEmbedding(source, width) if isinstance(source, int) else source
        self.target = ScaledEmbedding(vocabulary, width)
        self.output = None if tied else nn.Linear(width, vocabulary)
        self.dropout = Dropout(dropout)
        self.spelling: Any = None

    @property
    def vocabulary(self) -> int:
        """How many ids the target has."""
        return self.target.num_embeddings

    def encode(self, source: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> Memory:
        """Read the sources.

        Args:
            source: (batch, length) ids, or (batch, length, feature) vectors; what stands at padding doesn't matter.
            lengths: (batch,) how many items of each are real; an empty source is allowed.
        """
        raise NotImplementedError

    def forward(self, memory: Memory, inputs: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        """The scores of what comes after each of these ids, all at once (teacher forcing).

        Args:
            memory: the sources, read.
            inputs: the ids that come before: `START`, then the target.
        """
        raise NotImplementedError

    def start(self, memory: Memory) -> Any:
        """The state before the first step, which is given `START`."""
        raise NotImplementedError

    def step(self, state: Any, ids: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocabulary"], Any]:
        """The scores of what comes after one more id, and the new state; the old one is used up."""
        raise NotImplementedError

    def reorder(self, state: Any, indices: Int[Tensor, " picked"]) -> Any:
        """The state of these items of the batch, in this order; one may be picked often, or not at all."""
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


def memory_of(model: Seq2Seq, source: Tensor, lengths: Tensor, memory: Memory | None) -> Memory:
    """What a model read of these sources: that which it is given, if it is of so many; else it reads them.

    Raises:
        ArgumentError: it is of other sources.
    """
    if memory is None:
        return model.encode(source, lengths)
    if memory.lengths.tolist() != lengths.tolist():
        raise ArgumentError(
            f"`memory` must be of these sources, of lengths {lengths.tolist()!s:.60}, but is of sources of lengths "
            f"{memory.lengths.tolist()!s:.60}. Pass what `model.encode` gave for them, or None."
        )
    return memory
