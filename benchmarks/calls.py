"""How many Python functions of regard a call of `attend` runs, which is most of what a short call takes.

    PYTHONPATH=src python benchmarks/calls.py

Times of short calls change with the machine and with what else it does; these numbers don't. They are of a warm call on
a CPU, counted by `sys.setprofile`. tests/attention/test_calls.py holds them below bounds.
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import regard
from regard import attend
from regard.attention import Additive, Window

__all__ = ["MASKS", "SCORES", "counted", "functions"]

HOME = str(Path(regard.__file__).parent)

SCORES: dict[str, Callable[[bool], Any]] = {
    "scaled_dot": lambda gradient: "scaled_dot",
    "additive": lambda gradient: Additive(torch.linspace(-1, 1, 16).requires_grad_(gradient)),
}
MASKS: dict[str, Any] = {"none": None, "causal": "causal", "window": Window(16, 16)}


def functions(call: Callable[[], Any]) -> Counter[str]:
    """The functions of regard that run during a call, with how often each does."""
    found: Counter[str] = Counter()

    def count(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HOME):
            found[f"{Path(frame.f_code.co_filename).relative_to(HOME)} {frame.f_code.co_qualname}"] += 1

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def counted(score: str, mask: str, *, gradient: bool, queries: int = 128, keys: int = 128) -> Counter[str]:
    """The functions of a warm call, (1, 2, queries, 16), with its backward pass if `gradient`."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(1, 2, length, 16, generator=generator).requires_grad_(gradient) for length in (queries, keys, keys)
    )
    part = SCORES[score](gradient)

    def call() -> None:
        output = attend(query, key, value, score=part, mask=MASKS[mask])
        if gradient:
            output.sum().backward()

    call()
    call()
    return functions(call)


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'score':12}{'mask':8}{'queries':>8}{'forward':>9}{'forward + backward':>20}")
    for score in SCORES:
        for mask in MASKS:
            for queries in (128, 1):
                both = [counted(score, mask, gradient=gradient, queries=queries).total() for gradient in (False, True)]
                print(f"{score:12}{mask:8}{queries:8}{both[0]:9}{both[1]:20}")


if __name__ == "__main__":
    main()
