"""Spelling (a CTC head): what a source's vectors say by themselves, in order, beside what a decoder says of them.

Where a task goes from left to right, as from sound to text, each vector of a source can be asked for the piece that is
said there, or for none. It helps a decoder's attention to find its way in training; and in generation it notices what a
decoder does at times: to skip a piece, to say one twice, to end too soon.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import ctc_loss
from torch.nn.utils.rnn import pad_sequence

from regard.attention.validation import check_number
from regard.errors import ArgumentError
from regard.modules.deciding import deciding, limits
from regard.modules.generation import Generated, log_probabilities, penalty_of
from regard.modules.seq2seq import Memory, Seq2Seq, memory_of
from regard.special_ids import END, PADDING, START

__all__ = ["Spelling", "agreed"]


class Spelling(nn.Linear):
    """A CTC head: for each vector of a source a number for each id; that of `PADDING`, in no text, is the blank.

    Args:
        width: the size of the vectors.
        vocabulary: how many ids there are.

    Source: Graves et al. 2006, "Connectionist temporal classification", section 3; beside attention: Kim et al. 2017
        (arXiv 1609.06773), section 2.3.

    Example:
        >>> spelling = Spelling(8, 5)
        >>> memory = Memory(torch.tensor([4]), keys=torch.zeros(1, 4, 8))
        >>> spelling.loss(memory, torch.tensor([[3, 4]]), torch.tensor([2])).shape
        torch.Size([])
    """

    def __init__(self, width: int, vocabulary: int):
        super().__init__(width, vocabulary)

    def loss(self, memory: Memory, ids: Int[Tensor, "batch text"], counts: Int[Tensor, " batch"]) -> Float[Tensor, ""]:
        """How unlikely it is that each source spells its text, a piece, and the mean over texts.

        A source with too few vectors to spell its text counts as 0.

        Args:
            memory: the sources, read.
            ids: the texts; what stands behind their ends doesn't matter.
            counts: (batch,) how many ids each has.
        """
        likely = self._likely(memory)
        return ctc_loss(likely, ids, memory.lengths, counts, blank=PADDING, zero_infinity=True)

    def likelihoods(self, memory: Memory, texts: Sequence[Sequence[int]]) -> Float[Tensor, " batch"]:
        """For each source the logarithm of the probability that it spells its text; minus infinity where it can't."""
        ids, counts = _padded(texts, memory.lengths), memory.lengths.new_tensor([len(text) for text in texts])
        return -ctc_loss(self._likely(memory), ids, memory.lengths, counts, blank=PADDING, reduction="none")

    def likeliest(self, memory: Memory) -> list[tuple[int, ...]]:
        """For each source its best path: the likeliest id at each vector, twice in a row as once, without blanks."""
        found = []
        for ids, length in zip(self(memory.part("keys")).argmax(-1), memory.lengths.tolist(), strict=True):
            found.append(tuple(each for each in ids[:length].unique_consecutive().tolist() if each != PADDING))
        return found

    def _likely(self, memory: Memory) -> Float[Tensor, "length batch vocabulary"]:
        return self(memory.part("keys")).float().log_softmax(-1).transpose(0, 1)


def agreed(
    model: Seq2Seq,
    source: Shaped[Tensor, "batch length *item"],
    lengths: Int[Tensor, " batch"],
    said: Sequence[Generated],
    *,
    weight: float = 1.0,
    length_penalty: float = 0.6,
    longest: float = 2.0,
    spare: int = 10,
    memory: Memory | None = None,
) -> list[Generated]:
    """Rescoring: for each source what its decoder said, or what it spells, whichever both together find likelier.

    The logarithms of the two probabilities are added. Of a text that has too many pieces to be spelt the spelling knows
    nothing, and the decoder's stands.

    Args:
        model: one whose `spelling` was trained.
        said: what `greedy` or `beam_search` said of these sources.
        weight: how much the spelling counts beside 1 for the decoder. Where a piece is plain to hear and the decoder is
            apt to lose its place, much; where the pieces depend on each other, little: the spelling takes them for
            independent.
        source, lengths, length_penalty, longest, spare, memory: as they were given to that.

    Raises:
        ArgumentError: a weight that is no number, or below 0.

    Source: Hori et al. 2017 (arXiv 1706.02737), section 3.2, which rescores all that a beam has ended; here it is two
        texts, and one of them needs no decoder.

    Example:
        >>> from regard.modules import AttentiveSeq2Seq, greedy
        >>> model = AttentiveSeq2Seq(source=7, vocabulary=5, width=8)
        >>> model.spelling = Spelling(8, 5)
        >>> source, lengths = torch.tensor([[3, 4, 6]]), torch.tensor([3])
        >>> len(agreed(model, source, lengths, greedy(model, source, lengths)))
        1
    """
    check_number("weight", weight)
    if not 0 <= weight < math.inf:
        raise ArgumentError(f"`weight` must be a number, 0 or more, but is {weight}.")
    spelling, most = model.spelling, limits(model, lengths, longest, spare)
    # Where nothing is spelt, or nothing can be read or said, there is nothing to choose.
    if spelling is None or not any(most) or not source.shape[1]:
        return list(said)
    with deciding(model):
        memory = memory_of(model, source, lengths, memory)
        # What can't be written is left out: a piece that only begins or ends a text, or more than is allowed.
        spelt = [
            ids if len(ids) < limit and {START, END}.isdisjoint(ids) else each.ids
            for ids, limit, each in zip(spelling.likeliest(memory), most, said, strict=True)
        ]
        decoded = [each.ids for each in said]
        if spelt == decoded:
            return list(said)
        # Of a text that was cut the decoder hasn't said that it ends.
        ended = [[each.ended for each in said], [True] * len(said)]
        by_decoder = [_likelihoods(model, memory, *each) for each in zip((decoded, spelt), ended, strict=True)]
        by_spelling = [spelling.likelihoods(memory, texts) for texts in (decoded, spelt)]
    better = by_decoder[1] + weight * by_spelling[1] > by_decoder[0] + weight * by_spelling[0]
    better &= by_spelling[0] > -torch.inf
    # Of the same text two sums differ by rounding alone.
    better &= better.new_tensor([one != other for one, other in zip(decoded, spelt, strict=True)])
    return [
        Generated(ids, total / penalty_of(len(ids) + 1, length_penalty), ended=True) if other else each
        for each, ids, total, other in zip(said, spelt, by_decoder[1].tolist(), better.tolist(), strict=True)
    ]


def _likelihoods(
    model: Seq2Seq, memory: Memory, texts: Sequence[Sequence[int]], ended: Sequence[bool]
) -> Float[Tensor, " batch"]:
    """For each source the logarithm of the probability that the decoder says its text, and then ends if it did."""
    wanted = _padded([(*text, *[END][:end]) for text, end in zip(texts, ended, strict=True)], memory.lengths)
    inputs = nn.functional.pad(wanted[:, :-1], (1, 0), value=START)
    likely = log_probabilities(model(memory, inputs).flatten(0, 1)).unflatten(0, inputs.shape)
    likely = likely.gather(2, wanted.unsqueeze(2)).squeeze(2)
    return likely.masked_fill(wanted == PADDING, 0.0).sum(1)


def _padded(texts: Sequence[Sequence[int]], like: Tensor) -> Int[Tensor, "batch text"]:
    return pad_sequence([like.new_tensor(text) for text in texts], batch_first=True, padding_value=PADDING)
