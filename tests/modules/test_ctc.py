"""The CTC head against the sum over all alignments; and rescoring a decoder's output with its best path."""

import itertools
import math
from collections import defaultdict
from functools import cache

import pytest
import torch
from torch import nn

from regard.attention import Learned
from regard.errors import ArgumentError
from regard.modules import (
    AttentionSeq2Seq,
    CTCHead,
    Generated,
    Memory,
    RecurrentSeq2Seq,
    TransformerSeq2Seq,
    beam_search,
    greedy,
    rescore,
)
from regard.special_ids import END, PADDING, START


def ctc_loss_of(scores, lengths, ids, counts):
    """The loss of a net whose numbers are these scores."""
    head = CTCHead(scores.shape[2], scores.shape[2])
    with torch.no_grad():
        head.weight.copy_(torch.eye(scores.shape[2]))
        head.bias.zero_()
    return head.loss(Memory(lengths, keys=scores), ids, counts)


@cache
def alignments(size, length):
    """What is said -> the ways to say it at so many vectors, each by one of so many ids, of which 0 is a blank."""
    found = defaultdict(list)
    for path in itertools.product(range(size), repeat=length):
        found[tuple(each for each, _ in itertools.groupby(path) if each)].append(path)
    return found


def unlikely(scores, ids):
    """Minus the logarithm of the sum over all ways to spell the ids: one of them or a blank, 0, at each vector."""
    likely = scores.softmax(-1).tolist()
    ways = alignments(scores.shape[1], len(scores)).get(tuple(ids), ())
    total = sum(math.prod(likely[place][each] for place, each in enumerate(path)) for path in ways)
    return -math.log(total) if total else math.inf


def test_the_loss_is_the_sum_over_all_alignments():
    scores = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(3))
    texts, lengths = [[1, 2], [3, 3], [2]], torch.tensor([4, 3, 5])
    ids = torch.tensor([[1, 2], [3, 3], [2, 0]])
    alone = [
        unlikely(scores[row, :length], text) for row, (text, length) in enumerate(zip(texts, lengths, strict=True))
    ]
    counts = torch.tensor([2, 2, 1])
    # A text's share of a piece, then the mean over texts.
    expected = sum(each / count for each, count in zip(alone, counts.tolist(), strict=True)) / 3
    assert ctc_loss_of(scores, lengths, ids, counts).item() == pytest.approx(expected, rel=1e-5)
    # What stands behind a source's end and a text's doesn't count, nor what all scores of a vector have more.
    scores[0, 4:], scores[1, 3:], ids[2, 1] = 9.0, -9.0, 3
    assert ctc_loss_of(scores + 5, lengths, ids, counts).item() == pytest.approx(expected, rel=1e-5)


def test_a_source_too_short_to_spell_its_text_counts_nothing():
    scores = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(3)).requires_grad_()
    # Three pieces in two vectors; and two that are alike, which a blank must part.
    ids, counts = torch.tensor([[1, 2, 3], [2, 2, 0]]), torch.tensor([3, 2])
    loss = ctc_loss_of(scores, torch.tensor([2, 2]), ids, counts)
    loss.backward()
    assert (loss.item(), scores.grad.abs().sum().item()) == (0.0, 0.0)
    fits = unlikely(scores[1].detach(), [2, 2]) / 2
    assert ctc_loss_of(scores, torch.tensor([2, 3]), ids, counts).item() == pytest.approx(fits / 2, rel=1e-5)


def models(seed=7):
    torch.manual_seed(seed)
    sizes = {"source": 9, "vocabulary": 6, "width": 8}
    parts = {"layers": 1, "heads": 2, "hidden": 16, "decoder_layers": 1}
    for model in (AttentionSeq2Seq(**sizes), TransformerSeq2Seq(**sizes, **parts)):
        model.spelling = CTCHead(8, 6)
        # Sure enough of what they say that the two differ.
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(2.0)
        yield model.eval()


SOURCE = torch.randint(3, 9, (12, 5), generator=torch.Generator().manual_seed(2))
LENGTHS = torch.tensor([5, 5, 5, 4, 3, 2, 1, 4, 4, 3, 5, 2])


@torch.no_grad()
def joint(model, row, ids, ended=True):
    """The logarithm of the probability that one source alone is said to be these ids, by the decoder's steps one after
    the other, and by the spelling over all alignments."""
    memory = model.encode(SOURCE[row : row + 1, : LENGTHS[row]], LENGTHS[row : row + 1])
    state, total = model.start(memory), 0.0
    for before, said in itertools.pairwise((START, *ids, *[END][:ended])):
        scores, state = model.step(state, torch.tensor([before]))
        scores[:, [PADDING, START]] = -math.inf
        total += scores.log_softmax(1)[0, said].item()
    spelt = model.spelling(memory.keys)[0]
    return total, -unlikely(spelt, list(ids))


@pytest.mark.parametrize("weight", [1.0, 0.25, 3.0])
@pytest.mark.parametrize("search", [greedy, beam_search])
def test_what_both_find_likelier_is_written(search, weight):
    def together(likely):
        return likely[0] + weight * likely[1]

    changed = 0
    for model in itertools.chain.from_iterable(map(models, range(5))):
        said = search(model, SOURCE, LENGTHS, longest=1.0, spare=3)
        options = {"weight": weight, "longest": 1.0, "spare": 3}
        after = rescore(model, SOURCE, LENGTHS, said, **options)
        # Sources that were read already need not be read again.
        with torch.no_grad():
            memory = model.encode(SOURCE, LENGTHS)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model, "encode", None)
            assert search(model, SOURCE, LENGTHS, longest=1.0, spare=3, memory=memory) == said
            assert rescore(model, SOURCE, LENGTHS, said, memory=memory, **options) == after
        with pytest.raises(ArgumentError, match=r"`memory` must be of these sources, of lengths \[.* Pass what"):
            search(model, SOURCE[:1], LENGTHS[:1], memory=memory)
        for row, (before, now) in enumerate(zip(said, after, strict=True)):
            memory = model.encode(SOURCE[row : row + 1, : LENGTHS[row]], LENGTHS[row : row + 1])
            best = [key for key, _ in itertools.groupby(model.spelling(memory.keys)[0].argmax(-1).tolist())]
            spelt = tuple(each for each in best if each != PADDING)
            if now != before:
                changed += 1
                assert now.ids != before.ids
                assert now.ids == spelt
                assert now.ended
                likely = joint(model, row, now.ids)
                assert now.score == pytest.approx(likely[0] / ((6 + len(now.ids)) / 6) ** 0.6, rel=1e-4)
                assert together(likely) > together(joint(model, row, before.ids, before.ended))
            elif {START, END}.isdisjoint(spelt) and len(spelt) < LENGTHS[row] + 3:
                ours = joint(model, row, before.ids, before.ended)
                assert ours[1] == -math.inf or together(ours) >= together(joint(model, row, spelt)) - 1e-4
    # Else nothing was tested.
    assert changed


@pytest.mark.parametrize("weight", [1.0, 0.0])
def test_a_text_too_long_to_be_spelt_stands(weight):
    model = next(models())
    (said,) = rescore(model, SOURCE[:1], torch.tensor([1]), [Generated((3, 4, 3), -0.5, True)], weight=weight)
    assert said == Generated((3, 4, 3), -0.5, True)


def test_a_text_too_long_to_be_spelt_that_has_no_end_gives_way():
    model, endless = next(models()), [Generated((3, 4, 3), -0.5, False)]
    with torch.no_grad():
        nn.init.zeros_(model.spelling.weight)
        model.spelling.bias.copy_(torch.tensor([-9.0, -9.0, -9.0, 9.0, -9.0, -9.0]))
    (said,) = rescore(model, SOURCE[:1], torch.tensor([1]), endless)
    assert (said.ids, said.ended) == ((3,), True)
    # By the decoder alone there is nothing better.
    assert rescore(model, SOURCE[:1], torch.tensor([1]), endless, weight=0.0) == endless


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
def test_a_weight_that_is_none(weight):
    with pytest.raises(ArgumentError, match=f"`weight` must be a number, 0 or more, but is {weight}"):
        rescore(next(models()), SOURCE[:0], LENGTHS[:0], [], weight=weight)


def test_what_may_not_be_written_is_not():
    """No text longer than is allowed, and none that holds an end."""
    model = next(models())
    with torch.no_grad():
        nn.init.zeros_(model.spelling.weight)
        model.spelling.bias.copy_(torch.tensor([-9.0, -9.0, 9.0, -9.0, -9.0, -9.0]))
    before = [Generated((3,), -40.0, True)]
    assert rescore(model, SOURCE[:1], LENGTHS[:1], before) == before
    # "3" is spelt, and one id is too much: the end takes the room.
    with torch.no_grad():
        model.spelling.bias.copy_(torch.tensor([-9.0, -9.0, -9.0, 9.0, -9.0, -9.0]))
    before = [Generated((4,), -40.0, True)]
    assert rescore(model, SOURCE[:1], LENGTHS[:1], before, longest=0.0, spare=1) == before
    assert rescore(model, SOURCE[:1], LENGTHS[:1], before, longest=0.0, spare=2)[0].ids == (3,)


def test_a_model_without_a_ctc_head_is_left_alone():
    torch.manual_seed(7)
    model = RecurrentSeq2Seq(source=9, vocabulary=6, width=8)
    said = greedy(model, SOURCE, LENGTHS)
    assert rescore(model, SOURCE, LENGTHS, said) == said
    assert rescore(next(models()), SOURCE[:0], LENGTHS[:0], []) == []
    # Nothing to read, and nothing that may be said.
    model, nothing = next(models()), [Generated((), 0.0, False)] * 2
    assert rescore(model, SOURCE[:2, :0], LENGTHS[:2] * 0, nothing) == nothing
    assert rescore(model, SOURCE[:2], LENGTHS[:2], nothing, longest=0.0, spare=0) == nothing


def test_a_text_that_was_cut_asks_for_no_place_more():
    """As many places were learned as a text may have pieces: an end behind them would have none."""
    torch.manual_seed(7)
    parts = {"layers": 1, "heads": 2, "hidden": 16, "decoder_layers": 1, "position": Learned(8, 5)}
    model = TransformerSeq2Seq(source=9, vocabulary=6, width=8, **parts).eval()
    model.spelling = CTCHead(8, 6)
    said = [Generated((3, 4, 3, 4, 3), -9.0, False)]
    with torch.no_grad():
        model.spelling.bias[PADDING] = 9.0
    assert rescore(model, SOURCE[:1], LENGTHS[:1], said)[0].ids == ()
    with torch.no_grad():
        nn.init.zeros_(model.spelling.weight)
        model.spelling.bias.copy_(torch.tensor([-9.0, -9.0, -9.0, 9.0, -9.0, -9.0]))
    assert rescore(model, SOURCE[:1], LENGTHS[:1], said)[0].ids == (3,)
