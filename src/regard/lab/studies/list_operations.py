"""Do approximations of attention evaluate long lists of operations as well as full attention?"""

from regard.lab.study import Setting, Study
from regard.lab.synthetic.long_range import FULL_SIZE, SETTINGS, VARIANTS, claims, classify_long

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a classifier of expressions by their value, and measure it on test."""
    return classify_long({"source": "lists", **setting}, seed)


study = Study(
    "list_operations",
    "Does full attention evaluate long lists of operations better than linear attention?",
    run,
    VARIANTS,
    claims(margin=0.01),
    settings={**SETTINGS, "examples": 19_200, "epochs": 1},
    full={**FULL_SIZE, "examples": 96_000},
    source="001, the picture of the Long Range Arena; Tay et al. 2021, section 2.2.1",
    note="Expressions such as >29<47]0] (the maximum of 2, 9, the minimum of 4 and 7, and 0) have 500 to 1,000 "
    "characters, and ten values. The best guess from the outermost operator alone is right in 35 % of them, so "
    "that a network with this score may know nothing but the first character. Training also has short expressions, "
    "because no variant learns from long ones alone in this time. Times include drawing the expressions.",
    order=290,
)
