"""What a card says of an exported file: how large and how exact it is, and what eight bits cost."""

from collections.abc import Mapping
from typing import Any

from regard.tasks.saving.card import format_score

__all__ = ["exported_card", "exported_sentences"]


def exported_sentences(description: Mapping[str, Any]) -> list[str]:
    """What differs between an exported file and its model.

    Args:
        description: the content of FILE.json.

    Example:
        >>> file = {"largest_difference": 2e-7}
        >>> exported_sentences({"file": file, "output": {"name": "probabilities"}, "int8": None, "left_out": None})
        ["On batches of random sources its probabilities differ from the model's by 2e-07 at most."]
    """
    file, cost = description["file"], description["int8"]
    said = (
        f"On batches of random sources its {description['output']['name']} differ from the model's by "
        f"{file['largest_difference']:.1g} at most"
    )
    if cost is not None:
        said += (
            f" with weights of 32 bits, and by {cost['largest_difference']:.2g} with weights of eight (by "
            f"{cost['mean_difference']:.2g} on average). The file has {cost['bytes'] / 1e6:.2f} MB instead of "
            f"{cost['bytes_before'] / 1e6:.2f}"
        )
    found = [f"{said}."]
    if cost is not None and "score" in cost:
        before, after = (format_score(cost["measure"], cost[name]) for name in ("score_before", "score"))
        found.append(f"On dev: {cost['measure']} {before} with weights of 32 bits, {after} with eight.")
    return [*found, *([description["left_out"]] if description["left_out"] else [])]


def exported_card(description: Mapping[str, Any], card: str) -> str:
    """The card of an exported file, in Markdown.

    Args:
        description: the content of FILE.json.
        card: that of its model.
    """
    file, name = description["file"], description["model"]["name"]
    where = f"The model {name} as ONNX, opset {file['opset']}; SHA-256 `{file['sha256']}`."
    then = f"What follows is the card of {name} itself. Its scores are those of the model before it was exported."
    return "\n\n".join([f"# {file['name']}", where, *exported_sentences(description), then, card])
