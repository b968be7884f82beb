"""Sequence to sequence with RNNs: through one fixed vector, and with attention to all states of the source."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from regard.attention.validation import check_count
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.attention import MultiHeadAttention
from regard.modules.cache import Cache
from regard.modules.guide import Guide
from regard.modules.projections import Projections
from regard.modules.recurrence import recur
from regard.modules.seq2seq.copying import Copyable
from regard.modules.seq2seq.seq2seq import Memory, Seq2Seq

__all__ = ["AttentionSeq2Seq", "RecurrentSeq2Seq"]


class RecurrentSeq2Seq(Seq2Seq):
    """An RNN encodes the source into one vector of fixed size, and another RNN decodes the target from it.

    The vector is the initial state of the decoder; each later step gets the state and the output of the step before.
    For a source of any length, what isn't in the vector is lost.

    Args:
        source, vocabulary, width, dropout, tied: as in `Seq2Seq`.
        layers: the number of GRU layers of the encoder, and of the decoder.
        bidirectional: whether the encoder runs in both directions, each with half of the width.

    Raises:
        ArgumentError: sizes that don't match.

    Source: the notes, 003, section 1; Sutskever et al. 2014 (arXiv 1409.3215), section 2; the GRU: Cho et al. 2014
        (arXiv 1406.1078), section 2.3.

    Example:
        >>> model = RecurrentSeq2Seq(source=7, vocabulary=5, width=8)
        >>> memory = model.encode(torch.tensor([[3, 4, 6], [5, 0, 0]]), torch.tensor([3, 1]))
        >>> memory.vector.shape, model(memory, torch.tensor([[1, 3], [1, 4]])).shape
        (torch.Size([2, 8]), torch.Size([2, 2, 5]))
    """

    # The number of vectors that a step of the decoder receives: the embedded id.
    _inputs: ClassVar[int] = 1

    def __init__(
        self,
        source: int | nn.Module,
        vocabulary: int,
        width: int,
        layers: int = 1,
        *,
        dropout: float = 0.0,
        bidirectional: bool = False,
        tied: bool = False,
    ):
        super().__init__(source, vocabulary, width, dropout=dropout, tied=tied)
        check_count("layers", layers, "how many layers the encoder and the decoder have")
        if bidirectional and width % 2:
            raise ArgumentError(f"`width` must be even for a bidirectional encoder, but is {width}.")
        # PyTorch applies dropout between layers, and warns if there is only one.
        between = dropout if layers > 1 else 0.0
        size = width // 2 if bidirectional else width
        self.encoder = nn.GRU(width, size, layers, batch_first=True, dropout=between, bidirectional=bidirectional)
        self.first = nn.Linear(width, layers * width)
        self.decoder = nn.GRU(self._inputs * width, width, layers, batch_first=True, dropout=between)

    def encode(self, source: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> Memory:
        return self._read(source, lengths)[0]

    def forward(self, memory: Memory, inputs: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        states, _ = self.decoder(self._embed_target(memory, inputs), self._first(memory))
        return self._score(self.dropout(states))

    def start(self, memory: Memory) -> Any:
        return self._first(memory)

    def step(self, state: Any, ids: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocabulary"], Any]:
        states, state = self.decoder(self.dropout(self.target(ids.unsqueeze(1))), state)
        return self._score(self.dropout(states)).squeeze(1), state

    def reorder(self, state: Any, indices: Int[Tensor, " picked"]) -> Any:
        return state.index_select(1, indices)

    def _read(self, source: Tensor, lengths: Tensor) -> tuple[Memory, Tensor, Tensor]:
        """The memory, the embedded source, and the encoder's state at each of its items."""
        vectors = self._embed_source(source, lengths)
        states, last = recur(self.encoder, vectors, lengths)
        # The final states of the last layer, (direction batch size) -> (batch width).
        ends = last[-2:] if self.encoder.bidirectional else last[-1:]
        return Memory(lengths, vector=ends.transpose(0, 1).flatten(1)), vectors, states

    def _first(self, memory: Memory) -> Tensor:
        """The decoder's initial states, (layer batch width)."""
        layers = self.decoder.num_layers
        return torch.tanh(self.first(memory.part("vector"))).unflatten(1, (layers, -1)).transpose(0, 1).contiguous()


@dataclass(frozen=True)
class _State:
    """The state of a decoder with attention: its layers' states, the projected source, and the position."""

    hidden: Tensor
    source: Cache
    copyable: Copyable | None
    position: int = 0


class AttentionSeq2Seq(RecurrentSeq2Seq):
    """A `RecurrentSeq2Seq` with attention: before each step the decoder attends to the whole source.

    The query is the decoder's state of the previous step, the keys are the encoder's states, and the values are its
    outputs: a fully connected layer of each state. The attention's output is an input of the step and of its scores.

    Args:
        source, vocabulary, width, layers, dropout, bidirectional, tied: as in `RecurrentSeq2Seq`.
        heads: the number of heads of the attention.
        score: as in `regard.attend`: "additive" is Bahdanau's, "dot", "scaled_dot", ...
        keys, values: what the keys and the values are made of: "states", "outputs", or "inputs", the embedded items.
        guide: where in the source each step may attend, for tasks that run from left to right.
        weights, attention_dropout, projections: of the attention, as in `Encoder`.

    Raises:
        ArgumentError: sizes that don't match, or an unknown name.

    Source: the notes, 003, sections 1 and 2; Bahdanau et al. 2015 (arXiv 1409.0473), section 3 and A.1.2.

    Example:
        >>> from regard import watch
        >>> model = AttentionSeq2Seq(source=7, vocabulary=5, width=8)
        >>> memory = model.encode(torch.tensor([[3, 4, 6], [5, 0, 0]]), torch.tensor([3, 1]))
        >>> with watch(model) as seen:
        ...     scores = model(memory, torch.tensor([[1, 3], [1, 4]]))
        >>> scores.shape, len(seen), seen[0].weights().shape  # one call at each step
        (torch.Size([2, 2, 5]), 2, torch.Size([2, 1, 1, 3]))
    """

    # The embedded id and the attention's output.
    _inputs: ClassVar[int] = 2

    def __init__(
        self,
        source: int | nn.Module,
        vocabulary: int,
        width: int,
        layers: int = 1,
        *,
        dropout: float = 0.0,
        bidirectional: bool = True,
        tied: bool = False,
        heads: int = 1,
        score: Any = "additive",
        keys: str = "states",
        values: str = "outputs",
        guide: Guide | None = None,
        weights: Any = "softmax",
        attention_dropout: float = 0.0,
        projections: Projections = Projections(),
    ):
        super().__init__(source, vocabulary, width, layers, dropout=dropout, bidirectional=bidirectional, tied=tied)
        for name, kind in (("keys", keys), ("values", values)):
            if kind not in _OF_SOURCE:
                raise UnknownNameError(name, kind, _OF_SOURCE)
        self.keys, self.values, self.guide = keys, values, guide
        self.read_out = nn.Linear(width, width) if "outputs" in (keys, values) else None
        # A step has one query, so that the dense engine takes linear memory, and it has the smallest overhead.
        self.attention = MultiHeadAttention(
            width,
            heads,
            score=score,
            weights=weights,
            dropout=attention_dropout,
            projections=projections,
            engine="dense",
        )
        self.join = nn.Linear(2 * width, width)

    def encode(self, source: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> Memory:
        memory, vectors, states = self._read(source, lengths)
        known = {"inputs": vectors, "states": states}
        if self.read_out is not None:
            known["outputs"] = torch.tanh(self.read_out(states))
        memory = replace(memory, keys=known[self.keys], values=known[self.values])
        if self.copying is None:
            return memory
        return replace(memory, copyable=self.copying.copyable(memory, _ids_of(source)))

    def forward(self, memory: Memory, inputs: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        # The attention of a step depends on the state before it, so the steps can't run at once.
        state, outputs = self.start(memory), []
        for vectors in self._embed_target(memory, inputs).split(1, dim=1):
            output, state = self._next(state, vectors)
            outputs.append(output)
        # The scores of a step aren't part of the next state: all are computed at once.
        return self._scores(torch.cat(outputs, dim=1), state.copyable, inputs)

    def start(self, memory: Memory) -> Any:
        if self.copying is not None:
            memory.part("copyable")
        return _State(self._first(memory), _SourceCache(self.attention, memory), memory.copyable)

    def step(self, state: Any, ids: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocabulary"], Any]:
        output, state = self._next(state, self.dropout(self.target(ids.unsqueeze(1))))
        scores = self._scores(output, state.copyable, ids.unsqueeze(1)).squeeze(1)
        if state.copyable is not None:
            state = replace(state, copyable=state.copyable.after(ids))
        return scores, state

    def reorder(self, state: Any, indices: Int[Tensor, " picked"]) -> Any:
        state.source.reorder(indices)
        copyable = None if state.copyable is None else state.copyable.select(indices)
        return replace(state, hidden=state.hidden.index_select(1, indices), copyable=copyable)

    def _next(self, state: _State, vectors: Tensor) -> tuple[Tensor, _State]:
        """One step with an embedded id, (batch 1 width): the outputs of RNN and attention, and the new state."""
        mask = None
        if self.guide is not None and state.source.lengths is not None:
            mask = self.guide.mask(state.position, 1, state.source.lengths)
        attended = self.attention(state.hidden[-1].unsqueeze(1), cache=state.source, mask=mask)
        states, hidden = self.decoder(torch.cat([vectors, attended], dim=2), state.hidden)
        return torch.cat([states, attended], dim=2), replace(state, hidden=hidden, position=state.position + 1)

    def _scores(self, outputs: Tensor, copyable: Copyable | None, inputs: Tensor) -> Tensor:
        """The scores of the concatenated outputs of RNN and attention, after these ids."""
        vectors = self.dropout(torch.tanh(self.join(outputs)))
        scores = self._score(vectors)
        return scores if copyable is None else self.copying(vectors, scores, copyable, inputs)


class _SourceCache(Cache):
    """A source's keys and values, projected once for all steps, as by `remember`, but differentiable."""

    def __init__(self, attention: MultiHeadAttention, memory: Memory):
        super().__init__()
        key, value = (
            # (batch key width) -> (batch head key feature), contiguous: otherwise each step would copy several heads.
            linear(vectors).unflatten(2, (attention.heads, -1)).transpose(1, 2).contiguous()
            for linear, vectors in ((attention.key, memory.part("keys")), (attention.value, memory.part("values")))
            if linear is not None
        )
        self._key, self._value = key, value
        self.length, self.lengths, self.sealed = key.shape[2], memory.lengths, True


def _ids_of(source: Tensor) -> Tensor:
    """The ids (batch, length) of sources of one id for each item, as texts are.

    Raises:
        ArgumentError: they have another shape.
    """
    ids = source.squeeze(2) if source.dim() == 3 and source.shape[2] == 1 else source
    if ids.dim() != 2 or ids.is_floating_point():
        raise ArgumentError(
            f"`source` must be ids for a model that copies, (batch, length), but is {source.dtype} of shape "
            f"{tuple(source.shape)}."
        )
    return ids


_OF_SOURCE = ("inputs", "states", "outputs")
