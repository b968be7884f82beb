"""A picture of each of the operator's parts, drawn from what the part itself computes on a small input.

A mask's page says in a comment at its end what is drawn, a line each:

    example: how the mask is made for n keys, if it needs arguments; the table of engines takes it too
    drawn: what is drawn instead of the example
    keys: how many keys the picture has, if not as many as queries
    picture: the title of the picture
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from drawing import curves, heat_map
from torch import Tensor

from regard import attention
from regard.attention import weigh
from regard.modules.make_part import make_part

__all__ = ["PICTURES", "mask_example"]

PAGES = Path(__file__).parent / "reference" / "parts"

ITEMS, SIZE = 24, 8


def wave(*shape: int, step: float = 0.7) -> Tensor:
    """Numbers without a pattern that one sees, the same on every machine."""
    count = int(torch.tensor(shape).prod())
    return torch.cos(step * torch.arange(count, dtype=torch.float64).square() + 0.3).view(shape)


def toy() -> tuple[Tensor, Tensor]:
    """Queries and keys of 24 items, (1, 1, 24, 8): neighbours are alike, and every fifth key is a long vector."""
    position = torch.arange(ITEMS, dtype=torch.float64).unsqueeze(1)
    feature = torch.arange(SIZE, dtype=torch.float64)
    vectors = torch.cos(position * (0.1 + 0.15 * feature) + feature)
    length = torch.where(torch.arange(ITEMS) % 5 == 2, 2.5, 1.0).double().unsqueeze(1)
    return (1.5 * vectors)[None, None], (vectors * length)[None, None]


def trained(module: Any) -> Any:
    """A module whose parameters are waves, as if it had learned something."""
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(wave(*parameter.shape))
    return module


def scaled(module: Any, factor: float) -> Any:
    """The module with parameters so many times as large."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(factor)
    return module


def weights_of(**parts: Any) -> list[list[float]]:
    query, key = toy()
    return weigh(query, key, **parts)[0, 0].tolist()


def made(kind: str, name: str, known: Any) -> Any:
    """The part of this name, as if it had learned something."""
    part = make_part(kind, name, known, head_size=SIZE, heads=1)
    return trained(part) if isinstance(part, torch.nn.Module) else known[name]()


_SCORES: dict[str, tuple[Callable[[], Any], str]] = {
    "bilinear": (lambda: scaled(trained(attention.LearnedBilinear(SIZE)), 0.2), "bilinear scores"),
    "additive": (lambda: trained(attention.LearnedAdditive(SIZE)), "additive scores"),
    "cosine": (lambda: attention.Cosine(scale=5.0), "cosine scores, scale 5,"),
}


def of_score(name: str) -> str:
    make, shown = _SCORES.get(name, (lambda: made("score", name, attention.SCORES), f"{name} scores"))
    with torch.no_grad():
        values = weights_of(score=make())
    return heat_map(values, f"Softmax of {shown} of 24 toy items; every fifth key is a long vector", **_AXES)


_AXES = {"rows": "query", "columns": "key"}

# The others are drawn beside softmax.
_NORMALISERS: dict[str, Callable[[], dict[str, Any]]] = {
    "softmax": lambda: {f"T = {t}": attention.Softmax(t) for t in (0.5, 1.0, 2.0)},
    "sigmoid": lambda: {
        "b = -log n": attention.Sigmoid(),
        "b = 0, divided by 10": lambda s, a: attention.Sigmoid(0.0)(s, a) / 10,
        "softmax": attention.Softmax(),
    },
    "entmax": lambda: {
        "alpha = 1.25": attention.Entmax(1.25),
        "alpha = 1.5": attention.Entmax(1.5),
        "alpha = 2": attention.Entmax(2.0),
        "softmax": attention.Softmax(),
    },
    "budget": lambda: {
        "budget 1: sparsemax": attention.Budget(1.0),
        "budget 2": attention.Budget(2.0),
        "budget 4": attention.Budget(4.0),
        "softmax": attention.Softmax(),
    },
    "top_k": lambda: {"k = 4": attention.TopK(4), "k = 8": attention.TopK(8), "softmax": attention.Softmax()},
}


def of_weights(name: str) -> str:
    scores = torch.linspace(-3, 3, ITEMS, dtype=torch.float64).unsqueeze(0)
    beside_softmax = {name: attention.WEIGHTS[name], "softmax": attention.Softmax}
    drawn = _NORMALISERS.get(name, lambda: {label: make() for label, make in beside_softmax.items()})()
    lines = {
        label: list(zip(scores[0].tolist(), normaliser(scores, None)[0].tolist(), strict=True))
        for label, normaliser in drawn.items()
    }
    return curves(
        lines, f"The weights that {name} makes of a row of 24 scores from -3 to 3", across="score", up="weight"
    )


def ring(items: int) -> Tensor:
    """The edges of a ring of nodes with some chords."""
    node = torch.arange(items)
    edges = torch.stack([node, (node + 1) % items])
    chords = torch.stack([node[::3], (node[::3] * 5 + 2) % items])
    both = torch.cat([edges, chords], dim=1)
    return torch.cat([both, both.flip(0)], dim=1)


def on_page(name: str) -> dict[str, str]:
    """What the comment at the end of a part's page says, by the first word of each line."""
    comment = re.search(r"\n<!--\n(.*)-->\n*\Z", (PAGES / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL)
    lines = comment[1].splitlines() if comment else []
    return {field: text for field, _, text in (line.partition(": ") for line in lines)}


def mask_example(name: str, keys: int, *, drawn: bool = False) -> Any:
    """A mask as its page makes it for so many keys, or as the page's picture has it."""
    said = on_page(name)
    written = (drawn and said.get("drawn")) or said.get("example") or f"{attention.MASKS[name].__name__}()"
    return eval(written, {**vars(attention), "torch": torch, "ring": ring, "n": keys})


def of_mask(name: str) -> str:
    said = on_page(name)
    keys = int(said.get("keys", ITEMS))
    query, key = torch.zeros(1, 1, ITEMS, 1), torch.zeros(1, 1, keys, 1)
    # The mask as an engine asks it: weights of equal scores are 0 where it hides.
    allowed = weigh(query, key, mask=mask_example(name, keys, drawn=True))[0, 0] > 0
    values = [[1.0 if pair else None for pair in row] for row in allowed.tolist()]
    title = said.get("picture", name)
    return heat_map(values, f"{title}. Dark: allowed. Grey: hidden", **_AXES, low=0.8, high=3.0, legend=False)


def bias(position: Any, heads: int = 1, reach: int = ITEMS - 1) -> Tensor:
    """What a scheme adds to the scores of a query, (head, distance), from `reach` keys before it to as many behind."""
    size = 2 * reach + 1
    query = key = torch.ones(1, heads, size, SIZE, dtype=torch.float64)

    def scores(**parts: Any) -> Tensor:
        return weigh(query, key, weights=lambda scores, allowed: scores, **parts)[0, :, reach]

    with torch.no_grad():
        return scores(position=position) - scores()


def of_position(name: str) -> str:
    reach = ITEMS - 1
    if name == "relative":
        lines = {"reach 8": bias(trained(attention.Relative(SIZE, reach=8)))[0]}
        title = "What relative positions add to the score of one query, by distance: beyond the reach it is one number"
    elif name == "rotary":
        lines = {f"base {base:.0f}": bias(attention.Rotary(base=base))[0] for base in (1e4, 1e2)}
        title = "How turning two equal vectors changes their score, by distance"
    elif name == "bucketed":
        reach, part = 40, attention.Bucketed(heads=1, buckets=16, reach=32).double()
        with torch.no_grad():
            part.table.copy_(-torch.cat([torch.arange(8), torch.arange(8)]).double())
        lines, title = (
            {"bias": bias(part, reach=reach)[0]},
            ("The buckets of Bucketed(buckets=16, reach=32), each with a bias one lower than the one before it"),
        )
    elif name == "alibi":
        found = bias(attention.Alibi(heads=4).double(), heads=4)
        lines = {f"head {head + 1}": line for head, line in enumerate(found)}
        title = "What ALiBi adds to the scores of four heads, by distance"
    else:
        lines = {name: bias(made("position", name, attention.POSITIONS))[0]}
        title = f"What {name} adds to the scores, by distance"
    points = {label: list(zip(range(-reach, reach + 1), line.tolist(), strict=True)) for label, line in lines.items()}
    return curves(points, title, across="position of the key minus that of the query", up="added to the score")


def of_input_position(name: str) -> str:
    width = 32 if name == "sinusoidal" else ITEMS
    module = {
        "sinusoidal": lambda: attention.Sinusoidal(width),
        "learned": lambda: trained(attention.Learned(width, length=16)),
        "recurrent": lambda: scaled(trained(attention.Recurrent(width)), 0.3),
        "flow": lambda: scaled(trained(attention.Flow(width)), 0.5),
    }[name]()
    with torch.no_grad():
        vectors = module.encode(16 if name == "learned" else ITEMS).tolist()
    limits = (-1.0, 1.0)
    if name in ("learned", "recurrent", "flow"):
        largest = max(abs(value) for row in vectors for value in row)
        limits = (-round(largest, 1), round(largest, 1))
    title = {
        "sinusoidal": "The vectors of 24 positions, 32 features: waves, ever slower to the right",
        "learned": "The vectors of the 16 positions of a table, here filled with waves; there is no 17th",
        "recurrent": "The vectors of 24 positions, computed one by one by an RNN with wavy weights",
        "flow": "The vectors of 24 positions along the flow of a network with wavy weights",
    }[name]
    return heat_map(vectors, title, rows="position", columns="feature", low=limits[0], high=limits[1])


def guided_bias() -> str:
    query, key = torch.zeros(1, 1, ITEMS, 1).double(), torch.zeros(1, 1, 36, 1).double()
    values = weigh(query, key, position=attention.GuidedBias(0.2))[0, 0].tolist()
    title = "GuidedBias(0.2): the weights of equal scores, 24 queries and 36 keys, gather about the diagonal"
    return heat_map(values, title, **_AXES)


def _drawings() -> dict[str, Callable[[], str]]:
    kinds = (
        (attention.SCORES, of_score),
        (attention.WEIGHTS, of_weights),
        (attention.MASKS, of_mask),
        (attention.POSITIONS, of_position),
        (attention.INPUT_POSITIONS, of_input_position),
    )
    named = {name: lambda name=name, draw=draw: draw(name) for known, draw in kinds for name in known}
    return named | {"guided_bias": guided_bias}


# The name of a part -> what draws it.
PICTURES = _drawings()
