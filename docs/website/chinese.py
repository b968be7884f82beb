"""Chinese pages: lines joined without a space, search by pairs of characters, and links between the languages."""

import re
from pathlib import Path
from typing import Any

from sphinx.search.zh import SearchChinese

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
RUN = re.compile(rf"[{HAN}]+")
# A line that ends, and one that begins, with a Chinese character or with punctuation of one.
BREAK = re.compile(rf"(?<=[{HAN}、。，：；？！（）“”])\n(?=[{HAN}（“”])")


class BigramSearch(SearchChinese):
    """Sphinx's own search in Chinese needs a dictionary to find words; pairs of characters need none."""

    # Names the stemmer in the browser. It is the English one; Sphinx 9.0 names a Chinese one, which isn't there.
    language_name = "English"
    js_splitter_code = """
var splitQuery = (query) => {
  const terms = [];
  for (const run of query.match(/[HAN]+|(?:(?![HAN])[\\p{Letter}\\p{Number}_])+/gu) || []) {
    const pairs = /^[HAN]{3,}$/u.test(run) ? [...run].slice(1).map((each, i) => run[i] + each) : [run];
    terms.push(...pairs);
  }
  return terms;
};
""".replace("HAN", HAN.encode("ascii", "backslashreplace").decode())

    def split(self, input: str) -> list[str]:
        pairs = [run[i : i + 2] for run in RUN.findall(input) for i in range(max(1, len(run) - 1))]
        return pairs + super().split(input)


def join_lines(app: Any, docname: str, source: list[str]) -> None:
    if app.config.language.startswith("zh"):
        source[0] = BREAK.sub("", source[0])


def switch_language(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Link a page to its translation, and a page without one to the first page in the other language."""
    chinese = app.config.language.startswith("zh")
    names = RENAMED if chinese else {english: own for own, english in RENAMED.items()}
    other = names.get(pagename, pagename)
    root = Path(app.srcdir).parent if chinese else Path(app.srcdir) / "zh"
    found = other if (root / f"{other}.md").exists() else "index"
    context["other_page"] = f"{'..' if chinese else 'zh'}/{found}.html"


RENAMED = {"notes": "explanation/notes"}
"""The Chinese pages that lie elsewhere than the English ones."""


def setup(app: Any) -> dict[str, bool]:
    app.add_search_language(BigramSearch)
    app.connect("source-read", join_lines, priority=900)
    app.connect("html-page-context", switch_language)
    return {"parallel_read_safe": True}
