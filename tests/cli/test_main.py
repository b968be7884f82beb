import errno
import io
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution

import pytest
import typer

from regard.cli import main as module
from regard.cli.main import main
from regard.errors import ArgumentError, DataError
from regard.version import __version__


@pytest.fixture
def failing(monkeypatch):
    """Make the program fail with an error of one's choice."""

    def fail_with(error):
        def invoke(words):
            raise error

        monkeypatch.setattr(module, "_invoke", invoke)

    return fail_with


def test_alone_it_prints_help_and_ends_well(capsys):
    assert main([]) == 0
    assert "Examples:" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--version"], ["version"]])
def test_version(capsys, words):
    assert main(words) == 0
    assert capsys.readouterr().out == f"regard {__version__}\n"


@pytest.mark.parametrize("command", [[], ["tag"], ["train", "classifier"]])
def test_help_is_a_command_too(capsys, command):
    assert main(["help", *command]) == 0
    said = capsys.readouterr().out
    assert main([*command, "--help"]) == 0
    assert said == capsys.readouterr().out


@pytest.mark.parametrize("command", [[], ["train"], ["data"]])
def test_the_list_of_commands_cuts_no_sentence(capsys, command):
    assert main([*command, "--help"]) == 0
    listed = capsys.readouterr().out.split("\nCommands:\n")[1].splitlines()
    assert len(listed) >= 3
    assert all(line.endswith(".") and not line.endswith("..") for line in listed)


@pytest.mark.parametrize("command", ["tag", "models", "train", "evaluate", "data"])
def test_every_command_teaches_with_examples(capsys, command):
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Examples:" in out
    assert f"regard {command}" in out.split("Examples:")[1]
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tga"], "regard: there is no command tga. Did you mean tag? See regard --help.\n"),
        (["xyzzy"], "regard: there is no command xyzzy. See regard --help.\n"),
        (["tag", "--layr", "1"], "regard: there is no option --layr. Did you mean --layer? See regard tag --help.\n"),
        (["tag", "--xyzzy"], "regard: there is no option --xyzzy. See regard tag --help.\n"),
        (["tag", "-5 degrees"], "Before a text that begins with a hyphen write --."),
        (["tag", "--or not"], "Before a text that begins with a hyphen write --."),
        (["models", "-5"], "regard: there is no option -5. See regard models --help.\n"),
        (["tag", "a", "--format", "jsn"], "`--format` must be one of text, json, but is jsn. Did you mean json? See"),
        (["tag", "a", "--top", "x"], "regard: `--top` must be a whole number, but is x. See regard tag --help.\n"),
        (["tag", "a", "--top=1.5"], "regard: `--top` must be a whole number, but is 1.5. See regard tag --help.\n"),
        (["tag", "a", "--top"], "regard: `--top` needs a value. See regard --help.\n"),
        (["tag", "I", "saw", "a", "saw"], "Put it in quotes: regard tag 'I saw a saw'. See regard tag --help.\n"),
        (["tag", "I", "saw", "--top", "3"], "Put it in quotes: regard tag 'I saw'. See regard tag --help.\n"),
        (["models", "a", "b"], "regard: regard models got too many arguments: b. See regard models --help.\n"),
        (["predict"], "regard: `MODEL` is missing: a model's name, or its folder. See regard predict --help.\n"),
        (["evaluate", "m"], "`--data` is missing: a data set, a file, or a folder of files. See regard evaluate"),
        (["evaluate", "m", "--data", "d", "--top", "-1"], "`--top` must be 0 or more, but is -1. See regard evaluate"),
        (["--modle"], None),
        (["tag", "a", "--layer", "one"], None),
        (["tag", "a", "--format", "yaml"], None),
        (["tag", "a", "b"], None),
    ],
)
def test_usage_errors_are_one_line_and_2(capsys, words, message):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("regard: ")
    assert err.count("\n") == 1
    assert "--help" in err
    assert "Value error" not in err
    if message:
        assert message in err


COUNTS = {
    "--top": [
        ["tag", "a"],
        ["predict", "m", "a"],
        ["classify", "a"],
        ["evaluate", "m", "--data", "d"],
        ["see", "m", "a"],
    ],
    "--threads": [["train", "tagger", "--data", "d", "--out", "o"]],
    "--devices": [["train", "classifier", "--data", "d", "--out", "o"]],
    "--processes": [["compare", "d", "--vary", "a=b", "--out", "o"], ["lab", "self"]],
    "--seeds": [
        ["compare", "d", "--vary", "a=b", "--out", "o"],
        ["replace", "a", "b", "c", "--out", "o"],
        ["lab", "self"],
    ],
    "--epochs": [["replace", "a", "b", "c", "--out", "o"]],
    "--port": [["serve"]],
}


@pytest.mark.parametrize(("option", "words"), [(option, words) for option, each in COUNTS.items() for words in each])
def test_a_count_that_nobody_means_is_refused(capsys, option, words):
    assert main([*words, option, "1" + "0" * 30]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(rf"regard: `{option}` must be \d+ or less, but is 10+\. See regard .* --help\.\n", said)


@pytest.mark.parametrize(
    "words",
    [
        ["train", "classifier", "--data", "PATH", "--out", "out"],
        ["train", "tagger", "--data", "PATH", "--out", "out"],
        ["compare", "PATH", "--vary", "score=dot", "--out", "out"],
        ["replace", "rnn", "attention", "english-pos", "--data", "PATH", "--out", "out"],
        ["evaluate", "english-pos", "--data", "PATH"],
        ["data", "check", "PATH"],
    ],
)
@pytest.mark.parametrize("path", ["reviews.csv", "reviews.conllu", "mine/", "mine/reviews", "reviews.data"])
def test_data_that_are_not_there_are_no_unknown_name(tmp_path, monkeypatch, capsys, words, path):
    monkeypatch.chdir(tmp_path)
    assert main([path if word == "PATH" else word for word in words]) == 1
    assert f"regard: {path}: there is no such file or folder.\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["predict", "mine.model", "a"], "There is no model folder mine.model."),
        (["see", "mine.safetensors"], "mine.safetensors: the file must be one that Seen.save wrote, but can't be read"),
        (["steps", "mine/steps"], "mine/steps: there is no such file."),
    ],
)
def test_another_file_that_is_not_there_is_no_unknown_name(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    assert f"regard: {said}" in capsys.readouterr().err


def test_a_pipe_or_a_device_is_not_read(tmp_path, monkeypatch, capsys):
    """What is read from a pipe may never begin, and from a device never end."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.wav", "a.png", "recipe.json", "a.safetensors", "a.csv", "a.npy", "a.conllu", "a.json"):
        os.mkfifo(name)
        os.symlink("/dev/zero", f"zero-{name}")
    (tmp_path / "good.csv").write_text("text,label\n" + "".join(f"{i},{i % 2}\n" for i in range(60)))
    for name, *words in (
        ("a.wav", "predict", "spoken-digit"),
        ("a.png", "predict", "written-digit"),
        ("recipe.json", "train", "classifier", "--data", "good.csv", "--out", "o", "--recipe"),
        ("a.safetensors", "check"),
        ("a.safetensors", "see"),
        ("a.csv", "data", "check"),
        ("a.npy", "data", "check"),
        ("a.conllu", "data", "check"),
        ("a.csv", "steps"),
        ("a.json", "steps"),
    ):
        for each in (name, f"zero-{name}"):
            assert main([*words, each]) in (1, 2)
            out, err = capsys.readouterr()
            assert out == ""
            assert err.startswith("regard: ")
            assert err.count("\n") == 1
            assert each in err


def test_a_class_of_a_pipe_is_not_read(tmp_path, capsys):
    for kind in ("cat", "dog"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "0.png").write_text(kind)
        os.mkfifo(tmp_path / kind / "1.png")
        os.symlink("/dev/zero", tmp_path / kind / "2.png")
    for words in (["data", "check", str(tmp_path)], ["train", "classifier", "--data", str(tmp_path), "--out", "o"]):
        assert main(words) == 1
        said = "".join(capsys.readouterr())
        # Long paths are wrapped anywhere.
        assert "1.png:itisnotafilethatcanberead." in "".join(said.split())


def test_a_large_recipe_is_not_read(tmp_path, capsys):
    (tmp_path / "good.csv").write_text("text,label\n" + "".join(f"{i},{i % 2}\n" for i in range(60)))
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 40)
    words = ["train", "classifier", "--data", str(tmp_path / "good.csv"), "--out", str(tmp_path / "o"), "--recipe"]
    assert main([*words, str(tmp_path / "large.json")]) == 2
    assert "it has 1,099,511,627,776 bytes, and may have 1,048,576" in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["0", "-1", "²", "9" * 5000, "1000000000", ""])
def test_a_terminal_of_any_width_shows_all(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["tag", "I saw"]) == 0
    out = capsys.readouterr().out
    assert "PRON" in out
    assert len(out) < 100_000


def test_a_working_folder_that_was_deleted_is_a_sentence(tmp_path):
    (tmp_path / "gone").mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from regard.__main__ import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, "tag", "I saw"], cwd=tmp_path / "gone", capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("regard: the working folder can't be used (No such file or directory).")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["see", "english-pos", "I saw .", "--html", "a.html"],
        ["see", "english-pos", "I saw .", "--html", "a.html", "--format", "json"],
        ["see", "english-pos", "I saw .", "--html", "a.html", "--compare-input", "I ."],
        ["tag", "I saw .", "--html", "a.html"],
        ["steps", "--figure", "a.svg"],
    ],
)
def test_a_file_is_written_though_the_pipe_is_closed(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    with open(os.devnull, "w") as nothing:

        class Closed(io.StringIO):
            """Standard output whose reader has ended."""

            encoding = "utf-8"

            def write(self, text):
                raise BrokenPipeError(errno.EPIPE, "Broken pipe")

            def fileno(self):
                return nothing.fileno()

        monkeypatch.setattr(sys, "stdout", Closed())
        assert main(words) == 0
    assert os.path.getsize("a.html" if "--html" in words else "a.svg") > 1000


def test_the_columns_of_a_file_are_no_options(capsys, tmp_path):
    """`label` is a column there, though --label is an option."""
    for split in ("train", "dev"):
        (tmp_path / f"{split}.csv").write_text("text,label\na,b\nc,\n")
    assert main(["train", "classifier", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.endswith(
        "train.csv, line 3: the column `label` is empty. To leave out what is broken: --skip-broken FILE.\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ArgumentError("`top` must be 0."), 2, "regard: `--top` must be 0.\n"),
        (DataError("it is broken.", path="a.txt", line=3), 1, "regard: a.txt, line 3: it is broken.\n"),
        (FileNotFoundError(2, "No such file", "a.txt"), 1, "regard: a.txt: No such file.\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "regard: No space left on device.\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
        (MemoryError(), 1, "regard: there isn't enough memory for this.\n"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory"),
            1,
            "regard: there isn't enough memory for this.\n",
        ),
        (
            ValueError("embedded null byte"),
            1,
            "regard: the name of a file or folder can't have a zero byte. Name another.\n",
        ),
        (
            UnicodeEncodeError("utf-8", "a\udcffb", 1, 2, "surrogates not allowed"),
            1,
            "regard: what is written must be UTF-8, but '\\udcffb' isn't. Rename it.\n",
        ),
        (KeyboardInterrupt(), 130, "regard: interrupted\n"),
        (typer.Abort(), 130, "regard: interrupted\n"),
        (TypeError("x\ny"), 1, "regard: TypeError: x. This is an error in regard; add --debug to see where.\n"),
        (DataError("\x1b[31mred", path="a\nb"), 1, "regard: a\\nb: \\x1b[31mred\n"),
    ],
)
def test_every_failure_is_a_sentence_and_a_code(failing, capsys, error, code, message):
    failing(error)
    assert main(["tag"]) == code
    assert capsys.readouterr().err == message


def test_debug_shows_where_wherever_it_stands(failing, capsys):
    failing(DataError("broken"))
    for words in (["--debug", "tag"], ["tag", "a", "--debug"]):
        assert main(words) == 1
        assert "Traceback" in capsys.readouterr().err
    assert main(["tag", "--", "--debug"]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_model_that_was_edited_is_used_if_the_edit_is_trusted(model, tmp_path, capsys):
    shutil.copytree(model, tmp_path / "toy")
    path = tmp_path / "toy" / "model.json"
    held = json.loads(path.read_bytes())
    held["answer"]["names"].reverse()
    path.write_text(json.dumps(held))
    words = ["tag", "I saw", "--model", str(tmp_path / "toy")]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "model.json was edited since it was saved" in err
    assert main(["--trust-edits", *words]) == main([*words, "--trust-edits"]) == 0
    assert "saw" in capsys.readouterr().out
    # It is no longer trusted afterwards.
    assert main(words) == 1


def test_a_model_of_an_earlier_version_is_used_and_told(model, tmp_path, capsys):
    shutil.copytree(model, tmp_path / "toy")
    path = tmp_path / "toy" / "model.json"
    held = json.loads(path.read_bytes())
    path.write_text(json.dumps({**{key: held[key] for key in held if key != "description_sha256"}, "format": 2}))
    assert main(["tag", "I saw", "--model", str(tmp_path / "toy")]) == 0
    out, err = capsys.readouterr()
    assert "saw" in out
    assert err.count("was saved by an earlier version of regard") == 1


def _regard(*words, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", "from regard.__main__ import run; run()", *words],
        capture_output=True,
        text=True,
        env=environment,
        **options,
    )


def test_help_and_mistakes_do_not_wait_for_torch():
    program = (
        "import sys; from regard.cli.main import main; main(['--help']); main(['tag', '--help']); main(['tga']);"
        "main(['tag', '']); sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ctrl_c_while_modules_are_imported_is_one_word_and_130():
    program = (
        "import sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'regard.cli.train': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from regard.__main__ import run; run()"
    )
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "regard: interrupted\n")


def test_the_installed_command_starts_where_ctrl_c_is_heard():
    (entry,) = [each for each in distribution("regard").entry_points if each.name == "regard"]
    assert entry.value == "regard.__main__:run"


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes streams")
@pytest.mark.parametrize(("words", "code"), [("--version", 0), ("--help", 0), ("models", 0), ("tga", 2)])
def test_closed_streams_end_with_the_same_code(words, code):
    program = f'"{sys.executable}" -c "from regard.__main__ import run; run()" {words} >&-'
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.count("\n") == (code != 0), done.stderr
    if words == "models":  # imports torch, and writes to standard error no more than --version
        return
    done = subprocess.run(["sh", "-c", program + " 2>&-"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_the_console_entry_ends_with_the_code():
    assert _regard("--version").returncode == 0
    done = _regard("tga")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_behind_standard_output_is_said_once():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from regard.__main__ import run; run()", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == "regard: No space left on device.\n"


def test_a_closed_pipe_is_quiet():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", "from regard.__main__ import run; run()", "--help"],
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (["tag"], "regard tag [OPTIONS] [TEXT]"),
        (["predict"], "regard predict [OPTIONS] MODEL [SOURCE]..."),
        (["classify"], "regard classify [OPTIONS] [SOURCE]..."),
        (["say"], "regard say [OPTIONS] MODEL [TEXT]..."),
        (["evaluate"], "regard evaluate [OPTIONS] MODEL"),
        (["models"], "regard models [OPTIONS] [NAME]"),
        (["data", "get"], "regard data get [OPTIONS] NAME"),
        (["train", "tagger"], "regard train tagger [OPTIONS]"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_usage_shows_arguments_as_they_are_known(words, usage, capsys):
    """Whatever the version of typer puts around them."""
    assert main([*words, "--help"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"Usage: {usage}"


def test_warnings_of_one_kind_are_told_three_times_and_counted(tmp_path, capsys):
    lines = [f"Ich sehe große Sägen im dunklen Wald{' hinterm Haus' * more} ." for more in range(5)]
    (tmp_path / "german.txt").write_text("\n".join(lines), encoding="utf-8")
    assert main(["tag", "-f", str(tmp_path / "german.txt"), "--top", "0"]) == 0
    err = capsys.readouterr().err
    assert err.count("is unlike what english-pos was made for") == 3
    assert err.endswith("regard: and 2 more warnings of this kind.\n")


@pytest.mark.slow
def test_what_the_first_import_of_torch_makes_is_not_collected_and_later_garbage_is():
    code = (
        "import gc, sys; from regard.cli.main import main; main(['tag', '--top', '0', 'I saw'])\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 100_000)\n"
        "before = gc.get_freeze_count(); main(['tag', '--top', '0', 'I saw']); print(gc.get_freeze_count() <= before)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [line for line in ran.stdout.splitlines() if "True" in line or "False" in line] == ["True True", "True"]


@pytest.mark.slow
def test_training_does_not_collect_what_the_import_of_torch_makes_either(tmp_path):
    """Broken data end it early: what was imported stays out of collections for as long as the process lives."""
    for split in ("train", "dev"):
        (tmp_path / f"{split}.csv").write_text("text,label\na good film,yes\na bad film,\n")
    code = (
        "import gc, sys; from regard.cli.main import main\n"
        f"words = ['train', 'classifier', '--data', {str(tmp_path)!r}, '--out', {str(tmp_path / 'run')!r}]\n"
        "assert main(words) == 1 and 'torch' in sys.modules\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 100_000)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "True True"


def test_collection_goes_on_after_an_import_of_torch_that_fails():
    code = (
        "import gc, sys; from regard.cli.startup import import_torch; sys.path.clear()\n"
        "try: import_torch()\nexcept ImportError: print(gc.isenabled())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"
