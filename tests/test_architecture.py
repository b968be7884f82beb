"""The rooms import only downwards, and rooms on one level never import each other."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from torch.utils._device import _device_constructors

from regard.attention.engines import ENGINES

SOURCE = Path(__file__).parent.parent / "src" / "regard"
LEVELS = [
    {"errors", "extras", "files", "lazy", "progress", "special_ids", "version"},
    {"attention", "page"},
    {"distributed"},
    {"flex", "jury", "modules", "inputs"},
    {"inspection", "datasets", "testing"},
    {"tasks"},
    {"lab"},
    {"cli"},
    {"__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")
ROOMS = sorted({path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES})


def imported(path: Path) -> set[str]:
    """The rooms that a file imports, wherever in the file it does so."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [node.module] if node.module != "regard" else [f"regard.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name and name.startswith("regard.")}
    return rooms


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for other in imported(path) - {room}:
        assert other in LEVEL, f"regard.{other} is no room"
        # The files of level 0 are no rooms: they may raise the errors.
        below = LEVEL[other] < LEVEL[room] or (LEVEL[room] == 0 and other == "errors")
        assert below, f"{room} (level {LEVEL[room]}) imports {other} (level {LEVEL[other]})"


MOST_FILES = 25
CATALOGUES = {"lab/studies"}
"""Folders whose files are all of one kind, found by the folder."""


def test_folders_are_small_and_say_what_they_hold():
    folders = {path.parent for path in FILES}
    for folder in folders:
        name = folder.relative_to(SOURCE).as_posix()
        assert len(list(folder.glob("*.py"))) <= MOST_FILES or name in CATALOGUES, f"{name} needs chambers"
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))), (
            f"{name} says nothing"
        )
    assert {SOURCE / name for name in CATALOGUES} <= folders


def test_every_room_has_a_level():
    assert set(ROOMS) <= set(LEVEL)


@pytest.mark.parametrize("room", [room for room in ROOMS if (SOURCE / room).is_dir() and room != "cli"])
def test_public_names_are_sorted_and_there(room):
    module = importlib.import_module(f"regard.{room}")
    assert module.__all__ == sorted(module.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    for name in module.__all__:
        assert hasattr(module, name)
    # What a room shows is what it lists: nothing public slips in beside the list but its own files.
    shown = {name for name, value in vars(module).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert shown <= set(module.__all__)


def test_the_front_door_opens():
    import regard

    assert sorted(regard.__all__) == regard.__all__
    for name in regard.__all__:
        assert getattr(regard, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'atend'"):
        _ = regard.atend


LAZY = [path for path in (SOURCE / "__init__.py", *FILES) if "lazy.export(" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.relative_to(SOURCE.parent).parent.as_posix())
def test_type_checkers_see_the_names_that_are_imported_when_they_are_used(path):
    package = importlib.import_module(".".join(path.parent.relative_to(SOURCE.parent).parts))
    (block,) = (node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.If))
    seen = {name.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names}
    for name, module in seen.items():
        assert getattr(package, name) is getattr(importlib.import_module(module), name)
    assert seen.keys() == package._places.keys()


def test_engines_do_not_import_the_definition_nor_each_other_in_a_circle():
    """What an engine builds on has been judged without it; `dense` judges them all."""
    folder = SOURCE / "attention" / "engines"
    names = {path.stem for path in folder.iterdir() if path.stem not in ("__init__", "__pycache__")}
    assert names == set(ENGINES)
    built_on: dict[str, set[str]] = {name: set() for name in names}
    for path in folder.rglob("*.py"):
        own = path.relative_to(folder).parts[0].removesuffix(".py")
        text = path.read_text(encoding="utf-8")
        for other in names - {own} if own in names else ():
            if f"engines.{other}" in text or re.search(rf"engines import [a-z, ]*\b{other}\b", text):
                built_on[own].add(other)
    assert not any("dense" in others for others in built_on.values()), built_on
    TopologicalSorter(built_on).prepare()  # raises CycleError


PRIVATE = re.compile(r"\btorch(?:\.\w+)*\._[A-Za-z]\w*|\bforward_ad\._\w+|\b_dynamo_\w+")


def test_private_parts_of_pytorch_are_used_in_one_file():
    users = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in FILES
        if path.name != "pytorch_internals.py"
        for name in PRIVATE.findall(path.read_text(encoding="utf-8"))
    }
    assert users == set()
    assert PRIVATE.search((SOURCE / "attention/pytorch_internals.py").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_validation_raises_and_nothing_prints():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not isinstance(node, ast.Assert), f"{path}:{node.lineno} validates by assert"
            assert not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"), f"{path} prints"


def test_tensors_are_made_on_a_device_that_is_named():
    """Under `torch.set_default_device` the others would land on another device than those that they meet.

    Only parameters follow the default: they are where the user makes the module.
    """
    makers = {maker.__name__ for maker in _device_constructors()}
    count = 0
    for path in (
        path for path in FILES if path.relative_to(SOURCE).parts[0] in ("attention", "flex", "modules", "inputs")
    ):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        parameters = [call for call in calls if ast.unparse(call.func) == "nn.Parameter"]
        excused = {id(inner) for parameter in parameters for inner in ast.walk(parameter)}
        for call in calls:
            prefix, _, name = ast.unparse(call.func).rpartition(".")
            if prefix.startswith("torch") and name in makers and id(call) not in excused:
                count += 1
                named = {keyword.arg for keyword in call.keywords}
                assert "device" in named, f"{path}:{call.lineno} makes a tensor on the default device"
    assert count > 50


def test_importing_regard_is_light():
    """`import regard` brings neither training libraries nor data libraries, nor torch before it is needed."""
    heavy = {"torch", "lightning", "lightning_fabric", "sklearn", "conllu"}
    code = f"import regard, sys; print({heavy} & set(sys.modules) or '')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


@pytest.mark.slow
def test_training_needs_nothing_of_inspection():
    """`regard train` doesn't wait for what shows attention, whatever the task and the kind of source."""
    code = (
        "import sys, regard.cli.training, regard.tasks.experiment; from regard.tasks import TASKS;"
        "from regard.tasks.sources import INPUTS;"
        "print([(task.settings, task.data, task.model) for task in TASKS.values()] and [*INPUTS.values()] and "
        "[name for name in sys.modules if name.startswith('regard.inspection')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.slow
def test_see_imports_nothing_of_what_it_does_not_show():
    """A tagger's sentence waits neither for figures nor for graphs, sound, data sets, translators, other libraries."""
    code = (
        "import sys; from regard.cli.main import main; main(['see', 'english-pos', 'I saw .', '--format', 'json']);"
        "others = ('inspection.figures.', 'inspection.hugging_face', 'inspection.steps.steps_page', 'datasets.known',"
        "'datasets.formats', 'modules.seq2seq.decoder', 'modules.efficient.performer', 'tasks.sources.graphs',"
        "'tasks.sources.speech', 'tasks.training.train', 'lab', 'jury');"
        "print([name for name in sys.modules if name.removeprefix('regard.').startswith(others)"
        " and name.startswith('regard.')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("[]\n"), ran.stdout[-500:]
