"""A CTC head: it predicts the target from the encoded source alone, without the decoder.

It applies where source and target run in the same order, as from sound to text: each source vector predicts the id that
is said there, or a blank. In training it helps the decoder's attention to find the alignment. In generation it catches
typical errors of a decoder: skipping an id, repeating one, or stopping too soon (see `rescore`).
"""

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import ctc_loss
from torch.nn.utils.rnn import pad_sequence

from regard.modules.seq2seq.seq2seq import Memory
from regard.special_ids import PADDING

__all__ = ["CTCHead", "pad_ids"]


class CTCHead(nn.Linear):
    """A CTC head: for each source vector a score for each id. `PADDING`, which no target contains, is the blank.

    Args:
        width: the size of the vectors.
        vocabulary: the number of ids.

    Source: Graves et al. 2006, "Connectionist temporal classification", section 3; beside attention: Kim et al. 2017
        (arXiv 1609.06773), section 2.3.

    Example:
        >>> import torch
        >>> head = CTCHead(8, 5)
        >>> memory = Memory(torch.tensor([4]), keys=torch.zeros(1, 4, 8))
        >>> head.loss(memory, torch.tensor([[3, 4]]), torch.tensor([2])).shape
        torch.Size([])
    """

    def __init__(self, width: int, vocabulary: int):
        super().__init__(width, vocabulary)

    def loss(self, memory: Memory, ids: Int[Tensor, "batch text"], counts: Int[Tensor, " batch"]) -> Float[Tensor, ""]:
        """The CTC loss, divided by the length of each target and averaged over the batch.

        A source with too few vectors for its target counts as 0.

        Args:
            memory: the encoded sources.
            ids: the targets; what stands beyond their lengths doesn't matter.
            counts: (batch,) the length of each target.
        """
        return ctc_loss(self._log_softmax(memory), ids, memory.lengths, counts, blank=PADDING, zero_infinity=True)

    def log_likelihoods(self, memory: Memory, targets: Sequence[Sequence[int]]) -> Float[Tensor, " batch"]:
        """The log probability of each source's target; minus infinity if the source has too few vectors for it."""
        ids, counts = pad_ids(targets, memory.lengths), memory.lengths.new_tensor([len(each) for each in targets])
        return -ctc_loss(self._log_softmax(memory), ids, memory.lengths, counts, blank=PADDING, reduction="none")

    def best_paths(self, memory: Memory) -> list[tuple[int, ...]]:
        """Best path decoding: the most probable id of each vector, with repeats merged and blanks removed."""
        found = []
        for ids, length in zip(self(memory.part("keys")).argmax(-1), memory.lengths.tolist(), strict=True):
            found.append(tuple(each for each in ids[:length].unique_consecutive().tolist() if each != PADDING))
        return found

    def _log_softmax(self, memory: Memory) -> Float[Tensor, "length batch vocabulary"]:
        return self(memory.part("keys")).float().log_softmax(-1).transpose(0, 1)


def pad_ids(targets: Sequence[Sequence[int]], like: Tensor) -> Int[Tensor, "batch text"]:
    """Targets as one tensor on the device of `like`, filled up with `PADDING`."""
    return pad_sequence([like.new_tensor(each) for each in targets], batch_first=True, padding_value=PADDING)
