"""What tests of commands share: how a command is run, and a small tagger of random weights on the disk.

What the tagger says doesn't matter, only that it says something.
"""

import dataclasses
import functools
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import typer.main

from regard.cli.main import main
from regard.inputs import WordEncoder
from regard.tasks import Recipe, Tagger, experiment
from regard.tasks.network import SourceNetwork
from regard.tasks.targets import Label

LABELS = ("PRON", "VERB", "DET", "NOUN", "PUNCT")


@pytest.fixture(scope="session", autouse=True)
def built_once():
    """The commands are built once, as in a user's process: typer builds all of them anew for each command line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> str:
    """The folder of a saved tagger of 2 layers and 4 heads."""
    torch.manual_seed(7)
    recipe = Recipe(width=8, heads=4, hidden=11, layers=2)
    encoder = WordEncoder.fit([["I", "saw", "a", "saw", ".", "常威", "看见", "来福"]], minimum_count=1)
    folder: Path = tmp_path_factory.mktemp("models") / "toy"
    Tagger(SourceNetwork(recipe, encoder, len(LABELS)), encoder, Label(LABELS), recipe, name="toy").save(folder)
    return str(folder)


@pytest.fixture
def regard(tmp_path, capsys, monkeypatch):
    """Run a command in an empty folder: code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words):
        code = main([*map(str, words)])
        said = capsys.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return run


@pytest.fixture
def one_epoch(monkeypatch):
    """`regard train` ends after one epoch, whatever the recipe that it chose: for what is said of that choice."""
    real = experiment.train

    def train(*examples, recipe, **more):
        return real(*examples, recipe=dataclasses.replace(recipe, epochs=1), **more)

    monkeypatch.setattr(experiment, "train", train)
