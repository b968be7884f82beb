"""Each kind of task and of source is known wherever kinds are told apart: a forgotten place is named here."""

import dataclasses

import pytest

from regard.tasks import TASKS, Recipe
from regard.tasks.card import model_card
from regard.tasks.model import Model
from regard.tasks.sources import INPUTS


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_what_a_task_names_is_there(task):
    assert (task.settings.kind, TASKS[task.name]) == (task.name, task)
    assert issubclass(task.model, Model)
    assert callable(getattr(task.model, task.verb))
    assert {"objective", "model"} <= {*dir(task.data)}
    fields = {each.name for each in dataclasses.fields(Recipe)}
    assert {*task.fixed} <= fields
    for source in INPUTS:
        assert {*task.defaults(source)} <= fields


@pytest.mark.parametrize("source", INPUTS)
@pytest.mark.parametrize(
    ("task", "target"),
    [pytest.param(task, target, id=f"{task}-{target}") for task, each in TASKS.items() for target in each.gives],
)
def test_every_kind_has_a_card(task, target, source):
    described = {"kind": task, "answer": {"kind": target}, "parameters": 7, "recipe": {"input": {"kind": source}}}
    card = model_card("toy", described)
    assert 'regard.load("toy")' in card
    assert not {"{", "}"} & {*card.replace("{}", "")}


@pytest.mark.parametrize("source", INPUTS)
def test_every_kind_of_source_says_how_it_is_given(source):
    assert INPUTS[source].argument in ("text", "file", "folder")
