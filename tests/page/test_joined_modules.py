import re
from collections import Counter
from importlib import resources

import pytest

from regard.page.modules import joined

WEB = resources.files("regard.page") / "web"
FILES = sorted(each.name for each in WEB.iterdir() if each.name.endswith(".js"))
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)


def names_in(file):
    return DECLARED.findall((WEB / file).read_text(encoding="utf-8"))


def test_no_two_modules_declare_the_same_name():
    # They stand in one script, in which a second declaration is an error.
    counts = Counter(name for file in FILES for name in names_in(file))
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("file", FILES)
def test_a_module_imports_what_others_export(file):
    text = (WEB / file).read_text(encoding="utf-8")
    for names, other in re.findall(r'^import \{([^}]*)\} from "\./([a-z_]+\.js)";$', text, re.MULTILINE):
        exported = set(
            re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", (WEB / other).read_text(), re.M)
        )
        assert {name.strip() for name in names.split(",")} <= exported
    # Any other form of import would stay in the joined script.
    forms = r'^import (?:\{[^}]*\} from "\./[a-z_]+\.js"|\w+ from "\./[a-z_]+\.json" with \{ type: "json" \});$'
    assert len(re.findall(r"^import ", text, re.MULTILINE)) == len(re.findall(forms, text, re.MULTILINE))


@pytest.mark.parametrize("file", ["main.js", "live.js", "worker.js"])
def test_a_joined_script_has_each_module_once_and_no_import(file):
    script = joined(file)
    assert not re.search(r"^(?:import|export) ", script, re.MULTILINE)
    declared = DECLARED.findall(script)
    assert len(declared) == len(set(declared))
    assert set(names_in(file)) <= set(declared)
