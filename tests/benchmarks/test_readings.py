"""How often test is read by the benchmarks: only when that is asked for, and each reading is written down."""

import json

import pytest

from regard.tasks import NAMED_RECIPES


@pytest.fixture
def bench(benchmark_module, tmp_path, monkeypatch):
    """The module that runs rows, with a training that takes no time and remembers what it was asked."""
    module = benchmark_module("tasks")
    asked = []

    def train(name, words, *, seed, final=False, **options):
        asked.append((seed, final))
        named = NAMED_RECIPES["speaker"]
        return {
            "data": named.data,
            "label": named.label,
            "seed": seed,
            "recipe": {**named.recipe.to_json(), "seed": seed},
            "measure": "accuracy",
            "dev": 0.75,
            "test": 0.5 if final else None,
            "seconds": 1.0,
        }

    monkeypatch.setattr(module, "train", train)
    monkeypatch.setattr(module, "LINES", tmp_path / "tasks.jsonl")
    return module, asked


def test_a_run_reads_test_when_asked_and_says_how_often(bench, capsys):
    tasks, asked = bench
    tasks.run("speaker", 0, {})
    assert capsys.readouterr().out == "speaker 0: accuracy dev 0.7500, 1 s\n"
    tasks.run("speaker", 0, {})
    assert asked == [(0, False)]
    tasks.run("speaker", 0, {}, final=True)
    assert capsys.readouterr().out == "speaker 0: accuracy dev 0.7500, test 0.5000, reading 1, 1 s\n"
    # What is written down isn't run again, whether test is asked for or not.
    tasks.run("speaker", 0, {}, final=True)
    tasks.run("speaker", 0, {})
    assert asked == [(0, False), (0, True)]
    tasks.run("speaker", 1, {}, final=True)
    assert [(line["test"], line["test_reads"]) for line in tasks.lines()] == [(None, 0), (0.5, 1), (0.5, 2)]


def test_lines_of_before_readings_were_counted_count_one_each(bench):
    tasks, _ = bench
    named = NAMED_RECIPES["speaker"]
    old = {"row": "speaker", "data": named.data, "label": named.label, "recipe": named.recipe.to_json(), "test": 0.4}
    other = {**old, "label": "digit"}
    tasks.LINES.write_text("".join(json.dumps({**line, "seed": 7}) + "\n" for line in (old, old, other)))
    tasks.run("speaker", 1, {}, final=True)
    assert tasks.lines()[-1]["test_reads"] == 3
    assert tasks.readings("speaker") == 3
