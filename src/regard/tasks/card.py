"""The model card: README.md of a model's folder, written from what model.json says and nothing else."""

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["model_card"]


def model_card(name: str, model: Mapping[str, Any]) -> str:
    """Write the card of a model in Markdown.

    Args:
        name: the model's name.
        model: what model.json holds; its "about" part says where the model comes from. What isn't there is left out.

    Example:
        >>> answer = {"kind": "label", "names": ["A", "B"]}
        >>> print(model_card("toy", {"kind": "tagger", "answer": answer, "parameters": 7}).splitlines()[0])
        # toy
    """
    about = model.get("about", {})
    blocks = [
        f"# {about.get('title', name)}",
        f"{_what(model)} {_net(model)}; trained from scratch by regard.",
        "## Use",
        f'```python\nimport regard\n\nmodel = regard.load("{name}")  # or the path of this folder\n'
        f"model.{_verb(model)}([{_example(about)}])\n```\n\nOn the command line: `regard {_verb(model)} --help`.",
        "It is meant for learning, for looking at attention, and for texts like those it was trained on.",
        *_data(about.get("data", {})),
        *_scores(about.get("scores", {})),
        *_training(model, about.get("training", {})),
        "## Limits",
        _limits(model["kind"], about),
    ]
    return "\n\n".join(blocks) + "\n"


def _what(model: Mapping[str, Any]) -> str:
    """What it gives, in a sentence."""
    if model["kind"] == "seq2seq":
        return "A writer: it writes a text for a source, and decides its length."
    if model["kind"] == "synthesis":
        return "A speaker: it says a source, and decides how long that takes; what it says are filter banks."
    answer = model["answer"]
    names = answer.get("names", ())
    listed = f"{len(names)} labels ({', '.join(names)})"
    if model["kind"] == "tagger":
        return f"A tagger: it gives each word of a sentence one of {listed}."
    said = {
        "label": f"it gives a source one of {listed}",
        "several": f"it answers {len(names)} questions about a source with yes or no ({', '.join(names)})",
        "number": "it gives a number for a source",
    }
    return f"A classifier: {said[answer['kind']]}."


def _verb(model: Mapping[str, Any]) -> str:
    return {"tagger": "tag", "classifier": "classify", "seq2seq": "write", "synthesis": "say"}[model["kind"]]


def _net(model: Mapping[str, Any]) -> str:
    recipe = model.get("recipe", {})
    network = recipe.get("task", {}).get("architecture") or recipe.get("network", "attention")
    said = {
        "attention": "Self-attention and nothing recurrent",
        "transformer": "Self-attention and attention to the source, and nothing recurrent",
        "attentive": "RNNs, with attention to each state of the source",
        "recurrent": "RNNs without attention, for comparison: all of a source goes through one vector",
        "connected": "A net without attention, for comparison: it looks at each item by itself",
    }
    return said.get(network, f"A net without attention, for comparison ({network})")


def _example(about: Mapping[str, Any]) -> str:
    return json.dumps(about.get("example", ["I", "saw", "a", "saw", "."]), ensure_ascii=False)


def _data(data: Mapping[str, Any]) -> list[str]:
    if not data:
        return []
    lines = [f"- {key}: {data[word]}" for key, word in _DATA if data.get(word)]
    for split, counts in data.get("splits", {}).items():
        lines.append(f"- {split}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    blocks = ["## Data", "\n".join(lines)]
    if data.get("files"):
        rows = [f"| {file} | `{digest}` |" for file, digest in data["files"].items()]
        blocks.append("\n".join(["| file | SHA-256 |", "|---|---|", *rows]))
    return blocks


_DATA = (("name", "name"), ("title", "title"), ("licence", "licence"), ("source", "source"), ("labels", "label"))


def _scores(scores: Mapping[str, Any]) -> list[str]:
    if not scores:
        return []
    first = next(iter(scores.values()))
    rows, about = (
        (_answers, _signature(first)) if "measure" in first else (_words, "Given words, true labels of the treebank. ")
    )
    rounded = (
        "These are the scores of the weights in this folder, which are rounded to float16; in memory they are float32."
    )
    return [
        "## Scores",
        "\n".join(rows(scores)),
        f"{about}Interval: {first['method']}. {rounded}",
    ]


def _signature(score: Mapping[str, Any]) -> str:
    more = score.get("more", {})
    return "".join(f"{name}: {value}. " for name, value in more.items())


def _words(scores: Mapping[str, Any]) -> list[str]:
    """The rows of a tagger's scores."""
    rows = ["| split | accuracy | 95 % interval | words | macro F1 | unseen words |", "|---|---|---|---|---|---|"]
    for split, score in scores.items():
        low, high = score["interval"]
        unseen = score.get("unseen_accuracy")
        rows.append(
            f"| {split} | {_percent(score['accuracy'])} | {_percent(low)} to {_percent(high)} | {score['words']} "
            f"| {_percent(score['macro_f1'])} | {'' if unseen is None else _percent(unseen)} |"
        )
    return rows


def _answers(scores: Mapping[str, Any]) -> list[str]:
    """The rows of scores by whatever measure."""
    rows = ["| split | measure | score | 95 % interval | examples |", "|---|---|---|---|---|"]
    for split, score in scores.items():
        said = _percent if score["measure"].endswith(_SHARES) else "{:.4f}".format
        low, high = map(said, score["interval"])
        rows.append(
            f"| {split} | {score['measure']} | {said(score['score'])} | {low} to {high} | {score['examples']} |"
        )
    return rows


_SHARES = ("accuracy", "error rate", "error")


def _training(model: Mapping[str, Any], training: Mapping[str, Any]) -> list[str]:
    lines = [f"- parameters: {model['parameters']:,}"]
    lines += [f"- {key}: {training[word]}" for key, word in _TRAINING if training.get(word) is not None]
    if training.get("versions"):
        lines.append("- versions: " + ", ".join(f"{name} {version}" for name, version in training["versions"].items()))
    return [
        "## Training",
        "\n".join(lines),
        "The recipe is in model.json; with it and the data, `regard train` repeats it.",
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
    ("chosen", "chosen"),
)


_LIMITS = {
    "synthesis": "It says what it was trained on, in the voices of its data; a word that it never heard is refused. "
    "What it says are filter banks, whose phases are guessed: it sounds hollow. Its voices are those of real people; "
    "don't let them say what they never would."
}


def _limits(kind: str, about: Mapping[str, Any]) -> str:
    return about.get("limits") or _LIMITS.get(
        kind,
        "It knows one language and one kind of annotation. Its score for a word is a softmax probability, which is "
        "not calibrated: on text unlike its data it is wrong more often than it says. It expects words; how the text "
        "is cut into words matters. The attention shows what the net looked at, which need not be why it decided.",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
