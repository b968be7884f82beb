"""Nothing on the live page lies on something else or is cut: long numbers in columns, and numbers in drawings."""

import pytest

import regard
from page.live_records import RECORDS, document
from regard.inspection import live_page

# The texts that don't fit: a number that leaves its cell or tile, and one that leaves its drawing.
TOO_LONG = """
() => {
  const leaving = (query, around) => [...document.querySelectorAll(query)].filter((each) => {
    const own = each.getBoundingClientRect(), room = each.closest(around).getBoundingClientRect();
    const across = Math.max(room.left - own.left, own.right - room.right);
    return Math.max(across, room.top - own.top, own.bottom - room.bottom) > 1;
  }).map((each) => each.textContent);
  const lines = [...document.querySelectorAll(".compared .number, .after.numeric")]
    .filter((each) => each.textContent && each.getClientRects().length > 1).map((each) => each.textContent);
  const texts = [["td .number", "td"], [".after", ".tile"], [".nodes text", "svg"]];
  return [...texts.flatMap((each) => leaving(...each)), ...lines];
}
"""


@pytest.mark.parametrize("width", [1180, 761, 360])
def test_a_molecule_and_its_numbers_fit(live, width):
    pytest.importorskip("rdkit")
    record = regard.load("solubility").see("CC(=O)OC1=CC=CC=C1C(=O)O")
    page = live(live_page(record, ["aspirin"]), width=width)
    assert page.locator(".nodes text.number").count() > 3
    assert page.locator(".compared .number").count() == 24
    assert page.evaluate(TOO_LONG) == []


@pytest.mark.parametrize("width", [1180, 761, 360])
def test_small_and_large_changes_of_numbers_fit(live, width):
    page = live(document(RECORDS["a number"]()), width=width)
    assert any(len(each) > 7 for each in page.locator(".compared .number").all_inner_texts())
    assert page.evaluate(TOO_LONG) == []


def test_short_words_are_not_broken_in_a_narrow_window(live):
    record = regard.load("english-pos").see(["They", "can", "fish", "near", "the", "bank", "the", "."])
    page = live(live_page(record, ["sentence"]), width=390)
    lines = page.locator(".compared tbody th button").evaluate_all(
        """(all) => all.map((each) => {
          const range = document.createRange();
          range.selectNodeContents(each);
          const bottoms = [...range.getClientRects()].map(({ bottom }) => Math.round(bottom / 8));
          return [each.textContent, new Set(bottoms).size];
        })"""
    )
    assert len(lines) > 4
    assert [text for text, count in lines if count > len(text.split())] == []
