"""A molecule as a graph: atoms are nodes, bonds are edges."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from regard.errors import ArgumentError, UnknownNameError
from regard.extras import require
from regard.inputs.graph.descriptors import (
    ATOM_PROPERTIES,
    DESCRIPTORS,
    atom_properties,
    descriptors,
    molecule_descriptors,
)
from regard.inputs.graph.graph import Graph
from regard.inputs.graph.smiles import read_smiles
from regard.inputs.saved import checked_list, checked_names
from regard.inputs.standardise import Standardise

__all__ = ["ATOM_FEATURES", "BONDS", "ELEMENTS", "MoleculeAtoms", "molecule", "scaffold"]

ATOM_FEATURES = ("one-hot", "rich", "computed")
"""The features of an atom: its element alone, as in the notes; the usual features of chemical models; and these with
the properties that RDKit computes (`ATOM_PROPERTIES`)."""

BONDS = {"loop": 0, "single": 1, "double": 2, "triple": 3, "aromatic": 4, "other": 5}
"""The kinds of edges. Others are dative and quadruple bonds; loops are added by `Graph.with_loops`."""

ELEMENTS = ("H", "B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "As", "Se", "Br", "Sn", "I")
"""The default elements of the one-hot code: all but 1 in 1000 atoms of Tox21, ESOL, Lipophilicity and BBBP."""

_DEGREES = (0, 1, 2, 3, 4, 5)
_CHARGES = (-2, -1, 0, 1, 2)
_HYDROGENS = (0, 1, 2, 3, 4)
_HYBRIDS = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
_RINGS = (3, 4, 5, 6, 7, 8)
_CHIRALITIES = ("R", "S")

# The number of features after the elements.
_WIDTHS = {"one-hot": 0, "rich": 37, "computed": 37 + len(ATOM_PROPERTIES)}
# The maximum distance of a descriptor from its mean, in standard deviations, so that outliers don't dominate.
_FAR = 5.0
# RDKit takes memory for each pair of atoms to find the scaffold, a gigabyte for this many.
_MOST_ATOMS = 10_000


@dataclass(frozen=True)
class MoleculeAtoms:
    """Turns a molecule into a graph: the features of each atom.

    "one-hot" is a one-hot code of the element, with one entry for all other elements. "rich" adds

    | what | features |
    |---|---|
    | neighbours, hydrogens not counted: 0 to 5, more | 7 |
    | charge: -2 to 2, other | 6 |
    | hydrogens: 0 to 4, more | 6 |
    | hybridisation: sp, sp2, sp3, sp3d, sp3d2, other | 6 |
    | in a ring; in one of 3, 4, ... 8, more atoms | 8 |
    | aromatic | 1 |
    | chirality: R, S | 2 |
    | mass / 100 | 1 |

    and "computed" also adds the 11 numbers of `ATOM_PROPERTIES`.

    Hydrogens of any isotope aren't nodes, except where nothing else would remain. Chirality is that of Cahn, Ingold and
    Prelog, which doesn't depend on the order of the atoms.

    Args:
        features: one of `ATOM_FEATURES`.
        elements: the symbols of the one-hot code.
        descriptor_scale: append the `descriptors` of the molecule to the vector of every atom, scaled so (see
            `MoleculeAtoms.fit`) and clipped to -5 to 5; None leaves them out.

    Raises:
        UnknownNameError: unknown features.
        ArgumentError: a duplicate element, a text for the elements, or a scale for another number of descriptors.

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
    descriptor_scale: Standardise | None = None

    def __post_init__(self) -> None:
        if self.features not in ATOM_FEATURES:
            raise UnknownNameError("features", self.features, ATOM_FEATURES)
        if isinstance(self.elements, str):
            raise ArgumentError(f"`elements` must be symbols, as ('C', 'N'), but is the text {self.elements!r:.60}.")
        if len(set(self.elements)) != len(self.elements):
            raise ArgumentError(f"`elements` must name each element once, but is {self.elements!r:.60}.")
        scale = self.descriptor_scale
        if scale is not None and scale.width != len(DESCRIPTORS):
            raise ArgumentError(
                f"`descriptor_scale` must scale {len(DESCRIPTORS)} descriptors, but scales {scale.width}."
            )

    @classmethod
    def fit(cls, smiles: Iterable[str], features: str = "one-hot") -> "MoleculeAtoms":
        """Atoms with the descriptors of their molecule, standardised by their means and deviations in these molecules.

        Raises:
            ArgumentError: no molecule, or an invalid one.

        Example:
            >>> atoms = MoleculeAtoms.fit(["CCO", "CCCCO", "c1ccccc1"])
            >>> atoms.width, atoms.graph("CO").vectors.shape
            (95, torch.Size([2, 95]))
        """
        return cls(
            features, descriptor_scale=Standardise.fit([descriptors(molecule).unsqueeze(0) for molecule in smiles])
        )

    @property
    def width(self) -> int:
        """The size of an atom's vector."""
        descriptors = 0 if self.descriptor_scale is None else self.descriptor_scale.width
        return len(self.elements) + 1 + _WIDTHS[self.features] + descriptors

    def graph(self, smiles: str) -> Graph:
        """The graph of a molecule: atoms in the order of the SMILES, bonds in both directions with kinds in `BONDS`.

        Several fragments, as of a salt, are one graph without edges between them.

        Raises:
            ArgumentError: it isn't a molecule: empty, or RDKit can't read it; the message says why.
            MissingExtraError: RDKit is not installed.
        """
        read = read_smiles(smiles)
        # First, since a molecule that is too large for them takes minutes.
        whole = None if self.descriptor_scale is None else molecule_descriptors(read)
        atoms = list(read.GetAtoms())
        vectors = torch.tensor([self._vector(atom, read.GetRingInfo()) for atom in atoms], device="cpu")
        if self.features == "computed":
            vectors = torch.cat([vectors, atom_properties(read)], dim=1)
        if self.descriptor_scale is not None:
            unscaled = torch.tensor([whole], dtype=torch.float64, device="cpu")
            scaled = self.descriptor_scale.apply(unscaled).clamp(-_FAR, _FAR)
            vectors = torch.cat([vectors, scaled.to(vectors.dtype).expand(len(atoms), -1)], dim=1)
        bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond.GetBondType().name) for bond in read.GetBonds()]
        edges = torch.tensor([bond[:2] for bond in bonds], dtype=torch.int64, device="cpu").reshape(-1, 2).T
        numbers = [BONDS.get(kind.lower(), BONDS["other"]) for *_, kind in bonds]
        kinds = torch.tensor(numbers, dtype=torch.int64, device="cpu")
        names = tuple(f"{atom.GetSymbol()}{number}" for number, atom in enumerate(atoms, start=1))
        return Graph(vectors, edges, names, kinds).undirected()

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON object."""
        saved = {"features": self.features, "elements": list(self.elements)}
        return saved if self.descriptor_scale is None else {**saved, "whole": self.descriptor_scale.to_json()}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "MoleculeAtoms":
        """The settings of the JSON object that `to_json` returned.

        Raises:
            ArgumentError: something is missing, unknown or of the wrong type.

        Example:
            >>> MoleculeAtoms.from_json(MoleculeAtoms("rich").to_json()) == MoleculeAtoms("rich")
            True
        """
        names = ["features", "elements"]
        # The key is missing without descriptors. Its name is that of earlier versions.
        scaled = isinstance(saved, dict) and "whole" in saved
        saved = checked_names("molecule atoms", saved, [*names, "whole"] if scaled else names)
        scale = Standardise.from_json(saved["whole"]) if scaled else None
        return cls(saved["features"], checked_list("elements", saved["elements"], str), scale)

    def _vector(self, atom: Any, rings: Any) -> list[float]:
        element = _one_hot(atom.GetSymbol(), self.elements)
        if self.features == "one-hot":
            return element
        sizes = rings.AtomRingSizes(atom.GetIdx())
        # RDKit sets this property on stereocentres only.
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
    """The Murcko scaffold of a molecule, as SMILES: its rings and their linkers, without side chains; "" without rings.

    Molecules with the same scaffold are similar. A split that never separates them tests on new kinds of molecules.

    Raises:
        ArgumentError: it isn't a molecule, see `MoleculeAtoms.graph`, or it has more than 10,000 atoms.
        MissingExtraError: RDKit is not installed.

    Example:
        >>> scaffold("CCc1ccccc1"), scaffold("CCO")
        ('c1ccccc1', '')

    Source: Bemis and Murcko 1996, "The properties of known drugs. 1. Molecular frameworks", J. Med. Chem. 39.
    """
    read = read_smiles(smiles)
    if not read.GetRingInfo().NumRings():
        return ""
    if read.GetNumAtoms() > _MOST_ATOMS:
        raise ArgumentError(
            f"`smiles` must be a molecule of {_MOST_ATOMS:,} atoms at most, to have a scaffold, but has "
            f"{read.GetNumAtoms():,}. Cut it into parts."
        )
    return require("rdkit.Chem.Scaffolds.MurckoScaffold", extra="molecule").MurckoScaffoldSmiles(mol=read)


def _one_hot(value: Any, choices: tuple[Any, ...]) -> list[float]:
    """A one-hot code of the choices, with one more entry for everything else."""
    row = [0.0] * (len(choices) + 1)
    row[choices.index(value) if value in choices else -1] = 1.0
    return row
