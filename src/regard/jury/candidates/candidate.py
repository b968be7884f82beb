"""A function to be judged, with what is known of it."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import getsource
from typing import Any

from regard.jury.claims import Claims

__all__ = ["Candidate", "source_of"]


@dataclass(frozen=True)
class Candidate:
    """A function with its name and its claims, and how a script gets it.

    Args:
        name: what it is called in the report.
        function: takes query, key, value and options.
        claims: what it offers; None: it is found by trying.
        source: lines of Python that define `attention` in a script; "": they are found from the function.
    """

    name: str
    function: Callable[..., Any]
    claims: Claims | None
    source: str = ""


def source_of(*functions: Callable[..., Any], attention: str) -> str:
    """Lines of Python that define some functions which stand alone, and `attention`, which calls them."""
    parts = ["from typing import Any\n\nfrom torch import Tensor\n", *map(getsource, functions)]
    call = f"def attention(*tensors, **options):\n    return {attention}\n"
    return "\n\n".join([*parts, call])
