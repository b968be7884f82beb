"""Models of known structure, on which the noise floor of effects is judged: one head wired by hand, or none."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.inspection import BASELINES, HideKey, RemoveHead, effects

__all__ = ["DIRECTIONS", "DRAWS", "MODELS", "Wired", "noise_floor", "random_transformer", "wired_model"]

MODELS, DIRECTIONS, DRAWS = 100, 19, 8
BY = {
    "zero": "head removed, by zeros",
    "mean": "head removed, by the mean",
    "resample": "head removed, by outputs for other inputs",
}

WORDS, LENGTH, HEADS = 16, 8, 10
# The wired head alone gives the right word a probability of 78 %.
_SCALE = 4.0
_SHARP = 10.0


class Wired(nn.Module):
    """One layer of attention that says the previous word: one head copies it, the others are random.

    Words and positions are one-hot vectors. The wired head attends to the position before, and adds the word there to
    the logits; an output of another head is as long, and is added in random directions.

    Args:
        seed: of the random heads.
        wired: the number of the head that is wired, from 0.
    """

    def __init__(self, seed: int, wired: int):
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        width = WORDS + LENGTH
        self.query, self.key, self.value = torch.randn(3, HEADS, width, WORDS, generator=random)
        self.value = self.value / self.value.norm(dim=-1, keepdim=True)
        self.output = torch.linalg.qr(torch.randn(HEADS, WORDS, WORDS, generator=random))[0]
        positions = torch.eye(LENGTH, WORDS)
        before = torch.cat([positions[:1], positions[:-1]])
        self.query[wired] = _SHARP * torch.cat([torch.zeros(WORDS, WORDS), before])
        self.key[wired] = _SHARP * torch.cat([torch.zeros(WORDS, WORDS), positions])
        self.value[wired] = torch.cat([torch.eye(WORDS), torch.zeros(LENGTH, WORDS)])
        self.output[wired] = torch.eye(WORDS)

    def forward(self, words: Tensor) -> Tensor:
        """The logits (item, position, word)."""
        places = torch.eye(LENGTH).expand(len(words), -1, -1)
        vectors = torch.cat([functional.one_hot(words, WORDS).float(), places], -1)
        query, key, value = (
            torch.einsum("bnw,hwf->bhnf", vectors, each) for each in (self.query, self.key, self.value)
        )
        heads = functional.scaled_dot_product_attention(query, key, value)
        return _SCALE * torch.einsum("bhnf,hfw->bnw", heads, self.output)


def random_transformer(seed: int) -> nn.Module:
    """An encoder of two layers of five heads, with random weights: no head of it means anything."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer: Any = nn.TransformerEncoderLayer(5 * WORDS, 5, 4 * WORDS, batch_first=True, norm_first=True)
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        # The copies of a layer begin equal.
        for each in encoder.parameters():
            if each.ndim > 1:
                nn.init.normal_(each, std=each.shape[1] ** -0.5)
        return nn.Sequential(nn.Embedding(WORDS, 5 * WORDS), encoder, nn.Linear(5 * WORDS, WORDS)).eval()


def wired_model(seed: int) -> tuple[nn.Module, Tensor, list[Tensor], int]:
    """A model with a wired head, an input, eight other inputs, and the number of the head, from 0."""
    random = torch.Generator().manual_seed(10_000 + seed)
    wired = int(torch.randint(HEADS, (), generator=random))
    words, *others = torch.randint(WORDS, (9, 1, LENGTH), generator=random)
    return Wired(seed, wired).eval(), words, others, wired


def noise_floor(models: int, first: int) -> tuple[list[str], list[list[str]], str]:
    """How often an effect is above its noise floor: columns, rows, and a sentence that sums them up."""
    above: dict[tuple[str, str], list[tuple[bool, Tensor]]] = defaultdict(list)
    for seed in range(first, first + models):
        model, source, others, wired = wired_model(seed)
        word = int(source[0, LENGTH - 2])
        for by in BASELINES:
            removed = [RemoveHead(1, head + 1, by) for head in range(HEADS)]
            found = above_noise(model, source, others, removed, word, seed)
            above["nine of ten", BY[by]] += [(head == wired, each) for head, each in enumerate(found)]
        hidden = [HideKey(key + 1) for key in range(LENGTH)]
        found = above_noise(model, source, others, hidden, word, seed)
        above["nine of ten", "word hidden"] += [(key == LENGTH - 2, each) for key, each in enumerate(found)]
        model = random_transformer(seed)
        for by in BASELINES:
            removed = [RemoveHead(layer, head + 1, by) for layer in (1, 2) for head in range(5)]
            found = above_noise(model, source, others, removed, word, seed)
            above["all, in two layers of five", BY[by]] += [(False, each) for each in found]
    rows, by_chance, wired_found = [], [], []
    for (kind, change), each in above.items():
        rows.append([kind, change])
        for measure in range(2):
            of_wired, of_random = (
                torch.tensor([bool(found[measure]) for wired, found in each if wired == which]).double()
                for which in (True, False)
            )
            rows[-1].append(f"{int(of_wired.sum())} of {len(of_wired)}" if len(of_wired) else "-")
            rows[-1].append(f"{share(float(of_random.mean()))} of {len(of_random):,}")
            by_chance.append(float(of_random.mean()))
            wired_found += [float(of_wired.mean())] if len(of_wired) and measure == 0 else []
    columns = ["random heads", "change"]
    for measure in ("the difference of logits", "the log-probability"):
        columns += [f"wired, above the floor by {measure}", f"random, above the floor by {measure}"]
    sentence = (
        f"Of what is random, {share(min(by_chance))} to {share(max(by_chance))} is above the noise floor, where "
        f"{share(1 / (DIRECTIONS + 1))} would be by chance; of what is wired, by the difference of logits, "
        f"{share(min(wired_found))} to {share(max(wired_found))}."
    )
    return columns, rows, sentence


def above_noise(
    model: Any, source: Tensor, others: Sequence[Tensor], changes: Sequence[Any], word: int, seed: int
) -> list[Tensor]:
    """Whether each change moves what is said of a word, at the last place, by more than the noise floor.

    Two measures: its logit minus the mean of all, and the logarithm of its probability.
    """

    def measure(logits: Tensor) -> Tensor:
        last = logits[:, -1].double()
        return torch.stack([last[:, word] - last.mean(-1), last.log_softmax(-1)[:, word]], -1)

    found = effects(
        model,
        model,
        measure,
        changes,
        inputs=source,
        others=others,
        draws=DRAWS,
        noise=DIRECTIONS,
        seed=seed * DIRECTIONS,
        batch=64,
    )
    return [torch.as_tensor(each.difference).abs() > torch.as_tensor(each.noise_floor) for each in found]


def share(value: float) -> str:
    return f"{100 * value:.1f} %"
