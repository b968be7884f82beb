"""How a molecule is drawn: where its atoms stand, which lines join them, and what is written at each."""

from typing import Any, NamedTuple

import numpy as np

from regard.extras import require
from regard.inputs.smiles import read_smiles

__all__ = ["MoleculeDrawing", "molecule_drawing"]

_LINES = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3}
_LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# Their hydrogens are written first.
_ACIDS = {"O", "S", "Se", "F", "Cl", "Br", "I"}
_HIGH = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")


class MoleculeDrawing(NamedTuple):
    """How a molecule is drawn. Atoms are in the order of the SMILES.

    Args:
        positions: (atom, 2) float32, how far right and how far down; the length of a bond is about 1.5.
        bonds: (bond, 3) int32: two atoms, and how many lines join them; 0 for a bond of another kind. The bonds of an
            aromatic ring are single and double in turn.
        symbols: what is written at each atom; "" for a carbon in a chain or a ring.
    """

    positions: np.ndarray
    bonds: np.ndarray
    symbols: tuple[str, ...]


def molecule_drawing(smiles: str) -> MoleculeDrawing:
    """Lay a molecule out in the plane, by RDKit. Which side of the plane a bond points to isn't drawn.

    Raises:
        ArgumentError: it isn't a molecule; see `MoleculeAtoms.graph`.
        MissingExtraError: RDKit is not installed.

    Example:
        >>> drawing = molecule_drawing("CC(=O)[O-]")
        >>> drawing.symbols, drawing.bonds.tolist()
        (('', '', 'O', 'O⁻'), [[0, 1, 1], [1, 2, 2], [1, 3, 1]])
    """
    read = read_smiles(smiles)
    require("rdkit.Chem", extra="molecule").Kekulize(read, clearAromaticFlags=True)
    require("rdkit.Chem.rdDepictor", extra="molecule").Compute2DCoords(read)
    # RDKit's second axis points up.
    positions = read.GetConformer().GetPositions()[:, :2] * (1, -1)
    bonds = [
        (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), _LINES.get(bond.GetBondType().name, 0))
        for bond in read.GetBonds()
    ]
    symbols = tuple(_symbol(atom, positions) for atom in read.GetAtoms())
    return MoleculeDrawing(positions.astype(np.float32), np.array(bonds, np.int32).reshape(-1, 3), symbols)


def _symbol(atom: Any, positions: np.ndarray) -> str:
    """The element with its isotope, hydrogens and charge; the hydrogens stand where no bond is."""
    element, hydrogens, charge = atom.GetSymbol(), atom.GetTotalNumHs(), atom.GetFormalCharge()
    plain = not (charge or atom.GetIsotope() or atom.GetNumRadicalElectrons())
    if element == "C" and atom.GetDegree() and plain:
        return ""
    isotope = str(atom.GetIsotope() or "").translate(_HIGH)
    count = str(abs(charge)) if abs(charge) > 1 else ""
    sign = f"{count}{'+' if charge > 0 else '-'}".translate(_HIGH) if charge else ""
    own = f"{isotope}{element}"
    joined = f"H{str(hydrogens).translate(_LOW) if hydrogens > 1 else ''}" if hydrogens else ""
    others = [positions[each.GetIdx()][0] for each in atom.GetNeighbors()]
    # Beside a bond to the right, as in HO-, and in a molecule of one atom, as in H2O.
    left = others[0] > positions[atom.GetIdx()][0] + 0.3 if len(others) == 1 else not others and element in _ACIDS
    return f"{joined}{own}{sign}" if left else f"{own}{joined}{sign}"
