"""The tables of the pages that follow the lecture notes, in either language, from notes.toml."""

import tomllib
from pathlib import Path

__all__ = ["table"]

COLUMNS = {"en": ("passage", "shown by", "what it gives"), "zh": ("段落", "如何看到", "结果")}


def table(name: str) -> str:
    """The passages of one note in one language, such as "001 zh"."""
    note, language = name.split()
    passages = tomllib.loads((Path(__file__).parent / "notes.toml").read_text(encoding="utf-8"))["passage"]
    lines = [COLUMNS[language], ("---",) * 3]
    for each in passages:
        if each["note"] == note:
            says, gives = each[language]
            shown = each["shown_zh"] if language == "zh" and "shown_zh" in each else each["shown"]
            lines.append((says, shown, gives))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
