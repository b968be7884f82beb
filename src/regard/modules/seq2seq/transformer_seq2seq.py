"""Sequence to sequence by attention alone: the Transformer."""

from typing import Any

from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from regard.attention import Lengths
from regard.attention.masks import as_mask
from regard.modules.guide import Guide
from regard.modules.padding import padding_mask
from regard.modules.seq2seq.decoder import encoder_and_decoder
from regard.modules.seq2seq.seq2seq import Memory, Seq2Seq

__all__ = ["TransformerSeq2Seq"]


class TransformerSeq2Seq(Seq2Seq):
    """The Transformer: an encoder of the source, and a decoder that attends to it and to the previous targets.

    In training all targets are computed at once. In generation each step computes one target and caches its keys and
    values.

    Args:
        source, vocabulary, width, dropout, tied: as in `Seq2Seq`.
        layers: the number of layers of the encoder, and of the decoder unless `decoder_layers` is given.
        heads, hidden, position, **parts: as in `Encoder`, for both; cross-attention has no position scheme, and an
            `approximation` is of the encoder alone.
        guide: where in the source each target may attend, for tasks that run from left to right.
        mask: of the encoder's self-attention, in addition to padding: `Window(2, 2)` is truncated attention.

    Raises:
        ArgumentError: sizes that don't match, or an unknown name.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), sections 3.1 to 3.5; the notes, 001 and 004.

    Example:
        >>> import torch
        >>> model = TransformerSeq2Seq(source=7, vocabulary=5, width=8, layers=2, heads=2, hidden=16)
        >>> memory = model.encode(torch.tensor([[3, 4, 6], [5, 0, 0]]), torch.tensor([3, 1]))
        >>> model(memory, torch.tensor([[1, 3], [1, 4]])).shape
        torch.Size([2, 2, 5])
    """

    def __init__(
        self,
        source: int | nn.Module,
        vocabulary: int,
        width: int,
        layers: int,
        heads: int,
        *,
        hidden: int,
        dropout: float = 0.0,
        decoder_layers: int | None = None,
        position: Any = "sinusoidal",
        tied: bool = False,
        guide: Guide | None = None,
        mask: Any = None,
        **parts: Any,
    ):
        super().__init__(source, vocabulary, width, dropout=dropout, tied=tied)
        parts = {"hidden": hidden, "dropout": dropout, "position": position, **parts}
        self.encoder, self.decoder = encoder_and_decoder(width, layers, heads, decoder_layers=decoder_layers, **parts)
        self.guide = guide
        self.mask = None if mask is None else as_mask(mask)

    def encode(self, source: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> Memory:
        vectors = self.encoder(self._embed_source(source, lengths), mask=padding_mask(source, lengths, self.mask))
        return Memory(lengths, keys=vectors, values=vectors)

    def forward(self, memory: Memory, inputs: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        mask: Any = Lengths(key=memory.lengths)
        if self.guide is not None:
            mask = mask & self.guide.mask(0, inputs.shape[1], memory.lengths)
        return self._score(self.decoder(self._embed_target(memory, inputs), memory.part("keys"), mask=mask))

    def start(self, memory: Memory) -> Any:
        return self.decoder.start(memory.part("keys"), memory.lengths)

    def step(self, state: Any, ids: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocabulary"], Any]:
        source, done = state[0].source, state[0].own.length
        mask = None if self.guide is None else self.guide.mask(done, 1, source.lengths)
        vectors = self.dropout(self.target(ids.unsqueeze(1)))
        return self._score(self.decoder.step(vectors, state, mask=mask)).squeeze(1), state

    def reorder(self, state: Any, indices: Int[Tensor, " picked"]) -> Any:
        for caches in state:
            caches.source.reorder(indices)
            # Before the first step the target's cache is empty.
            if caches.own.length:
                caches.own.reorder(indices)
        return state
