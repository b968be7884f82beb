"""Words, their arcs and numbers on paper: they stay together where lines break elsewhere than in the window."""

import re

import pytest

import regard
from page.live_records import document, generated, labels
from page.test_live_reading import LONG, many_heads
from regard.inspection import live_page
from regard.page.modules import joined

# What is printed is laid out without a script that could draw the arcs again: here in one go, for paper of a width, and
# with letters that are a little wider, as they may be on paper. By how much the ends of the arcs miss the chips, and by
# how much the figures are wider than the paper.
MISSED = """
(paper) => {
  dispatchEvent(new Event("beforeprint"));
  const live = document.querySelector(".live"), box = (each) => each.getBoundingClientRect();
  live.style.maxWidth = `${paper}px`;
  for (const each of document.querySelectorAll(".chip")) each.style.letterSpacing = "0.3px";
  const missed = [...document.querySelectorAll(".items")].flatMap((items) => {
    const chips = items.querySelectorAll(".chips:first-of-type > li:not(.edge)");
    const first = Number(items.querySelector(".chip[data-id^='item ']")?.dataset.id.slice(5) ?? 0);
    return [...items.querySelectorAll(".arcs path")].map((path) => {
      const { key } = path.dataset, { left, right, top, bottom } = box(
        items.querySelector(`.far[data-key="${key}"]`) ?? chips[key - first]);
      const { x, y } = path.getPointAtLength(path.getTotalLength()).matrixTransform(path.getScreenCTM());
      return Math.max(Math.abs(x - (left + right) / 2), Math.min(Math.abs(y - top), Math.abs(y - bottom)));
    });
  });
  const edge = box(live).right;
  return { missed, wider: [...document.querySelectorAll(".items")].map((each) => box(each).right - edge) };
}
"""
# In the same way, of each number how far it leaves its own chip, and the width of the figure beyond the paper.
LEAVING = """
(paper) => {
  dispatchEvent(new Event("beforeprint"));
  const live = document.querySelector(".live"), box = (each) => each.getBoundingClientRect();
  live.style.maxWidth = `${paper}px`;
  for (const each of document.querySelectorAll(".chip")) each.style.letterSpacing = "0.3px";
  const found = [...document.querySelectorAll(".chips .share")].map((each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    const own = box(range), room = box(each.closest("li"));
    return Math.max(room.left - own.left, own.right - room.right, room.top - own.top, own.bottom - room.bottom);
  });
  return { found, lines: document.querySelectorAll(".arcs path").length,
    wider: box(document.querySelector(".items")).right - box(live).right };
}
"""
WHERE = """
() => [...document.querySelectorAll(".chips li, .arcs path")].map((each) =>
  Object.values(each.getBoundingClientRect().toJSON()))
"""


def windowed(count=160):
    """A text of which the page shows a window, whose arcs lead to words in it and outside of it."""
    return labels(items=tuple(LONG[number % len(LONG)] for number in range(count)))


PAGES = {
    "one line": lambda: document(labels(items=LONG[:9])),
    "two lines": lambda: document(labels(items=LONG[:14]), query=5),
    "several lines": lambda: document(labels(items=LONG), query=5),
    "a window": lambda: document(windowed(), query=80, layer=2, head=2),
    "what was written": lambda: document(generated()),
    "two records": lambda: live_page(labels(items=LONG[:9]), against=labels(items=LONG[:12])),
}


def molecule():
    pytest.importorskip("rdkit")
    return live_page(regard.load("toxicity").see("CC(=O)Oc1ccccc1C(=O)O", effects=False), ["aspirin"])


# Which have numbers on their chips instead of arcs.
NUMBERED = ("several lines", "a window")


@pytest.mark.parametrize("width", [1280, 720])
@pytest.mark.parametrize("kind", [each for each in PAGES if each not in NUMBERED])
def test_each_arc_ends_at_its_word_on_paper(live, kind, width):
    page = live(PAGES[kind](), width=width)
    page.emulate_media(media="print")
    found = page.evaluate(MISSED, 680)
    assert len(found["missed"]) >= 3
    assert max(found["missed"]) <= 5
    assert max(found["wider"]) <= 0


@pytest.mark.parametrize("width", [1280, 720])
@pytest.mark.parametrize("kind", NUMBERED)
def test_each_number_stands_on_its_chip_on_paper(live, kind, width):
    page = live(PAGES[kind](), width=width)
    page.emulate_media(media="print")
    found = page.evaluate(LEAVING, 680)
    assert len(found["found"]) >= 3
    assert max(found["found"]) <= 0.5
    assert found["lines"] == 0
    assert found["wider"] <= 0


def test_printing_leaves_the_page_as_it_was(live):
    page = live(PAGES["two records"](), width=1280)
    page.evaluate("""() => addEventListener("beforeprint", () => {
      window.printed = [...document.querySelectorAll(".items")].map((each) => each.offsetWidth);
    })""")
    before = page.evaluate(WHERE)
    page.pdf(format="A4")
    assert page.evaluate("printed") == [880, 880]
    assert page.evaluate(WHERE) == before


@pytest.mark.parametrize("kind", PAGES)
def test_the_page_is_built_when_it_is_loaded(context, tmp_path, kind):
    """Who prints a page without looking at it does so when it is loaded, and not when it has been unpacked."""
    path, page = tmp_path / "page.html", context().new_page()
    path.write_text(PAGES[kind](), encoding="utf-8")
    page.add_init_script("""addEventListener("load", () => {
      window.atLoad = document.documentElement.classList.contains("ready");
    })""")
    page.goto(path.as_uri())
    assert page.evaluate("atLoad") is True


def test_what_fails_is_not_waited_for(script):
    found = script(
        joined("unloaded.js"),
        "[await beforeLoaded(Promise.resolve(x)), await beforeLoaded(Promise.reject(x)).catch((each) => each + 1)]",
        1,
    )
    assert found == [1, 2]


# On a sheet of A4 within its margins: where the parts begin; how high what isn't broken is, as a share of the sheet;
# what reaches beyond the right edge; and the margins that the page asks for, without which frames at the edge are cut.
SHEET = """
() => {
  const box = (each) => each.getBoundingClientRect(), all = [...document.querySelectorAll(".live, .live *")];
  const seen = all.filter((each) => each.checkVisibility() && !each.closest(".hidden, .arcs"));
  const whole = seen.filter((each) => getComputedStyle(each).breakInside === "avoid");
  return {
    left: [...document.querySelectorAll(".columns > section")].map((each) => Math.round(box(each).left)),
    whole: whole.filter((each) => !each.matches(".items, .drawn, .map")).map((each) => box(each).height / innerHeight),
    kinds: [...new Set(whole.map((each) => each.tagName))],
    beyond: seen.filter((each) => box(each).right > innerWidth + 0.5).map((each) => each.outerHTML.slice(0, 80)),
    margins: [...document.styleSheets].flatMap(({ cssRules }) => [...cssRules])
      .filter((each) => each instanceof CSSPageRule).map(({ style }) => style.margin),
  };
}
"""


@pytest.mark.parametrize(("kind", "most"), [("one line", 2), ("several lines", 2), ("two records", 3)])
def test_sheets_are_filled(live, kind, most):
    """Parts of the page stand below each other, need no sheets of their own, and leave little of a sheet empty."""
    page = live(PAGES[kind](), width=1280)
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= most
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1031})
    found = page.evaluate(SHEET)
    assert len(found["left"]) >= 4
    assert len(set(found["left"])) == 1
    assert {"TR", "BUTTON", "P", "CANVAS"} <= set(found["kinds"])
    assert "SECTION" not in found["kinds"]
    assert max(found["whole"]) < 0.1


@pytest.mark.parametrize("kind", [*PAGES, "many heads", "a molecule"])
def test_nothing_is_cut_at_the_right_edge_of_a_sheet(live, kind):
    made = {"many heads": lambda: document(many_heads(3, 24)), "a molecule": molecule}
    page = live({**PAGES, **made}[kind](), width=1280)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1031})
    found = page.evaluate(SHEET)
    assert found["margins"] == ["12mm"]
    assert found["beyond"] == []


ROWS = """() => {
  const box = document.querySelector(".heads");
  const tops = (each) => new Set([...each.querySelectorAll(".tile")].map((tile) => tile.offsetTop)).size;
  const scrolls = box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1;
  return { rows: [...box.querySelectorAll(".layer")].map(tops), scrolls, bars: box.offsetWidth - box.clientWidth };
}"""


@pytest.mark.parametrize(("layers", "heads", "rows"), [(2, 4, 1), (2, 6, 2), (12, 24, None)])
@pytest.mark.parametrize("place", ["paper", "narrow"])
def test_heads_stand_in_rows_and_nothing_scrolls(live, place, layers, heads, rows):
    """On paper, and in a narrow window, where many heads alone have a box that scrolls."""
    page = live(document(many_heads(layers, heads)), width=390 if place == "narrow" else 1180)
    if place == "paper":
        page.emulate_media(media="print")
        # Within margins of A4.
        page.set_viewport_size({"width": 718, "height": 1000})
    found = page.evaluate(ROWS)
    if rows:
        assert found["rows"] == [rows] * layers
    if rows or place == "paper":
        assert not found["scrolls"]
        assert found["bars"] == 0
