"""One sequence over two processes beside one process with two threads: time, memory and bytes, of every exchange.

    python benchmarks/sequence_parallel.py                n = 16384, about a quarter of an hour
    python benchmarks/sequence_parallel.py --length 2048  to try it

Each row is a forward and a backward pass in processes of their own: one with two threads, or two with one thread each.
Rounds alternate between them, and medians are kept. Memory is the peak of a process, its inputs included. Bytes are
counted where they are sent, in the forward pass, beside the least that a mask allows: each key that another rank's
queries see, once, with its value. PyTorch's own context parallelism stands beside them where it takes the mask.
"""

import argparse
import ctypes
import os
import socket
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing
from measuring import conditions, peak, save

import regard
from regard import distributed
from regard.attention import Causal, Documents, Window

HEADS, FEATURE, RANKS, ROUNDS = 4, 64, 2, 3
ORDER = {"causal": "zigzag"}
COLUMNS = (
    "mask",
    "exchange",
    "seconds",
    "beside one process",
    "peak MiB of a process",
    "MiB sent by a rank, at most",
    "least that a rank must receive, at most",
)


def masks(length: int) -> dict[str, Any]:
    """What is compared, by name."""
    return {
        "full": None,
        "causal": Causal(),
        "window of 256": Window(255, 0),
        "documents of 2048": Documents.of_lengths([2048] * (length // 2048)),
    }


def inputs(length: int) -> list[torch.Tensor]:
    """Query, key and value of the whole sequence."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(1, HEADS, length, FEATURE, generator=generator) for _ in range(3)]


def own(length: int, order: str) -> list[torch.Tensor]:
    """Numbers of this rank's part; the whole is nowhere."""
    rows = len(distributed.shard(torch.arange(length), 0, order=order))
    generator = torch.Generator().manual_seed(dist.get_rank())
    return [torch.randn(1, HEADS, rows, FEATURE, generator=generator).requires_grad_() for _ in range(3)]


def call(way: str, name: str, length: int) -> Callable[[], Callable[[], Any]]:
    """Makes the inputs, and gives what runs both passes with them."""
    mask, order = masks(length)[name], ORDER.get(name, "contiguous")

    def alone() -> Callable[[], Any]:
        given = [each.requires_grad_() for each in inputs(length)]
        return lambda: regard.attend(*given, mask=mask).sum().backward()

    def shared() -> Callable[[], Any]:
        given = own(length, order)
        return lambda: distributed.attend(*given, mask=mask, exchange=way, order=order).sum().backward()

    def pytorch() -> Callable[[], Any]:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.experimental import context_parallel

        mesh = init_device_mesh("cpu", (RANKS,))
        given = inputs(length)

        def run() -> None:
            # It divides the buffers in place, and wants leaves whose gradients begin afterwards.
            buffers = [each.clone() for each in given]
            with context_parallel(mesh, buffers=buffers, buffer_seq_dims=[2, 2, 2]):
                leaves = [each.detach().requires_grad_() for each in buffers]
                causal = name == "causal"
                torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal).sum().backward()

        return run

    return {"one process": alone, "PyTorch": pytorch}.get(way, shared)


def bytes_sent(way: str, name: str, length: int) -> int:
    """How many bytes this rank sends in a forward pass."""
    mask, order = masks(length)[name], ORDER.get(name, "contiguous")
    given, sent, post, swap = own(length, order), [0], dist.batch_isend_irecv, dist.all_to_all_single

    def count(operations: list[Any]) -> Any:
        sent.extend(each.tensor.nbytes for each in operations if each.op is dist.isend)
        return post(operations)

    def count_all(received: Any, given: Any, received_counts: Any, counts: list[int], **more: Any) -> Any:
        others = sum(each for rank, each in enumerate(counts) if rank != dist.get_rank())
        sent.append(others * given.element_size())
        return swap(received, given, received_counts, counts, **more)

    dist.batch_isend_irecv, dist.all_to_all_single = count, count_all
    try:
        with torch.no_grad():
            distributed.attend(*given, mask=mask, exchange=way, order=order)
    finally:
        dist.batch_isend_irecv, dist.all_to_all_single = post, swap
    return sum(sent)


def bound(name: str, length: int) -> int:
    """The bytes that all ranks together must send in a forward pass if each keeps its queries."""
    mask, order = masks(length)[name], ORDER.get(name, "contiguous")
    place = distributed.shard(torch.arange(length), 0, order=order)
    seen = torch.zeros(length, dtype=torch.bool)
    for rows in place.split(1024):
        x = torch.zeros(1, 1, length, 1)
        allowed = regard.weigh(x, x, mask=mask, rows=rows)[0, 0] > 0
        seen |= allowed.any(0)
    seen[place] = False
    return int(seen.sum()) * HEADS * 2 * FEATURE * 4


def rank_(rank: int, ranks: int, folder: Path, work: str, arguments: tuple[Any, ...]) -> None:
    """What a process of its own does."""
    torch.set_num_threads(RANKS // ranks)
    loopback = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback[0])
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    if work == "bytes":
        found: Any = bytes_sent(*arguments), bound(*arguments[1:])
    else:
        way, name, length = arguments
        call(way, name, 512 if name != "documents of 2048" else 2048)()()  # load and compile
        if work == "memory":
            return_freed_memory()
            found = peak(lambda: call(way, name, length)()())
        else:
            run = call(way, name, length)()
            dist.barrier()
            start = time.perf_counter()
            run()
            dist.barrier()
            found = time.perf_counter() - start
    (folder / f"{rank}.txt").write_text(repr(found))
    dist.destroy_process_group()


def return_freed_memory() -> None:
    """Let glibc return what tensors took to the system when they are freed, so that the peak is that of live ones.

    It would raise the size from which it does, up to 32 MiB, with each larger block that is freed.
    """
    threshold = -3  # M_MMAP_THRESHOLD in malloc.h
    if hasattr(ctypes.CDLL(None), "mallopt"):
        ctypes.CDLL(None).mallopt(threshold, 2**17)


def together(ranks: int, work: str, *arguments: Any) -> list[Any]:
    """What each rank finds."""
    with TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(rank_, (ranks, Path(folder), work, arguments), nprocs=ranks)
        return [eval((Path(folder) / f"{rank}.txt").read_text()) for rank in range(ranks)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=16384, help="positions of the sequence")
    parser.add_argument("--masks", nargs="*", help="these alone; nothing is saved")
    given = parser.parse_args()
    length = given.length
    rows = []
    for name in given.masks or masks(length):
        ways = ["one process", *distributed.EXCHANGES, *(["PyTorch"] if name in ("full", "causal") else [])]
        seconds, failed = times(ways, name, length)
        for way in ways:
            if way in failed:
                rows.append([name, way, failed[way], *["-"] * 4])
                continue
            ranks = 1 if way == "one process" else RANKS
            ratio = statistics.median(
                shared / alone for shared, alone in zip(seconds[way], seconds["one process"], strict=True)
            )
            memory, sent = max(together(ranks, "memory", way, name, length)), ["-", "-"]
            if way in distributed.EXCHANGES:
                told = together(ranks, "bytes", way, name, length)
                sent = [f"{max(each) / 2**20:.3g}" for each in zip(*told, strict=True)]
            took = f"{statistics.median(seconds[way]):.3g}"
            rows.append([name, way, took, f"{ratio:.2f}", f"{memory:.0f}", *sent])
            print(*rows[-1], sep=" | ", flush=True)
    if given.masks:
        return
    about = conditions("regard", length=length, heads=HEADS, features=FEATURE, rounds=ROUNDS)
    save("sequence_parallel", COLUMNS, rows, about)


def times(ways: list[str], name: str, length: int) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The seconds of each way, round by round, and what went wrong with PyTorch's."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    failed: dict[str, str] = {}
    for _ in range(ROUNDS):
        for way in [way for way in ways if way not in failed]:
            try:
                found = together(1 if way == "one process" else RANKS, "time", way, name, length)
                seconds[way].append(max(found))
            except torch.multiprocessing.ProcessRaisedException as error:
                if way != "PyTorch":
                    raise
                said = str(error).strip().splitlines()[-1]
                failed[way] = f"stops: {said.partition(':')[0]}"
                print(name, way, said, flush=True)
    return seconds, failed


if __name__ == "__main__":
    main()
