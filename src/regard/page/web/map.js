// All items against all items: a window of the weights, from the whole map down to single cells.
import { colourOf, scaleOf } from "./colours.js";
import { clipped, h } from "./dom.js";
import { fromOverview, highOf, imageOf } from "./heads.js";
import { percent } from "./numbers.js";
import { cells } from "./tiles.js";
import { placeAt } from "./view.js";
import { HIDDEN, hasHead } from "./weights.js";
import { nounOf, wordsOf } from "./words.js";

const CELLS = 256;
// Pairs, over all heads, that are computed at once without the page standing still.
const AT_ONCE = 2 ** 17;
// Pairs that a worker computes in about a tenth of a second.
const AT_MOST = 2 ** 21;
const SIDE = 520;
const LABELS = 92;
const LEAST_LABEL = 13;

/** The map; `tiles` computes cells away from the page's own thread. */
export function mapView(root, choose, tiles) {
  const canvas = h("canvas", { tabindex: 0, role: "img", class: "map", "data-id": "map" });
  const line = h("p", { class: "quiet line", "aria-live": "polite" });
  const note = h("p", { class: "quiet" });
  const legend = h("p", { class: "legend" });
  const button = (name, action) => h("button", { type: "button", "data-id": name, onclick: action });
  const closer = button("closer", () => zoom(0.5)), wider = button("wider", () => zoom(2));
  const whole = button("whole", () => look(null));
  const buttons = h("p", { class: "buttons" }, closer, wider, whole);
  root.append(buttons, canvas, line, legend, note);
  let view = null, shown = null, cursor = null, asked = 0;

  canvas.addEventListener("pointermove", (event) => hover(cellAt(event)));
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("blur", () => hover(null));
  canvas.addEventListener("click", (event) => pick(cellAt(event)));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 2 : 0.5, cellAt(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 10 : 1;
    const moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] };
    if (event.key in moves) move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") look(null);
    else if (event.key === "Enter") pick(shown && spot());
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return (next) => {
    view = next;
    const words = wordsOf(view.state.lang);
    closer.textContent = words.closer;
    wider.textContent = words.wider;
    whole.textContent = words.whole;
    const { layer } = view, window = windowOf(view);
    buttons.hidden = Math.max(layer.queries, layer.keys) <= 16;
    canvas.setAttribute("aria-label", `${words.map(nounOf(view.data.noun, view.state.lang, true))}: ${words.mapNote}`);
    const heads = view.head === null ? [...Array(layer.heads).keys()] : [view.head];
    const pairs = heads.length * (window.bottom - window.top) * (window.right - window.left);
    const there = hasHead(layer, view.head);
    shown = null;
    // What a worker was asked for before is of another view.
    asked += 1;
    if (there && (pairs <= AT_ONCE || !layer.overview && pairs <= AT_MOST)) {
      show(cells(layer, heads, window, CELLS, CELLS), window);
    } else if (layer.overview) {
      show(...cropped(fromOverview(layer, heads), layer, window));
      if (there && pairs <= AT_MOST) {
        const number = ++asked;
        tiles(view.number, heads, window, CELLS).then((found) => number === asked && show(found, window));
      }
    } else {
      note.textContent = words.missing;
      canvas.hidden = true;
      legend.replaceChildren();
      line.textContent = "";
    }
    if (!there && layer.overview) note.textContent = words.missing;
  };

  function show(found, window) {
    asked += 1;
    canvas.hidden = false;
    shown = { found, window, high: highOf(found) };
    const { tall, wide } = found;
    note.textContent = tall * wide > 1 ? wordsOf(view.state.lang).joined(tall, wide) : "";
    draw();
  }

  function draw() {
    if (!shown) return;
    const { found, window, high } = shown, scale = scaleOf(root);
    const labels = namesOf(view), width = Math.min(SIDE, Math.max(180, root.clientWidth - LABELS - 8));
    const side = Math.max(1, Math.floor(Math.min(44, width / found.columns)) || 1);
    const cell = found.columns * side > width ? width / found.columns : side;
    const [wide, high_] = [found.columns * cell, found.rows * cell];
    const ratio = globalThis.devicePixelRatio || 1;
    const top = cell >= 40 ? 26 : cell >= LEAST_LABEL ? LABELS : 6, left = cell >= LEAST_LABEL ? LABELS : 6;
    canvas.width = Math.round((left + wide + 4) * ratio);
    canvas.height = Math.round((top + high_ + 4) * ratio);
    canvas.style.width = `${left + wide + 4}px`;
    canvas.style.height = `${top + high_ + 4}px`;
    shown.place = { top, left, cell };
    const context = canvas.getContext("2d"), style = getComputedStyle(root);
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = false;
    const image = imageOf(found, scale, high);
    const small = new OffscreenCanvas(found.columns, found.rows);
    small.getContext("2d").putImageData(image, 0, 0);
    context.drawImage(small, left, top, wide, high_);
    hatch(context, found, shown.place, style);
    if (cell >= 30 && found.tall * found.wide === 1) numbers(context, found, shown.place, scale, high);
    if (cell >= LEAST_LABEL && found.tall * found.wide === 1) {
      context.fillStyle = style.getPropertyValue("--ink");
      context.font = "13px system-ui, sans-serif";
      context.textBaseline = "middle";
      for (let row = 0; row < found.rows; row++) {
        context.textAlign = "right";
        context.fillText(clipped(labels.rows[window.top + row], 14), left - 6, top + (row + 0.5) * cell, LABELS - 8);
      }
      for (let column = 0; column < found.columns; column++) {
        context.save();
        context.translate(left + (column + 0.5) * cell, top - 6);
        context.rotate(cell >= 40 ? 0 : -Math.PI / 3);
        context.textAlign = cell >= 40 ? "center" : "left";
        context.textBaseline = cell >= 40 ? "bottom" : "middle";
        context.fillText(clipped(labels.columns[window.left + column], 14), 0, 0, cell >= 40 ? cell : LABELS - 8);
        context.restore();
      }
    }
    frame(context, style);
    const words = wordsOf(view.state.lang);
    legend.replaceChildren(`${words.legend} 0% `, h("span", { class: "scale", "aria-hidden": "true" }), ` ${percent(high)}`,
      ...(found.sums.includes(HIDDEN) ? [" · ", h("span", { class: "hatched", "aria-hidden": "true" }), ` ${words.masked}`] : []));
  }

  function frame(context, style) {
    const { found, window, place: { top, left, cell } } = shown;
    const row = view.pooled ? -1 : Math.floor((view.place.query - window.top) / found.tall);
    context.strokeStyle = style.getPropertyValue("--weight-ink");
    context.lineWidth = 2;
    if (row >= 0 && row < found.rows) {
      context.strokeRect(left - 1, top + row * cell - 1, found.columns * cell + 2, Math.max(cell, 2) + 2);
    }
    if (!cursor && view.pooled && found.rows > 1) return;
    const { row: line, column } = spot();
    if (line >= 0 && line < found.rows && column >= 0 && column < found.columns) {
      context.strokeRect(left + column * cell, top + line * cell, cell, cell);
    }
  }

  // The cell of the pointer or the arrow keys; without one, that of the chosen pair.
  function spot() {
    const { found, window } = shown;
    return cursor || { row: view.pooled ? 0 : Math.floor((view.place.query - window.top) / found.tall),
      column: Math.floor((view.key - window.left) / found.wide) };
  }

  function cellAt(event) {
    if (!shown) return null;
    const { left, top } = canvas.getBoundingClientRect(), { found, place } = shown;
    const column = Math.floor((event.clientX - left - place.left) / place.cell);
    const row = Math.floor((event.clientY - top - place.top) / place.cell);
    return row < 0 || column < 0 || row >= found.rows || column >= found.columns ? null : { row, column };
  }

  function hover(cell) {
    cursor = cell;
    draw();
    line.textContent = cell ? said(cell) : "";
    root.dispatchEvent(new CustomEvent("lit", { bubbles: true,
      detail: { key: cell ? shown.window.left + cell.column * shown.found.wide : null } }));
  }

  function said({ row, column }) {
    const { found, window } = shown, names = namesOf(view);
    const span = (labels, first, size) => (size === 1 ? labels[first]
      : `${labels[first]} … ${labels[Math.min(labels.length, first + size) - 1]}`);
    const value = found.sums[row * found.columns + column];
    return `${wordsOf(view.state.lang).query(span(names.rows, window.top + row * found.tall, found.tall))} ` +
      `${span(names.columns, window.left + column * found.wide, found.wide)}: ` +
      `${value === HIDDEN ? wordsOf(view.state.lang).masked : percent(value)}`;
  }

  function move(down, right) {
    if (!shown) return;
    const { found } = shown, start = spot();
    hover({ row: clamp(start.row + down, 0, found.rows - 1), column: clamp(start.column + right, 0, found.columns - 1) });
  }

  function pick(cell) {
    if (!cell || !shown || cell.row < 0 || cell.column < 0) return;
    const query = shown.window.top + cell.row * shown.found.tall, key = shown.window.left + cell.column * shown.found.wide;
    const place = view.pooled ? -1 : placeAt(view.data, query);
    choose(place < 0 ? { key } : { place, key });
  }

  function zoom(factor, cell = cursor) {
    const { layer } = view, window = windowOf(view), found = shown ? shown.found : { tall: 1, wide: 1 };
    const centre = cell ? { query: window.top + (cell.row + 0.5) * found.tall, key: window.left + (cell.column + 0.5) * found.wide }
      : { query: view.pooled ? layer.queries / 2 : view.place.query, key: view.key };
    const span = (size, most) => clamp(Math.round(size * factor), Math.min(8, most), most);
    const tall = span(window.bottom - window.top, layer.queries), wide = span(window.right - window.left, layer.keys);
    if (tall === layer.queries && wide === layer.keys) return look(null);
    const top = clamp(Math.round(centre.query - tall / 2), 0, layer.queries - tall);
    const left = clamp(Math.round(centre.key - wide / 2), 0, layer.keys - wide);
    return look({ top, bottom: top + tall, left, right: left + wide });
  }

  function look(window) {
    cursor = null;
    choose({ window });
  }
}

function windowOf({ layer, state }) {
  return state.window || { top: 0, bottom: layer.queries, left: 0, right: layer.keys };
}

function namesOf({ data, layer, place }) {
  const columns = data.numbered;
  if (layer.queries === 1) return { rows: [place.name], columns };
  return { rows: data.numbered_queries || columns, columns };
}

// The cells of a window, and the window that they fill.
function cropped(found, layer, window) {
  const rows = [Math.floor(window.top / found.tall), Math.ceil(window.bottom / found.tall)];
  const columns = [Math.floor(window.left / found.wide), Math.ceil(window.right / found.wide)];
  const high = rows[1] - rows[0], broad = columns[1] - columns[0];
  const part = (numbers) => Float32Array.from({ length: high * broad }, (_, i) =>
    numbers[(rows[0] + Math.floor(i / broad)) * found.columns + columns[0] + i % broad]);
  const filled = { top: rows[0] * found.tall, bottom: Math.min(rows[1] * found.tall, layer.queries),
    left: columns[0] * found.wide, right: Math.min(columns[1] * found.wide, layer.keys) };
  return [{ ...found, rows: high, columns: broad, sums: part(found.sums), most: part(found.most) }, filled];
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

function numbers(context, found, { top, left, cell }, scale, high) {
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < found.sums.length; i++) {
    const value = found.sums[i];
    if (value === HIDDEN) continue;
    const [red, green, blue] = colourOf(value, high, scale);
    context.fillStyle = 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#111" : "#fff";
    context.fillText(percent(value).replace("%", ""), left + (i % found.columns + 0.5) * cell,
      top + (Math.floor(i / found.columns) + 0.5) * cell);
  }
}

function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}
