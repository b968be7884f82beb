"""Type checkers see what a user's file gets from regard, and read it, since the package has its marker."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_args, get_overloads

import pytest

import regard
from regard.tasks import TASKS, bundled
from regard.tasks.saving.loading import load

SOURCE = Path(__file__).parent.parent / "src"
USER_FILE = Path(__file__).parent / "typed" / "user_file.py"


def check(*command: str, folder: Path) -> str:
    """What a type checker says of a copy of the user's file."""
    shutil.copy(USER_FILE, folder)
    ran = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_pyright_sees_the_types(tmp_path):
    pytest.importorskip("pyright")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    said = check("pyright", "--pythonpath", sys.executable, "--outputjson", folder=tmp_path)
    assert json.loads(said)["summary"]["filesAnalyzed"] == 1


@pytest.mark.slow
def test_mypy_sees_the_types(tmp_path):
    pytest.importorskip("mypy")
    said = check("mypy", "--strict", USER_FILE.name, folder=tmp_path)
    assert said == "Success: no issues found in 1 source file\n"


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "regard" / "py.typed").is_file()


def test_the_type_of_each_bundled_model_is_known():
    """`load` names them for type checkers, with the class that it gives."""
    named = {}
    for overload in get_overloads(load):
        hints = overload.__annotations__
        if getattr(hints["name_or_folder"], "__origin__", None) is Literal:
            named |= dict.fromkeys(get_args(hints["name_or_folder"]), hints["return"])
    kinds = {name: json.loads((folder / "model.json").read_text())["kind"] for name, folder in bundled().items()}
    assert named == {name: TASKS[kind].model.__name__ for name, kind in kinds.items()}
    assert regard.load is load
