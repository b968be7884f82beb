"""Each kind of task and of source is known wherever kinds are told apart: a forgotten place is named here."""

import dataclasses
from pathlib import Path

import pytest
import torch

from regard.datasets import BinaryLabels
from regard.inputs import Graph, Sound
from regard.tasks import TASKS, Recipe
from regard.tasks.defaults import task_of
from regard.tasks.model import Model
from regard.tasks.saving.card import model_card
from regard.tasks.sources import INPUTS


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_what_a_task_names_is_there(task):
    assert (task.settings.kind, TASKS[task.name]) == (task.name, task)
    assert issubclass(task.model, Model)
    assert callable(getattr(task.model, task.verb))
    assert {"objective", "model"} <= {*dir(task.data)}
    fields = {each.name for each in dataclasses.fields(Recipe)}
    assert {*task.settings.architectures.fixed} <= fields
    for source in INPUTS:
        assert {*task.defaults(source)} <= fields


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        ("tagger", [(["I", "saw"], ["PRON", None])]),
        ("tagger", [(Path("a.wav"), (1.0, 2.0))]),
        ("tagger", [(Graph(torch.eye(2), torch.tensor([[0], [1]])), (1, 0))]),
        ("classifier", [("CCO", (1, None)), ("C", (0, 1))]),
        ("classifier", [("CCO", BinaryLabels((None, None), ("a", "b")))]),
        ("classifier", [("a", None), ("b", 1.5)]),
        ("classifier", [("a", "x"), ("b", "x")]),
        ("classifier", [("a", None)]),
        ("classifier", []),
        ("seq2seq", [("hi", "salut"), ("yes", "oui"), ("no", None)]),
        ("synthesis", [("one", Path("one.wav"))]),
        ("synthesis", [("one", None), ("two", Sound(torch.zeros(1, 8), rate=8000))]),
    ],
)
def test_each_target_suits_one_task(kind, pairs):
    """Whatever the order of the registry."""
    assert [name for name, task in TASKS.items() if task.suits(pairs)] == [kind] == [task_of(pairs)]


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_target_is_accepted_by_its_type(task):
    assert [task.accepts((each,)) for each in ("items", "label", "number", "labels", "text", "sound")] == [
        each in task.targets for each in ("items", "label", "number", "labels", "text", "sound")
    ]
    assert task.accepts(("sound", task.targets[0]))
    assert not task.accepts(())


@pytest.mark.parametrize("source", INPUTS)
@pytest.mark.parametrize(
    ("task", "target"),
    [pytest.param(task, target, id=f"{task}-{target}") for task, each in TASKS.items() for target in each.gives],
)
def test_every_kind_has_a_card(task, target, source):
    brought = INPUTS[source].brings_network
    recipe = {"input": {"kind": source}}
    if brought:
        # Its own network stands in place of regard's; under one of regard's, special tokens are items.
        own = task in ("tagger", "classifier")
        recipe = {"input": {"kind": source, "special_tokens": not own}, "network": "pretrained" if own else "attention"}
    described = {"kind": task, "answer": {"kind": target}, "parameters": 7, "recipe": recipe}
    card = model_card("toy", described)
    assert 'regard.load("toy")' in card
    assert not {"{", "}"} & {*card.replace("{}", "")}


@pytest.mark.parametrize("source", INPUTS)
def test_every_kind_of_source_says_how_it_is_given(source):
    assert INPUTS[source].argument in ("text", "file", "folder")
