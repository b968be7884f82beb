"""The studies of the package: short, whole, and with results that belong to them."""

import inspect
import json
import re
import sys
from pathlib import Path

import pytest

from regard.lab import STUDIES, read_runs
from regard.lab.results import BUNDLED, current_runs
from regard.lab.verdict import verdicts

EACH = pytest.mark.parametrize("study", STUDIES.values(), ids=list(STUDIES))


@EACH
def test_a_study_is_one_short_file(study):
    source = Path(inspect.getsourcefile(study.run) or "").read_text(encoding="utf-8")
    assert len([line for line in source.splitlines() if line.strip()]) <= 40
    assert (sys.modules[study.run.__module__].__doc__ or "").strip()


@EACH
def test_a_study_asks_and_names_its_source(study):
    assert re.fullmatch(r"[a-z][a-z_]*", study.name)
    assert study.question.endswith("?")
    assert study.source
    assert all(claim.text.endswith("?") for claim in study.claims[1:])
    planned = study.planned()
    assert len({each.key for each in planned}) == len(planned)
    json.dumps([each.setting for each in planned])
    assert study.seeds >= 3


@EACH
def test_results_are_those_that_the_study_asks_for(study):
    runs, planned = read_runs(BUNDLED / f"{study.name}.jsonl"), study.planned()
    current = current_runs(study, runs, planned)
    again = f"regard lab {study.name} --out src/regard/lab/results"
    assert len(current) == len(planned), f"{len(planned) - len(current)} runs are stale or missing: {again}"
    assert len(runs) == len(planned), f"the file holds runs that nobody asks for: delete it, and {again}"
    for verdict in verdicts(study, current):
        assert verdict.answer in ("yes", "no", "can't tell")


def test_there_are_no_other_results():
    assert {path.stem for path in BUNDLED.glob("*.jsonl")} == set(STUDIES)
