"""Studies: what is planned, and what is refused."""

import json

import pytest

from lab.sample_studies import COINS, LINES, POINTS, coin
from regard.errors import ArgumentError, UnknownNameError
from regard.lab import Along, Claim, Study


def test_variants_take_turns_within_each_seed():
    assert [(each.seed, each.variant) for each in COINS.planned(seeds=2)] == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]


def test_a_quantity_within_the_runs_is_told_to_each_and_another_one_multiplies_them():
    assert [each.setting for each in LINES.planned(seeds=1)] == [
        {"slope": 0.1, "n": [1, 2, 3]},
        {"slope": -0.1, "n": [1, 2, 3]},
    ]
    assert [each.setting["n"] for each in POINTS.planned(seeds=1)] == [1, 1, 2, 2]


def test_the_full_size_has_its_own_settings_and_values():
    study = Study(
        "s",
        "?",
        coin,
        {"a": {}},
        (Claim("a", 0.0),),
        settings={"size": 1, "epochs": 2},
        full={"size": 100},
        along=Along("n", (1,), full=(1, 10)),
    )
    assert [each.setting for each in study.planned(seeds=1)] == [{"size": 1, "epochs": 2, "n": 1}]
    assert [each.setting for each in study.planned(seeds=1, full=True)] == [
        {"size": 100, "epochs": 2, "n": 1},
        {"size": 100, "epochs": 2, "n": 10},
    ]


def test_equal_runs_have_equal_keys_and_others_have_not():
    first, again = COINS.planned(seeds=2), COINS.planned(seeds=3)
    assert [each.key for each in again[:4]] == [each.key for each in first]
    assert len({each.key for each in again}) == len(again)


def test_the_digest_of_the_function_ignores_comments_and_knows_its_code(tmp_path, monkeypatch):
    codes = []
    for number, body in enumerate(("return {}  # one", "return {}", "return {'accuracy': 1.0}")):
        (tmp_path / f"digested{number}.py").write_text(f"def run(setting, seed):\n    {body}\n")
        monkeypatch.syspath_prepend(tmp_path)
        run = __import__(f"digested{number}").run
        codes.append(Study("s", "?", run, {"a": {}}, (Claim("a", 0.0),)).code)
    assert codes[0] == codes[1] != codes[2]


def run_of_the_digest(setting: dict, seed: int) -> dict[str, float]:
    """A function with what newer versions of Python parse to other trees."""
    name = f"{setting['name']!r}: {seed:>3}"
    return {"length": float(len(name)), "a": 1.0}


def test_the_digest_is_the_same_in_all_versions_of_python():
    """Results come with the package, whatever Python it is used with."""
    study = Study("s", "?", run_of_the_digest, {"a": {}}, (Claim("a", 0.0),))
    assert study.code == "e5f63e1cce2b"


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"variants": {}}, ArgumentError, "`variants` must not be empty"),
        ({"claims": ()}, ArgumentError, "`claims` must not be empty"),
        ({"seeds": 1}, ArgumentError, "`seeds` must be at least 2"),
        ({"claims": (Claim("aa", "b"),)}, UnknownNameError, "Did you mean 'a'"),
        ({"claims": (Claim("a", "c"),)}, UnknownNameError, "`variant` must be one of a, b"),
        ({"claims": (Claim("a", "b", measure="acuracy"),)}, UnknownNameError, "Did you mean 'accuracy'"),
    ],
)
def test_what_can_not_be_answered_is_refused(changes, error, said):
    given = {"variants": {"a": {}, "b": {}}, "claims": (Claim("a", "b"),)} | changes
    with pytest.raises(error, match=said):
        Study("s", "?", coin, **given)


def test_settings_are_json():
    json.dumps([each.setting for each in COINS.planned()])
    with pytest.raises(ArgumentError, match="increasing"):
        Along("n", (2, 1))
    with pytest.raises(ArgumentError, match="`notes`"):
        Claim("a", "b", notes="perhaps")
