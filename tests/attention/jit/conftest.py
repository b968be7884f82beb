"""Kernels share torch's threads: a test that sets their number puts it back."""

from collections.abc import Callable, Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _where(only_on_a_cpu) -> None:
    """Numba's kernels are a CPU's."""


@pytest.fixture
def on_threads() -> Iterator[Callable[[int], None]]:
    """Set the number of threads for the rest of a test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
