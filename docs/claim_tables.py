"""The page of the lab's questions: a table of all, and a section for each, from the results in the package."""

from collections.abc import Iterator

from regard.inspection import chart_figure
from regard.inspection.figures.written import figure_bytes
from regard.lab import STUDIES, Run, Study, read_runs
from regard.lab.report import charts, conditions, report, summary
from regard.lab.results import BUNDLED, current_runs
from regard.lab.verdict import verdicts
from regard.page import Prose, Table

__all__ = ["pictures", "sections", "table"]


def table() -> str:
    """The questions with their answers, in one table."""
    lines = ["| question | the notes | measured | how sure |", "| --- | --- | --- | --- |"]
    for study in STUDIES.values():
        first = verdicts(study, runs_of(study))[0]
        answer = f"**{first.answer}**" if first.contradicts else first.answer or "not run yet"
        lines.append(f"| [{study.question}](#{study.name}) | {first.claim.notes} | {answer} | {cell(first.sentence)} |")
    return "\n".join(lines) + "\n"


def sections() -> str:
    """A section for each question: the verdicts, the picture and the table of its variants."""
    parts: list[str] = []
    for study in STUDIES.values():
        runs = runs_of(study)
        found = verdicts(study, runs)
        parts.append(f"### {study.name}\n\n**{study.question}** {summary(found[0])}\n")
        parts += [f"*{each.claim.text}* {summary(each)}\n" for each in found[1:]]
        if study.note:
            parts.append(f"{study.note}\n")
        if runs:
            parts.append(f"![{charts(study, runs)[0].title}](../pictures/claims/{study.name}.svg)\n")
            parts += [
                markdown(block) for block in report(study, runs, all_runs=False).blocks if isinstance(block, Table)
            ][:1]
            parts.append(f"`regard lab {study.name}`. {conditions(study, runs)}\n")
        else:
            parts.append(f"Not run yet: `regard lab {study.name}`.\n")
    return "\n".join(parts)


def pictures() -> Iterator[tuple[str, str]]:
    """The picture of each question that was run: its name, and its SVG."""
    for study in STUDIES.values():
        if runs := runs_of(study):
            yield study.name, figure_bytes(chart_figure(charts(study, runs)[0]), "svg").decode("utf-8")


def runs_of(study: Study) -> list[Run]:
    """The results of a study that come with the package."""
    return current_runs(study, read_runs(BUNDLED / f"{study.name}.jsonl"), study.planned())


def markdown(block: Table | Prose) -> str:
    """A table of a page as Markdown."""
    if isinstance(block, Prose):
        return block.text + "\n"
    marks = ["---" if block.aligned(index) == "left" else "---:" for index in range(len(block.columns))]
    rows = [block.columns, marks, *block.rows]
    return "\n".join(f"| {' | '.join(map(cell, row))} |" for row in rows) + "\n"


def cell(text: str) -> str:
    """Text that a cell can hold."""
    return text.replace("|", "\\|")
