"""The settings of a default recipe that depend on the target texts."""

from collections.abc import Sequence
from typing import Any

from regard.tasks.judging.text_statistics import mostly_unspaced, vocabulary_settings
from regard.tasks.seq2seq.settings import Seq2SeqSettings

__all__ = ["fitted_settings"]


def fitted_settings(pairs: Sequence[tuple[Any, Any]], input: str) -> dict[str, Any]:
    """The vocabulary, the measure and the length limit for the target texts."""
    texts = [target for _, target in pairs if isinstance(target, str)]
    task = vocabulary_settings(texts)
    if task["vocabulary"] == "characters":
        # RNNs with attention learn to copy and to reorder characters from a few hundred pairs. Trained on 470 dates in
        # six formats, they get all of 570 others right; a Transformer gets 7 to 28 % wrong.
        task |= {"measure": "error", "architecture": "attentive"}
    elif mostly_unspaced(texts):
        task["tokenize"] = "zh"
    if input == "texts":
        # Target texts may be much longer than sources, such as numbers in words.
        spare = Seq2SeqSettings().spare
        ratios = sorted(
            (len(target) + 1 - spare) / max(len(source), 1)
            for source, target in pairs
            if isinstance(source, str) and isinstance(target, str)
        )
        # A quantile, because a few pairs may be outliers.
        usual = ratios[int(0.995 * (len(ratios) - 1))] if ratios else 0.0
        task["longest"] = round(max(Seq2SeqSettings().longest, 1.5 * usual), 1)
    return task
