"""What a notebook shows of a record: text, and its page in a frame; in a real notebook, executed and converted."""

import json
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import pytest
import torch

import regard
from regard.inspection import LayerRecord, Record, Seen, story, watch
from regard.inspection.views import notebook
from regard.page import as_text

HOSTILE = ("</iframe><script>alert(1)</script>", '"&quot;', "a\x00\x1b[31m", "\u202eabc", "&lt;b&gt;", "$x$", "\ud800")
CELLS = (
    "import regard\nmodel = regard.load('english-pos')\nmodel.see('I saw a saw .')",
    "model.see('</iframe> <script> a & \" b')",
    "from regard.page import as_text\nfrom regard.inspection import story\n"
    "print(as_text(story(model.see('I saw a saw .')))[:11])",
)


class Tags(HTMLParser):
    """The tags of a document with their attributes, and its text outside of scripts."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def toy(items=("a", "saw"), **more) -> Record:
    count = len(items)
    return Record(items, layers=(LayerRecord.of_weights("layer 1", torch.eye(count)[None]),), model="toy", **more)


def frame_of(html: str) -> dict[str, str]:
    # What listens to the frame is there before the frame is.
    (script, none), (name, frame) = Tags(html).tags
    assert (script, none, name) == ("script", {}, "iframe")
    return frame


def test_a_frame_and_the_story_beside_it():
    record = regard.load("english-pos").see("I saw a saw .")
    found = record._repr_mimebundle_()
    assert set(found) == {"text/plain", "text/html"}
    assert found["text/plain"] == as_text(story(record))
    frame = frame_of(found["text/html"])
    assert frame["sandbox"] == "allow-scripts"
    assert frame["title"] == "english-pos: what it attended to"
    assert frame["srcdoc"].startswith("<!doctype html>")
    assert frame["srcdoc"].endswith("</html>\n")
    # The same page as in a file: its policy allows the script that is there.
    assert frame["srcdoc"] == regard.inspection.live_page(record, ["english-pos"])


def test_hostile_texts_stay_in_the_frame():
    html = toy(HOSTILE, answer=("<b>", 0.5))._repr_mimebundle_(include=None, exclude=None)["text/html"]
    html.encode()
    frame = frame_of(html)
    values = re.search(r'id="values">(.*?)</script>', frame["srcdoc"])[1]
    assert json.loads(values)["records"][0]["items"][0] == HOSTILE[0]
    assert {name for name, _ in Tags(frame["srcdoc"]).tags if name in ("iframe", "img")} == set()
    assert unescape(html).count("</iframe>") == 1 + unescape(frame["srcdoc"]).count("</iframe>")


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (toy(labels=("DET", "NOUN"), scores=(0.75, 0.5)), "DET"),
        (toy(answer=("positive", 0.875)), "positive   88%"),
        (toy(tuple("abcd") * 20), "the whole"),
    ],
)
def test_without_effects_there_are_the_answer_and_the_largest_weights(record, says):
    found = record._repr_mimebundle_()
    assert says in found["text/plain"]
    assert "Layer 1 of 1" in found["text/plain"]
    assert "text/html" in found


def test_without_attention_there_is_text_only():
    found = Record(("a", "b"), answer=("positive", 0.5), model="bag")._repr_mimebundle_()
    assert set(found) == {"text/plain"}
    assert "positive" in found["text/plain"]
    assert set(Record(())._repr_mimebundle_()) == {"text/plain"}
    nothing = Seen(nothing="Nothing ran.")
    assert nothing._repr_mimebundle_() == {"text/plain": "Nothing ran."}


def test_a_large_page_is_not_kept_but_told(monkeypatch):
    monkeypatch.setattr(notebook, "MOST_CHARACTERS", 50_000)
    found = toy()._repr_mimebundle_()
    assert set(found) == {"text/plain"}
    assert 'save_page(record, "page.html") of regard.inspection' in found["text/plain"]
    assert "Layer 1 of 1" in found["text/plain"]


def test_what_was_watched_has_its_page():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True).eval()
    with watch(layer) as seen:
        layer(torch.randn(1, 3, 8))
    found = seen._repr_mimebundle_()
    assert found["text/plain"] == str(seen)
    values = re.search(r'id="values">(.*?)</script>', frame_of(found["text/html"])["srcdoc"])[1]
    (record,) = json.loads(values)["records"]
    assert record["items"] == ["1", "2", "3"]


def test_text_is_given_back_in_a_notebook_too(monkeypatch):
    # There rich would show it in the output of the cell instead.
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert as_text(story(regard.load("english-pos").see("I saw a saw ."))).startswith("english-pos\n")


@pytest.fixture(scope="module")
def converted(tmp_path_factory) -> str:
    """The address of a notebook that was executed and converted to HTML."""
    for name in ("nbconvert", "ipykernel"):
        pytest.importorskip(name, reason=f"a notebook: pip install {name}")
    folder = tmp_path_factory.mktemp("notebook")
    cells = [
        {
            "id": f"cell-{number}",
            "cell_type": "code",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path = folder / "records.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}))
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return path.with_suffix(".html").as_uri()


def fits(frame, *, shown: bool = True) -> None:
    """Wait until a frame is as high as the page in it, and, if it is to be shown, until that page knows so.

    The height that is laid out is that of the element around: a browser may tell a frame out of sight of its size when
    the frame is seen.
    """
    element, height = frame.frame_element(), "document.documentElement.getBoundingClientRect().height"
    within(lambda: element.evaluate("each => each.clientHeight") - frame.evaluate(height), frame)
    if shown:
        element.scroll_into_view_if_needed()
        within(lambda: frame.evaluate(f"innerHeight - {height}"), frame)


def within(gap, frame) -> None:
    for _ in range(100):
        if abs(gap()) <= 1:
            return
        frame.wait_for_timeout(50)
    raise AssertionError(f"{gap()} pixels are missing or too many")


def test_frames_that_are_not_in_sight_are_as_high_as_their_pages(context, tmp_path):
    html = regard.load("english-pos").see("I saw a saw .")._repr_mimebundle_()["text/html"]
    file = tmp_path / "around.html"
    narrow = f"<div id=narrow style='width: 0'>{html}</div>"
    file.write_text(
        f"<!doctype html><div style='height: 9000px'></div>{html}<div id=folded hidden>{html}</div>{narrow}"
    )
    page, said = context().new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    page.wait_for_function("document.querySelector('iframe').offsetHeight > 1000")
    fits(page.frames[1], shown=False)
    # One that gets its width late is drawn for that width.
    page.evaluate("document.getElementById('narrow').style.width = '100%'")
    fits(page.frames[3], shown=False)
    heights = page.evaluate("[...document.querySelectorAll('iframe')].map((each) => each.clientHeight)")
    assert heights[2] == heights[0]
    # What arrives later, while nobody looks, makes it higher too.
    page.frames[1].evaluate("document.querySelector('footer').append('more '.repeat(1000))")
    page.wait_for_function("document.querySelector('iframe').offsetHeight > 1500")
    fits(page.frames[1], shown=False)
    # One that had no size at first, in an output that was folded, is drawn when it is seen.
    page.evaluate("document.getElementById('folded').hidden = false")
    page.evaluate("document.querySelectorAll('iframe')[1].scrollIntoView()")
    page.wait_for_function("document.querySelectorAll('iframe')[1].offsetHeight > 1000")
    assert page.frames[2].locator(".arcs path").count() > 2
    sizes = [frame.locator(".map").bounding_box() for frame in page.frames[1:3]]
    assert [sizes[1][side] for side in ("width", "height")] == [sizes[0][side] for side in ("width", "height")]
    for frame in page.frames[1:]:
        fits(frame)
    assert said == []


@pytest.mark.slow
def test_a_notebook_that_was_executed_shows_its_pages(converted, context):
    page, said = context().new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(converted)
    frames = page.locator("iframe.regard-page")
    assert frames.count() == 2
    first, second = (frames.nth(number).content_frame for number in range(2))
    first.locator("html.ready").wait_for()
    second.locator("html.ready").wait_for()
    assert "NOUN (80%)" in first.locator(".sentence").inner_text()
    assert [text.strip() for text in second.locator(".chips .text").all_inner_texts()][:3] == ["<", "/", "iframe"]
    # Nothing of theirs is in the page around them, and they have no access to it.
    assert page.evaluate("document.getElementById('values')") is None
    inner = page.frames[1]
    assert inner.evaluate("self.origin") == "null"
    assert inner.evaluate("(() => { try { return parent.document.title } catch (error) { return error.name } })()") == (
        "SecurityError"
    )
    # As high as what is in it, also where it isn't in sight.
    for frame in page.frames[1:]:
        fits(frame)
    # One goes on without the other, though neither has an address of its own.
    before = second.locator(".sentence").inner_text()
    first.locator(".chips .chip").first.click()
    assert first.locator(".sentence").inner_text().startswith('"I" is PRON')
    page.keyboard.press("ArrowRight")
    assert first.locator(".sentence").inner_text().startswith('"saw (2)" is VERB')
    assert second.locator(".sentence").inner_text() == before
    # What stands in a frame grows with its content.
    page.set_viewport_size({"width": 500, "height": 900})
    fits(page.frames[1])
    # The converter's own page loads libraries from elsewhere, which is refused here; ours says nothing.
    assert {each for each in said if "ERR_INTERNET_DISCONNECTED" not in each} == set()
    assert "english-pos" in page.locator(".jp-OutputArea-output pre").last.inner_text()
