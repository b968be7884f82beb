"""Rescoring: a model with a decoder and a CTC head chooses the output that both together find more probable."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from regard.attention.validation import check_non_negative
from regard.modules.inference import inference_mode, maximum_lengths
from regard.modules.seq2seq.ctc import pad_ids
from regard.modules.seq2seq.generation import Generated, log_probabilities
from regard.modules.seq2seq.generation_config import GenerationConfig
from regard.modules.seq2seq.seq2seq import Memory, Seq2Seq, checked_memory
from regard.special_ids import END, PADDING, START

__all__ = ["rescore"]


def rescore(
    model: Seq2Seq,
    source: Shaped[Tensor, "batch length *item"],
    lengths: Int[Tensor, " batch"],
    generated: Sequence[Generated],
    *,
    weight: float = 1.0,
    config: GenerationConfig = GenerationConfig(),
    memory: Memory | None = None,
    **changes: Any,
) -> list[Generated]:
    """Choose for each source the decoder's output or the CTC head's best path, whichever has the larger total score.

    The score is the decoder's log probability plus `weight` times the CTC head's. If the source has too few vectors for
    the decoder's output, the CTC head has no score for it. Then the decoder's output is kept if it has an end; without
    one, the decoder has usually repeated itself, and the CTC head's path is taken.

    Args:
        model: a model whose CTC head was trained.
        generated: what `greedy` or `beam_search` generated for these sources.
        weight: the weight of the CTC head; the decoder's is 1. A large weight suits targets whose ids are easily
            recognised one by one while the decoder tends to lose its place; a small weight suits targets whose ids
            depend on each other, because CTC treats them as independent.
        source, lengths, config, memory, **changes: as they were given to `greedy` or `beam_search`.

    Raises:
        ArgumentError: a weight that isn't a number, or is below 0.

    Source: Hori et al. 2017 (arXiv 1706.02737), section 3.2, which rescores every finished hypothesis of a beam; here
        there are two hypotheses, one of which needs no decoder.

    Example:
        >>> from regard.modules import AttentionSeq2Seq, CTCHead, greedy
        >>> model = AttentionSeq2Seq(source=7, vocabulary=5, width=8)
        >>> model.spelling = CTCHead(8, 5)
        >>> source, lengths = torch.tensor([[3, 4, 6]]), torch.tensor([3])
        >>> len(rescore(model, source, lengths, greedy(model, source, lengths)))
        1
    """
    check_non_negative("weight", weight)
    config = replace(config, **changes)
    head, limits = model.spelling, maximum_lengths(model, lengths, config.longest, config.spare)
    # Without a CTC head, or where nothing can be read or generated, there is no second output to choose.
    if head is None or not any(limits) or not source.shape[1]:
        return list(generated)
    with inference_mode(model):
        memory = checked_memory(model, source, lengths, memory)
        # A path that holds a start or end id, or exceeds the maximum length, is no valid output.
        best_paths = [
            ids if len(ids) < limit and {START, END}.isdisjoint(ids) else each.ids
            for ids, limit, each in zip(head.best_paths(memory), limits, generated, strict=True)
        ]
        decoded = [each.ids for each in generated]
        if best_paths == decoded:
            return list(generated)
        # An output that was cut at the maximum length has no end id for the decoder to score.
        ended = [[each.ended for each in generated], [True] * len(generated)]
        by_decoder = [_log_likelihoods(model, memory, *each) for each in zip((decoded, best_paths), ended, strict=True)]
        by_head = [head.log_likelihoods(memory, targets) for targets in (decoded, best_paths)]
    better = by_decoder[1] + weight * by_head[1] > by_decoder[0] + weight * by_head[0]
    better &= (by_head[0] > -torch.inf) | better.new_tensor([not each.ended for each in generated])
    # For equal outputs the two sums differ by rounding only.
    better &= better.new_tensor([one != other for one, other in zip(decoded, best_paths, strict=True)])
    return [
        Generated(ids, config.score(total, len(ids) + 1), ended=True) if other else each
        for each, ids, total, other in zip(generated, best_paths, by_decoder[1].tolist(), better.tolist(), strict=True)
    ]


def _log_likelihoods(
    model: Seq2Seq, memory: Memory, targets: Sequence[Sequence[int]], ended: Sequence[bool]
) -> Float[Tensor, " batch"]:
    """The decoder's log probability of each target, including its end id where `ended` is true."""
    wanted = pad_ids([(*each, *[END][:end]) for each, end in zip(targets, ended, strict=True)], memory.lengths)
    inputs = nn.functional.pad(wanted[:, :-1], (1, 0), value=START)
    scores = log_probabilities(model(memory, inputs).flatten(0, 1)).unflatten(0, inputs.shape)
    chosen = scores.gather(2, wanted.unsqueeze(2)).squeeze(2)
    return chosen.masked_fill(wanted == PADDING, 0.0).sum(1)
