"""The names of axes, and the letter of each in einsum strings.

Everywhere else the names are written in full, in signatures too: `Float[Tensor, "batch head query key"]`.
"""

__all__ = ["LETTERS"]

LETTERS = {
    "batch": "b",
    "head": "h",
    "query": "q",
    "key": "k",
    "feature": "d",
    "value": "v",
    "length": "n",
    "width": "w",
}
