"""Where an answer is one for the whole, and in graphs, the page tells as much as elsewhere: steps, drawings, names."""

import networkx
import numpy as np
import pytest
import torch

from page.live_records import document
from regard.inspection import LayerRecord, Outcomes, Place, Record
from regard.inspection.record.drawn_inputs import DrawnGraph
from regard.page.numbers import percent
from regard.tasks import load

STEPS = """() => [...document.querySelectorAll(".steps > div")].map((each) =>
  [each.querySelector("dt").textContent, each.querySelector("dd").textContent])"""


def graph_of(nodes: int) -> Record:
    """A citation graph without a layout, whose rows attend along its edges."""
    torch.manual_seed(0)
    made = networkx.barabasi_albert_graph(nodes, 2, seed=1)
    edges = np.array(list(made.edges)).T
    edges = np.concatenate([edges, edges[::-1]], axis=1).astype(np.int32)
    allowed = torch.eye(nodes, dtype=torch.bool)
    allowed[edges[1], edges[0]] = True
    weights = (3 * torch.randn(2, nodes, nodes)).masked_fill(~allowed, -torch.inf).softmax(-1)
    names = tuple(f"paper {number}" for number in range(1, nodes + 1))
    places = tuple(Place(name, number, "Theory", 0.75) for number, name in enumerate(names))
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    return Record(
        names, ("Theory",) * nodes, (0.75,) * nodes, (layer,), "citations", noun="node",
        outcomes=Outcomes("labels", "item", places), input=DrawnGraph(edges),
    )  # fmt: skip


def test_the_weight_of_a_pooling_has_steps(live):
    picture = np.zeros((28, 28), np.float32)
    picture[4:24, 13:16] = 1.0
    record = load("written-digit").see(picture)
    page = live(document(record))
    steps = dict(page.evaluate(STEPS))
    weight = float(record.pooling.weights().mean(0)[0].max())
    assert page.inner_text(".steps-part h2") == f"How the {percent(weight)} came about"
    assert steps["softmax over 16"].endswith(f"= {percent(weight)}")
    assert steps["q · k"]


def test_an_average_over_rows_is_taken_apart(live):
    record = load("solubility").see("CC(=O)Oc1ccccc1C(=O)O")
    page = live(document(record))
    steps = page.evaluate(STEPS)
    weights = record.layers[-1].weights().double()
    key = int(weights.mean((0, 1)).argmax())
    row = int(weights.mean(0)[:, key].argmax())
    head = int(weights[:, row, key].argmax())
    assert steps[0][0] == f"row of {record.items[row]}, one of 13"
    assert steps[1][0] == f"head {head + 1} of 4"
    told = dict(steps)
    assert told["softmax over 13"].endswith(f"= {percent(float(weights[head, row, key]))}")
    assert told["average of heads"].endswith(f"→ {percent(float(weights.mean(0)[row, key]))}")
    assert told["average of rows"].endswith(f"→ {percent(float(weights.mean((0, 1))[key]))}")


def test_a_number_is_named_with_its_unit(live):
    record = load("solubility").see("CCO")
    page = live(document(record))
    assert page.inner_text(".sentence").startswith("log solubility (mol/l) is 1.17 (RMSE of the model 0.81).")
    assert "log solubility (mol/l)" in page.locator(".written").inner_text()


def test_atoms_are_numbered_as_the_texts_name_them(live):
    record = load("solubility").see("CC(=O)O")
    page = live(document(record))
    numbers = page.locator(".molecule .atom").all_text_contents()
    assert [*map(int, numbers)] == [1, 2, 3, 4]
    assert [name[-1] for name in record.items] == numbers


@pytest.mark.parametrize("place", [12, 1])
def test_a_large_graph_is_drawn_around_its_node(live, place):
    record = graph_of(300)
    page = live(document(record, query=place))
    drawn = {int(each) for each in page.locator(".nodes .node").evaluate_all("(all) => all.map((e) => e.dataset.item)")}
    edges = record.input.edges
    joined = {int(b) for a, b in edges.T if a == place - 1}
    weights = record.layers[0].weights().double().mean(0)[place - 1]
    heavy = {number for number, weight in enumerate(weights.tolist()) if weight >= 0.02}
    if len(joined) <= 20:
        assert drawn == joined | heavy | {place - 1}
    assert len(drawn) <= 25
    assert place - 1 in drawn
    assert set(weights.topk(3).indices.tolist()) <= drawn
    widths = page.locator(".nodes .along").evaluate_all(
        "(all) => all.map((e) => parseFloat(e.getAttribute('stroke-width')))"
    )
    largest = float(weights[list(joined)].max())
    assert max(widths) == pytest.approx(1.5 + 9 * largest, abs=0.02)
    # A click on a neighbour leads to it.
    other = min(joined)
    page.locator(f'.nodes .node[data-item="{other}"]').click()
    assert f"place={other + 1}" in page.evaluate("location.hash")
