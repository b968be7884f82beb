// All items against all items: a window of the weights, from the whole map down to single cells.
import { MOST_SHOWN } from "./answers.js";
import { scaleOf } from "./colours.js";
import { clipped, h } from "./dom.js";
import { fromOverview, highOf } from "./heads.js";
import { missingText } from "./left_out.js";
import { drawCells, drawFrame, drawLabels, drawRulers, layoutOf } from "./map_drawing.js";
import { percent } from "./numbers.js";
import { cells, cellsOfTop } from "./tiles.js";
import { placeAt } from "./view.js";
import { HIDDEN, headsOf, known } from "./weights.js";
import { nounOf, wordsOf } from "./words.js";

const CELLS = 256;
// Pairs, over all heads, that are computed at once without the page standing still.
const AT_ONCE = 2 ** 17;
// Where there is no overview, so many.
const AT_MOST = 2 ** 21;
// Pairs that a worker computes in less than a second; until then the overview is shown.
const LATER = 2 ** 23;
const FEWEST = 8;
// A pointer that moves less was meant to click.
const STILL = 5;

/**
 * The map; `tiles` computes cells away from the page's own thread, `scaled` is given the largest number that is drawn and
 * gives a function of the one that has the full colour.
 */
export function mapView(root, choose, tiles, scaled = (high) => () => high) {
  const canvas = h("canvas", { tabindex: 0, role: "img", class: "map", "data-id": "map" });
  const line = h("p", { class: "quiet line", "aria-live": "polite" });
  const note = h("p", { class: "quiet" });
  const legend = h("p", { class: "legend" });
  const button = (name, action) => h("button", { type: "button", "data-id": name, onclick: action });
  const closer = button("closer", () => zoom(0.5)), wider = button("wider", () => zoom(2));
  const whole = button("whole", () => look(null));
  const buttons = h("p", { class: "buttons" }, closer, wider, whole);
  root.append(buttons, canvas, line, legend, note);
  // cursor: a query and a key; drag: what the pointer does since it was pressed.
  let view = null, shown = null, cursor = null, drag = null, asked = 0, turned = 0, width = 0;
  new ResizeObserver(() => root.clientWidth && root.clientWidth !== width && draw()).observe(root);

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !shown || event.pointerType === "touch") return;
    drag = { x: event.clientX, y: event.clientY, window: shown.asked, from: pairAt(event), moved: false,
      pans: shown.asked !== null && view.state.window !== null && !event.shiftKey };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => (drag ? dragTo(event) : hover(pairAt(event))));
  canvas.addEventListener("pointerup", (event) => drag && drop(event));
  canvas.addEventListener("pointercancel", () => drag && stopDragging());
  canvas.addEventListener("pointerleave", () => drag || hover(null));
  canvas.addEventListener("blur", () => hover(null));
  canvas.addEventListener("click", (event) => pick(pairAt(event)));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    // A turn of the wheel is many events.
    turned += Math.sign(event.deltaY) * Math.min(100, Math.abs(event.deltaY) * (event.deltaMode ? 33 : 1));
    if (Math.abs(turned) < 80) return;
    const factor = turned > 0 ? 2 : 0.5;
    turned = 0;
    zoom(factor, pairAt(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 10 : 1;
    const moves = { ArrowUp: [-step, 0], ArrowDown: [step, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") look(null);
    else if (event.key === "Enter") pick(spot());
    else if (event.key === "Escape" && drag) stopDragging();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const update = (next) => {
    if (view && (next.layer !== view.layer || next.state.record !== view.state.record)) cursor = null;
    view = next;
    drag = null;
    const words = wordsOf(view.state.lang), { layer } = view;
    closer.textContent = words.closer;
    wider.textContent = words.wider;
    whole.textContent = words.whole;
    buttons.hidden = Math.max(layer.queries, layer.keys) <= 16;
    canvas.classList.toggle("zoomed", view.state.window !== null);
    canvas.setAttribute("aria-label", `${words.map({ noun: nounOf(view.data.noun, view.state.lang, true) })}: ${words.mapNote}`);
    lookAt(windowOf(view), true);
  };
  /** Draw the same again, on a scale that has changed. */
  update.redraw = draw;
  /** Show a pair that the pointer is on elsewhere. */
  update.point = (pair) => pointAt(pair);
  return update;

  // Show a window: at once what is there, and single pairs when a worker has computed them, if it may.
  function lookAt(window, later) {
    const { layer, head } = view, there = known(layer, head), heads = headsOf(layer, head);
    const size = [window.bottom - window.top, window.right - window.left], pairs = heads.length * size[0] * size[1];
    const number = ++asked;
    if (there === "all" && (pairs <= AT_ONCE || !layer.overview && pairs <= AT_MOST)) {
      show(cells(layer, heads, window, CELLS, CELLS), window, window, "all");
    } else if (there === "largest" && Math.max(...size) <= CELLS) {
      show(cellsOfTop(layer, head, window, CELLS, CELLS), window, window, "largest");
    } else if (layer.overview) {
      const [found, aligned] = cropped(overviewOf(layer, head), window, layer);
      show(found, aligned, window, "overview");
      if (there === "all" && pairs <= LATER && later) {
        tiles(view.number, heads, window, CELLS).then((exact) => number === asked && show(exact, window, window, "all"));
      }
    } else {
      shown = null;
      canvas.hidden = true;
      note.textContent = missingText(view);
      legend.replaceChildren();
      line.textContent = "";
    }
  }

  function show(found, window, wanted, kind) {
    canvas.hidden = false;
    shown = { found, window, asked: wanted, high: scaled(highOf(found)) };
    const { tall, wide } = found, words = wordsOf(view.state.lang), said = [];
    if (tall * wide > 1) said.push(words.joined({ tall, wide }));
    if (kind === "overview" && view.layer.rows_taken < tall) said.push(words.taken({ rows: view.layer.rows_taken, tall }));
    if (kind === "largest") said.push(words.largestOnly);
    note.textContent = said.join(" ");
    draw();
  }

  function draw() {
    if (!shown) return;
    const { found, window } = shown, high = shown.high(), scale = scaleOf(root), style = getComputedStyle(root);
    width = root.clientWidth;
    const place = shown.place = layoutOf(found, width);
    const ratio = globalThis.devicePixelRatio || 1;
    canvas.width = Math.round(place.width * ratio);
    canvas.height = Math.round(place.height * ratio);
    canvas.style.width = `${place.width}px`;
    canvas.style.height = `${place.height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const dots = drawCells(context, found, place, scale, high, style);
    if (place.labels) drawLabels(context, found, window, place, namesOf(view), style);
    else drawRulers(context, found, window, place, view.layer, style);
    drawFrame(context, found, window, place, row(), cursor || row() >= 0 ? spot() : null, style);
    if (drag?.moved && !drag.pans) drawBrush(context, style);
    const words = wordsOf(view.state.lang);
    legend.replaceChildren(`${words.legend} 0% `, h("span", { class: "scale", "aria-hidden": "true" }), ` ${percent(high)}`,
      ...(found.sums.includes(HIDDEN) ? [" · ", h("span", { class: "hatched", "aria-hidden": "true" }), ` ${words.masked}`] : []),
      ...(dots ? [" · ", h("span", { class: "dot", "aria-hidden": "true" }), ` ${words.dot({ share: percent(dots) })}`] : []));
  }

  // The query of the chosen item, if it has a row.
  function row() {
    return view.layer.queries === 1 ? 0 : view.pooled ? -1 : view.place.query;
  }

  // The pair of the pointer or the arrow keys; without one, the chosen pair.
  function spot() {
    return cursor || { query: Math.max(0, row()), key: view.key };
  }

  function drawBrush(context, style) {
    const box = canvas.getBoundingClientRect();
    context.strokeStyle = style.getPropertyValue("--ink");
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.strokeRect(drag.x - box.left, drag.y - box.top, drag.toX - drag.x, drag.toY - drag.y);
    context.setLineDash([]);
  }

  // The query and the key under the pointer; `inside`: the nearest ones, if it is outside of the map.
  function pairAt(event, inside = false) {
    if (!shown) return null;
    const { left, top } = canvas.getBoundingClientRect(), { found, window, place } = shown;
    let column = Math.floor((event.clientX - left - place.left) / place.cell);
    let row = Math.floor((event.clientY - top - place.top) / place.cell);
    if (inside) [row, column] = [clamp(row, 0, found.rows - 1), clamp(column, 0, found.columns - 1)];
    if (row < 0 || column < 0 || row >= found.rows || column >= found.columns) return null;
    return { query: window.top + row * found.tall, key: window.left + column * found.wide };
  }

  function dragTo(event) {
    Object.assign(drag, { toX: event.clientX, toY: event.clientY });
    const right = event.clientX - drag.x, down = event.clientY - drag.y;
    drag.moved ||= Math.max(Math.abs(right), Math.abs(down)) >= STILL;
    if (!drag.moved) return;
    cursor = null;
    if (!drag.pans) return draw();
    const { found, place } = shown;
    drag.to = shifted(drag.window, -down / place.cell * found.tall, -right / place.cell * found.wide, view.layer);
    lookAt(drag.to, false);
  }

  function drop(event) {
    const { moved, pans, to, from } = drag;
    if (moved && !pans) {
      const last = pairAt(event, true), { found } = shown;
      stopDragging();
      if (!from) return;
      const rows = widenedTo(Math.min(from.query, last.query), Math.max(from.query, last.query) + found.tall, view.layer.queries);
      const columns = widenedTo(Math.min(from.key, last.key), Math.max(from.key, last.key) + found.wide, view.layer.keys);
      look({ top: rows[0], bottom: rows[1], left: columns[0], right: columns[1] });
    } else if (moved) {
      drag = null;
      look(to);
    } else drag = null;
    // The click that ends a drag chooses nothing.
    if (moved) canvas.addEventListener("click", (click) => click.stopImmediatePropagation(), { once: true, capture: true });
  }

  function stopDragging() {
    const { window, pans } = drag;
    drag = null;
    if (pans) lookAt(window, true);
    else draw();
  }

  function pointAt(pair) {
    cursor = pair;
    draw();
    line.textContent = pair && shown ? said(pair) : "";
  }

  function hover(pair) {
    pointAt(pair);
    root.dispatchEvent(new CustomEvent("lit", { bubbles: true, detail: { key: pair ? pair.key : null, pair } }));
  }

  function said({ query, key }) {
    const { found, window } = shown, names = namesOf(view), words = wordsOf(view.state.lang);
    const named = (labels, i) => clipped(labels[i], MOST_SHOWN);
    const span = (labels, first, size) => (size === 1 ? named(labels, first)
      : `${named(labels, first)} … ${named(labels, Math.min(labels.length, first + size) - 1)}`);
    const cell = Math.floor((query - window.top) / found.tall) * found.columns + Math.floor((key - window.left) / found.wide);
    const value = found.sums[cell], single = found.tall * found.wide === 1;
    return `${words.query({ name: span(names.rows, query, found.tall) })} ${span(names.columns, key, found.wide)}: ` +
      `${value === HIDDEN ? words.masked : percent(value)}` +
      `${single || value === HIDDEN ? "" : `, ${words.largestOne({ share: percent(found.most[cell]) })}`}`;
  }

  // By cells; beyond the edge of the window the window goes along.
  function move(down, right) {
    if (!shown) return;
    const { found, window } = shown, { layer } = view, start = spot();
    const query = clamp(start.query + down * found.tall, 0, layer.queries - 1);
    const key = clamp(start.key + right * found.wide, 0, layer.keys - 1);
    const beyond = (at, first, last) => (at < first ? at - first : at >= last ? at - last + 1 : 0);
    const [below, beside] = [beyond(query, window.top, window.bottom), beyond(key, window.left, window.right)];
    cursor = { query, key };
    if ((below || beside) && view.state.window) choose({ window: shifted(view.state.window, below, beside, layer) });
    // The cell that the pair is in.
    const { top, left } = shown.window, { tall, wide } = shown.found;
    hover({ query: top + Math.floor((query - top) / tall) * tall, key: left + Math.floor((key - left) / wide) * wide });
  }

  function pick(pair) {
    if (!pair || !shown) return;
    const place = view.pooled ? -1 : placeAt(view.data, pair.query);
    choose(place < 0 ? { key: pair.key } : { place, key: pair.key });
  }

  function zoom(factor, pair = cursor) {
    const { layer } = view, window = windowOf(view), found = shown ? shown.found : { tall: 1, wide: 1 };
    const centre = pair ? { query: pair.query + found.tall / 2, key: pair.key + found.wide / 2 }
      : { query: view.pooled ? layer.queries / 2 : view.place.query, key: view.key };
    const span = (size, most) => clamp(Math.round(size * factor), Math.min(FEWEST, most), most);
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

function shifted({ top, bottom, left, right }, down, beside, { queries, keys }) {
  const rows = clamp(Math.round(down), -top, queries - bottom), columns = clamp(Math.round(beside), -left, keys - right);
  return { top: top + rows, bottom: bottom + rows, left: left + columns, right: right + columns };
}

// From first to last, or a few more.
function widenedTo(first, last, count) {
  const more = Math.max(0, Math.min(FEWEST, count) - (Math.min(last, count) - first));
  const from = clamp(first - Math.floor(more / 2), 0, count);
  return [from, Math.min(count, Math.max(last + Math.ceil(more / 2), from + Math.min(FEWEST, count)))];
}

function namesOf({ data, layer, place }) {
  const columns = data.numbered;
  if (layer.queries === 1) return { rows: [place.name], columns };
  return { rows: data.numbered_queries || columns, columns };
}

let last = { layer: null, head: null, found: null };

// While a window is moved, the cells stay the same.
function overviewOf(layer, head) {
  if (last.layer !== layer || last.head !== head) last = { layer, head, found: fromOverview(layer, head) };
  return last.found;
}

/** The cells of the overview that a window touches, and the window that they fill. */
export function cropped(found, window, { queries, keys }) {
  const { tall, wide } = found;
  const rows = [Math.floor(window.top / tall), Math.ceil(window.bottom / tall)];
  const columns = [Math.floor(window.left / wide), Math.ceil(window.right / wide)];
  const high = rows[1] - rows[0], broad = columns[1] - columns[0];
  const part = (numbers) => Float64Array.from({ length: high * broad }, (_, i) =>
    numbers[(rows[0] + Math.floor(i / broad)) * found.columns + columns[0] + i % broad]);
  return [{ ...found, rows: high, columns: broad, sums: part(found.sums), most: part(found.most) },
    { top: rows[0] * tall, bottom: Math.min(queries, rows[1] * tall), left: columns[0] * wide,
      right: Math.min(keys, columns[1] * wide) }];
}

function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}
