// A graph, drawn where its layout says: edges as wide as the weights along them, and the chosen node framed. Of a large
// one the nodes around the chosen one are drawn, above a map of all edges.
import { adjacencyOf } from "./adjacency.js";
import { s } from "./dom.js";
import { chosenItem, drawingOf, heaviestItems, ownItem } from "./drawing.js";
import { markedKey, namedItems, weighedItems } from "./marked.js";
import { labelOf, placeLabels, spotsAround } from "./molecule_labels.js";
import { discs, nodesSheet, ringsAround, sizeSheet } from "./nodes.js";
import { percent } from "./numbers.js";
import { ringLegend } from "./rings.js";
import { orZero } from "./view.js";
import { known, rowOf } from "./weights.js";
import { wordsOf } from "./words.js";

const GRAPH_WIDTH = 860;
const GRAPH_MARGIN = 36;
// Nodes around the chosen one.
const MOST_AROUND = 24;
// Narrower sheets have smaller nodes, and fewer numbers.
const NARROW = 480, MOST_NARROW = 4;
// Pixels of the sheet for each node, from which on all of them are named.
const ROOM = 5200;

/** The graph; `choose` is called with what changes in the state. */
export function graphView(root, choose) {
  const drawing = drawingOf(root, choose, "graph", draw, ringLegend), sheet = nodesSheet(drawing, "graph");
  const adjacency = adjacencyOf(drawing);

  return (view) => {
    const { input, items } = view.data, words = wordsOf(view.state.lang), large = input.positions === null;
    adjacency.show(large, words);
    for (const each of [sheet, adjacency.canvas]) {
      each.setAttribute("aria-label", words.graph({ nodes: items.length, edges: input.edges.shape[1] }));
    }
    drawing.show(view, large ? [words.aroundNode({ count: ringOf(view).length })] : []);
  };

  function draw(view, hovered) {
    const { input, items } = view.data;
    const large = input.positions === null;
    if (large) adjacency.draw(view, hovered);
    const width = Math.min(GRAPH_WIDTH, drawing.sheet.clientWidth || GRAPH_WIDTH);
    const height = Math.round(Math.max(260, Math.min(460, 0.55 * width)));
    const spots = large ? aroundChosen(view, width, height) : laidOut(input.positions, width, height);
    sizeSheet(sheet, width, height);
    const dense = width < NARROW && items.length > 12, radius = dense ? 7 : large || items.length <= 40 ? 12 : items.length <= 100 ? 9 : 6;
    const most = weighedItems(view).slice(0, dense ? MOST_NARROW : undefined);
    // Those of about equal weights are named, too.
    const named = new Set([...most, ...heaviestItems(view).slice(0, dense ? MOST_NARROW : undefined), ...namedItems(view), markedKey(view), ownItem(view), hovered]);
    const all = large || (width * height) / items.length >= ROOM;
    const written = (i, name, text) => s("text", { x: spots[i].x, y: spots[i].y, class: name, "data-item": i }, text);
    const names = items.map((_, i) => i).filter((i) => spots[i] && (all || named.has(i))).map((i) => written(i, "name", cutName(items[i])));
    const numbers = most.filter((i) => spots[i]).map((i) => written(i, "number", percent(view.weights[i])));
    sheet.replaceChildren(...edgesOf(view, spots, hovered), ...discs(view, spots, radius, hovered).filter(Boolean), ...ringsAround(view, spots, radius),
      ...numbers, ...names);
    // What is chosen or attended to is placed first.
    const ordered = [...numbers, ...names.filter(({ dataset: { item } }) => named.has(Number(item))), ...names.filter(({ dataset: { item } }) => !named.has(Number(item)))];
    placeLabels(ordered.map((each) => labelBeside(each, spots, radius, numbers.includes(each) ? -1 : 1)), { width, height, atoms: spots, radius, boxes: [], lines: [] });
  }
}

// A label and where it may stand: rather below its node (1) or above it (-1) than beside it, and nearer to no other node.
function labelBeside(element, spots, radius, side) {
  const label = labelOf(element), own = spots[label.item], away = radius + 2 + label.height / 2;
  const rings = [2, 8, 16, 26].map((more, i) => ({ across: radius + more, down: radius + more, cost: 3 * i }));
  const found = spotsAround(own, label, rings).map((each) => ({ ...each, cost: each.cost + 4 * Math.max(0, 1 - side * (each.y - own.y) / away) }));
  const isOwn = (spot) => spots.every((other) => other === own || Math.hypot(spot.x - other.x, spot.y - other.y) > Math.hypot(spot.x - own.x, spot.y - own.y));
  const clear = found.filter(isOwn);
  return { ...label, spots: clear.length ? clear : found };
}

// Where the layout says, in pixels.
function laidOut({ shape: [count], data }, width, height) {
  return Array.from({ length: count }, (_, i) => ({ x: GRAPH_MARGIN + data[2 * i] * (width - 2 * GRAPH_MARGIN),
    y: GRAPH_MARGIN + data[2 * i + 1] * (height - 2 * GRAPH_MARGIN - 10) }));
}

// The nodes around the chosen one: those that it attends to most, and then its neighbours.
function ringOf(view) {
  const own = chosenItem(view), found = new Set(heaviestItems(view));
  for (const [from, to] of edgesOfInput(view.data.input)) {
    if (found.size > MOST_AROUND) break;
    if (from === own) found.add(to);
    else if (to === own) found.add(from);
  }
  found.delete(own);
  return [...found].slice(0, MOST_AROUND).sort((a, b) => a - b);
}

// The chosen node in the middle of a ring; the others have no spot.
function aroundChosen(view, width, height) {
  const ring = ringOf(view), spots = new Array(view.data.items.length);
  spots[chosenItem(view)] = { x: width / 2, y: height / 2 };
  ring.forEach((item, at) => {
    const turn = 2 * Math.PI * at / ring.length - Math.PI / 2;
    spots[item] = { x: width / 2 + 0.4 * width * Math.cos(turn), y: height / 2 + 0.38 * height * Math.sin(turn) };
  });
  return spots;
}

// The edges of the graph, and over them those that were attended along.
function edgesOf(view, spots, hovered) {
  const found = [], widths = edgeWeights(view), own = ownItem(view);
  const line = (from, to, more) => s("line", { x1: spots[from].x, y1: spots[from].y, x2: spots[to].x, y2: spots[to].y, ...more });
  const [lined, edges] = [new Set(), edgesOfInput(view.data.input)];
  for (const [from, to] of edges) {
    if (!spots[from] || !spots[to]) continue;
    const name = from < to ? `${from} ${to}` : `${to} ${from}`;
    if (!lined.has(name)) found.push(line(from, to, { class: from === hovered || to === hovered ? "edge lit" : "edge" }));
    lined.add(name);
  }
  if (own !== null) {
    // What a node attends to may be no neighbour of it.
    for (const from of heaviestItems(view)) {
      const name = from < own ? `${from} ${own}` : `${own} ${from}`;
      if (from !== own && !lined.has(name)) {
        found.push(line(from, own, { class: "far", "stroke-width": 1.5 + 9 * view.weights[from] }));
      }
    }
  }
  const weighed = edges.map(([from, to], i) => ({ from, to, weight: widths[i] }))
    .filter(({ from, to, weight }) => weight > 0 && spots[from] && spots[to]);
  for (const { from, to, weight } of weighed.sort((a, b) => a.weight - b.weight)) {
    found.push(line(from, to, { class: "along", "stroke-width": 1.5 + 9 * weight, "stroke-opacity": 0.45 + 0.4 * weight }));
  }
  return found;
}

// The weight along each edge: of the chosen node those that lead to it, and without one all.
function edgeWeights(view) {
  const edges = edgesOfInput(view.data.input), own = ownItem(view);
  if (view.weights && own !== null) return edges.map(([from, to]) => (to === own ? orZero(view.weights[from]) : 0));
  if (!view.weights || view.usesPooling || view.data.queries !== null || known(view.layer, view.head) !== "all") return edges.map(() => 0);
  const rows = new Map();
  return edges.map(([from, to]) => {
    if (!rows.has(to)) rows.set(to, rowOf(view.layer, view.head, to));
    return orZero(rows.get(to)[from]);
  });
}

// The edges as pairs: from what is attended to, to what attends.
function edgesOfInput({ edges: { shape: [, count], data } }) {
  return Array.from({ length: count }, (_, i) => [data[i], data[count + i]]);
}

function cutName(text) {
  return text.length > 14 ? `${text.slice(0, 13)}…` : text;
}
