"""Molecules: atoms are nodes, bonds are edges, and what RDKit can't read is said in a line."""

import csv
import json
import sys

import pytest
import torch
from rdkit import Chem, rdBase

from regard.attention import weigh
from regard.errors import ArgumentError, MissingExtraError, UnknownNameError
from regard.inputs.graph.descriptors import ATOM_PROPERTIES, DESCRIPTORS, atom_properties, descriptors
from regard.inputs.graph.molecule import BONDS, ELEMENTS, MoleculeAtoms, molecule, scaffold
from regard.inputs.standardise import Standardise

RICH = MoleculeAtoms("rich")
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def bonds(graph):
    return {(*pair, kind) for *pair, kind in zip(*graph.edges.tolist(), graph.kinds.tolist(), strict=True)}


def test_acetonitrile_by_hand():
    graph = molecule("CC#N")
    assert graph.names == ("C1", "C2", "N3")
    assert bonds(graph) == {(0, 1, 1), (1, 0, 1), (1, 2, 3), (2, 1, 3)}
    assert graph.vectors.shape == (3, len(ELEMENTS) + 1)
    assert graph.vectors.argmax(dim=1).tolist() == [ELEMENTS.index("C")] * 2 + [ELEMENTS.index("N")]
    assert graph.vectors.sum(dim=1).tolist() == [1, 1, 1]


def test_every_kind_of_bond():
    kinds = {smiles: set(molecule(smiles).kinds.tolist()) for smiles in ("CC", "C=C", "C#C", "c1ccccc1", "N->[Fe]")}
    assert kinds == {"CC": {1}, "C=C": {2}, "C#C": {3}, "c1ccccc1": {4}, "N->[Fe]": {5}}
    assert set(molecule("C").with_loops().kinds.tolist()) == {BONDS["loop"]}


def test_rich_features_by_hand():
    nitrogen = RICH.graph("C[NH3+]").vectors[1]
    ones = (nitrogen[len(ELEMENTS) + 1 :] == 1).nonzero().flatten().tolist()
    # one neighbour; charge +1 of -2 to 2; three hydrogens; sp3 of sp, sp2, sp3
    assert ones == [1, 7 + 3, 13 + 3, 19 + 2]
    assert float(nitrogen[-1]) == pytest.approx(0.14007)
    aromatic = RICH.graph("c1ccccc1").vectors[0, len(ELEMENTS) + 1 :]
    # in a ring, of six atoms; aromatic
    assert aromatic[25:34].tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert RICH.graph("C1CCCCCCCCC1").vectors[0, len(ELEMENTS) + 26 :].tolist()[:8] == [1, 0, 0, 0, 0, 0, 0, 1]


def test_what_is_computed_of_an_atom_adds_up_to_what_is_of_the_molecule():
    properties = atom_properties(Chem.MolFromSmiles(ASPIRIN)).double() * torch.tensor([*ATOM_PROPERTIES.values()])
    sums = dict(zip(ATOM_PROPERTIES, properties.sum(0).tolist(), strict=True))
    whole = dict(zip(DESCRIPTORS, descriptors(ASPIRIN).tolist(), strict=True))
    # Hydrogens that are no nodes have no place here, but a part in the whole: so charges do not add up to 0.
    assert sums["polar surface"] == pytest.approx(whole["tpsa"], abs=1e-4)
    assert 0 < sums["surface"] < whole["labuteASA"]
    assert sums["donor"] == whole["NumHBD"] == 1
    assert sums["aromatic"] == 6
    assert (sums["halogen"], sums["basic"]) == (0, 0)


def test_the_shares_of_an_atom_are_those_of_its_type():
    """Ethanol's types are C1, C3 and O2 in Wildman and Crippen's table 1."""
    properties = atom_properties(Chem.MolFromSmiles("CCO")).double() * torch.tensor([*ATOM_PROPERTIES.values()])
    found = dict(zip(ATOM_PROPERTIES, properties.T.tolist(), strict=True))
    assert found["log P"] == pytest.approx([0.1441, -0.2035, -0.2893], abs=1e-5)
    assert found["refractivity"] == pytest.approx([2.503, 2.753, 0.8238], abs=1e-5)
    assert found["polar surface"] == pytest.approx([0, 0, 20.23], abs=1e-4)
    assert found["charge"] == pytest.approx([-0.0419, 0.0402, -0.3966], abs=1e-3)


@pytest.mark.parametrize(
    ("smiles", "place", "kinds"),
    [
        ("CCN", 2, {"donor", "acceptor", "basic"}),
        ("CC(=O)O", 1, {"acidic"}),
        ("CCl", 1, {"halogen"}),
        ("c1ccccc1", 0, {"aromatic"}),
        ("CC", 0, set()),
    ],
)
def test_what_kind_of_atom_it_is(smiles, place, kinds):
    found = dict(zip(ATOM_PROPERTIES, atom_properties(Chem.MolFromSmiles(smiles))[place].tolist(), strict=True))
    assert {name for name in list(ATOM_PROPERTIES)[5:] if found[name]} == kinds


def test_a_charge_that_can_not_be_computed_is_0():
    vectors = MoleculeAtoms("computed").graph("[Fe+2].CC(=O)[O-]").vectors
    assert vectors.isfinite().all()
    assert vectors.shape[1] == MoleculeAtoms("computed").width
    assert MoleculeAtoms("computed").graph("[Pt](Cl)Cl").vectors.isfinite().all()


def test_computed_features_begin_with_the_rich_ones():
    both = [MoleculeAtoms(features).graph(ASPIRIN).vectors for features in ("rich", "computed")]
    assert torch.equal(both[1][:, : both[0].shape[1]], both[0])
    assert torch.equal(both[1][:, both[0].shape[1] :], atom_properties(Chem.MolFromSmiles(ASPIRIN)))


def test_chirality_tells_mirror_images_apart():
    left, right, neither = (RICH.graph(smiles).vectors[1, -3:-1] for smiles in ("C[C@H](O)F", "C[C@@H](O)F", "CC(O)F"))
    assert sorted([left.tolist(), right.tolist()]) == [[0, 1], [1, 0]]
    assert neither.tolist() == [0, 0]


def test_the_order_of_atoms_only_orders_the_nodes():
    smiles = "C[C@H](N)C(=O)Oc1ccc2[nH]ccc2c1Cl"
    read = Chem.MolFromSmiles(smiles)
    turned = Chem.MolToSmiles(Chem.RenumberAtoms(read, list(range(read.GetNumAtoms()))[::-1]), canonical=False)
    assert turned != smiles
    first, second = RICH.graph(smiles), RICH.graph(turned)
    assert sorted(first.vectors.tolist()) == sorted(second.vectors.tolist())
    assert sorted(first.kinds.tolist()) == sorted(second.kinds.tolist())


def test_an_element_without_a_place_is_another():
    graph = MoleculeAtoms(elements=("C",)).graph("CO")
    assert graph.vectors.tolist() == [[1, 0], [0, 1]]
    assert molecule("[Pt]").vectors[0].argmax() == len(ELEMENTS)


def test_a_salt_stays_one_graph():
    salt = molecule("CC(=O)[O-].[Na+]")
    assert salt.names[-1] == "Na5"
    x = salt.vectors[None, None]
    weights = weigh(x, x, mask=salt.with_loops().mask())[0, 0]
    assert weights[-1].tolist() == [0, 0, 0, 0, 1]
    assert weights[:4, 4].tolist() == [0, 0, 0, 0]


def test_hydrogens_are_not_nodes_and_one_atom_is_a_graph():
    assert molecule("[H]C([H])([H])O").names == ("C1", "O2")
    assert molecule("[2H]C").names == ("C1",)
    assert torch.equal(RICH.graph("[2H]O[3H]").vectors, RICH.graph("O").vectors)
    assert molecule("[2H][2H]").names == ("H1", "H2")
    # A centre of four different neighbours stays one, one that has two hydrogens is none.
    assert torch.equal(RICH.graph("C[C@]([2H])(O)F").vectors, RICH.graph("C[C@]([H])(O)F").vectors)
    assert torch.equal(RICH.graph("C[C@@H]([2H])O").vectors, RICH.graph("CCO").vectors)
    methane = RICH.graph(" C\n")
    assert methane.edges.shape == (2, 0)
    assert methane.vectors.shape == (1, RICH.width)


def test_large_molecules():
    graph = RICH.graph("CC(N)C(=O)" * 60)
    assert graph.vectors.shape == (300, RICH.width)
    assert graph.edges.shape == (2, 2 * 299)
    assert len(molecule("C" * 5000)) == 5000


@pytest.mark.parametrize(
    ("smiles", "message"),
    [
        ("", "`smiles` must be a molecule, but is empty"),
        (" \n", "is empty"),
        ("CC(", r"'CC\(' isn't one: syntax error \(near character 3\)\."),
        ("C1CC", "unclosed ring"),
        ("C(C)(C)(C)(C)C", "Explicit valence for atom # 0 C, 5, is greater than permitted"),
        ("c1cccc1", "Can't kekulize mol"),
        ("[Xx]", "near character 2"),
        ("CC CC", "without spaces"),
        ("CC\0", "without spaces"),
        ("é", "in ASCII"),
    ],
)
def test_what_is_no_molecule_is_said_in_a_line(smiles, message, capfd):
    for read in (molecule, scaffold):
        with pytest.raises(ArgumentError, match=message) as caught:
            read(smiles)
        assert "\n" not in str(caught.value)
    # RDKit's own log stays silent.
    assert capfd.readouterr() == ("", "")


def test_warnings_of_what_can_be_read_are_silent_too(capfd):
    assert molecule("[H+].C").names == ("H1", "C2")
    assert capfd.readouterr() == ("", "")


def test_the_log_speaks_again_afterwards():
    with pytest.raises(ArgumentError):
        molecule("CC(")
    with rdBase.CaptureErrorLog() as log:
        Chem.MolFromSmiles("CC(")
    assert "syntax error" in log.messages


def test_scaffolds():
    assert scaffold(ASPIRIN) == scaffold("Cc1ccccc1") == "c1ccccc1"
    assert scaffold("CCO") == ""
    assert scaffold("C1CC1CCc1ccccc1O") == scaffold("C1CC1CCc1ccccc1") == "c1ccc(CCC2CC2)cc1"
    assert scaffold("C[C@H]1CC[C@@H](c2ccccc2)C1") == scaffold("C[C@@H]1CC[C@H](c2ccccc2)C1")


ALCOHOLS = ("CO", "CCO", "CCCCO", "Oc1ccccc1")


@pytest.mark.slow
def test_the_scaffold_of_a_molecule_too_large_for_memory_is_refused():
    assert scaffold("C" * 20_000) == ""
    with pytest.raises(ArgumentError, match=r"of 10,000 atoms at most, to have a scaffold, but has 20,003"):
        scaffold("C1CC1" + "C" * 20_000)


def test_descriptors_by_hand():
    told = dict(zip(DESCRIPTORS, descriptors("Oc1ccccc1").tolist(), strict=True))
    assert told["amw"] == pytest.approx(6 * 12.011 + 6 * 1.008 + 15.999, abs=2e-3)
    counts = ("NumAtoms", "NumHeavyAtoms", "NumHBD", "NumRings", "NumAromaticRings", "FractionCSP3", "NumAmideBonds")
    assert [told[name] for name in counts] == [13, 7, 1, 1, 1, 0, 0]
    # What stands in all parts of the surface is the surface.
    for kind in ("SlogP_VSA", "SMR_VSA", "PEOE_VSA"):
        parts = sum(value for name, value in told.items() if name.startswith(kind))
        assert parts == pytest.approx(told["labuteASA"], rel=0.1), kind


def test_descriptors_are_numbers_whatever_the_molecule():
    for smiles in ("[H][H]", "[Na+].[Cl-]", "[Fe]", "N->[Fe]", "C", "C" * 200):
        assert descriptors(smiles).isfinite().all(), smiles


def test_a_molecule_too_large_to_describe_is_refused_before_it_takes_minutes():
    with pytest.raises(ArgumentError, match="of 4,000 atoms at most, to compute descriptors, but has 4,001"):
        descriptors("C" * 4001)


def test_each_atom_is_told_of_the_whole():
    atoms = MoleculeAtoms.fit(ALCOHOLS, "rich")
    assert atoms.width == RICH.width + len(DESCRIPTORS)
    graph = atoms.graph("CCO")
    assert torch.equal(graph.vectors[:, : RICH.width], RICH.graph("CCO").vectors)
    whole = graph.vectors[:, RICH.width :]
    assert torch.equal(whole, whole[:1].expand_as(whole))
    of_training = torch.stack([atoms.graph(each).vectors[0, RICH.width :] for each in ALCOHOLS])
    assert of_training.mean(0).abs().max() < 1e-5
    spread = of_training.std(0, correction=0)
    assert set(spread.round(decimals=4).tolist()) == {0.0, 1.0}


def test_a_molecule_unlike_all_of_training_is_not_far_out():
    whole = MoleculeAtoms.fit(ALCOHOLS).graph("C" * 300).vectors[0, -len(DESCRIPTORS) :]
    assert float(whole.abs().max()) == 5


def test_descriptors_are_saved_with_their_scale():
    atoms = MoleculeAtoms.fit(ALCOHOLS, "rich")
    again = MoleculeAtoms.from_json(json.loads(json.dumps(atoms.to_json())))
    assert again == atoms
    assert torch.equal(again.graph("CCN").vectors, atoms.graph("CCN").vectors)
    assert "whole" not in RICH.to_json()
    with pytest.raises(ArgumentError, match="`descriptor_scale` must scale 79 descriptors, but scales 1"):
        MoleculeAtoms(descriptor_scale=Standardise((0.0,), (1.0,)))


def test_json_and_arguments():
    atoms = MoleculeAtoms("rich", ("C", "N"))
    assert MoleculeAtoms.from_json(json.loads(json.dumps(atoms.to_json()))) == atoms
    for call, message in [
        (lambda: MoleculeAtoms("rch"), "Did you mean 'rich'"),
        (lambda: MoleculeAtoms(elements="CN"), "`elements` must be symbols"),
        (lambda: MoleculeAtoms(elements=("C", "C")), "each element once"),
        (lambda: MoleculeAtoms.from_json({"features": "rich"}), "has no elements"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()
    with pytest.raises(UnknownNameError, match="Did you mean 'features'"):
        MoleculeAtoms.from_json({"feature": "rich", "elements": ["C"]})


def test_without_rdkit_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[molecule\]'"):
        molecule("C")


def test_real_molecules(real_data, capfd):
    with (real_data / "molecules" / "BBBP.csv").open(encoding="utf-8", newline="") as file:
        rows = [row["smiles"] for row in csv.DictReader(file)][:400]
    read = empty = 0
    for smiles in rows:
        try:
            graph = RICH.graph(smiles)
        except ArgumentError as error:
            assert "is empty" in str(error)  # noqa: PT017
            empty += 1
            continue
        assert torch.isfinite(graph.vectors).all()
        assert graph.undirected().edges.equal(graph.edges)
        read += 1
    assert read + empty == 400
    assert read > 380
    assert capfd.readouterr() == ("", "")
