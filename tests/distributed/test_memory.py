"""The memory of a rank beside that of one process with the whole sequence: bytes of tensors, by the allocator."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import regard
from distributed.ranks import together
from regard import distributed
from regard.distributed import chunks

HEADS, LENGTH, FEATURE = 4, 4096, 64
TENSOR = HEADS * LENGTH * FEATURE * 4
ORDERS = {None: "contiguous", "causal": "zigzag"}
WAYS = [("heads", None), ("ring", None), ("gather", None), ("heads", "causal"), ("ring", "causal")]


def bytes_taken(run: Callable[[], Any]) -> tuple[int, int]:
    """The bytes that are held at most, and those that are left, while what `run` returns is held."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        kept = run()
    results: Any = profile.profiler
    events = [each for each in results.kineto_results.events() if each.name() == "[memory]"]
    assert events, "the profiler counts nothing"
    now = most = 0
    for each in sorted(events, key=lambda each: each.start_ns()):
        now += each.nbytes()
        most = max(most, now)
    del kept
    return most, now


def inputs(length: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(1, HEADS, length, FEATURE, generator=generator).requires_grad_() for _ in range(3)]


def taken(rank: int) -> dict[str, Any]:
    """Of one process, and of each way to share the call: the most bytes, and those that forward leaves."""

    def passes(length: int, **named: Any) -> tuple[int, int]:
        def attend(*tensors: Tensor) -> Tensor:
            call = distributed.attend if "exchange" in named else regard.attend
            return call(*tensors, **named)

        def both() -> list[Tensor]:
            given = inputs(length)
            attend(*given).sum().backward()
            return given

        given = inputs(length)
        return bytes_taken(both)[0], bytes_taken(lambda: attend(*given))[1]

    # As much at once as in a call of this size, so that what a kernel needs for itself matters less.
    chunks.LEAST_BYTES = LENGTH // 2 * 2 * FEATURE * 4
    found: dict[str, Any] = {"one process": passes(LENGTH)}
    for exchange, mask in WAYS:
        found[f"{exchange}, {mask}"] = passes(LENGTH // 2, exchange=exchange, mask=mask, order=ORDERS[mask])
    chunks.LEAST_BYTES = 2**30
    found["ring at once"] = passes(LENGTH // 2, exchange="ring")
    return found


@pytest.mark.slow
def test_a_rank_takes_its_share_and_a_block_of_keys():
    for found in together(2, taken):
        most, kept = found["one process"]
        # Inputs, outputs and gradients, and the gradient of the outputs as the kernel wants it.
        assert 8 * TENSOR < most < 10 * TENSOR
        assert TENSOR < kept < 1.1 * TENSOR
        # Half of the keys and values of the other rank.
        some_keys = TENSOR / 2
        for exchange, mask in WAYS:
            assert found[f"{exchange}, {mask}"][0] < most / 2 + some_keys, (exchange, mask, found)
        # The ring keeps the outputs, which the chunks' are copied to, and nothing that it received.
        for way in ("ring, None", "ring, causal"):
            assert found[way][1] < 1.1 * TENSOR, found
        # All heads at once: one copy of the outputs, and the other's keys or their gradients, not both.
        assert found["ring at once"][1] < 0.6 * TENSOR, found
        assert found["ring at once"][0] < 7.5 * TENSOR, found
