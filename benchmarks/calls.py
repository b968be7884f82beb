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


def counted(score: str, mask: str, *, gradient: bool, queries: int = 128, keys: int = 128) -> list[Counter[str]]:
    """The functions of a warm call, (1, 2, queries, 16), and if it has a `gradient`, those of its backward pass."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(1, 2, length, 16, generator=generator).requires_grad_(gradient) for length in (queries, keys, keys)
    )
    part = SCORES[score](gradient)
    outputs: list[torch.Tensor] = []

    def forward() -> None:
        outputs.append(attend(query, key, value, score=part, mask=MASKS[mask]).sum())

    for _ in range(2):
        forward()
        if gradient:
            outputs[-1].backward()
    found = [functions(forward)]
    return [*found, functions(outputs[-1].backward)] if gradient else found


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'score':12}{'mask':8}{'queries':>8}{'forward':>9}{'forward with gradient':>23}{'backward':>10}")
    for score in SCORES:
        for mask in MASKS:
            for queries in (128, 1):
                found = [
                    each.total()
                    for gradient in (False, True)
                    for each in counted(score, mask, gradient=gradient, queries=queries)
                ]
                print(f"{score:12}{mask:8}{queries:8}{found[0]:9}{found[1]:23}{found[2]:10}")


if __name__ == "__main__":
    main()
