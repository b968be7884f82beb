"""In a narrow window the lines between items lead from row to row between the words, and end at their own."""

import pytest

import regard
from page.live_records import document, seen

# Of each line the items that it runs over, besides its own two, and the items that its ends touch.
LINES = """
() => {
  const area = document.querySelector(".items").getBoundingClientRect();
  const items = [...document.querySelectorAll(".chips > li")].map((each) => [each, each.getBoundingClientRect()]);
  const over = (x, y, by) => items.filter(([, { left, right, top, bottom }]) =>
    x > left - by && x < right + by && y > top - by && y < bottom + by).map(([each]) => each.textContent);
  return [...document.querySelectorAll(".arcs path")].map((path) => {
    const all = path.getTotalLength();
    const points = Array.from({ length: 201 }, (_, i) => path.getPointAtLength(all * i / 200))
      .map(({ x, y }) => [x + area.left, y + area.top]);
    const [key, query] = [path.dataset.key, path.dataset.query].map(Number);
    return { key, query, crossed: points.flatMap((each) => over(...each, -1)),
      ends: [points[0], points.at(-1)].map((each) => over(...each, 2)), passes: new Set(points.map(([x]) => x)).size };
  });
}
"""
GO = """
(hash) => {
  history.replaceState(null, "", hash);
  dispatchEvent(new Event("popstate"));
}
"""
ROWS = """
(query) => new Set([...document.querySelectorAll(query)].map((each) => each.getBoundingClientRect().top)).size
"""


@pytest.mark.parametrize("width", [320, 390, 500])
def test_each_line_of_a_translation_ends_at_its_word_and_crosses_no_other(live, width):
    record = regard.load("german-english").see("Zwei Männer spielen im Park Fußball .", effects=False)
    page, lines = live(document(record), width=width), 0
    for query in range(1, len(record.queries) + 1):
        page.evaluate(GO, f"#place={query}&lang=en")
        assert page.evaluate(ROWS, ".written > li") > 1
        chosen = page.locator(".written .selected").inner_text().replace("\n", "")
        items = page.locator(".chips:not(.written) > li").all_inner_texts()
        for line in page.evaluate(LINES):
            assert line["crossed"] == []
            assert line["ends"] == [[chosen], [items[line["key"]]]]
            lines += 1
    assert lines > len(record.queries)


@pytest.mark.slow
def test_each_line_of_a_sentence_of_many_rows_crosses_no_word(live):
    text = "the quick brown fox jumps over the lazy dog and runs through the green garden to an old house"
    record = regard.load("english-pos").see(text, effects=False)
    page, across = live(document(record), width=390), 0
    # In so many rows a reader has to ask for lines.
    page.get_by_role("button", name="all lines").click()
    for layer, heads in enumerate((each.heads for each in record.layers), start=1):
        for head in range(1, heads + 1):
            page.evaluate(GO, f"#place=1&layer={layer}&head={head}&lang=en")
            assert page.evaluate(ROWS, ".chips > li") > 3
            # Beside each other, as a loop or an arc, they stand above their words.
            found = [each for each in page.evaluate(LINES) if each["key"] != each["query"]]
            assert [each["crossed"] for each in found] == [[]] * len(found)
            across += len(found)
    assert across > len(record.items)


def test_all_lines_leave_the_items_without_the_colours_of_one(live):
    page = live(document(seen()), width=900, reduced_motion="reduce")
    colours = "(all) => new Set(all.map((each) => getComputedStyle(each).backgroundColor)).size"
    chips = page.locator(".items .chips:not(.written) > li")
    assert chips.evaluate_all(colours) > 1
    page.get_by_role("button", name="all lines").click()
    page.locator(".items.all-lines").wait_for()
    assert chips.evaluate_all(colours) == 1
