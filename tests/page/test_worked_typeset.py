"""Formulas of the worked steps on the page are typeset: italics, indices, and the signs that print has."""

import re

import pytest

from regard.inspection.steps.examples import EXAMPLES
from regard.inspection.steps.live_steps import formulas_json, live_steps
from regard.page.modules import joined

# What must be on no page: how the terminal writes roots, sums, indices, powers and products.
ASCII = re.compile(r"sqrt|sum_|max_|\w_\w|\*|\^| x \d| x \[|[^e]-\d|-inf")
# The name of a part, such as top_k, is what a reader writes in Python.
SHOWN = """
() => [...document.querySelectorAll("main :is(td, th, p, label, caption, h3, span)")]
  .filter((each) => !each.querySelector("select")).map((each) => each.textContent).join("\\n")
"""


def typeset(script, formulas):
    """Formulas as HTML."""
    source = joined("worked_typeset.js")
    return script(source, "x.map((each) => h('p', {}, formulaNodes(each)).innerHTML)", formulas)


@pytest.mark.parametrize(
    ("formula", "html"),
    [
        ("q * k", "<var>q</var> × <var>k</var>"),
        ("s_j := s_j / sqrt(d)", "{s_j} := {s_j} / √<var>d</var>"),
        ("s_j = sum_f p_jf", '{s_j} = <span class="unbroken">Σ<sub><var>f</var></sub></span> {p_jf}'),
        ("m = max_j s_j", '<var>m</var> = <span class="unbroken">max<sub><var>j</var></sub></span> {s_j}'),
        ("e_j = exp(s_j - m)", "{e_j} = exp({s_j} − <var>m</var>)"),
        ("x_jf = q_f + k_jf", "{x_jf} = {q_f} + {k_jf}"),
        ("2 x (-3) = -6", "2 × (−3) = −6"),
        (
            "w_j = max(z_j - t, 0) ^ (1 / (alpha - 1))",
            "{w_j} = max({z_j} − <var>t</var>, 0)<sup>1 / (<var>α</var> − 1)</sup>",
        ),
        ("sqrt(a + b)", "√(<var>a</var> + <var>b</var>)"),
        ("[1, -2] x 0.5", '<span class="unbroken">[1, −2]</span> × 0.5'),
        ("6.1e-05", "6.1e-05"),
        ("mask_j + -inf", '<span class="unbroken">mask<sub><var>j</var></sub></span> + −∞'),
        ("<b>1</b> &amp;", "&lt;<var>b</var>&gt;1&lt;/<var>b</var>&gt; &amp;amp;"),
    ],
)
def test_a_formula_is_typeset(script, formula, html):
    def indexed(found):
        return f'<span class="unbroken"><var>{found[1]}</var><sub><var>{found[2]}</var></sub></span>'

    assert typeset(script, [formula]) == [re.sub(r"\{(\w)_(\w+)\}", indexed, html)]


def test_no_formula_of_a_part_is_left_as_the_terminal_writes_it(script):
    parts = [step for kind in formulas_json(3).values() for steps in kind.values() for step in steps if "text" in step]
    assert len(parts) > 20
    symbols = {name: name for step in parts for name in step["operands"]}
    texts = [f"{step['symbol']} = {step['text'].format_map(symbols)}" for step in parts]
    for text, html in zip(texts, typeset(script, texts), strict=True):
        plain = re.sub("<[^>]*>", "", html)
        assert not ASCII.search(plain.replace("among the largest", "")), (text, plain)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("hash", ["", "#exercise=on", "#score=additive&weights=entmax&causal=on"])
def test_nothing_on_the_page_is_written_as_in_the_terminal(live, name, hash):
    for width in (1280, 390):
        page = live(live_steps(EXAMPLES[name]), hash, width=width)
        for lang in ("en", "zh"):
            page.click(f'[data-id="{lang}"]')
            found = ASCII.search(page.evaluate(SHOWN))
            assert found is None, found
        root = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert root[0] == root[1]
