"""Features of a graph as a whole: counts of nodes, labels and degrees; and the fingerprint of a molecule."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.validation import check_count
from regard.extras import require
from regard.inputs.graph.graph import Graph
from regard.inputs.graph.smiles import read_smiles

__all__ = ["fingerprint", "graph_counts"]

_DEGREES = 16
_RADIUS = 2


def graph_counts(graph: Graph) -> Float[Tensor, " count"]:
    """Counts of a graph, as numbers that don't depend on the order of its nodes.

    They are the sum of the nodes' vectors, which is the number of nodes of each label where vectors are one-hot codes
    of labels; the number of nodes of each degree from 0 to 14, and of a larger one; each as a share of the nodes, too;
    and the logarithms of 1 + the numbers of nodes and of edges. Edges count once for each direction, loops don't.

    Source: Xu et al. 2019, GIN (arXiv 1810.00826), section 5: a sum can tell apart what a mean can't.

    Example:
        >>> pair = Graph(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[0, 1], [1, 0]]))
        >>> counts = graph_counts(pair)
        >>> counts[:4].tolist(), counts[4:7].tolist(), counts[-2:].exp().tolist()
        ([1.0, 1.0, 0.5, 0.5], [0.0, 2.0, 0.0], [3.0, 3.0])
    """
    nodes = len(graph)
    others = graph.edges[:, graph.edges[0] != graph.edges[1]].unique(dim=1)
    degrees = torch.bincount(others[1], minlength=nodes).clamp(max=_DEGREES - 1)
    of_degree = torch.bincount(degrees, minlength=_DEGREES).double()
    total, sizes = graph.vectors.double().sum(0), torch.tensor([nodes, others.shape[1]], device="cpu").double().log1p()
    of_degree, sizes = of_degree.to(total.device), sizes.to(total.device)
    share = 1 / max(1, nodes)
    return torch.cat([total, share * total, of_degree, share * of_degree, sizes]).float()


def fingerprint(smiles: str, size: int) -> Float[Tensor, " size"]:
    """The fingerprint of a molecule: how often each surrounding of an atom, up to two bonds away, occurs in it.

    Each surrounding has a place by its hash, so that different ones may share a place. Counts above 255 are 255.

    Args:
        smiles: the molecule.
        size: the number of places, 1 or more.

    Raises:
        ArgumentError: it isn't a molecule (see `read_smiles`), or a size below 1.
        MissingExtraError: RDKit is not installed.

    Source: Rogers and Hahn 2010, Extended-connectivity fingerprints, J. Chem. Inf. Model. 50, 742-754.

    Example:
        >>> ethanol, reversed_ethanol = fingerprint("CCO", 64), fingerprint("OCC", 64)
        >>> torch.equal(ethanol, reversed_ethanol), int(ethanol.sum())
        (True, 6)
    """
    check_count("size", size, "the number of places")
    generators: Any = require("rdkit.Chem.rdFingerprintGenerator", extra="molecule")
    counted = generators.GetMorganGenerator(radius=_RADIUS, fpSize=size).GetCountFingerprint(read_smiles(smiles))
    found = torch.zeros(size, device="cpu")
    for place, count in counted.GetNonzeroElements().items():
        found[place] = min(count, 255)
    return found
