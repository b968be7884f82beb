"""Compiled loops: what they run on, what they leave behind, and what they do where nothing can be compiled."""

import importlib.util
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.attention.engines.jit.compiling import compiled, parallel_for, threads

LENGTH = 101


@compiled(cache=False)
def _count(start, stop, times, pieces):
    for i in range(start, stop):
        times[i] += i
        pieces[i] = start


@compiled(cache=False)
def _counted(length, grain, count, *arguments):
    parallel_for(_count, length, grain, count, arguments)


def counted(grain: int, count: int, length: int = LENGTH) -> tuple[np.ndarray, np.ndarray]:
    times, pieces = np.zeros(LENGTH), np.zeros(LENGTH, np.int64)
    _counted(length, grain, count, times, pieces)
    return times, pieces


@pytest.mark.parametrize("grain", [1, 7, LENGTH, 1000])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_loop_is_done_once_and_cut_alike_on_any_number_of_threads(grain, count):
    times, pieces = counted(grain, count)
    assert (times == np.arange(LENGTH)).all()
    assert (pieces == np.arange(LENGTH) // grain * grain).all()


@pytest.mark.parametrize("count", [1, 3])
def test_an_empty_loop_does_nothing(count):
    assert not counted(5, count, length=0)[0].any()


def test_the_number_of_threads_is_torchs(on_threads):
    for count in (1, 3):
        on_threads(count)
        assert threads() == count


def test_several_python_threads_may_run_loops_at_once():
    results: list[bool] = []

    def work() -> None:
        results.extend((counted(3, 2)[0] == np.arange(LENGTH)).all() for _ in range(50))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 200
    assert all(results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_runs_alone(on_threads):
    on_threads(2)
    assert counted(3, threads())[0].any()  # the parent has workers now, which a child doesn't inherit
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put((threads(), counted(3, threads())[0].tolist())))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert queue.get() == (1, list(range(LENGTH)))


def run(code: str, **environment: str) -> str:
    """What a fresh Python prints."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


SPARSEMAX = """
import torch
from regard.attention.engines.jit import entmax
print(entmax.entmax(torch.tensor([[1.0, 0.5, -1.0]]), 2.0).tolist(), end=" ")
"""
WEIGHTS = "[[0.75, 0.25, 0.0]]"


@pytest.mark.slow
def test_machine_code_is_kept_on_disk(tmp_path):
    code = SPARSEMAX + "print(sum(entmax._entmax.stats.cache_hits.values()))"
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == f"{WEIGHTS} 0"
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == f"{WEIGHTS} 1"


KERNEL = """
from regard.attention.engines.jit.compiling import compiled

@compiled()
def double(numbers):
    for i in range(len(numbers)):
        numbers[i] *= 2
"""


def doubled(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a kernel that has never been compiled does its work; its code would be kept in that folder."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(folder))
    path = folder / f"{name}.py"
    path.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    numbers = np.ones(3)
    module.double(numbers)
    return numbers.tolist() == [2.0] * 3


def kept(folder: Path) -> bool:
    return any(path.suffix in (".nbi", ".nbc") for path in folder.rglob("*"))


def test_a_kernel_of_a_users_folder_is_kept_there(tmp_path, monkeypatch):
    """So that the next two tests can see that nothing was."""
    assert doubled(tmp_path, "kernel_that_is_kept", monkeypatch)
    assert kept(tmp_path)


def test_where_nothing_can_be_kept_kernels_run_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert doubled(tmp_path, "kernel_without_a_folder", monkeypatch)
    assert not kept(tmp_path)


def test_a_full_disk_is_no_error(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    assert doubled(tmp_path, "kernel_on_a_full_disk", monkeypatch)
    assert not kept(tmp_path)


@pytest.mark.slow
def test_without_openmp_python_threads_do_it():
    code = """
import ctypes, llvmlite.binding, numpy, threading, torch
from regard.attention.engines.jit import compiling
ran = set()
def on_python_threads(*arguments):
    ran.add(threading.get_ident())
    compiling._on_python_threads(*arguments)
replacement = type(compiling._on_python_threads)(on_python_threads)
llvmlite.binding.add_symbol("regard_parallel", ctypes.cast(replacement, ctypes.c_void_p).value)
torch.set_num_threads(3)
from attention.jit.test_compiling import LENGTH, counted
times, pieces = counted(7, compiling.threads())
print((times == numpy.arange(LENGTH)).all() and (pieces == numpy.arange(LENGTH) // 7 * 7).all(), len(ran))
"""
    assert run(code) == "True 1"


def test_without_numba_there_is_a_reason_and_everything_still_runs():
    """And where it is installed, it is imported late."""
    code = """
import sys
from regard.attention.engines import jit
print('numba' in sys.modules)
sys.modules["numba"] = sys.modules["llvmlite"] = None
print(jit.missing())
import torch
from regard.attention import Edges, attend, plan
x = torch.ones(1, 2, 6, 4)
for parts in ({"mask": Edges(torch.tensor([[0, 1], [2, 3]]))}, {"weights": "entmax"}, {"dropout": 0.5, "seed": 1}):
    assert attend(x, x, x, **parts).shape == x.shape
    said = plan(x, x, x, **parts)
    assert said.engine == "blocked" and said.refused["jit"].startswith("Numba can't be used here"), said
print("all ran")
"""
    late, reason, ran = run(code).splitlines()
    assert (late, ran) == ("False", "all ran")
    assert reason.startswith("Numba can't be used here (ModuleNotFoundError")


def test_with_numba_there_is_none():
    from regard.attention.engines.jit import missing

    assert missing() is None


def test_a_data_loader_may_use_kernels(on_threads):
    from regard.attention.engines.jit import entmax

    on_threads(2)
    rows = torch.tensor([[1.0, 0.5, -1.0]] * 4)
    expected = entmax.entmax(rows, 2.0)
    loader = torch.utils.data.DataLoader(
        rows, batch_size=2, num_workers=1, collate_fn=lambda items: entmax.entmax(torch.stack(items), 2.0)
    )
    assert torch.equal(torch.cat(list(loader)), expected)
