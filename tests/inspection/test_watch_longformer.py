"""`watch` of Longformer and of LED's encoder: windows in chunks and global tokens, by the numbers of the tokens."""

import contextlib

import pytest
import torch
from torch import nn

from regard import attend
from regard.attention import Window, weigh
from regard.inspection import HideKey, NothingSeen, RemoveHead, Seen, watch
from regard.inspection.capture.by_hand.rules import KeyIntervals
from regard.inspection.capture.layers.window_with_globals import GlobalProjections, WindowWithGlobals, window_rule
from regard.inspection.cases.case import Case
from regard.inspection.explain.head_gradients import head_gradients

WINDOWS, LENGTH, HEADS = (4, 6), 21, 2
# Of the first text one token is global; of the second two, and it is shorter.
GLOBAL = torch.zeros(2, LENGTH, dtype=torch.long)
GLOBAL[0, 0] = GLOBAL[1, 0] = GLOBAL[1, 5] = 1
REAL = torch.ones(2, LENGTH, dtype=torch.long)
REAL[1, 15:] = 0
IDS = torch.randint(3, 50, (2, LENGTH), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def longformer():
    of = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": HEADS}
    config = of.LongformerConfig(
        vocab_size=50, attention_window=list(WINDOWS), max_position_embeddings=60, pad_token_id=1, **sizes
    )
    return sharpened(of.LongformerModel(config))


@pytest.fixture(scope="module")
def led():
    of = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": HEADS}
    sizes |= {"decoder_attention_heads": HEADS, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    config = of.LEDConfig(vocab_size=50, attention_window=list(WINDOWS), pad_token_id=1, **sizes)
    return sharpened(of.LEDModel(config))


def sharpened(model):
    """A model in evaluation whose attention differs between heads and tokens."""
    with torch.no_grad():
        for each in model.parameters():
            each.normal_(0, 0.4, generator=torch.Generator().manual_seed(each.numel()))
    return model.eval()


def by_numbers(local, of_globals, window, real, chosen):
    """The weights (head, query, key) of one text by the numbers of its tokens, from the two tables that Hugging Face
    gives: (head, query, global tokens and window) of all tokens, and (head, key, global token) of the global ones.
    """
    places = chosen.nonzero().flatten().tolist()
    extra, reach = local.shape[-1] - window - 1, window // 2
    whole = torch.zeros(len(local), len(real), len(real))
    for i in range(len(real)):
        for number, place in enumerate(places):
            whole[:, i, place] += local[:, i, number]
        for offset in range(-reach, reach + 1):
            if 0 <= i + offset < len(real):
                whole[:, i, i + offset] += local[:, i, extra + reach + offset]
    for number, place in enumerate(places):
        whole[:, place] = of_globals[:, : len(real), number]
    return whole


@pytest.mark.parametrize("kind", ["longformer", "led"])
def test_weights_are_those_that_the_model_gives_itself(kind, longformer, led):
    model = longformer if kind == "longformer" else led
    given = {"input_ids": IDS, "attention_mask": REAL, "global_attention_mask": GLOBAL}
    given |= {} if kind == "longformer" else {"decoder_input_ids": IDS[:, :3]}
    with torch.no_grad():
        plain = model(**given, output_attentions=True)
        with watch(model, rows=LENGTH) as seen:
            output = model(**given)
    assert torch.equal(output[0], plain[0])
    tables = plain if kind == "longformer" else {name[8:]: each for name, each in plain.items() if "encoder_" in name}
    calls = [each for each in seen if "Self" in each.function]
    assert len(calls) == len(WINDOWS)
    for layer, window, local, of_globals in zip(
        calls, WINDOWS, tables["attentions"], tables["global_attentions"], strict=True
    ):
        assert layer.verify() < 1e-6
        for item in range(2):
            own = by_numbers(local[item], of_globals[item], window, REAL[item], GLOBAL[item])
            found = layer.weights()[item]
            torch.testing.assert_close(found, own, rtol=0, atol=1e-6)
            # Nothing attends to padding. What the model fills up to whole chunks isn't in the record.
            assert not layer.weights()[item, :, :, int(REAL[item].sum()) :].any()


def test_without_global_tokens_the_rule_is_a_window(longformer):
    with torch.no_grad(), watch(longformer) as seen:
        longformer(IDS[:, :12])
    assert [each.mask for each in seen] == [Window(2, 2), Window(3, 3)]
    assert all(each.position is None for each in seen)
    with torch.no_grad(), watch(longformer) as seen:
        longformer(IDS[:, :12], attention_mask=REAL[:, 5:17])
    assert all(isinstance(each.mask, KeyIntervals) for each in seen)
    assert max(seen.verify().values()) < 1e-6


def test_a_record_is_saved_and_says_how_a_weight_of_a_global_token_comes_about(longformer, tmp_path):
    with torch.no_grad(), watch(longformer) as seen:
        longformer(IDS, attention_mask=REAL, global_attention_mask=GLOBAL)
    seen.save(tmp_path / "seen.safetensors")
    again = Seen.load(tmp_path / "seen.safetensors")
    assert isinstance(again[0].position, GlobalProjections)
    assert torch.equal(again[0].weights(), seen[0].weights())
    for query in (0, 3):
        walk = seen[0].steps(query=query, head=1, item=1)
        torch.testing.assert_close(walk.weights.float(), seen[0].weights()[1, 1, query], rtol=0, atol=1e-6)


@pytest.mark.parametrize("change", [HideKey(1), HideKey(4), RemoveHead(1, 2)])
def test_changes_reach_the_model(longformer, change):
    given = {"attention_mask": REAL, "global_attention_mask": GLOBAL}
    with torch.no_grad():
        plain = longformer(IDS, **given)[0]
        with watch(longformer, changes=[change]) as seen:
            changed = longformer(IDS, **given)[0]
        with watch(longformer, changes=[RemoveHead(2, 1)]):
            pass_again = longformer(IDS, **given)[0]
    assert (changed - plain).abs().max() > 1e-3
    assert (pass_again - plain).abs().max() > 1e-3
    if isinstance(change, HideKey):
        assert not seen[0].weights()[..., change.key - 1].any()
        assert max(seen.verify().values()) < 1e-6


def test_gradients_of_heads_are_those_of_what_the_record_has(longformer):
    places = tuple((str(number), number) for number in range(12))
    items = tuple(name for name, _ in places)

    def predict(output):
        return output.last_hidden_state[:, :12, :3].softmax(-1)

    def run(given):
        return longformer(**given)

    case = Case("toy", longformer, {"input_ids": IDS[:1, :12]}, run, predict, "labels", items, places)
    found = head_gradients(case, 0)
    assert [each.shape for each in found] == [(1, HEADS, 12, 8)] * 2
    assert all(each.abs().max() > 0 for each in found)


def test_a_layer_that_raises_an_error_ends_its_pause(longformer):
    """What runs after it is seen."""

    class Failing(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = longformer.encoder.layer[0].attention.self

        def forward(self, x):
            with contextlib.suppress(AssertionError):
                self.inner(x)
            return nn.functional.scaled_dot_product_attention(x, x, x)

    with watch(model := Failing()) as seen:
        model(torch.randn(1, 5, 16))
    assert [each.function for each in seen] == ["scaled_dot_product_attention"]


def test_a_layer_that_cannot_be_read_runs_and_is_named(longformer, monkeypatch):
    layer = longformer.encoder.layer[0].attention.self
    monkeypatch.setattr(layer, "head_dim", 0)
    monkeypatch.setattr(layer, "forward", lambda hidden_states: (hidden_states,))
    x = torch.randn(1, 8, 16)
    said = "the model itself isn't in the record: .*couldn't be followed"
    with pytest.warns(NothingSeen, match=said), watch(layer):
        output = layer(x)
    assert output[0] is x


def test_a_hand_worked_global_token():
    """Three tokens of one feature, the second of which is global: its row is by the second projections."""
    x = torch.tensor([[[[1.0], [2.0], [0.0]]]])
    chosen, shown = torch.tensor([[False, True, False]]), torch.tensor([[True, True, True]])
    ones = torch.ones(1, 1, 3, 1)
    position = GlobalProjections(0 * ones, ones, torch.tensor([[[[3.0], [6.0], [9.0]]]]), chosen)
    mask = WindowWithGlobals(0, chosen, shown)
    weights = weigh(x, x, score="dot", mask=mask, position=position)[0, 0]
    # The first: e^1 and e^2 of itself and of the global token. The second: equal scores. The third: e^0 and e^0.
    first = 1 / (1 + torch.e)
    expected = torch.tensor([[first, 1 - first, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0.5, 0.5]])
    torch.testing.assert_close(weights, expected)
    outputs = attend(x, x, torch.zeros_like(x), score="dot", mask=mask, position=position)[0, 0, :, 0]
    torch.testing.assert_close(outputs, torch.tensor([0.0, 6.0, 0.0]))


def test_rules_of_windows():
    nothing, shown = torch.zeros(2, 4, dtype=torch.bool), torch.tensor([[True, True, True, False]] * 2)
    rule = window_rule(1, nothing, shown)
    x = torch.zeros(2, 1, 4, 1)
    expected = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])
    assert torch.equal((weigh(x, x, mask=rule)[1, 0] > 0).long(), expected)
    holed = torch.tensor([[True, False, True, True]] * 2)
    rule = window_rule(1, nothing, holed)
    assert isinstance(rule, WindowWithGlobals)
    expected = torch.tensor([[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    assert torch.equal((weigh(x, x, mask=rule)[0, 0] > 0).long(), expected)
