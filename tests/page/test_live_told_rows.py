"""Of many items those have rows that say something: a weight above an equal one, or an effect."""

import pytest
import torch

from page.live_records import document
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record, story, story_of
from regard.inspection.views.story import compared_items, largest_in_turn
from regard.page import as_text


def molecule(atoms, weights, changes):
    """A record of atoms, whose weights are equal but for some, and which change the number if they are hidden."""
    rest = (1 - sum(weights.values())) / (atoms - len(weights))
    row = torch.tensor([weights.get(atom, rest) for atom in range(atoms)])
    layer = LayerRecord.of_weights("layer 1", row.expand(1, atoms, atoms).contiguous(), "softmax")
    place = Place("solubility", None, "-3.00", None)
    outcomes = [Outcome(f"{-3 + changes.get(atom, 0.0):.2f}", None, changes.get(atom, 0.0)) for atom in range(atoms)]
    found = Outcomes("numbers", "item", (place,), tuple((each,) for each in outcomes), error=0.81)
    names = tuple(f"C{atom}" for atom in range(atoms))
    return Record(names, layers=(layer,), model="toy", noun="atom", outcomes=found)


@pytest.mark.parametrize(
    ("atoms", "weights", "changes", "rows"),
    [
        (46, {7: 0.06}, {3: -0.5}, [0, 3, 7]),  # three at least, of which the first has no more than the others
        (46, {7: 0.06, 9: 0.05}, {3: -0.5, 4: 0.3}, [3, 4, 7, 9]),
        (46, {7: 0.03}, {3: -0.5, 4: 0.3}, [0, 3, 4, 7]),
        # -3.004 is written as -3.00, and a hundredth as one; nothing else is told of no effect at all.
        (46, {7: 0.06}, {3: -0.05, 4: 0.004, 5: -0.004, 6: 0.01}, [0, 3, 6, 7]),
        (46, {7: 0.06}, {4: 0.004, 5: -0.004}, [0, 1, 7]),
        (20, {7: 0.06}, {3: -0.5}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),  # an equal weight is 5 %, which is told
    ],
)
def test_rows_of_equal_weights_without_effect_are_left_out(live, atoms, weights, changes, rows):
    record = molecule(atoms, weights, changes)
    block = compared_items(record, story_of(record))
    assert [each.label for each in block.rows] == [f"C{row}" for row in rows]
    others = f"{atoms - len(rows)} others have {5 if atoms == 20 else 2}% at most; hiding one of them leaves the answer"
    assert others in " ".join(as_text(story(record), width=200).split())
    page = live(document(record), "#lang=en")
    found = page.locator(".compared tbody tr").evaluate_all("rows => rows.map((each) => Number(each.dataset.key))")
    # The row of the chosen item, that of the largest weight, is always there.
    assert found == sorted({*rows, 7})
    assert others in page.locator(".compared-part").inner_text()


def test_effects_come_in_turn_with_weights():
    weights, effects = [0.5, *[0.5 / 29] * 29], [0.0] * 29 + [0.3]
    assert largest_in_turn(weights, effects, 12, "labels") == [0, 1, 29]
    assert largest_in_turn(weights, [], 12, "labels") == [0, 1, 2]
