"""What a default recipe takes from the texts to write."""

from collections.abc import Sequence
from typing import Any

from regard.tasks.seq2seq.settings import Seq2SeqSettings
from regard.tasks.text_statistics import mostly_unspaced, vocabulary_settings

__all__ = ["fitted_settings"]


def fitted_settings(pairs: Sequence[tuple[Any, Any]], input: str) -> dict[str, Any]:
    """How texts to write are cut, measured, and how long they may become."""
    texts = [target for _, target in pairs if isinstance(target, str)]
    task = vocabulary_settings(texts)
    if task["vocabulary"] == "characters":
        # RNNs with attention learn to copy and to reorder characters from a few hundred pairs: from 470 dates in six
        # forms to get none of 570 others wrong, where a Transformer has 7 to 28 %.
        task |= {"measure": "error", "architecture": "attentive"}
    elif mostly_unspaced(texts):
        task["tokenize"] = "zh"
    if input == "texts":
        # What is written may be much longer than what is read: numbers in words.
        spare = Seq2SeqSettings().spare
        ratios = sorted(
            (len(target) + 1 - spare) / max(len(source), 1)
            for source, target in pairs
            if isinstance(source, str) and isinstance(target, str)
        )
        # A few may be odd.
        usual = ratios[int(0.995 * (len(ratios) - 1))] if ratios else 0.0
        task["longest"] = round(max(Seq2SeqSettings().longest, 1.5 * usual), 1)
    return task
