"""A sound on the page: the marks of its ruler meet the edges of frames, and no frame is drawn beyond its end."""

from itertools import product

import numpy as np
import pytest

from page.live_records import document
from page.test_live_drawn import record
from regard.inspection import DrawnSound
from regard.page.modules import joined

# Redrawn, as wide and as high as it is: the marks of the ruler, where its texts stand, and the frames around items.
DRAWN = """
() => {
  const canvas = document.querySelector('canvas[data-id="sound"]'), drawing = CanvasRenderingContext2D.prototype;
  const own = Object.fromEntries(["fillRect", "fillText", "strokeRect"].map((name) => [name, drawing[name]]));
  const found = { marks: [], texts: [], frames: [], width: canvas.clientWidth };
  const isOf = (context) => context.canvas === canvas;
  drawing.fillRect = function (...box) {
    if (isOf(this) && box[2] === 1 && box[3] === 5) found.marks.push(box[0]);
    return own.fillRect.apply(this, box);
  };
  drawing.fillText = function (text, ...rest) {
    if (isOf(this)) found.texts.push(text);
    return own.fillText.call(this, text, ...rest);
  };
  drawing.strokeRect = function (...box) {
    if (isOf(this)) found.frames.push(box);
    return own.strokeRect.apply(this, box);
  };
  for (const key of ["ArrowLeft", "ArrowRight"]) {
    found.marks.length = found.texts.length = found.frames.length = 0;
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }
  Object.assign(drawing, own);
  return found;
}
"""


def sound(samples, count, step=0.04, rate=8000):
    drawn = DrawnSound(np.zeros(samples, np.int16), rate, step)
    return record([0.0] * count, drawn, "frame", tuple(f"{step * number:.2f} s" for number in range(count)))


def at_item(text, item):
    return {"text": text, "hash": f"#record=1&place=1&layer=1&head=1&key={item}&lang=en"}


@pytest.mark.parametrize("width", [1280, 390])
def test_the_last_frame_ends_with_the_sound(live, width):
    """As of a word of 0.486 s, whose thirteenth frame would end at 0.52 s."""
    page = live(**at_item(document(sound(3889, 13)), 13), width=width)
    found = page.evaluate(DRAWN)
    start = 0.48 / (3889 / 8000) * found["width"]
    for x, _, wide, _ in found["frames"]:
        assert x == pytest.approx(start, abs=0.01)
        assert x + wide == pytest.approx(found["width"], abs=0.01)
    assert found["frames"]


@pytest.mark.parametrize(("width", "every"), [(1280, 1), (390, 5)])
def test_marks_stand_where_frames_begin(live, width, every):
    found = live(document(sound(3889, 13)), width=width).evaluate(DRAWN)
    wide = 0.04 / (3889 / 8000) * found["width"]
    expected = [number * wide for number in range(0, 13, every)]
    assert found["marks"] == pytest.approx(expected, abs=0.01)
    assert found["texts"] == [f"{0.04 * number:g} s" for number in range(0, 13, every)]


def test_a_frame_that_begins_where_the_sound_ends_can_be_seen(live):
    page = live(**at_item(document(sound(3840, 13)), 13))
    found = page.evaluate(DRAWN)
    for x, _, wide, _ in found["frames"]:
        assert x == pytest.approx(12 / 13 * found["width"], abs=0.01)
        assert wide == pytest.approx(found["width"] / 13, abs=0.01)
    assert found["frames"]


STEPS = (0.04, 0.01, 0.02, 0.032, 256 / 22050, 0.1, 1e-4, 3.0, 1e-300)


def test_marks_are_as_many_as_fit(script):
    cases = list(product(STEPS, (0.05, 0.4861, 2.0, 59.9, 3600.0), (40, 358, 1080)))
    found = script(joined("sound.js"), "x.map((each) => marksOf(...each))", cases)
    several = 0
    for (step, seconds, width), marks in zip(cases, found, strict=True):
        times, texts = [each["time"] for each in marks], [each["text"] for each in marks]
        assert (times[0], texts[0]) == (0, "0 s")
        assert times[-1] <= seconds * (1 + 1e-6)
        assert len(set(texts)) == len(texts) <= width / 64 + 1
        if len(marks) == 1:
            continue
        several += 1
        apart, frames = times[1], times[1] / step
        # So many frames: one, two or five times a power of ten.
        assert float(f"{frames:.0e}") == pytest.approx(frames)
        assert f"{frames:.0e}"[0] in "125"
        assert times == pytest.approx([number * apart for number in range(len(times))])
        # What is written is the time itself, to a hundredth of the distance between two marks.
        assert [float(each.removesuffix(" s")) for each in texts] == pytest.approx(times, abs=apart / 100)
        # Marks at half or two fifths of these frames wouldn't have room.
        fewer = 2.5 if f"{frames:.0e}"[0] == "5" else 2
        assert frames < 1.5 or apart / fewer * width / seconds < 64 + 1e-6
    assert several > 50


@pytest.mark.parametrize(("scheme", "shade"), [("light", "darker"), ("dark", "lighter")])
def test_the_shade_of_what_is_loud_is_said(live, scheme, shade):
    times = np.sin(np.arange(4000) / 3) * 9000
    spoken = DrawnSound(times.astype(np.int16), 8000, 0.04, np.ones((50, 40), np.uint8))
    page = live(document(record([0.0] * 13, spoken, "frame")), color_scheme=scheme)
    assert f"up to 4,000 Hz; {shade} is louder, and blue is weight." in page.inner_text(".drawn")
