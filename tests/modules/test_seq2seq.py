"""Sequence to sequence: laws that every model keeps, what each remembers of its source, and that each can learn."""

import contextlib

import jaxtyping
import pytest
import torch
from torch import nn

from regard.attention import Window
from regard.errors import ArgumentError
from regard.inspection import NothingSeen, watch
from regard.modules.guide import Guide
from regard.modules.projections import PROJECTIONS
from regard.modules.seq2seq.generation import greedy
from regard.modules.seq2seq.recurrent_seq2seq import AttentionSeq2Seq, RecurrentSeq2Seq
from regard.modules.seq2seq.seq2seq import ScaledEmbedding
from regard.modules.seq2seq.transformer_seq2seq import TransformerSeq2Seq
from regard.special_ids import END, START

WIDTH, VOCABULARY, LENGTHS = 6, 7, [5, 2, 0, 1]
GUIDE = Guide(width=1, rate=1.5)


def transformer(source, vocabulary, width, **parts):
    return TransformerSeq2Seq(source, vocabulary, width, **{"layers": 2, "heads": 2, "hidden": 11, **parts})


MODELS = {
    "vector": (RecurrentSeq2Seq, {"layers": 2}),
    "vector, both ends": (RecurrentSeq2Seq, {"bidirectional": True, "tied": True}),
    "attentive": (AttentionSeq2Seq, {"layers": 2}),
    "attentive, dot": (AttentionSeq2Seq, {"score": "dot", "heads": 3, "keys": "outputs", "values": "inputs"}),
    "attentive, guided": (AttentionSeq2Seq, {"bidirectional": False, "values": "states", "guide": GUIDE}),
    "transformer": (transformer, {}),
    "transformer, one matrix": (transformer, {"projections": PROJECTIONS["shared_query_key_value"]}),
    "transformer, queries only": (transformer, {"projections": PROJECTIONS["query_only"]}),
    "transformer, truncated": (transformer, {"mask": Window(1, 1), "position": "relative"}),
    "transformer, no self": (transformer, {"mask": "no_self"}),
    "transformer, relative": (transformer, {"position": "relative", "decoder_layers": 1, "tied": True}),
    "transformer, learned": (transformer, {"position": "learned", "score": "additive"}),
    "transformer, guided": (transformer, {"position": "rotary", "head_size": 4, "guide": GUIDE}),
}


def make(name, source=VOCABULARY, **changes):
    torch.manual_seed(3)
    kind, parts = MODELS[name]
    model = kind(source, VOCABULARY, WIDTH, **{**parts, **changes}).double()
    # Some parts begin at zero, where nothing of them could be seen.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    return model


def frames(batch=4, length=5):
    return torch.randn(batch, length, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


def ids(batch=4, length=5, least=3):
    return torch.randint(least, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(7))


def inputs(batch=4, length=6):
    found = ids(batch, length)
    found[:, 0] = START
    return found


def stepwise(model, memory, targets):
    state, found = model.start(memory), []
    for column in targets.unbind(1):
        scores, state = model.step(state, column)
        found.append(scores)
    return torch.stack(found, 1)


@pytest.mark.parametrize("name", MODELS)
class TestEveryModel:
    def test_teacher_forcing_equals_step_by_step(self, name):
        model, lengths = make(name), torch.tensor(LENGTHS)
        with torch.no_grad():
            memory = model.encode(ids(), lengths)
            torch.testing.assert_close(stepwise(model, memory, inputs()), model(memory, inputs()))

    def test_earlier_scores_ignore_later_inputs(self, name):
        model, targets = make(name), inputs()
        memory = model.encode(ids(), torch.tensor(LENGTHS))
        changed = targets.clone()
        changed[:, 4:] = 3 + (changed[:, 4:] - 2) % 4
        before, after = model(memory, targets), model(memory, changed)
        torch.testing.assert_close(before[:, :4], after[:, :4])
        assert not torch.allclose(before[:, 4:], after[:, 4:])

    def test_padding_of_the_source_cannot_matter(self, name):
        model = make(name, source=nn.Linear(3, WIDTH))
        outputs, gradients = [], []
        for poison in (0.0, torch.nan, torch.inf):
            source = frames()
            for item, length in enumerate(LENGTHS):
                source[item, length:] = poison
            model.zero_grad()
            outputs.append(model(model.encode(source, torch.tensor(LENGTHS)), inputs()))
            outputs[-1].square().sum().backward()
            gradients.append([parameter.grad for parameter in model.parameters()])
        assert torch.isfinite(outputs[0]).all()
        assert all(torch.equal(output, outputs[0]) for output in outputs)
        for found in gradients[1:]:
            assert all(torch.equal(a, b) for a, b in zip(gradients[0], found, strict=True))

    def test_batched_equals_one_by_one(self, name):
        model = make(name)
        together = model(model.encode(ids(), torch.tensor(LENGTHS)), inputs())
        for item, length in enumerate(LENGTHS):
            memory = model.encode(ids()[item : item + 1, :length], torch.tensor([length]))
            torch.testing.assert_close(model(memory, inputs()[item : item + 1])[0], together[item])

    def test_the_source_matters(self, name):
        model = make(name)
        memory = model.encode(ids(), torch.tensor(LENGTHS))
        other = model.encode(3 + (ids() - 2) % 4, torch.tensor(LENGTHS))
        same = [torch.allclose(a, b) for a, b in zip(model(memory, inputs()), model(other, inputs()), strict=True)]
        assert same == [False, False, True, False]

    def test_gradients_reach_every_parameter(self, name):
        model = make(name)
        scores = model(model.encode(ids(), torch.tensor(LENGTHS)), inputs())
        nn.functional.cross_entropy(scores.flatten(0, 1), ids(4, 6, least=END).flatten()).backward()
        assert [key for key, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()] == []
        # A shift of all keys of a softmax changes nothing, so that the bias of keys has a gradient of 0.
        still = [key for key, p in model.named_parameters() if not p.grad.abs().max() > 1e-12]
        assert [key for key in still if not key.endswith("key.bias")] == []

    @pytest.mark.parametrize("steps", [0, 2])
    def test_reordered_states_go_on_as_their_items(self, name, steps):
        model, picked = make(name), torch.tensor([1, 3, 1, 0, 0, 2])
        with torch.no_grad():
            memory = model.encode(ids(), torch.tensor(LENGTHS))
            expected = model(memory, inputs())[picked]
            state = model.start(memory)
            for step in range(steps):
                _, state = model.step(state, inputs()[:, step])
            state = model.reorder(state, picked)
            for step in range(steps, 6):
                scores, state = model.step(state, inputs()[picked, step])
                torch.testing.assert_close(scores, expected[:, step])

    @pytest.mark.parametrize("shape", [(2, 0), (0, 3), (1, 1)])
    def test_few_sources_or_none(self, name, shape):
        model = make(name)
        memory = model.encode(ids(*shape), torch.full(shape[:1], shape[1]))
        scores = model(memory, inputs(shape[0], 1))
        assert scores.shape == (shape[0], 1, VOCABULARY)
        assert torch.isfinite(scores).all()

    def test_attention_can_be_watched(self, name):
        model, steps = make(name), 6
        nothing = pytest.warns(NothingSeen) if name.startswith("vector") else contextlib.nullcontext()
        with nothing, watch(model) as seen:
            model(model.encode(ids(), torch.tensor(LENGTHS)), inputs())
        looks = [sighting for sighting in seen if sighting.name in ("attention", "decoder.layers.0.source_attention")]
        if name.startswith("vector"):
            assert not seen.layers
            return
        weights = torch.cat([sighting.weights() for sighting in looks], dim=2)
        assert weights.shape[2:] == (steps, 5)
        for item, length in enumerate(LENGTHS):
            assert not weights[item, :, :, length:].any()
            expected = torch.full(weights.shape[1:3], float(length > 0), dtype=weights.dtype)
            torch.testing.assert_close(weights[item].sum(-1), expected)

    def test_errors(self, name):
        model = make(name)
        memory = model.encode(ids(), torch.tensor(LENGTHS))
        with pytest.raises(ArgumentError, match=r"`inputs` must be ids \(4, length\) that begin with START"):
            model(memory, inputs()[:, :0])
        with pytest.raises(ArgumentError, match="for as many sources as were read"):
            model(memory, inputs(batch=3))
        with pytest.raises(ArgumentError, match="`lengths` must lie between 0 and 5"):
            model.encode(ids(), torch.tensor([6, 0, 0, 0]))
        with pytest.raises(ArgumentError, match="`vocabulary` must be how many ids there are"):
            MODELS[name][0](9, 2, WIDTH)
        with pytest.raises(ArgumentError, match=r"`source` must be a module that makes vectors \(4, 5, 6\)"):
            make(name, source=nn.Linear(3, 4)).encode(frames(), torch.tensor(LENGTHS))


class TestWhatIsRemembered:
    def test_one_vector_whatever_the_length(self):
        model = make("vector")
        for length in (1, 5):
            memory = model.encode(ids(2, length), torch.full((2,), length))
            assert (memory.vector.shape, memory.keys, memory.values) == ((2, WIDTH), None, None)

    def test_only_the_first_step_receives_it(self):
        """With the state forgotten after the first step, nothing of the source is left."""
        model = make("vector")
        memory, other = (model.encode(source, torch.tensor(LENGTHS)) for source in (ids(), 3 + (ids() - 2) % 4))
        results = []
        for read in (memory, other):
            _, state = model.step(model.start(read), inputs()[:, 0])
            results.append(model.step(torch.zeros_like(state), inputs()[:, 1])[0])
        torch.testing.assert_close(*results)

    @pytest.mark.parametrize("keys", ["states", "outputs", "inputs"])
    @pytest.mark.parametrize("values", ["states", "outputs", "inputs"])
    def test_keys_and_values_as_asked_for(self, keys, values):
        model = make("attentive", keys=keys, values=values)
        memory = model.encode(ids(), torch.tensor(LENGTHS))
        assert torch.equal(memory.keys, memory.values) == (keys == values)
        assert (model.read_out is not None) == ("outputs" in (keys, values))
        assert torch.isfinite(model(memory, inputs())).all()

    def test_the_query_is_the_state_of_the_step_before(self):
        """So that where the first step looks doesn't depend on its input."""
        model = make("attentive")
        memory = model.encode(ids(), torch.tensor(LENGTHS))
        with watch(model) as seen:
            for first in (START, 5):
                model.step(model.start(memory), torch.full((4,), first))
        assert torch.equal(seen[0].weights(), seen[1].weights())

    @pytest.mark.parametrize("name", ["vector", "attentive", "transformer"])
    def test_the_memory_of_another_model(self, name):
        own = "transformer" if name != "transformer" else "vector"
        memory = make(own).encode(ids(), torch.tensor(LENGTHS))
        with pytest.raises(ArgumentError, match="`memory` must come from this model's own `encode`"):
            make(name)(memory, inputs())

    @pytest.mark.parametrize(
        ("make_model", "message"),
        [
            (lambda: AttentionSeq2Seq(7, 7, 6, keys="state"), "`keys` must be one of .*Did you mean 'states'"),
            (lambda: AttentionSeq2Seq(7, 7, 6, score="aditive"), "Did you mean 'additive'"),
            (lambda: AttentionSeq2Seq(7, 7, 5), "`width` must be even"),
            (lambda: RecurrentSeq2Seq(7, 7, 6, layers=0), "`layers` must be"),
            (lambda: transformer(7, 7, 6, decoder_layers=0), "`decoder_layers` must be .* 1 or more"),
            (lambda: transformer(7, 7, 6, position="sinusoid"), "Did you mean 'sinusoidal'"),
        ],
    )
    def test_names_and_sizes(self, make_model, message):
        with pytest.raises(ArgumentError, match=message):
            make_model()


class TestEmbedding:
    def test_it_is_scaled_and_padding_is_zeros(self):
        table = ScaledEmbedding(1000, 64)
        assert not table(torch.tensor([0])).any()
        assert 0.9 < float(table.weight.detach()[1:].std()) * 8 < 1.1
        torch.testing.assert_close(table(torch.tensor([5])), 8 * table.weight[5:6])

    @pytest.mark.parametrize("wrong", [-1, 10])
    def test_ids_that_it_does_not_have(self, wrong):
        with pytest.raises(ArgumentError, match="`ids` must lie between 0 and 9, but go from"):
            ScaledEmbedding(10, 4)(torch.tensor([3, wrong]))

    def test_a_tied_table_stands_once(self):
        names = {name for name, _ in make("vector, both ends").named_parameters()}
        assert "target.weight" in names
        assert not any(name.startswith("output") for name in names)


@pytest.fixture
def unchecked():
    """Shapes are checked above; three quarters of a training step would go into that."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def learned(model, steps, rule, longest, rate, batch=32):
    """The share of new sources that a model gets right from end to end after so many steps."""
    torch.manual_seed(1)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)

    def examples(count):
        lengths = torch.randint(1, longest + 1, (count,))
        source = torch.randint(3, VOCABULARY, (count, longest))
        source[torch.arange(longest) >= lengths.unsqueeze(1)] = 0
        targets = [rule(row[:length]) for row, length in zip(source, lengths.tolist(), strict=True)]
        return source, lengths, targets

    for _ in range(steps):
        source, lengths, targets = examples(batch)
        marks = [torch.tensor([START]), torch.tensor([END])]
        wanted = nn.utils.rnn.pad_sequence([torch.cat([marks[0], t, marks[1]]) for t in targets], batch_first=True)
        scores = model(model.encode(source, lengths), wanted[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), wanted[:, 1:].flatten(), ignore_index=0)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    source, lengths, targets = examples(50)
    said = greedy(model, source, lengths)
    return sum(s.ended and list(s.ids) == t.tolist() for s, t in zip(said, targets, strict=True)) / 50


@pytest.mark.usefixtures("unchecked")
class TestLearning:
    """Each model learns to copy or to turn round short strings, within seconds."""

    def test_through_one_vector(self):
        torch.manual_seed(0)
        model = RecurrentSeq2Seq(VOCABULARY, VOCABULARY, 32)
        assert learned(model, 120, lambda row: row, longest=3, rate=0.02) > 0.6

    @pytest.mark.slow
    def test_with_attention(self):
        torch.manual_seed(0)
        model = AttentionSeq2Seq(VOCABULARY, VOCABULARY, 32)
        assert learned(model, 80, lambda row: row.flip(0), longest=4, rate=0.02) > 0.6

    def test_by_attention_alone(self):
        torch.manual_seed(0)
        model = TransformerSeq2Seq(VOCABULARY, VOCABULARY, 32, layers=1, heads=2, hidden=64)
        assert learned(model, 120, lambda row: row.flip(0), longest=4, rate=0.01) > 0.6
