"""SMILES: molecules as text."""

from typing import Any

from regard.errors import ArgumentError
from regard.extras import require

__all__ = ["molecule_parts", "read_smiles"]


def read_smiles(smiles: str) -> Any:
    """Read a molecule with RDKit.

    Hydrogens aren't atoms of their own, neither those that the SMILES names nor those of another isotope, unless
    nothing else would remain: heavy water is water.

    Raises:
        ArgumentError: it isn't an ASCII text, is empty, or isn't a molecule that RDKit can read; the message says why.
        MissingExtraError: RDKit is not installed.

    Example:
        >>> read_smiles("CCO").GetNumAtoms(), read_smiles("[2H]O[2H]").GetNumAtoms()
        (3, 1)
    """
    if not isinstance(smiles, str):
        raise ArgumentError(f"`smiles` must be a text, but is {smiles!r:.60}.")
    written = smiles.strip()
    if not written:
        raise ArgumentError("`smiles` must be a molecule, but is empty.")
    # RDKit treats text after a space as a name, and ignores invisible characters.
    if not all("!" <= character <= "~" for character in written):
        raise ArgumentError(
            f"`smiles` must be one molecule in ASCII without spaces, but is {smiles!r:.60}. Remove what isn't SMILES."
        )
    chemistry = require("rdkit.Chem", extra="molecule")
    base = require("rdkit.rdBase", extra="molecule")
    with base.BlockLogs(), base.CaptureErrorLog() as log:
        read = chemistry.MolFromSmiles(written)
    if read is None:
        raise ArgumentError(f"`smiles` must be a molecule, but {smiles!r:.60} isn't one: {_reason(log.messages)}.")
    if not read.GetNumAtoms():
        raise ArgumentError(f"`smiles` must be a molecule, but {smiles!r:.60} has no atoms.")
    if any(atom.GetAtomicNum() == 1 and atom.GetIsotope() for atom in read.GetAtoms()):
        return _without_isotopes(chemistry, read)
    return read


def molecule_parts(smiles: str) -> int:
    """How many molecules or ions that no bond connects a SMILES holds: a salt has two or more.

    Raises:
        ArgumentError, MissingExtraError: as in `read_smiles`.

    Example:
        >>> [molecule_parts(smiles) for smiles in ("CCO", "[Na+].[Cl-]", "C1.C1")]
        [1, 2, 1]
    """
    return len(require("rdkit.Chem", extra="molecule").GetMolFrags(read_smiles(smiles)))


def _without_isotopes(chemistry: Any, read: Any) -> Any:
    """A molecule without deuterium and tritium, which RDKit keeps as atoms, as it removes other named hydrogens."""
    isotopes = chemistry.RemoveHsParameters()
    isotopes.removeIsotopes = True
    removed = chemistry.RemoveHs(read, isotopes)
    # A carbon that was a stereocentre by its deuterium alone is none any more.
    chemistry.AssignStereochemistry(removed, cleanIt=True, force=True)
    return removed


def _reason(log: str) -> str:
    """RDKit's reason in a few words. Its log has several lines with times, and a drawing of the position."""
    lines = [line.partition("] ")[2].removeprefix("SMILES Parse Error: ") for line in log.splitlines()]
    reason = lines[0].partition(" for input:")[0].partition(" while parsing:")[0] if lines else "RDKit can't read it"
    near = [line.rpartition(" ")[2].rstrip(":") for line in lines if "around position" in line]
    return f"{reason.strip().rstrip('.')} (near character {near[0]})" if near else reason.strip().rstrip(".")
