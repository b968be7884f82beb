"""Lines of a program: never wrapped, escaped, and read out one by one."""

from regard.page import Code, Page, as_html, as_text

LINES = "if x < 1:\n    print('a very long line, which is longer than the terminal is wide')\n\nend\x1b[31m"


def test_text_keeps_each_line_and_its_indent():
    lines = as_text(Page("", (Code(LINES),)), width=40).splitlines()
    assert lines[:3] == LINES.splitlines()[:3]
    assert lines[3] == "end\\x1b[31m"


def test_html_is_escaped_and_can_be_reached_by_keyboard():
    text = as_html(Page("p", (Code(LINES),)))
    assert '<pre class="wide" tabindex="0"><code>if x &lt; 1:\n    print' in text
    assert "\x1b" not in text


def test_sentences_have_no_empty_line():
    assert as_text(Page("", (Code("a\n\n b"),)), plain=True).splitlines() == ["a", " b"]
