"""The scripts of docs/, which import each other by name."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.fixture(scope="module")
def docs_module() -> Iterator[Callable[[str], ModuleType]]:
    """Imports a script of docs/ by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        yield importlib.import_module
