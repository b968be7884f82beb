// Drawing a map on its canvas: cells, names or rulers at its edges, and the frame of what is chosen.
import { clipped } from "./dom.js";
import { HIDDEN } from "./weights.js";

const SIDE = 520;
const LABELS = 92;
const LEAST_LABEL = 11;
// Names over narrower columns are upright, so that they don't touch; over wide ones they lie.
const SLANTED = 16, LYING = 40;
const NAMES_APART = 6;
const MAP_RULER = { left: 46, top: 22, right: 24 };
// Between two numbers of a ruler.
const MARKS_APART = { left: 26, top: 56 };
// Of as many cells on a side, the one with the largest weight that can't be seen in its sum has a dot.
const DOT_OF = 16;
const LEAST_DOT = 0.1;

/** Where the cells are: {top, left, cell, labels, width, height}, in pixels of the page. */
export function layoutOf(found, room) {
  const single = found.tall * found.wide === 1;
  const fits = (width) => Math.floor(Math.min(44, width / found.columns, Math.max(LEAST_LABEL, SIDE / found.rows)));
  let width = Math.min(SIDE, Math.max(180, room - LABELS - 8)), fitting = fits(width);
  // The last of slanted names reaches beyond its column.
  const beyond = single && fitting >= SLANTED && fitting < LYING ? LABELS / 2 : 4;
  if (beyond > 4) {
    width = Math.min(width, Math.max(180, room - LABELS - beyond));
    fitting = fits(width);
  }
  const cell = fitting >= 1 ? fitting : Math.min(width / found.columns, SIDE / found.rows);
  const labels = single && cell >= LEAST_LABEL;
  const [top, left, right] = labels ? [cell >= LYING ? 26 : LABELS, LABELS, beyond] : [MAP_RULER.top, MAP_RULER.left, MAP_RULER.right];
  return { top, left, cell, labels, width: left + found.columns * cell + right, height: top + found.rows * cell + 4 };
}

/**
 * The cells, hatched where the mask hides; what is the largest weight that a dot stands for, or 0.
 *
 * palette: {image(found), colour(value), text(value), least, dot(value)}: the cells as pixels, the colour of one, its number
 * as text and how large a cell with a number must be; the colour of a dot, if the cells have their largest weights.
 */
export function drawCells(context, found, place, palette, style) {
  const { top, left, cell } = place;
  context.imageSmoothingEnabled = false;
  const small = new OffscreenCanvas(found.columns, found.rows);
  small.getContext("2d").putImageData(palette.image(found), 0, 0);
  context.drawImage(small, left, top, found.columns * cell, found.rows * cell);
  hatch(context, found, place, style);
  if (cell >= palette.least && found.tall * found.wide === 1) numbers(context, found, place, palette);
  return palette.dot ? dots(context, found, place, palette) : 0;
}

function hatch(context, found, { top, left, cell }, style) {
  if (cell < 4) return;
  context.strokeStyle = style.getPropertyValue("--line");
  context.lineWidth = 1;
  context.beginPath();
  for (let i = 0; i < found.sums.length; i++) {
    if (found.sums[i] !== HIDDEN) continue;
    const x = left + (i % found.columns) * cell, y = top + Math.floor(i / found.columns) * cell;
    context.moveTo(x + 1, y + cell - 1);
    context.lineTo(x + cell - 1, y + 1);
  }
  context.stroke();
}

function numbers(context, found, { top, left, cell }, { colour, text }) {
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < found.sums.length; i++) {
    const value = found.sums[i];
    if (value === HIDDEN) continue;
    const [red, green, blue] = colour(value);
    context.fillStyle = 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#111" : "#fff";
    context.fillText(text(value, found.both?.map((each) => each[i])).replace("%", ""), left + (i % found.columns + 0.5) * cell,
      top + (Math.floor(i / found.columns) + 0.5) * cell);
  }
}

// The cells with a single weight far above what their colour says, one for each part of the map.
function dotted({ columns, tall, wide, sums, most }) {
  const best = new Map();
  if (tall * wide === 1) return [];
  for (let i = 0; i < most.length; i++) {
    if (most[i] < LEAST_DOT || sums[i] > most[i] / 4 || sums[i] === HIDDEN) continue;
    const part = `${Math.floor(i / columns / DOT_OF)} ${Math.floor(i % columns / DOT_OF)}`;
    if (!best.has(part) || most[i] > most[best.get(part)]) best.set(part, i);
  }
  return [...best.values()];
}

function dots(context, found, { top, left, cell }, { dot }) {
  const where = dotted(found);
  for (const i of where) {
    context.fillStyle = `rgb(${dot(found.most[i]).join(" ")})`;
    context.beginPath();
    context.arc(left + (i % found.columns + 0.5) * cell, top + (Math.floor(i / found.columns) + 0.5) * cell,
      Math.max(1.5, Math.min(4, cell / 3)), 0, 2 * Math.PI);
    context.fill();
  }
  return Math.max(0, ...where.map((i) => found.most[i]));
}

/** The names of the rows and columns. */
export function drawLabels(context, found, window, { top, left, cell }, labels, style) {
  context.fillStyle = style.getPropertyValue("--ink");
  context.font = `${Math.min(13, cell)}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  for (let row = 0; row < found.rows; row++) {
    context.textAlign = "right";
    context.fillText(clipped(labels.rows[window.top + row], 14), left - 6, top + (row + 0.5) * cell, LABELS - 8);
  }
  for (let column = 0; column < found.columns; column++) {
    context.save();
    context.translate(left + (column + 0.5) * cell, top - 6);
    const lies = cell >= LYING;
    context.rotate(lies ? 0 : cell >= SLANTED ? -Math.PI / 3 : -Math.PI / 2);
    context.textAlign = lies ? "center" : "left";
    context.textBaseline = lies ? "bottom" : "middle";
    context.fillText(clipped(labels.columns[window.left + column], 14), 0, 0, lies ? cell - NAMES_APART : LABELS - 8);
    context.restore();
  }
}

/** The number of the first item: its name where items are named by numbers in their order, such as the nodes of a graph from 0; else 1. */
export function firstNumber(names) {
  // Of a window there are its names alone, in their places.
  const at = names.findIndex((name) => name !== undefined), first = Number(names[at]) - at;
  return names[at]?.trim() && Number.isInteger(first) && names.every((name, i) => name === undefined || Number(name) === first + i) ? first : 1;
}

/** Numbers of items along both edges. */
export function drawRulers(context, found, window, { top, left, cell }, { rows: queries, columns: keys }, layer, style) {
  context.fillStyle = context.strokeStyle = style.getPropertyValue("--quiet");
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1;
  context.beginPath();
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  const ofKeys = firstNumber(keys) - 1, ofQueries = firstNumber(queries) - 1;
  for (const item of ticks(window.left + ofKeys, window.right + ofKeys, found.columns * cell / MARKS_APART.top)) {
    const x = left + (item - ofKeys - 1 - window.left + 0.5) / found.wide * cell;
    context.moveTo(x, top - 5);
    context.lineTo(x, top - 1);
    context.fillText(item.toLocaleString("en"), x, top - 8);
  }
  context.textBaseline = "middle";
  context.textAlign = "right";
  const most = found.rows * cell / MARKS_APART.left;
  const rows = layer.queries === 1 ? [] : ticks(window.top + ofQueries, window.bottom + ofQueries, most);
  for (const item of rows) {
    const y = top + (item - ofQueries - 1 - window.top + 0.5) / found.tall * cell;
    context.moveTo(left - 5, y);
    context.lineTo(left - 1, y);
    context.fillText(item.toLocaleString("en"), left - 8, y);
  }
  context.stroke();
}

/** Round numbers between two, and the first one: at most so many; from 0 without the end, counted from 1. */
export function ticks(from, to, most) {
  const least = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least);
  const found = [];
  for (let item = Math.ceil((from + 1) / step) * step; item <= to; item += step) found.push(item);
  const first = from + 1;
  if (found[0] !== first && (!found.length || found[0] - first >= 0.6 * step)) found.unshift(first);
  return found;
}

/** The frame of a query's row and of the cell of a pair; query: -1 for none; spot: null for none. */
export function drawFrame(context, found, window, { top, left, cell }, query, spot, style) {
  const rowOfQuery = (each) => (each < window.top || each >= window.bottom ? -1 : Math.floor((each - window.top) / found.tall));
  const row = rowOfQuery(query);
  context.strokeStyle = style.getPropertyValue("--weight-ink");
  context.lineWidth = 2;
  if (row >= 0) context.strokeRect(left - 1, top + row * cell - 1, found.columns * cell + 2, Math.max(cell, 2) + 2);
  if (spot === null) return;
  const own = rowOfQuery(spot.query), column = Math.floor((spot.key - window.left) / found.wide);
  if (own >= 0 && column >= 0 && column < found.columns) {
    context.strokeRect(left + column * cell, top + own * cell, Math.max(cell, 2), Math.max(cell, 2));
  }
}
