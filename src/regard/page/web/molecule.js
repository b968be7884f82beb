// A molecule, as chemists draw it: atoms shaded by the weights of the chosen row, and the chosen atom framed.
import { s } from "./dom.js";
import { drawingOf } from "./drawing.js";
import { weighedItems } from "./marked.js";
import { boxAt, inkOf, isOnDisc, labelOf, measured, placeLabels, spotsAround } from "./molecule_labels.js";
import { discs, nodesSheet, ringsAround, sizeSheet } from "./nodes.js";
import { percent } from "./numbers.js";
import { ringLegend, ringsOf } from "./rings.js";
import { wordsOf } from "./words.js";

const MOLECULE_WIDTH = 680;
const MOLECULE_HEIGHT = 380;
// Atoms whose discs are smaller have no numbers.
const LEAST_NUMBERED_ATOM = 5;
// Room for a number beside an atom at the edge.
const MOLECULE_MARGIN = { across: 64, down: 50 };
// Sizes of letters in pixels: of symbols, and of the smallest numbers.
const SYMBOL = 13, LEAST_NUMBER = 9;
// What it costs that the number of an atom stands over a part of its disc.
const OVER_DISC = 1.5;
// The longest a bond is drawn, in pixels, and the length for which a sheet grows, up to a height.
const BOND = 64, LEAST_BOND = 46, MOST_HEIGHT = 640;
// RDKit's bonds are so long.
const RDKIT_BOND = 1.5;

/** The molecule; `choose` is called with what changes in the state. */
export function moleculeView(root, choose) {
  const drawing = drawingOf(root, choose, "molecule", draw, ringLegend), sheet = nodesSheet(drawing, "molecule");

  return (view) => {
    sheet.setAttribute("aria-label", wordsOf(view.state.lang).molecule({ atoms: view.data.items.length }));
    drawing.show(view);
  };

  function draw(view, hovered) {
    const { input, items } = view.data, { spots, width, height, length } = placed(input, drawing.sheet.clientWidth || MOLECULE_WIDTH);
    sizeSheet(sheet, width, height);
    const radius = Math.max(4, Math.min(0.36 * length, 20)), size = Math.max(9, Math.min(0.4 * length, 19));
    const neighbours = neighboursOf(input.bonds, items.length), bonds = bondsOf(input.bonds, spots, input.symbols, size, neighbours);
    const written = (i, name, text, font) => s("text", { x: spots[i].x, y: spots[i].y, class: name, "data-item": i, style: font ? { "font-size": `${font}px` } : {} }, text);
    const symbols = input.symbols.map((text, i) => (text ? written(i, "symbol", text, Math.min(SYMBOL, size)) : null));
    const numbered = radius < LEAST_NUMBERED_ATOM ? [] : items.map((_, i) => i);
    const numbers = numbered.map((i) => written(i, "atom", items[i].match(/\d+$/)?.[0] ?? "", Math.max(LEAST_NUMBER, Math.min(SYMBOL, 0.65 * radius))));
    const weights = weighedItems(view).map((i) => written(i, "number", percent(view.weights[i])));
    sheet.replaceChildren(...discs(view, spots, radius, hovered), ...bonds, ...ringsAround(view, spots, radius), ...symbols.filter(Boolean), ...numbers, ...weights);
    const boxes = symbols.map((each) => each && measured(each));
    // A ring is around its disc.
    const ringed = new Map(ringsOf(view).map(({ item, width: thick }) => [item, 1.5 + thick]));
    placeLabels([...numbers.map((each) => numberLabel(each, spots, radius, boxes, radius + (ringed.get(Number(each.dataset.item)) ?? 0))), ...weights.map((each) => weightLabel(each, spots, radius))],
      { width, height, atoms: spots, radius, boxes: boxes.filter(Boolean).map((each) => boxAt(each, each)), lines: bonds.map(endsOf) });
  }
}

// The number of an atom, by which the texts name it: beside its disc and its ring, or where there is no room, in the disc.
function numberLabel(element, spots, radius, symbols, outer) {
  const label = labelOf(element), symbol = symbols[label.item];
  const rings = [{ across: outer + 2, down: outer - 1, cost: 0 }, { across: outer + 6, down: outer + 3, cost: 2 },
    symbol ? { across: symbol.width / 2, down: symbol.height / 2 - 5, cost: 5 }
      : { across: 0.6 * radius - label.width / 2, down: 0.6 * radius - label.height / 2, cost: 5 }];
  const isOver = (spot) => isOnDisc(inkOf(boxAt(spot, label)), spots[label.item], outer);
  return { ...label, spots: spotsAround(spots[label.item], label, rings).map((spot) => ({ ...spot, cost: spot.cost + (isOver(spot) ? OVER_DISC : 0) })) };
}

// The weight of an atom, beside it, and rather away from the middle of the molecule.
function weightLabel(element, spots, radius) {
  const label = labelOf(element), own = spots[label.item], middle = { x: 0, y: 0 };
  for (const { x, y } of spots) [middle.x, middle.y] = [middle.x + x / spots.length, middle.y + y / spots.length];
  const rings = [0, 6, 14, 24].map((more, i) => ({ across: radius + 3 + more, down: radius + more, cost: 3 * i }));
  const away = Math.hypot(own.x - middle.x, own.y - middle.y) || 1;
  const inwards = ({ x, y }) => ((own.x - x) * (own.x - middle.x) + (own.y - y) * (own.y - middle.y)) / (away * (Math.hypot(own.x - x, own.y - y) || 1));
  return { ...label, spots: spotsAround(own, label, rings).map((each) => ({ ...each, cost: each.cost + 2 * (1 + inwards(each)) })) };
}

function endsOf(line) {
  const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((name) => Number(line.getAttribute(name)));
  return { from: { x: x1, y: y1 }, to: { x: x2, y: y2 } };
}

// Where atoms stand in a sheet of at most this width: no bond is longer than wanted, and all fit. Of a large molecule the sheet
// grows so that its numbers have room.
function placed({ positions: { data, shape: [count] } }, most) {
  const [xs, ys] = [0, 1].map((axis) => Array.from({ length: count }, (_, i) => data[2 * i + axis]));
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [wide, tall] = [Math.max(...xs) - left, Math.max(...ys) - top];
  const margin = { across: Math.min(MOLECULE_MARGIN.across, most / 8), down: MOLECULE_MARGIN.down };
  const roomFor = (size, side) => size * LEAST_BOND / RDKIT_BOND + 2 * margin[side];
  const width = Math.min(most, Math.max(MOLECULE_WIDTH, roomFor(wide, "across")));
  const highest = Math.max(MOLECULE_HEIGHT, Math.min(MOST_HEIGHT, roomFor(tall, "down")));
  const scale = Math.min(BOND / RDKIT_BOND, (width - 2 * margin.across) / Math.max(wide, 1e-6), (highest - 2 * margin.down) / Math.max(tall, 1e-6));
  const across = (width - wide * scale) / 2;
  const height = Math.max(110, tall * scale + 2 * margin.down);
  return { length: RDKIT_BOND * scale, width, height,
    spots: xs.map((x, i) => ({ x: across + (x - left) * scale, y: (height - tall * scale) / 2 + (ys[i] - top) * scale })) };
}

function neighboursOf({ shape: [count], data }, atoms) {
  const found = Array.from({ length: atoms }, () => []);
  for (let i = 0; i < count; i++) {
    found[data[3 * i]].push(data[3 * i + 1]);
    found[data[3 * i + 1]].push(data[3 * i]);
  }
  return found;
}

function bondsOf({ shape: [count], data }, spots, symbols, size, neighbours) {
  const bonds = Array.from({ length: count }, (_, i) => [data[3 * i], data[3 * i + 1], data[3 * i + 2]]);
  return bonds.flatMap(([a, b, lines]) => {
    const dx = spots[b].x - spots[a].x, dy = spots[b].y - spots[a].y, length = Math.hypot(dx, dy) || 1;
    const [along, across] = [{ x: dx / length, y: dy / length }, { x: -dy / length, y: dx / length }];
    // The second line stands inside of a ring, or on both sides of the middle where there is no inside.
    const side = [...neighbours[a], ...neighbours[b]].filter((each) => each !== a && each !== b)
      .reduce((sum, each) => sum + Math.sign((spots[each].x - spots[a].x) * across.x + (spots[each].y - spots[a].y) * across.y), 0);
    const gap = Math.max(2.5, 0.1 * length);
    const shifts = lines === 2 ? (Math.abs(side) > 0.5 ? [0, Math.sign(side) * 1.6 * gap] : [-gap / 1.2, gap / 1.2])
      : lines === 3 ? [-1.3 * gap, 0, 1.3 * gap] : [0];
    return shifts.map((shift) => {
      const inner = shift && Math.abs(side) > 0.5 && lines === 2 ? 0.12 * length : 0;
      const [from, to] = [a, b].map((atom) => (symbols[atom] ? 0.62 * size : inner));
      return s("line", { class: lines === 0 ? "bond other" : "bond",
        x1: spots[a].x + along.x * from + across.x * shift, y1: spots[a].y + along.y * from + across.y * shift,
        x2: spots[b].x - along.x * to + across.x * shift, y2: spots[b].y - along.y * to + across.y * shift });
    });
  });
}
