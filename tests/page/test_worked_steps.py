"""The page whose numbers can be edited computes as the oracle does, says what changed, and keeps it in its address."""

import itertools
import math
import re

import numpy as np
import pytest
import torch

from attention.cases import for_oracle
from page.browser import axe
from regard.attention import SCORES, WEIGHTS, Softmax
from regard.attention.positions import Slopes
from regard.cli.main import main
from regard.errors import ArgumentError
from regard.inspection.steps import EXAMPLES, STEP_SCORES, Matrices, blanks, live_steps, named_parts, phrase, steps
from regard.inspection.steps.live_steps import formulas_json
from regard.inspection.steps.numbers import number
from regard.inspection.steps.steps_page import steps_page
from regard.jury import oracle
from regard.modules import Pairs
from regard.page.modules import joined

WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PROJECTIONS = {"Wq": "query", "Wk": "key", "Wv": "value"}


# --- The oracle's computation, which shares nothing with the page's or the package's ---


def attention(query, key, value, allowed, score="scaled_dot", weights="softmax", temperature=1.0, slope=0.0):
    """The weights and the outputs of all queries. The last query stands where the last key does."""
    plain = getattr(SCORES[score], "plain", None)
    parts = {
        "score": score if plain is None else plain(query.shape[1]),
        "weights": weights if temperature == 1.0 else Softmax(temperature) if temperature else "hard",
    }
    rule, position = oracle.table(torch.tensor(allowed)[None, None]), Slopes(torch.tensor(slope))
    found = oracle.weigh(query[None, None], key[None, None], **for_oracle(parts), mask=rule, position=position)
    weights = found[0, 0].numpy()
    return weights, weights @ value


class Numbers:
    """What a page holds, as the oracle takes it."""

    def __init__(self, name):
        example = EXAMPLES[name]
        self.of = {"X": np.array(example.inputs or example.matrices.query.tolist(), float)}
        if example.inputs:
            self.of |= {letter: np.array(example.projections[which], float) for letter, which in PROJECTIONS.items()}
        elif name == "004":
            letters = ("Q", example.matrices.query), ("K", example.matrices.key), ("V", example.matrices.value)
            self.of = {letter: np.array(matrix.tolist()) for letter, matrix in letters}
        self.score, self.weights, self.temperature, self.slope = example.score, "softmax", 1.0, 0.0
        self.allowed = np.ones((len(example.matrices.query), len(example.matrices.key)), bool)

    def vectors(self):
        if "Q" in self.of:
            return self.of["Q"].copy(), self.of["K"].copy(), self.of["V"].copy()
        inputs = self.of["X"]
        return tuple(inputs @ self.of[name] if name in self.of else inputs for name in PROJECTIONS)

    def computed(self):
        return attention(*self.vectors(), self.allowed, self.score, self.weights, self.temperature, self.slope)


# --- Reading the page ---


def texts(page, part):
    """The numbers of the last table of a part of the page, as texts, row by row; without the sums at the end."""
    return page.evaluate(
        """(part) => [...document.querySelectorAll(`.${part} .matrix:last-child tbody tr`)].map((row) =>
      [...row.querySelectorAll("td:not(.end)")].map((cell) => cell.textContent))""",
        part,
    )


def agree(page, numbers):
    """The page's weights and outputs, written with four digits, are the oracle's."""
    for part, expected in zip(("normalise", "outputs"), numbers.computed(), strict=True):
        shown = [[float(text.replace("−", "-")) for text in row] for row in texts(page, part)]
        np.testing.assert_allclose(shown, expected, rtol=5.1e-4, atol=1e-12, err_msg=part)


def write(page, field, text):
    page.fill(f'[data-id="{field}"]', text)
    page.keyboard.press("Enter")


@pytest.fixture(scope="module")
def documents():
    return {name: live_steps(example) for name, example in EXAMPLES.items()}


# --- The computation ---


def random_case(seed, masked=True):
    """Small integers and halves, whose sums are exact: nothing depends on the order of an addition."""
    draw = np.random.default_rng(seed)
    queries, keys, size = draw.integers(1, 6), draw.integers(1, 12), draw.integers(1, 5)
    query, key = (draw.integers(-6, 7, (n, size)) / 2 for n in (queries, keys))
    value = draw.integers(-6, 7, (keys, draw.integers(1, 4))) / 2
    allowed = draw.random((queries, keys)) < (0.7 if masked else 2)
    if masked:
        allowed[0] = False
    return query, key, value, allowed


ROWS = """
({ query, key, value, kind, divisor, ...rest }) => {
  const parts = { ...rest, score: { kind, divisor } };
  return query.map((_, row) => walkOf(parts, { query, key, value }, row)).map((walk) => ({
    weights: walk.weights, output: walk.output,
    steps: walk.steps.filter(({ axes }) => !axes.includes("value")).map((step) => [step.name, formulaOf(step),
      value.map((_, column) => workedOut(step, column))]) }));
}
"""


def given(case, score, weights, temperature=1.0, slope=0.0):
    query, key, value, allowed = (each.tolist() for each in case)
    formulas = formulas_json(len(query[0]))
    chosen = (each["given"] for each in formulas["weights"][weights] if "given" in each)
    parameter = next((each["values"] for each in chosen if "low" in each), None)
    return {
        "query": query,
        "key": key,
        "value": value,
        "allowed": allowed,
        "weights": weights,
        "kind": "dot" if score == "scaled_dot" else score,
        "divisor": "root" if score == "scaled_dot" else 1,
        "parameter": temperature if weights == "softmax" else parameter,
        "masked": not case[3].all(),
        "slope": slope,
        "formulas": formulas,
    }


CASES = [
    (seed, score, weights, temperature)
    for seed, (score, (weights, temperature)) in enumerate(
        itertools.product(
            STEP_SCORES,
            [*((name, 1.0) for name in WEIGHTS), *(("softmax", each) for each in (0.0, 0.25, 3.0, 1e300))],
        )
    )
]


@pytest.fixture
def computed(script):
    """Runs the page's computation on some cases."""
    source = joined("worked_walk.js") + joined("worked_numbers.js") + f"const rows = {ROWS};"
    return lambda cases: script(source, "x.map(rows)", cases)


def test_the_page_computes_what_the_oracle_does(computed):
    cases = [(random_case(seed, masked=seed % 3 > 0), *rest, seed % 2 / 4) for seed, *rest in CASES]
    found = computed([given(*each) for each in cases])
    for (case, *parts), rows in zip(cases, found, strict=True):
        weights, outputs = attention(*case, *parts)
        np.testing.assert_allclose([row["weights"] for row in rows], weights, rtol=1e-9, atol=1e-9, err_msg=str(parts))
        np.testing.assert_allclose([row["output"] for row in rows], outputs, rtol=1e-9, atol=1e-9, err_msg=str(parts))


def test_the_steps_are_the_terminals_word_by_word(computed):
    cases = [(random_case(seed + 100, masked=seed % 2 > 0), *rest, seed % 3 / 4) for seed, *rest in CASES]
    found = computed([given(*each) for each in cases])
    for (case, score, weights, temperature, slope), rows in zip(cases, found, strict=True):
        matrices = Matrices.of(*(each.tolist() for each in case[:3]))
        mask = None if case[3].all() else Pairs(torch.tensor(case[3]))
        parts = named_parts(matrices, score=score, weights=weights, temperature=temperature, mask=mask)
        row, column = len(rows) - 1, len(case[1]) - 1
        position = Slopes(torch.tensor(slope, dtype=torch.float64)) if slope else None
        walk = steps(*matrices.tensors, **parts, position=position, row=row, column=column)
        if walk.allowed.any():
            table = steps_page(walk).blocks[1]
            shown = [(phrase(name, "en"), formula, each[column]) for name, formula, each in rows[row]["steps"]]
            assert shown == list(table.rows), (score, weights, temperature)


def test_numbers_are_written_as_the_terminal_writes_them(script):
    draw = np.random.default_rng(0)
    values = [
        *(draw.standard_normal(300) * 10.0 ** draw.integers(-14, 14, 300)),
        0.0,
        1.0625,
        12345.0,
        2.00025,
        1e9,
        99999.5,
    ]
    written = script(joined("worked_numbers.js"), "x.map(figure)", [float(each) for each in values])
    assert written == [number(float(each)) for each in values]


def test_the_blanks_and_slips_are_those_of_the_terminal(script):
    source = joined("worked_exercise.js")
    cases, expected = [], []
    normalisers = [*((name, 1.0) for name in WEIGHTS), ("softmax", 0.0), ("softmax", 0.5)]
    for seed, (score, (weights, temperature)) in enumerate(itertools.product(STEP_SCORES, normalisers)):
        query, _, value, _ = random_case(seed + 200)
        square = np.roll(query, 1, axis=0) + 0.5
        value = np.resize(value, (len(query), 2))
        case = (query, square, value, np.tril(np.ones((len(query), len(query)), bool)))
        matrices = Matrices.of(query.tolist(), square.tolist(), value.tolist())
        parts = named_parts(matrices, score=score, weights=weights, temperature=temperature, mask="causal")
        walk = steps(*matrices.tensors, **parts, row=len(query) - 1)
        cases.append(
            {**given(case, score, weights, temperature), "masked": True, "row": walk.row, "column": walk.column}
        )
        expected.append(blanks(matrices, walk, **parts))
    found = script(
        source,
        """x.map(({ query, key, value, row, column, kind, divisor, ...rest }) =>
      blanksOf({ ...rest, score: { kind, divisor } }, { query, key, value }, row, column))""",
        cases,
    )
    for asked, blank in zip(found, expected, strict=True):
        assert [(each["name"], each["formula"]) for each in asked] == [(each.name, each.formula) for each in blank]
        for ours, theirs in zip(asked, blank, strict=True):
            assert ours["value"] == pytest.approx(theirs.value, abs=1e-9)
            assert [name for name, _ in ours["slips"]] == list(theirs.slips)
            # A sum of 0 makes a slip infinite or no number, which no answer is.
            for (_, slip), value in zip(ours["slips"], theirs.slips.values(), strict=True):
                assert not math.isfinite(value) or slip == pytest.approx(value, rel=1e-9, abs=1e-9)


# --- The page ---


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tables_follow_every_edit(live, documents, name):
    page, numbers = live(documents[name]), Numbers(name)
    agree(page, numbers)
    draw = np.random.default_rng(int(name))
    for letter, matrix in numbers.of.items():
        for _ in range(2):
            row, column = (int(draw.integers(size)) for size in matrix.shape)
            matrix[row, column] = draw.integers(-20, 21) / 8
            write(page, f"{letter} {row} {column}", str(matrix[row, column]))
            agree(page, numbers)
    row, column = (int(draw.integers(size)) for size in numbers.allowed.shape)
    page.click(f'[data-id="mask {row} {column}"]')
    numbers.allowed[row, column] = False
    agree(page, numbers)
    write(page, "slope", ".75")
    numbers.slope = 0.75
    agree(page, numbers)
    for temperature, text in ((0.5, "0.5"), (0.0, "hard"), (1e300, "∞"), (2.0, "2,0")):
        write(page, "parameter", text)
        numbers.temperature = temperature
        agree(page, numbers)
    page.click('[data-id="root"]' if numbers.score == "dot" else '[data-id="undivided"]')
    numbers.score = "scaled_dot" if numbers.score == "dot" else "dot"
    agree(page, numbers)
    for weights in ("sparsemax", "relu"):
        page.select_option('[data-id="weights"]', weights)
        numbers.weights, numbers.temperature = weights, 1.0
        agree(page, numbers)
    page.select_option('[data-id="score"]', "cosine")
    numbers.score = "cosine"
    agree(page, numbers)
    page.click('[data-id="restart"]')
    agree(page, Numbers(name))
    assert page.locator(".changes").is_hidden()


def test_a_half_written_number_is_computed_at_once_and_stays_as_it_is_written(live, documents):
    page, numbers = live(documents["000"]), Numbers("000")
    page.focus('[data-id="X 0 0"]')
    page.keyboard.type("2.5")
    numbers.of["X"][0, 0] = 2.5
    agree(page, numbers)
    page.keyboard.type("0")
    assert page.input_value('[data-id="X 0 0"]') == "2.50"
    agree(page, numbers)
    page.keyboard.press("ArrowDown")
    assert page.input_value('[data-id="X 0 0"]') == "2.5"
    assert page.evaluate("document.activeElement.dataset.id") == "X 1 0"


def test_the_slider_goes_from_hard_to_uniform(live, documents):
    page, numbers = live(documents["004"]), Numbers("004")
    slider = page.locator('[data-id="slider"]')
    for key, temperature, said in (("Home", 0.0, "hard"), ("End", 1e300, "uniform")):
        slider.press(key)
        numbers.temperature = temperature
        agree(page, numbers)
        assert slider.get_attribute("aria-valuetext") == said
    slider.evaluate("(each) => each.mark = 'held'")
    slider.fill("50")
    agree(page, Numbers("004"))
    assert page.input_value('[data-id="parameter"]') == "1"
    # A slider that is being dragged stays, though tables come and go.
    assert slider.evaluate("(each) => each.mark") == "held"


def test_what_changed_is_marked_said_and_taken_back_alone(live, documents):
    page, numbers = live(documents["000"]), Numbers("000")
    before = numbers.computed()[1]
    write(page, "Wv 2 0", "4")
    numbers.of["Wv"][2, 0] = 4
    after = numbers.computed()[1]
    marked = page.evaluate(
        """[...document.querySelectorAll(".outputs tbody td")].map((cell) => cell.classList.contains("moved"))"""
    )
    assert marked == (before != after).ravel().tolist()
    assert page.locator(".normalise .moved").count() == 0
    # Of v and of the outputs.
    count = int((before != after).sum()) + 2
    said = page.locator(".told")
    assert said.get_attribute("aria-live") == "polite"
    assert (
        said.text_content() == f"Wv, 3, 1: 1 → 4. {count} other numbers change. The weight of x2 for x1 stays 0.4683."
    )
    write(page, "X 0 1", "3")
    page.click('[data-id="back 1"]')
    assert page.input_value('[data-id="X 0 1"]') == "3"
    assert page.input_value('[data-id="Wv 2 0"]') == "1"
    assert page.locator(".changes button").all_text_contents() == ["X, x1, 2: back to 0"]


def test_a_wrong_entry_is_said_beside_the_field_and_the_old_number_stays(live, documents):
    page = live(documents["000"])
    field = page.locator('[data-id="X 1 1"]')
    for text, said in (
        ("two", "“two” isn't a number."),
        ("1e7", "1e7 isn't between"),
        ("", "“” isn't a number."),
        ("1_0", "isn't a number."),
    ):
        field.fill(text)
        if text:
            assert field.get_attribute("aria-invalid") is not None
        page.keyboard.press("Tab")
        wrong = page.locator(".inputs .wrong").first
        assert said in wrong.text_content()
        assert wrong.text_content().startswith("X, x2, 2: ")
        assert "It stays 2." in wrong.text_content()
        assert field.input_value() == "2"
        agree(page, Numbers("000"))
    write(page, "X 1 1", "1")
    assert page.locator(".inputs .wrong").first.text_content() == ""
    for name, text, kept in (("parameter", "-1", "1"), ("parameter", "warm", "1"), ("divisor", "0", "1")):
        write(page, name, text)
        assert kept in page.locator(f".{'scores' if name == 'divisor' else 'normalise'} .wrong").text_content()
        assert page.input_value(f'[data-id="{name}"]') == kept


def test_a_query_that_may_see_nothing_gives_zeros(live, documents):
    page = live(documents["000"], "#mask=1.1,1.2,1.3,2.1,2.2,2.3,3.1,3.2")
    numbers = Numbers("000")
    numbers.allowed[:2] = False
    numbers.allowed[2, :2] = False
    for weights in WEIGHTS:
        page.select_option('[data-id="weights"]', weights)
        numbers.weights = weights
        agree(page, numbers)
        assert texts(page, "outputs")[0] == ["0", "0", "0"]
        assert not re.search(r"\bnan\b", page.inner_text("main"), re.IGNORECASE)
    page.click('[data-id="mask 2 2"]')
    assert texts(page, "outputs") == [["0"] * 3] * 3
    assert page.locator(".told").text_content().endswith("x3 may see no key, so its weights and its output are 0.")


def test_a_link_shows_the_same_again(live, documents):
    page, numbers = live(documents["000"]), Numbers("000")
    write(page, "Wq 3 1", "-0,125")
    page.click('[data-id="mask 1 2"]')
    write(page, "parameter", "0.3")
    write(page, "divisor", "2.5")
    page.select_option('[data-id="query"]', "2")
    page.click('[data-id="zh"]')
    hash = page.evaluate("location.hash")
    shown = page.inner_text(".flow")
    again = live(documents["000"], hash)
    assert again.inner_text(".flow") == shown
    assert again.input_value('[data-id="Wq 3 1"]') == "-0.125"
    assert again.evaluate("location.hash") == hash
    numbers.of["Wq"][3, 1], numbers.temperature, numbers.allowed[1, 2] = -0.125, 0.3, False
    query, key, value = numbers.vectors()
    weights, _ = attention(query / 2.5, key, value, numbers.allowed, "dot", "softmax", 0.3)
    shown = [[float(text.replace("−", "-")) for text in row] for row in texts(again, "normalise")]
    np.testing.assert_allclose(shown, weights, rtol=5.1e-4, atol=1e-12)


def test_an_address_that_says_nonsense_is_the_start(live, documents):
    numbers, parts = "X=9.9:1,1.1:NaN,1.2:1e999,a,1.3:&mask=0.1,7&parameter=-3", "weights=__proto__&divisor=0&score="
    page = live(documents["000"], f"#{numbers}&{parts}&query=4&key=x&lang=fr&%")
    agree(page, Numbers("000"))
    assert page.locator('[data-id="restart"]').is_disabled()


def test_a_pair_is_chosen_by_a_click_and_by_arrow_keys(live, documents):
    page = live(documents["000"])
    page.click('[data-id="sum 0 0"]')
    assert page.locator(".pair h2").text_content() == "From x1 to x1, number by number"
    assert page.locator(".pair .sum").text_content() == "q · k = 1 × 0 + 0 × 1 + 2 × 1 = 2"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.dataset.id") == "sum 0 1"
    assert page.locator(".pair h2").text_content() == "From x1 to x2, number by number"
    assert "1 × [0, 0, 1] + 0 × [1, 1, 0]" not in page.locator(".pair").text_content()
    assert (
        "0 × [0, 0, 1] + 2 × [1, 1, 0] + 0 × [0, 1, 0] + 2 × [1, 1, 0] = [4, 4, 0]"
        in page.locator(".pair").text_content()
    )
    # In the table of the mask a space bar hides the key.
    page.focus('[data-id="mask 0 1"]')
    page.keyboard.press("Space")
    assert page.locator('[data-id="mask 0 1"]').get_attribute("aria-pressed") == "true"
    assert texts(page, "normalise")[0][1] == "0"


def answer(page, i, text):
    page.fill(f'[data-id="blank {i}"]', text)
    page.keyboard.press("Enter")
    return page.locator(".verdict").nth(i).text_content()


def test_the_exercise_names_slips_and_counts(live):
    page = live(live_steps(EXAMPLES["000"], score="scaled_dot"), "#exercise=on")
    # What is asked for isn't shown before, but for the matrices.
    text = page.inner_text("main")
    assert "2.309" not in text
    assert "0.4319" not in text
    assert answer(page, 0, "7") == phrase("wrong", "en")
    assert answer(page, 0, "four") == "Write a number such as 0.43."
    assert answer(page, 0, "4") == phrase("right", "en")
    assert page.evaluate("document.activeElement.dataset.id") == "blank 1"
    assert answer(page, 1, "4") == phrase("forgot sqrt(d)", "en").replace("sqrt(d)", "√d")
    assert answer(page, 1, "1.33") == phrase("divided by d", "en").replace("sqrt(d)", "√d")
    assert answer(page, 1, "2,31") == phrase("right", "en")
    page.click('[data-id="show 2"]')
    assert page.locator(".verdict").nth(2).text_content() == phrase("answer", "en", value="1")
    assert answer(page, 3, "0.4") == phrase("forgot exp", "en")
    assert answer(page, 3, "0.001") == phrase("wrong axis", "en")
    assert answer(page, 3, "0.43") == phrase("right", "en")
    assert page.locator(".counted").text_content() == phrase("summary", "en", right=3, count=7, first=0, shown=1)
    page.click('[data-id="zh"]')
    assert phrase("summary", "zh", right=0, count=7, first=0, shown=0) == page.locator(".counted").text_content()
    page.select_option('[data-id="query"]', "1")
    page.select_option('[data-id="key"]', "0")
    assert answer(page, 0, "8") == phrase("wrong", "zh")
    page.click('[data-id="exercise"]')
    assert page.locator(".outputs").is_visible()


def test_a_transposed_answer_is_named(live, documents):
    page = live(documents["000"], "#exercise=on&query=1&key=2&Wk=1.1:1")
    numbers = Numbers("000")
    numbers.of["Wk"][0, 0] = 1
    query, key, _ = numbers.vectors()
    assert query[0] @ key[1] != query[1] @ key[0]
    assert answer(page, 0, str(query[1] @ key[0])) == phrase("transposed", "en", query="x1", key="x2")


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "name", "letter"), [("light", "000", "X"), ("dark", "004", "Q")])
def test_axe_finds_nothing_in_the_worked_page(live, documents, scheme, name, letter):
    page = live(documents[name], "#mask=1.2&Wq=1.1:3&parameter=0.5&slope=1&lang=zh", color_scheme=scheme)
    write(page, f"{letter} 0 0", "2")
    page.fill(f'[data-id="{letter} 0 1"]', "a")
    assert axe(page) == []
    page.evaluate("location.hash = '#exercise=on'")
    answer(page, 0, "3")
    assert axe(page) == []


@pytest.mark.parametrize("name", ["000", "004"])
def test_a_narrow_worked_page_scrolls_in_one_direction_and_has_large_targets(live, documents, name):
    page = live(documents[name], width=360, height=640)
    for hash in ("#", "#exercise=on&lang=zh", "#weights=entmax&mask=1.1"):
        page.evaluate(f"location.hash = '{hash}'")
        page.wait_for_timeout(30)
        assert page.evaluate(WIDE) == 0
        small = page.evaluate("""[...document.querySelectorAll("button, select, input")]
          .filter((each) => each.checkVisibility()).map((each) => [each.getBoundingClientRect(), each.outerHTML])
          .filter(([{ width, height }]) => width < 24 || height < 24).map(([, html]) => html)""")
        assert small == []


def test_without_a_script_the_page_is_tables(context, documents, tmp_path):
    path = tmp_path / "worked.html"
    path.write_text(documents["000"], "utf-8")
    page = context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    cells = page.locator("td").all_text_contents()
    weights, outputs = Numbers("000").computed()
    for value in (*weights.ravel(), *outputs.ravel()):
        assert number(value) in cells
    assert "[2, 7, 1.5]" in cells
    assert page.locator("input").count() == 0


def test_hostile_names_stay_texts(live):
    names = ("</script><b>x", "<img src=x onerror=alert(1)>", "", "\u202ex")
    matrices = Matrices.of([[1, 2]] * 4, [[1, 0]] * 4, [[1]] * 4, names)
    page = live(live_steps(matrices, title="<i>t</i>"), "#query=2&key=1")
    assert page.locator("img, main i").count() == 0
    assert "</script><b>x" in page.locator(".pair h2").text_content()
    assert page.locator(".scores tbody th").all_text_contents()[2] == "3"


def test_the_command_writes_it(tmp_path, capsys):
    path = tmp_path / "steps.html"
    assert (
        main(["steps", "000", "--html", str(path), "--causal", "--temperature", "inf", "--query", "2", "--lang", "zh"])
        == 0
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"Wrote {path}.\n"
    text = path.read_text("utf-8")
    example = live_steps(EXAMPLES["000"], mask="causal", temperature=math.inf, row=1, language="zh")
    assert text == example
    # A page of regard's is written over, another file isn't.
    assert main(["steps", "002", "--html", str(path)]) == 0
    path.write_text("mine", "utf-8")
    assert main(["steps", "002", "--html", str(path)]) == 2
    assert path.read_text("utf-8") == "mine"


def test_larger_matrices_have_a_page_to_read(tmp_path, capsys):
    table = tmp_path / "mine.csv"
    table.write_text("\n".join(["1,0,2"] * 25), "utf-8")
    path = tmp_path / "steps.html"
    assert main(["steps", str(table), "--html", str(path)]) == 0
    text = path.read_text("utf-8")
    assert phrase("too large", "en") in text
    assert "<script" not in text
    with pytest.raises(ArgumentError, match="must be matrices of 1 to 24 rows"):
        live_steps(Matrices.of([[1.0]] * 25, [[1.0]], [[1.0]]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"language": "de"}, "`language` must be one of en, zh"),
        ({"score": "bilinear"}, "`score` must be one of dot"),
        ({"weights": "max"}, "`weights` must be one of softmax"),
        ({"temperature": -1.0}, "`temperature` must be 0 or more"),
        ({"weights": "relu", "temperature": 2.0}, "is one of softmax"),
        ({"row": 3}, "`row` must be a whole number from 0 to 2"),
    ],
)
def test_what_the_page_can_not_show_is_refused(options, said):
    with pytest.raises(ArgumentError, match=said):
        live_steps(EXAMPLES["000"], **options)


@pytest.mark.parametrize(("width", "rows"), [(1280, 1), (1000, 2), (390, 2)])
def test_small_tables_stand_beside_each_other_in_a_wide_window(live, width, rows):
    page = live(live_steps(EXAMPLES["000"]), width=width)
    tops = [round(page.locator(f"section.{each}").bounding_box()["y"]) for each in ("scores", "mask")]
    assert len(set(tops)) == rows
    if rows == 1:
        # X and the three matrices of weights stand in one row.
        matrices = page.locator("section.inputs .matrix").evaluate_all("(all) => all.map((each) => each.offsetTop)")
        assert len(matrices) == 4
        assert len(set(matrices)) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_tables_of_many_keys_have_a_row_each(live):
    rows = torch.eye(6).tolist()
    page = live(live_steps(Matrices.of(rows, rows, rows)), width=1280)
    scores, mask = (page.locator(f"section.{each}").bounding_box() for each in ("scores", "mask"))
    assert mask["y"] >= scores["y"] + scores["height"]
