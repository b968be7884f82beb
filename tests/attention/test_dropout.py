"""Dropout: the same weights fall whatever the engine and the tile, as many as were asked for, and independently."""

import pytest
import torch

from attention.cases import Case, rotation
from attention.comparing import Cut, gaps, outcome
from regard.attention import attend, plan
from regard.attention.engines import ENGINES
from regard.errors import RefusedError


def each_engine(function):
    """What it gives for every engine that has dropout."""
    found = {}
    for engine in ENGINES:
        try:
            found[engine] = function(engine)
        except RefusedError:
            assert engine not in ("dense", "blocked")
    return found


def still(tensors=("query", "key", "value")):
    arguments = Case().make()
    return tuple(getattr(arguments, name).detach() for name in tensors)


@pytest.mark.parametrize("case", rotation(45, dropout=(0.4,))[::3], ids=str)
def test_the_same_weights_fall_in_every_tile(case):
    expected = outcome(case.make(), "dense")
    for cut in (Cut(3, 40), Cut(5, 10**9)):
        assert not gaps(outcome(case.make(), cut), expected, torch.float64)


def test_the_same_weights_fall_in_every_engine():
    query, key, value = still()
    outputs = each_engine(
        lambda engine: attend(
            query, key, value, score=Case("additive").make().parts["score"], dropout=0.4, seed=7, engine=engine
        )
    )
    for output in outputs.values():
        torch.testing.assert_close(output, outputs["dense"])
        assert not torch.allclose(output, attend(query, key, value, dropout=0.4, seed=8, engine="dense"))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_as_many_fall_as_were_asked_for(share):
    query = torch.zeros(2, 2, 200, 1)
    identity = torch.eye(200).expand(2, 2, 200, 200)

    def drop(engine):
        return attend(query, query, identity, dropout=share, seed=1, engine=engine) * 200

    kept = each_engine(drop)
    for other in kept.values():
        assert torch.equal(other == 0, kept["dense"] == 0)
    fallen = kept["dense"] == 0
    # What stays is scaled up, so that a row's sum is what it was, on average.
    assert (fallen | ((kept["dense"] * (1 - share) - 1).abs() < 1e-4)).all()
    # 160,000 draws: four standard errors.
    assert abs(fallen.double().mean().item() - share) < 4 * (share * (1 - share) / fallen.numel()) ** 0.5
    # No two rows, columns, heads or items drop the same.
    for rows in (fallen.flatten(0, 2), fallen.mT.flatten(0, 2)):
        assert len(torch.unique(rows, dim=0)) == len(rows)
    # And neighbours know nothing of each other: 4 standard errors of a correlation.
    centred = fallen.double() - share
    for one, two in (
        (centred[..., 1:], centred[..., :-1]),
        (centred[..., 1:, :], centred[..., :-1, :]),
        (centred[:, 1], centred[:, 0]),
        (centred[1], centred[0]),
    ):
        assert abs((one * two).mean().item()) / (share * (1 - share)) < 4 / one.numel() ** 0.5


def test_seeds_differ_in_every_bit():
    query = torch.zeros(1, 1, 100, 1)
    identity = torch.eye(100).expand(1, 1, 100, 100)
    fallen = [
        attend(query, query, identity, dropout=0.5, seed=seed) == 0 for seed in (0, 1, 2, 1 << 31, 1 << 32, 1 << 61)
    ]
    for i, one in enumerate(fallen):
        for two in fallen[:i]:
            assert abs((one == two).double().mean().item() - 0.5) < 0.02  # 4 standard errors of 10,000 draws


def test_a_plan_draws_nothing():
    query, key, value = still()
    before = torch.get_rng_state()
    plan(query, key, value, dropout=0.4)
    assert torch.equal(torch.get_rng_state(), before)


def test_draws_a_seed_from_torch():
    query, key, value = still()
    torch.manual_seed(1)
    first, second = (attend(query, key, value, dropout=0.4) for _ in range(2))
    torch.manual_seed(1)
    again = attend(query, key, value, dropout=0.4)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


def test_ends():
    query, key, value = still()
    for output in each_engine(lambda engine: attend(query, key, value, dropout=1.0, engine=engine)).values():
        assert (output == 0).all()
    assert torch.equal(attend(query, key, value, dropout=0.0, seed=1), attend(query, key, value))
