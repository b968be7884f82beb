"""The judgement as a page."""

import math

from regard.jury.verdict import Judgement, Verdict
from regard.page import Block, Code, Heading, Page, Prose, Table

__all__ = ["report"]


def report(judgement: Judgement, *, scripts: bool = False) -> Page:
    """One page: the verdict on each law, and of each that fails what it means and the smallest failing call.

    Args:
        judgement: what `check` gave.
        scripts: whether the scripts are shown.

    Example:
        >>> from regard.jury import check
        >>> report(check("sdpa-math", only=["outputs"])).title
        'sdpa-math: no law fails; 1 holds'
    """
    rows = tuple(_row(verdict) for verdict in judgement.verdicts)
    columns = ("law", "verdict", "error", "bound", "cases")
    blocks: list[Block] = [Table(columns, rows, ("left", "left", "right", "right", "right"))]
    if judgement.failed and judgement.failed[0].law.name == "outputs" and len(judgement.failed) > 1:
        blocks.append(
            Prose("The plain outputs are wrong. Other laws may fail for the same reason: begin with outputs.")
        )
    for verdict in judgement.failed:
        law = verdict.law
        blocks += [Heading(f"{law.name} fails"), Prose(law.says), Prose(f"What it means: {law.matters}")]
        if told := _worst(verdict):
            blocks.append(Prose(told))
        if verdict.note:
            blocks.append(Prose(f"Found: {verdict.note.rstrip('.')}."))
        blocks.append(Prose(f"The smallest failing call that was found: {verdict.smallest}."))
        if scripts and verdict.script:
            blocks += [Prose("This program shows it without regard:"), Code(verdict.script)]
    told = [verdict for verdict in judgement.verdicts if verdict.note and verdict.answer != "fails"]
    if told:
        blocks += [Heading("Notes"), *(Prose(f"{verdict.law.name}: {verdict.note.rstrip('.')}.") for verdict in told)]
    if judgement.slopes:
        blocks += _slopes(judgement)
    blocks.append(
        Prose(
            f"Judged on {judgement.device} in {judgement.seconds:.0f} seconds. An error is that of the number which is "
            "furthest off in units of its bound, and a bound is what rounding explains."
        )
    )
    return Page(f"{judgement.name}: {judgement.summary}", tuple(blocks))


def _row(verdict: Verdict) -> tuple[str, ...]:
    worst, cases = verdict.worst, f"{verdict.cases}" if verdict.cases else ""
    if worst is None:
        return verdict.law.name, verdict.answer, "", "", cases
    bound = _number(worst.bound) if worst.bound else ""
    return verdict.law.name, verdict.answer, _number(worst.error), bound, cases


def _worst(verdict: Verdict) -> str:
    """What was furthest off."""
    worst = verdict.worst
    if worst is None or not worst.where:
        return ""
    return f"Furthest off: {worst.what} at {list(worst.where)} is {worst.got:.6g}, and must be {worst.right:.6g}."


def _number(number: float) -> str:
    return "not finite" if not math.isfinite(number) else f"{number:.2g}"


def _slopes(judgement: Judgement) -> list[Block]:
    rows = tuple(
        (
            f"{each.length:,}",
            f"{each.seconds * 1000:.1f} ms",
            "unknown" if each.mebibytes is None else f"{each.mebibytes:.1f} MiB",
        )
        for each in judgement.slopes
    )
    blocks: list[Block] = [
        Heading("Time and memory over the length"),
        Table(("length", "time", "memory"), rows, ("right", "right", "right")),
    ]
    if (exponents := judgement.exponents()) is not None:
        time, memory = (f"n^{each:.1f}" if math.isfinite(each) else "unknown" for each in exponents)
        told = f"Between the two longest, time grows as {time} and memory as {memory}. No verdict depends on it."
        blocks.append(Prose(told))
    return blocks
