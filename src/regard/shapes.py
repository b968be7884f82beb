"""The words for axes, and the one letter that each has inside an einsum string.

Outside einsum strings the words are written in full, in signatures too: `Float[Tensor, "batch head query key"]`.
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
