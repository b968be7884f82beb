"""Packages whose public names are imported when they are first used."""

import importlib
import sys

import pytest

import regard
from regard import lazy
from regard.datasets import SPLITS
from regard.modules import huggingface

FILES = {
    "__init__.py": """
from regard import lazy
__all__ = ["Line", "Page", "book", "read"]
lazy.export(__name__, {"read": "read", "lines.line": "Line", "lines.page": "Page", "lines": "book"})
TABLE = lazy.Table(__name__, {"line": "Line", "page": "Page"})
""",
    "read/__init__.py": "from folio.read.whole import WHOLE\ndef read(): pass",
    "read/whole.py": "WHOLE = True",
    "lines/__init__.py": "",
    "lines/line.py": "class Line: pass",
    "lines/page.py": "class Page: pass",
    "lines/book.py": "",
}


@pytest.fixture
def folio(tmp_path, monkeypatch):
    """A package of which no public name has been used yet."""
    for name, text in FILES.items():
        path = tmp_path / "folio" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("folio")
    for name in [name for name in sys.modules if name.partition(".")[0] == "folio"]:
        del sys.modules[name]


def imported() -> set[str]:
    return {name for name in sys.modules if name.startswith("folio.")}


def test_a_name_is_imported_when_it_is_used(folio):
    assert imported() == set()
    assert folio.Line is folio.Line
    assert imported() == {"folio.lines", "folio.lines.line"}


@pytest.mark.parametrize("first", ["folio.read", "folio.read.whole", None])
def test_a_function_is_not_hidden_by_a_package_of_its_name(folio, first):
    if first is not None:
        importlib.import_module(first)
    function = sys.modules["folio.read"].read if first else folio.read
    assert folio.read is function
    importlib.import_module("folio.read.whole")
    assert folio.read is function
    assert sys.modules["folio.read"].WHOLE


def test_a_module_may_be_a_public_name(folio):
    assert folio.book is importlib.import_module("folio.lines.book")
    assert regard.huggingface is huggingface


def test_a_package_lists_its_names_and_has_no_others(folio):
    assert dir(folio) == ["Line", "Page", "book", "read"]
    with pytest.raises(AttributeError, match=r"^module 'folio' has no attribute 'raed'$"):
        _ = folio.raed
    with pytest.raises(ImportError, match=r"^cannot import name 'raed' from 'folio'"):
        exec("from folio import raed")
    with pytest.raises(AttributeError, match="no attribute '__path_hooks__'"):
        _ = folio.__path_hooks__


def test_a_public_name_may_be_replaced(folio, monkeypatch):
    monkeypatch.setattr(folio, "read", len)
    assert folio.read is len
    monkeypatch.undo()
    assert folio.read is sys.modules["folio.read"].read


def test_a_table_imports_what_is_looked_up(folio):
    assert "page" in folio.TABLE
    assert [*folio.TABLE] == ["line", "page"]
    assert len(folio.TABLE) == 2
    assert "Line" not in folio.TABLE
    assert imported() == set()
    assert folio.TABLE["page"] is folio.Page
    assert imported() == {"folio.lines", "folio.lines.page"}


def test_a_table_takes_values_of_ones_own(folio):
    folio.TABLE["own"] = 7
    del folio.TABLE["line"]
    assert dict(folio.TABLE) == {"page": folio.Page, "own": 7}
    assert str(folio.TABLE) == f"{{'page': {folio.Page}, 'own': 7}}"
    with pytest.raises(KeyError):
        folio.TABLE["line"]


def test_a_table_is_joined_as_a_dict_is():
    table = lazy.Table("regard.datasets", {"parts": "SPLITS"})
    assert table | {"own": 7} == {"parts": SPLITS, "own": 7}
