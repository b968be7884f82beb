"""The live page for everybody: nothing that axe objects to, narrow, large, printed, in the reader's own colours."""

import pytest

from page.browser import axe
from page.live_records import RECORDS, document, labels, layers, record_of_calls, seen
from regard.page.numbers import percent

WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(live, scheme, lang):
    page = live(document(seen(), labels()), f"#lang={lang}", color_scheme=scheme)
    assert axe(page) == []
    page.click("summary")
    page.focus("canvas.map")
    page.keyboard.press("ArrowRight")
    assert axe(page) == []
    for name in ("help", "find"):
        page.keyboard.press({"help": "?", "find": "/"}[name])
        page.keyboard.type("s")
        assert axe(page) == []
        page.keyboard.press("Escape")


@pytest.mark.parametrize("name", ["a label, pooled", "labels, several", "generated", "seen vectors"])
def test_axe_finds_nothing_whatever_is_answered(live, name):
    assert axe(live(document(RECORDS[name]()))) == []


def test_axe_finds_nothing_where_a_long_text_has_a_window(live):
    assert axe(live(document(record_of_calls(*layers(200))))) == []


@pytest.mark.parametrize("width", [320, 360])
@pytest.mark.parametrize("name", ["seen", "a label, pooled", "labels, several", "generated"])
def test_a_narrow_page_scrolls_in_one_direction(live, width, name):
    page = live(document(RECORDS[name](), labels()), width=width, height=640)
    assert page.evaluate(WIDE) == 0
    page.keyboard.press("?")
    assert page.evaluate(WIDE) == 0
    dialog = page.locator("dialog[open]").bounding_box()
    assert 0 <= dialog["x"] <= dialog["x"] + dialog["width"] <= width


def test_letters_twice_as_large_are_there_to_read(live):
    """A reader's own size of letters; what is larger than its box would be cut off."""
    page = live(document(seen()), width=640)
    before = page.evaluate("getComputedStyle(document.querySelector('.compared td')).fontSize")
    page.add_style_tag(content=":root { font-size: 200% }")
    page.evaluate("dispatchEvent(new Event('popstate'))")
    after = page.evaluate("getComputedStyle(document.querySelector('.compared td')).fontSize")
    assert float(after[:-2]) == 2 * float(before[:-2])
    assert page.evaluate(WIDE) == 0
    cut = page.evaluate("""() => [...document.querySelectorAll("button, td, th, p, dd, h2, li")]
      .filter((each) => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)
      .map((each) => each.textContent)""")
    assert cut == []


@pytest.mark.parametrize("media", [{"forced_colors": "active"}, {"media": "print"}, {"reduced_motion": "reduce"}])
def test_the_numbers_are_there_in_every_medium(live, media):
    record = seen()
    page = live(document(record))
    page.emulate_media(**media)
    numbers = page.locator(".compared .number")
    assert numbers.count() == 10
    for number in numbers.all():
        assert number.is_visible()
        assert number.text_content()
    weights = record.layers[-1].weights().double().mean(0)
    _, place = page.locator(".selected .chip").get_attribute("data-id").split()
    assert page.locator(".compared .number").first.text_content() == percent(float(weights[int(place), 0]))
    assert page.locator(".sentence").is_visible()
    assert page.evaluate(WIDE) == 0


def test_bars_have_room_on_a_sheet_of_paper(live):
    """Of A4 between its margins, 720 pixels: the longest bar is seen to be long."""
    page = live(document(seen()), width=720)
    page.emulate_media(media="print")
    for kind in ("weight", "effect"):
        widths = page.locator(f".compared .bar.{kind}").evaluate_all("(all) => all.map((each) => each.offsetWidth)")
        assert max(widths) > 60


def test_targets_are_large_enough(live):
    """24 by 24 pixels, as WCAG 2.2 asks."""
    page = live(document(seen(), labels()))
    small = page.evaluate("""() => [...document.querySelectorAll("button, select, summary, canvas[tabindex]")]
      .filter((each) => each.checkVisibility())
      .filter((each) => { const { width, height } = each.getBoundingClientRect(); return width < 24 || height < 24; })
      .map((each) => each.outerHTML)""")
    assert small == []


def test_what_changes_is_told(live):
    """A screen reader hears the sentence of a choice, and the weight under the cursor."""
    page = live(document(seen()))
    spoken = page.evaluate("[...document.querySelectorAll('[aria-live]')].map((each) => each.className)")
    assert spoken == ["sentence", "quiet line"]
    tree = page.locator("main").aria_snapshot()
    for part in (
        '- region "Attended beside mattered"',
        '- region "Heads"',
        'columnheader "mattered',
        "- 'img \"All words",
    ):
        assert part in tree
    assert page.locator('[aria-pressed="true"].tile').count() == 1
