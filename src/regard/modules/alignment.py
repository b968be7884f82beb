"""Which items of a target belong to which parts of its source, where both run from left to right."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from regard.errors import ArgumentError

__all__ = ["even_alignment", "monotonic_alignment"]


def monotonic_alignment(
    costs: Float[Tensor, "batch target part"], targets: Int[Tensor, " batch"], parts: Int[Tensor, " batch"]
) -> Int[Tensor, "batch part"]:
    """The cheapest way through the parts of a source from its first to its last, one target item after the other.

    Each part has one target item at least, and none is gone back to. Where there are fewer target items than parts,
    costs don't count: the items are spread evenly, and some parts have none.

    Args:
        costs: what it costs that a target item belongs to a part; those of padding are not looked at.
        targets: how many target items each example has.
        parts: how many parts.

    Returns:
        How many target items belong to each part; 0 at padding.

    Raises:
        ArgumentError: target items without a part to belong to, or numbers that are more than the costs.

    Source: Kim et al. 2020, "Glow-TTS" (arXiv 2005.11129), section 3.2, monotonic alignment search; the path is
        Viterbi's, of a hidden Markov model from left to right.

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
    # What the best way to each part has cost so far, and whether its last step was out of the part before. Into the
    # first part it comes with the first target item, and then no more.
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
    places = torch.arange(most, device=costs.device)
    spread = even_alignment(targets, parts, most)
    return torch.where((targets < parts).unsqueeze(1), spread, found).where(places < parts.unsqueeze(1), 0)


def even_alignment(
    targets: Int[Tensor, " batch"], parts: Int[Tensor, " batch"], room: int
) -> Int[Tensor, "batch part"]:
    """As many target items for one part as for another, or one more: what there is to begin with.

    Args:
        targets: how many target items each example has.
        parts: how many parts.
        room: how many parts the answer has room for, zeros behind.

    Example:
        >>> even_alignment(torch.tensor([5]), torch.tensor([2]), 3).tolist()
        [[2, 3, 0]]
    """
    places = torch.arange(room, device=targets.device)
    begins, ends = (targets.unsqueeze(1) * each // parts.clamp(min=1).unsqueeze(1) for each in (places, places + 1))
    return (ends - begins).where(places < parts.unsqueeze(1), 0)
