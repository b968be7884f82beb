"""`regard serve` in a browser: what is typed or dropped is answered, by mouse and keyboard; other sites get nothing."""

import io
import json
import re
from typing import Any

import pytest
from serving import running

pytest.importorskip("starlette", reason="regard serve: install the extra serve")
sync_api = pytest.importorskip("playwright.sync_api", reason="the page in a browser: pip install playwright")

SENTENCE = "I saw a saw ."


@pytest.fixture(scope="module")
def port(chromium: Any) -> Any:
    """That of a server of the English tagger."""
    with running() as (_, number):
        yield number


@pytest.fixture
def opened(chromium: Any) -> Any:
    """Opens the page of a server; collects what it asks for, and what is said in the console."""
    contexts = []

    def open_page(port: int) -> Any:
        contexts.append(chromium.new_context(viewport={"width": 1180, "height": 900}))
        page = contexts[-1].new_page()
        page.asked, page.said = [], []
        page.on("request", lambda request: page.asked.append(f"{request.method} {request.url}"))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("dialog", lambda dialog: page.said.append("a dialog"))
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("html.ready")
        return page

    yield open_page
    for each in contexts:
        each.close()


def until(page: Any, selector: str, text: str) -> None:
    """Wait until an element has a text."""
    sync_api.expect(page.locator(selector).first).to_contain_text(text)


def chips(page: Any, count: int) -> list[str]:
    """The texts of the items, when there are so many."""
    sync_api.expect(page.locator(".chips .chip")).to_have_count(count)
    return [text.strip() for text in page.locator(".chips .text").all_inner_texts()]


def test_what_is_typed_is_answered(opened, port):
    page, here = opened(port), f"http://127.0.0.1:{port}"
    assert "NOUN (80%)" in page.inner_text(".sentence")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "input"
    assert page.input_value("#input") == SENTENCE
    # The keys of the page are letters there.
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("I can fish / now ?")
    page.keyboard.press("Enter")
    assert chips(page, 6) == ["I", "can", "fish", "/", "now", "?"]
    # A slow machine doesn't measure what mattered unless it is asked to.
    measured = "hiding" in page.inner_text(".sentence")
    assert measured or "wasn't measured" in page.inner_text(".sentence")
    assert page.input_value("#input") == "I can fish / now ?"
    assert page.evaluate("document.activeElement.id") == "input"
    # A screen reader hears what is to be seen.
    assert page.locator("[role=status]").text_content() == page.inner_text(".sentence")
    # By the keyboard: what mattered.
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(page, ".sentence", "hiding")
    measure = page.get_by_role("button", name="Measure what mattered")
    assert measure.get_attribute("aria-pressed") == "true"
    # The view of the new record is as live as the first.
    before = page.inner_text(".sentence")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".sentence") != before
    # What is asked from now on is measured too.
    page.fill("#input", "It rains")
    page.get_by_role("button", name="See").click()
    chips(page, 2)
    assert "hiding" in page.inner_text(".sentence")
    assert page.asked == [f"GET {here}/", *(3 - measured) * [f"POST {here}/see"]]
    assert page.said == []


def test_the_choice_of_a_head_and_the_language_stay(opened, port):
    page = opened(port)
    page.evaluate("location.hash = '#place=2&layer=1&head=3&key=4&lang=zh'")
    until(page, "button[type=submit]", "查看")
    page.fill("#input", "You saw it")
    page.keyboard.press("Enter")
    chips(page, 3)
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    assert page.evaluate("location.hash") == "#layer=1&head=3&lang=zh"
    page.locator(".chips .chip").nth(2).click()
    assert page.evaluate("location.hash").startswith("#record=1&place=3&layer=1&head=3")
    # Once: the page before doesn't listen any more.
    assert page.evaluate("history.length") == 4
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("location.hash").startswith("#record=1&place=2&")
    page.go_back()
    assert page.evaluate("location.hash").startswith("#record=1&place=3&")
    assert page.said == []


def test_hostile_texts_are_texts_and_errors_leave_the_view(opened, port):
    page = opened(port)
    page.fill("#input", "</script><img src=x onerror=alert(1)> <b>bold</b> \u202eabc")
    page.keyboard.press("Enter")
    until(page, ".chips", "onerror")
    assert page.locator("main img, main script").count() == 0
    assert page.locator("main b:not(.answer, .weight, .effect)").count() == 0
    page.fill("#input", " ")
    page.keyboard.press("Enter")
    until(page, "[role=alert]", "The text is empty. Type one.")
    assert "onerror" in page.inner_text(".chips")
    page.fill("#input", "All is well")
    page.keyboard.press("Enter")
    chips(page, 3)
    assert page.inner_text("[role=alert]") == ""
    # Of the one refusal the browser itself tells.
    assert [each for each in page.said if "status of 400" not in each] == []


@pytest.mark.slow
def test_a_server_that_has_ended_is_told(opened):
    with running() as (process, port):
        page = opened(port)
        process.kill()
        process.wait()
        page.fill("#input", "again")
        page.keyboard.press("Enter")
        until(page, "[role=alert]", "Is regard serve still running?")


@pytest.mark.slow
def test_a_file_is_chosen_or_dropped(opened):
    images = pytest.importorskip("PIL.Image")
    held, image = io.BytesIO(), images.new("L", (28, 28))
    image.paste(255, (12, 4, 16, 24))
    image.save(held, "PNG")
    with running("written-digit") as (_, port):
        page = opened(port)
        assert "picture" in page.inner_text("label")
        file = {"name": "one.png", "mimeType": "image/png", "buffer": held.getvalue()}
        page.set_input_files("#input", file)
        until(page, ".sentence", "The answer is")
        page.get_by_role("button", name="Measure what mattered").click()
        until(page, ".sentence", "hiding")
        page.evaluate(
            """() => {
              const dropped = new DataTransfer();
              dropped.items.add(new File(["no picture"], "<b>notes</b>.txt"));
              const how = { dataTransfer: dropped, bubbles: true, cancelable: true };
              document.body.dispatchEvent(new DragEvent("drop", how));
            }"""
        )
        until(page, "[role=alert]", "<b>notes</b>.txt")
        assert [each for each in page.said if "status of 422" not in each] == []


def test_a_page_of_another_site_gets_nothing(chromium, port):
    context = chromium.new_context()
    page, here = context.new_page(), f"http://127.0.0.1:{port}"
    page.route("http://evil.example/**", lambda route: route.fulfill(body="<p>evil", content_type="text/html"))
    page.goto("http://evil.example/")
    ask = """async ([url, more]) => {
      try {
        const response = await fetch(url, more);
        return `${response.type} ${await response.text()}`;
      } catch (error) { return error.name }
    }"""
    body = json.dumps({"text": SENTENCE, "effects": False})
    kind = {"content-type": "application/json"}
    assert page.evaluate(ask, [f"{here}/", {}]) == "TypeError"
    assert page.evaluate(ask, [f"{here}/see", {"method": "POST", "body": body, "headers": kind}]) == "TypeError"
    # What may be sent without asking before is refused, and nothing of the answer is seen.
    statuses = []
    page.on("response", lambda response: statuses.append(response.status))
    assert page.evaluate(ask, [f"{here}/see", {"method": "POST", "mode": "no-cors", "body": body}]) in (
        "opaque ",
        "TypeError",
    )
    assert set(statuses) <= {403}
    page.set_content(f'<iframe src="{here}/"></iframe>')
    page.wait_for_timeout(500)
    assert not any(re.search("what it attended to", frame.content()) for frame in page.frames)
    context.close()


def test_a_warning_of_a_text_stands_above_its_sentence_alone(opened, port):
    page = opened(port)
    page.fill("#input", "Привет мир")
    page.keyboard.press("Enter")
    until(page, ".warning", "is in Cyrillic letters, but english-pos was trained on texts in Latin letters.")
    assert page.locator(".warning").count() == 1
    # Not in the list below the form, too.
    assert page.locator(".asking .notes li").count() == 0
    page.fill("#input", SENTENCE)
    page.keyboard.press("Enter")
    sync_api.expect(page.locator(".warning")).to_have_count(0)
