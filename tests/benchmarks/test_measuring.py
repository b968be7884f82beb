"""The peak of memory and the machine that benchmarks report are measured as the lab measures them."""

import pytest
import torch

from regard.lab import measurement


def test_the_peak_is_what_a_call_takes_from_the_system(benchmark_module):
    measuring = benchmark_module("measuring")
    # 4 bytes a number: 64 MiB, given back before the end.
    found = measuring.peak(lambda: torch.ones(2**24).sum().item())
    assert 60 <= found <= 90
    assert measuring.peak(lambda: None) < 10


def test_without_a_system_that_tells_the_peak_it_says_so(benchmark_module, monkeypatch):
    measuring = benchmark_module("measuring")
    monkeypatch.setattr(measurement, "_held", lambda: None)
    with pytest.raises(RuntimeError, match="only Linux does"):
        measuring.peak(lambda: None)


def test_the_machine_is_named_alike(benchmark_module):
    measuring = benchmark_module("measuring")
    assert measuring.machine() == measurement.machine()
    assert measuring.conditions().startswith(f"{measurement.processor()}, {measurement.cores()} cores; Python ")
