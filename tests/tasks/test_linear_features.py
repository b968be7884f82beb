"""The linear part of a classifier of vectors, which is fitted to means of items and features of the whole."""

import dataclasses
import random

import numpy as np
import pytest
import torch

from regard import Recipe, load, train
from regard.errors import ArgumentError
from regard.inputs import Batch, Graph, Sound, item_statistics
from regard.tasks import default_recipe
from regard.tasks.classifier.data import ClassifierData
from regard.tasks.linear_features import LinearFeatures, _ridge
from regard.tasks.targets import Label, MultiLabel, Regression
from regard.tasks.training.linear_fit import fit_linear_part

pytest.importorskip("sklearn")

LABELS = Label(("no", "yes"))


def series_of(count, seed=0):
    """Series of noise; those with "yes" swing, those with "no" don't."""
    drawn, pairs = torch.Generator().manual_seed(seed), []
    for place in range(count):
        length = int(torch.randint(20, 40, (), generator=drawn))
        swing = torch.arange(length).mul(1.3).sin() if place % 2 else torch.zeros(length)
        noise = torch.randn(length, generator=drawn)
        pairs.append(((swing + 0.5 * noise)[:, None], ("no", "yes")[place % 2]))
    return pairs


def recordings_of(count, seed=0):
    """Sounds of noise; those with "late" are loud at their end, the others at their beginning."""
    drawn, pairs = torch.Generator().manual_seed(seed), []
    for place in range(count):
        samples = torch.randn(1, 4000 + 100 * place, generator=drawn) * torch.linspace(0.01, 0.5, 4000 + 100 * place)
        pairs.append((Sound(samples if place % 2 else samples.flip(1), 8000), ("early", "late")[place % 2]))
    return pairs


def batches_of(count, seed=0):
    """Sources of two items with three features, and two features of the whole; the first of them decides."""
    drawn = torch.Generator().manual_seed(seed)
    wanted = torch.randint(2, (count,), generator=drawn)
    found = []
    for each in wanted.tolist():
        whole = torch.randn(1, 2, generator=drawn) * 0.3
        whole[0, 0] += each
        batch = Batch.pad([torch.randn(2, 3, generator=drawn)])
        found.append(dataclasses.replace(batch, whole=whole))
    return found, wanted


def fit(target, wanted, batches=None, folds=None):
    batches = batches_of(len(wanted))[0] if batches is None else batches
    part = LinearFeatures(3, 2, target.outputs)
    return part, part.fit(batches, target, wanted, [*range(len(wanted))] if folds is None else folds)


def given(part, batches):
    return torch.cat([part(batch) for batch in batches])


class TestLeavingOut:
    @pytest.mark.parametrize(("count", "width"), [(11, 30), (30, 4)])
    def test_what_is_left_out_is_told_by_a_model_of_the_others(self, count, width):
        """The closed form beside ridge regressions that never saw the fold; some folds have several sources."""
        linear = pytest.importorskip("sklearn.linear_model")
        drawn = np.random.default_rng(0)
        features = drawn.normal(size=(count, width))
        wanted = features @ drawn.normal(size=(width, 2)) + drawn.normal(size=(count, 2))
        folds = np.array([0, 0, 0, 1, 1, *range(2, count - 3)])
        found = _ridge(features, wanted, folds)
        whole = linear.Ridge(found.strength).fit(features, wanted)
        assert np.allclose(features @ found.weights + found.bias, whole.predict(features), atol=1e-6)
        for fold in {*folds.tolist()}:
            out = folds == fold
            other = linear.Ridge(found.strength).fit(features[~out], wanted[~out])
            assert np.allclose(found.held_out[out], other.predict(features[out]), atol=1e-4)

    def test_equal_series_with_random_labels_know_nothing(self):
        """Each series three times: one that stays would give the label of the others away."""
        drawn = random.Random(0)
        pairs = [(each, drawn.choice(["no", "yes"])) for each, _ in series_of(40)] * 3
        data = ClassifierData(RECIPE, pairs, pairs[:9], None)
        objective = data.objective()
        held_out = fit_linear_part(objective.network, RECIPE, with_whole(objective), LABELS)
        wanted = LABELS.tensor([label for _, label in pairs])
        assert float((held_out.argmax(1) == wanted).float().mean()) < 0.7


class TestFit:
    def test_features_of_the_whole_decide_where_those_of_items_say_nothing(self):
        batches, wanted = batches_of(80)
        part, held_out = fit(LABELS, wanted, batches)
        assert LABELS.score(given(part, batches), wanted) > 0.9
        assert LABELS.score(held_out, wanted) > 0.85
        assert LABELS.score(given(part, batches_of(80, seed=1)[0]), batches_of(80, seed=1)[1]) > 0.85

    def test_margins_are_logits(self):
        """The mean probability of yes is its share, and the loss is less than that of guessing the share."""
        batches, wanted = batches_of(200)
        wanted[(wanted == 1) & (torch.arange(200) % 3 > 0)] = 0
        questions = MultiLabel(("it?",))
        rows = wanted[:, None].float()
        _, held_out = fit(questions, rows, batches)
        share = float(rows.mean())
        assert abs(float(held_out.sigmoid().mean()) - share) < 0.02
        guess = torch.full_like(rows, share).logit()
        assert float(questions.loss(held_out, rows, 0.0)[0]) < float(questions.loss(guess, rows, 0.0)[0])
        _, held_out = fit(LABELS, wanted, batches)
        assert 0.8 < LABELS.calibrated(held_out, wanted).temperature < 1.25

    def test_noise_is_told_with_no_confidence(self):
        batches, _ = batches_of(60)
        wanted = torch.tensor([random.Random(place).randrange(2) for place in range(60)])
        _, held_out = fit(LABELS, wanted, batches)
        assert float(held_out.softmax(1).amax(1).mean()) < 0.65
        _, held_out = fit(MultiLabel(("it?",)), wanted[:, None].float(), batches)
        assert float((held_out.sigmoid() - 0.5).abs().mean()) < 0.15

    def test_company_and_padding_change_nothing(self):
        drawn = torch.Generator().manual_seed(0)
        sources = [torch.randn(length, 3, generator=drawn) for length in (1, 4, 2, 3)]
        part = LinearFeatures(3, 0, 2)
        part.fit([Batch.pad([each]) for each in sources], LABELS, torch.tensor([0, 1, 1, 0]), [0, 1, 2, 3])
        assert torch.allclose(part(Batch.pad(sources)), given(part, [Batch.pad([each]) for each in sources]), atol=1e-5)

    def test_a_label_that_the_examples_lack_and_unknown_targets(self):
        batches, wanted = batches_of(40)
        wanted = wanted + 1
        wanted[7] = -100
        part, held_out = fit(Label(("maybe", "no", "yes")), wanted, batches)
        assert (held_out.argmax(1) > 0).all()
        # It was fitted to all others, as the whole model was.
        assert torch.allclose(held_out[7], part(batches[7])[0], atol=1e-4)

    def test_one_label_alone_and_one_source_alone(self):
        for count in (1, 3):
            batches, _ = batches_of(count)
            part, held_out = fit(LABELS, torch.ones(count, dtype=torch.int64), batches)
            assert (given(part, batches).argmax(1) == 1).all()
            assert torch.isfinite(held_out).all()
            part, held_out = fit(Regression(0.0, 1.0), torch.ones(count), batches)
            assert torch.isfinite(held_out).all()
            assert torch.allclose(given(part, batches), torch.ones(count, 1), atol=1e-4)

    def test_questions_that_are_not_asked_of_all_or_answered_alike(self):
        batches, wanted = batches_of(60)
        rows = torch.stack([wanted.float(), torch.full((60,), torch.nan), torch.zeros(60)], 1)
        rows[::3, 0] = torch.nan
        questions = MultiLabel(("it?", "never asked?", "always no?"))
        part, held_out = fit(questions, rows, batches)
        assert questions.score(given(part, batches), rows) > 0.9
        assert (held_out[:, 1] == 0).all()
        assert (held_out[:, 2] < -3).all()
        full = torch.stack([wanted.float()] * 3, 1)
        assert questions.score(held_out[:, :1].expand(-1, 3), full) > 0.9

    def test_numbers(self):
        batches, _ = batches_of(60)
        wanted = torch.stack([2 * batch.whole[0, 0] - batch.vectors[0, :, 1].mean() for batch in batches])
        part, held_out = fit(Regression(0.0, 1.0), wanted, batches)
        assert float((held_out[:, 0] - wanted).square().mean()) < 0.01
        assert torch.allclose(given(part, batches)[:, 0], wanted, atol=0.1)

    def test_a_feature_that_never_varies_adds_nothing(self):
        batches, wanted = batches_of(30)
        batches = [dataclasses.replace(batch, vectors=batch.vectors.clone()) for batch in batches]
        for batch in batches:
            batch.vectors[..., 2] = 1.0
        part, _ = fit(LABELS, wanted, batches)
        assert not part.items.weight[:, 2].any()


RECIPE = Recipe(
    task={"kind": "classifier", "pooling": "mean"},
    input={"kind": "vectors", "linear": True, "convolutions": 84, "together": 4},
    width=8,
    heads=2,
    layers=1,
    epochs=2,
)


def with_whole(objective):
    """The training examples as they are before training forgets the features of the linear part."""
    objective.dataset.read_by(RECIPE.input, None)
    return objective.dataset


class TestInAModel:
    def test_the_answer_is_the_mean_of_both(self):
        pairs = series_of(40)
        for members in (1, 2):
            recipe = dataclasses.replace(RECIPE, members=members)
            model = train(pairs, pairs, recipe=recipe, progress="none")
            batch = model.encode([each for each, _ in pairs[:3]])
            own = torch.stack([member(batch) for member in model.network.members]).mean(0)
            own = own if members > 1 else model.network.output(model.network.features(batch))
            assert torch.allclose(model.network(batch), (own + model.network.linear(batch)) / 2, atol=1e-5)

    def test_it_tells_after_one_epoch_what_a_network_can_not(self):
        pairs, others = series_of(60), series_of(60, seed=1)
        recipe = dataclasses.replace(RECIPE, epochs=1, learning_rate=1e-9)
        assert train(pairs, pairs, recipe=recipe, progress="none").evaluate(others).score > 0.85

    def test_the_network_learns_by_itself(self):
        """Its loss is that of its own outputs: without the part's, and from weights that aren't zeros."""
        pairs = series_of(20)
        objective = ClassifierData(RECIPE, pairs, pairs[:9], None).objective().eval()
        batch = objective.dataset.batch([*range(20)])
        assert batch.offsets is None
        assert batch.sources.whole is None  # training needs none
        given = objective.network.output(objective.network.features(batch.sources))
        assert given.std() > 0
        assert torch.allclose(torch.nn.functional.cross_entropy(given, batch.targets[0]), objective.loss(batch).total)

    def test_of_many_series_only_those_with_targets_that_it_is_fitted_to_are_read(self, monkeypatch):
        monkeypatch.setattr("regard.tasks.linear_part._MOST_EXAMPLES", 8)
        read, real = [], LinearFeatures.fit

        def fit(self, inputs, target, wanted, folds):
            read.append((len(wanted), bool(target.known(wanted).all()), len(folds)))
            return real(self, inputs, target, wanted, folds)

        monkeypatch.setattr(LinearFeatures, "fit", fit)
        pairs = series_of(24)
        unknown = [(source, None) for source, _ in series_of(24, seed=1)]
        recipe = dataclasses.replace(RECIPE, epochs=1, consistency=0.1)
        train([*pairs, *unknown], pairs, recipe=recipe, progress="none")
        assert read == [(8, True, 8)]

    def test_it_is_saved_and_loaded(self, tmp_path):
        pairs = series_of(30)
        model = train(pairs, pairs, recipe=RECIPE, progress="none")
        again = load(model.save(tmp_path / "model"))
        sources = [each for each, _ in pairs]
        assert again.classify(sources) == model.classify(sources)
        assert float(again.network.linear.whole.weight.abs().max()) > 0
        card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
        assert "beside it a linear model of the mean of the items and of features of the whole" in card

    def test_hiding_a_part_of_a_series_hides_it_from_the_mean(self):
        recipe = dataclasses.replace(RECIPE, epochs=1, learning_rate=1e-9)
        pairs = series_of(60)
        model = train(pairs, pairs, recipe=recipe, progress="none")
        quiet, swinging = torch.zeros(16, 1), torch.arange(16).mul(1.3).sin()[:, None]
        outcomes = model.see(torch.cat([quiet, swinging]), effects=True).outcomes
        assert max(abs(each.change) for each in outcomes.hidden[0]) > 0.01

    def test_series_without_convolutions_and_a_source_of_one_item(self):
        recipe = dataclasses.replace(RECIPE, input={"kind": "vectors", "linear": True})
        pairs = [(torch.full((length, 2), float(length % 2)), "ab"[length % 2]) for length in range(1, 13)]
        model = train(pairs, pairs, recipe=recipe, progress="none")
        assert model.evaluate(pairs).score == 1.0

    def test_small_graphs(self):
        edge = torch.tensor([[0, 1], [1, 0]])
        pairs = [
            (Graph(torch.eye(2)[[0, *[1] * (place // 2 + 1), *[0] * (place % 2)]], edge), ("even", "odd")[place % 2])
            for place in range(24)
        ]
        recipe = default_recipe(pairs, task="classifier")
        assert recipe.input.linear
        recipe = dataclasses.replace(recipe, width=8, hidden=8, heads=2, epochs=1, patience=1)
        model = train(pairs, pairs, recipe=recipe, progress="none")
        assert model.evaluate(pairs).score == 1.0
        assert model.network.whole is not None
        bare = dataclasses.replace(recipe, input=dataclasses.replace(recipe.input, counts=False))
        model = train(pairs, pairs, recipe=bare, progress="none")
        # The linear part alone reads the counts.
        assert model.network.whole is None
        assert model.network.linear.whole is not None

    def test_molecules(self):
        pytest.importorskip("rdkit")
        pairs = [("C" * (1 + place % 5) + "O" * (place % 2), float(place % 5 + 3 * (place % 2))) for place in range(30)]
        recipe = default_recipe(pairs, task="classifier", input="molecules")
        assert recipe.input.linear
        recipe = dataclasses.replace(recipe, width=8, hidden=8, heads=2, layers=1, epochs=1, learning_rate=1e-9)
        model = train(pairs, pairs, recipe=recipe, progress="none")
        assert model.network.whole is None
        linear = model.network.linear(model.encode([each for each, _ in pairs]))
        assert model.target.score(linear, model.target.tensor([to for _, to in pairs])) < 0.3

    def test_recordings(self):
        """It is fitted to recordings as they are, though training augments them; equal ones are left out together."""
        pairs = recordings_of(24)
        recipe = default_recipe(pairs, task="classifier")
        assert recipe.input.linear
        assert recipe.input.noise_snr is not None  # training augments
        recipe = dataclasses.replace(recipe, width=8, hidden=8, heads=2, layers=1, epochs=1, learning_rate=1e-9)
        model = train(pairs, pairs, recipe=recipe, progress="none")
        assert model.evaluate(recordings_of(24, seed=1)).score == 1.0
        source, encoder = recipe.input, model.encoder
        kept = [source.training_item(encoder, each) for each, _ in pairs]
        again = [source.training_item(encoder, each) for each, _ in pairs]
        keys = {source.linear_key(encoder, each) for each in [*kept, *again]}
        assert len(keys) == len(pairs)
        inputs = source.linear_inputs(encoder, kept)
        for each, (sound, _) in zip(inputs, pairs, strict=True):
            assert torch.equal(each.vectors[0], source.item(encoder, sound))
            assert torch.equal(each.whole[0], item_statistics(each.vectors[0]))

    def test_the_default_has_one_for_series_with_labels_and_a_tagger_can_have_none(self):
        pairs = series_of(20)
        assert default_recipe(pairs).input.linear
        assert not default_recipe([(each, float(place)) for place, (each, _) in enumerate(pairs)]).input.linear
        tagged = [(each, ["a"] * len(each)) for each, _ in pairs]
        recipe = Recipe(task={"kind": "tagger"}, input={"kind": "vectors", "linear": True}, width=8, heads=2, epochs=1)
        with pytest.raises(ArgumentError, match=r"`input.linear` must be false for a tagger of vectors"):
            train(tagged, tagged, recipe=recipe, progress="none")
