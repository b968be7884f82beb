"""The contract against the oracle, which shares nothing with the definition: no index, no mask, no tensor operation."""

import numpy as np
import pytest
import torch

from attention.attack import assault
from attention.cases import ALL_SIZES, RULES, Case, each_part, for_oracle, kernels, pairwise, seeded
from regard.attention import attend, weigh
from regard.jury import oracle


def expected(case: Case, arguments) -> np.ndarray:
    """What the oracle gives."""
    parts = {**for_oracle(arguments.parts), "mask": RULES[case.mask](ALL_SIZES[case.size])}
    found = oracle.attend(arguments.query, arguments.key, arguments.value, **parts, **arguments.rest)
    return found.detach().numpy()


def test_the_oracle_gives_the_notes_own_numbers():
    """Note 000's example, by hand: Q K^T, softmax without dividing, and the sums of the values."""
    query = np.array([[1, 0, 2], [2, 2, 2], [2, 1, 3]], float)[None, None]
    key = np.array([[0, 1, 1], [4, 4, 0], [2, 3, 1]], float)[None, None]
    value = np.array([[1, 2, 3], [2, 8, 0], [2, 6, 3]], float)[None, None]
    found = oracle.weigh(query, key, score="dot")[0, 0]
    assert np.allclose(found[0], [0.0633789383, 0.4683105308, 0.4683105308], atol=1e-9)
    assert np.allclose(found[1], [6.0336648546e-6, 0.9820078649, 0.0179861014], atol=1e-9)
    output = oracle.attend(query, key, value)[0, 0]
    assert np.allclose(output[0], [1.8638742024, 6.3193710122, 1.7041886963], atol=1e-9)
    assert (oracle.attend(query, key, value, mask=~oracle.dense()) == 0).all()


@pytest.mark.parametrize("case", [*pairwise()[::2], *kernels("self", "even", "grouped", step=2)], ids=str)
def test_the_definition_equals_the_oracle(case):
    """The other engines are held to the definition, by test_product.py."""
    arguments = case.make()
    wanted = expected(case, arguments)
    assert np.isfinite(wanted).all()
    with torch.no_grad():
        output = arguments(attend, engine="dense")
    gap = np.abs(output.cpu().numpy() - wanted).max(initial=0.0)
    assert gap <= 1e-11 * max(1.0, np.abs(wanted).max(initial=0.0)), f"{gap:.2g}"


@pytest.mark.parametrize("mask", RULES)
def test_weigh_equals_the_oracle(mask):
    for size in ("self", "cross", "longer", "grouped"):
        case = Case(mask=mask, size=size)
        arguments = case.make()
        found = weigh(arguments.query, arguments.key, **arguments.parts)
        wanted = oracle.weigh(arguments.query, arguments.key, mask=RULES[mask](ALL_SIZES[case.size]))
        assert np.abs((found.detach().cpu() - wanted).numpy()).max() < 1e-12


@pytest.mark.parametrize("case", each_part(size="tiny", mask="window & causal"), ids=str)
def test_gradients_are_the_oracles_slopes(case):
    """Along a random direction of every tensor, the oracle rises as the gradient says."""
    arguments = case.make()
    output = arguments(attend, engine="blocked")
    upward = torch.linspace(-1, 1, output.numel(), dtype=torch.float64).view_as(output)
    named = arguments.named
    found = torch.autograd.grad(output, list(named.values()), upward, materialize_grads=True)
    for place, (name, tensor) in enumerate(named.items()):
        step = torch.randn(tensor.shape, dtype=torch.float64, generator=seeded(place)) * 1e-6
        rise = []
        for sign in (1, -1):
            moved = case.make()
            shift(moved, place, sign * step)
            rise.append((expected(case, moved) * upward.cpu().numpy()).sum())
        slope, claimed = (rise[0] - rise[1]) / 2e-6, float((found[place] * step).sum()) / 1e-6
        assert abs(slope - claimed) < 1e-6 * max(1.0, abs(claimed)), f"{name}: {slope} where {claimed} was said"


def shift(arguments, place: int, step: torch.Tensor) -> None:
    """Add to one of the tensors that get gradients, by its place among them."""
    with torch.no_grad():
        list(arguments.named.values())[place].add_(step)


@pytest.mark.parametrize("seed", range(24))
def test_a_sample_of_the_attack(seed, record_property):
    """Random calls; `python tests/attention/attack.py --cases 5000` runs as many as one likes."""
    done, found = assault(range(seed * 4, seed * 4 + 4))
    record_property("contract: random calls held to the oracle", done)
    assert not found, "\n".join(found)
