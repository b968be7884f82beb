"""The copy head: against a mixture computed by hand, and in a model, step by step and in searches."""

import math

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.modules import AttentionSeq2Seq, CopyHead, Memory, beam_search
from regard.special_ids import END, PADDING, START

SOURCE, VOCABULARY, WIDTH = 7, 6, 8
# 3 and 4 copy 5 and 3, 5 and 6 can't be copied.
COPIED = torch.tensor([0, 0, 0, 5, 3, 0, 0])
LENGTHS = torch.tensor([5, 2, 0, 1])
SOURCES = torch.tensor([[3, 4, 3, 5, 4], [4, 6, 3, 3, 3], [3, 3, 3, 3, 3], [5, 3, 4, 3, 4]])
INPUTS = torch.tensor([[START, 5, 3, 5], [START, 5, 5, 3], [START, 4, 4, 4], [START, 3, 4, 5]])


def make(**changes):
    torch.manual_seed(3)
    model = AttentionSeq2Seq(SOURCE, VOCABULARY, WIDTH, layers=2, **changes)
    model.copying = CopyHead(WIDTH, COPIED)
    model = model.double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def test_the_probabilities_are_the_mixture():
    torch.manual_seed(1)
    head = CopyHead(WIDTH, COPIED)
    keys, vectors, scores = torch.randn(1, 4, WIDTH), torch.randn(1, 1, WIDTH), torch.randn(1, 1, VOCABULARY)
    copyable = head.copyable(Memory(torch.tensor([3]), keys=keys), torch.tensor([[3, 5, 4, 3]]))
    found = head(vectors, scores, copyable, torch.tensor([[START]]))
    gate = head.gate(vectors).sigmoid().item()
    # Of four items one can't be copied, and one is padding.
    matches = [(head.query(vectors)[0, 0] @ head.key(keys)[0, place]).item() / WIDTH**0.5 for place in (0, 2)]
    # Before the first item is the start, as before what is to be written.
    matches[0] += head.context.sum().item()
    total = sum(map(math.exp, matches))
    expected = (gate * scores.softmax(2)).flatten().tolist()
    expected[5] += (1 - gate) * math.exp(matches[0]) / total
    expected[3] += (1 - gate) * math.exp(matches[1]) / total
    torch.testing.assert_close(found.exp().flatten(), torch.tensor(expected))


def test_a_copy_goes_on_where_it_is():
    """Of two equal items that one is copied before which the same items are as before the target."""
    head = CopyHead(WIDTH, torch.arange(9))
    with torch.no_grad():
        head.context.copy_(torch.tensor([1.0, 2.0, 4.0]))
    keys = torch.zeros(1, 6, WIDTH)
    copyable = head.copyable(Memory(torch.tensor([6]), keys=keys), torch.tensor([[3, 4, 5, 4, 3, 4]]))
    found = head._in_context(copyable, torch.tensor([[START, 3, 4, 5]]))
    expected = [[7, 0, 0, 0, 0, 0], [0, 7, 0, 0, 0, 1], [0, 0, 7, 0, 1, 0], [0, 0, 0, 7, 0, 0]]
    assert found.tolist() == [expected]
    with torch.no_grad():
        steps = []
        for piece in (START, 3, 4, 5):
            steps.append(head._in_context(copyable, torch.tensor([[piece]])))
            copyable = copyable.after(torch.tensor([piece]))
        assert torch.cat(steps, 1).equal(found)


def test_where_nothing_can_be_copied_all_is_generated():
    model = make()
    memory = model.encode(SOURCES, LENGTHS)
    scores = model(memory, INPUTS)
    plain = make()
    plain.copying = None
    generated = plain(plain.encode(SOURCES, LENGTHS), INPUTS).log_softmax(2)
    same = [torch.allclose(*pair) for pair in zip(scores, generated, strict=True)]
    assert same == [False, False, True, True]
    torch.testing.assert_close(scores.exp().sum(2), torch.ones_like(scores[..., 0]))


@pytest.mark.parametrize("keys", ["states", "inputs"])
def test_teacher_forcing_equals_step_by_step(keys):
    model = make(keys=keys)
    with torch.no_grad():
        memory = model.encode(SOURCES, LENGTHS)
        state, found = model.start(memory), []
        for column in INPUTS.unbind(1):
            scores, state = model.step(state, column)
            found.append(scores)
        torch.testing.assert_close(torch.stack(found, 1), model(memory, INPUTS))


def test_the_score_of_a_beam_is_that_of_teacher_forcing():
    """Its beams are reordered, and what they copy with them."""
    model = make().eval()
    for item, said in enumerate(beam_search(model, SOURCES, LENGTHS, beams=3, length_penalty=0.0)):
        targets = torch.tensor([[*said.ids, *([END] if said.ended else [])]])
        inputs = torch.cat([torch.tensor([[START]]), targets[:, :-1]], dim=1)
        scores = model(model.encode(SOURCES[item : item + 1], LENGTHS[item : item + 1]), inputs)
        scores[:, :, :END] = -math.inf
        total = scores.log_softmax(2).gather(2, targets.unsqueeze(2)).sum()
        assert said.score == pytest.approx(float(total.detach()), rel=1e-4)


def test_batched_equals_one_by_one_whatever_stands_at_padding():
    model = make()
    together = model(model.encode(SOURCES, LENGTHS), INPUTS)
    for item, length in enumerate(LENGTHS.tolist()):
        memory = model.encode(SOURCES[item : item + 1, :length], LENGTHS[item : item + 1])
        torch.testing.assert_close(model(memory, INPUTS[item : item + 1])[0], together[item])


def test_gradients_are_finite_and_reach_every_parameter():
    model = make()
    # The last target is generated for lack of its copy, 4 can't be copied at all.
    wanted = torch.tensor([[3, 5, 4, END], [5, 5, 3, END], [4, 4, 4, END], [3, 4, 5, END]])
    scores = model(model.encode(SOURCES, LENGTHS), INPUTS)
    nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten(), label_smoothing=0.1).backward()
    missing = [name for name, each in model.named_parameters() if each.grad is None or not each.grad.isfinite().all()]
    assert missing == []
    assert all(each.grad.abs().max() > 1e-12 for each in model.copying.parameters())


def test_what_has_no_ids_is_not_copied():
    model = AttentionSeq2Seq(nn.Linear(3, WIDTH), VOCABULARY, WIDTH)
    model.copying = CopyHead(WIDTH, COPIED)
    with pytest.raises(ArgumentError, match=r"`source` must be ids for a model that copies, .* but is torch.float32"):
        model.encode(torch.zeros(1, 2, 3), torch.tensor([2]))
    assert PADDING == 0


def test_another_models_memory_is_refused():
    model = make()
    memory = model.encode(SOURCES, LENGTHS)
    with pytest.raises(ArgumentError, match="it holds no copyable"):
        model.start(Memory(memory.lengths, vector=memory.vector, keys=memory.keys, values=memory.values))
