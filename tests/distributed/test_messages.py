"""How many messages ranks exchange in a call, and what reaches the engine of each."""

from typing import Any

import pytest
import torch

from distributed.ranks import together
from regard import distributed
from regard.attention import Lengths
from regard.attention.masks import Slice
from regard.distributed import call

MASKS: dict[str, Any] = {
    "full": None,
    "lengths": Lengths([12, 7]),
    "by head": lambda batch, head, query, key: key <= query + head,
}
EXCHANGES = ("heads", "gather")


def seen(mask: Any, exchange: str) -> list[Any]:
    """The exchanges of forward and of backward, and the mask of the request that is computed."""
    counts, masks, swap, run = [0], [], torch.distributed.all_to_all_single, call.run

    def count(*given: Any, **more: Any) -> Any:
        counts[-1] += 1
        return swap(*given, **more)

    def record(request: Any, engine: str) -> torch.Tensor:
        masks.append(type(request.parts.mask).__name__)
        return run(request, engine)

    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(2, 4, 6, 8, generator=generator).requires_grad_() for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.distributed, "all_to_all_single", count)
        patch.setattr(call, "run", record)
        output = distributed.attend(*given, mask=mask, exchange=exchange, position="rotary")
        counts.append(0)
        output.sum().backward()
    return [*counts, *masks]


def every(rank: int) -> dict[str, list[Any]]:
    return {f"{name}, {exchange}": seen(mask, exchange) for name, mask in MASKS.items() for exchange in EXCHANGES}


def test_queries_keys_and_values_go_in_one_message_and_a_head_is_like_any_other():
    for rank, found in enumerate(together(2, every)):
        for name in MASKS:
            # Queries, keys and values of some heads; the outputs back; and the gradients of both.
            assert found[f"{name}, heads"][:2] == [2, 2]
            # Keys and values; and their gradients.
            assert found[f"{name}, gather"][:2] == [1, 1]
            # Engines know fewer masks if these are slices. Only this one asks which heads the second rank has.
            is_slice = found[f"{name}, heads"][2] == Slice.__name__
            assert is_slice == (rank == 1 and name == "by head"), name
