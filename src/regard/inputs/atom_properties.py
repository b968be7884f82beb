"""The properties of an atom that RDKit computes: its contribution to log P and surfaces, its charge, its role."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.extras import require

__all__ = ["ATOM_PROPERTIES", "atom_properties"]

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
