"""What the compiler makes of the kernels for GPUs, held to the table in benchmarks/results/kernels.json."""

import importlib.metadata
import importlib.util
import itertools
import json
import os
import subprocess
import sys

import pytest

CARDS = {80: 163 * 1024, 90: 227 * 1024, 100: 227 * 1024}
"""Compute capability -> bytes of shared memory that a program may have."""


@pytest.fixture
def kernels(benchmark_module):
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton isn't installed: in the clone of regard: pip install '.[gpu]'")
    return benchmark_module("kernels")


@pytest.fixture
def table(benchmark_module) -> dict:
    return json.loads((benchmark_module("measuring").RESULTS / "kernels.json").read_text(encoding="utf-8"))


def test_the_table_holds_every_row_and_fits_the_cards(kernels, table):
    rows = kernels.rows()
    figures = table["figures"]
    found = [figure["row"] for figure in figures if figure["kernel"] in kernels.KERNELS]
    assert found == [row for row in range(len(rows)) for _ in kernels.KERNELS]
    for figure in figures:
        row = rows[figure["row"]]
        said = figure["work"], f"torch.{figure['dtype']}", figure["size"], figure["capability"]
        assert said == (row.work, str(row.dtype), row.size, row.capability)
        assert figure["shared"] <= CARDS[figure["capability"]], figure


@pytest.mark.slow
def test_they_compile_as_the_table_says(kernels, table):
    """One row of each card; in a process of its own, as the suite's has Triton's interpreter."""
    rows = kernels.rows()
    some = [
        next(i for i, row in enumerate(rows) if row.capability == card and i >= 5 * n) for n, card in enumerate(CARDS)
    ]
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-W", "error", kernels.__file__, "--rows", *map(str, some)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert {(figure["row"], figure["kernel"]) for figure in found} >= {*itertools.product(some, kernels.KERNELS)}
    known = {(figure["row"], figure["kernel"]): figure for figure in table["figures"]}
    for figure in found:
        assert figure["shared"] <= CARDS[figure["capability"]], figure
        if f"triton {importlib.metadata.version('triton')}" in table["conditions"]:  # another allots otherwise
            assert figure["spilled"] <= known[figure["row"], figure["kernel"]]["spilled"], figure
