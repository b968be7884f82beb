"""Effective weights of state-space layers: by hand, by the recurrence, and through transformers' Mamba models."""

import math
import sys
import types
import warnings

import pytest
import torch
from torch import Tensor, nn

from regard.attention import weigh
from regard.errors import ArgumentError
from regard.inspection import (
    ATTRIBUTIONS,
    Case,
    HideKey,
    NothingSeen,
    PartlySeen,
    RemoveHead,
    Seen,
    all_heads,
    figure,
    head_patterns,
    item_rankings,
    load_record,
    rollout,
    save_record,
    see,
    story,
    story_of,
    watch,
)
from regard.inspection.record import seen_layer
from regard.inspection.record.effective import Effective, Gated, StateSpace, split_sums
from regard.inspection.record.record import calls_to_show
from regard.inspection.record.record_storage import record_of
from regard.inspection.views.page_data import page_data
from regard.page import as_text

BATCH, LENGTH = 2, 7


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def part_of(reads, writes, rates, groups):
    position = StateSpace(reads, writes, rates, torch.tensor(groups))
    return {"weights": Effective(), "mask": "causal", "position": position}


def by_recurrence(steps, reads, writes, rates, groups):
    """The weights (batch, head, query, key) as answers to single inputs of 1: the state is followed step by step."""
    batch, heads, length = steps.shape
    weights = torch.zeros(batch, heads, length, length, dtype=torch.float64)
    for item in range(batch):
        for head in range(heads):
            for source in range(length):
                state = torch.zeros(reads.shape[-1], dtype=torch.float64)
                for time in range(length):
                    step = steps[item, head, time].double()
                    given = 1.0 if time == source else 0.0
                    state = torch.exp(step * rates[head].double()) * state
                    state = state + step * writes[item, groups[head], time].double() * given
                    weights[item, head, time, source] = reads[item, groups[head], time].double() @ state
    return weights


def test_three_steps_by_hand():
    """A state of two numbers, of which one halves in each unit of time and the other keeps a quarter."""
    steps = torch.tensor([[[1.0, 2.0, 1.0]]])
    rates = torch.tensor([[math.log(0.5), math.log(0.25)]])
    reads = torch.tensor([[[[1.0, 0.0], [1.0, 1.0], [2.0, -1.0]]]])
    writes = torch.tensor([[[[1.0, 2.0], [3.0, 0.0], [1.0, 1.0]]]])
    found = weigh(*split_sums(steps), **part_of(reads, writes, rates, [0]))[0, 0]
    expected = [
        [1.0, 0.0, 0.0],
        # 1/4 of 1 and 1/16 of 2 after two units of time; 2 times 3.
        [0.25 + 0.125, 6.0, 0.0],
        # 2/8 of 1 less 1/64 of 2 after three units; 2/2 of 6; 2 - 1.
        [0.25 - 0.03125, 6.0, 1.0],
    ]
    torch.testing.assert_close(found, torch.tensor(expected))


def test_three_steps_of_a_head_that_decays_alike_by_hand():
    steps = torch.tensor([[[1.0, 1.0, 2.0]]])
    reads = torch.tensor([[[[1.0, 1.0], [1.0, 1.0], [0.0, 2.0]]]])
    writes = torch.tensor([[[[1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]]])
    found = weigh(*split_sums(steps), **part_of(reads, writes, torch.tensor([[math.log(0.5)]]), [0]))[0, 0]
    torch.testing.assert_close(found, torch.tensor([[1.0, 0.0, 0.0], [0.5, -1.0, 0.0], [0.0, -0.5, 4.0]]))


@pytest.mark.parametrize(("heads", "groups", "state"), [(3, [0, 0, 0], 5), (4, [0, 0, 1, 1], 3), (4, [0, 0, 1, 1], 1)])
def test_weights_are_the_answers_to_single_inputs(heads, groups, state):
    """Of channels with a state of several numbers, and of heads whose numbers decay alike."""
    steps = vectors(BATCH, heads, LENGTH).exp()
    reads, writes = (vectors(BATCH, max(groups) + 1, LENGTH, 4 if state == 1 else state, seed=seed) for seed in (1, 2))
    rates = -vectors(heads, state, seed=3).exp()
    own = by_recurrence(steps, reads, writes, rates.expand(-1, reads.shape[-1]), groups)
    found = weigh(*split_sums(steps), **part_of(reads, writes, rates, groups))
    torch.testing.assert_close(found.double(), own, rtol=1e-4, atol=1e-5)
    rows = weigh(*split_sums(steps), **part_of(reads, writes, rates, groups), rows=[5, 2])
    assert torch.equal(rows, found[:, :, [5, 2]])


def test_sums_of_many_steps_keep_their_precision():
    """After 20,000 steps a float32 sum would be off by more than a step."""
    steps = torch.full((1, 1, 20000), 5.0)
    steps[..., -1] = 0.001
    part = StateSpace(torch.ones(1, 1, 20000, 1), torch.ones(1, 1, 20000, 1), torch.tensor([[-1.0]]), torch.tensor([0]))
    row = weigh(*split_sums(steps), weights=Effective(), mask="causal", position=part, rows=[19999])[0, 0, 0]
    assert row[-2].item() == pytest.approx(5 * math.exp(-0.001), rel=1e-6)
    assert row[-1].item() == pytest.approx(0.001, rel=1e-6)


@pytest.fixture(scope="module")
def mamba():
    of = pytest.importorskip("transformers")
    config = of.MambaConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2, state_size=4)
    return scattered(of.MambaModel(config))


@pytest.fixture(scope="module")
def mamba2():
    of = pytest.importorskip("transformers")
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4, "num_heads": 4}
    return scattered(of.Mamba2Model(of.Mamba2Config(head_dim=8, n_groups=2, chunk_size=4, **sizes)))


def scattered(model):
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for each in model.parameters():
            each.add_(0.2 * torch.randn(each.shape, generator=generator))
    return model.eval()


IDS = torch.randint(0, 50, (BATCH, LENGTH), generator=torch.Generator().manual_seed(1))


@pytest.fixture(params=["mamba", "mamba2"])
def model(request, mamba, mamba2):
    return mamba if request.param == "mamba" else mamba2


def test_the_record_of_a_mamba_model_gives_what_its_scan_gave(model):
    with torch.no_grad():
        plain = model(IDS)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with watch(model, rows=LENGTH) as seen:
                output = model(IDS)[0]
    assert torch.equal(plain, output)
    assert seen.names == ["layers.0.mixer", "layers.1.mixer"]
    assert all(each.is_effective for each in seen)
    assert max(seen.verify().values()) < 1e-6
    weights = seen[0].weights()
    assert (weights < 0).any()
    assert not weights.triu(1).any()


def test_weights_are_what_the_models_own_scan_answers_to_single_inputs(mamba, monkeypatch):
    """Given steps, A, B and C a scan is linear in its inputs, so that an input of 1 shows a column of the weights."""
    module = sys.modules[type(mamba).__module__]
    scan, calls = module.mamba_selective_scan, []

    def noting(*args, **kwargs):
        calls.append((args, kwargs))
        return scan(*args, **kwargs)

    with torch.no_grad():
        with monkeypatch.context() as patched:
            patched.setattr(module, "mamba_selective_scan", noting)
            mamba(IDS)
        with watch(mamba) as seen:
            mamba(IDS)
        for layer, ((inputs, *others), named) in zip(seen, calls, strict=True):
            own = torch.zeros_like(layer.weights())
            for source in range(LENGTH):
                single = torch.zeros_like(inputs)
                single[:, :, source] = 1
                answer = scan(single, *others, **{**named, "D": None, "z": None})
                own[..., source] = answer[0] if isinstance(answer, tuple) else answer
            torch.testing.assert_close(layer.weights(), own, rtol=1e-4, atol=1e-6)


def test_the_models_functions_are_put_back(mamba):
    module = sys.modules[type(mamba).__module__]
    scan = module.mamba_selective_scan
    with torch.no_grad(), watch(mamba):
        assert module.mamba_selective_scan is not scan
        with watch(mamba) as inner:
            mamba(IDS)
        assert module.mamba_selective_scan is not scan
        mamba(IDS)
    assert module.mamba_selective_scan is scan
    assert len(inner) == 2


def test_a_record_of_other_weights_is_noticed(mamba2):
    """The comparison with what the layer gave isn't one with itself."""
    with torch.no_grad(), watch(mamba2) as seen:
        mamba2(IDS)
    seen[0].key = seen[0].key * 1.5
    assert seen[0].verify() > 1e-3


def test_shares_are_of_absolute_weights_and_the_mean_of_channels(model, monkeypatch):
    with torch.no_grad(), watch(model) as seen:
        model(IDS)
    weights = seen[0].weights([2, 6]).abs()
    weights = weights.mean(1, keepdim=True) if seen[0].value.shape[3] == 1 else weights
    expected = weights / weights.sum(-1, keepdim=True)
    torch.testing.assert_close(seen[0].shares([2, 6]), expected)
    # A channel at a time.
    monkeypatch.setattr(seen_layer, "_BUDGET", 1)
    torch.testing.assert_close(seen[0].shares([2, 6]), expected)


def test_too_many_weights_of_channels_are_refused_with_what_can_be_had(mamba, monkeypatch):
    with torch.no_grad(), watch(mamba) as seen:
        mamba(IDS)
    monkeypatch.setattr(seen_layer, "_MOST_EFFECTIVE", 1000)
    with pytest.raises(ArgumentError, match=r"`rows` must be fewer: .* 32 channels for 7 queries"):
        seen[0].weights()
    assert seen[0].shares(range(LENGTH)).shape == (BATCH, 1, LENGTH, LENGTH)
    assert seen[0].weights([0]).shape == (BATCH, 32, 1, LENGTH)


def test_a_record_is_saved(model, tmp_path):
    with torch.no_grad(), watch(model) as seen:
        model(IDS)
    seen.save(tmp_path / "seen.safetensors")
    again = Seen.load(tmp_path / "seen.safetensors")
    assert all(each.is_effective for each in again)
    assert torch.equal(again[1].weights(), seen[1].weights())
    assert again.verify() == seen.verify()


@pytest.mark.parametrize("change", [HideKey(3), RemoveHead(1, 2)])
def test_changes_reach_the_model(model, change):
    with torch.no_grad():
        plain = model(IDS)[0]
        with watch(model, changes=[change]) as seen:
            changed = model(IDS)[0]
    gap = (changed - plain).abs().amax((0, 2))
    assert gap.max() > 1e-4
    if isinstance(change, HideKey):
        # What comes before the hidden item is as it was.
        assert gap[:2].max() < 1e-5
        assert max(seen.verify().values()) < 1e-5


def test_steps_say_where_an_effective_weight_comes_from(model):
    with torch.no_grad(), watch(model) as seen:
        model(IDS)
    walk = seen[0].steps(query=3, head=1)
    torch.testing.assert_close(walk.weights.float(), seen[0].weights()[0, 1, 3], rtol=1e-4, atol=1e-8)
    assert walk.steps[0].template == "the effective weight, from the recurrence"


def case_of(model):
    def predict(output):
        return output.last_hidden_state[:, :, :3].softmax(-1)

    items = tuple("abcdefg")
    places = tuple((name, number) for number, name in enumerate(items))
    return Case("mine", model, IDS[:1], model, predict, "labels", items, places)


def test_story_page_and_figure_say_that_weights_are_effective(model, tmp_path):
    pytest.importorskip("matplotlib")
    case = case_of(model)
    record = see(case)
    heads = 1 if record.layers[0].calls[0].value.shape[3] == 1 else 4
    assert [layer.heads for layer in record.layers] == [heads] * 2
    assert record.layers[1].weights().sum(-1).allclose(torch.ones(heads, LENGTH))
    told = " ".join(as_text(story(record)).split())
    assert "Its largest effective weight is that of" in told
    assert "A state-space layer has no attention. Its effective weights are" in told
    assert "Layer 2 of 2, effective weights," in told
    assert ("average of 32 channels" if heads == 1 else "average of heads 1-4") in told
    assert "attended" not in told
    assert "heads matters" not in told
    assert record.outcomes.removed == ()
    data, _ = page_data([record])
    assert [each["effective"] for each in data["records"][0]["layers"]] == [True, True]
    assert "A state-space layer has no attention" in data["records"][0]["outcomes"]["note"]
    written = [text.get_text() for text in figure(record, "map").axes[0].texts]
    assert any("effective weights" in each for each in written)
    save_record(record, tmp_path / "record.safetensors")
    assert torch.equal(load_record(tmp_path / "record.safetensors").layers[0].weights(), record.layers[0].weights())
    for method in ATTRIBUTIONS:
        shares = story_of(record, attribution=method, case=case).weights
        assert sum(map(abs, shares)) == pytest.approx(1, abs=1e-5)


def test_a_record_without_predictions_is_of_effective_weights_too(model):
    with torch.no_grad(), watch(model) as seen:
        model(IDS)
    assert "Layer 2 of 2, effective weights" in as_text(item_rankings(record_of(seen)))
    assert all_heads(seen) == ()
    assert head_patterns(seen) == []
    assert rollout(seen.layers, [LENGTH - 1]).sum().item() == pytest.approx(BATCH, abs=1e-5)


def test_where_there_is_attention_it_is_shown_alone(mamba):
    x = vectors(1, 1, LENGTH, 4)

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.mamba = mamba

        def forward(self, ids):
            self.mamba(ids)
            return nn.functional.scaled_dot_product_attention(x, x, x)

    with torch.no_grad(), watch(net := Mixed()) as seen:
        net(IDS[:1])
    assert len(seen) == 3
    assert [each.is_effective for each in calls_to_show(seen)] == [False]
    # Layers keep the numbers that changes have.
    assert all_heads(seen) == (RemoveHead(3, 1),)


class TwoSteps(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        cache = self.model(ids, use_cache=True).cache_params
        return self.model(ids[:, :1], cache_params=cache, use_cache=True)


def test_a_step_of_generation_is_told(mamba):
    with torch.no_grad():
        cache = mamba(IDS, use_cache=True).cache_params
        said = "a step from a kept state says nothing of the single items before it"
        with pytest.warns(NothingSeen, match=said), watch(mamba):
            mamba(IDS[:, :1], cache_params=cache, use_cache=True)
        with pytest.warns(PartlySeen, match=f"isn't in the record: .*{said}"), watch(model := TwoSteps(mamba)) as seen:
            model(IDS)
    assert len(seen) == 2
    assert max(seen.verify().values()) < 1e-6


def scan_of_mamba_ssm(
    u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False, return_last_state=False
):
    """What the documentation of mamba_ssm's selective_scan_fn says, by the recurrence."""
    delta = delta if delta_bias is None else delta + delta_bias[:, None]
    delta = nn.functional.softplus(delta) if delta_softplus else delta
    B, C = (each.unsqueeze(1) if each.ndim == 3 else each for each in (B, C))
    share = u.shape[1] // B.shape[1]
    B, C = (each.repeat_interleave(share, 1) for each in (B, C))
    state, found = torch.zeros(*u.shape[:2], A.shape[1]), []
    for time in range(u.shape[2]):
        step = delta[:, :, time, None]
        state = torch.exp(step * A) * state + step * B[..., time] * u[:, :, time, None]
        found.append((state * C[..., time]).sum(-1))
    y = torch.stack(found, -1)
    y = y if D is None else y + D[:, None] * u
    y = y if z is None else y * nn.functional.silu(z)
    return (y, state) if return_last_state else y


@pytest.fixture
def mamba_ssm(monkeypatch):
    module = types.ModuleType("mamba_ssm.ops.selective_scan_interface")
    # A function of the module, as it is imported by models.
    module.selective_scan_fn = types.FunctionType(
        scan_of_mamba_ssm.__code__, globals(), "selective_scan_fn", scan_of_mamba_ssm.__defaults__
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


class Calling(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args, **kwargs):
        return self.module.selective_scan_fn(*args, **kwargs)


@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"D": vectors(4, seed=5)},
        {"z": vectors(BATCH, 4, LENGTH, seed=6), "D": vectors(4, seed=5)},
        {"delta_bias": vectors(4, seed=7), "delta_softplus": True, "return_last_state": True},
    ],
)
def test_mamba_ssm(mamba_ssm, settings, groups):
    u, delta = vectors(BATCH, 4, LENGTH), vectors(BATCH, 4, LENGTH, seed=1).abs()
    shape = (BATCH, 3, LENGTH) if groups is None else (BATCH, groups, 3, LENGTH)
    B, C, A = vectors(*shape, seed=2), vectors(*shape, seed=3), -vectors(4, 3, seed=4).exp()
    with watch(model := Calling(mamba_ssm), rows=LENGTH) as seen:
        output = model(u, delta, A, B, C, **settings)
    assert isinstance(output, tuple) == settings.get("return_last_state", False)
    assert seen[0].verify() < 1e-5
    assert isinstance(seen[0].after, Gated)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"A": -torch.ones(4, 3, dtype=torch.complex64)}, "complex `A` isn't read"),
        ({"B": torch.ones(4, 3)}, "`B` and `C` that don't depend on the input aren't read"),
    ],
)
def test_what_is_not_read_is_named(mamba_ssm, changed, said):
    u = vectors(BATCH, 4, LENGTH)
    given = {"A": -torch.ones(4, 3), "B": vectors(BATCH, 3, LENGTH), "C": vectors(BATCH, 3, LENGTH)} | changed
    mamba_ssm.selective_scan_fn = types.FunctionType((lambda u, delta, A, B, C: u).__code__, {}, "selective_scan_fn")
    with pytest.warns(NothingSeen, match=said), watch(model := Calling(mamba_ssm)):
        model(u, u.abs(), **given)
