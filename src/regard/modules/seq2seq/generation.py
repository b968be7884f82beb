"""Generation: greedy and beam search for the most probable target, one id at a time."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.inference import inference_mode, maximum_lengths
from regard.modules.seq2seq.generation_config import GenerationConfig
from regard.modules.seq2seq.seq2seq import Memory, Seq2Seq, checked_memory
from regard.special_ids import END, PADDING, START

__all__ = ["Generated", "beam_search", "block_repeated_ngrams", "greedy", "log_probabilities"]

_NEVER_GENERATED = torch.tensor([PADDING, START], device="cpu")


@dataclass(frozen=True)
class Generated:
    """What a model generated for one source.

    Args:
        ids: the generated ids, without `START` and `END`.
        score: the log probability, `END` included, divided by ((5 + length) / 6)^length_penalty.
        ended: whether the model generated `END`; False if the target was cut at the maximum length.
    """

    ids: tuple[int, ...]
    score: float
    ended: bool


def greedy(
    model: Seq2Seq,
    source: Shaped[Tensor, "batch length *item"],
    lengths: Int[Tensor, " batch"],
    *,
    config: GenerationConfig = GenerationConfig(),
    memory: Memory | None = None,
    **changes: Any,
) -> list[Generated]:
    """Greedy search: the most probable id at each step, until it is `END`. It is fast, but never reconsiders a step.

    Args:
        model: the model; it runs in evaluation mode and is left as it was.
        source: the sources, as `Seq2Seq.encode` takes them.
        lengths: (batch,) the number of real items of each source.
        config: how long targets may get, and the other settings of generation.
        memory: what `model.encode` returned for these sources in evaluation mode, if they are already encoded.
        **changes: fields of `config` that differ here, such as `longest`.

    Returns:
        What was generated for each source.

    Raises:
        ArgumentError: an argument can't be used, or the model's scores are NaN.

    Example:
        >>> from regard.modules.seq2seq.recurrent_seq2seq import RecurrentSeq2Seq
        >>> model = RecurrentSeq2Seq(source=7, vocabulary=5, width=8)
        >>> (generated,) = greedy(model, torch.tensor([[3, 4, 6]]), torch.tensor([3]), longest=1.0, spare=2)
        >>> len(generated.ids) <= 5
        True
    """
    config = replace(config, **changes)
    limits = maximum_lengths(model, lengths, config.longest, config.spare)
    if not limits:
        return []
    generated: list[list[int]] = [[] for _ in limits]
    totals, ended = [0.0] * len(limits), [False] * len(limits)
    with inference_mode(model):
        state = model.start(checked_memory(model, source, lengths, memory))
        ids = torch.full((len(limits),), START, device=source.device)
        past = ids.new_zeros(len(limits), 0)
        for step in range(max(limits)):
            scores, state = model.step(state, ids)
            best = block_repeated_ngrams(log_probabilities(scores), past, config.no_repeat_ngram_size).max(1)
            ids = best.indices
            past = torch.cat([past, ids.unsqueeze(1)], dim=1)
            for item, (probability, chosen) in enumerate(zip(best.values.tolist(), ids.tolist(), strict=True)):
                if not ended[item] and step < limits[item]:
                    generated[item].append(chosen)
                    totals[item] += probability
                    ended[item] = chosen == END
            if all(done or step + 1 >= limit for done, limit in zip(ended, limits, strict=True)):
                break
    return [_generated(ids, total, config, done) for ids, total, done in zip(generated, totals, ended, strict=True)]


@dataclass(frozen=True)
class _Hypothesis:
    """A partial target: its item of the batch, its ids, and its log probability."""

    item: int
    ids: tuple[int, ...]
    total: float


def beam_search(
    model: Seq2Seq,
    source: Shaped[Tensor, "batch length *item"],
    lengths: Int[Tensor, " batch"],
    *,
    beams: int = 4,
    config: GenerationConfig = GenerationConfig(),
    memory: Memory | None = None,
    **changes: Any,
) -> list[Generated]:
    """Beam search: keep the most probable partial targets at each step, and return the finished one of the best score.

    Each finished target narrows the beam by one, so that one beam is `greedy`, and with as many beams as there are
    targets the search is exact. The search for an item stops when no open target can beat the best finished one.

    Args:
        model, source, lengths, config, memory, **changes: as in `greedy`.
        beams: the number of partial targets that are kept.

    Returns:
        What was generated for each source: the best finished target, or if none finished, the best one that was cut.

    Raises:
        ArgumentError: an argument can't be used, or the model's scores are NaN.

    Source: Sutskever et al. 2014 (arXiv 1409.3215), section 3.2, the narrowing beam.

    Example:
        >>> from regard.modules.seq2seq.recurrent_seq2seq import RecurrentSeq2Seq
        >>> model = RecurrentSeq2Seq(source=7, vocabulary=5, width=8)
        >>> source, lengths = torch.tensor([[3, 4, 6]]), torch.tensor([3])
        >>> beam_search(model, source, lengths, beams=1)[0].ids == greedy(model, source, lengths)[0].ids
        True
    """
    check_count("beams", beams, "how many targets are followed")
    config = replace(config, **changes)
    limits = maximum_lengths(model, lengths, config.longest, config.spare)
    best = {item: Generated((), 0.0, False) for item, limit in enumerate(limits) if not limit}
    live = [_Hypothesis(item, (), 0.0) for item, limit in enumerate(limits) if limit]
    slots = [beams] * len(limits)
    if not live:
        return [best[item] for item in range(len(limits))]
    with inference_mode(model):
        state = model.start(checked_memory(model, source, lengths, memory))
        kept, rows = len(limits), [hypothesis.item for hypothesis in live]
        while live:
            if rows != list(range(kept)):
                state = model.reorder(state, torch.tensor(rows, device=source.device))
            last = [hypothesis.ids[-1] if hypothesis.ids else START for hypothesis in live]
            scores, state = model.step(state, torch.tensor(last, device=source.device))
            next_scores = log_probabilities(scores)
            if config.no_repeat_ngram_size:
                past = torch.tensor([hypothesis.ids for hypothesis in live], dtype=torch.int64, device=source.device)
                next_scores = block_repeated_ngrams(next_scores, past, config.no_repeat_ngram_size)
            extended = _extended(live, next_scores, beams)
            kept, live, rows = len(live), [], []
            for item, candidates in extended.items():
                candidates = candidates[: slots[item]]
                for _, hypothesis in candidates:
                    if hypothesis.ids[-1] == END:
                        slots[item] -= 1
                        best[item] = _better(best.get(item), _finished(hypothesis, config, ended=True))
                going = [(row, hypothesis) for row, hypothesis in candidates if hypothesis.ids[-1] != END]
                if going and len(going[0][1].ids) >= limits[item]:
                    best.setdefault(item, _finished(going[0][1], config, ended=False))
                elif going and not _can_stop(best.get(item), going[0][1], limits[item], config):
                    rows += [row for row, _ in going]
                    live += [hypothesis for _, hypothesis in going]
    return [best[item] for item in range(len(limits))]


def _extended(
    live: list[_Hypothesis], log_probabilities: Tensor, beams: int
) -> dict[int, list[tuple[int, _Hypothesis]]]:
    """For each item its hypotheses extended by one id, the most probable first, each with the row it comes from."""
    # At most `beams` extensions of one row can be among the best `beams` of its item.
    top = log_probabilities.topk(min(beams, log_probabilities.shape[1]), dim=1)
    found: dict[int, list[tuple[int, _Hypothesis]]] = {}
    for row, (before, values, ids) in enumerate(zip(live, top.values.tolist(), top.indices.tolist(), strict=True)):
        found.setdefault(before.item, []).extend(
            (row, _Hypothesis(before.item, (*before.ids, chosen), before.total + value))
            for value, chosen in zip(values, ids, strict=True)
            if value > -math.inf
        )
    for candidates in found.values():
        candidates.sort(key=lambda candidate: (-candidate[1].total, candidate[1].ids))
    return found


def _can_stop(best: Generated | None, hypothesis: _Hypothesis, limit: int, config: GenerationConfig) -> bool:
    """Whether no extension of this hypothesis can beat the best finished one."""
    # Its log probability only falls, and the largest divisor is that of the maximum length.
    return best is not None and config.score(hypothesis.total, limit) <= best.score


def _better(best: Generated | None, other: Generated) -> Generated:
    return other if best is None or other.score > best.score else best


def _finished(hypothesis: _Hypothesis, config: GenerationConfig, *, ended: bool) -> Generated:
    return _generated(list(hypothesis.ids), hypothesis.total, config, ended)


def _generated(ids: list[int], total: float, config: GenerationConfig, ended: bool) -> Generated:
    return Generated(tuple(ids[:-1] if ended else ids), config.score(total, len(ids)), ended)


def log_probabilities(scores: Float[Tensor, "row vocabulary"]) -> Float[Tensor, "row vocabulary"]:
    """The log probabilities of all ids but padding and start, which are never generated.

    Raises:
        ArgumentError: the model's scores are NaN.
    """
    found = scores.float().index_fill(1, _NEVER_GENERATED.to(scores.device), -math.inf).log_softmax(1)
    if bool(found.isnan().any()):
        raise ArgumentError(
            "`model` must give scores that are numbers, but gives NaN: its weights or its source hold NaN or infinity. "
            "Train it again with a smaller learning rate, or check the source."
        )
    return found


def block_repeated_ngrams(
    log_probabilities: Float[Tensor, "row vocabulary"], previous: Int[Tensor, "row length"], size: int
) -> Float[Tensor, "row vocabulary"]:
    """The log probabilities with minus infinity for each id that would repeat an n-gram of its row.

    An id is blocked if it has already followed the same `size` - 1 ids. The other probabilities aren't changed, so that
    they no longer sum to 1. If all possible ids of a row would be blocked, none is.

    Args:
        log_probabilities: those of the next id, with `PADDING` at minus infinity.
        previous: the ids that each row has generated so far.
        size: the n of the n-grams; 0 blocks nothing.

    Returns:
        a new tensor, or the given one if nothing is blocked.

    Source: Paulus et al. 2018 (arXiv 1705.04304), section 2.5, with trigrams.

    Example:
        >>> likely = torch.full((1, 6), 0.2).log()
        >>> likely[:, PADDING] = -math.inf
        >>> found = block_repeated_ngrams(likely, torch.tensor([[3, 4, 5, 3, 4]]), 3)
        >>> found.isinf().nonzero()[:, 1].tolist()  # padding, and 5, which would be 3 4 5 again
        [0, 5]
    """
    if not size or previous.shape[1] < size:
        return log_probabilities
    # For each position of a row the ids before it, (row position before), and the id there, (row position).
    before, ids = previous[:, :-1].unfold(1, size - 1, 1), previous[:, size - 1 :]
    last = previous[:, previous.shape[1] - size + 1 :]
    repeats = (before == last.unsqueeze(1)).all(2)
    rows = repeats.any(1).nonzero().squeeze(1)
    if not len(rows):
        return log_probabilities
    # Few rows repeat at a step: only these are changed. What isn't to be blocked blocks padding instead.
    own = log_probabilities[rows]
    blocked = own.scatter(1, ids[rows].masked_fill(~repeats[rows], PADDING), -math.inf)
    none_left = blocked.amax(1, keepdim=True) == -math.inf
    return log_probabilities.index_copy(0, rows, torch.where(none_left, own, blocked))
