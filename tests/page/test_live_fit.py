"""Nothing on the live page lies on something else or is cut: long numbers in columns, and numbers in drawings."""

import numpy as np
import pytest

import regard
from page.live_records import RECORDS, document, labels
from page.test_live_drawn import picture, record
from regard.inspection import DrawnGraph, DrawnMolecule, DrawnSound, live_page
from regard.page.numbers import probability

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
    page = live(live_page(record, ["aspirin"]), "#layer=1&head=4&lang=en", width=width)
    assert page.locator(".nodes text.number").count() > 3
    assert page.locator(".compared .number").count() == 26
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


# How wide the document is beyond its window, and the words of which one line has not all letters.
BROKEN_WORDS = """
() => {
  const root = document.documentElement, found = [root.scrollWidth - root.clientWidth];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const { data, parentElement } = walk.currentNode;
    if (parentElement.closest("script, style, dialog, svg, .hidden") || !parentElement.checkVisibility()) continue;
    for (const { 0: word, index } of data.matchAll(/[\\p{Script=Latin}\\d%.,’]+/gu)) {
      const range = document.createRange();
      range.setStart(walk.currentNode, index);
      range.setEnd(walk.currentNode, index + word.length);
      const tops = [...range.getClientRects()].filter(({ width }) => width).map(({ top }) => Math.round(top / 6));
      if (new Set(tops).size > 1) found.push(word);
    }
  }
  return found;
}
"""
LONG_WORDS = [
    "Internationalization",
    "of",
    "telecommunications",
    "lay",
    "nevertheless",
    "near",
    "Featherstonehaugh",
    ".",
]


@pytest.mark.parametrize("width", [1180, 761, 480, 390, 320])
@pytest.mark.parametrize("noise", [0, 19])
def test_neither_long_words_nor_noise_widen_a_narrow_page(live, width, noise):
    record = regard.load("english-pos").see(LONG_WORDS, noise=noise)
    page = live(live_page(record, ["sentence"]), width=width)
    assert page.locator(".compared tbody tr").count() > 4
    for lang in ("en", "zh"):
        for place in (1, 3, 7):
            page.evaluate(f"location.hash = '#place={place}&lang={lang}'")
            page.locator(f'[data-id="item {place - 1}"][aria-pressed="true"]').wait_for()
            assert page.evaluate(BROKEN_WORDS) == [0]


CHANGES = [-0.6, 0.0, 0.3, 0.0, -0.2, 0.0]
POSITIONS = np.array([[0, 0], [1, 0], [2, 0], [2, 1], [1, 1], [0, 1]], np.float32)
EDGES = np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], np.int32)
DRAWN = {
    "picture": lambda: picture(CHANGES),
    "sound": lambda: record(
        CHANGES,
        DrawnSound(np.zeros(480, np.int16), 8000, 0.01),
        "frame",
        tuple(f"{each / 100:.2f} s" for each in range(6)),
    ),
    "graph": lambda: record(CHANGES, DrawnGraph(EDGES, POSITIONS / 3), "node"),
    "molecule": lambda: record(
        CHANGES, DrawnMolecule(POSITIONS, np.array([*EDGES, [1] * 5], np.int32).T, ("", "", "O", "", "N", "")), "atom"
    ),
}


@pytest.mark.parametrize("width", [761, 390])
@pytest.mark.parametrize("name", [*RECORDS, *DRAWN, "two"])
def test_no_page_is_wider_than_its_window(live, name, width):
    if name == "two":
        text = live_page(labels(), ("one", "other"), against=labels("next"))
    else:
        text = document({**RECORDS, **DRAWN}[name]())
    page = live(text, width=width)
    assert page.evaluate(BROKEN_WORDS) == [0]
    for each in page.locator("details").all():
        each.evaluate("(each) => { each.open = true; }")
    assert page.evaluate(BROKEN_WORDS) == [0]


def test_every_probability_is_written_in_a_narrow_window(live):
    record = regard.load("english-pos").see(["They", "can", "fish", "near", "the", "bank", "of", "the", "river", "."])
    assert sum(score > 0.995 for score in record.scores) > 3
    page = live(live_page(record, ["sentence"]), width=390)
    assert page.locator(".items.lines").count() == 1
    found = page.locator(".items .chip .label").all_inner_texts()
    assert found == [f"{label} {probability(score)}" for label, score in zip(record.labels, record.scores, strict=True)]
