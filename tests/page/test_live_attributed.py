"""The live page has the shares of a method of attribution beside the weights, for the prediction that is chosen."""

import pytest

from regard.cli.main import main
from regard.errors import ArgumentError
from regard.inspection import ATTRIBUTIONS, live_page, see, story_of
from regard.inspection.views.attributed import attributed_of
from regard.inspection.views.facts import sentence
from regard.inspection.views.outcome_text import signed_percent
from regard.inspection.views.story import compared_items
from regard.page import Page, as_text
from regard.tasks import load
from regard.tasks.recording import case_of

WORDS = ["I", "saw", "a", "saw", "."]
ROWS = "rows => rows.map((row) => [row.cells[0].textContent, row.cells[1].textContent])"


@pytest.fixture(scope="module")
def case():
    return case_of(load("english-pos"), WORDS)


@pytest.fixture(scope="module")
def record(case):
    return see(case)


def told_of(page):
    rows = page.locator(".attributed-part tbody tr").evaluate_all(ROWS)
    return rows, page.locator(".attributed-part").inner_text()


@pytest.mark.parametrize("layer", [None, 1])
@pytest.mark.parametrize("method", [each for each in ATTRIBUTIONS if each != "raw"])
def test_the_page_has_the_shares_of_the_story(live, case, record, method, layer):
    found = attributed_of(record, method, layer=layer, query=4, case=case)
    page = live(live_page(record, attributed=found, query=4, layer=layer))
    # The page is live: layers, heads and predictions are chosen on it.
    assert page.locator(".tile").count() == 10
    for query in (4, 2):
        page.evaluate(f"location.hash = '#place={query}'")
        page.wait_for_function(f"document.querySelector('.chips .selected .chip').dataset.id === 'item {query - 1}'")
        # Each gradient is a run of the model, so that it stays that of the prediction which was asked for.
        own = query if method != "gradient-weighted" else 4
        told = story_of(record, layer=layer, query=own, attribution=method, case=case)
        rows, text = told_of(page)
        assert rows == [
            [name, signed_percent(share).replace("-", "−")]
            for name, share in zip(("I", "saw (2)", "a", "saw (4)", "."), told.weights, strict=True)
        ]
        assert f"{told.title}, for {'saw (4)' if own == 4 else 'saw (2)'}" in text
        assert ATTRIBUTIONS[method].means in text
        assert ("The number is the probability of NOUN." in text) is (method == "gradient-weighted")
        assert f"Where it misleads: {ATTRIBUTIONS[method].misleads}" in text
        # Its numbers are in the sentence, too, where it has some for the prediction.
        shown = told if own == query else story_of(record, layer=layer, query=query)
        assert page.locator(".sentence").inner_text().replace("−", "-") == shown.sentence
    page.evaluate("location.hash = '#lang=zh'")
    page.wait_for_function("document.documentElement.lang.startsWith('zh')")
    assert f"按 {method}" in page.locator(".attributed-part h2").inner_text()
    told = story_of(record, layer=layer, query=4, attribution=method, case=case)
    page.evaluate(f"location.hash = '#place=4&layer={layer or 'all'}&lang=zh'")
    page.wait_for_function("document.querySelector('.chips .selected .chip').dataset.id === 'item 3'")
    assert page.locator(".sentence").inner_text().replace("−", "-") == sentence(record, told, "zh")


def test_the_sentence_of_another_head_is_that_of_its_weights(live, case, record):
    """Of a layer and a head other than those which were asked for nothing is known by the method."""
    found = attributed_of(record, "rollout", query=4, case=case)
    page = live(live_page(record, attributed=found, query=4))
    # The part stands where the first bars stand.
    names = page.locator(".columns > section").evaluate_all("(all) => all.map((each) => each.classList[0])")
    assert names[:2] == ["attributed-part", "compared-part"]
    assert "By rollout, it took most from " in page.locator(".sentence").inner_text()
    page.click('[data-id="head 1 2"]')
    page.mouse.move(5, 5)
    assert page.locator(".sentence").inner_text() == story_of(record, layer=2, head=3, query=4).sentence


# How far each bar reaches to the left and to the right of the line at which it begins.
REACH = """
(rows) => rows.map((row) => {
  const [zero, bar] = [".zero", ".bar"].map((each) => row.querySelector(each)?.getBoundingClientRect());
  return bar ? [zero.left - bar.left, bar.right - zero.left] : [0, 0];
})
"""


def test_shares_below_0_go_to_the_left(live):
    model, words = load("english-sentiment"), ["a", "dull", "plot", ",", "but", "a", "lovely", "ending"]
    case = case_of(model, words)
    record = see(case)
    told = story_of(record, attribution="gradient-weighted", case=case)
    assert min(told.weights) < -0.1 < 0.1 < max(told.weights)
    page = live(live_page(record, attributed=attributed_of(record, "gradient-weighted", case=case)))
    reached = page.locator(".attributed-part tbody tr").evaluate_all(REACH)
    full = max(told.weights) - min(told.weights)
    room = page.locator(".attributed-part .track").first.evaluate("(each) => each.getBoundingClientRect().width")
    for share, (left, right) in zip(told.weights, reached, strict=True):
        assert left == pytest.approx(room * max(0, -share) / full, abs=1.5)
        assert right == pytest.approx(room * max(0, share) / full, abs=1.5)
    # In the terminal, too.
    block = compared_items(record, told)
    assert [row.first for row in block.rows] == [*told.weights]
    lines = as_text(Page("", (block,)), width=100).splitlines()[2:]
    cells = [[at for at, each in enumerate(line.partition("%")[0]) if each in "▏▎▍▌▋▊▉█▐"] for line in lines]
    (begin,) = {found[0] for found, share in zip(cells, told.weights, strict=True) if share > 0}
    assert {found[-1] for found, share in zip(cells, told.weights, strict=True) if share < 0} == {begin - 1}


def test_the_command_writes_the_live_page(live, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["see", "english-pos", "I saw a saw .", "--no-map", "--html"]
    assert main([*words, "rollout.html", "--attribution", "rollout", "--query", "4"]) == 0
    page = live((tmp_path / "rollout.html").read_text("utf-8"))
    rows, text = told_of(page)
    assert len(rows) == 5
    assert "Attribution by rollout" in text
    assert "Contributed" not in text
    assert page.locator(".heads .tile").count() == 10
    # The weights themselves need no part of their own.
    assert main([*words, "raw.html", "--attribution", "raw"]) == 0
    assert live((tmp_path / "raw.html").read_text("utf-8")).locator(".attributed-part").count() == 0


def test_it_is_of_one_record(record):
    found = attributed_of(record, "rollout")
    with pytest.raises(ArgumentError, match="`attributed` must be left out for several records"):
        live_page([record, record], attributed=found)
    with pytest.raises(ArgumentError, match="`attributed` must be left out for several records"):
        live_page(record, against=record, attributed=found)
