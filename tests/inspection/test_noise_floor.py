"""The noise floor of effects, where what matters is known: a head wired by hand is above it, random ones aren't."""

import math
import statistics

import pytest
import torch
from torch import nn
from torch.nn import functional

import regard
from regard.errors import ArgumentError
from regard.inspection import (
    BASELINES,
    Effect,
    HideKey,
    PatchHead,
    RemoveHead,
    Together,
    effects,
    head_effects,
    intervene,
    joint_effect,
    rank_agreement,
    watch,
)

WORDS, LENGTH, HEADS = 12, 6, 10


class OneWiredHead(nn.Module):
    """Ten heads, of which one copies the word before to the logits, and nine are random."""

    def __init__(self, seed, wired):
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        size, width = WORDS, WORDS + LENGTH
        self.query, self.key, self.value = torch.randn(3, HEADS, width, size, generator=random)
        self.value = self.value / self.value.norm(dim=-1, keepdim=True)
        self.output = torch.linalg.qr(torch.randn(HEADS, size, size, generator=random))[0]
        for each in (self.query, self.key, self.value):
            each[wired] = 0.0
        for position in range(LENGTH):
            self.key[wired, WORDS + position, position] = 20.0
            self.query[wired, WORDS + position, max(position - 1, 0)] = 20.0
        for word in range(WORDS):
            self.value[wired, word, word] = 1.0
        self.output[wired] = torch.eye(size)

    def forward(self, words):
        places = torch.eye(LENGTH).expand(len(words), -1, -1)
        vectors = torch.cat([functional.one_hot(words, WORDS).float(), places], -1)
        query, key, value = (
            torch.einsum("bnw,hwf->bhnf", vectors, each) for each in (self.query, self.key, self.value)
        )
        heads = functional.scaled_dot_product_attention(query, key, value)
        return 4 * torch.einsum("bhnf,hfw->bnw", heads, self.output)


def wired(seed):
    """The model, an input, other inputs, the measure, and the number of the wired head."""
    random = torch.Generator().manual_seed(1000 + seed)
    head = int(torch.randint(HEADS, (), generator=random))
    others = list(torch.randint(WORDS, (8, 1, LENGTH), generator=random))
    # Of words that are all different, the one to copy is at one place only.
    words = torch.randperm(WORDS, generator=random)[None, :LENGTH]
    before = int(words[0, -2])

    def measure(logits):
        """The logit of the word to copy, minus the mean logit."""
        return logits[:, -1, before].double() - logits[:, -1].double().mean(-1)

    return OneWiredHead(seed, head).eval(), words, others, measure, head


def above(seed, by, heads):
    """Whether the wired head and some random ones are above the noise floor."""
    model, words, others, measure, wired_head = wired(seed)
    random = [head for head in range(HEADS) if head != wired_head][:heads]
    changes = [RemoveHead(1, head + 1, by) for head in (wired_head, *random)]
    found = effects(model, model, measure, changes, inputs=words, others=others, draws=4, noise=19, seed=19 * seed)
    return [each.above_noise for each in found]


@pytest.mark.parametrize("by", BASELINES)
def test_a_wired_head_is_found_and_random_ones_are_not(by):
    """In 20 models: 5 % of 60 random heads are 3, with a standard deviation of 1.7."""
    found = [above(seed, by, heads=3) for seed in range(20)]
    assert sum(wired_head for wired_head, *_ in found) == 20
    assert sum(sum(random) for _, *random in found) <= 8


@pytest.mark.slow
@pytest.mark.parametrize("by", BASELINES)
def test_as_many_random_heads_are_above_the_floor_as_chance_explains(by):
    """In 60 models: 5 % of 540 random heads are 27, with a standard deviation of 5.1."""
    found = [above(seed, by, heads=9) for seed in range(60)]
    assert sum(wired_head for wired_head, *_ in found) == 60
    assert 5 <= sum(sum(random) for _, *random in found) <= 43


def test_the_word_that_a_wired_head_copies_is_above_the_floor():
    model, words, _, measure, _ = wired(3)
    found = effects(model, model, measure, [HideKey(LENGTH - 1)], inputs=words, noise=19)[0]
    assert found.above_noise
    assert len(found.noise) == 19


def test_the_floor_is_the_largest_of_the_random_directions():
    """For a linear model by hand: the effect of a direction is its product with what reads it."""
    from regard.inspection.explain.random_directions import random_rotation

    torch.manual_seed(0)
    vectors, reads = torch.randn(1, 1, 5, 8), torch.randn(8)

    class Linear(nn.Module):
        def forward(self, given):
            return functional.scaled_dot_product_attention(given, given, given)[:, 0, 2] @ reads

    model = Linear().eval()
    head = (torch.softmax(vectors[0, 0] @ vectors[0, 0].mT / math.sqrt(8), -1) @ vectors[0, 0])[2].double()
    expected = max(abs(float(-head @ random_rotation(8, seed) @ reads.double())) for seed in range(7, 26))
    for inputs in (None, vectors):
        run = (lambda: model(vectors)) if inputs is None else model
        found = effects(model, run, lambda output: output, [RemoveHead(1, 1)], inputs=inputs, noise=19, seed=7)[0]
        assert found.noise_floor == pytest.approx(expected, rel=1e-5)
        assert found.difference == pytest.approx(-float(head @ reads.double()), rel=1e-5)
        assert found.above_noise == (abs(found.difference) > expected)


def test_an_effect_of_resampling_is_the_mean_over_other_inputs():
    """Each of four other inputs is taken once by four draws, so that the mean doesn't depend on their order."""
    model, words, others, measure, head = wired(0)
    others = others[:4]
    change = RemoveHead(1, head + 1, "resample")
    afters = []
    for other in others:
        with watch(model) as seen:
            model(other)
        with intervene(model, PatchHead(seen, 1, head + 1)):
            afters.append(float(measure(model(words))))
    found = effects(model, model, measure, [change, RemoveHead(1, 1)], inputs=words, others=others, draws=4)
    assert found[0].change == change
    assert found[0].after == pytest.approx(statistics.mean(afters))
    assert found[0].spread == pytest.approx(statistics.stdev(afters))
    assert (found[0].draws, found[1].draws, found[1].spread) == (4, 1, None)
    # What watch saw of them is taken as well, and without `inputs`.
    seen = []
    for other in others:
        with watch(model) as each:
            model(other)
        seen.append(each)
    single = effects(model, lambda: model(words), lambda logits: measure(logits)[0], [change], others=seen, draws=4)[0]
    assert single.after == pytest.approx(found[0].after)


def test_the_floor_of_several_numbers_stands_beside_each():
    model, words, _, _, head = wired(1)
    changes = [RemoveHead(1, head + 1)]
    found = effects(model, model, lambda logits: logits[:, -1], changes, inputs=words, noise=19)[0]
    alone = [
        effects(model, model, lambda logits, word=word: logits[:, -1, word], changes, inputs=words, noise=19)[0]
        for word in range(WORDS)
    ]
    torch.testing.assert_close(
        found.noise_floor, torch.tensor([each.noise_floor for each in alone], dtype=torch.double)
    )
    # Where one number decides, the largest, the floor is that of the largest number in each direction.
    assert found.noise[0] == float(found.noise_floor.max())
    assert "noise" in str(found)


def test_what_changes_nothing_is_not_above_a_floor_of_nothing():
    model, words, _, measure, _ = wired(0)
    # What an input gave itself changes nothing.
    found = effects(model, model, measure, [PatchHead(_own(model, words), 1)], inputs=words, noise=19)[0]
    assert found.unchanged
    assert found.above_noise is False
    assert "nothing changed" in str(found)


def _own(model, words):
    with watch(model) as seen:
        model(words)
    return seen


def test_an_effect_says_what_can_be_told():
    floor = {"noise_floor": 0.1, "noise": (0.1, *[0.01] * 18)}
    change = RemoveHead(2, 4, "resample")
    effect = Effect(change, 0.93, 0.66, spread=0.123, draws=8, **floor)
    assert str(effect) == (
        "Remove head 4 of layer 2, replaced by that for other inputs: 0.93 became 0.66 (-0.27 ± 0.12 over 8 draws), "
        "above the noise floor of 0.1."
    )
    assert str(Effect(RemoveHead(2, 4), 0.93, 0.9, **floor)) == (
        "Remove head 4 of layer 2: 0.93 became 0.9 (-0.03); can't tell from noise (0.1)."
    )
    assert Effect(change, 0.93, 0.66).above_noise is None
    assert Effect(change, 0.5, math.nan, **floor).above_noise
    assert not Effect(change, 0.5, 0.6, noise_floor=math.inf, noise=(math.inf, 0.0)).above_noise
    assert [Effect(change, 0.0, after, **floor).p_value for after in (0.2, 0.1, 0.05, 0.001)] == [0.05, 0.1, 0.1, 1.0]


def test_the_floor_leaves_one_in_twenty_above_it():
    """By hand: 0.1 to 3.9 in 39 steps, of which the second largest is the floor, so that 2 of 40 are above it."""
    sizes = tuple(number / 10 for number in range(39, 0, -1))
    effect = Effect(RemoveHead(1, 1), 0.0, 3.85, noise_floor=3.8, noise=sizes)
    assert effect.above_noise
    assert effect.p_value == 2 / 40
    assert not Effect(RemoveHead(1, 1), 0.0, 3.75, noise_floor=3.8, noise=sizes).above_noise
    model, words, _, _, head = wired(5)

    def measure(logits):
        return logits[:, -1]

    few, many = (
        effects(model, model, measure, [RemoveHead(1, head + 1)], inputs=words, noise=count)[0] for count in (19, 39)
    )
    assert (len(few.noise), len(many.noise)) == (19, 39)
    assert not (many.noise_floor > torch.tensor(many.noise[0])).any()
    assert sorted(many.noise, reverse=True) == list(many.noise)
    assert f"{many.noise[1]:.2g}" in str(many)


def test_two_heads_that_stand_in_for_each_other_matter_together():
    """Each of two heads gives the same vector, and the larger counts: without one nothing is missing."""

    class Redundant(nn.Module):
        def forward(self, given):
            heads = functional.scaled_dot_product_attention(given, given, given)
            return heads.amax(1).sum((1, 2))

    torch.manual_seed(0)
    vectors = torch.rand(1, 1, 4, 8).expand(1, 2, 4, 8).clone()
    model = Redundant().eval()
    heads = [RemoveHead(1, 1), RemoveHead(1, 2)]
    found = joint_effect(model, model, lambda output: output, heads, inputs=vectors)
    total = float(model(vectors)[0])
    assert [each.difference for each in found.alone] == [0.0, 0.0]
    assert found.together.change == Together(tuple(heads))
    assert (found.together.difference, found.sum) == (pytest.approx(-total), 0.0)
    assert found.interaction == pytest.approx(-total)
    assert str(found).startswith("Remove head 1 of layer 1 and remove head 2 of layer 1: ")
    assert str(found).endswith("Alone they add up to +0.")
    as_tuple = effects(model, model, lambda output: output, [tuple(heads)], inputs=vectors)[0]
    assert as_tuple.difference == found.together.difference


def test_baselines_are_compared_over_all_heads():
    model, words, others, measure, head = wired(2)
    found = head_effects(model, model, measure, inputs=words, others=others, noise=19)
    assert found.heads == tuple((1, number + 1) for number in range(HEADS))
    for by in BASELINES:
        changes = [RemoveHead(1, number + 1, by) for number in range(HEADS)]
        alone = effects(model, model, measure, changes, inputs=words, others=others)
        assert [each.after for each in found.effects[by]] == pytest.approx([each.after for each in alone])
    sizes = {by: [abs(each.difference) for each in some] for by, some in found.effects.items()}
    assert found.agreement[("zero", "resample")] == rank_agreement(sizes["zero"], sizes["resample"])
    assert len(found.agreement) == 3
    assert max(range(HEADS), key=lambda number: sizes["mean"][number]) == head
    assert "Rank agreement of zero and mean: " in str(found)
    only = head_effects(model, model, measure, inputs=words, baselines=["zero", "mean"])
    assert list(only.agreement) == [("zero", "mean")]


def test_drawn_changes_at_once_take_the_same_other_input():
    model, words, others, measure, _ = wired(4)
    every = Together(tuple(RemoveHead(1, number + 1, "resample") for number in range(HEADS)))
    found = effects(model, model, measure, [every], inputs=words, others=others[:3], draws=3)[0]
    afters = [float(measure(model(other))) for other in others[:3]]
    # The logits are those of the other input, since there is nothing beside the heads.
    assert found.after == pytest.approx(statistics.mean(afters))
    assert found.draws == 3


def test_outcomes_have_floors_that_are_kept(tmp_path):
    tagger = regard.load("english-pos")
    record = tagger.see("I saw a saw .", noise=19)
    outcomes = record.outcomes
    hidden = outcomes.hidden[2][3]
    assert hidden.above_noise
    assert not outcomes.hidden[0][3].above_noise
    assert [outcome[3].above_noise for outcome in outcomes.removed[1]] == [True, True, False, True]
    path = tmp_path / "record.safetensors"
    regard.inspection.save_record(record, path)
    assert regard.inspection.load_record(path).outcomes == outcomes
    assert tagger.see("I saw .").outcomes.hidden[0][0].noise_floor is None


def test_wrong_noise_and_draws_say_what_to_do():
    model, words, others, measure, _ = wired(0)
    change = [RemoveHead(1, 1, "resample")]
    for arguments, message in (
        ({}, "`others` must hold what was seen of other inputs, .* is missing"),
        ({"others": []}, "`others` must hold what was seen of other inputs"),
        ({"others": words}, "`others` must be a list of other inputs, .* but is Tensor"),
        ({"others": others, "draws": 1}, "`draws` must be a number of draws, 2 or more, but is 1"),
        ({"others": others, "noise": -1}, "`noise` must be a number of changes in random directions, 0 or more"),
    ):
        with pytest.raises(ArgumentError, match=message):
            effects(model, model, measure, change, inputs=words, **arguments)
    with pytest.raises(ArgumentError, match="`others` must hold what `watch` saw, since without `inputs`"):
        effects(model, lambda: model(words), measure, change, others=others)
    with pytest.raises(ArgumentError, match="`baselines` must be some of zero, mean, resample"):
        head_effects(model, model, measure, inputs=words, baselines=["median"])


@pytest.mark.parametrize("noise", [1, 18, -1, 2.5])
def test_so_few_directions_that_no_floor_is_1_in_20_are_refused(noise):
    """Of 2 random effects and the effect itself, each is the largest in a third of the cases."""
    model = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
    with pytest.raises(ArgumentError, match="`noise` must be"):
        effects(
            model, model, lambda output: output[:, 0, 0], [RemoveHead(1, 1)], inputs=torch.randn(1, 3, 8), noise=noise
        )
