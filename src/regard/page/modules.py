"""The page's own code: ES modules and a style sheet, real files in `web`, joined so that a page is one file.

A module imports names of others by `import { a, b } from "./other.js";`, each on a line of its own, and exports by the
word `export` before a declaration. No two modules may declare the same name, since all stand in one script. One may
import data by `import NAME from "./other.json" with { type: "json" };`, which becomes a constant.
"""

import base64
import hashlib
import json
import re
from functools import cache
from importlib import resources

__all__ = ["integrity", "joined", "style"]

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z_]+\.js)";\n', re.MULTILINE)
_DATA = re.compile(r'^import (\w+) from "\./([a-z_]+\.json)" with \{ type: "json" \};$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


@cache
def joined(first: str) -> str:
    """A module with all that it imports, each before those that need it, as one script without imports.

    Example:
        >>> script = joined("tiles.js")
        >>> "import " in script, "export " in script
        (False, False)
    """
    order: list[str] = []
    _visit(first, order)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", _source(name))) for name in order)


def _visit(name: str, order: list[str]) -> None:
    for other in _IMPORT.findall(_source(name)):
        if other not in order:
            _visit(other, order)
    if name not in order:
        order.append(name)


@cache
def _source(name: str) -> str:
    text = (resources.files("regard.page") / "web" / name).read_text(encoding="utf-8")
    return _DATA.sub(lambda found: f"const {found[1]} = {_compact(found[2])};", text)


def _compact(name: str) -> str:
    return json.dumps(json.loads(_source(name)), ensure_ascii=False, separators=(",", ":"))


def style(name: str) -> str:
    """A style sheet."""
    return _source(name)


def integrity(script: str) -> str:
    """The hash by which a content security policy allows a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
