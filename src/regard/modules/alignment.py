"""Monotonic alignment of a target to its source, where both run from left to right."""

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
    batch, longest, most = costs.shape
    for name, numbers, room in (("targets", targets, longest), ("parts", parts, most)):
        if len(numbers) != batch or bool(((numbers < 0) | (numbers > room)).any()):
            raise ArgumentError(f"`{name}` must be {batch} numbers from 0 to {room}, but is {numbers.tolist()!r:.60}.")
    if bool(((parts == 0) & (targets > 0)).any()):
        raise ArgumentError("`parts` must be 1 or more wherever there are target items, but is 0.")
    rows = torch.arange(batch, device=costs.device)
    # The cost of the best path to each part so far, and whether its last step came from the previous part. The first
    # part can only be entered with the first target item.
    best = costs.new_full((batch, most), torch.inf)
    moved: list[Tensor] = []
    for now, cost in enumerate(costs.unbind(1)):
        move = pad(best[:, :-1], (1, 0), value=torch.inf if now else 0.0)
        moved.append(move < best)
        best = torch.minimum(best, move) + cost
    found = torch.zeros(batch, most, dtype=torch.long, device=costs.device)
    if not most:
        return found
    part = (parts - 1).clamp(min=0)
    for now in range(longest - 1, -1, -1):
        real = now < targets
        found[rows, part] += real
        part = part - (moved[now][rows, part] & real & (part > 0)).long()
    positions = torch.arange(most, device=costs.device)
    spread = even_alignment(targets, parts, most)
    return torch.where((targets < parts).unsqueeze(1), spread, found).where(positions < parts.unsqueeze(1), 0)


def even_alignment(
    targets: Int[Tensor, " batch"], parts: Int[Tensor, " batch"], room: int
) -> Int[Tensor, "batch part"]:
    """The target items spread evenly over the parts, to within one: the alignment before anything is learned.

    Args:
        targets: the number of target items of each example.
        parts: the number of parts of each example.
        room: the number of columns of the result, which is filled up with zeros.

    Example:
        >>> even_alignment(torch.tensor([5]), torch.tensor([2]), 3).tolist()
        [[2, 3, 0]]
    """
    positions = torch.arange(room, device=targets.device)
    begins, ends = (
        targets.unsqueeze(1) * each // parts.clamp(min=1).unsqueeze(1) for each in (positions, positions + 1)
    )
    return (ends - begins).where(positions < parts.unsqueeze(1), 0)
