// A graph of many nodes as a map of its edges: a row attends along its marks, and that of the chosen node is framed.
import { sized } from "./canvas.js";
import { h } from "./dom.js";
import { chosenItem, highest, strengthOf } from "./drawing.js";
import { clamp } from "./numbers.js";

const ADJACENCY_SIDE = 240;
const STRIP = 12;
const GAP = 8;
// Marks of the chosen row are at least this large.
const MARK = 3;

/** The map, on a canvas below the sheet and what is said of it. */
export function adjacencyOf(drawing) {
  const canvas = h("canvas", { tabindex: 0, role: "img", class: "adjacency", "data-id": "adjacency" }), said = h("p", { class: "quiet" });
  const box = h("div", { class: "below" }, canvas, said);
  drawing.below(box);
  let side = ADJACENCY_SIDE;
  drawing.listen(canvas, itemAt);
  return { canvas, draw, show };

  /** Say what it is, if the graph is large; else hide it. */
  function show(large, words) {
    box.hidden = !large;
    said.textContent = words.adjacency;
  }

  function draw(view, hovered) {
    const { items, input } = view.data, count = items.length, style = getComputedStyle(canvas);
    side = Math.min(ADJACENCY_SIDE, drawing.sheet.clientWidth || ADJACENCY_SIDE);
    const context = sized(canvas, side, side + GAP + STRIP), cell = Math.max(1, side / count);
    const at = (item) => (item / count) * side, { data, shape: [, edges] } = input.edges;
    context.fillStyle = style.getPropertyValue("--raised");
    context.fillRect(0, 0, side, side);
    context.fillStyle = style.getPropertyValue("--quiet");
    for (let i = 0; i < edges; i++) context.fillRect(at(data[i]), at(data[edges + i]), cell, cell);
    // The chosen row, and below the map once more, where it can be seen.
    const high = highest(view), chosen = chosenItem(view), mark = Math.max(MARK, cell);
    context.fillStyle = style.getPropertyValue("--raised");
    context.fillRect(0, side + GAP, side, STRIP);
    context.fillStyle = style.getPropertyValue("--weight-high");
    for (let i = 0; i < count; i++) {
      const strength = strengthOf(view, i, high);
      if (!strength) continue;
      context.globalAlpha = strength;
      if (!view.pooled) context.fillRect(at(i) - (mark - cell) / 2, at(chosen) - (mark - cell) / 2, mark, mark);
      context.fillRect(at(i) - (mark - cell) / 2, side + GAP, mark, STRIP);
    }
    context.globalAlpha = 1;
    context.strokeStyle = style.getPropertyValue("--weight-ink");
    context.lineWidth = 1.5;
    for (const item of new Set([chosen, ...(hovered === null ? [] : [hovered])])) {
      context.strokeRect(0.75, at(item) - mark / 2 - 1, side - 1.5, mark + 2);
    }
  }

  function itemAt({ offsetX, offsetY }) {
    const count = drawing.view.data.items.length, place = offsetY > side ? offsetX : offsetY;
    return clamp(Math.floor((place / side) * count), 0, count - 1);
  }
}
