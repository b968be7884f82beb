"""Texts in the drawing of a molecule stand beside each other, and its fragments are apart, in large molecules too."""

import itertools
import math
import re

import pytest
import torch

from page.live_records import document, layers
from regard.inspection import DrawnMolecule, Outcomes, Place, Record

pytest.importorskip("rdkit", reason="molecules: pip install rdkit")

from regard.inputs.graph.graph_drawing import molecule_drawing

ERYTHROMYCIN = "CCC1OC(=O)C(C)C(OC2CC(C)(OC)C(O)C(C)O2)C(C)C(OC2OC(C)CC(N(C)C)C2O)C(C)(O)CC(C)C(=O)C(C)C(O)C1(C)O"
PACLITAXEL = (
    "CC1=C2C(C(=O)C3(C(CC4C(C3C(C(C2(C)C)(CC1OC(=O)C(C(C5=CC=CC=C5)NC(=O)C6=CC=CC=C6)O)O)"
    "OC(=O)C7=CC=CC=C7)(CO4)OC(=O)C)O)C)OC(=O)C"
)
MOLECULES = {
    "a salt": "[Na+].[Cl-]",
    "a hydrate": "[Cu+2].[O-]S(=O)(=O)[O-].O.O.O.O.O",
    "three": "CCO.CCO.c1ccccc1",
    "caffeine": "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
    "sucrose": "OCC1OC(OC2(CO)OC(CO)C(O)C2O)C(O)C(O)C1O",
    "imatinib": "CN1CCN(CC1)Cc1ccc(cc1)C(=O)Nc1ccc(C)c(c1)Nc1nccc(n1)-c1cccnc1",
    "atorvastatin": "CC(C)c1c(C(=O)Nc2ccccc2)c(-c2ccccc2)c(-c2ccc(F)cc2)n1CCC(O)CC(O)CC(=O)O",
    "erythromycin": ERYTHROMYCIN,
    "paclitaxel": PACLITAXEL,
    "cubane": "C12C3C4C1C5C2C3C45",
}
# What is drawn, in pixels: each text with its box, each atom, each bond.
DRAWN = """
() => {
  const every = (query) => [...document.querySelectorAll(`.nodes ${query}`)];
  const numbers = (element, names) => names.map((name) => Number(element.getAttribute(name)));
  return {
    texts: every("text").map((each) => [each.getAttribute("class"), Number(each.dataset.item), each.textContent,
      (({ x, y, width, height }) => [x, y, x + width, y + height])(each.getBBox())]),
    atoms: every("circle.node").map((each) => numbers(each, ["cx", "cy", "r"])),
    bonds: every("line").map((each) => numbers(each, ["x1", "y1", "x2", "y2"])),
    sheet: numbers(document.querySelector(".nodes"), ["width", "height"]),
  };
}
"""


def record_of(smiles):
    drawn = DrawnMolecule(*molecule_drawing(smiles))
    torch.manual_seed(0)
    count = len(drawn.symbols)
    names = tuple(f"{re.sub('[^A-Za-z]', '', symbol)[:1] or 'C'}{at}" for at, symbol in enumerate(drawn.symbols, 1))
    found = Outcomes("numbers", "item", (Place("the whole", None, "1.5", None),))
    return Record(names, layers=layers(count), model="toy", noun="atom", input=drawn, outcomes=found)


def overlap(one, other):
    across, down = (min(one[at + 2], other[at + 2]) - max(one[at], other[at]) for at in (0, 1))
    return min(across, down)


def distance_to_line(point, line):
    (x, y), (x1, y1, x2, y2) = point, line
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    along = min(max(((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length**2, 0.0), 1.0)
    return math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1))


@pytest.mark.parametrize("width", [1180, 390])
@pytest.mark.parametrize("name", MOLECULES)
def test_no_text_stands_on_another_one(live, name, width):
    record = record_of(MOLECULES[name])
    found = live(document(record), width=width).evaluate(DRAWN)
    for (kind, _, text, box), (other, _, its, its_box) in itertools.combinations(found["texts"], 2):
        assert overlap(box, its_box) <= 0, f"{kind} {text} stands on {other} {its}"
    for _, _, text, (left, top, right, bottom) in found["texts"]:
        assert min(left, top, found["sheet"][0] - right, found["sheet"][1] - bottom) >= 0, text
    if width == 1180:
        # Each atom has its number, which stands at it, and no bond goes through it.
        numbers = {item: (text, box) for kind, item, text, box in found["texts"] if kind == "atom"}
        assert [numbers[item][0] for item in range(len(record.items))] == [each[1:] for each in record.items]
        for item, (text, (left, top, right, bottom)) in numbers.items():
            middle, (x, y, radius) = ((left + right) / 2, (top + bottom) / 2), found["atoms"][item]
            assert math.dist(middle, (x, y)) < radius + 25
            assert all(distance_to_line(middle, bond) > 3 for bond in found["bonds"]), text


@pytest.mark.parametrize("name", ["a salt", "a hydrate", "three"])
def test_fragments_are_apart(live, name):
    smiles = MOLECULES[name]
    atoms = live(document(record_of(smiles))).evaluate(DRAWN)["atoms"]
    owner = [number for number, each in enumerate(smiles.split(".")) for _ in record_of(each).items]
    assert len(owner) == len(atoms)
    for (one, its), (other, theirs) in itertools.combinations(zip(owner, atoms, strict=True), 2):
        gap = math.dist(its[:2], theirs[:2]) - its[2] - theirs[2]
        assert one == other or gap > 2 * its[2]


@pytest.mark.parametrize("name", ["erythromycin", "paclitaxel"])
def test_atoms_of_large_molecules_do_not_hide_each_other(name):
    positions = torch.from_numpy(molecule_drawing(MOLECULES[name]).positions)
    distances = torch.cdist(positions, positions) + 9 * torch.eye(len(positions))
    assert distances.min() > 0.5 * 1.5


@pytest.mark.parametrize("name", ["caffeine", "imatinib", "atorvastatin"])
def test_atoms_have_numbers_in_a_narrow_window_too(live, name):
    record = record_of(MOLECULES[name])
    found = live(document(record), width=390).evaluate(DRAWN)
    numbers = {item: box for kind, item, _, box in found["texts"] if kind == "atom"}
    assert len(numbers) >= 0.9 * len(record.items)
    for item, (left, top, right, bottom) in numbers.items():
        x, y, radius = found["atoms"][item]
        assert math.dist(((left + right) / 2, (top + bottom) / 2), (x, y)) < radius + 20


def luminance(colour):
    """As WCAG defines it, of "rgb(r, g, b)"."""
    shares = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_of_atoms_stand_out_whatever_is_below_them(live, scheme):
    page = live(document(record_of(MOLECULES["caffeine"])), color_scheme=scheme)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    styles = page.locator(".nodes .atom").evaluate_all(
        """(all) => all.map((each) => {
          const { fill, stroke, strokeWidth, paintOrder } = getComputedStyle(each);
          return { fill, stroke, strokeWidth: parseFloat(strokeWidth), paintOrder };
        })"""
    )
    assert len(styles) == 14
    for style in styles:
        # The background around a number, below it, and above what the number stands on.
        assert (style["stroke"], style["strokeWidth"]) == (paper, 3)
        assert style["paintOrder"].startswith("stroke")
        assert contrast(style["fill"], style["stroke"]) >= 4.5


@pytest.mark.parametrize("width", [1180, 390])
@pytest.mark.parametrize("name", ["caffeine", "three", "imatinib"])
def test_numbers_of_atoms_stand_beside_all_discs_and_bonds_where_there_is_room(live, name, width):
    found = live(document(record_of(MOLECULES[name])), width=width).evaluate(DRAWN)
    numbers = [box for kind, _, _, box in found["texts"] if kind == "atom"]
    assert numbers
    apart = 0
    for left, top, right, bottom in numbers:
        # Digits have about two thirds of the height of their line.
        spare = (bottom - top) / 6
        inner = left, top + spare, right, bottom - spare
        gaps = [
            math.hypot(max(inner[0] - x, 0, x - inner[2]), max(inner[1] - y, 0, y - inner[3])) - radius
            for x, y, radius in found["atoms"]
        ]
        middle = (left + right) / 2, (top + bottom) / 2
        apart += min(gaps) >= 0 and all(distance_to_line(middle, bond) > 3 for bond in found["bonds"])
    assert apart >= (0.9 if width == 1180 and name != "imatinib" else 0.6) * len(numbers)
