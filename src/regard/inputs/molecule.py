"""A molecule as a graph: atoms are nodes, bonds are edges."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from regard.errors import ArgumentError, UnknownNameError
from regard.extras import require
from regard.inputs.atom_properties import ATOM_PROPERTIES, atom_properties
from regard.inputs.descriptors import DESCRIPTORS, described, descriptors
from regard.inputs.graph import Graph
from regard.inputs.saving import checked_list, checked_names
from regard.inputs.smiles import read_smiles
from regard.inputs.standardise import Standardise

__all__ = ["ATOM_FEATURES", "BONDS", "ELEMENTS", "MoleculeAtoms", "molecule", "scaffold"]

ATOM_FEATURES = ("one-hot", "rich", "computed")
"""What the vector of an atom holds: its element alone, as the notes have it; what chemists' models use; and also what
RDKit computes of it (`ATOM_PROPERTIES`)."""

BONDS = {"loop": 0, "single": 1, "double": 2, "triple": 3, "aromatic": 4, "other": 5}
"""The kinds of edges. Others are dative and quadruple bonds; loops are there once `Graph.with_loops` adds them."""

ELEMENTS = ("H", "B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "As", "Se", "Br", "Sn", "I")
"""The elements with a place of their own by default: all but 1 atom in 1000 of Tox21, ESOL, Lipophilicity and BBBP."""

_DEGREES = (0, 1, 2, 3, 4, 5)
_CHARGES = (-2, -1, 0, 1, 2)
_HYDROGENS = (0, 1, 2, 3, 4)
_HYBRIDS = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
_RINGS = (3, 4, 5, 6, 7, 8)
_CHIRALITIES = ("R", "S")

# How many places stand behind the elements.
_WIDTHS = {"one-hot": 0, "rich": 37, "computed": 37 + len(ATOM_PROPERTIES)}
# How many spreads a descriptor may lie from its mean: a molecule like none of training must not drown the rest.
_FAR = 5.0


@dataclass(frozen=True)
class MoleculeAtoms:
    """How a molecule becomes a graph: which vector an atom has.

    With "one-hot" the vector has a place for each element, and one for any other. With "rich" there follow

    | what | places |
    |---|---|
    | neighbours, hydrogens not counted: 0 to 5, more | 7 |
    | charge: -2 to 2, other | 6 |
    | hydrogens: 0 to 4, more | 6 |
    | hybridisation: sp, sp2, sp3, sp3d, sp3d2, other | 6 |
    | in a ring; in one of 3, 4, ... 8, more atoms | 8 |
    | aromatic | 1 |
    | chirality: R, S | 2 |
    | mass / 100 | 1 |

    and with "computed" there also follow the 11 numbers of `ATOM_PROPERTIES`.

    Hydrogens are no nodes unless the SMILES must name them (as deuterium). Chirality is that of Cahn, Ingold and
    Prelog, which doesn't depend on the order of the atoms.

    Args:
        features: one of `ATOM_FEATURES`.
        elements: the symbols with a place of their own.
        whole: behind that stands, the same for each atom, what `descriptors` tells of the whole molecule, so scaled
            (`MoleculeAtoms.fit` finds out how) and at most 5 from 0; None leaves it out.

    Raises:
        UnknownNameError: another name of features.
        ArgumentError: an element twice, a text for the elements, or a scale of another number of descriptors.

    Source: the notes, 001 "Graph"; for "rich", Yang et al. 2019 (arXiv 1904.01561), table of atom features, with rings
        added.

    Example:
        >>> atoms = MoleculeAtoms()
        >>> ethanol = atoms.graph("CCO")
        >>> ethanol.names, ethanol.edges.tolist(), ethanol.kinds.tolist()
        (('C1', 'C2', 'O3'), [[0, 1, 1, 2], [1, 0, 2, 1]], [1, 1, 1, 1])
        >>> atoms.elements[int(ethanol.vectors[2].argmax())]
        'O'
    """

    features: str = "one-hot"
    elements: tuple[str, ...] = ELEMENTS
    whole: Standardise | None = None

    def __post_init__(self) -> None:
        if self.features not in ATOM_FEATURES:
            raise UnknownNameError("features", self.features, ATOM_FEATURES)
        if isinstance(self.elements, str):
            raise ArgumentError(f"`elements` must be symbols, as ('C', 'N'), but is the text {self.elements!r:.60}.")
        if len(set(self.elements)) != len(self.elements):
            raise ArgumentError(f"`elements` must name each element once, but is {self.elements!r:.60}.")
        if self.whole is not None and self.whole.width != len(DESCRIPTORS):
            raise ArgumentError(f"`whole` must scale {len(DESCRIPTORS)} descriptors, but scales {self.whole.width}.")

    @classmethod
    def fit(cls, smiles: Iterable[str], features: str = "one-hot") -> "MoleculeAtoms":
        """Atoms that are told the descriptors of their molecule, scaled by their means and spreads in these.

        Raises:
            ArgumentError: none at all, or one that is no molecule.

        Example:
            >>> atoms = MoleculeAtoms.fit(["CCO", "CCCCO", "c1ccccc1"])
            >>> atoms.width, atoms.graph("CO").vectors.shape
            (95, torch.Size([2, 95]))
        """
        return cls(features, whole=Standardise.fit([descriptors(each).unsqueeze(0) for each in smiles]))

    @property
    def width(self) -> int:
        """The size of an atom's vector."""
        whole = 0 if self.whole is None else self.whole.width
        return len(self.elements) + 1 + _WIDTHS[self.features] + whole

    def graph(self, smiles: str) -> Graph:
        """The graph of a molecule: atoms in the order of the SMILES, bonds both ways with their kinds in `BONDS`.

        Several fragments (a salt, say) stay one graph, with no edge between them.

        Raises:
            ArgumentError: no molecule: empty, or what RDKit can't read; says why.
            MissingExtraError: RDKit is not installed.
        """
        read = read_smiles(smiles)
        atoms = list(read.GetAtoms())
        vectors = torch.tensor([self._vector(atom, read.GetRingInfo()) for atom in atoms])
        if self.features == "computed":
            vectors = torch.cat([vectors, atom_properties(read)], dim=1)
        if self.whole is not None:
            whole = self.whole.apply(torch.tensor([described(read)], dtype=torch.float64)).clamp(-_FAR, _FAR)
            vectors = torch.cat([vectors, whole.to(vectors.dtype).expand(len(atoms), -1)], dim=1)
        bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond.GetBondType().name) for bond in read.GetBonds()]
        edges = torch.tensor([bond[:2] for bond in bonds], dtype=torch.int64).reshape(-1, 2).T
        kinds = torch.tensor([BONDS.get(kind.lower(), BONDS["other"]) for *_, kind in bonds], dtype=torch.int64)
        names = tuple(f"{atom.GetSymbol()}{place}" for place, atom in enumerate(atoms, start=1))
        return Graph(vectors, edges, names, kinds).both_ways()

    def to_json(self) -> dict[str, Any]:
        """The fields, as JSON holds them."""
        saved = {"features": self.features, "elements": list(self.elements)}
        return saved if self.whole is None else {**saved, "whole": self.whole.to_json()}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "MoleculeAtoms":
        """From what `to_json` gave.

        Raises:
            ArgumentError: something is missing, unknown or of the wrong kind.

        Example:
            >>> MoleculeAtoms.from_json(MoleculeAtoms("rich").to_json()) == MoleculeAtoms("rich")
            True
        """
        names = ["features", "elements"]
        # Where there are no descriptors nothing is said of them.
        whole = isinstance(saved, dict) and "whole" in saved
        saved = checked_names("molecule atoms", saved, [*names, "whole"] if whole else names)
        scale = Standardise.from_json(saved["whole"]) if whole else None
        return cls(saved["features"], checked_list("elements", saved["elements"], str), scale)

    def _vector(self, atom: Any, rings: Any) -> list[float]:
        element = _one_hot(atom.GetSymbol(), self.elements)
        if self.features == "one-hot":
            return element
        sizes = rings.AtomRingSizes(atom.GetIdx())
        # RDKit writes this property on the atoms that are stereocentres, and on no others.
        chirality = atom.GetProp("_CIPCode") if atom.HasProp("_CIPCode") else None
        return [
            *element,
            *_one_hot(atom.GetDegree(), _DEGREES),
            *_one_hot(atom.GetFormalCharge(), _CHARGES),
            *_one_hot(atom.GetTotalNumHs(), _HYDROGENS),
            *_one_hot(atom.GetHybridization().name, _HYBRIDS),
            float(len(sizes) > 0),
            *(float(size in sizes) for size in _RINGS),
            float(any(size > _RINGS[-1] for size in sizes)),
            float(atom.GetIsAromatic()),
            *(float(chirality == kind) for kind in _CHIRALITIES),
            atom.GetMass() / 100,
        ]


def molecule(smiles: str, *, features: str = "one-hot") -> Graph:
    """The graph of a molecule; see `MoleculeAtoms`.

    Example:
        >>> molecule("C#N").kinds.tolist()
        [3, 3]
        >>> molecule("CC(")
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `smiles` must be a molecule, but 'CC(' isn't one: syntax error (near character 3).
    """
    return MoleculeAtoms(features).graph(smiles)


def scaffold(smiles: str) -> str:
    """The scaffold of a molecule, as SMILES: its rings and what links them, without side chains; "" without rings.

    Molecules that share a scaffold are alike: a split that keeps them on one side tests on what is new.

    Raises:
        ArgumentError: no molecule; see `MoleculeAtoms.graph`.
        MissingExtraError: RDKit is not installed.

    Example:
        >>> scaffold("CCc1ccccc1"), scaffold("CCO")
        ('c1ccccc1', '')

    Source: Bemis and Murcko 1996, "The properties of known drugs. 1. Molecular frameworks", J. Med. Chem. 39.
    """
    read = read_smiles(smiles)
    return require("rdkit.Chem.Scaffolds.MurckoScaffold", extra="molecule").MurckoScaffoldSmiles(mol=read)


def _one_hot(value: Any, choices: tuple[Any, ...]) -> list[float]:
    """A place for each choice, and behind them one for whatever else."""
    row = [0.0] * (len(choices) + 1)
    row[choices.index(value) if value in choices else -1] = 1.0
    return row
