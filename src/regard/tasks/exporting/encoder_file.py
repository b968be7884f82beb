"""The Python file beside an exported model: an encoder of sources and what it imports of regard, as one file."""

import ast
import importlib.util
from pathlib import Path

from regard.version import __version__

__all__ = ["encoder_source"]


def encoder_source(module: str) -> str:
    """The text of a Python file that encodes sources with NumPy alone.

    Args:
        module: a module of `exporting.encoders`.

    Example:
        >>> text = encoder_source("pictures")
        >>> "def encode(" in text, "regard." in text
        (True, False)
    """
    body = _inlined(f"{__package__}.encoders.{module}", set())
    head = (
        f'"""Encodes sources for the ONNX file of the same name. Written by regard {__version__}; needs NumPy."""\n\n'
    )
    return head + body


def _inlined(module: str, seen: set[str]) -> str:
    """The source of a module, after those of the modules of regard that it imports."""
    if module in seen:
        return ""
    seen.add(module)
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise FileNotFoundError(f"{module} has no source file")
    text = Path(found.origin).read_text(encoding="utf-8")
    lines, parts = text.splitlines(keepends=True), []
    for node in ast.parse(text).body:
        imported = str(node.module) if isinstance(node, ast.ImportFrom) else ""
        own = imported.startswith("regard.")
        if own:
            parts.append(_inlined(imported, seen))
        listed = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        heading = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.lineno == 1
        if own or listed or heading:
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n\n".join([*parts, "".join(lines).strip() + "\n"])
