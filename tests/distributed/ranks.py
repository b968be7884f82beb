"""Functions that several processes run together, each as one rank of a group."""

import json
import multiprocessing
import os
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.multiprocessing

TIMEOUT = timedelta(seconds=60)
# A process that has imported what ranks need and computed nothing, of which each rank is a copy: importing it takes
# longer than most of the tests.
FORKSERVER = "forkserver"
START = FORKSERVER if FORKSERVER in multiprocessing.get_all_start_methods() else "spawn"
if START == FORKSERVER:
    multiprocessing.set_forkserver_preload(
        [
            "pytest",
            "torch._dynamo",
            "torch.distributed.fsdp",
            "regard.attention.engines.jit.summaries",
            "regard.distributed",
            "regard.inspection",
            "regard.modules",
        ]
    )


def together(ranks: int, work: Callable[..., Any], *arguments: Any, backend: str = "gloo") -> list[Any]:
    """What a function of a module, called in each of so many new processes, returns there, as JSON has it."""
    with TemporaryDirectory() as folder:
        given = (ranks, Path(folder), work, arguments, backend)
        torch.multiprocessing.start_processes(_rank, given, nprocs=ranks, start_method=START)
        return [json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in range(ranks)]


def _rank(rank: int, ranks: int, folder: Path, work: Callable[..., Any], arguments: Any, backend: str) -> None:
    torch.set_num_threads(1)
    loopback = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback[0])
    torch.distributed.init_process_group(
        backend, init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks, timeout=TIMEOUT
    )
    found = work(rank, *arguments)
    (folder / f"{rank}.json").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()
