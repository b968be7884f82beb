"""What a page keeps of weights when not all fit: which heads, in which form, and the largest weights of the others."""

import base64
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.attention import Bias, Causal, Cosine, Dot, ScaledDot
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record
from regard.inspection.record.seen_layer import SeenLayer
from regard.inspection.views.layer_arrays import mean_rows, overview, top_rows, vectors
from regard.inspection.views.page_data import Chosen, page_data
from regard.page.arrays import Arrays

KINDS = {"f32": "<f4", "f16": "<f2", "i32": "<i4", "u16": "<u2", "u8": "u1"}
ITEMS, HEADS, FEATURE = 600, 4, 64
# So that of two layers of four heads about three heads fit, and the largest weights of some more.
FEW = 600_000


def unpacked(arrays, lengths=None):
    """What the page does: the blocks as bytes, and a function that reads an array's place."""
    text, blocks, at = arrays.packed(), [], 0
    for length in lengths or arrays.lengths():
        blocks.append(gzip.decompress(base64.b64decode(text[at : at + length])))
        at += length
    assert at == len(text)

    def read(place):
        data, dtype = blocks[place.get("block", 0)], np.dtype(KINDS[place["kind"]])
        count = int(np.prod(place["shape"]))
        data = data[place["at"] : place["at"] + count * dtype.itemsize]
        if place["kind"] == "f16":
            data = np.frombuffer(data, np.uint8).reshape(2, count).T.tobytes()
        return np.frombuffer(data, dtype).reshape(place["shape"])

    return read


def layer_of(name, items=ITEMS, score=None, normaliser="softmax"):
    query, key, value = torch.randn(3, 1, HEADS, items, FEATURE)
    call = SeenLayer(
        name, "by hand", query, key, value, score or ScaledDot(), normaliser, Causal(), None, 0.0, torch.arange(0),
        query[:, :, :0],
    )  # fmt: skip
    return LayerRecord(name, (call,))


def record_of(*layers, changes=None, queries=True):
    """A record whose head changes the answer by `changes[layer][head]`, if that is given."""
    items = tuple(map(str, range(layers[0].shape[1])))
    places = tuple(Place(item, place if queries else None, "yes", 0.5) for place, item in enumerate(items[:3]))
    removed = tuple(
        tuple(tuple(Outcome("yes", 0.5, each) for _ in places) for each in heads) for heads in changes or ()
    )
    return Record(items, layers=layers, outcomes=Outcomes("labels", "item", places, removed=removed))


def kept(layer):
    """All that a layer keeps, from the first block and the later ones."""
    found = dict(layer)
    for each in found.pop("later", []):
        assert not set(each) & set(found)
        found |= {name: value for name, value in each.items() if name != "block"}
    return found


def test_the_largest_weights_of_each_row_by_hand():
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]], [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]])
    arrays = Arrays()
    found = top_rows(LayerRecord.of_weights("a", weights), [1, None], 1, arrays)
    read = unpacked(arrays)
    assert [each["head"] for each in found] == [1, None]
    assert read(found[0]["keys"])[0, 0] == 1
    assert read(found[0]["weights"]).tolist() == [[1.0], [0.5]]
    # The averages are 0.25, 0.625, 0.125 and 0.3125, 0.375, 0.3125.
    assert read(found[1]["keys"]).tolist() == [[1], [1]]
    assert read(found[1]["weights"]).tolist() == [[0.625], [0.375]]


def test_of_fewer_keys_there_are_fewer_largest_weights():
    arrays = Arrays()
    (found,) = top_rows(LayerRecord.of_weights("a", torch.tensor([[[0.25, 0.75]]])), [0], 16, arrays)
    assert unpacked(arrays)(found["keys"]).tolist() == [[1, 0]]


def test_the_average_of_all_rows_by_hand():
    weights = torch.tensor([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    assert mean_rows(LayerRecord.of_weights("a", weights)).tolist() == [[0.75, 0.25], [0.0, 1.0]]


def test_an_overview_says_how_many_queries_of_a_cell_it_took_and_its_largest_number():
    torch.manual_seed(0)
    arrays, layer = Arrays(), LayerRecord.of_weights("a", torch.rand(2, 2560, 130).softmax(-1))
    found = overview(layer, arrays)
    assert (found["rows_joined"], found["keys_joined"], found["rows_taken"]) == (20, 2, 7)
    assert found["overview_high"] == pytest.approx(unpacked(arrays)(found["overview"]).max(), rel=1e-3)


def test_weights_that_are_no_numbers_have_an_overview():
    weights = torch.full((1, 70, 70), torch.nan)
    assert overview(LayerRecord.of_weights("a", weights), Arrays())["overview_high"] == 0


def test_equal_arrays_are_kept_once_in_a_block_and_in_the_first():
    arrays, numbers = Arrays(), np.arange(6, dtype=np.float32)
    first = arrays.add(numbers)
    assert arrays.add(numbers) == first
    arrays.begin_block()
    assert arrays.add(numbers) == first
    other = arrays.add(numbers + 1)
    assert other["block"] == 1
    arrays.begin_block()
    assert arrays.add(numbers + 1)["block"] == 2
    arrays.block = 0
    assert "block" not in arrays.add(numbers + 2)
    read = unpacked(arrays)
    assert read(other).tolist() == (numbers + 1).tolist()
    assert arrays.size == 4 * 24


def test_numbers_of_16_bits_come_back():
    arrays, numbers = Arrays(), np.random.default_rng(0).normal(size=(5, 7)).astype(np.float16)
    arrays.add(np.zeros(3, np.uint8))
    place = arrays.add(numbers)
    assert (unpacked(arrays)(place) == numbers).all()
    text = arrays.packed()
    arrays.add(numbers + 1)
    assert text != arrays.packed(), "what was packed before can be added to"


def test_what_fits_is_kept_whole_and_in_one_block():
    torch.manual_seed(0)
    data, arrays = page_data([record_of(layer_of("a", 300), layer_of("b", 300))])
    for layer in data["records"][0]["layers"]:
        assert layer["vectors"]["heads"] == [0, 1, 2, 3]
        assert not {"later", "top", "row"} & set(layer)
    assert data["blocks"] == [len(arrays.packed())]


def test_of_the_layer_that_is_shown_as_many_heads_as_fit_and_the_largest_weights_of_the_others_and_of_the_average():
    torch.manual_seed(0)
    made = layer_of("a"), layer_of("b")
    data, arrays = page_data([record_of(*made)], most_bytes=FEW)
    first, last = map(kept, data["records"][0]["layers"])
    assert "vectors" not in first
    heads = last["vectors"]["heads"]
    assert 0 < len(heads) < HEADS
    assert [each["head"] for each in last["top"]] == [None, *(head for head in range(HEADS) if head not in heads)]
    assert arrays.packed_size <= FEW
    read = unpacked(arrays)
    # The largest weights are those of the record.
    expected = made[1].weights().mean(0).topk(16)
    np.testing.assert_allclose(read(last["top"][0]["weights"]), expected.values, atol=1e-3)
    assert (read(last["top"][0]["keys"])[100:, 0] == expected.indices[100:, 0].numpy()).mean() > 0.99


def test_heads_that_matter_more_are_kept_rather():
    torch.manual_seed(0)
    record = record_of(layer_of("a"), layer_of("b"), changes=[[0.0, 0.0, 0.9, 0.1], [0.1, -0.5, 0.2, 0.0]])
    data, _ = page_data([record], most_bytes=FEW)
    shown = kept(data["records"][0]["layers"][1])["vectors"]["heads"]
    assert 1 in shown
    assert 3 not in shown
    # With a little more than the layer that is shown takes, the others' most important head comes first.
    torch.manual_seed(0)
    data, _ = page_data([record], most_bytes=960_000)
    first, last = map(kept, data["records"][0]["layers"])
    assert last["vectors"]["heads"] == [0, 1, 2, 3]
    assert first["vectors"]["heads"] == [2]
    assert [each["head"] for each in first["top"]][:1] == [3]


def test_the_head_that_is_shown_is_kept_first():
    torch.manual_seed(0)
    record = record_of(layer_of("a"), layer_of("b"), changes=[[0.0, 0.0, 0.9, 0.1], [0.1, -0.5, 0.2, 0.0]])
    data, _ = page_data([record], [""], Chosen(1, 2), most_bytes=FEW)
    assert 1 in kept(data["records"][0]["layers"][0])["vectors"]["heads"]


def test_scores_that_are_no_products_have_the_largest_weights_where_the_table_does_not_fit():
    torch.manual_seed(0)
    made = layer_of("a", normaliser="relu", score=Dot())
    data, arrays = page_data([record_of(made)], most_bytes=230_000)
    found = kept(data["records"][0]["layers"][0])
    assert not {"table", "vectors"} & set(found)
    assert [each["head"] for each in found["top"]] == [None, 0, 1]
    expected = made.weights()[1].topk(16).values
    np.testing.assert_allclose(unpacked(arrays)(found["top"][2]["weights"]), expected, rtol=1e-3, atol=1e-6)


@pytest.mark.slow
def test_the_first_block_of_a_long_record_has_the_row_that_is_shown_first():
    torch.manual_seed(0)
    made = layer_of("a", 2100), layer_of("b", 2100)
    data, arrays = page_data([record_of(*made)], [""], Chosen(1, 3, 2))
    first, last = data["records"][0]["layers"]
    assert set(first["row"]) == {"head", "query", "weights"}
    assert (first["row"]["head"], first["row"]["query"]) == (2, 1)
    np.testing.assert_allclose(unpacked(arrays)(first["row"]["weights"]), made[0].weights([1])[2, 0], atol=1e-6)
    assert "overview" in first
    assert "overview" in last["later"][0]
    assert len(data["blocks"]) == 1 + max(each["block"] for layer in (first, last) for each in layer["later"])


def test_of_an_answer_for_the_whole_the_average_of_the_rows_is_kept():
    torch.manual_seed(0)
    made = layer_of("a")
    data, arrays = page_data([record_of(made, queries=False)])
    mean = unpacked(arrays)(kept(data["records"][0]["layers"][0])["mean"])
    np.testing.assert_allclose(mean, made.weights().mean(1), atol=1e-4)


def test_progress_ends_with_all_done():
    told = []
    page_data([record_of(layer_of("a", 70), layer_of("b", 70))], progress=lambda *each: told.append(each))
    assert told == [(number, 5) for number in range(1, 6)]


def test_values_are_json():
    torch.manual_seed(0)
    data, _ = page_data([record_of(layer_of("a"), layer_of("b"))], most_bytes=FEW)
    json.dumps(data, allow_nan=False)


@pytest.mark.parametrize(("count", "kind"), [(3, "f32"), (24, "f16")])
def test_vectors_beside_tables_are_rounded_where_there_are_many(count, kind):
    """24 layers of 4 heads of 12 items: their tables take 55 kB, the queries and keys 590 kB."""
    torch.manual_seed(0)
    layers = [layer_of(f"layer {number}", items=12) for number in range(count)]
    data, arrays = page_data([record_of(*layers)], ["many"])
    read = unpacked(arrays, data.get("blocks"))
    for layer, own in zip(map(kept, data["records"][0]["layers"]), layers, strict=True):
        assert layer["table"]["kind"] == "f32"
        np.testing.assert_array_equal(read(layer["table"]), own.weights().numpy())
        vectors = layer["vectors"]
        assert {vectors["query"]["kind"], vectors["key"]["kind"]} == {kind}
        query, key = (read(vectors[name]).astype(np.float64) for name in ("query", "key"))
        scores = torch.from_numpy(vectors["scale"] * query @ key.transpose(0, 2, 1))
        scores = scores.masked_fill(~torch.ones(12, 12, dtype=torch.bool).tril(), -torch.inf)
        assert (scores.softmax(-1) - own.weights()).abs().max() < 1e-3
    assert len(arrays.packed()) < 550_000


def several(along, count=3, items=5, score=None, key=None, **more):
    """A layer of several calls, each of its own queries, or with `key` over the same keys."""
    queries = 1 if along == "query" else items
    calls = []
    for number in range(count):
        query = torch.randn(1, HEADS, queries, 6)
        own = torch.randn(1, HEADS, items, 6) if key is None else key
        parts = {"mask": None, "position": None, **more}
        if callable(parts["position"]):
            parts["position"] = parts["position"](number)
        calls.append(
            SeenLayer(
                f"call {number}", "by hand", query, own, own, score or ScaledDot(), "softmax", parts["mask"],
                parts["position"], 0.0, torch.arange(0), query[:, :, :0],
            )
        )  # fmt: skip
    return LayerRecord("layer", tuple(calls), along=along)


def weights_of(found, read, mask=None):
    """The weights as a page computes them from vectors."""
    query, key = (read(found[name]).astype(np.float64) for name in ("query", "key"))
    scores = found["scale"] * query @ key.transpose(0, 2, 1)
    if "pair" in found["bias"]:
        scores = scores + read(found["bias"]["pair"])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    sums = read(found["log_sum"]).astype(np.float64) + read(found["log_sum_rest"])
    return np.exp(scores - sums[..., None])


@pytest.mark.parametrize("mask", [None, Causal()])
@pytest.mark.parametrize("along", ["head", "query"])
def test_several_calls_have_the_vectors_of_one(along, mask):
    torch.manual_seed(3)
    key = torch.randn(1, HEADS, 5, 6) if along == "query" else None
    mask = None if along == "query" else mask
    layer, arrays = several(along, key=key, mask=mask), Arrays()
    found = vectors(layer, arrays, list(range(layer.heads)), np.float32, None)
    assert found is not None
    allowed = None if mask is None else np.tri(5, dtype=bool)
    got = weights_of(found, unpacked(arrays), allowed)
    assert got.shape == (layer.heads, *layer.shape)
    np.testing.assert_allclose(got, layer.weights().numpy(), atol=1e-6)


def test_each_member_of_an_ensemble_has_its_own_bias():
    torch.manual_seed(4)
    tables = torch.randn(2, HEADS, 5, 5)
    layer = several("head", 2, position=lambda number: Bias(tables[number]))
    arrays = Arrays()
    found = vectors(layer, arrays, list(range(layer.heads)), np.float32, None)
    assert found is not None
    np.testing.assert_allclose(weights_of(found, unpacked(arrays)), layer.weights().numpy(), atol=1e-5)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: several("query"),  # Each step has keys of its own.
        lambda: several("head", score=Cosine()),
        lambda: replace(several("head"), key_bounds=(0, 2, 5), query_bounds=(0, 2, 5)),
        lambda: LayerRecord("layer", several("head", 1).calls + several("head", 1, score=Dot(0.25)).calls),
    ],
    ids=["keys", "score", "bounds", "scale"],
)
def test_several_calls_that_are_not_as_one_have_no_vectors(layer):
    made = layer()
    assert vectors(made, Arrays(), list(range(made.heads)), np.float32, None) is None
