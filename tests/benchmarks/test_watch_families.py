"""The validator of what watching sees in the families of transformers."""

import pytest
import torch
from torch import nn

pytest.importorskip("transformers")


@pytest.fixture
def random_models(benchmark_module):
    return benchmark_module("random_models")


@pytest.fixture
def watch_families(benchmark_module):
    return benchmark_module("watch_families")


def test_a_configuration_is_made_small_with_those_inside_of_it(random_models):
    config = random_models.small_config("clip", random_models.SIZES[0], {})
    text, vision = config.text_config, config.vision_config
    assert (text.hidden_size, text.num_hidden_layers, text.num_attention_heads) == (64, 2, 4)
    assert (text.vocab_size, vision.image_size % vision.patch_size) == (128, 0)
    assert text.eos_token_id < 128


def test_what_is_set_by_hand_stays(random_models):
    config = random_models.small_config("clip", random_models.SIZES[0], {"text_config": {"hidden_size": 32}})
    assert (config.text_config.hidden_size, config.vision_config.hidden_size) == (32, 64)


def test_innermost_modules_of_attention(random_models):
    class Attention(nn.Module):
        pass

    class OuterAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Attention()

    model = nn.Sequential(OuterAttention(), nn.Linear(1, 1), Attention())
    assert random_models.attention_modules(model) == ["0.inner", "2"]


def test_outputs_are_compared_with_what_is_not_finite(watch_families):
    one = {"first": torch.tensor([1.0, torch.nan]), "rest": (torch.tensor([2.0]), None)}
    other = {"first": torch.tensor([1.5, torch.nan]), "rest": (torch.tensor([2.0]), None)}
    compared = watch_families.difference(watch_families.tensors(one), watch_families.tensors(other))
    assert compared == 0.5
    assert watch_families.difference([torch.tensor([1.0])], [torch.tensor([torch.inf])]) == torch.inf
    assert watch_families.difference([torch.zeros(1)], [torch.zeros(2)]) == torch.inf


def test_scores_and_averages_are_no_weights_of_heads(watch_families):
    weights = torch.rand(1, 2, 3, 3).softmax(-1)
    assert watch_families.are_of_heads(weights)
    assert not watch_families.are_of_heads(weights.log())
    assert not watch_families.are_of_heads(weights.mean(1, keepdim=True).expand(-1, 2, -1, -1))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("family", "status"), [("bert", "whole"), ("minimax", "told"), ("resnet", "without attention")]
)
def test_families(watch_families, family, status):
    row = watch_families.measured(family, "eager")
    assert row["status"] == status
    assert row["outputs"] == 0
    if status == "whole":
        assert row["weights"] < 1e-6
        assert row["seen"] == row["ran"] == 2


@pytest.mark.slow
def test_a_family_that_cannot_be_built_says_why(watch_families):
    row = watch_families.measured("resnet", "sdpa")
    assert row["status"] == "not built"
    assert "scaled_dot_product" in row["why"]
