"""The documents run: every Python block, and every generated block says what the project says."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run(path, tmp_path, monkeypatch):
    """The blocks of one document run in order, in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "document"}
    text = path.read_text(encoding="utf-8")
    for match in PYTHON.finditer(text):
        line = text[: match.start()].count("\n") + 2
        code = compile("\n" * (line - 1) + match[1], str(path), "exec")
        exec(code, namespace)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_everything_generated_is_fresh(generate):
    assert list(generate.stale()) == []


def test_pictures_load_nothing_from_outside():
    for path in (ROOT / "docs" / "pictures").glob("*.svg"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text.replace("https://www.textualize.io", ""), path


def test_staleness_is_seen(generate):
    assert generate.same("0.53 of it", "0.54  of it")
    assert not generate.same("0.53 of it", "0.73 of it")
    assert not generate.same("0.53 of it", "0.53 of them")
    assert not generate.same("1 word", "1 2 word")


def test_the_chinese_readme_is_in_step():
    """Both tell the same story: the same headings in number and order, the same commands, the same blocks."""
    english = (ROOT / "README.md").read_text(encoding="utf-8")
    chinese = (ROOT / "README.zh.md").read_text(encoding="utf-8")
    for pattern in (r"^(#+) ", r"<!-- generated: ([^>]+?) -->", r"^((?:make|regard|git) [^#\n]*)", r"```(\w*)\n"):
        assert re.findall(pattern, english, re.MULTILINE) == re.findall(pattern, chinese, re.MULTILINE), pattern
