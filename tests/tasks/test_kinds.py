"""Each kind of task and of source is known wherever kinds are told apart: a forgotten place is named here."""

import pytest

from regard.cli import asking, task_data, train
from regard.tasks import loading, targets
from regard.tasks.answers import ANSWERS
from regard.tasks.card import model_card
from regard.tasks.fit import JOBS
from regard.tasks.inputs import INPUTS

TABLES = {
    "fit.JOBS": JOBS,
    "loading.MODELS": loading.MODELS,
    "cli.task_data": task_data._ABOUT,
    "cli.train": train._HELP,
    "cli.asking": asking._SAID,
}


@pytest.mark.parametrize("table", TABLES)
def test_every_kind_of_task_is_in(table):
    assert {*TABLES[table]} == {*targets.TASKS}


@pytest.mark.parametrize("source", INPUTS)
@pytest.mark.parametrize("task", targets.TASKS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_every_kind_has_a_card(task, source, answer):
    described = {"kind": task, "answer": {"kind": answer}, "parameters": 7, "recipe": {"input": {"kind": source}}}
    assert 'regard.load("toy")' in model_card("toy", described)


@pytest.mark.parametrize("source", INPUTS)
def test_every_kind_of_source_says_how_it_is_given(source):
    assert INPUTS[source].given in ("text", "file", "folder")
