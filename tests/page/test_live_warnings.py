"""The live page says why an answer may be wrong, above the sentence, and what it means that an item is hidden."""

from dataclasses import replace

import pytest

from page.live_records import document, labels, not_measured
from page.test_live_difference import made
from regard.inspection import live_page
from regard.page.messages import say

HOSTILE = "'<img src=x onerror=alert(1)>' is unlike \x1b[31mall others."
OTHER = "it is longer than any."
SHOWN = """
() => [...document.querySelectorAll(".warning")].filter((each) => each.checkVisibility()).map((each) => each.innerText)
"""
HIDING = "(text) => [...document.querySelectorAll('.compared-part p')].filter((each) => each.innerText === text).length"


@pytest.mark.parametrize(("width", "lang"), [(1180, "en"), (390, "zh")])
def test_they_stand_between_the_items_and_the_sentence(live, width, lang):
    record = replace(labels(), warnings=(HOSTILE, OTHER))
    page = live(document(record), f"#lang={lang}", width=width)
    shown = page.evaluate(SHOWN)
    assert shown[1] == say("warning", lang, text=OTHER)
    assert shown[0].startswith(say("warning", lang, text="'<img src=x onerror=alert(1)>'"))
    assert "\x1b" not in shown[0]
    assert page.locator("img").count() == 0
    tops = [page.locator(each).first.bounding_box()["y"] for each in (".live .items", ".warning", ".live .sentence")]
    assert tops == sorted(tops)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_each_record_has_its_own(live):
    text = document(replace(labels(), warnings=(OTHER,)), labels())
    assert live(text).evaluate(SHOWN) == [say("warning", text=OTHER)]
    assert live(text, "#record=2").evaluate(SHOWN) == []


def test_of_two_each_side_has_its_own(live):
    one, other = made(("a", "saw"), 1), made(("a", "cat"), 2)
    page = live(live_page(one, ["one", "other"], against=replace(other, warnings=(OTHER,))))
    sides = page.locator(".sides > .side")
    assert [sides.nth(side).locator(".warning").all_inner_texts() for side in (0, 1)] == [
        [],
        [say("warning", text=OTHER)],
    ]
    assert page.evaluate(HIDING, say("hiding")) == 1


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_hiding_is_defined_where_something_was_hidden(live, lang):
    assert live(document(labels()), f"#lang={lang}").evaluate(HIDING, say("hiding", lang)) == 1
    page = live(document(not_measured()), f"#lang={lang}")
    assert page.evaluate(HIDING, say("hiding", lang)) == 0
    measuring = {"command": "regard see --effects", "call": "see(..., effects=True)"}
    assert page.evaluate(HIDING, say("noEffects", lang, **measuring)) == 1
