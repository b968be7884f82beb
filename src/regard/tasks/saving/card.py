"""The model card: README.md of a model's folder, written from model.json alone."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from regard.modules.pooling import POOLINGS
from regard.page.numbers import plural
from regard.tasks.architectures.architecture import ItemNetwork
from regard.tasks.judging.evaluation import saved_evaluation
from regard.tasks.judging.intervals import format_interval
from regard.tasks.judging.measure import ACCURACY
from regard.tasks.judging.out_of_distribution import Difference
from regard.tasks.judging.whole_sets import describe_unlike
from regard.tasks.recipe import Recipe
from regard.tasks.registry import TASKS
from regard.tasks.sources import INPUTS

__all__ = ["describe_spearman", "describe_test_reads", "format_score", "model_card"]


def model_card(name: str, model: Mapping[str, Any]) -> str:
    """Write the card of a model in Markdown.

    Args:
        name: the model's name.
        model: the content of model.json; its key "about" says where the model comes from. Missing keys are left out.

    Example:
        >>> answer = {"kind": "label", "names": ["A", "B"]}
        >>> print(model_card("toy", {"kind": "tagger", "answer": answer, "parameters": 7}).splitlines()[0])
        # toy
    """
    about = model.get("about", {})
    origin = _recipe(model).input.origin(model.get("reader", {}))
    blocks = [
        *_terms(about.get("data", {}), "the data that this model was trained on"),
        *_terms(origin, f"the {origin.get('what')} that this model is made of"),
        f"# {about.get('title', name)}",
        f"{_what(model)} {_net(model)}; {_beginning(origin)}.",
        "## Use",
        f'```python\nimport regard\n\nmodel = regard.load("{name}")  # or the path of this folder\n'
        f"model.{TASKS[model['kind']].verb}([{_example(model, about)}])\n```\n\nOn the command line: "
        f"`regard {TASKS[model['kind']].command(_input(model))} --help`.",
        "It is meant for learning, for looking at attention, and for sources like those it was trained on.",
        *_data(about.get("data", {})),
        *_origin(origin),
        *_scores(
            name,
            model,
            about.get("scores", {}),
            about.get("test_reads"),
            about.get("baseline", {}),
            about.get("compared", ()),
        ),
        *_training(model, about.get("training", {})),
        "## Limits",
        *(f"**Warning:** {each}" for each in about.get("warnings", ())),
        about.get("limits") or _limits(model),
    ]
    return "\n\n".join(blocks) + "\n"


def _terms(data: Mapping[str, Any], called: str) -> list[str]:
    """The first line of the card, if the terms of the data, called so, restrict the use of the model."""
    licence = data.get("licence", "")
    if licence.startswith("none stated"):
        return [f"**For research and learning: {called} states no terms of use.**"]
    if "-NC" in licence.upper():
        return [f"**Not for commercial use: the terms of {called} are {licence}.**"]
    return []


def _beginning(origin: Mapping[str, Any]) -> str:
    """What training did with what it began with."""
    if not origin:
        return "trained from scratch by regard"
    return origin.get("how") or f"trained on the {origin['what']} of {origin.get('name')} by regard"


def _origin(origin: Mapping[str, Any]) -> list[str]:
    """What training began with, if not from scratch."""
    if not origin:
        return []
    said = f"The {origin['what']} are those of {origin.get('name')}; licence: {origin.get('licence', 'none stated')}."
    return [f"## {origin['what'].capitalize()}", said, *_files(origin.get("files", {}))]


def _files(files: Mapping[str, str]) -> list[str]:
    """A table of files with their digests."""
    rows = [f"| {file} | `{digest}` |" for file, digest in files.items()]
    return ["\n".join(["| file | SHA-256 |", "|---|---|", *rows])] if rows else []


def _what(model: Mapping[str, Any]) -> str:
    """What the model predicts, in a sentence."""
    answer = model["answer"]
    names = answer.get("names", ())
    parts = {
        "item": _noun(model),
        "labels": f"{len(names)} labels ({', '.join(names)})",
        "count": len(names),
        "names": ", ".join(names),
    }
    return TASKS[model["kind"]].gives[answer["kind"]].format(**parts)


def _input(model: Mapping[str, Any]) -> str:
    """The kind of its sources."""
    return model.get("recipe", {}).get("input", {}).get("kind", "words")


def _noun(model: Mapping[str, Any]) -> str:
    kind = INPUTS[_input(model)]
    return "word of a sentence" if kind.of_words else kind.noun


def _net(model: Mapping[str, Any]) -> str:
    recipe = _recipe(model)
    found = recipe.architecture.summary
    if isinstance(recipe.architecture, ItemNetwork) and not recipe.architecture.attends:
        draws = _pooling_attends(recipe)
        unattended = "" if recipe.input.brings_network else recipe.architecture.unattended
        found += ", and attention that draws the answer from them" if draws else unattended
    if recipe.head == "fitted":
        found += "; only its output layer was fitted to the examples"
    if recipe.members > 1:
        found += f"; {recipe.members} such nets, whose mean is the answer"
    if getattr(recipe.input, "linear", False):
        found += f"; beside it {recipe.input.linear_model}"
    return found


def _recipe(model: Mapping[str, Any]) -> Recipe:
    held = model.get("recipe", {})
    return Recipe.from_json({**held, "task": {"kind": model["kind"], **held.get("task", {})}})


def _pooling_attends(recipe: Recipe) -> bool:
    pooling = POOLINGS.get(getattr(recipe.task, "pooling", ""))
    return pooling is not None and pooling.attends


def _example(model: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """A source, as a Python expression."""
    if "example" in about:
        return json.dumps(about["example"], ensure_ascii=False)
    return TASKS[model["kind"]].examples.get(_input(model), INPUTS[_input(model)].example)


def _data(data: Mapping[str, Any]) -> list[str]:
    if not data:
        return []
    lines = [f"- {key}: {data[word]}" for key, word in _DATA if data.get(word)]
    for split, counts in data.get("splits", {}).items():
        lines.append(f"- {split}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    if data.get("made"):
        lines.append(f"- split into {', '.join(data['made'])} by a hash of each source, duplicates together")
    return ["## Data", "\n".join(lines), *_files(data.get("files", {}))]


_DATA = (("name", "name"), ("title", "title"), ("licence", "licence"), ("source", "source"), ("labels", "label"))


def _scores(
    name: str,
    model: Mapping[str, Any],
    scores: Mapping[str, Any],
    reads: int | None,
    baseline: Mapping[str, Any],
    compared: Sequence[Mapping[str, Any]],
) -> list[str]:
    if not scores:
        return []
    scores = {split: saved_evaluation(score) for split, score in scores.items()}
    first = next(iter(scores.values()))
    methods = "; ".join(dict.fromkeys(score["method"] for score in scores.values()))
    of_words = INPUTS[_input(model)].of_words
    if TASKS[model["kind"]].per_item and first["measure"] == ACCURACY.name:
        rows = _items(scores, "words" if of_words else plural(_noun(model)))
        about = "Given words, true labels of the treebank. " if of_words else ""
    else:
        rows, about = _answers(scores), _more(scores)
    rounded = (
        "These are the scores of the weights in this folder, which are rounded to float16; in memory they are float32."
    )
    said = f"{about}Interval: {methods}. {rounded}"
    if reads and "test" in scores:
        said = f"{said} {describe_test_reads(reads)}"
    return [
        "## Scores",
        "\n".join(rows),
        said,
        *_baseline(baseline),
        *_compared(compared, scores),
        *_calibration(scores),
        *_unlike(scores, name),
    ]


def _baseline(baseline: Mapping[str, Any]) -> list[str]:
    """The scores of the simple baseline that was fitted to the same examples."""
    if not baseline:
        return []
    say = partial(format_score, baseline["measure"])
    said = ", ".join(
        f"{say(each['score'])} on {split} ({format_interval(each['interval'], say)})"
        for split, each in baseline["scores"].items()
    )
    return [f"For comparison, the simple baseline, {baseline['name']}, trained on the same examples: {said}."]


def _compared(others: Sequence[Mapping[str, Any]], scores: Mapping[str, Any]) -> list[str]:
    """The accuracy of other models that were trained on the same examples, and whether they are better.

    Example:
        >>> other = {"name": "a linear model", "split": "test", "score": 0.8}
        >>> _compared([other], {"test": {"measure": "accuracy", "score": 0.75}})
        ['For comparison, a linear model, trained on the same examples: 80.00 % on test. It is better than this model.']
    """
    found = []
    for each in others:
        own = scores[each["split"]]
        better = "It is better than this model." if each["score"] > own["score"] else "This model is better."
        said = format_score(own["measure"], each["score"])
        found.append(
            f"For comparison, {each['name']}, trained on the same examples: {said} on {each['split']}. {better}"
        )
    return found


def describe_test_reads(count: int) -> str:
    """A sentence with the number of times that test was read for a recipe: choices made in between may overfit test.

    Args:
        count: the number of recorded reads, including this one.

    Example:
        >>> describe_test_reads(1), describe_test_reads(3)
        ('Test was read once for this recipe.', 'Test was read 3 times for this recipe.')
    """
    return f"Test was read {'once' if count == 1 else f'{count:,} times'} for this recipe."


def _calibration(scores: Mapping[str, Any]) -> list[str]:
    """The calibration error, for predictions with probabilities."""
    found = {split: score["calibration"] for split, score in scores.items() if score.get("calibration")}
    if not found:
        return []
    # Models saved by earlier versions have no mean confidence.
    columns = {"mean confidence": "confidence", "right": "right"} if all(map(_has_confidence, found.values())) else {}
    columns |= {"expected calibration error": "error", "without the temperature": "before"}
    rows = [f"| split | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for split, each in found.items():
        rows.append(f"| {split} | {' | '.join(_percent(each[key]) for key in columns.values())} |")
    (temperature, *_) = (each["temperature"] for each in found.values())
    return [f"Probabilities are taken at a temperature of {temperature:.2f}, which dev gave.", "\n".join(rows)]


def _has_confidence(calibration: Mapping[str, Any]) -> bool:
    return calibration.get("confidence") is not None


def _unlike(scores: Mapping[str, Any], name: str) -> list[str]:
    """In what a split as a whole is unlike dev."""
    found = {split: [Difference(**each) for each in score.get("unlike") or ()] for split, score in scores.items()}
    sources = {split: score.get("sources") or score["examples"] for split, score in scores.items()}
    said = ((split, describe_unlike(each, sources[split], name)) for split, each in found.items())
    return [f"On {split}: {each[0].lower()}{each[1:]}" for split, each in said if each]


def _more(scores: Mapping[str, Any]) -> str:
    """Further figures, for each split and for all of them."""
    said: dict[str, None] = {}
    for split, score in scores.items():
        for name, value in score.get("more", {}).items():
            said[f"{name} of {split}: {value:.2f}. " if isinstance(value, float) else f"{name}: {value}. "] = None
        # Models saved by versions that didn't compute it have none.
        if score["measure"] == "RMSE" and "spearman" in score:
            said[f"On {split}: {describe_spearman(score['spearman'], score['examples'])}. "] = None
    return "".join(said)


def describe_spearman(correlation: float | None, count: int) -> str:
    """A sentence with Spearman's rank correlation.

    Example:
        >>> describe_spearman(0.8312, 120)
        "Spearman's rank correlation is 0.8312 (n = 120)"
        >>> describe_spearman(None, 120)
        "Spearman's rank correlation is undefined (n = 120): all numbers given, or all true ones, are the same"
    """
    if correlation is None:
        why = "all numbers given, or all true ones, are the same"
        return f"Spearman's rank correlation is undefined (n = {count:,}): {why}"
    return f"Spearman's rank correlation is {correlation:.4f} (n = {count:,})"


def _items(scores: Mapping[str, Any], called: str) -> list[str]:
    """The rows of a tagger's scores; which items don't occur in training is known for words alone."""
    rows = [
        f"| split | accuracy | 95 % interval | {called} | macro F1 | accuracy on unknown words |",
        "|---|---|---|---|---|---|",
    ]
    for split, score in scores.items():
        new = score.get("out_of_vocabulary_accuracy")
        rows.append(
            f"| {split} | {_percent(score['score'])} | {format_interval(score['interval'], _percent)} "
            f"| {score['examples']} | {_percent(score['macro_f1'])} | {'' if new is None else _percent(new)} |"
        )
    return rows


def _answers(scores: Mapping[str, Any]) -> list[str]:
    """The rows of scores by any measure."""
    rows = ["| split | measure | score | 95 % interval | examples |", "|---|---|---|---|---|"]
    for split, score in scores.items():
        said = partial(format_score, score["measure"])
        interval = format_interval(score["interval"], said)
        rows.append(f"| {split} | {score['measure']} | {said(score['score'])} | {interval} | {score['examples']} |")
    return rows


def format_score(measure: str, value: float) -> str:
    """Format a value of the measure with this name.

    Example:
        >>> format_score("word error rate", 0.0557), format_score("RMSE", 0.88), format_score("BLEU", 36.512)
        ('5.57 %', '0.8800', '36.51')
    """
    if measure.endswith(("accuracy", "error rate", "error")):
        return _percent(value)
    return f"{value:.2f}" if measure in ("BLEU", "chrF") else f"{value:.4f}"


def _training(model: Mapping[str, Any], training: Mapping[str, Any]) -> list[str]:
    lines = [f"- parameters: {model['parameters']:,}"]
    lines += [f"- {key}: {training[word]}" for key, word in _TRAINING if training.get(word) is not None]
    if training.get("versions"):
        lines.append("- versions: " + ", ".join(f"{name} {version}" for name, version in training["versions"].items()))
    return [
        "## Training",
        "\n".join(lines),
        *_search(training.get("search")),
        "The recipe is in model.json; with it and the data, `regard train` repeats it.",
    ]


def _search(search: Mapping[str, Any] | None) -> list[str]:
    """How the network was chosen, with what each candidate lost in each round."""
    if not search:
        return []
    rounds = [
        f"{', '.join(f'{name} {loss:.4f}' for name, loss in each['loss'].items())} (of {each['examples']:,} examples, "
        f"{each['epochs']} epochs)"
        for each in search["rounds"]
    ]
    return [
        f"The network ({search['chosen']}) was chosen on parts of the training examples, by the loss on other parts: "
        f"{'; '.join(rounds)}."
    ]


_TRAINING = (
    ("seed", "seed"),
    ("epochs", "epochs"),
    ("best epoch", "best_epoch"),
    ("seconds", "seconds"),
    ("longest source", "longest"),
    ("machine", "machine"),
    ("threads", "threads"),
    ("processes", "devices"),
    ("processes that share a sequence", "context_parallel"),
    ("precision of float32 products", "matmul"),
    ("chosen", "chosen"),
)


def _limits(model: Mapping[str, Any]) -> str:
    recipe, limits = _recipe(model), TASKS[model["kind"]].limits[model["answer"]["kind"]]
    # A base attends, whatever stands above it.
    attends = recipe.architecture.attends or _pooling_attends(recipe) or recipe.input.brings_network
    return limits.format(knows=INPUTS[_input(model)].limits, attention=_ATTENTION if attends else _NO_ATTENTION)


_ATTENTION = "The attention shows what the network attended to, which need not explain its output."
_NO_ATTENTION = "The network has no attention to show."


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
