"""The live page as a document: it asks for nothing, its policy holds, hostile texts stay texts, and it stays small."""

import json
import re

import pytest
import torch

from page.live_records import RECORDS, document, labels, layers, record_of_calls, seen
from page.test_live_tiles import FORMS, layer_of
from regard.cli.main import main
from regard.inspection import LayerRecord, Outcomes, Place, Record, story_of
from regard.page.modules import joined
from regard.page.visible import visible

HOSTILE = (
    "</script><script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "--><script>window.hit=1</script>",
    "<!--<script>",
    '\'"`"><b onclick=window.hit=1>',
    "javascript:window.hit=1",
    "{{7*7}}${window.hit=1}",
    "&lt;&amp;&#x3c;",
    "a\0b\x07\x1b[31m\x9b2J",
    "\u202egnp.exe\u2066\u200f\ufeff",
    "\ud800x\udfff",
    "\u2028\u2029\r\n\t",
    "e\u0301\u0316" + "\u0300" * 40,
    "\u0300",
    "شمس القمر",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "the whole",
    "__proto__",
    "constructor",
    " ",
    "",
    "x" * 10_000,
    "w o r d s " * 1_000,
)


def hostile(texts=HOSTILE, kind="labels"):
    """The texts as items, labels, names of places and layers, model and noun."""
    torch.manual_seed(0)
    made = layers(len(texts), heads=(2,))
    places = tuple(Place(text, number, text, 0.5) for number, text in enumerate(texts))
    one = RECORDS["labels"]().outcomes.hidden[1][0]
    hidden = tuple(tuple(one._replace(label=text) for text in texts) for _ in texts)
    found = Outcomes(kind, "item", places, hidden, ((hidden[0], hidden[0]),), note=texts[0])
    layer = LayerRecord(texts[0], made[0].calls)
    scores = (0.5,) * len(texts)
    return Record(texts, texts, scores, (layer,), texts[0], noun=texts[1], outcomes=found)


def test_nothing_is_asked_for_and_nothing_goes_wrong(live):
    """What the fixture hears of all that a reader may do."""
    page = live(document(*(make() for make in RECORDS.values())))
    for record in range(1, len(RECORDS) + 1):
        page.evaluate(f"location.hash = '#record={record}'")
        for key in ("ArrowRight", "ArrowDown", ".", "]", "[", ",", "a", "ArrowUp", "ArrowLeft"):
            page.keyboard.press(key)
    for key in ("?", "Escape", "/", "s", "Enter"):
        page.keyboard.press(key)
    page.locator("canvas.map").hover()
    page.locator("summary").click()


def inserted(tag, **properties):
    """The script that puts an element into the page."""
    return f"document.body.append(Object.assign(document.createElement({tag!r}), {json.dumps(properties)}))"


OUTSIDE = "https://example.org/"
ATTACKS = {
    f"fetch('{OUTSIDE}')": "connect-src",
    "new WebSocket('wss://example.org/')": "connect-src",
    f"navigator.sendBeacon('{OUTSIDE}', 'x')": "connect-src",
    f"new FontFace('a', 'url({OUTSIDE})').load()": "font-src",
    inserted("img", src=OUTSIDE): "img-src",
    inserted("img", src="file:///tmp/a.png"): "img-src",
    inserted("audio", src=OUTSIDE): "media-src",
    inserted("script", text="window.hit = 1"): "script-src-elem",
    inserted("script", src="file:///tmp/a.js"): "script-src-elem",
    inserted("iframe", src=OUTSIDE): "frame-src",
    inserted("link", rel="stylesheet", href=OUTSIDE): "style-src-elem",
    inserted("div", innerHTML="<b onclick='window.hit = 1'>b</b>"): "script-src-attr",
    inserted("div", innerHTML="<img src=x onerror='window.hit = 1'>"): "script-src-attr",
    inserted("base", href=OUTSIDE): "base-uri",
    inserted("form", action=OUTSIDE, id="f") + ", document.forms.f.submit()": "form-action",
    "setTimeout('window.hit = 1')": "script-src",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_policy_refuses(live, attack):
    page = live(document(labels()))
    page.heard.attacked = True
    page.evaluate(
        f"""async () => {{
          try {{ await ({attack}); }} catch {{ /* as it should */ }}
          document.querySelector("b[onclick]")?.click();
          await new Promise((done) => setTimeout(done, 50));
        }}"""
    )
    found = page.evaluate("window.violations")
    assert any(each.startswith(ATTACKS[attack]) for each in found), found
    assert page.evaluate("window.hit") is None


@pytest.mark.parametrize("script", [True, False])
def test_hostile_texts_make_nothing_but_text(live, context, tmp_path, script):
    attack = tuple(filter(None, HOSTILE))
    counts = []
    for number, texts in enumerate(([f"word {number}" for number in range(len(attack))], attack)):
        text = document(hostile(tuple(texts)), title=texts[0])
        if script:
            page = live(text)
        else:
            path = tmp_path / f"{number}.html"
            path.write_text(text, encoding="utf-8")
            page = context(java_script_enabled=False).new_page()
            page.goto(path.as_uri())
        counts.append(page.locator("main *").count())
        if script:
            tags = page.evaluate("[...new Set([...document.querySelectorAll('main *')].map((each) => each.localName))]")
            assert not {"img", "script", "iframe", "object", "embed", "link", "style"} & set(tags)
            assert page.evaluate("window.hit") is None
    assert counts[0] == counts[1]


def is_cut(shown: str, whole: str) -> bool:
    """Whether a text is another one, with ellipses where parts of it were cut out."""
    return "…" in shown and re.fullmatch(".+".join(map(re.escape, shown.split("…"))), whole, re.DOTALL) is not None


def test_a_long_item_is_cut_in_the_middle_and_told_whole(live):
    items = ("begin" + "x" * 10_000 + "end", "b" * 200, "begin" + "x" * 10_000 + "end")
    page = live(document(labels(items=items)))
    buttons = page.locator(".chips button.chip")
    assert buttons.nth(0).locator(".text").inner_text() == f"begin{'x' * 35}…{'x' * 16}end"
    assert [buttons.nth(number).get_attribute("title") for number in range(3)] == list(items)
    names = page.locator(".compared tbody th button")
    assert [each[-8:] for each in names.all_inner_texts()] == ["xend (1)", "b" * 8, "xend (3)"]
    assert names.nth(2).get_attribute("title") == f"{items[2]} (3)"
    assert page.locator("main").inner_text().count("x" * 40) == 0
    page.locator(".map").focus()
    page.keyboard.press("ArrowDown")
    assert len(page.locator(".map-part .line").inner_text()) < 200
    assert len(page.locator(".steps-part .quiet").first.inner_text()) < 200


def test_hostile_texts_are_shown_as_they_are(live):
    record = hostile()
    page = live(document(record, title=HOSTILE[0]))
    chips = [text.strip() for text in page.locator(".chips .text").all_text_contents()]
    for chip, text in zip(chips, HOSTILE, strict=True):
        shown = visible(text).strip()
        assert chip == shown or (len(shown) > 100 and len(chip) == 60 and is_cut(chip, shown)), text
    for number in range(1, len(HOSTILE) + 1):
        page.evaluate(f"history.replaceState(null, '', '#place={number}'); dispatchEvent(new Event('popstate'))")
        told, sentence = visible(story_of(record, query=number).sentence), page.locator(".sentence")
        said = sentence.text_content()
        # Of a long item the sentence has the two ends; the mouse shows the rest.
        assert (sentence.get_attribute("title") or said) == told
        assert said == told or (len(told) > 5000 and len(said) < 400 and is_cut(said, told))
    everything = page.evaluate("document.documentElement.outerHTML")
    hidden = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
    assert not hidden.search(everything)
    assert page.title() == visible(HOSTILE[0])
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    for key in ("/", *"scr", "Enter", "?"):
        page.keyboard.press(key)


def test_a_page_of_a_long_text_has_few_elements(live):
    torch.manual_seed(0)
    page = live(document(record_of_calls(layer_of(FORMS["causal"], 2000))))
    for key in ("ArrowRight", "ArrowDown", "."):
        page.keyboard.press(key)
    assert page.evaluate("document.querySelectorAll('*').length") < 3000


def test_without_a_script_there_are_the_tables(context, tmp_path):
    record = seen()
    path = tmp_path / "page.html"
    path.write_text(document(record), encoding="utf-8")
    page = context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    told = story_of(record)
    text = page.locator("main").inner_text()
    assert told.sentence in text
    assert page.locator("table").count() >= 2
    assert page.locator("table").first.is_visible()
    assert page.locator("canvas").count() == 0
    assert page.locator("script").count() == 4
    for each in page.locator("script").all():
        assert not each.is_visible()


@pytest.mark.parametrize(
    "words", [("english-pos", "I saw a saw ."), ("german-english", "ein Mann in einem roten Hemd .")]
)
def test_default_pages_are_small(words, tmp_path, capsys):

    path = tmp_path / "page.html"
    assert main(["see", *words, "--html", str(path)]) == 0
    capsys.readouterr()
    assert path.stat().st_size <= 500_000


@pytest.mark.parametrize("first", ["offline.js", "live.js", "worker.js"])
def test_no_two_modules_declare_the_same_name(first):
    """A browser would refuse the script in which they all stand."""
    script = joined(first)
    declared = re.findall(r"^(?:async )?(?:function\*?|class) (\w+)", script, re.MULTILINE)
    for line in re.findall(r"^(?:const|let|var) (.*)", script, re.MULTILINE):
        # What a value holds in brackets declares nothing.
        while (shorter := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", line)) != line:
            line = shorter
        declared += [each.partition("=")[0].strip() for each in line.split(", ")]
    assert sorted(declared) == sorted(set(declared))
