"""SMILES: molecules as they are written in a line."""

from typing import Any

from regard.errors import ArgumentError
from regard.extras import require

__all__ = ["read_smiles"]


def read_smiles(smiles: str) -> Any:
    """What RDKit reads.

    Raises:
        ArgumentError: no molecule: not one text in ASCII, empty, or what RDKit can't read; says why.
        MissingExtraError: RDKit is not installed.

    Example:
        >>> read_smiles("CCO").GetNumAtoms()
        3
    """
    if not isinstance(smiles, str):
        raise ArgumentError(f"`smiles` must be a text, but is {smiles!r:.60}.")
    written = smiles.strip()
    if not written:
        raise ArgumentError("`smiles` must be a molecule, but is empty.")
    # RDKit takes what follows a space for a name, and skips characters that can't be seen.
    if not all("!" <= character <= "~" for character in written):
        raise ArgumentError(
            f"`smiles` must be one molecule in ASCII without spaces, but is {smiles!r:.60}. Take out what isn't SMILES."
        )
    chemistry = require("rdkit.Chem", extra="molecule")
    base = require("rdkit.rdBase", extra="molecule")
    with base.BlockLogs(), base.CaptureErrorLog() as log:
        read = chemistry.MolFromSmiles(written)
    if read is None:
        raise ArgumentError(f"`smiles` must be a molecule, but {smiles!r:.60} isn't one: {_reason(log.messages)}.")
    if not read.GetNumAtoms():
        raise ArgumentError(f"`smiles` must be a molecule, but {smiles!r:.60} has no atoms.")
    return read


def _reason(log: str) -> str:
    """RDKit's reason in a few words; it says it in several lines with the time before each and a picture."""
    lines = [line.partition("] ")[2].removeprefix("SMILES Parse Error: ") for line in log.splitlines()]
    reason = lines[0].partition(" for input:")[0].partition(" while parsing:")[0] if lines else "RDKit can't read it"
    near = [line.rpartition(" ")[2].rstrip(":") for line in lines if "around position" in line]
    return f"{reason.strip().rstrip('.')} (near character {near[0]})" if near else reason.strip().rstrip(".")
