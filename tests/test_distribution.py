"""The wheel and the sdist hold what they must and nothing else, and what is installed from them works by itself."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import regard

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
MOST = 32_000_000  # bytes
JUNK = re.compile(r"(^|/)(__pycache__|\.venv|\.git|\.\w+_cache|build|dist)/|\.(pyc|nbi|nbc|log|so)$|\.egg-info")
pytest.importorskip("hatchling", reason="builds the wheel; comes with the group test")


def python(*words: str, folder: Path, **env: str) -> str:
    ran = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, env={**os.environ, **env}
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr == ""
    return ran.stdout


def built(kind: str, ending: str, folder: Path) -> Path:
    """The file in the folder that REGARD_DIST names, as `make dist` has just built it, or one built here."""
    if there := os.environ.get("REGARD_DIST"):
        folder = ROOT / there
    else:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
    (found,) = folder.glob(f"regard-{regard.__version__}*{ending}")
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built("wheel", "-py3-none-any.whl", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    return built("sdist", ".tar.gz", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A folder that holds what the wheel installs."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as held:
        held.extractall(folder)
    return folder


def tracked(*under: str) -> set[str] | None:
    """The files of the clone, without those that git ignores; None if this is no clone."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *under]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    return {name for name in listed if (ROOT / name).is_file()} or None


class TestTheWheel:
    def test_it_holds_the_package_and_nothing_else(self, wheel):
        names = set(zipfile.ZipFile(wheel).namelist())
        about = f"regard-{regard.__version__}.dist-info/"
        assert {name for name in names if not name.startswith(about)} == {
            path.relative_to(SOURCE).as_posix()
            for path in (SOURCE / "regard").rglob("*")
            if path.is_file() and not JUNK.search(path.relative_to(SOURCE).as_posix())
        }
        assert {name.removeprefix(about) for name in names if name.startswith(about)} == {
            "METADATA",
            "RECORD",
            "WHEEL",
            "entry_points.txt",
            "licenses/LICENSE",
        }
        # Each kind of file that isn't Python.
        for pattern in (
            "py.typed",
            r"page/web/.+\.js",
            r"page/web/.+\.css",
            r"page/web/.+\.json",
            r"tasks/models/english-pos/model\.safetensors",
            r"tasks/models/english-pos/model\.json",
            r"tasks/models/english-pos/README\.md",
            r"tasks/recipes/.+\.json",
            r"lab/results/.+\.jsonl",
            r"lab/studies/.+\.py",
        ):
            assert any(re.fullmatch(f"regard/{pattern}", name) for name in names), pattern

    def test_it_is_small(self, wheel):
        assert wheel.stat().st_size < MOST

    def test_its_metadata(self, wheel):
        with zipfile.ZipFile(wheel) as held:
            text = held.read(f"regard-{regard.__version__}.dist-info/METADATA").decode()
        about = message_from_string(text)
        assert about["Version"] == regard.__version__
        assert about["License-Expression"] == "Apache-2.0"
        assert "Typing :: Typed" in about.get_all("Classifier", [])
        # Groups are for those who work on regard: no user installs a test runner.
        assert "Requires-Dist: pytest" not in text
        assert {"all", "train"} <= set(about.get_all("Provides-Extra", []))
        assert not {"dev", "test", "site"} & set(about.get_all("Provides-Extra", []))


class TestTheSdist:
    def test_it_holds_the_clone_and_nothing_else(self, sdist):
        with tarfile.open(sdist) as held:
            names = {member.name for member in held.getmembers() if member.isfile()}
        above = f"regard-{regard.__version__}/"
        assert all(name.startswith(above) for name in names)
        names = {name.removeprefix(above) for name in names}
        assert not [name for name in names if JUNK.search(name)]
        clone = tracked()
        if clone is None:
            pytest.skip("the files of a clone are listed by git")
        assert names - clone == {"PKG-INFO"}
        assert clone - names <= {".pre-commit-config.yaml", ".gitattributes"}

    def test_it_is_small(self, sdist):
        assert sdist.stat().st_size < MOST

    @pytest.mark.slow
    def test_the_same_wheel_is_built_from_it(self, sdist, wheel, tmp_path):
        with tarfile.open(sdist) as held:
            held.extractall(tmp_path, filter="data")
        (folder,) = tmp_path.iterdir()
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "again")],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        (again,) = (tmp_path / "again").iterdir()
        with zipfile.ZipFile(again) as first, zipfile.ZipFile(wheel) as second:
            assert [(each.filename, each.CRC) for each in first.infolist()] == [
                (each.filename, each.CRC) for each in second.infolist()
            ]


# With -I nothing of the clone is on the path, so that regard is what the wheel holds.
ALONE = """
import sys
sys.path.insert(0, {installed!r})
import regard
assert regard.__file__.startswith({installed!r}), regard.__file__
"""


class TestInstalled:
    @pytest.fixture
    def alone(self, installed, tmp_path):
        """Runs code in an empty folder, where regard is what the wheel holds, and a warning is an error."""

        def run(code: str) -> str:
            begin = ALONE.format(installed=str(installed))
            out = python("-I", "-W", "error", "-c", begin + code, folder=tmp_path, COLUMNS="100")
            assert not list(tmp_path.iterdir())
            return out

        return run

    @pytest.fixture
    def command(self, alone):
        def run(*words: str) -> str:
            return alone(f"from regard.cli.main import main\nassert main({list(words)!r}) == 0\n")

        return run

    def test_it_says_its_version(self, command):
        assert regard.__version__ in command("--version")

    def test_its_help_brings_no_torch(self, alone):
        said = alone(
            "from regard.cli.main import main\nassert main(['--help']) == 0\n"
            "print(sorted({'torch', 'numpy', 'numba'} & set(sys.modules)))\n"
        )
        assert said.endswith("[]\n")

    @pytest.mark.slow
    def test_the_block_of_the_readme_runs(self, alone):
        block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        assert block is not None
        assert alone(block[1]).startswith("attend  batch 2, heads 8, queries 1000")

    @pytest.mark.slow
    def test_a_bundled_model_answers(self, command):
        assert "NOUN" in command("see", "english-pos", "I saw a saw .")
