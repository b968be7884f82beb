"""Monotonic alignment of a target with its source: both run from left to right."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from regard.errors import ArgumentError

__all__ = ["even_alignment", "monotonic_alignment"]


def monotonic_alignment(
    costs: Float[Tensor, "batch target part"], targets: Int[Tensor, " batch"], parts: Int[Tensor, " batch"]
) -> Int[Tensor, "batch part"]:
    """The alignment of lowest cost between target items and the parts of a source, both in order.

    Each part gets at least one target item, and the path never goes back. If there are fewer target items than parts,
    the costs are ignored: the items are spread evenly, and some parts get none.

    Args:
        costs: the cost of assigning a target item to a part; costs at padding are ignored.
        targets: the number of target items of each example.
        parts: the number of parts of each example.

    Returns:
        The number of target items of each part; 0 at padding.

    Raises:
        ArgumentError: target items but no parts, or a number larger than the costs allow.

    Source: Kim et al. 2020, "Glow-TTS" (arXiv 2005.11129), section 3.2, monotonic alignment search; it is the Viterbi
        path of a left-to-right hidden Markov model.

    Example:
        >>> costs = torch.tensor([[[0.0, 5.0], [1.0, 5.0], [3.0, 0.0]]])
        >>> monotonic_alignment(costs, torch.tensor([3]), torch.tensor([2])).tolist()
        [[2, 1]]
    """
    batch, most_targets, most_parts = costs.shape
    for name, numbers, size in (("targets", targets, most_targets), ("parts", parts, most_parts)):
        if len(numbers) != batch or bool(((numbers < 0) | (numbers > size)).any()):
            raise ArgumentError(f"`{name}` must be {batch} numbers from 0 to {size}, but is {numbers.tolist()!r:.60}.")
    if bool(((parts == 0) & (targets > 0)).any()):
        raise ArgumentError("`parts` must be 1 or more wherever there are target items, but is 0.")
    rows = torch.arange(batch, device=costs.device)
    # `best`: the cost of the best path to each part so far. `moved`: for each target item, whether that path came from
    # the previous part. The first part can only be entered with the first target item.
    best = costs.new_full((batch, most_parts), torch.inf)
    moved: list[Tensor] = []
    for item, cost in enumerate(costs.unbind(1)):
        from_previous = pad(best[:, :-1], (1, 0), value=torch.inf if item else 0.0)
        moved.append(from_previous < best)
        best = torch.minimum(best, from_previous) + cost
    counts = torch.zeros(batch, most_parts, dtype=torch.long, device=costs.device)
    if not most_parts:
        return counts
    part = (parts - 1).clamp(min=0)
    for item in range(most_targets - 1, -1, -1):
        is_target = item < targets
        counts[rows, part] += is_target
        part = part - (moved[item][rows, part] & is_target & (part > 0)).long()
    positions = torch.arange(most_parts, device=costs.device)
    even_counts = even_alignment(targets, parts, most_parts)
    return torch.where((targets < parts).unsqueeze(1), even_counts, counts).where(positions < parts.unsqueeze(1), 0)


def even_alignment(
    targets: Int[Tensor, " batch"], parts: Int[Tensor, " batch"], room: int
) -> Int[Tensor, "batch part"]:
    """Spread the target items over the parts, evenly to within one: the alignment before anything is learned.

    Args:
        targets: the number of target items of each example.
        parts: the number of parts of each example.
        room: the number of columns of the result; those after the last part are 0.

    Example:
        >>> even_alignment(torch.tensor([5]), torch.tensor([2]), 3).tolist()
        [[2, 3, 0]]
    """
    positions = torch.arange(room, device=targets.device)
    begins, ends = (
        targets.unsqueeze(1) * boundaries // parts.clamp(min=1).unsqueeze(1)
        for boundaries in (positions, positions + 1)
    )
    return (ends - begins).where(positions < parts.unsqueeze(1), 0)
