"""Generation: greedy and with beams, on models made by hand, whose best targets are known, and on real ones."""

import dataclasses
import functools
import itertools
import math

import pytest
import torch

from regard.errors import ArgumentError
from regard.modules.guide import Guide
from regard.modules.seq2seq.generation import Generated, beam_search, block_repeated_ngrams, greedy
from regard.modules.seq2seq.generation_config import GenerationConfig
from regard.modules.seq2seq.recurrent_seq2seq import AttentionSeq2Seq, RecurrentSeq2Seq
from regard.modules.seq2seq.seq2seq import Memory, Seq2Seq
from regard.modules.seq2seq.transformer_seq2seq import TransformerSeq2Seq
from regard.special_ids import END, PADDING, START

A, B, C = 3, 4, 5


class Table(Seq2Seq):
    """A model that is written down: the scores of what comes after each beginning.

    Its source is one number, which is added to the score of `END`.
    """

    def __init__(self, vocabulary, after):
        super().__init__(5, vocabulary, 2, dropout=0.0, tied=False)
        self.after, self.calls = after, 0

    def encode(self, source, lengths):
        return Memory(lengths, vector=source.float().sum(1, keepdim=True))

    def start(self, memory):
        return [() for _ in memory.lengths], memory.vector

    def step(self, state, ids):
        self.calls += 1
        said, source = state
        said = [(*before, new) for before, new in zip(said, ids.tolist(), strict=True)]
        scores = torch.stack([self.after(before[1:]) for before in said])
        scores[:, END] += source[:, 0]
        return scores, (said, source)

    def reorder(self, state, indices):
        said, source = state
        return [said[index] for index in indices.tolist()], source[indices]


def written(**beginnings):
    """A table of probabilities: `written(_={A: 0.6, B: 0.4}, A={END: 1.0})`; every beginning starts with "_"."""
    names = {"A": A, "B": B, "C": C}
    known = {tuple(names[letter] for letter in key[1:]): row for key, row in beginnings.items()}

    def after(said):
        scores = torch.full((6,), -math.inf)
        for chosen, probability in known.get(said, {END: 1.0}).items():
            scores[chosen] = math.log(probability)
        return scores

    return Table(6, after)


def random_table(seed, vocabulary=6):
    @functools.cache
    def after(said):
        place = sum(number * 7**power for power, number in enumerate(said))
        return 2 * torch.randn(vocabulary, generator=torch.Generator().manual_seed(1000 * seed + place))

    return Table(vocabulary, after)


def source_of(numbers):
    return torch.tensor(numbers).unsqueeze(1), torch.ones(len(numbers), dtype=torch.int64)


def repeats(ids, size):
    """Whether an n-gram of this size stands in it twice."""
    ngrams = [tuple(ids[place : place + size]) for place in range(len(ids) - size + 1)]
    return size > 0 and len(set(ngrams)) < len(ngrams)


def exhaustive(model, number, most, length_penalty, vocabulary=6, no_repeat_ngram_size=0):
    """The best target that ends within so many ids, found by looking at all of them."""
    found = []
    for length in range(most):
        for ids in itertools.product(range(END + 1, vocabulary), repeat=length):
            if repeats(ids, no_repeat_ngram_size):
                continue
            total = 0.0
            for place, chosen in enumerate((*ids, END)):
                scores = model.after(ids[:place]).clone()
                scores[END] += number
                scores[:END] = -math.inf
                total += float(scores.log_softmax(0)[chosen])
            found.append((total / ((5 + length + 1) / 6) ** length_penalty, ids))
    return max(found)


REAL = {
    "vector": lambda **parts: RecurrentSeq2Seq(9, 8, 6, **parts),
    "attentive": lambda **parts: AttentionSeq2Seq(9, 8, 6, guide=Guide(2, 1.0), **parts),
    "transformer": lambda **parts: TransformerSeq2Seq(9, 8, 6, layers=2, heads=2, hidden=11, **parts),
}


def make(name, **parts):
    torch.manual_seed(11)
    model = REAL[name](**parts).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += torch.randn_like(parameter)
    return model


def sources(batch=5, length=4):
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(0, length + 1, (batch,), generator=generator)
    lengths[2] = 0
    return torch.randint(3, 9, (batch, length), generator=generator), lengths


def close(found, expected):
    assert [one.ids for one in found] == [one.ids for one in expected]
    assert [one.ended for one in found] == [one.ended for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], rel=1e-5)


class TestByHand:
    def test_a_garden_path(self):
        """Greedy takes the likelier first id, and pays for it: 0.6 x 0.3 against 0.4 x 0.9."""
        model = written(
            _={A: 0.6, B: 0.4}, _A={A: 0.3, B: 0.3, C: 0.3, END: 0.1}, _B={C: 0.9, END: 0.1}, _BC={END: 1.0}
        )
        (said,) = beam_search(model, torch.zeros(1, 1), torch.tensor([1]), beams=2, length_penalty=0.0)
        assert said.ids == (B, C)
        assert said.ended
        assert said.score == pytest.approx(math.log(0.36))
        (said,) = greedy(model, torch.zeros(1, 1), torch.tensor([1]), length_penalty=0.0)
        assert said.ids[0] == A
        assert said.score == pytest.approx(math.log(0.18))

    def test_the_length_penalty_favours_the_longer(self):
        """Two targets: (A) of 0.5 and (B C A) of 0.45. Over ((5 + 2) / 6) and ((5 + 4) / 6): -0.594 and -0.532."""
        model = written(_={A: 0.5, B: 0.5}, _A={END: 1.0}, _B={C: 0.9, A: 0.1}, _BC={A: 1.0}, _BCA={END: 1.0})
        for penalty, ids, score in ((0.0, (A,), math.log(0.5)), (1.0, (B, C, A), math.log(0.45) / 1.5)):
            (said,) = beam_search(model, torch.zeros(1, 1), torch.tensor([1]), length_penalty=penalty)
            assert said.ids == ids
            assert said.score == pytest.approx(score)

    def test_what_ends_leaves_the_beam_narrower(self):
        """END is second of the first step, so that of two beams one goes on, by A to (A A) and not to (A B)."""
        model = written(
            _={A: 0.4, END: 0.35, B: 0.25}, _A={A: 0.51, B: 0.49}, _AA={END: 0.5, C: 0.25, A: 0.25}, _AB={END: 1.0}
        )
        # Over ((5 + length) / 6)^3, with the end: log 0.35, log 0.102 / 2.37 and log 0.196 / 2.37.
        for beams, ids, score in ((1, (A, A), -0.963), (2, (A, A), -0.963), (5, (A, B), -0.688)):
            (said,) = beam_search(model, torch.zeros(1, 1), torch.tensor([1]), beams=beams, length_penalty=3.0)
            assert said.ids == ids
            assert said.score == pytest.approx(score, abs=1e-3)

    def test_padding_and_start_are_never_said(self):
        """However likely: of what is left, A has e / (1 + e), which is three times said."""
        model = Table(4, lambda said: torch.tensor([9.0, 8.0, 0.0, 1.0]))
        options = {"longest": 0.0, "spare": 3, "length_penalty": 0.0}
        (said,) = greedy(model, torch.zeros(1, 1), torch.tensor([1]), **options)
        assert (said.ids, said.ended) == ((A, A, A), False)
        assert said.score == pytest.approx(3 * math.log(math.e / (1 + math.e)))
        # What has ended goes before what was cut.
        (said,) = beam_search(model, torch.zeros(1, 1), torch.tensor([1]), **options)
        assert (said.ids, said.ended) == ((), True)

    @pytest.mark.parametrize("generate", [greedy, beam_search])
    def test_what_is_cut_says_so(self, generate):
        never = written(_={A: 1.0}, _A={A: 1.0}, _AA={A: 1.0}, _AAA={A: 1.0})
        (said,) = generate(never, torch.zeros(1, 1), torch.tensor([1]), longest=1.0, spare=2)
        assert said == Generated((A, A, A), 0.0, ended=False)
        ends = written(_={A: 1.0}, _A={A: 1.0}, _AA={END: 1.0})
        (said,) = generate(ends, torch.zeros(1, 1), torch.tensor([1]), longest=1.0, spare=2)
        assert said == Generated((A, A), 0.0, ended=True)

    @pytest.mark.parametrize("generate", [greedy, beam_search])
    def test_each_item_has_a_limit_of_its_own(self, generate):
        never = Table(4, lambda said: torch.tensor([0.0, 0.0, -math.inf, 0.0]))
        said = generate(never, torch.zeros(4, 5), torch.tensor([5, 0, 2, 1]), longest=1.5, spare=0)
        assert [len(one.ids) for one in said] == [7, 0, 3, 1]
        assert not any(one.ended for one in said)
        assert said[1] == Generated((), 0.0, ended=False)

    @pytest.mark.parametrize("generate", [greedy, beam_search])
    def test_it_stops_when_all_have_ended(self, generate):
        model = written(_={A: 1.0})
        generate(model, torch.zeros(2, 1), torch.tensor([1, 1]), spare=1000)
        assert model.calls == 2

    def test_it_stops_when_nothing_can_be_better(self):
        """(A) has probability 0.9; what begins with B goes on for ever, but never above 0.1."""
        model = Table(6, lambda said: written(_={A: 0.9, B: 0.1}).after(said) if B not in said else go_on)
        go_on = torch.tensor([-math.inf, -math.inf, -math.inf, -math.inf, 0.0, -math.inf])
        (said,) = beam_search(model, torch.zeros(1, 1), torch.tensor([1]), spare=1000, length_penalty=0.0)
        assert said.ids == (A,)
        assert model.calls == 2


class TestRepetition:
    @pytest.mark.parametrize("size", [1, 2, 3, 4])
    def test_what_is_blocked_is_what_would_repeat(self, size):
        """Beside a loop over all rows and ids."""
        generator = torch.Generator().manual_seed(size)
        likely = torch.randn(40, 9, generator=generator)
        likely[:, [PADDING, START]] = -math.inf
        blocked = 0
        for length in range(8):
            said = torch.randint(END + 1, 6, (40, length), generator=generator)
            found = block_repeated_ngrams(likely, said, size)
            for row, before in enumerate(said.tolist()):
                for chosen in range(9):
                    # What already repeats isn't of this step.
                    new = tuple([*before, chosen][-size:])
                    again = any(tuple(before[at : at + size]) == new for at in range(length - size + 1))
                    blocked += again
                    expected = -math.inf if again else float(likely[row, chosen])
                    assert float(found[row, chosen]) == expected
        assert blocked

    def test_nothing_is_blocked_by_0(self):
        likely = torch.zeros(1, 6)
        assert block_repeated_ngrams(likely, torch.tensor([[A, A, A, A]]), 0) is likely

    @pytest.mark.parametrize("generate", [greedy, beam_search])
    def test_an_ngram_is_said_once(self, generate):
        """After A B A comes B by 0.9 or the end by 0.1: the score stays the model's, though only the end is left."""
        model = written(_={A: 1.0}, _A={B: 1.0}, _AB={A: 1.0}, _ABA={B: 0.9, END: 0.1}, _ABAB={END: 1.0})
        options = {"length_penalty": 0.0}
        for size, ids, score in ((0, (A, B, A, B), 0.9), (3, (A, B, A, B), 0.9), (2, (A, B, A), 0.1)):
            (said,) = generate(model, torch.zeros(1, 1), torch.tensor([1]), no_repeat_ngram_size=size, **options)
            assert said.ids == ids
            assert said.ended
            assert said.score == pytest.approx(math.log(score))

    @pytest.mark.parametrize("generate", [greedy, beam_search])
    def test_what_can_say_nothing_else_repeats(self, generate):
        """A model that never ends, and of whose two ids each was said."""
        never = Table(5, lambda said: torch.tensor([0.0, 0.0, -math.inf, 0.0, 1.0]))
        (said,) = generate(never, torch.zeros(1, 1), torch.tensor([1]), no_repeat_ngram_size=1, longest=0.0, spare=4)
        assert set(said.ids[:2]) == {A, B}
        assert len(said.ids) == 4
        assert math.isfinite(said.score)

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_enough_beams_find_the_best_that_does_not_repeat(self, size):
        options, other = {"length_penalty": 2.0, "no_repeat_ngram_size": size}, 0
        for seed in range(4):
            model = random_table(seed)
            (said,) = beam_search(model, *source_of([-3.0]), beams=1000, longest=0.0, spare=5, **options)
            score, ids = exhaustive(model, -3.0, 5, **options)
            assert said.ids == ids
            assert said.score == pytest.approx(score, rel=1e-5)
            other += ids != exhaustive(model, -3.0, 5, 2.0)[1]
        assert other or size == 3

    @pytest.mark.parametrize("name", REAL)
    def test_every_model(self, name):
        """One beam is greedy, batched equals one by one, and no target repeats; without the setting some do."""
        model, (source, lengths) = make(name), sources()
        with torch.no_grad():
            model.output.bias[END] -= 8
        options, repeating = {"no_repeat_ngram_size": 2, "spare": 6}, 0
        for generate, more in ((greedy, {}), (beam_search, {"beams": 1}), (beam_search, {"beams": 3})):
            together = generate(model, source, lengths, **options, **more)
            assert not any(repeats(one.ids, 2) for one in together)
            alone = [
                generate(model, source[item : item + 1, :length], lengths[item : item + 1], **options, **more)[0]
                for item, length in enumerate(lengths.tolist())
            ]
            close(alone, together)
            repeating += sum(repeats(one.ids, 2) for one in generate(model, source, lengths, spare=6, **more))
        assert repeating
        close(beam_search(model, source, lengths, beams=1, **options), greedy(model, source, lengths, **options))


class TestBeams:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.5])
    def test_enough_beams_find_the_best_of_all(self, seed, length_penalty):
        model, numbers = random_table(seed), [0.0, -2.0, 2.0]
        options = {"length_penalty": length_penalty, "longest": 0.0, "spare": 5}
        said = beam_search(model, *source_of(numbers), beams=1000, **options)
        for one, number in zip(said, numbers, strict=True):
            score, ids = exhaustive(model, number, 5, length_penalty)
            assert one.ended
            assert one.ids == ids
            assert one.score == pytest.approx(score, rel=1e-5)

    def test_few_beams_find_no_better(self):
        options, worse = {"longest": 0.0, "spare": 4}, 0
        for seed in range(8):
            model, given = random_table(seed), source_of([0.0, 1.0])
            best = beam_search(model, *given, beams=1000, **options)
            for few, exact in zip(beam_search(model, *given, beams=1, **options), best, strict=True):
                assert not few.ended or few.score <= exact.score + 1e-6
                worse += few.ids != exact.ids
        assert worse

    @pytest.mark.parametrize("seed", range(3))
    def test_one_beam_is_greedy_on_a_table(self, seed):
        model, given = random_table(seed), source_of([0.0, -1.0, 1.0])
        close(beam_search(model, *given, beams=1), greedy(model, *given))


class TestConfig:
    @pytest.mark.parametrize("search", [greedy, beam_search])
    def test_a_setting_by_name_is_a_change_of_the_config(self, search):
        model, given = random_table(0), source_of([-3.0, 0.0])
        config = GenerationConfig(length_penalty=1.5, no_repeat_ngram_size=1, longest=0.0, spare=4)
        said = search(model, *given, config=config)
        assert said == search(model, *given, length_penalty=1.5, no_repeat_ngram_size=1, longest=0.0, spare=4)
        assert said == search(model, *given, config=dataclasses.replace(config, spare=9), spare=4)
        assert said != search(model, *given, config=dataclasses.replace(config, length_penalty=0.0))
        assert said != search(model, *given, config=dataclasses.replace(config, spare=1))

    def test_a_setting_that_there_is_not(self):
        with pytest.raises(TypeError, match="unexpected keyword argument 'length'"):
            greedy(random_table(0), *source_of([0.0]), length=3)


@pytest.mark.parametrize("name", REAL)
class TestEveryModel:
    def test_one_beam_is_greedy(self, name):
        model, given = make(name), sources()
        close(beam_search(model, *given, beams=1), greedy(model, *given))

    @pytest.mark.parametrize("beams", [1, 3])
    def test_the_score_is_that_of_teacher_forcing(self, name, beams):
        """So that what is kept from step to step equals computing it all anew."""
        model, (source, lengths) = make(name).eval(), sources()
        for item, said in enumerate(beam_search(model, source, lengths, beams=beams, length_penalty=0.0)):
            targets = torch.tensor([[*said.ids, *([END] if said.ended else [])]])
            inputs = torch.cat([torch.tensor([[START]]), targets[:, :-1]], dim=1)
            scores = model(model.encode(source[item : item + 1], lengths[item : item + 1]), inputs)
            scores[:, :, :END] = -math.inf
            total = scores.log_softmax(2).gather(2, targets.unsqueeze(2)).sum()
            assert said.score == pytest.approx(float(total.detach()), rel=1e-4)

    @pytest.mark.parametrize("beams", [None, 3])
    def test_order_and_company_do_not_matter(self, name, beams):
        model, (source, lengths) = make(name), sources()
        generate = greedy if beams is None else beam_search
        options = {"spare": 4} if beams is None else {"spare": 4, "beams": beams}
        together = generate(model, source, lengths, **options)
        order = torch.tensor([4, 2, 0, 1, 3])
        close(generate(model, source[order], lengths[order], **options), [together[index] for index in order])
        alone = [
            generate(model, source[item : item + 1, :length], lengths[item : item + 1], **options)[0]
            for item, length in enumerate(lengths.tolist())
        ]
        close(alone, together)

    def test_the_model_is_left_as_it_was(self, name):
        model, given = make(name, dropout=0.5), sources()
        model.encoder.eval()
        before = [part.training for part in model.modules()]
        first = greedy(model, *given)
        assert [part.training for part in model.modules()] == before
        assert greedy(model, *given) == first
        assert beam_search(model, *given) == beam_search(model, *given)
        assert all(parameter.grad is None for parameter in model.parameters())

    @pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
    def test_few_sources_or_none(self, name, shape):
        model, given = make(name), (torch.zeros(shape, dtype=torch.int64), torch.full(shape[:1], shape[1]))
        for generate in (greedy, beam_search):
            said = generate(model, *given, spare=4)
            assert len(said) == shape[0]
            assert all(math.isfinite(one.score) and len(one.ids) <= 4 for one in said)

    def test_numbers_that_are_none_are_refused(self, name):
        model = make(name)
        with torch.no_grad():
            model.output.weight[:] = torch.nan
        for generate in (greedy, beam_search):
            with pytest.raises(ArgumentError, match="`model` must give scores that are numbers, but gives NaN"):
                generate(model, *sources())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beams": 0}, "`beams` must be how many targets are followed, 1 or more, but is 0"),
        ({"length_penalty": -0.5}, "`length_penalty` must be a number, 0 or more, but is -0.5"),
        ({"length_penalty": 1e9}, "`length_penalty` must be at most 10, but is 1000000000.0"),
        ({"length_penalty": math.nan}, "`length_penalty` must be a number, 0 or more, but is nan"),
        ({"no_repeat_ngram_size": -1}, "`no_repeat_ngram_size` must be the length of .*, 0 or more, but is -1"),
        ({"longest": math.inf}, "`longest` must be a number, 0 or more, but is inf"),
        ({"spare": -1}, "`spare` must be"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ArgumentError, match=message):
        beam_search(random_table(0), *source_of([0.0]), **options)
