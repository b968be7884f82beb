// A map of queries against keys, cell by cell: of weights, or of what a source of cells gives instead.
import { MOST_SHOWN } from "./answers.js";
import { sized } from "./canvas.js";
import { swatch } from "./colours.js";
import { clipped, h } from "./dom.js";
import { windowControls, windowOf } from "./map_window.js";
import { drawCells, drawFrame, drawLabels, drawRulers, layoutOf } from "./map_drawing.js";
import { clamp, percent } from "./numbers.js";
import { arrowOf, isModified } from "./shell.js";
import { wholeOf } from "./tiles.js";
import { placeAt } from "./view.js";
import { HIDDEN } from "./weights.js";
import { wordsOf } from "./words.js";

/**
 * The map of a source. What the pointer is on is told by an event, "lit", as a pair: {query, key}.
 *
 * source:
 *   name, zooms: the map's name, and whether one can look closer;
 *   title(view): what the map shows;
 *   look(view, window, later, show): calls `show` with {found, window, most, notes}: cells, as `tiles.js` makes them, where
 *     they are, the largest number that is drawn, and sentences; without cells the sentences say why. It may call it again,
 *     with more exact cells, if `later`;
 *   scaled(most): a function of the number that has the full colour;
 *   palette(root, high): how cells are coloured and written, as `drawCells` takes it;
 *   names(view, window): those of the rows and columns;
 *   said(words, found, cell): the number of a cell in words;
 *   legend(words, high, found, view): the beginning of the legend.
 * A window has a `list` if its rows and columns aren't those of a record, but pairs of two.
 */
export function mapView(root, choose, source) {
  const canvas = h("canvas", { tabindex: 0, role: "img", class: "map", "data-id": source.name });
  const line = h("p", { class: "quiet line", "aria-live": "polite" });
  const legend = h("p", { class: "legend" }), note = h("p", { class: "quiet" });
  // cursor: the query and the key, in the terms of the window, that the pointer or the arrow keys are on.
  let view = null, shown = null, cursor = null, asked = 0, width = 0;
  const controls = source.zooms ? windowControls(canvas, choose, {
    lookAt, draw, cellAt,
    forget: () => (cursor = null),
    now: () => ({ view, shown, cursor }),
  }) : null;
  root.append(...(controls ? [controls.buttons] : []), canvas, line, legend, note);
  new ResizeObserver(() => root.clientWidth && root.clientWidth !== width && draw()).observe(root);

  canvas.addEventListener("pointermove", (event) => controls?.drags() || hover(cellAt(event)));
  canvas.addEventListener("pointerleave", () => controls?.drags() || hover(null));
  canvas.addEventListener("blur", () => hover(null));
  canvas.addEventListener("click", (event) => pick(cellAt(event)));
  canvas.addEventListener("keydown", (event) => {
    if (isModified(event)) return;
    const by = arrowOf(event);
    if (by) move(...by.map((each) => each * (event.shiftKey ? 10 : 1)));
    else if (event.key === "Enter") pick(shown && spot());
    else if (!controls?.pressed(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  });

  const update = (next) => {
    if (view && (next.layer !== view.layer || next.state.record !== view.state.record)) cursor = null;
    view = next;
    canvas.setAttribute("aria-label", `${source.title(view)}: ${wordsOf(view.state.lang).mapNote}`);
    controls?.update();
    lookAt(windowOf(view), true);
  };
  /** Draw the same again, on a scale that has changed. */
  update.redraw = draw;
  /** Show a pair that the pointer is on elsewhere: numbers of a record; null: none. */
  update.point = (pair, side = 0) => pointAt(pair && shown && cellOf(pair, side));
  return update;

  function lookAt(window, later) {
    const number = ++asked;
    source.look(view, window, later, (next) => number === asked && show({ ...next, asked: window }));
  }

  function show(next) {
    shown = next.found ? { ...next, high: source.scaled(next.most) } : null;
    canvas.hidden = legend.hidden = !shown;
    note.textContent = next.notes.join(" ");
    pointAt(shown && cursor);
  }

  function draw() {
    if (!shown) return;
    const { found, window } = shown, high = shown.high(), style = getComputedStyle(root), words = wordsOf(view.state.lang);
    width = root.clientWidth;
    const place = shown.place = layoutOf(found, width), context = sized(canvas, place.width, place.height);
    const dots = drawCells(context, found, place, source.palette(root, high), style);
    if (place.labels) drawLabels(context, found, window, place, source.names(view, window), style);
    else if (!window.list) drawRulers(context, found, window, place, source.names(view, window), view.layer, style);
    drawFrame(context, found, window, place, row(), cursor || row() >= 0 ? spot() : null, style);
    controls?.drawBrush(context, style);
    legend.replaceChildren(...source.legend(words, high, found, view),
      ...(found.sums.includes(HIDDEN) ? [" · ", swatch("hatched"), ` ${words.masked}`] : []),
      ...(dots ? [" · ", swatch("dot"), ` ${words.dot({ share: percent(dots) })}`] : []));
  }

  // The row of the chosen item, if it has one; of an average the one whose steps are shown.
  function row() {
    if (view.layer.queries === 1) return 0;
    const own = view.pooled ? view.row : view.place.query;
    return own === null ? -1 : numberOf(own, "rows", 0);
  }

  // The cell of the pointer or the arrow keys; without one, that of the chosen pair.
  function spot() {
    const found = start();
    return found.key < 0 ? null : found;
  }

  // Where the arrow keys start from; the key is -1, and so before the first one, if none is chosen.
  function start() {
    return cursor ?? { query: Math.max(0, row()), key: numberOf(view.key, "columns", 0) };
  }

  // Where an item of a record is, in the terms of the window; -1: it isn't.
  function numberOf(item, kind, side) {
    const { list } = shown.window;
    return list ? list[kind].findIndex((pair) => pair[side] === item) : item;
  }

  function cellOf({ query, key }, side) {
    const found = { query: view.layer.queries === 1 ? 0 : numberOf(query, "rows", side), key: numberOf(key, "columns", side) };
    return found.query < 0 || found.key < 0 ? null : found;
  }

  // The pair of the first record.
  function pairOf(cell) {
    const { list } = shown.window;
    return list ? { query: list.rows[cell.query][0], key: list.columns[cell.key][0] } : cell;
  }

  // The query and the key under the pointer; `inside`: the nearest ones, if it is outside of the map.
  function cellAt(event, inside = false) {
    if (!shown) return null;
    const { left, top } = canvas.getBoundingClientRect(), { found, window, place } = shown;
    let column = Math.floor((event.clientX - left - place.left) / place.cell);
    let row = Math.floor((event.clientY - top - place.top) / place.cell);
    if (inside) [row, column] = [clamp(row, 0, found.rows - 1), clamp(column, 0, found.columns - 1)];
    if (row < 0 || column < 0 || row >= found.rows || column >= found.columns) return null;
    return { query: window.top + row * found.tall, key: window.left + column * found.wide };
  }

  function pointAt(cell) {
    cursor = cell;
    draw();
    line.textContent = cell && shown ? said(cell) : "";
  }

  function hover(cell) {
    if (cell && cell.query === cursor?.query && cell.key === cursor.key) return;
    pointAt(cell);
    const pair = cell && shown && pairOf(cell);
    root.dispatchEvent(new CustomEvent("lit", { bubbles: true, detail: { key: pair ? pair.key : null, pair } }));
  }

  function said({ query, key }) {
    const { found, window } = shown, names = source.names(view, window), words = wordsOf(view.state.lang);
    const row = Math.floor((query - window.top) / found.tall), column = Math.floor((key - window.left) / found.wide);
    if (row < 0 || row >= found.rows || column < 0 || column >= found.columns) return "";
    const named = (labels, i) => clipped(labels[i], MOST_SHOWN);
    const span = (labels, first, size, last) => (size === 1 ? named(labels, first)
      : `${named(labels, first)} … ${named(labels, Math.min(last, first + size) - 1)}`);
    const cell = row * found.columns + column;
    return `${words.query({ name: span(names.rows, query, found.tall, window.bottom) })} ` +
      `${span(names.columns, key, found.wide, window.right)}: ` +
      `${found.sums[cell] === HIDDEN ? words.masked : source.said(words, found, cell)}`;
  }

  // By cells, within the map; beyond the edge of a window the window goes along.
  function move(down, right) {
    if (!shown) return;
    const { top, bottom, left, right: end } = controls ? wholeOf(view.layer) : shown.window, from = start();
    const query = clamp(from.query + down * shown.found.tall, top, bottom - 1);
    const key = clamp(from.key + right * shown.found.wide, left, end - 1);
    cursor = { query, key };
    controls?.follow(query, key);
    // The cell that the pair is in.
    const { window, found: { tall, wide } } = shown;
    cursor = null;
    hover({ query: window.top + Math.floor((query - window.top) / tall) * tall, key: window.left + Math.floor((key - window.left) / wide) * wide });
  }

  function pick(cell) {
    if (!cell || !shown) return;
    const { query, key } = pairOf(cell), place = view.pooled ? -1 : placeAt(view.data, query);
    // What is averaged over rows keeps its answer, and shows the steps of one row.
    choose(place >= 0 ? { place, key } : view.pooled && !view.usesPooling && view.layer.queries > 1 ? { key, row: query } : { key });
  }
}
