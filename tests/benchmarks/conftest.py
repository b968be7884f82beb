"""The scripts in benchmarks/, as modules."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture
def benchmark_module() -> Iterator[Callable[[str], ModuleType]]:
    """Import a script by its name; afterwards `tasks` is the folder of tests again, as elsewhere in the suite."""
    names = {path.stem for path in BENCHMARKS.glob("*.py")}
    before = {name: sys.modules.pop(name) for name in names & sys.modules.keys()}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(before)
