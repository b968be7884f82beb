"""The heads that the model of a record ran without, and whether two records are of one model."""

from regard.inspection.record.record import Record
from regard.page.messages import say

__all__ = ["is_of_one_model", "without_heads"]

# Of more heads that were removed the first ones are named.
_MOST_NAMED = 4


def is_of_one_model(first: Record, second: Record) -> bool:
    """Whether two records are of one model, by its name, after which changes of it stand behind a comma."""
    return first.model.split(", ")[0] == second.model.split(", ")[0]


def without_heads(first: Record, second: Record, language: str = "en") -> str:
    """The heads that only the second of two records of one model is without, as a sentence names them; "": none.

    Example:
        >>> from regard.inspection import LayerRecord
        >>> import torch
        >>> layer = LayerRecord.of_weights("layer 1", torch.ones(8, 1, 1))
        >>> whole = Record(("a",), layers=(layer,), model="m")
        >>> changed = Record(("a",), layers=(layer,), model="m", without=((1, 2), (1, 3)))
        >>> without_heads(whole, changed), without_heads(changed, whole)
        ('heads 1.2, 1.3', '')
    """
    if not second.without or first.without or not is_of_one_model(first, second):
        return ""
    names = [f"{layer}.{head}" for layer, head in second.without]
    named = [*names[:_MOST_NAMED], *(["..."] if len(names) > _MOST_NAMED else [])]
    return say("removedHeads", language, count=len(names), heads=", ".join(named))
