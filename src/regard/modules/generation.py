"""Generation: the target that a model finds likely, said one id at a time."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from regard.attention.validation import check_count, check_number
from regard.errors import ArgumentError
from regard.modules.deciding import deciding, limits
from regard.modules.repetition import block_repeated_ngrams, check_ngram_size
from regard.modules.seq2seq import Memory, Seq2Seq, memory_of
from regard.special_ids import END, PADDING, START

__all__ = ["Generated", "beam_search", "greedy", "log_probabilities", "penalty_of"]

_UNSAID = torch.tensor([PADDING, START])


@dataclass(frozen=True)
class Generated:
    """What a model said about one source.

    Args:
        ids: what was said, without `START` and `END`.
        score: the logarithm of its probability, its end included, over ((5 + length) / 6)^length_penalty.
        ended: whether the model ended it; False where it was cut at the longest that was allowed.
    """

    ids: tuple[int, ...]
    score: float
    ended: bool


def greedy(
    model: Seq2Seq,
    source: Shaped[Tensor, "batch length *item"],
    lengths: Int[Tensor, " batch"],
    *,
    length_penalty: float = 0.6,
    no_repeat_ngram_size: int = 0,
    longest: float = 2.0,
    spare: int = 10,
    memory: Memory | None = None,
) -> list[Generated]:
    """At each step the likeliest id, until it is `END`: quick, and blind to what a step costs later.

    Args:
        model: the model; it generates as in evaluation, and is left as it was.
        source: the sources, as `Seq2Seq.encode` takes them.
        lengths: (batch,) how many items of each are real.
        length_penalty: only how the score is told, so that it compares with that of `beam_search`.
        no_repeat_ngram_size: no n-gram of so many ids is said twice, unless nothing else can be said; 0 for no limit.
            A score stays the model's own probability.
        longest: a target ends at `longest` x its source's length + `spare` ids at the latest, `END` counted.
        spare: see there.
        memory: what `model.encode` made of these very sources, in evaluation, where they have been read already.

    Returns:
        What was said about each source.

    Raises:
        ArgumentError: an argument can't be used, or the model's scores are NaN.

    Example:
        >>> from regard.modules.recurrent_seq2seq import RecurrentSeq2Seq
        >>> model = RecurrentSeq2Seq(source=7, vocabulary=5, width=8)
        >>> (said,) = greedy(model, torch.tensor([[3, 4, 6]]), torch.tensor([3]), longest=1.0, spare=2)
        >>> len(said.ids) <= 5
        True
    """
    _check_penalty(length_penalty)
    check_ngram_size(no_repeat_ngram_size)
    most = limits(model, lengths, longest, spare)
    if not most:
        return []
    said: list[list[int]] = [[] for _ in most]
    totals, ended = [0.0] * len(most), [False] * len(most)
    with deciding(model):
        state = model.start(memory_of(model, source, lengths, memory))
        ids = torch.full((len(most),), START, device=source.device)
        past = ids.new_zeros(len(most), 0)
        for step in range(max(most)):
            scores, state = model.step(state, ids)
            best = block_repeated_ngrams(log_probabilities(scores), past, no_repeat_ngram_size).max(1)
            ids = best.indices
            past = torch.cat([past, ids.unsqueeze(1)], dim=1)
            for item, (probability, chosen) in enumerate(zip(best.values.tolist(), ids.tolist(), strict=True)):
                if not ended[item] and step < most[item]:
                    said[item].append(chosen)
                    totals[item] += probability
                    ended[item] = chosen == END
            if all(done or step + 1 >= limit for done, limit in zip(ended, most, strict=True)):
                break
    return [_generated(ids, total, length_penalty, done) for ids, total, done in zip(said, totals, ended, strict=True)]


@dataclass(frozen=True)
class _Hypothesis:
    """A target that is being said: for which item, its ids, and the logarithm of its probability."""

    item: int
    ids: tuple[int, ...]
    total: float


def beam_search(
    model: Seq2Seq,
    source: Shaped[Tensor, "batch length *item"],
    lengths: Int[Tensor, " batch"],
    *,
    beams: int = 4,
    length_penalty: float = 0.6,
    no_repeat_ngram_size: int = 0,
    longest: float = 2.0,
    spare: int = 10,
    memory: Memory | None = None,
) -> list[Generated]:
    """Several targets at once, each step the likeliest, until each has ended; the one of the best score is returned.

    A target that ends leaves the beam one narrower, so that with one beam this is `greedy`, and with as many as there
    are targets it is exact. An item is done when no target still open can get a better score than the best that ended.

    Args:
        model, source, lengths, no_repeat_ngram_size, longest, spare, memory: as in `greedy`.
        beams: how many targets are followed.
        length_penalty: how much longer targets are favoured; 0 compares probabilities alone, which favours short ones.

    Returns:
        What was said about each source: the best that ended, or, if none did, the best that was cut.

    Raises:
        ArgumentError: an argument can't be used, or the model's scores are NaN.

    Source: Sutskever et al. 2014 (arXiv 1409.3215), section 3.2, a beam that narrows; Wu et al. 2016 (arXiv
        1609.08144), equation 14, without its coverage penalty; Paulus et al. 2018 (arXiv 1705.04304), section 2.5,
        no n-gram twice.

    Example:
        >>> from regard.modules.recurrent_seq2seq import RecurrentSeq2Seq
        >>> model = RecurrentSeq2Seq(source=7, vocabulary=5, width=8)
        >>> source, lengths = torch.tensor([[3, 4, 6]]), torch.tensor([3])
        >>> beam_search(model, source, lengths, beams=1)[0].ids == greedy(model, source, lengths)[0].ids
        True
    """
    check_count("beams", beams, "how many targets are followed")
    _check_penalty(length_penalty)
    check_ngram_size(no_repeat_ngram_size)
    most = limits(model, lengths, longest, spare)
    best = {item: Generated((), 0.0, False) for item, limit in enumerate(most) if not limit}
    live = [_Hypothesis(item, (), 0.0) for item, limit in enumerate(most) if limit]
    slots = [beams] * len(most)
    if not live:
        return [best[item] for item in range(len(most))]
    with deciding(model):
        state = model.start(memory_of(model, source, lengths, memory))
        kept, rows = len(most), [hypothesis.item for hypothesis in live]
        while live:
            if rows != list(range(kept)):
                state = model.reorder(state, torch.tensor(rows, device=source.device))
            last = [hypothesis.ids[-1] if hypothesis.ids else START for hypothesis in live]
            scores, state = model.step(state, torch.tensor(last, device=source.device))
            likely = log_probabilities(scores)
            if no_repeat_ngram_size:
                past = torch.tensor([hypothesis.ids for hypothesis in live], dtype=torch.int64, device=source.device)
                likely = block_repeated_ngrams(likely, past, no_repeat_ngram_size)
            extended = _extended(live, likely, beams)
            kept, live, rows = len(live), [], []
            for item, candidates in extended.items():
                candidates = candidates[: slots[item]]
                for _, hypothesis in candidates:
                    if hypothesis.ids[-1] == END:
                        slots[item] -= 1
                        best[item] = _better(best.get(item), _finished(hypothesis, length_penalty, ended=True))
                going = [(row, hypothesis) for row, hypothesis in candidates if hypothesis.ids[-1] != END]
                if going and len(going[0][1].ids) >= most[item]:
                    best.setdefault(item, _finished(going[0][1], length_penalty, ended=False))
                elif going and not _settled(best.get(item), going[0][1], most[item], length_penalty):
                    rows += [row for row, _ in going]
                    live += [hypothesis for _, hypothesis in going]
    return [best[item] for item in range(len(most))]


def _extended(
    live: list[_Hypothesis], log_probabilities: Tensor, beams: int
) -> dict[int, list[tuple[int, _Hypothesis]]]:
    """For each item its hypotheses with one more id, the likeliest first, each with the row it comes from."""
    # More than `beams` of one row can't be among the best `beams` of its item.
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


def _settled(best: Generated | None, open_one: _Hypothesis, limit: int, length_penalty: float) -> bool:
    """Whether nothing that an open hypothesis may become can beat the best that has ended."""
    # Its probability only falls, and the longest that is allowed divides it by most.
    return best is not None and open_one.total / penalty_of(limit, length_penalty) <= best.score


def _better(best: Generated | None, other: Generated) -> Generated:
    return other if best is None or other.score > best.score else best


def _finished(hypothesis: _Hypothesis, length_penalty: float, *, ended: bool) -> Generated:
    return _generated(list(hypothesis.ids), hypothesis.total, length_penalty, ended)


def _generated(ids: list[int], total: float, length_penalty: float, ended: bool) -> Generated:
    return Generated(tuple(ids[:-1] if ended else ids), total / penalty_of(len(ids), length_penalty), ended)


def penalty_of(length: int, length_penalty: float) -> float:
    """What the logarithm of a target's probability is divided by, `END` counted in its length."""
    return ((5 + length) / 6) ** length_penalty


def log_probabilities(scores: Float[Tensor, "row vocabulary"]) -> Float[Tensor, "row vocabulary"]:
    """The logarithms of the probabilities, among all ids but padding and start, which are never said.

    Raises:
        ArgumentError: the model's scores are NaN.
    """
    found = scores.float().index_fill(1, _UNSAID.to(scores.device), -math.inf).log_softmax(1)
    if bool(found.isnan().any()):
        raise ArgumentError(
            "`model` must give scores that are numbers, but gives NaN: its weights hold NaN or infinity, or its source "
            "does. Train it anew with a smaller learning rate, or look at the source."
        )
    return found


def _check_penalty(length_penalty: float) -> None:
    check_number("length_penalty", length_penalty)
    if not 0 <= length_penalty < math.inf:
        raise ArgumentError(f"`length_penalty` must be a number, 0 or more, but is {length_penalty}.")
