"""The optimiser: torch's own, to the bit, for matrices and for the rest; and what a recipe gives it to turn."""

import pytest
import torch
from tests.tasks.toys import SAWS, tiny
from torch import nn

from regard.tasks.tagger.data import TaggerData
from regard.tasks.training.objective import Objective
from regard.tasks.training.optimizer import Muon, make_optimizer, orthogonalise

SHAPES = [(4, 4), (20, 3), (3, 20), (64, 192), (1, 7)]


def updates(matrices, rest, optimizers, steps=range(5)):
    """Some steps down the same valley."""
    for step in steps:
        generator = torch.Generator().manual_seed(step)
        for each in [*matrices, *rest]:
            each.grad = each.detach() * 0.1 + torch.randn(each.shape, generator=generator)
        for optimizer in optimizers:
            optimizer.step()
    return [each.detach().clone() for each in [*matrices, *rest]]


def parameters():
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(shape)) for shape in SHAPES], [nn.Parameter(torch.randn(7)) for _ in range(2)]


def muon(matrices, rest, **parts):
    turned = {"params": matrices, "weight_decay": 0.1, "matrices": True}
    return Muon([turned, {"params": rest, "weight_decay": 0.05, "matrices": False}], lr=0.02, **parts)


def test_matrices_go_where_torchs_muon_takes_them_and_the_rest_where_its_adamw_does():
    matrices, rest = parameters()
    ours = updates(matrices, rest, [muon(matrices, rest, dtype=torch.bfloat16)])
    matrices, rest = parameters()
    peers = (
        torch.optim.Muon(matrices, lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=0.02, weight_decay=0.05, betas=(0.9, 0.98), fused=True),
    )
    for mine, theirs in zip(ours, updates(matrices, rest, peers), strict=True):
        assert torch.equal(mine, theirs)


def test_what_a_step_turns_by_in_single_precision_is_what_it_turns_by_in_half():
    exact, rounded = (
        updates(*(given := parameters()), [muon(*given, dtype=dtype)]) for dtype in (torch.float32, torch.bfloat16)
    )
    start = [each.detach() for each in parameters()[0]]
    for before, one, other in zip(start, exact, rounded, strict=False):
        assert (one - before).norm() > 0.05
        assert (one - other).norm() < 0.02 * (one - before).norm()


@pytest.mark.parametrize("shape", SHAPES)
def test_all_singular_values_come_near_one(shape):
    torch.manual_seed(1)
    values = torch.linalg.svdvals(orthogonalise(torch.randn(shape)))
    assert values.max() < 1.15
    assert values.min() > 0.65


def test_a_gradient_of_nothing_but_zeros_moves_nothing():
    matrix, vector = nn.Parameter(torch.ones(3, 2)), nn.Parameter(torch.ones(2))
    matrix.grad = torch.zeros(3, 2)
    turned, rest = {"params": [matrix], "weight_decay": 0.0, "matrices": True}, {"params": [vector], "matrices": False}
    Muon([turned, rest], lr=0.1).step()
    assert torch.equal(matrix, torch.ones(3, 2))
    assert torch.equal(vector, torch.ones(2))


def test_it_goes_on_from_its_state_as_if_it_had_not_stopped():
    matrices, rest = parameters()
    whole = updates(matrices, rest, [muon(matrices, rest)])
    matrices, rest = parameters()
    first = muon(matrices, rest)
    updates(matrices, rest, [first], range(2))
    second = muon(matrices, rest)
    second.load_state_dict(first.state_dict())
    for one, other in zip(whole, updates(matrices, rest, [second], range(2, 5)), strict=True):
        assert torch.equal(one, other)


def test_tables_vectors_and_filters_are_left_to_adamw():
    recipe = tiny(optimizer="muon", network="convolution", reach=1, weight_decay=0.3)
    objective = TaggerData(recipe, SAWS, SAWS, None).objective()
    assert isinstance(objective, Objective)
    names = {id(parameter): name for name, parameter in objective.network.named_parameters()}
    optimizer = make_optimizer(objective, recipe)
    assert isinstance(optimizer, Muon)
    filters, rest, turned = ([names[id(each)] for each in group["params"]] for group in optimizer.param_groups)
    assert [(group["matrices"], group["weight_decay"]) for group in optimizer.param_groups] == [
        (False, 0.3),
        (False, 0.0),
        (True, 0.3),
    ]
    assert filters == [f"network.layers.{layer}.mixer.linear.weight" for layer in range(2)]
    assert "output.weight" in turned
    assert not [name for name in turned if "embedding.words" in name or name.endswith("bias")]
    assert sorted([*filters, *rest, *turned]) == sorted(names.values())
    assert any(name.startswith("embedding.") for name in rest)
