"""What stands in several places agrees: versions, extras, commands, and what users are told to install."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import regard
from regard.errors import MissingExtraError

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def steps(workflow: Path) -> list[dict]:
    return [step for job in yaml.safe_load(workflow.read_text())["jobs"].values() for step in job["steps"]]


# One version.


def test_the_version_is_the_same_everywhere():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/regard/version.py"
    newest = re.search(r"^## \[(.+?)\] - (.+)$", read("CHANGELOG.md"), re.MULTILINE)
    citation = yaml.safe_load(read("CITATION.cff"))
    assert newest is not None
    assert newest[1] == citation["version"] == regard.__version__
    # The date of a release stands in both, or in neither.
    assert (newest[2] == "unreleased") == ("date-released" not in citation)
    assert newest[2] in ("unreleased", str(citation.get("date-released")))


def test_the_citation_agrees_with_the_package():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert (citation["title"], citation["license"]) == (PROJECT["project"]["name"], PROJECT["project"]["license"])
    assert citation["authors"]
    assert citation["message"]


def test_ruff_has_one_version():
    """constraints.txt pins it; the hooks run the one that is installed."""
    assert len(re.findall(r"^ruff==", read("constraints.txt"), re.MULTILINE)) == 1
    hooks = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert [each["repo"] for each in hooks] == ["local"]
    entries = [hook["entry"] for each in hooks for hook in each["hooks"]]
    assert [entry.split()[:2] for entry in entries] == [[".venv/bin/ruff", "format"], [".venv/bin/ruff", "check"]]


# Extras and groups.


def required(named: list) -> set[str]:
    return {Requirement(each).name.lower().replace("_", "-") for each in named if isinstance(each, str)}


def test_all_is_every_extra():
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    # Triton is large, and of no use without a GPU.
    assert everything.extras == set(extras) - {"all", "gpu"}


def test_what_is_installed_by_make_is_pinned():
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in read("constraints.txt").splitlines()[1:]}
    groups = PROJECT["dependency-groups"]
    extras = PROJECT["project"]["optional-dependencies"]
    # Which Triton it works with, each build of PyTorch for GPUs says itself.
    for named in (PROJECT["project"]["dependencies"], *(extras[name] for name in extras if name != "gpu")):
        assert required(named) - {"regard"} <= pinned
    for named in (*groups.values(), PROJECT["build-system"]["requires"]):
        assert required(named) <= pinned
    assert {"include-group": "test"} in groups["dev"]


def test_the_extra_of_an_error_is_one():
    """Each `require(..., extra=NAME)` names an extra of the project, which has the library."""
    extras = PROJECT["project"]["optional-dependencies"]
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        named |= set(re.findall(r"extra=\"(\w+)\"", path.read_text(encoding="utf-8")))
    assert named - {"all"} <= set(extras)
    assert len(named) > 8


def test_triton_is_asked_for_where_it_is_built():
    (triton,) = map(Requirement, PROJECT["project"]["optional-dependencies"]["gpu"])
    assert triton.marker is not None

    def asked(system: str, machine: str) -> bool:
        return triton.marker.evaluate({"platform_system": system, "platform_machine": machine})

    assert asked("Linux", "x86_64")
    assert asked("Linux", "aarch64")
    assert not asked("Darwin", "arm64")
    assert not asked("Windows", "AMD64")
    # What CI interprets and compiles with are versions that the extra allows, and the oldest of those is among them.
    versions = re.findall(r"triton==([\d.]+)", read(".ci/run"))
    assert len(versions) == 2
    assert all(map(triton.specifier.contains, versions))
    assert f"{triton.specifier}.0" in {f">={version}" for version in versions}


# What users are told to install.

BY_NAME = re.compile(
    r"\b(?:install|add|uvx|run --with)\b[^\n`#]*[ '\"]regard(?:\[|['\"]|$|[ =<>~]\S*[\d\"'])|['\"]regard\["
)
WRITTEN = [
    path
    for path in (*ROOT.glob("*.*"), *(ROOT / ".github").rglob("*.*"), *(ROOT / "docs").rglob("*.*"))
    if path.suffix in (".md", ".yml", ".py", ".toml", ".txt", ".cff") and path.name != "pyproject.toml"
]


def test_nobody_is_told_to_install_the_name():
    """No index has regard, so whoever registered the name would get the installs."""
    for told in ("pip install regard", "pip install 'regard[train]'", 'uv add "regard"', "pip install -U regard==0.1"):
        assert BY_NAME.search(told), told
    for path in (*WRITTEN, *(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")):
        found = BY_NAME.search(path.read_text(encoding="utf-8"))
        assert not found, f"{path} says {found[0] if found else ''}"
    assert "pip install '.[train]'" in str(MissingExtraError("scipy", extra="train"))


# What runs elsewhere.


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_there_is(workflow):
    commands = [line for step in steps(workflow) for line in step.get("run", "").splitlines()]
    assert commands
    for command in commands:
        words = command.split()
        if words[0] == "make":
            assert words[1] in targets(), command
        for group in re.findall(r"--group (\w+)", command):
            assert group in PROJECT["dependency-groups"]
        for extras in re.findall(r"'\.\[([\w,]+)\]'", command):
            assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
        for module in re.findall(r"python -m (\w+)", command):
            assert module in ("venv", "pytest"), command


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_the_least_rights_and_pinned_actions(workflow):
    described = yaml.safe_load(workflow.read_text())
    assert described["permissions"] == {"contents": "read"}
    for name, job in described["jobs"].items():
        assert job["timeout-minutes"] <= 60
        assert job.get("permissions", {}) == ({"id-token": "write"} if name == "publish" else {})
    for step in steps(workflow):
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"]), step["uses"]
        # What an event names, such as a tag, gets into a command by its environment only.
        assert "${{" not in step.get("run", "")
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_the_matrix_has_what_the_package_says():
    described = yaml.safe_load(read(".github/workflows/ci.yml"))
    matrix = described["jobs"]["test"]["strategy"]["matrix"]["include"]
    pythons = {each["python"] for each in matrix}
    named = {each.rpartition(" ")[2] for each in PROJECT["project"]["classifiers"] if " :: 3." in each}
    assert pythons == named
    assert f">={min(pythons, key=_number)}" == PROJECT["project"]["requires-python"]
    torch = next(each for each in PROJECT["project"]["dependencies"] if each.startswith("torch"))
    assert torch == f"torch>={min((each['torch'] for each in matrix), key=_number)}"
    pinned = re.search(r"^torch==(\d+\.\d+)", read("constraints.txt"), re.MULTILINE)
    assert pinned is not None
    assert pinned[1] in {each["torch"] for each in matrix}


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_what_is_released_is_what_was_checked():
    described = yaml.safe_load(read(".github/workflows/release.yml"))
    # YAML reads the key `on` as True.
    assert described[True] == {"push": {"tags": ["v*"]}}
    build, publish = described["jobs"]["build"], described["jobs"]["publish"]
    assert any("make dist" in step.get("run", "") for step in build["steps"])
    assert publish["needs"] == "build"
    assert publish["environment"]
    assert [step["uses"].partition("@")[0] for step in publish["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]


@pytest.mark.parametrize("form", [path for path in FORMS if path.name != "config.yml"], ids=lambda path: path.name)
def test_issue_forms_are_whole(form):
    described = yaml.safe_load(form.read_text())
    assert described["name"]
    assert described["description"]
    fields = [each for each in described["body"] if each["type"] != "markdown"]
    assert len({each["id"] for each in fields}) == len(fields) > 0
    for each in fields:
        assert each["type"] in ("input", "textarea", "dropdown", "checkboxes")
        assert each["attributes"]["label"]


def test_a_bug_names_its_versions():
    assert {path.name for path in FORMS} == {"bug.yml", "config.yml", "feature.yml", "question.yml"}
    text = read(".github/ISSUE_TEMPLATE/bug.yml")
    assert "regard --version" in text
    assert "python -m torch.utils.collect_env" in text


def test_other_settings_parse():
    assert yaml.safe_load(read(".github/dependabot.yml"))["version"] == 2
    assert "blank_issues_enabled" in yaml.safe_load(read(".github/ISSUE_TEMPLATE/config.yml"))


def test_ci_runs_what_there_is():
    commands = re.findall(r"^make (\S+)$", read(".ci/run"), re.MULTILINE)
    assert commands
    assert set(commands) <= targets()
