// The difference of two maps, cell by cell: purple where a weight is smaller in B, green where it is larger.
import { colourNamed } from "./colours.js";
import { h } from "./dom.js";
import { fromOverview } from "./heads.js";
import { cropped } from "./map.js";
import { drawFrame, drawLabels, drawRulers, layoutOf } from "./map_drawing.js";
import { percent } from "./numbers.js";
import { signedPercent } from "./sides.js";
import { cells } from "./tiles.js";
import { HIDDEN, headsOf, isAllowed, known, rowOf, sharedMask } from "./weights.js";
import { wordsOf } from "./words.js";

const MOST_CELLS = 256;
// A number with its sign needs more room than one without.
const LEAST_NUMBERED = 34;
// Weights, over all heads of both, that are computed at once without the page standing still; and by a worker.
const PAIRS_AT_ONCE = 2 ** 18;
const PAIRS_LATER = 2 ** 24;

/** The map of differences; `tiles` computes cells away from the page's own thread. `pointed` is told of the pair. */
export function differenceMap(root, choose, pairs, tiles, pointed) {
  const canvas = h("canvas", { tabindex: 0, role: "img", class: "map", "data-id": "difference" });
  const line = h("p", { class: "quiet line", "aria-live": "polite" });
  const legend = h("p", { class: "legend" }), note = h("p", { class: "quiet" });
  root.append(canvas, line, legend, note);
  // What is drawn, with the pairs of its rows and columns; and the row and column under the pointer.
  let view = null, shown = null, cursor = null, asked = 0, width = 0;

  new ResizeObserver(() => root.clientWidth && root.clientWidth !== width && shown && paintAll()).observe(root);
  canvas.addEventListener("pointermove", (event) => hover(cellAt(event)));
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("blur", () => hover(null));
  canvas.addEventListener("click", (event) => pick(cellAt(event)));
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key in moves && shown) move(...moves[event.key]);
    else if (event.key === "Enter") pick(spot());
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const update = (next) => {
    view = next;
    cursor = null;
    const words = wordsOf(view.state.lang);
    canvas.setAttribute("aria-label", `${words.differenceMap}: ${words.mapNote}`);
    lookAt();
  };
  /** Show the cell of a pair that the pointer is on elsewhere: numbers of a record; null: none. */
  update.point = (side, pair) => {
    cursor = pair && shown ? cellOf(side, pair) : null;
    tell();
  };
  return update;

  function lookAt() {
    const words = wordsOf(view.state.lang), number = ++asked;
    const found = view.both.some((each) => each.absent === "layer") ? null : pairs.same ? aligned(number) : gathered();
    if (typeof found === "string" || !found) {
      shown = null;
      canvas.hidden = legend.hidden = true;
      line.textContent = "";
      note.textContent = found || words.noDifference;
      return;
    }
    show(found);
  }

  // Both have the same items: the windows of both maps, whose cells join the same pairs.
  function aligned(number) {
    const { both, state } = view, [{ layer }] = both, [a, b] = both.map((each) => each.layer);
    if (a.queries !== b.queries || a.keys !== b.keys) return null;
    const window = both[state.record].state.window || { top: 0, bottom: layer.queries, left: 0, right: layer.keys };
    const heads = both.map((each) => headsOf(each.layer, each.head)), exact = both.every((each) => known(each.layer, each.head) === "all");
    const size = (heads[0].length + heads[1].length) * (window.bottom - window.top) * (window.right - window.left);
    const shownWindow = { ...window, rows: (row) => row, columns: (column) => column };
    if (exact && (size <= PAIRS_AT_ONCE || both.some((each) => !each.layer.overview && size <= PAIRS_LATER))) {
      return differ(both.map((each, i) => cells(each.layer, heads[i], window, MOST_CELLS, MOST_CELLS)), shownWindow);
    }
    if (exact && size <= PAIRS_LATER) {
      Promise.all(both.map((each, side) => tiles(side, each.number, heads[side], window, MOST_CELLS)))
        .then((found) => number === asked && show(differ(found, shownWindow)));
    }
    if (!both.every((each) => each.layer.overview)) return wordsOf(state.lang).tooLittle;
    const found = both.map((each) => cropped(fromOverview(each.layer, each.head), window, each.layer));
    return differ(found.map(([each]) => each), { ...shownWindow, ...found[0][1] });
  }

  // Both have other items: those in the window of the first map that have a partner, single pairs only.
  function gathered() {
    const { both, state } = view, words = wordsOf(state.lang);
    const { window } = both[0].state, inside = (number, from, to) => !window || number >= window[from] && number < window[to];
    const complete = (list, from, to) => list.filter((pair) => !pair.includes(null) && inside(pair[0], from, to));
    const pooled = both.every((each) => each.layer.queries === 1);
    const rows = pooled ? [[0, 0]] : complete(pairs.pairs.queries, "top", "bottom");
    const columns = complete(pairs.pairs.items, "left", "right");
    if (!rows.length || !columns.length || both.some((each) => (each.layer.queries === 1) !== pooled)) return null;
    if (Math.max(rows.length, columns.length) > MOST_CELLS) return words.tooMany({ most: MOST_CELLS });
    if (both.some((each) => known(each.layer, each.head) !== "all")) return words.tooLittle;
    const found = both.map((each, side) => {
      const sums = new Float64Array(rows.length * columns.length), part = { mask: sharedMask(each.layer, each.head), keys: each.layer.keys };
      rows.forEach((row, i) => {
        const weights = rowOf(each.layer, each.head, row[side]);
        columns.forEach((column, j) => {
          sums[i * columns.length + j] = isAllowed(part, row[side], column[side]) ? weights[column[side]] : HIDDEN;
        });
      });
      return { rows: rows.length, columns: columns.length, tall: 1, wide: 1, sums };
    });
    return differ(found, { top: 0, left: 0, bottom: rows.length, right: columns.length, list: { rows, columns } });
  }

  function differ([a, b], window) {
    const sums = a.sums.map((each, i) => (each === HIDDEN && b.sums[i] === HIDDEN ? HIDDEN : zeroed(b.sums[i]) - zeroed(each)));
    return { found: { ...a, sums, both: [a.sums, b.sums] }, window, high: sums.reduce((high, each) => (Number.isFinite(each) ? Math.max(high, Math.abs(each)) : high), 1e-9) };
  }

  function show(next) {
    shown = next;
    canvas.hidden = legend.hidden = false;
    const { tall, wide } = next.found;
    note.textContent = tall * wide > 1 ? wordsOf(view.state.lang).joined({ tall, wide }) : "";
    paintAll();
    tell();
  }

  function paintAll() {
    const { found, window, high } = shown, style = getComputedStyle(root), words = wordsOf(view.state.lang);
    width = root.clientWidth;
    const place = shown.place = layoutOf(found, width), ratio = globalThis.devicePixelRatio || 1;
    canvas.width = Math.round(place.width * ratio);
    canvas.height = Math.round(place.height * ratio);
    canvas.style.width = `${place.width}px`;
    canvas.style.height = `${place.height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    drawDifferences(context, shown, divergingScale(root));
    const [{ layer }] = view.both;
    if (place.labels) drawLabels(context, found, window, place, namesOf(window), style);
    else if (!window.list) drawRulers(context, found, window, place, layer, style);
    drawFrame(context, found, window, place, chosenRow(), spot(), style);
    legend.replaceChildren(`${words.bMinusA} −${percent(high)} `, h("span", { class: "scale diverging", "aria-hidden": "true" }),
      ` +${percent(high)} · `, h("span", { class: "patch less", "aria-hidden": "true" }), ` ${words.smallerInB} · `,
      h("span", { class: "patch more", "aria-hidden": "true" }), ` ${words.largerInB}`,
      ...(found.sums.includes(HIDDEN) ? [" · ", h("span", { class: "hatched", "aria-hidden": "true" }), ` ${words.masked}`] : []));
  }

  // The name of a row or a column, by its number in the window's terms.
  function nameOf(window, kind, i) {
    if (kind === "queries" && view.both[0].layer.queries === 1) return view.both[0].place.name;
    const list = (kind === "queries" ? window.list?.rows : window.list?.columns) ?? pairs.pairs[kind];
    return pairs.namesOf(list[i], kind).join(" / ");
  }

  // Those of the rows and columns in the window.
  function namesOf(window) {
    const rows = [], columns = [];
    for (let i = window.top; i < window.bottom; i++) rows[i] = nameOf(window, "queries", i);
    for (let i = window.left; i < window.right; i++) columns[i] = nameOf(window, "items", i);
    return { rows, columns };
  }

  // The numbers of a row and a column in the window's terms of a pair of a record.
  function cellOf(side, { query, key }) {
    const { list } = shown.window;
    if (!list) return { query, key };
    const row = view.both[side].layer.queries === 1 ? 0 : list.rows.findIndex((pair) => pair[side] === query);
    const column = list.columns.findIndex((pair) => pair[side] === key);
    return row < 0 || column < 0 ? null : { query: row, key: column };
  }

  function pairOf({ query, key }) {
    const { list } = shown.window;
    return list ? { query: list.rows[query][0], key: list.columns[key][0] } : { query, key };
  }

  function chosenRow() {
    const { both } = view;
    if (both[0].layer.queries === 1) return 0;
    return both[0].pooled || both[0].absent ? -1 : cellOf(0, { query: both[0].place.query, key: both[0].key })?.query ?? rowOnly(both[0].place.query);
  }

  function rowOnly(query) {
    return shown.window.list.rows.findIndex((pair) => pair[0] === query);
  }

  function spot() {
    if (cursor) return cursor;
    const row = chosenRow(), { list } = shown.window, key = view.both[0].key;
    const column = list ? list.columns.findIndex((pair) => pair[0] === key) : key;
    return row < 0 || column < 0 ? null : { query: row, key: column };
  }

  function cellAt(event) {
    if (!shown) return null;
    const { left, top } = canvas.getBoundingClientRect(), { found, window, place } = shown;
    const column = Math.floor((event.clientX - left - place.left) / place.cell);
    const row = Math.floor((event.clientY - top - place.top) / place.cell);
    if (row < 0 || column < 0 || row >= found.rows || column >= found.columns) return null;
    return { query: window.top + row * found.tall, key: window.left + column * found.wide };
  }

  function hover(cell) {
    if (cell?.query === cursor?.query && cell?.key === cursor?.key) return;
    cursor = cell;
    tell();
    pointed(cell && shown ? pairOf(cell) : null);
  }

  function tell() {
    if (!shown) return;
    paintAll();
    line.textContent = cursor ? said(cursor) : "";
  }

  function said({ query, key }) {
    const { found, window } = shown, words = wordsOf(view.state.lang);
    const span = (kind, first, size, last) => (size === 1 ? nameOf(window, kind, first)
      : `${nameOf(window, kind, first)} … ${nameOf(window, kind, Math.min(last, first + size) - 1)}`);
    const cell = Math.floor((query - window.top) / found.tall) * found.columns + Math.floor((key - window.left) / found.wide);
    const name = `${words.query({ name: span("queries", query, found.tall, window.bottom) })} ` +
      `${span("items", key, found.wide, window.right)}: `;
    if (!(cell in found.sums)) return "";
    if (found.sums[cell] === HIDDEN) return name + words.masked;
    const [one, other] = found.both.map((each) => percent(zeroed(each[cell])));
    return name + words.inBoth({ one, other, gap: signedPercent(found.sums[cell]) });
  }

  function move(down, right) {
    const { found, window } = shown, start = spot() ?? { query: window.top, key: window.left };
    const within = (at, first, size, count, by) => first + Math.max(0, Math.min(count - 1, Math.floor((at - first) / size) + by)) * size;
    hover({ query: within(start.query, window.top, found.tall, found.rows, down), key: within(start.key, window.left, found.wide, found.columns, right) });
  }

  function pick(cell) {
    if (cell) choose(pairOf(cell));
  }
}

function zeroed(value) {
  return value === HIDDEN ? 0 : value;
}

/** The three colours of a difference, and those of what has none. */
function divergingScale(element) {
  const read = (name) => colourNamed(element, name);
  return { less: read("--less"), middle: read("--weight-low"), more: read("--more"), masked: read("--masked"), broken: read("--broken") };
}

/** The colour of a difference: along a straight line from the middle to one of the ends. */
export function colourOfDifference(value, high, { less, middle, more, masked, broken }) {
  if (value === HIDDEN) return masked;
  if (Number.isNaN(value)) return broken;
  const share = Math.min(1, Math.abs(value) / high), end = value < 0 ? less : more;
  return middle.map((each, i) => Math.round(each + share * (end[i] - each)));
}

function drawDifferences(context, { found, high, place: { top, left, cell } }, scale) {
  const bytes = new Uint8ClampedArray(4 * found.sums.length);
  found.sums.forEach((each, i) => bytes.set([...colourOfDifference(each, high, scale), 255], 4 * i));
  const small = new OffscreenCanvas(found.columns, found.rows);
  small.getContext("2d").putImageData(new ImageData(bytes, found.columns, found.rows), 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, left, top, found.columns * cell, found.rows * cell);
  if (cell < LEAST_NUMBERED || found.tall * found.wide > 1) return;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  found.sums.forEach((each, i) => {
    if (each === HIDDEN) return;
    const [red, green, blue] = colourOfDifference(each, high, scale);
    context.fillStyle = 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#111" : "#fff";
    context.fillText(signedPercent(each).replace("%", ""), left + (i % found.columns + 0.5) * cell, top + (Math.floor(i / found.columns) + 0.5) * cell);
  });
}
