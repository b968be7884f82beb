"""The page says the same sentence as Python where the largest numbers read the same, or where no effect can be seen."""

import pytest

from page.live_records import document
from page.tied_records import TIED


@pytest.mark.parametrize("name", TIED)
def test_the_sentence_is_that_of_python(live, name):
    record, english, chinese = TIED[name]
    page = live(document(record))
    assert page.locator(".sentence").inner_text() == english
    page.evaluate("location.hash = '#lang=zh'")
    page.wait_for_function("document.documentElement.lang.startsWith('zh')")
    assert page.locator(".sentence").inner_text() == " ".join(chinese.split())


def test_each_of_several_names_has_its_colour(live):
    page = live(document(TIED["two weights"][0]))
    assert page.locator(".sentence b.weight").all_inner_texts() == ['"a"', '"b"']
    page = live(document(TIED["two effects, one of the attended"][0]))
    assert page.locator(".sentence b.effect").all_inner_texts()[:2] == ["it", '"b"']
