"""`regard compare` and `regard replace` share their options, and pass them on."""

import inspect

import pytest
import typer

from cli.comparison_data import write_all
from regard.cli import comparing
from regard.cli.arguments.command import command_with
from regard.cli.arguments.options import ComparisonOptions
from regard.cli.main import app, main

COMMANDS = {
    "compare": ("compare", "data", "--vary", "score=dot", "--recipe", "recipe.json"),
    "replace": ("replace", "rnn", "attention", "recipe.json", "--data", "data"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_shared_options_reach_the_comparison(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write_all(tmp_path)
    given = []
    monkeypatch.setattr(comparing, "compare_and_show", lambda found, *args: given.append(args))
    words = ("--processes", "7", "--progress", "lines", "--figure", "a.svg", "--force", "--format", "json", "--plain")
    assert main([*COMMANDS[name], "--out", "new", "--seeds", "5", *words, "--width", "50", "--no-color"]) == 0
    ((comparison, options, out),) = given
    assert options == ComparisonOptions(7, "lines", "a.svg", True, "json", True, 50, False)
    assert (str(out), comparison.seeds, comparison.halving) == ("new", 5, name == "compare")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_shared_options_are_the_last_ones(name):
    command = typer.main.get_command(app).commands[name]
    assert [each.name for each in command.params][-len(ComparisonOptions._fields) :] == [*ComparisonOptions._fields]


def test_parameters_of_a_command_come_before_the_options():
    def run(first: int, second: str = "b", *, options: ComparisonOptions) -> None:
        """Its help."""
        found.append((first, second, options.processes, options.plain))

    found: list[tuple[int, str, int | None, bool]] = []
    command = command_with(run, ComparisonOptions, without=("plain",))
    names = list(inspect.signature(command).parameters)
    assert names[:3] == ["first", "second", "processes"]
    assert "plain" not in names
    assert command.__doc__ == "Its help."
    command(first=1, second="c", processes=3)
    assert found == [(1, "c", 3, False)]
