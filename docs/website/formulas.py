"""Formulas as MathML, which browsers draw by themselves: no script and no font has to be fetched."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def mathml(formula: str, *, block: bool = False) -> str:
    # The converter doesn't know relations such as -=, written \mathrel{-}= for GitHub.
    formula = re.sub(r"\\mathrel\{([+-])\}=", r"\\;\\text{\1=}\\;", formula)
    return tex2mathml(formula, as_block=block)


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(mathml(node.astext(), block=True))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True}
