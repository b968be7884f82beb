"""Sequence to sequence by RNNs: through one fixed vector, and with attention to every state of the source."""

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
from regard.modules.recurrence import recur
from regard.modules.seq2seq import Memory, Seq2Seq

__all__ = ["AttentiveSeq2Seq", "RecurrentSeq2Seq"]


class RecurrentSeq2Seq(Seq2Seq):
    """An RNN reads the source into one vector of fixed size; another begins with that vector and says the target.

    Only the first step of the decoder receives the vector, as its state; every later one has the state and the output
    of the step before. However long the source, what isn't in the vector is lost.

    Args:
        source, vocabulary, width, dropout, tied: as in `Seq2Seq`.
        layers: how many GRUs read, and how many speak.
        bidirectional: whether the source is read from both ends, each with half of the width.

    Raises:
        ArgumentError: sizes that don't fit.

    Source: the notes, 003, section 1; Sutskever et al. 2014 (arXiv 1409.3215), section 2; the GRU: Cho et al. 2014
        (arXiv 1406.1078), section 2.3.

    Example:
        >>> model = RecurrentSeq2Seq(source=7, vocabulary=5, width=8)
        >>> memory = model.encode(torch.tensor([[3, 4, 6], [5, 0, 0]]), torch.tensor([3, 1]))
        >>> memory.vector.shape, model(memory, torch.tensor([[1, 3], [1, 4]])).shape
        (torch.Size([2, 8]), torch.Size([2, 2, 5]))
    """

    # How many vectors a step of the decoder is given.
    _receives: ClassVar[int] = 1

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
        check_count("layers", layers, "how many GRUs read, and how many speak")
        if bidirectional and width % 2:
            raise ArgumentError(f"`width` must be even where two RNNs read, each with half of it, but is {width}.")
        # PyTorch drops between layers, and warns where there is but one.
        between = dropout if layers > 1 else 0.0
        size = width // 2 if bidirectional else width
        self.encoder = nn.GRU(width, size, layers, batch_first=True, dropout=between, bidirectional=bidirectional)
        self.first = nn.Linear(width, layers * width)
        self.decoder = nn.GRU(self._receives * width, width, layers, batch_first=True, dropout=between)

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
        """The memory, the embedded source, and the state after each of its items."""
        vectors = self._embed_source(source, lengths)
        states, last = recur(self.encoder, vectors, lengths)
        # The last layer's, (direction batch size) -> (batch width).
        ends = last[-2:] if self.encoder.bidirectional else last[-1:]
        return Memory(lengths, vector=ends.transpose(0, 1).flatten(1)), vectors, states

    def _first(self, memory: Memory) -> Tensor:
        """The decoder's first states, (layer batch width)."""
        layers = self.decoder.num_layers
        return torch.tanh(self.first(memory.part("vector"))).unflatten(1, (layers, -1)).transpose(0, 1).contiguous()


@dataclass(frozen=True)
class _State:
    """Where a decoder with attention stands: its layers' states, the source as its attention sees it, the place."""

    hidden: Tensor
    source: Cache
    place: int = 0


class AttentiveSeq2Seq(RecurrentSeq2Seq):
    """The same, but before each step the decoder looks at the whole source: nothing has to fit into one vector.

    The query is the decoder's state of the step before, the keys are the encoder's states, the values its outputs:
    one fully connected layer's answer to each state. What was found goes into the step and into its scores.

    Args:
        source, vocabulary, width, layers, dropout, bidirectional, tied: as in `RecurrentSeq2Seq`.
        heads: how many heads the attention has.
        score: as in `regard.attend`: "additive" as Bahdanau has it, "dot" or "scaled_dot", ...
        keys, values: what of the source is matched and what is received: "states", "outputs", or "inputs", the embedded
            items themselves.
        guide: where in the source each step may look, for tasks that go from left to right.
        weights, attention_dropout: of the attention, as in `Encoder`.

    Raises:
        ArgumentError: sizes that don't fit, or a name that is none.

    Source: the notes, 003, sections 1 and 2; Bahdanau et al. 2015 (arXiv 1409.0473), section 3 and A.1.2.

    Example:
        >>> model, seen = AttentiveSeq2Seq(source=7, vocabulary=5, width=8), []
        >>> memory = model.encode(torch.tensor([[3, 4, 6], [5, 0, 0]]), torch.tensor([3, 1]))
        >>> with model.attention.observe(seen.append):
        ...     scores = model(memory, torch.tensor([[1, 3], [1, 4]]))
        >>> scores.shape, len(seen), seen[0].weights.shape  # an observer is told of each step
        (torch.Size([2, 2, 5]), 2, torch.Size([2, 1, 1, 3]))
    """

    # The id's, and what the attention found.
    _receives: ClassVar[int] = 2

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
    ):
        super().__init__(source, vocabulary, width, layers, dropout=dropout, bidirectional=bidirectional, tied=tied)
        for name, kind in (("keys", keys), ("values", values)):
            if kind not in _OF_SOURCE:
                raise UnknownNameError(name, kind, _OF_SOURCE)
        self.keys, self.values, self.guide = keys, values, guide
        self.read_out = nn.Linear(width, width) if "outputs" in (keys, values) else None
        # A step has one query: dense is linear in the source here, and it has the least to set up.
        self.attention = MultiHeadAttention(
            width, heads, score=score, weights=weights, dropout=attention_dropout, engine="dense"
        )
        self.join = nn.Linear(2 * width, width)

    def encode(self, source: Shaped[Tensor, "batch length *item"], lengths: Int[Tensor, " batch"]) -> Memory:
        memory, vectors, states = self._read(source, lengths)
        known = {"inputs": vectors, "states": states}
        if self.read_out is not None:
            known["outputs"] = torch.tanh(self.read_out(states))
        return replace(memory, keys=known[self.keys], values=known[self.values])

    def forward(self, memory: Memory, inputs: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length vocabulary"]:
        # Where a step looks depends on the state before it, so that the steps can't be taken at once.
        state, known = self.start(memory), []
        for vectors in self._embed_target(memory, inputs).split(1, dim=1):
            both, state = self._next(state, vectors)
            known.append(both)
        # What a step says isn't part of the next one's state: all are said at once.
        return self._say(torch.cat(known, dim=1))

    def start(self, memory: Memory) -> Any:
        return _State(self._first(memory), _Source(self.attention, memory))

    def step(self, state: Any, ids: Int[Tensor, " batch"]) -> tuple[Float[Tensor, "batch vocabulary"], Any]:
        both, state = self._next(state, self.dropout(self.target(ids.unsqueeze(1))))
        return self._say(both).squeeze(1), state

    def reorder(self, state: Any, indices: Int[Tensor, " picked"]) -> Any:
        state.source.reorder(indices)
        return replace(state, hidden=state.hidden.index_select(1, indices))

    def _next(self, state: _State, vectors: Tensor) -> tuple[Tensor, _State]:
        """One step with an embedded id, (batch 1 width): the RNN's output beside what was found, and the new state."""
        mask = None
        if self.guide is not None and state.source.lengths is not None:
            mask = self.guide.mask(state.place, 1, state.source.lengths)
        found = self.attention(state.hidden[-1].unsqueeze(1), cache=state.source, mask=mask)
        states, hidden = self.decoder(torch.cat([vectors, found], dim=2), state.hidden)
        return torch.cat([states, found], dim=2), _State(hidden, state.source, state.place + 1)

    def _say(self, both: Tensor) -> Tensor:
        """The scores of outputs beside what was found."""
        return self._score(self.dropout(torch.tanh(self.join(both))))


class _Source(Cache):
    """A source's keys and values, projected once for all steps: as `remember` makes it, but gradients go through."""

    def __init__(self, attention: MultiHeadAttention, memory: Memory):
        super().__init__()
        key, value = (
            # (batch key width) -> (batch head key feature), in one piece: several heads would be copied at each step
            linear(vectors).unflatten(2, (attention.heads, -1)).transpose(1, 2).contiguous()
            for linear, vectors in ((attention.key, memory.part("keys")), (attention.value, memory.part("values")))
            if linear is not None
        )
        self._key, self._value = key, value
        self.length, self.lengths, self.sealed = key.shape[2], memory.lengths, True


_OF_SOURCE = ("inputs", "states", "outputs")
