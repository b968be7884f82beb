"""The methods of attribution in a story: their numbers against loops and finite differences, and their refusals."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

import regard
from regard.errors import ArgumentError, UnknownNameError
from regard.inspection import (
    ATTRIBUTIONS,
    Case,
    LayerRecord,
    Outcomes,
    Place,
    Record,
    load_record,
    rollout,
    save_record,
    see,
    story,
    story_of,
    value_weighted,
    watch,
)
from regard.inspection.explain.attributed_items import attributed_items
from regard.inspection.explain.change_parts import Where
from regard.inspection.explain.changes import Change
from regard.inspection.explain.head_gradients import head_gradients
from regard.inspection.views.facts import Facts, sentence
from regard.page import as_html, as_text
from regard.page.sentences import sentences

WORDS = ("I", "saw", "a", "saw")


class Mixed(nn.Module):
    """Two layers whose heads are mixed, one of which is written out and mixes its weights between heads."""

    def __init__(self):
        super().__init__()
        self.first = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.mix = nn.Linear(2, 2)
        self.project, self.last = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, vectors):
        vectors = self.first(vectors)
        query, key, value = self.project(vectors).chunk(3, -1)
        query, key, value = (each.unflatten(-1, (2, 4)).transpose(1, 2) for each in (query, key, value))
        weights = (query @ key.mT).softmax(-1)
        weights = self.mix(weights.movedim(1, -1)).movedim(-1, 1)
        return self.last(vectors + (weights @ value).transpose(1, 2).flatten(2))


def case_of(kind="labels", model=None, pooled=False):
    torch.manual_seed(3)
    model = Mixed().double().eval() if model is None else model
    # Parameters that need no gradients must not hide those of the heads.
    model.requires_grad_(False)
    inputs = torch.randn(1, 4, 8, dtype=torch.double)

    def predict(output):
        output = output.mean(1, keepdim=True) if pooled else output
        return {"labels": output[..., :3].softmax(-1), "numbers": output[..., :1].sin(), "vectors": output}[kind]

    places = (("the whole", None),) if pooled else tuple((word, number) for number, word in enumerate(WORDS))
    return Case("mine", model, inputs, model, predict, kind, WORDS, places, noun="word")


class Add(Change):
    """Adds a number to one output of one head of one call."""

    def __init__(self, number, at, step):
        self.number, self.at, self.step, self.calls = number, at, step, 0

    def heads(self, call, outputs, where: Where):
        outputs = outputs.clone()
        if self.calls == self.number:
            outputs[self.at] += self.step
        self.calls += 1
        return outputs


@pytest.mark.parametrize("kind", ["labels", "numbers"])
@pytest.mark.parametrize("pooled", [False, True])
def test_gradients_of_heads_by_finite_differences(kind, pooled):
    case = case_of(kind, pooled=pooled)
    place = 0 if pooled else 2
    found = head_gradients(case, place)
    assert [each.shape for each in found] == [(1, 2, 4, 4)] * 2
    answer = int(case.predict(case.module(case.inputs))[0, place].argmax())
    for number, gradient in enumerate(found):
        for at in [(0, 0, 2, 1), (0, 1, 2, 3), (0, 1, 0, 0)]:
            numbers = []
            for step in (1e-5, -1e-5):
                with torch.no_grad(), watch(case.module, changes=[Add(number, at, step)]):
                    numbers.append(float(case.predict(case.module(case.inputs))[0, place, answer]))
            assert float(gradient[at]) == pytest.approx((numbers[0] - numbers[1]) / 2e-5, abs=1e-7, rel=1e-4)
    assert found[0].abs().max() > 1e-4


@pytest.mark.parametrize("head", [None, 2])
@pytest.mark.parametrize("layer", [None, 1])
def test_shares_of_gradients_keep_their_sign(layer, head):
    case = case_of()
    record = see(case, effects=False)
    told = story_of(record, query=3, layer=layer, head=head, attribution="gradient-weighted", case=case)
    number = 1 if layer is None else 0
    call = record.seen[number]
    weights = call.weights()[0, :, 2]
    product = weights * (head_gradients(case, 2)[number][0, :, 2].unsqueeze(1) * call.value[0]).sum(-1)
    row = product.mean(0) if head is None else product[head - 1]
    assert torch.allclose(torch.tensor(told.weights).double(), row / row.abs().sum(), atol=1e-6)
    assert sum(map(abs, told.weights)) == pytest.approx(1, abs=1e-6)


def test_shares_of_lengths_and_the_mean_over_all_queries():
    for pooled in (False, True):
        case = case_of(pooled=pooled)
        record = see(case, effects=False)
        told = story_of(record, layer=1, query=None if pooled else 3, attribution="value-weighted")
        lengths = value_weighted(record.seen[0], range(4) if pooled else [2])[0].mean((0, 1))
        assert told.weights == pytest.approx((lengths / lengths.sum()).tolist(), abs=1e-6)
        assert sum(told.weights) == pytest.approx(1, abs=1e-6)


def test_rollout_of_a_place_of_all_and_up_to_a_layer():
    case = case_of(model=nn.TransformerEncoder(_layer(), 2, enable_nested_tensor=False).double().eval())
    record = see(case, effects=False)
    told = story_of(record, query=2, attribution="rollout")
    assert told.title == "Rollout through layers 1-2 of 2"
    assert told.weights == pytest.approx(rollout(record.seen, [1])[0, 0].tolist(), abs=1e-6)
    told = story_of(record, query=2, layer=1, attribution="rollout")
    assert told.title == "Rollout through layer 1 of 2"
    assert told.weights == pytest.approx(rollout(record.seen[:1], [1])[0, 0].tolist(), abs=1e-6)
    pooled = see(case_of(pooled=True, model=case.module), effects=False)
    whole = story_of(pooled, attribution="rollout")
    assert whole.weights == pytest.approx(rollout(pooled.seen, range(4))[0].mean(0).tolist(), abs=1e-6)


@pytest.mark.parametrize("method", ["raw", "value-weighted", "gradient-weighted", "rollout"])
def test_items_that_are_several_keys(method):
    case = case_of(pooled=True, model=nn.TransformerEncoder(_layer(), 2, enable_nested_tensor=False).double().eval())
    record = see(case, effects=False)
    single = story_of(record, attribution=method, case=case)
    bounds = (0, 2, 4)
    layers = tuple(replace(each, query_bounds=bounds, key_bounds=bounds) for each in record.layers)
    told = story_of(replace(record, items=("0.0 s", "0.1 s"), layers=layers), attribution=method, case=case)
    sums = [sum(single.weights[:2]), sum(single.weights[2:])]
    size = 1 if method in ("raw", "rollout") else sum(map(abs, sums))
    assert told.weights == pytest.approx([each / size for each in sums], abs=1e-6)


def test_items_of_several_queries_count_as_one():
    record = see(case_of(pooled=True), effects=False)
    layers = tuple(replace(each, query_bounds=(0, 1, 4), key_bounds=(0, 1, 4)) for each in record.layers)
    told = story_of(replace(record, items=("0.0 s", "0.1 s"), layers=layers), layer=1, attribution="value-weighted")
    lengths = value_weighted(record.seen[0], range(4))[0].mean(0)
    rows = lengths[0] + lengths[1:].mean(0)
    assert told.weights == pytest.approx([float(each / rows.sum()) for each in (rows[0], rows[1:].sum())], abs=1e-6)


def _layer():
    torch.manual_seed(4)
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


def test_rollout_begins_with_the_pooling_and_averages_members():
    torch.manual_seed(0)
    one, two = torch.rand(2, 2, 1, 1, 3, 3).softmax(-1)
    layers = [regard.inspection.SeenLayer.of_weights("a", each) for each in (*one, *two)]
    pooling = torch.tensor([[[0.5, 0.25, 0.25]]])
    record = Record(
        ("a", "b", "c"),
        layers=(LayerRecord("layer 1", (layers[0], layers[2])), LayerRecord("layer 2", (layers[1], layers[3]))),
        pooling=LayerRecord.of_weights("pooling", pooling),
        outcomes=Outcomes("labels", "item", (Place("the whole", None, "yes", 0.75),)),
    )
    expected = sum(pooling[0] @ rollout(own, range(3))[0] for own in (layers[:2], layers[2:])) / 2
    assert story_of(record, attribution="rollout").weights == pytest.approx(expected[0].tolist(), abs=1e-6)


def test_steps_of_a_network_are_one_layer():
    torch.manual_seed(0)
    whole = torch.rand(1, 2, 4, 3).softmax(-1)
    value = torch.randn(1, 2, 3, 5)
    calls = [regard.inspection.SeenLayer.of_weights("a", whole[:, :, [row]], value=value) for row in range(4)]
    record = Record(
        ("a", "b", "c"),
        queries=("w", "x", "y", "z"),
        layers=(LayerRecord("layer 1", tuple(calls), along="query"),),
        outcomes=Outcomes("labels", "generated", tuple(Place(each, at, each, 0.5) for at, each in enumerate("wxyz"))),
    )
    lengths = (whole * value.norm(dim=-1).unsqueeze(2))[0, :, 2].mean(0)
    found = story_of(record, query=3, attribution="value-weighted").weights
    assert found == pytest.approx((lengths / lengths.sum()).tolist(), abs=1e-6)
    with pytest.raises(ArgumentError, match="attend to each other, but they attend to other items"):
        story_of(record, attribution="rollout")


def test_raw_is_what_the_story_shows_without_a_method():
    record = see(case_of())
    plain, raw = story_of(record), story_of(record, attribution="raw")
    assert raw._replace(attribution=None) == plain
    assert plain.attribution is None
    assert "Attribution" not in as_text(story(record))


@pytest.mark.parametrize("method", ATTRIBUTIONS)
def test_the_story_says_which_it_is_what_it_means_and_where_it_misleads(method):
    case = case_of(model=nn.TransformerEncoder(_layer(), 2, enable_nested_tensor=False).double().eval())
    page = story(see(case), attribution=method, case=case)
    for rendered in (as_text(page, width=100), " ".join(sentences(page)), as_html(page)):
        said = " ".join(rendered.replace("&#x27;", "'").split())
        assert f"Attribution: {method}. {ATTRIBUTIONS[method].means}" in said
        assert f"Where it misleads: {ATTRIBUTIONS[method].misleads}" in said
        assert ("The number is the probability of" in said) is (method == "gradient-weighted")
        assert ("attributed" in said) is (method != "raw")


def test_items_that_lower_the_answer_have_a_minus():
    case = case_of()
    record = see(case)
    chosen = {"query": 3, "layer": 1, "attribution": "gradient-weighted", "case": case}
    told = story_of(record, **chosen)
    least = min(told.weights)
    assert least < -0.005
    written = f"-{-100 * least:.0f}%"
    page = story(record, **chosen)
    assert f" {written} " in as_text(page, width=100)
    assert f"<td>{written}<span" in as_html(page)
    assert f"attributed minus {written[1:-1]} percent" in " ".join(sentences(page))
    assert math.isfinite(told.agreement)


def test_the_sentence_says_whether_the_largest_share_raised_or_lowered_the_answer():
    case = case_of()
    record = see(case, effects=False)
    for weights, said in (
        ((0.1, 0.6, 0.3, 0.0), 'By gradient-weighted attention, it took most from "saw (2)" (60%).'),
        ((0.1, 0.3, -0.6, 0.0), 'what it took from "a" lowered the answer most (-60%).'),
        ((-0.9, 0.1, 0.0, 0.0), "what it took from itself lowered the answer most (-90%)."),
    ):
        place, method = record.outcomes.places[0], ATTRIBUTIONS["gradient-weighted"]
        assert said in sentence(record, Facts(place, 0, "", weights, (), attribution=method, own=0))


def test_rollout_needs_a_layer():
    pooling = LayerRecord.of_weights("pooling", torch.full((1, 1, 2), 0.5))
    outcomes = Outcomes("labels", "item", (Place("the whole", None, "yes", 0.75),))
    with pytest.raises(ArgumentError, match="attend to each other, and there is none"):
        story_of(Record(("a", "b"), pooling=pooling, outcomes=outcomes), attribution="rollout")


def test_what_a_record_lacks_is_said_in_one_sentence(tmp_path):
    case = case_of()
    save_record(see(case, effects=False), tmp_path / "a.safetensors")
    record = load_record(tmp_path / "a.safetensors")
    assert story_of(record, attribution="value-weighted").weights
    refused = "gradient-weighted for a record: it needs the gradient .* Give the model and its input instead"
    with pytest.raises(ArgumentError, match=refused):
        story_of(record, attribution="gradient-weighted")
    with pytest.raises(ArgumentError, match="`head` must be left out: rollout averages"):
        story_of(record, attribution="rollout", head=1)
    with pytest.raises(UnknownNameError, match="Did you mean 'rollout'"):
        story_of(record, attribution="rolout")
    vectors = case_of("vectors")
    with pytest.raises(ArgumentError, match="the output is a vector"):
        story_of(see(vectors, effects=False), attribution="gradient-weighted", case=vectors)
    alone = LayerRecord.of_weights("a", torch.full((1, 2, 2), 0.5))
    outcomes = Outcomes("labels", "item", (Place("the whole", None, "yes", 0.75),))
    with pytest.raises(ArgumentError, match="has weights without values"):
        story_of(Record(("a", "b"), layers=(alone,), outcomes=outcomes), attribution="value-weighted")
    with pytest.raises(ArgumentError, match="must have outcomes"):
        attributed_items(Record(("a", "b"), layers=(alone,)), "raw", 0)
    with torch.no_grad():
        still = case_of()
        still = Case(**{**vars(still), "run": torch.no_grad()(still.module)})
        with pytest.raises(ArgumentError, match="computes without gradients"):
            head_gradients(still, 0)
