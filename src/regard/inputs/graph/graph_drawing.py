"""Where graphs and molecules are drawn: the positions of nodes and atoms, and what is written at atoms."""

import math
from typing import Any, NamedTuple

import numpy as np

from regard.errors import MissingExtraError
from regard.extras import require
from regard.inputs.graph.smiles import read_smiles

__all__ = ["MoleculeDrawing", "graph_layout", "molecule_drawing"]


def graph_layout(nodes: int, edges: np.ndarray) -> np.ndarray:
    """Where each node is drawn, how far right and how far down, from 0 to 1: connected nodes are near each other.

    The same graph has the same layout: that of springs of networkx, or a circle if networkx is not installed.

    Args:
        nodes: the number of nodes.
        edges: (2, edge) indices of nodes.

    Returns:
        (node, 2) float32.

    Example:
        >>> positions = graph_layout(3, np.array([[0, 1], [1, 2]]))
        >>> near, far = np.linalg.norm(positions[0] - positions[1:], axis=1)
        >>> bool(near < far)
        True

    Source: Fruchterman and Reingold, 1991, "Graph drawing by force-directed placement".
    """
    if not nodes:
        return np.zeros((0, 2), np.float32)
    try:
        networkx = require("networkx", extra="graph")
    except MissingExtraError:
        return _scaled(_circle(nodes))
    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(edges.T.tolist())
    # The circle is where the springs begin, instead of a random state.
    begin = dict(enumerate(_circle(nodes)))
    positions = networkx.spring_layout(graph, pos=begin, iterations=100, seed=0)
    return _scaled(np.array([positions[node] for node in range(nodes)]).reshape(nodes, 2))


def _circle(nodes: int) -> np.ndarray:
    angles = 2 * np.pi * np.arange(nodes) / nodes
    return np.stack([np.sin(angles), -np.cos(angles)], axis=1)


def _scaled(positions: np.ndarray) -> np.ndarray:
    """The positions from 0 to 1 in each direction; in the middle if all are the same in it."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    return (0.5 + (positions - (low + high) / 2) / np.maximum(high - low, 1e-9)).astype(np.float32)


_LINES = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3}
_LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# Their hydrogens are written first.
_ACIDS = {"O", "S", "Se", "F", "Cl", "Br", "I"}
# The length of a bond. Atoms without a bond that are closer than that share of it can't be told apart.
_BOND = 1.5
_CLOSE = 0.8 * _BOND
# How far fragments are apart, and how many times as wide as high all of them are.
_BETWEEN, _WIDE = 2 * _BOND, 2.0
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
    fragments = [list(each) for each in require("rdkit.Chem", extra="molecule").GetMolFrags(read)]
    bonds = [
        (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), _LINES.get(bond.GetBondType().name, 0))
        for bond in read.GetBonds()
    ]
    # RDKit's second axis points up.
    positions = _apart(_laid_out(read, fragments), fragments) * (1, -1)
    symbols = tuple(_symbol(atom, positions) for atom in read.GetAtoms())
    return MoleculeDrawing(positions.astype(np.float32), np.array(bonds, np.int32).reshape(-1, 3), symbols)


def _laid_out(read: Any, fragments: list[list[int]]) -> np.ndarray:
    """The positions of the atoms, fragment by fragment: those of RDKit, or of CoordGen where they are farther apart."""
    require("rdkit.Chem.rdDepictor", extra="molecule").Compute2DCoords(read)
    positions = read.GetConformer().GetPositions()[:, :2]
    near = np.eye(len(positions), dtype=bool)
    ends = np.array([(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in read.GetBonds()], int).reshape(-1, 2)
    near[ends[:, 0], ends[:, 1]] = near[ends[:, 1], ends[:, 0]] = True
    others = None
    for atoms in fragments:
        if _closest(positions[atoms], near[np.ix_(atoms, atoms)]) >= _CLOSE:
            continue
        if others is None:
            require("rdkit.Chem.rdCoordGen", extra="molecule").AddCoords(read)
            others = read.GetConformer().GetPositions()[:, :2]
            others *= _BOND / np.median(np.linalg.norm(others[ends[:, 0]] - others[ends[:, 1]], axis=1))
        if _closest(others[atoms], near[np.ix_(atoms, atoms)]) > _closest(positions[atoms], near[np.ix_(atoms, atoms)]):
            positions[atoms] = others[atoms]
    return positions


def _closest(positions: np.ndarray, near: np.ndarray) -> float:
    """The distance of the two atoms without a bond that are closest to each other."""
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=-1)
    return float(distances[~near].min(initial=np.inf))


def _apart(positions: np.ndarray, fragments: list[list[int]]) -> np.ndarray:
    """The positions with the fragments beside each other in rows, in their order, of which none touches another."""
    if len(fragments) < 2:
        return positions
    boxes = [(positions[atoms].min(axis=0), positions[atoms].max(axis=0)) for atoms in fragments]
    sizes = [high - low + _BETWEEN for low, high in boxes]
    widest = max(max(size[0] for size in sizes), (_WIDE * sum(math.prod(size) for size in sizes)) ** 0.5)
    rows: list[list[int]] = [[]]
    for number, size in enumerate(sizes):
        if rows[-1] and sum(sizes[each][0] for each in rows[-1]) + size[0] > widest:
            rows.append([])
        rows[-1].append(number)
    found, top = positions.copy(), 0.0
    for row in rows:
        height, left = max(sizes[each][1] for each in row), -sum(sizes[each][0] for each in row) / 2
        for each in row:
            middle = np.array([left + sizes[each][0] / 2, top - height / 2])
            found[fragments[each]] += middle - (boxes[each][0] + boxes[each][1]) / 2
            left += sizes[each][0]
        top -= height
    return found


def _symbol(atom: Any, positions: np.ndarray) -> str:
    """The element with its isotope, hydrogens and charge; the hydrogens stand where no bond is."""
    element, hydrogens, charge = atom.GetSymbol(), atom.GetTotalNumHs(), atom.GetFormalCharge()
    plain = not (charge or atom.GetIsotope() or atom.GetNumRadicalElectrons())
    if element == "C" and atom.GetDegree() and plain:
        return ""
    isotope = str(atom.GetIsotope() or "").translate(_HIGH)
    count = str(abs(charge)) if abs(charge) > 1 else ""
    sign = f"{count}{'+' if charge > 0 else '-'}".translate(_HIGH) if charge else ""
    named = f"{isotope}{element}"
    joined = f"H{str(hydrogens).translate(_LOW) if hydrogens > 1 else ''}" if hydrogens else ""
    others = [positions[neighbour.GetIdx()][0] for neighbour in atom.GetNeighbors()]
    # Beside a bond to the right, as in HO-, and in a molecule of one atom, as in H2O.
    left = others[0] > positions[atom.GetIdx()][0] + 0.3 if len(others) == 1 else not others and element in _ACIDS
    return f"{joined}{named}{sign}" if left else f"{named}{joined}{sign}"
