"""A copy head: it copies pieces of the source into the target, beside the pieces that the decoder generates.

It applies where much of a target stands in its source, as a word in its inflected forms: a decoder that only generates
must learn to spell each word anew, and that takes many examples.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.modules.seq2seq.seq2seq import Memory
from regard.special_ids import PADDING, START

__all__ = ["CopyHead", "Copyable"]

_CONTEXT = 3
"""How many pieces before an item are compared with those that were written last."""


@dataclass(frozen=True, eq=False)
class Copyable:
    """What can be copied of a batch of sources.

    Args:
        keys: (batch, length, width) what each item is found by.
        ids: (batch, length) the id of the target that copies each item; `PADDING` if none does.
        written: (batch, context) the ids of the target that were written last, the latest at the end.
    """

    keys: Tensor
    ids: Tensor
    written: Tensor

    def select(self, indices: Int[Tensor, " picked"]) -> "Copyable":
        """The sources at these indices, in this order."""
        return Copyable(*(part.index_select(0, indices) for part in (self.keys, self.ids, self.written)))

    def after(self, ids: Int[Tensor, " batch"]) -> "Copyable":
        """The same after one more id of each target."""
        return replace(self, written=torch.cat([self.written[:, 1:], ids.unsqueeze(1)], dim=1))


class CopyHead(nn.Module):
    """A pointer to an item of the source, and a gate that decides between copying this item and generating an id.

    p(id) = gate p_generated(id) + (1 - gate) (the weights of all items that `id` copies, added). The weights are
    softmax(query key / sqrt(width) + context) over the items that can be copied; in a source without any, all is
    generated. The context is a learned number for each of the up to three items before it, from the last one on, that
    equal the ids written last: by it a copy goes on where it is, also among letters that occur repeatedly.

    Args:
        width: the size of the vectors.
        ids: for each id of the source the id of the target that copies it, or `PADDING`.

    Source: See et al. 2017 (arXiv 1704.04368), section 2.2, equations 8 and 9, with a pointer of its own, as in Vinyals
        et al. 2015 (arXiv 1506.03134), section 2.3.

    Example:
        >>> head = CopyHead(8, torch.tensor([0, 0, 0, 0, 3, 4]))
        >>> memory = Memory(torch.tensor([2]), keys=torch.zeros(1, 2, 8))
        >>> copyable = head.copyable(memory, torch.tensor([[5, 4]]))
        >>> copyable.ids
        tensor([[4, 3]])
        >>> head(torch.zeros(1, 3, 8), torch.zeros(1, 3, 6), copyable, torch.tensor([[1, 4, 3]])).exp().sum(2)
        tensor([[1., 1., 1.]], grad_fn=<SumBackward1>)
    """

    ids: Tensor

    def __init__(self, width: int, ids: Int[Tensor, " source"]):
        super().__init__()
        self.query, self.key = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 1)
        self.context = nn.Parameter(torch.full((_CONTEXT,), 2.0))
        # The vocabularies determine it: it isn't saved.
        self.register_buffer("ids", ids, persistent=False)

    def copyable(self, memory: Memory, source: Int[Tensor, "batch length"]) -> Copyable:
        """What can be copied of sources, given as ids; what stands beyond their lengths doesn't matter."""
        places = torch.arange(source.shape[1], device=source.device)
        real = places < memory.lengths.unsqueeze(1)
        ids = self.ids[source * real].masked_fill(~real, PADDING)
        return Copyable(self.key(memory.part("keys")), ids, ids.new_full((len(ids), _CONTEXT), PADDING))

    def forward(
        self,
        vectors: Float[Tensor, "batch target width"],
        scores: Float[Tensor, "batch target vocabulary"],
        copyable: Copyable,
        inputs: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocabulary"]:
        """The log probabilities of all ids, copied or generated.

        Args:
            vectors: the decoder's outputs.
            scores: the decoder's scores.
            copyable: what can be copied, after the ids before `inputs`.
            inputs: the previous ids: `START`, then the target.
        """
        exact = torch.promote_types(scores.dtype, torch.float32)
        possible = (copyable.ids != PADDING).unsqueeze(1)
        matches = self.query(vectors) @ copyable.keys.transpose(1, 2) / vectors.shape[2] ** 0.5
        matches = matches + self._in_context(copyable, inputs)
        # Not minus infinity, because a row without anything to copy would become NaN.
        weights = matches.to(exact).masked_fill(~possible, torch.finfo(exact).min).softmax(2)
        copied = weights.new_zeros(scores.shape).scatter_add(2, copyable.ids.unsqueeze(1).expand_as(weights), weights)
        gate = self.gate(vectors).to(exact)
        # A smallest number, because an id that can't be copied would have infinite gradients.
        by_copying = nn.functional.logsigmoid(-gate) + copied.clamp(min=torch.finfo(exact).tiny).log()
        generated = scores.to(exact).log_softmax(2)
        mixed = torch.logaddexp(nn.functional.logsigmoid(gate) + generated, by_copying)
        return torch.where(possible.any(2, keepdim=True), mixed, generated)

    def _in_context(
        self, copyable: Copyable, inputs: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target length"]:
        """How well what precedes each item agrees with what was written last."""
        written = torch.cat([copyable.written, inputs], dim=1)
        before = nn.functional.pad(nn.functional.pad(copyable.ids, (1, 0), value=START), (_CONTEXT - 1, 0))
        places = range(_CONTEXT, 0, -1)
        # (batch target 1) == (batch 1 length), from the last id on
        equal = [
            written[:, at : at + inputs.shape[1]].unsqueeze(2)
            == before[:, at - 1 : at - 1 + copyable.ids.shape[1]].unsqueeze(1)
            for at in places
        ]
        agreeing = torch.stack(equal).to(self.context.dtype).cumprod(0)
        return (self.context.view(-1, 1, 1, 1) * agreeing).sum(0)
