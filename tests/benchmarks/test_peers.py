"""The table of peers stops in time, and says what it left out."""

import sys

import pytest


@pytest.fixture
def peers(benchmark_module, monkeypatch):
    peers = benchmark_module("peers")
    monkeypatch.setattr(peers, "ceilings", lambda device: sys.modules["measuring"].Ceilings(1.0, 1.0, 1.0, 1.0))
    monkeypatch.setattr(peers.torch, "set_num_threads", lambda count: None)
    return peers


def test_rows_that_time_leaves_out_are_named(peers, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["peers.py", "--quick", "--only", "window-f", "--within", "0"])
    peers.main()
    assert "not begun within 0 s: window-forward, window-flex, window-flex-built" in capsys.readouterr().out


def test_rows_that_the_file_lacks_come_first(peers, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["peers.py", "--quick", "--only", "window-f", "--within", "0"])
    monkeypatch.setattr(peers, "held_rows", lambda bench: {"window-forward": {}, "window-flex-built": {}})
    peers.main()
    assert "not begun within 0 s: window-flex, window-forward, window-flex-built" in capsys.readouterr().out
