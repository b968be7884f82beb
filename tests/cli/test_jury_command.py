"""`regard jury`: names, files, what is written, and exit codes."""

import json
import sys

import pytest

from regard.cli.main import main

MINE = """
import torch


def attention(query, key, value, hide=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if hide is not None:
        scores = scores.masked_fill(hide, -torch.inf)
    return scores.softmax(-1) @ value


number = 3
"""
FILES = {
    "mine.py": MINE,
    "beside.py": "from mine import attention\n",
    "empty.py": "",
    "broken.py": "\0 def",
    "lacking.py": "import nowhere\n",
    "nothing.py": "def attention(query, key, value):\n    return None\n",
    "own/outputs.py": "the user's own\n",
}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    yield tmp_path
    # What a file imported from beside it lasts no longer than a test.
    sys.modules.pop("mine", None)


def test_a_name(capsys):
    assert main(["jury", "sdpa-math", "--only", "outputs,scale"]) == 0
    assert capsys.readouterr().out.startswith("sdpa-math: no law fails; 2 hold")
    assert main(["jury", "sdpa", "--only", "outputs", "--only", "alignment"]) == 1
    assert "aligned at the start" in capsys.readouterr().out


def test_a_function_of_a_file(mine, capsys):
    assert main(["jury", "mine.py:attention", "--only", "outputs,gradients,mask"]) == 0
    out = capsys.readouterr().out
    assert "it claims no mask" in out
    words = [
        "jury",
        "mine.py:attention",
        "--claims",
        "mask=hide",
        "--claims",
        "hides=true",
        "--only",
        "mask,empty_rows",
    ]
    assert main([*words, "--html", "found.html", "--scripts", "failing", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [law["answer"] for law in found["laws"]] == ["holds", "fails"]
    assert "import torch" in (mine / "found.html").read_text(encoding="utf-8")
    script = (mine / "failing" / "empty_rows.py").read_text(encoding="utf-8")
    exec(compile(script, "script", "exec"), {"__name__": "script"})
    assert "wrong nan" in capsys.readouterr().out


def test_a_file_imports_what_stands_beside_it(mine):
    assert main(["jury", "beside.py:attention", "--only", "outputs"]) == 0
    # Its own scripts are written over, others aren't.
    for _ in range(2):
        assert main(["jury", "sdpa", "--only", "alignment", "--scripts", "failing"]) == 1
    assert main(["jury", "sdpa-math", "--only", "outputs", "--scripts", "own", "--force"]) == 0


def test_the_list(capsys):
    assert main(["jury", "--list", "--plain"]) == 0
    out = capsys.readouterr().out
    assert "empty_rows" in out
    assert "regard-blocked" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "`NAME` is missing"),
        (["sdpb"], "Did you mean 'sdpa'"),
        (["sdpa", "--only", "gradient"], "Did you mean 'gradients'"),
        (["none.py:f"], "there is no file none.py"),
        (["mine.py:number"], "'number' is none. It has: attention"),
        (["mine.py"], "as in mine.py:attention"),
        (["empty.py:attention"], "'attention' is none. It has no function."),
        (["broken.py:attention"], "must name a file of Python that can be run, but broken.py raises SyntaxError"),
        (["lacking.py:attention"], "lacking.py raises ModuleNotFoundError: No module named 'nowhere'"),
        (["nothing.py:attention"], "TypeError: it returned NoneType, not a tensor"),
        (["sdpa", "--only", "outputs", "--scripts", "own"], "or a program that regard wrote, but own/outputs.py is"),
        (["mine.py:attention", "--claims", "masks=hide"], "Did you mean 'mask'"),
        (["mine.py:attention", "--claims", "mask"], "must be WHAT=ARGUMENT"),
        (["sdpa", "--device", "nowhere"], "must be one that PyTorch can use"),
    ],
)
def test_what_cannot_be_done(mine, capsys, words, said):
    assert main(["jury", *words]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.startswith("regard: ")
