"""What calls are about, after steps were joined: the same items and predictions, of layers with other calls."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["joined_about"]


class _Split(Exception):
    """Why a layer isn't one of the joined calls, as the end of a sentence."""


def joined_about(
    about: dict[str, Any], calls: Sequence["SeenLayer"], parts: Sequence[Sequence[int]]
) -> tuple[dict[str, Any], list[str]]:
    """What the joined calls are about, and sentences about what isn't kept.

    A layer is kept if its calls are whole joined ones. One that isn't is left out, with the outcomes of its heads.

    Args:
        about: what the calls were about, as `save_record` has it.
        calls: the calls before they were joined.
        parts: for each joined call, the numbers of the calls that it consists of.
    """
    if not isinstance(about.get("layers"), list):
        # What doesn't name the calls holds for the joined ones too.
        return about, []
    found, places, said = dict(about), [], []
    first = 0
    # In the order in which outcomes have the heads.
    for kind in ("encoder", "decoder", "layers"):
        if not isinstance(layers := about.get(kind), list):
            continue
        found[kind] = []
        for place, layer in enumerate(layers):
            try:
                found[kind].append(_joined(layer, calls, parts))
                places.append(first + place)
            except _Split as reason:
                said.append(f"{_named(layer, place)} isn't kept: {reason}.")
        first += len(layers)
    if about.get("pooling") is not None:
        try:
            found["pooling"] = _joined(about["pooling"], calls, parts)
        except _Split as reason:
            found["pooling"] = None
            said.append(f"The pooling isn't kept: {reason}.")
    outcomes = about.get("outcomes")
    if isinstance(outcomes, dict) and isinstance(removed := outcomes.get("removed"), list) and removed:
        found["outcomes"] = {**outcomes, "removed": [removed[place] for place in places if place < len(removed)]}
    return found, said


def _joined(layer: Any, calls: Sequence["SeenLayer"], parts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """A layer with the numbers of the joined calls.

    Raises:
        _Split: there is none.
    """
    try:
        numbers, along, queries, keys = (layer[name] for name in ("calls", "along", "queries", "keys"))
        own = [calls[number] for number in numbers]
    except (LookupError, TypeError) as error:
        raise _Split("what the record says of it is damaged") from error
    if all([number] in map(list, parts) for number in numbers):
        return {**layer, "calls": [list(map(list, parts)).index([number]) for number in numbers]}
    whole = next((place for place, part in enumerate(parts) if list(part) == numbers), None)
    if whole is None or along != "query":
        raise _Split("its calls aren't one joined call" if whole is None else "its calls are no steps of each other")
    if any(queries not in (None, call.query.shape[2]) for call in own):
        raise _Split("its steps have padding between them")
    # The first step says how many keys there are.
    keys = own[0].key.shape[2] if keys is None else keys
    return {**layer, "calls": [whole], "along": "head", "queries": None, "keys": keys}


def _named(layer: Any, place: int) -> str:
    name = layer.get("name") if isinstance(layer, dict) else None
    return name[:1].upper() + name[1:] if isinstance(name, str) and name else f"Layer {place + 1}"
