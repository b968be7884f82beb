"""Numbers that RDKit computes: the properties of each atom, and the descriptors of a whole molecule."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError
from regard.extras import require
from regard.inputs.graph.smiles import read_smiles

__all__ = ["ATOM_PROPERTIES", "DESCRIPTORS", "atom_properties", "descriptors", "molecule_descriptors"]

ATOM_PROPERTIES = {
    "log P": 1.0,
    "refractivity": 3.0,
    "polar surface": 20.0,
    "surface": 10.0,
    "charge": 1.0,
    "donor": 1.0,
    "acceptor": 1.0,
    "aromatic": 1.0,
    "halogen": 1.0,
    "basic": 1.0,
    "acidic": 1.0,
}
"""The names of an atom's properties, each with the divisor that scales it to a magnitude of about 1."""

# The number of properties that are yes or no, in the order of RDKit's feature bits.
_KINDS = 6


def atom_properties(read: Any) -> Float[Tensor, "atom property"]:
    """The properties of each atom of an RDKit molecule; a charge that RDKit can't compute is 0.

    They are those of the atom without its implicit hydrogens, so that log P, refractivity and charge don't add up to
    those of the molecule.

    Surfaces are in square angstrom, charges in elementary charges. Whether an atom is a hydrogen bond donor or
    acceptor, or is basic or acidic, depends on its neighbours.

    Source: log P and refractivity: Wildman and Crippen 1999, J. Chem. Inf. Comput. Sci. 39, table 1; the polar surface:
        Ertl et al. 2000, J. Med. Chem. 43; the surface: Labute 2000, J. Mol. Graph. Model. 18; charges: Gasteiger and
        Marsili 1980, Tetrahedron 36; the last six: Gobbi and Poppinger 1998, Biotechnol. Bioeng. 61, as RDKit has them.

    Example:
        >>> from rdkit import Chem
        >>> oxygen = dict(zip(ATOM_PROPERTIES, atom_properties(Chem.MolFromSmiles("CCO"))[2].tolist(), strict=True))
        >>> round(oxygen["charge"], 2), oxygen["donor"], oxygen["acceptor"], oxygen["acidic"]
        (-0.4, 1.0, 1.0, 0.0)
    """
    chemistry = require("rdkit.Chem.rdMolDescriptors", extra="molecule")
    log_p, refractivity = zip(*chemistry._CalcCrippenContribs(read), strict=True)
    polar, (surface, _) = chemistry._CalcTPSAContribs(read), chemistry._CalcLabuteASAContribs(read)
    require("rdkit.Chem.rdPartialCharges", extra="molecule").ComputeGasteigerCharges(read)
    charges = [atom.GetDoubleProp("_GasteigerCharge") for atom in read.GetAtoms()]
    known = [charge if math.isfinite(charge) else 0.0 for charge in charges]
    numbers = torch.tensor(
        [log_p, refractivity, tuple(polar), tuple(surface), known], dtype=torch.float64, device="cpu"
    ).T
    bits = torch.tensor(list(chemistry.GetFeatureInvariants(read)), dtype=torch.int64, device="cpu")
    kinds = (bits.unsqueeze(1) >> torch.arange(_KINDS, device="cpu")) & 1
    scales = torch.tensor([*ATOM_PROPERTIES.values()], device="cpu")
    return (torch.cat([numbers, kinds], dim=1) / scales).float()


# By name, because another version of RDKit may have more of them.
_PROPERTIES = (
    *("exactmw", "amw", "NumAtoms", "NumHeavyAtoms", "NumHeteroatoms", "NumRotatableBonds", "NumAmideBonds"),
    *("NumHBA", "NumHBD", "lipinskiHBA", "lipinskiHBD", "FractionCSP3", "labuteASA", "tpsa"),
    *("NumRings", "NumAromaticRings", "NumAliphaticRings", "NumSaturatedRings"),
    *("NumHeterocycles", "NumAromaticHeterocycles", "NumSaturatedHeterocycles", "NumAliphaticHeterocycles"),
    *("NumSpiroAtoms", "NumBridgeheadAtoms", "NumAtomStereoCenters", "NumUnspecifiedAtomStereoCenters"),
    *("CrippenClogP", "CrippenMR"),
    *(f"chi{size}{kind}" for kind in "vn" for size in range(5)),
    *("hallKierAlpha", "kappa1", "kappa2", "kappa3", "Phi"),
)
# The surface of the atoms in each bin of their contribution to log P, to refractivity, and of their charge.
_SURFACES = {"SlogP_VSA": 12, "SMR_VSA": 10, "PEOE_VSA": 14}
# RDKit takes two seconds for a chain of this many atoms, and minutes for one of 20,000.
_MOST_ATOMS = 4000

DESCRIPTORS = (*_PROPERTIES, *(f"{name}{part}" for name, parts in _SURFACES.items() for part in range(1, parts + 1)))
"""RDKit's names of the 79 descriptors: mass, counts, surfaces, an estimate of log P, shape."""


def descriptors(smiles: str) -> Float[Tensor, " descriptor"]:
    """The descriptors of a molecule, one for each name in `DESCRIPTORS`, in float64.

    Raises:
        ArgumentError: it isn't a molecule (see `read_smiles`), or has more than 4,000 atoms.
        MissingExtraError: RDKit is not installed.

    Example:
        >>> round(float(descriptors("CCO")[DESCRIPTORS.index("tpsa")]), 2)
        20.23
    """
    return torch.tensor(molecule_descriptors(read_smiles(smiles)), dtype=torch.float64, device="cpu")


def molecule_descriptors(read: Any) -> list[float]:
    """The descriptors of an RDKit molecule; one that RDKit can't compute is 0.

    Raises:
        ArgumentError: it has more than 4,000 atoms.

    Source: log P and refractivity: Wildman and Crippen 1999, J. Chem. Inf. Comput. Sci. 39; the polar surface: Ertl et
        al. 2000, J. Med. Chem. 43; binned surfaces: Labute 2000, J. Mol. Graph. Model. 18; chi, kappa and Phi: Hall
        and Kier 1991, Rev. Comput. Chem. 2.

    Example:
        >>> from rdkit import Chem
        >>> ethanol = dict(zip(DESCRIPTORS, molecule_descriptors(Chem.MolFromSmiles("CCO")), strict=True))
        >>> round(ethanol["amw"], 2), ethanol["NumHBD"], round(ethanol["CrippenClogP"], 4)
        (46.07, 1.0, -0.0014)
    """
    if read.GetNumAtoms() > _MOST_ATOMS:
        raise ArgumentError(
            f"`smiles` must be a molecule of {_MOST_ATOMS:,} atoms at most, to compute descriptors, "
            f"but has {read.GetNumAtoms():,}. Cut it into parts, or train a model without `descriptors`."
        )
    chemistry = require("rdkit.Chem.rdMolDescriptors", extra="molecule")
    values = list(chemistry.Properties(list(_PROPERTIES)).ComputeProperties(read))
    for name in _SURFACES:
        values += getattr(chemistry, f"{name}_")(read)
    return [value if math.isfinite(value) else 0.0 for value in values]
