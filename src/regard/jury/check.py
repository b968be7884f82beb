"""`check`: judge an attention function by the laws of the contract."""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from regard.errors import ArgumentError, UnknownNameError
from regard.jury.candidates import Candidate, candidate
from regard.jury.cases import Case
from regard.jury.claims import Claims, found_claims
from regard.jury.law import Finding, Law
from regard.jury.laws import LAWS
from regard.jury.script import written_script
from regard.jury.shrink import shrunk
from regard.jury.slopes import measured_slopes
from regard.jury.subject import RefusedCase, Subject
from regard.jury.verdict import Judgement, Verdict

__all__ = ["check", "judged", "laws_named"]


def check(
    function: Callable[..., Any] | str | Candidate,
    claims: Claims | None = None,
    *,
    only: Sequence[str] = (),
    device: str = "cpu",
    slopes: bool = False,
    told: Callable[[str], object] | None = None,
) -> Judgement:
    """Judge any attention function: is what it computes, and what it trains on, attention?

    Outputs, gradients of the first and the second order, forward mode, half precision and dropout are compared with a
    definition in float64 that shares no code with the engines of regard, within bounds that follow from rounding alone
    (`regard.jury.rounding_bounds`). A law holds, fails, isn't offered, or couldn't be judged. One that fails comes with
    the smallest failing call that was found, as a script that runs without regard.

    Args:
        function: takes query (batch, head, query, feature), key and value, and options by name; or the name of a known
            one, of `regard.jury.CANDIDATES`, such as "sdpa"; or a `Candidate`.
        claims: what it offers, in its own argument names; None: what is found by trying, or is known of a name.
        only: names of laws; none: all of them.
        device: where it is judged, such as "cuda".
        slopes: whether time and memory over the length are measured, too; no verdict depends on them.
        told: called with the name of each law before it is judged.

    Raises:
        ArgumentError: the function can't be called, or a name is unknown.
        MissingExtraError: a named function needs a library that isn't installed.

    Example:
        >>> from torch.nn.functional import scaled_dot_product_attention
        >>> judgement = check(scaled_dot_product_attention, only=["outputs", "alignment"])
        >>> [(verdict.law.name, verdict.answer) for verdict in judgement.verdicts]
        [('outputs', 'holds'), ('alignment', 'fails')]
        >>> judgement["alignment"].note
        'aligned at the start; regard aligns at the end'
    """
    laws = laws_named(only)
    if isinstance(function, Candidate):
        chosen = function
    elif isinstance(function, str):
        chosen = candidate(function)
    elif callable(function):
        chosen = Candidate(getattr(function, "__name__", type(function).__name__), function, None)
    else:
        raise ArgumentError(f"`function` must be a function or a name, but is {function!r:.60}.")
    begin = time.monotonic()
    with warnings.catch_warnings():
        # What a kernel warns of is no verdict, and would be told once for each of hundreds of calls.
        warnings.simplefilter("ignore")
        subject = Subject(chosen.function, claims or chosen.claims or found_claims(chosen.function, device), device)
        subject = replace(subject, claims=replace(subject.claims, dtypes=_dtypes(subject)))
        if subject.claims.gradients and not _has_gradients(subject):
            subject = replace(subject, claims=replace(subject.claims, gradients=False))
        verdicts = []
        for law in laws:
            if told is not None:
                told(law.name)
            verdicts.append(judged(subject, law, chosen))
        measured = measured_slopes(subject) if slopes else ()
    return Judgement(chosen.name, device, tuple(verdicts), tuple(measured), time.monotonic() - begin)


def _dtypes(subject: Subject) -> tuple[str, ...]:
    """The claimed dtypes in which it runs on its device: some kernels take half precision alone."""
    taken = []
    for dtype in subject.claims.dtypes:
        try:
            subject.outcome(subject.make(Case(dtype=dtype, feature=64, value=64)), gradients=False)
        except RefusedCase:
            continue
        taken.append(dtype)
    return tuple(taken) or subject.claims.dtypes


def _has_gradients(subject: Subject) -> bool:
    """Whether a small call has a backward: without one, outputs are judged alone."""
    try:
        subject.outcome(subject.make(Case(dtype=subject.claims.usual, feature=64, value=64)))
    except RefusedCase:
        return False
    return True


def laws_named(names: Iterable[str]) -> list[Law]:
    """The laws of these names, in the order of `LAWS`; all if there is no name.

    Raises:
        UnknownNameError: there is no such law.
    """
    names = list(names)
    for name in names:
        if name not in LAWS:
            raise UnknownNameError("only", name, LAWS)
    return [law for name, law in LAWS.items() if name in names or not names]


def judged(subject: Subject, law: Law, shown: Candidate) -> Verdict:
    """The verdict of one law.

    Args:
        subject: the function with its claims.
        law: the law.
        shown: how the function is named and written in a script.
    """
    cases = list(law.cases(subject.claims))
    if not cases:
        return Verdict(law, "not offered", note=f"it claims no {law.needs.removeprefix('a ')}" if law.needs else "")
    worst: Finding | None = None
    failing, refusals, count, notes = None, [], 0, set()
    for case in cases:
        try:
            finding = law.judge(subject, case)
        except RefusedCase as refusal:
            refusals.append(str(refusal))
            continue
        except Exception as error:
            note = f"the jury failed on {case}: {type(error).__name__}: {error}"
            return Verdict(law, "not judged", worst, count, len(refusals), note)
        count += 1
        notes |= {finding.note} - {""}
        if not finding.holds and failing is None:
            failing = case
        if worst is None or (finding.ratio, finding.error) > (worst.ratio, worst.error):
            worst = finding
    refused = f"{len(refusals)} of {len(cases)} cases raise an error: {_first_line(refusals[0])}" if refusals else ""
    if worst is None:
        # Plain attention is no ability that a function may lack.
        answer = "not judged" if law.name == "outputs" else "not offered"
        return Verdict(law, answer, note=_first_line(refusals[0]), refused=len(refusals))
    if failing is None:
        note = "; ".join([*sorted(notes), *[refused][: len(refusals)]])
        return Verdict(law, "holds", worst, count, len(refusals), note)
    smallest, finding = shrunk(subject, law, failing)
    note = "; ".join(each for each in (finding.note or worst.note, refused) if each)
    script = written_script(subject, law, smallest, finding, shown)
    return Verdict(law, "fails", worst, count, len(refusals), note, smallest, script)


def _first_line(message: str) -> str:
    line = message.strip().splitlines()[0] if message.strip() else "no message"
    return line if len(line) <= 160 else f"{line[:157]}..."
