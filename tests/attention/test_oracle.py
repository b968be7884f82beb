"""The contract against the oracle, which shares nothing with the definition: no index, no mask, no tensor operation."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch

from attention.attack import assault
from attention.cases import ALL_SIZES, MASK_EXAMPLES, Case, Size, each_part, kernels, pairwise, seeded
from regard.attention import attend, weigh
from regard.jury import oracle
from regard.jury.oracle import Rule


def _graph(size: Size, item: int = 0) -> list[tuple[int, int]]:
    return [
        (key, query)
        for key, query in itertools.product(range(size.keys), range(size.queries))
        if (3 * key + 5 * query + item) % 4 == 0 and query not in (3, 4)
    ]


def _blocks(size: Size) -> Rule:
    rows, columns = range(-(-size.queries // 4)), range(-(-size.keys // 4))
    return oracle.blocks([[(2 * query + key) % 3 != 1 for key in columns] for query in rows], 4)


def _lengths(size: Size) -> Rule:
    return oracle.lengths(list(size.query_lengths), list(size.key_lengths))


def _packed(size: Size) -> Rule:
    return oracle.documents(
        [[-1 if place > 14 else (place + item) // 5 for place in range(size.keys)] for item in size.items]
    )


def _shifted(size: Size) -> Rule:
    return oracle.own(lambda batch, head, query, key: (key + 2 * query + batch + head) % 3 != 0)


RULES: dict[str, Callable[[Size], Rule]] = {
    "dense": lambda size: oracle.dense(),
    "causal": lambda size: oracle.causal(),
    "window": lambda size: oracle.window(2, 1),
    "lengths": _lengths,
    "no_self": lambda size: oracle.no_self(),
    "documents": _packed,
    "documents in pieces": lambda size: oracle.documents(
        [[(place * place + item) % 3 - 1 for place in range(size.keys)] for item in size.items]
    ),
    "documents of queries": lambda size: oracle.documents(
        [[place // 4 for place in range(size.keys)]], [[place * 2 % 5 - 1 for place in range(size.queries)]]
    ),
    "prefix": lambda size: oracle.prefix(3),
    "prefix by item": lambda size: oracle.prefix([[0, 4, 30][item] for item in size.items]),
    "guided": lambda size: oracle.guided(2),
    "edges": lambda size: oracle.edges([_graph(size)]),
    "edges by item": lambda size: oracle.edges([_graph(size, item) for item in size.items]),
    "blocks": _blocks,
    "own function": _shifted,
    "own part": lambda size: oracle.own(
        lambda batch, head, query, key: (key + query) % [[2, 3, 1][item] for item in size.items][batch] == 0
    ),
    "causal & lengths": lambda size: oracle.causal() & _lengths(size),
    "window & causal": lambda size: oracle.window(40, 20) & oracle.causal(),
    "window & causal & lengths": lambda size: oracle.window(3, 3) & oracle.causal() & _lengths(size),
    "guided & lengths": lambda size: oracle.guided(0.3) & _lengths(size),
    "edges & lengths": lambda size: oracle.edges([_graph(size)]) & _lengths(size),
    "blocks & causal": lambda size: _blocks(size) & oracle.causal(),
    "prefix | causal": lambda size: oracle.prefix(4) | oracle.causal(),
    "prefix | window": lambda size: oracle.prefix(2) | oracle.window(1, 1),
    "window | own function": lambda size: oracle.window(1, 0) | _shifted(size),
    "edges | window": lambda size: oracle.edges([_graph(size)]) | oracle.window(1, 0),
    "~causal": lambda size: ~oracle.causal(),
    "~documents & no_self": lambda size: ~_packed(size) & oracle.no_self(),
    "~edges & lengths": lambda size: ~oracle.edges([_graph(size)]) & _lengths(size),
    "~(window | blocks)": lambda size: ~(oracle.window(1, 1) | _blocks(size)),
    "~(window | lengths)": lambda size: ~(oracle.window(1, 1) | _lengths(size)),
    "strided": lambda size: oracle.strided(3),
    "strided & causal": lambda size: oracle.strided(4) & oracle.causal(),
    "longformer": lambda size: oracle.longformer(2, [0, 1, 2]),
    "longformer here and there & lengths": lambda size: oracle.longformer(1, [5, 2]) & _lengths(size),
    "bigbird": lambda size: oracle.bigbird(2, reach=0, everywhere=1, random=2, seed=5),
    "bigbird & lengths": lambda size: oracle.bigbird(2, reach=1, everywhere=0, random=1, seed=6) & _lengths(size),
    "nothing": lambda size: ~oracle.dense(),
}


def expected(case: Case, arguments) -> np.ndarray:
    """What the oracle gives."""
    parts = {**arguments.parts, "mask": RULES[case.mask](ALL_SIZES[case.size])}
    found = oracle.attend(arguments.query, arguments.key, arguments.value, **parts, **arguments.rest)
    return found.detach().numpy()


def test_every_mask_has_a_rule():
    assert set(RULES) == set(MASK_EXAMPLES)


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
