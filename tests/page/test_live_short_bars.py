"""Of many heads, bars that no reader could measure are left out, and the key says so."""

from dataclasses import replace

import pytest
import torch

from page.live_records import document
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record

HEADS, COUNT = 24, 5
LEFT_OUT = "Bars for the change of the answer without it would be too short to read."
# The longest bar that can be seen below a head, in pixels.
LONGEST = """() => Math.max(...[...document.querySelectorAll(".tile")].map((each) => {
  const { width, visibility } = getComputedStyle(each, "::after");
  return visibility === "visible" ? parseFloat(width) : 0;
}))"""


def record(change, kind="labels", floor=None, heads=HEADS):
    """One answer for the whole, which one of the heads changes by so much, and the others by a tenth of that."""
    torch.manual_seed(0)
    weights = torch.rand(heads, COUNT, COUNT).softmax(-1)
    label, score = {"labels": ("good", 0.9), "numbers": ("2.00", None), "vectors": ("", None)}[kind]

    def outcome(size):
        if kind == "labels":
            return Outcome(label, score - size, -size, floor)
        return Outcome(f"{2 + size:.2f}" if kind == "numbers" else "", None, size, floor)

    removed = (tuple((outcome(change / (1 if head == 3 else 10)),) for head in range(heads)),)
    hidden = tuple((outcome(0.0),) for _ in range(COUNT))
    error = 1.0 if kind == "numbers" else None
    found = Outcomes(kind, "item", (Place("the whole", None, label, score),), hidden, removed, error=error)
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    return Record(tuple("abcde"), layers=(layer,), model="toy", noun="word", outcomes=found)


def key_of(page):
    return page.inner_text(".heads-key")


@pytest.mark.parametrize("width", [1180, 390])
@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (0.02, "labels"),
        (0.01, "labels"),
        (0.001, "labels"),
        (0.0, "labels"),
        (0.04, "numbers"),
        (0.02, "vectors"),
    ],
)
def test_bars_of_a_few_pixels_are_left_out_and_told(live, width, change, kind):
    page = live(document(record(change, kind)), width=width)
    assert page.evaluate(LONGEST) == 0
    assert key_of(page) == f"Below each head: its number. {LEFT_OUT}"
    page.evaluate("location.hash = '#lang=zh'")
    page.locator(".heads-key", has_text="短得看不清").wait_for()


@pytest.mark.parametrize(("change", "kind"), [(0.3, "labels"), (0.8, "numbers"), (0.4, "vectors")])
def test_longer_bars_are_drawn(live, change, kind):
    page = live(document(record(change, kind)))
    assert page.evaluate(LONGEST) > 4
    assert key_of(page) == "Below each head: its number, and a bar for the change of the answer without it."


def test_what_the_widest_window_leaves_out_depends_on_its_bars(live):
    """A bar of five pixels in tiles of 56 has less than four in those of 24."""
    made = record(0.05, heads=8)
    page = live(document(made))
    longest = page.evaluate(LONGEST)
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_timeout(200)
    assert longest > 4
    narrow = page.evaluate(LONGEST)
    assert (narrow == 0) == (LEFT_OUT in key_of(page))
    assert narrow == 0 or narrow > 4
    page.set_viewport_size({"width": 1180, "height": 900})
    page.wait_for_timeout(200)
    assert page.evaluate(LONGEST) == longest
    assert LEFT_OUT not in key_of(page)


def test_bars_that_are_left_out_are_not_called_pale(live):
    for change, is_drawn in ((0.02, False), (0.3, True)):
        page = live(document(record(change, floor=0.9)))
        assert ("Pale bars can't be told from noise." in key_of(page)) is is_drawn


@pytest.mark.parametrize("width", [1180, 390, 320])
def test_the_numbers_of_many_heads_have_eleven_pixels_and_stay_in_their_tiles(live, width):
    page = live(document(record(0.02)), width=width)
    found = page.evaluate("""() => [...document.querySelectorAll(".tile")].map((each) => {
      const text = each.querySelector(".under > span");
      const inner = text.getBoundingClientRect(), outer = each.getBoundingClientRect();
      return [parseFloat(getComputedStyle(text).fontSize), inner.left - outer.left, outer.right - inner.right];
    })""")
    assert len(found) == HEADS + 1
    assert min(size for size, _, _ in found) >= 11
    assert min(min(left, right) for _, left, right in found) >= 0


def test_without_measured_changes_nothing_is_told_of_bars(live):
    made = record(0.02)
    page = live(document(replace(made, outcomes=replace(made.outcomes, removed=()))))
    assert key_of(page) == ""
