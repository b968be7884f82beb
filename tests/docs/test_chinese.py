"""Chinese text has full-width punctuation: on the pages, in the steps and on the page of a record."""

import re
from pathlib import Path

import pytest

from regard.inspection.steps import EXAMPLES
from regard.inspection.steps.phrases import phrases

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.zh.md", *sorted((ROOT / "docs" / "zh").rglob("*.md"))]
SCRIPTS = sorted((ROOT / "src" / "regard" / "page" / "web").rglob("*.js"))

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
CHINESE = f"\u3001-\u303f{HAN}\uff00-\uffef"
# A number may begin with a point, and a formula may begin and end with a parenthesis.
HALF_WIDTH = re.compile(
    rf"[{CHINESE}](?: ?[,:;?!]|\.(?!\d)|[()])|[{HAN}] \((?!\d)|(?:[,:;?!] ?|[.(])[{CHINESE}]|\)[{HAN}]"
)
FENCE = re.compile(r"^```(\w*).*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
MARKUP = re.compile(r"<!--.*?-->|<[^<>]*>|^ *\d+\. |\]\([^)\s]*\)|!?\[|\*", re.MULTILINE)


def half_width(text: str) -> list[str]:
    """The half-width punctuation beside Chinese, each with some of the text around it."""
    return [text[max(0, each.start() - 12) : each.end() + 12] for each in HALF_WIDTH.finditer(text)]


def prose(page: str) -> str:
    """A page of Markdown without markup; of its code only the comments are left."""
    text = FENCE.sub(lambda block: "\n".join(re.findall(r"# (.*)", block[2])) if block[1] != "text" else "", page)
    # A piece of code is a word of the sentence that it stands in.
    text = CODE.sub("码", text)
    return MARKUP.sub("", text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_page_has_full_width_punctuation(path):
    assert half_width(prose(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_the_page_of_a_record_has_full_width_punctuation(path):
    assert half_width(path.read_text(encoding="utf-8")) == []


def test_the_steps_have_full_width_punctuation():
    said = [*phrases("zh").values(), *(text["zh"] for each in EXAMPLES.values() for text in (each.title, each.about))]
    assert [found for text in said for found in half_width(text)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        "先看,再说",
        "用 `a`,再用 `b`",
        "独热(one-hot)",
        "权重 (见下文)",
        "见[下文](#a):图",
        "好吗?",
        "见图.",
        "# 一:二",
        "```sh\nregard lab # 先看,再说\n```\n",
    ],
)
def test_half_width_punctuation_is_found(wrong):
    assert half_width(prose(wrong))


@pytest.mark.parametrize(
    "right",
    [
        "先看，再说",
        "`f(a, b)` 与 [图](a.md#b) 一样：1,000 项",
        "和为 b = (1, 2) 时",
        "1. 输入本身",
        "```text\n好, 好.\n```\n",
        "```python\nprint('好, 好')\n```\n",
    ],
)
def test_other_punctuation_is_not(right):
    assert half_width(prose(right)) == []
