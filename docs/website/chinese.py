"""Chinese pages: lines that are joined without a space, and search by pairs of characters."""

import re
from typing import Any

from sphinx.search.zh import SearchChinese

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
RUN = re.compile(rf"[{HAN}]+")
# A line that ends, and one that begins, with a Chinese character or with punctuation of one.
BREAK = re.compile(rf"(?<=[{HAN}、。,:;“”])\n(?=[{HAN}“”])")


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


def setup(app: Any) -> dict[str, bool]:
    app.add_search_language(BigramSearch)
    app.connect("source-read", join_lines, priority=900)
    return {"parallel_read_safe": True}
