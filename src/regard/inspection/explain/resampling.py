"""The outputs that heads gave for other inputs, of which some are drawn."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.capture.call import AttentionCall
from regard.inspection.record.seen import Seen
from regard.inspection.record.seen_layer import SeenLayer

__all__ = ["as_others", "resampled", "same_turn"]


def as_others(others: Any, name: str = "`others`") -> tuple[Seen, ...]:
    """What was seen of other inputs, as a tuple.

    Args:
        others: one or several of what `watch` gives.
        name: what the error begins with.

    Raises:
        ArgumentError: it is something else, or nothing was seen.
    """
    several = (others,) if isinstance(others, Seen) else tuple(others) if isinstance(others, Sequence) else others
    if not isinstance(several, tuple) or not several or not all(isinstance(each, Seen) and each for each in several):
        raise ArgumentError(
            f"{name} must hold what was seen of other inputs, one or more (`with watch(model) as seen: model(other)`), "
            f"but is {others!r:.80}."
        )
    return several


def resampled(
    call: AttentionCall, shape: Sequence[int], others: tuple[Seen, ...] | None, draws: Iterable[int], seed: int
) -> Tensor:
    """The outputs of the heads of a call for other inputs, one of which is drawn for each draw.

    The other inputs are shuffled by the seed, and the draws take them in turn. The same draw takes the same input in
    every layer.

    Args:
        call: the call.
        shape: that of its outputs, (batch, head, query, feature).
        others: what was seen of other inputs; each item of a batch counts as an input.
        draws: the numbers of the draws.
        seed: of the draws.

    Returns:
        (draw, head, query, feature)

    Raises:
        ArgumentError: there are no other inputs, or they are of another model.
    """
    if others is None:
        raise ArgumentError(
            "`others` must hold what was seen of other inputs, where a head is replaced by resample, but is missing. "
            "Give it to `effects`, or to RemoveHead, or replace heads by 'zero' or 'mean'."
        )
    pool = [(calls, item) for each in others for calls in [_calls(each, call)] for item in range(len(calls[0].query))]
    order = torch.randperm(len(pool), generator=torch.Generator().manual_seed(seed), device="cpu").tolist()
    found = []
    for draw in draws:
        calls, item = pool[order[draw % len(pool)]]
        found.append(_drawn(calls, item, call, shape, seed + draw))
    return torch.stack(found)


def _drawn(calls: Sequence[SeenLayer], item: int, call: AttentionCall, shape: Sequence[int], seed: int) -> Tensor:
    """The outputs (head, query, feature) for an item, at the same positions or at random ones."""
    same = same_turn(calls, call)
    if same is not None and same.query.shape[2] == shape[2]:
        found = same.head_outputs[item]
    else:
        every = torch.cat([each.head_outputs[item] for each in calls], dim=1)
        # All layers draw the same positions, since they have as many.
        generator = torch.Generator().manual_seed(seed)
        positions = torch.randint(every.shape[1], (shape[2],), generator=generator, device="cpu")
        found = every[:, positions.to(every.device)]
    if (found.shape[0], found.shape[2]) != (shape[1], shape[3]):
        raise ArgumentError(
            f"`others` must be of the same model, but {calls[0].name or 'the model itself'} has {found.shape[0]} heads "
            f"of {found.shape[2]} features there, and {shape[1]} of {shape[3]} here."
        )
    return found


def _calls(seen: Seen, call: AttentionCall) -> list[SeenLayer]:
    found = [each for each in seen if each.name == call.module]
    if not found:
        raise ArgumentError(
            f"`others` must be of the same model, but has nothing of {call.module or 'the model itself'}. "
            f"It has: {', '.join(dict.fromkeys(seen.names))}."
        )
    return found


def same_turn(calls: Sequence[SeenLayer], call: AttentionCall) -> SeenLayer | None:
    """The call of a module that corresponds to one of it in another run: its only one, or that of the same turn."""
    if len(calls) == 1:
        return calls[0]
    return calls[call.turn] if call.turn < len(calls) else None
