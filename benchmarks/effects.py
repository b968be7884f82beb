"""How well attention weights predict effects: the heads and the words of the bundled English tagger, on dev.

    python benchmarks/effects.py               # some minutes
    python benchmarks/effects.py --quick       # 100 sentences; nothing is saved
    python benchmarks/effects.py --noise       # the noise floor, on models whose structure is known

Heads: each head is removed, its outputs replaced by zeros or by their mean over the sentence. What accuracy loses and
cross-entropy gains stands beside the entropy and the largest weight of the head. The sentences of a batch have the same
length, so that no padding is in the means.

Words: in sentences of 3 to 30 words each word is hidden from all words, in all heads and layers. Its effect on another
word is the change, without its sign, of the probability of the label that the model gave that word. For each word, the
other words are ranked by their effects on it, by its weights on them, and by their distance.

Intervals hold 95 % of 1,000 resamples of the sentences, so they don't cover other models.

Noise: in models in which one head is wired by hand and nine are random, and in random transformers, how often the
effect of a head, or of a hidden word, is above its noise floor.
"""

import argparse
import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from measuring import conditions, save
from torch import Tensor
from wired_heads import DIRECTIONS, DRAWS, MODELS, noise_floor

import regard
from regard import datasets
from regard.errors import UnreliablePrediction
from regard.inspection import (
    HideKey,
    all_heads,
    effects,
    head_patterns,
    rank_agreement,
    rollout,
    value_weighted,
    watch,
)

MODEL, DATA, SPLIT = "english-pos", "ud-english-ewt", "dev"
SHORTEST, LONGEST = 3, 30
TOGETHER = 2000  # words in a batch
RESAMPLES = 1000
# A word depends on others if hiding one changes the probability of its label by this much.
DEPENDS = 0.1
EFFECTS = {
    "accuracy zero": "accuracy lost, by zeros",
    "accuracy mean": "accuracy lost, by the mean",
    "loss zero": "loss gained, by zeros",
    "loss mean": "loss gained, by the mean",
}
METHODS = {
    "last": "weights of the last layer, mean of its heads",
    "mean": "weights, mean of all heads and layers",
    "rollout": "roll-out through both layers",
    "value": "weights of the last layer times the norms of values",
    "distance": "distance: the nearest word first",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 sentences; nothing is saved")
    parser.add_argument("--noise", action="store_true", help="the noise floor, on models whose structure is known")
    parser.add_argument("--seed", type=int, default=0, help="of the resamples, or the first of the models")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.noise:
        models = 10 if given.quick else MODELS
        facts = {"models of each kind": models, "directions": DIRECTIONS, "draws": DRAWS, "first seed": given.seed}
        show(Table("effects_noise", *noise_floor(models, given.seed)), conditions("regard", **facts), given.quick)
        return
    sentences = [each for each in datasets.read(DATA, SPLIT) if len(each.words) > 1][: 100 if given.quick else None]
    tagger = regard.load(MODEL)
    short = [each for each in sentences if SHORTEST <= len(each.words) <= LONGEST]
    with warnings.catch_warnings():
        # The figures already have the errors on unusual sentences.
        warnings.simplefilter("ignore", UnreliablePrediction)
        tables = [(each, sentences) for each in heads(tagger, sentences, given.seed)]
        tables.append((words(tagger, short, given.seed), short))
    for table, of in tables:
        count = sum(len(each.words) for each in of)
        facts = {"sentences": f"{len(of):,}", "words": f"{count:,}", "resamples": f"{RESAMPLES:,}", "seed": given.seed}
        show(table, f"`{MODEL}` on {SPLIT} of {DATA}; {conditions('regard', **facts)}", given.quick)


class Table(NamedTuple):
    """A table of the documents, and a sentence that sums it up."""

    name: str
    columns: list[str]
    rows: list[list[str]]
    sentence: str


def show(table: "Table", said: str, quick: bool) -> None:
    """Print a table, and save it if it isn't a quick one."""
    if not quick:
        save(table.name, table.columns, table.rows, said, sentence=table.sentence)
    for row in (table.columns, *table.rows):
        print(*row, sep="\t")
    print(f"{table.sentence}\n{said}\n")


def heads(tagger: Any, sentences: Sequence[Any], seed: int) -> list[Table]:
    """The table of heads, and that of the rank correlations of their weights and effects."""
    groups = of_equal_length(sentences)
    batches = [tagger.encode([each.words for each in group]) for group in groups]
    lengths = torch.tensor([len(each.words) for group in groups for each in group])
    wanted = torch.cat([tagger.target.tensor(each.labels) for group in groups for each in group])
    network = tagger.network.eval()

    def measure(logits: Tensor) -> Tensor:
        """(2, word): whether each word is right, and its cross-entropy in nats."""
        chances = (logits.double() / tagger.target.temperature).log_softmax(-1)
        return torch.stack([(logits.argmax(-1) == wanted).double(), -chances.gather(1, wanted[:, None])[:, 0]])

    weights, names, seen = weights_of_heads(network, groups, batches)
    draws = resampled(len(lengths), seed)

    def means(values: Tensor) -> Tensor:
        """The mean over words of values (word, column) in each resample, (resample, column)."""
        owner = torch.arange(len(lengths)).repeat_interleave(lengths)
        sums = torch.zeros(len(lengths), values.shape[1], dtype=torch.double).index_add_(0, owner, values.double())
        return (draws @ sums) / (draws @ lengths.double())[:, None]

    figures = {name: means(values) for name, values in weights.items()}
    for by in ("zero", "mean"):
        found = effects(network, lambda: torch.cat([network(each) for each in batches]), measure, all_heads(seen, by))
        right, loss = torch.stack([torch.as_tensor(each.difference) for each in found], -1)
        figures[f"accuracy {by}"], figures[f"loss {by}"] = -means(right), means(loss)
    accuracy = means(torch.as_tensor(found[0].before)[:1].T)
    columns = [
        *("layer", "head", "pattern", "entropy, bits", "entropy / log n", "largest weight"),
        *("accuracy lost, points: by zeros", "by the mean", "loss gained, nats: by zeros", "by the mean"),
    ]
    rows = []
    for index, change in enumerate(all_heads(seen)):
        pattern, often = names[index].most_common(1)[0]
        named = f"{pattern} ({100 * often / len(lengths):.0f} % of sentences)"
        measured = [f"{float(figures[name][0, index]):.2f}" for name in ("entropy", "normalised", "largest")]
        lost = [spread(figures[f"accuracy {by}"][:, index], points) for by in ("zero", "mean")]
        gained = [spread(figures[f"loss {by}"][:, index], four) for by in ("zero", "mean")]
        rows.append([str(change.layer), str(change.head), named, *measured, *lost, *gained])
    sentence = f"With all heads the tagger labels {share(float(accuracy[0]))} of the words right."
    return [Table("effects_heads", columns, rows, sentence), agreement(figures, len(rows), seed)]


def agreement(figures: dict[str, Tensor], count: int, seed: int) -> Table:
    """The table of the rank correlations over the heads."""
    rows, found = [], []
    for effect, title in EFFECTS.items():
        rows.append([title])
        for name, sign in (("largest", 1), ("normalised", -1)):
            pairs = zip(figures[name], figures[effect], strict=True)
            values = [rank_agreement(sign * left, right) for left, right in pairs]
            rows[-1].append(spread(values, two))
            found.append(values[0])
    bound = rare_agreement(count, seed)
    reached = sum(abs(each) >= bound - 1e-9 for each in found)
    sentence = (
        f"Over the {count} heads, larger weights go with larger effects by a rank correlation of {two(min(found))} to "
        f"{two(max(found))}; {reached} of these {len(found)} correlations reach {two(bound)}, "
        f"the size that at most 5 % of {count} heads in random order reach."
    )
    return Table("effects_agreement", ["effect", "largest weight", "minus entropy / log n"], rows, sentence)


def weights_of_heads(
    network: Any, groups: Sequence[Any], batches: Sequence[Any]
) -> tuple[dict[str, Tensor], list[Counter[str]], Any]:
    """Of all heads, layer by layer: statistics (word, head) of their weights, and how often each pattern was found."""
    found: dict[str, list[Tensor]] = defaultdict(list)
    names: dict[int, Counter[str]] = defaultdict(Counter)
    for group, batch in zip(groups, batches, strict=True):
        with torch.no_grad(), watch(network) as seen:
            network(batch)
        # (batch head query) -> (word head)
        entropy, largest = (
            torch.cat(each, 1).transpose(1, 2).flatten(0, 1)
            for each in zip(*((layer.summary.entropy, layer.summary.top_weight[..., 0]) for layer in seen), strict=True)
        )
        found["entropy"].append(entropy / math.log(2))
        found["normalised"].append(entropy / math.log(len(group[0].words)))
        found["largest"].append(largest)
        for item, sentence in enumerate(group):
            for index, pattern in enumerate(head_patterns(seen, items=sentence.words, item=item)):
                names[index][pattern.name] += 1
    return {name: torch.cat(each) for name, each in found.items()}, [names[index] for index in sorted(names)], seen


def words(tagger: Any, sentences: Sequence[Any], seed: int) -> Table:
    """The table of what ranks the other words as their effects do."""
    network = tagger.network.eval()
    found: dict[str, list[Tensor]] = defaultdict(list)
    for sentence in sentences:
        batch = tagger.encode([sentence.words])
        sizes, own = effects_on_words(network, tagger.target.temperature, batch), ranks(network, batch)
        found["sentence"].append(torch.full((len(sizes),), len(found["sentence"])))
        found["chance"].append(torch.full((len(sizes),), 1 / (len(sizes) - 1)))
        found["largest effect"].append(sizes.amax(1))
        for name, scores in own.items():
            found[f"{name} first"].append((scores.argmax(1) == sizes.argmax(1)).double())
            pairs = zip(others(scores), others(sizes), strict=True)
            found[f"{name} agreement"].append(torch.tensor([rank_agreement(*pair) for pair in pairs]))
    flat = {name: torch.cat(each) for name, each in found.items()}
    draws = resampled(len(sentences), seed)

    def mean(name: str, which: Tensor) -> list[float]:
        which = which & flat[name].isfinite()
        owner, values = flat["sentence"][which], flat[name][which].double()
        sums, counts = (
            torch.zeros(len(sentences), dtype=torch.double).index_add_(0, owner, each)
            for each in (values, torch.ones_like(values))
        )
        return ((draws @ sums) / (draws @ counts)).tolist()

    every = flat["largest effect"] >= 0
    depends = flat["largest effect"] >= DEPENDS
    columns = ["the other words, ranked by"]
    for what in ("all words", f"the {int(depends.sum()):,} that depend on others"):
        columns += [f"{what}: the first has the largest effect", "rank correlation with the effects"]
    rows = []
    for name, title in METHODS.items():
        rows.append([title])
        for which in (every, depends):
            rows[-1].append(spread(mean(f"{name} first", which), share))
            rows[-1].append(spread(mean(f"{name} agreement", which), two))
    chance = [share(mean("chance", which)[0]) for which in (every, depends)]
    rows.append(["chance", chance[0], "0", chance[1], "0"])
    rolled, near = (share(mean(f"{name} first", depends)[0]) for name in ("rollout", "distance"))
    agreed = two(mean("last agreement", depends)[0])
    sentence = (
        f"The other word that gets most of a word's weight in the last layer has the largest effect on its label for "
        f"{rows[0][1]} of all words and for {rows[0][3]} of those that depend on others; for these, the first by "
        f"roll-out has it for {rolled}, the nearest word for {near}, a random one for {chance[1]}, and the mean rank "
        f"correlation of weights and effects is {agreed}."
    )
    return Table("effects_words", columns, rows, sentence)


def effects_on_words(network: Any, temperature: float, batch: Any) -> Tensor:
    """What hiding each word (key) does to the label of each other one, (word, key); -1 for the word itself."""
    with torch.no_grad():
        labels = network.item_numbers(batch)[0].argmax(-1)

    def measure(logits: Tensor) -> Tensor:
        return (logits.double() / temperature).softmax(-1)[:, torch.arange(len(labels)), labels]

    hidden = [HideKey(key) for key in range(1, len(labels) + 1)]
    found = effects(network, network.item_numbers, measure, hidden, inputs=batch)
    return without_itself(torch.stack([torch.as_tensor(each.difference).abs() for each in found], 1))


def ranks(network: Any, batch: Any) -> dict[str, Tensor]:
    """For each method the scores (word, key) by which it ranks the other words; -1 for the word itself."""
    with torch.no_grad(), watch(network) as seen:
        network(batch)
    place = torch.arange(seen[0].query.shape[2])
    away = place - place[:, None]
    found = {
        "last": seen[-1].weights()[0].mean(0),
        "mean": torch.stack([layer.weights()[0] for layer in seen]).mean((0, 1)),
        "rollout": rollout(seen, place)[0],
        "value": value_weighted(seen[-1], place)[0].mean(0),
        # Of two words at the same distance the one before comes first.
        "distance": 1 / (1 + away.abs() + 0.5 * (away > 0)),
    }
    return {name: without_itself(scores.double()) for name, scores in found.items()}


def without_itself(square: Tensor) -> Tensor:
    return square.masked_fill(torch.eye(len(square), dtype=torch.bool), -1.0)


def others(square: Tensor) -> Tensor:
    """The rows without the entry of the word itself, (word, other)."""
    return square[~torch.eye(len(square), dtype=torch.bool)].view(len(square), -1)


def of_equal_length(sentences: Sequence[Any]) -> list[list[Any]]:
    """Groups of sentences that have as many words."""
    groups: dict[int, list[Any]] = defaultdict(list)
    for sentence in sentences:
        groups[len(sentence.words)].append(sentence)
    found = []
    for length, group in sorted(groups.items()):
        size = max(1, TOGETHER // length)
        found += [group[first : first + size] for first in range(0, len(group), size)]
    return found


def resampled(sentences: int, seed: int) -> Tensor:
    """How often each sentence is drawn, (resample, sentence); the first row is the sample itself."""
    drawn = torch.randint(sentences, (RESAMPLES, sentences), generator=torch.Generator().manual_seed(seed))
    counts = torch.zeros(RESAMPLES, sentences, dtype=torch.double)
    counts.scatter_add_(1, drawn, torch.ones(drawn.shape, dtype=torch.double))
    return torch.cat([torch.ones(1, sentences, dtype=torch.double), counts])


def rare_agreement(count: int, seed: int) -> float:
    """The smallest size that at most 5 % of the rank correlations of random orders reach."""
    generator, order = torch.Generator().manual_seed(seed), torch.arange(count)
    drawn = (torch.randperm(count, generator=generator) for _ in range(10_000))
    found = sorted((round(abs(rank_agreement(order, each)), 9) for each in drawn), reverse=True)
    return min((each for each in found if each > found[len(found) // 20]), default=1.0)


def spread(values: Sequence[float] | Tensor, form: Callable[[float], str]) -> str:
    """The value of the sample, which is the first, and the interval of the resamples."""
    given = torch.as_tensor(values, dtype=torch.double)
    low, high = given[1:].quantile(torch.tensor([0.025, 0.975], dtype=torch.double)).tolist()
    return f"{form(float(given[0]))} ({form(low)} to {form(high)})"


def share(value: float) -> str:
    return f"{100 * value:.1f} %"


def points(value: float) -> str:
    return f"{100 * value:.2f}"


def two(value: float) -> str:
    return f"{value:.2f}"


def four(value: float) -> str:
    return f"{value:.4f}"


if __name__ == "__main__":
    main()
