"""The tables of the pages that follow the lecture notes, in either language, from notes.toml."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import claim_tables

from regard.lab import STUDIES
from regard.lab.verdict import verdicts

__all__ = ["table"]

COLUMNS = {"en": ("passage", "shown by", "what it gives"), "zh": ("段落", "如何看到", "结果")}
ANSWERS = {"yes": "是", "no": "否", "can't tell": "无法判断", "": "尚未测量"}


def table(name: str) -> str:
    """The passages of one note in one language, such as "001 zh"."""
    note, language = name.split()
    passages = tomllib.loads((Path(__file__).parent / "notes.toml").read_text(encoding="utf-8"))["passage"]
    lines = [COLUMNS[language], ("---",) * 3]
    for each in passages:
        if each["note"] == note:
            says, gives = each[language]
            shown = each["shown_zh"] if language == "zh" and "shown_zh" in each else each["shown"]
            if studies := each.get("lab"):
                comma = {"en": ", ", "zh": "、"}[language]
                shown = comma.join([shown, *(f"`regard lab {study}`" for study in studies)])
                gives = f"{gives}{answers(studies, language)}"
            lines.append((says, shown, gives))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def answers(studies: Sequence[str], language: str) -> str:
    """The answers that the lab's studies give, each linked to the page that reports them."""
    said = []
    for name in studies:
        found = verdicts(STUDIES[name], claim_tables.runs_of(STUDIES[name]))[0].answer
        if language == "en":
            said.append(f"{STUDIES[name].question} [{(found or 'not run yet').capitalize()}](claims.md#{name}).")
        else:
            said.append(f"[实测 {name}](../explanation/claims.md#{name})：{ANSWERS[found]}")
    return f". {' '.join(said)}" if language == "en" else f"。{'；'.join(said)}"
