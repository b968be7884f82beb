"""The page of two records of different sizes: all of its parts are there, whichever items have a partner."""

import numpy as np
import pytest

from page.live_records import layers, outcomes
from regard.inspection import DrawnGraph, DrawnMolecule, DrawnSound, Place, Record, comparison_of, live_page

PARTS = """
() => Object.fromEntries([...document.querySelectorAll("main section")].map((each) =>
  [each.className.split(" ")[0], each.innerText.split("\\n").filter((line) => line.trim()).length]))
"""


def atoms(count):
    positions = np.array([[each, each % 2] for each in range(count)], np.float32)
    bonds = np.array([[each, each + 1, 1] for each in range(count - 1)], np.int32).reshape(-1, 3)
    return DrawnMolecule(positions, bonds, ("",) * (count - 1) + ("OH",))


def nodes(count):
    edges = np.array([range(count - 1), range(1, count)], np.int32)
    return DrawnGraph(edges, np.array([[each / count, 0.5] for each in range(count)], np.float32))


def record(noun, count, drawn):
    """A record of an answer for the whole of so many items."""
    names = tuple(f"{noun} {each}" for each in range(1, count + 1))
    found = outcomes("labels", "item", [Place("the whole", None, "good", 0.625)], count, (2, 3))
    return Record(names, layers=layers(count), model="toy", noun=noun, input=drawn, outcomes=found)


MADE = {
    "molecules": lambda count: record("atom", count, atoms(count)),
    "graphs": lambda count: record("node", count, nodes(count)),
    "sounds": lambda count: record("frame", count, DrawnSound(np.zeros(80 * count, np.int16), 8000, 0.01)),
    "texts": lambda count: record("word", count, None),
}


@pytest.mark.parametrize("sizes", [(3, 5), (5, 3)])
@pytest.mark.parametrize("kind", MADE)
def test_all_parts_are_there(live, kind, sizes):
    both = tuple(map(MADE[kind], sizes))
    # An error of the script fails the test when the page is closed.
    page = live(live_page(both[0], ("one", "other"), against=both[1]))
    parts = page.evaluate(PARTS)
    assert list(parts) == ["compared-part", "heads-part", "map-part", "steps-part"]
    assert min(parts.values()) > 2
    shared = kind == "texts"
    assert page.locator(".compared tbody tr").count() == (max(sizes) if shared else sum(sizes))
    assert page.locator(".heads .tile").count() == 7
    assert page.locator(".steps-part [data-side]").count() == 2
    for told in comparison_of(*both).left_out:
        assert told in page.locator("footer").inner_text()
    alone = sum(None in pair for pair in comparison_of(*both).alignment.items)
    assert page.locator(".compared .only").all_inner_texts() == ["no partner"] * alone
    if not shared:
        # Each shows the item that it attended to most; where it is chosen, the other one still does.
        for side in range(2):
            line = page.locator(f'.side[data-side="{side}"] .line').inner_text()
            assert " · attended " in line
            assert "has no partner" not in page.locator(f'.steps-part [data-side="{side}"]').inner_text()
    for name in page.locator(".compared tbody button").evaluate_all("(all) => all.map((each) => each.dataset.id)"):
        page.click(f'[data-id="{name}"]')
        assert min(page.evaluate(PARTS).values()) > 2
    for key in ("ArrowRight", "ArrowDown", ".", "]", "a", "["):
        page.keyboard.press(key)
    assert page.evaluate(PARTS).keys() == parts.keys()
