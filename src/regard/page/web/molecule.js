// A molecule, as chemists draw it: atoms shaded by the weights of the chosen row, and the chosen atom framed.
import { s } from "./dom.js";
import { drawingOf, heaviestItems } from "./drawing.js";
import { discs, nodesSheet, ringsAround, sizeSheet } from "./nodes.js";
import { percent } from "./numbers.js";
import { ringLegend } from "./rings.js";
import { wordsOf } from "./words.js";

const MOLECULE_WIDTH = 680;
const MOLECULE_HEIGHT = 380;
// Atoms whose discs are smaller have no numbers.
const LEAST_NUMBERED_ATOM = 11;
// Room for a number beside an atom at the edge.
const MOLECULE_MARGIN = { across: 64, down: 50 };
// Where the weight of an atom can stand: so many places around it.
const PLACES_AROUND = 12;
// The longest a bond is drawn, in pixels.
const BOND = 64;

/** The molecule; `choose` is called with what changes in the state. */
export function moleculeView(root, choose) {
  const drawing = drawingOf(root, choose, "molecule", draw, ringLegend), sheet = nodesSheet(drawing, "molecule");

  return (view) => {
    sheet.setAttribute("aria-label", wordsOf(view.state.lang).molecule({ atoms: view.data.items.length }));
    drawing.show(view);
  };

  function draw(view, hovered) {
    const { input, items } = view.data, width = Math.min(MOLECULE_WIDTH, drawing.sheet.clientWidth || MOLECULE_WIDTH);
    const { spots, height, length } = placed(input, width);
    sizeSheet(sheet, width, height);
    const radius = Math.max(4, Math.min(0.36 * length, 20)), size = Math.max(9, Math.min(0.4 * length, 19));
    const neighbours = neighboursOf(input.bonds, items.length), bonds = bondsOf(input.bonds, spots, input.symbols, size, neighbours);
    const most = heaviestItems(view);
    sheet.replaceChildren(...discs(view, spots, radius, hovered), ...bonds, ...ringsAround(view, spots, radius),
      ...input.symbols.flatMap((text, i) => (text ? [s("text", { x: spots[i].x, y: spots[i].y, class: "symbol", "data-item": i,
        "font-size": size }, text)] : [])),
      ...(radius < LEAST_NUMBERED_ATOM ? [] : input.symbols.map((text, i) => numberOf(view.data.items[i], numberSpot(view.data.items[i], i, { spots, neighbours, radius, symbols: input.symbols, size }), radius, i))),
      ...most.map((i) => s("text", { ...besideOf(i, spots, radius), class: "number" }, percent(view.weights[i]))));
  }
}

// Where atoms stand in a sheet of this width: no bond is longer than wanted, and all fit.
function placed({ positions: { data, shape: [count] } }, width) {
  const [xs, ys] = [0, 1].map((axis) => Array.from({ length: count }, (_, i) => data[2 * i + axis]));
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [wide, tall] = [Math.max(...xs) - left, Math.max(...ys) - top];
  // RDKit's bonds are 1.5 long.
  const scale = Math.min(BOND / 1.5, (width - 2 * MOLECULE_MARGIN.across) / Math.max(wide, 1e-6), (MOLECULE_HEIGHT - 2 * MOLECULE_MARGIN.down) / Math.max(tall, 1e-6));
  const across = (width - wide * scale) / 2;
  const height = Math.max(110, tall * scale + 2 * MOLECULE_MARGIN.down);
  return { length: 1.5 * scale, height,
    spots: xs.map((x, i) => ({ x: across + (x - left) * scale, y: (height - tall * scale) / 2 + (ys[i] - top) * scale })) };
}

// The number of an atom, by which the texts name it.
function numberOf(name, { x, y }, radius, i) {
  return s("text", { x, y, class: "atom", "data-item": i, "font-size": numberSize(radius) }, name.match(/\d+$/)?.[0] ?? "");
}

// Where the number of an atom stands: with a symbol below or above its end, on the side without a bond, and else in the disc.
function numberSpot(name, i, { spots, neighbours, radius, symbols, size }) {
  if (!symbols[i]) return freeSpot(i, spots, neighbours, radius);
  const { x, y } = spots[i], digits = (/\d+$/.exec(name)?.[0] ?? "").length;
  const across = 0.36 * size * symbols[i].length + 0.29 * digits * numberSize(radius) + 1, down = 0.5 * size;
  const corners = [[1, 1], [-1, 1], [1, -1], [-1, -1]].map(([right, below]) => ({ x: right * across, y: below * down }));
  const turnOf = ({ x: dx, y: dy }) => Math.atan2(dy, dx), bonds = turnsOf(i, spots, neighbours);
  const apart = (corner) => Math.min(Math.PI, ...bonds.map((bond) => Math.abs(Math.atan2(Math.sin(bond - turnOf(corner)), Math.cos(bond - turnOf(corner))))));
  const best = corners.reduce((one, other) => (apart(other) > apart(one) + 1e-6 ? other : one));
  return { x: x + best.x, y: y + best.y };
}

function numberSize(radius) {
  return Math.max(8, 0.5 * radius);
}

// The directions of an atom's bonds, as angles.
function turnsOf(i, spots, neighbours) {
  return neighbours[i].map((each) => Math.atan2(spots[each].y - spots[i].y, spots[each].x - spots[i].x)).sort((a, b) => a - b);
}

// Where an atom's disc has no bond: in the middle of the widest angle between them.
function freeSpot(i, spots, neighbours, radius) {
  const { x, y } = spots[i], turns = turnsOf(i, spots, neighbours);
  const gaps = turns.map((turn, at) => (at + 1 < turns.length ? turns[at + 1] : turns[0] + 2 * Math.PI) - turn);
  const widest = gaps.indexOf(Math.max(...gaps)), turn = gaps.length ? turns[widest] + gaps[widest] / 2 : Math.PI / 2;
  return { x: x + 0.6 * radius * Math.cos(turn), y: y + 0.6 * radius * Math.sin(turn) };
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

// Beside an atom, where there is most room among the others; of places with as much, away from the middle of the molecule.
function besideOf(i, spots, radius) {
  const middle = { x: 0, y: 0 };
  for (const { x, y } of spots) {
    middle.x += x / spots.length;
    middle.y += y / spots.length;
  }
  const away = Math.atan2(spots[i].y - middle.y, spots[i].x - middle.x);
  const places = Array.from({ length: PLACES_AROUND }, (_, at) => {
    const turn = away + 2 * Math.PI * at / PLACES_AROUND, own = spots[i];
    const place = { x: own.x + Math.cos(turn) * (radius + 22), y: own.y + Math.sin(turn) * (radius + 15) };
    const nearest = Math.min(...spots.filter((each) => each !== own).map(({ x, y }) => Math.hypot(place.x - x, place.y - y)));
    return { ...place, room: Math.min(nearest, 2.5 * radius) + Math.cos(turn - away) };
  });
  const best = places.reduce((one, other) => (other.room > one.room + 1e-6 ? other : one));
  return { x: best.x, y: best.y + 5 };
}
