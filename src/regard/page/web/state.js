// What is shown, as the part of the address after #, so that a view can be linked.
import { partsOfHash } from "./address.js";
import { averagesRows, placesOf } from "./view.js";

const ADDRESSED = ["record", "place", "layer", "head", "key"];
// What is always one of several; the others may be left open.
const CHOSEN = ["record", "place"];
// What another record is shown by, too.
const OF_OTHERS = ["layer", "head", "lang", "keys"];

/** The view that a page begins with. */
export function firstState(all, lang) {
  const { layer, head, place } = all.shown;
  return { record: 0, place, layer, head, key: null, row: null, window: null, lang, keys: true };
}

/** The view that an address names, within what the records have; what it doesn't name is as in `first`. */
export function readState(hash, first, records) {
  const found = { ...first };
  for (const [name, value] of partsOfHash(hash)) {
    if (name === "lang" && (value === "en" || value === "zh")) found.lang = value;
    if (name === "keys") found.keys = value !== "off";
    if (name === "map") found.window = windowFrom(value);
    if (name === "row" && isNumber(value)) found.row = Number(value) - 1;
    if (!ADDRESSED.includes(name)) continue;
    if (value === "all" && !CHOSEN.includes(name)) found[name] = null;
    else if (isNumber(value)) found[name] = Number(value) - 1;
  }
  return within(found, records);
}

/** A view after a change. */
export function changed(state, change, records) {
  const found = { ...state, ...change };
  if (found.record !== state.record) Object.assign(found, { place: null, key: null, window: null });
  // Another layer may have other sizes.
  if (found.layer !== state.layer) found.window = null;
  if ("window" in change) found.window = change.window;
  return within(withoutRow(found, change), records);
}

/** A state whose row, that of an average of all, isn't chosen any more where a change is of something else. */
export function withoutRow(state, change) {
  return "row" in change || !ADDRESSED.some((name) => name in change) ? state : { ...state, row: null };
}

/** The view with everything that isn't there replaced by what is shown first. */
export function within(state, records) {
  const found = { ...state };
  if (found.record >= records.length) found.record = 0;
  const data = records[found.record], { layers } = data, keys = data.items.length;
  if (found.place === null || found.place >= placesOf(data)) found.place = data.outcomes.chosen;
  if (found.layer !== null && found.layer >= layers.length) found.layer = null;
  const layer = layers[found.layer === null ? layers.length - 1 : found.layer];
  if (found.head !== null && (!layer || found.head >= layer.heads)) found.head = null;
  if (found.key !== null && found.key >= keys) found.key = null;
  const { window } = found, queries = layer ? layer.queries : 1;
  if (found.row !== null && (found.key === null || found.row >= queries || !averagesRows(data, found))) found.row = null;
  if (window && (window.bottom > queries || window.right > keys)) found.window = null;
  return found;
}

// Whether a value of an address is a number of something.
function isNumber(value) {
  return /^\d+$/.test(value || "") && Number(value) >= 1;
}

function windowFrom(text) {
  const found = /^(\d+)-(\d+),(\d+)-(\d+)$/.exec(text || "");
  if (!found) return null;
  const [first, last, left, right] = found.slice(1).map(Number);
  return first >= 1 && left >= 1 && first <= last && left <= right ? { top: first - 1, bottom: last, left: left - 1, right } : null;
}

/** The address of a view. Numbers count from 1, as they do on the page. */
export function hashOf(state) {
  const parts = ADDRESSED.map((name) => `${name}=${state[name] === null ? "all" : state[name] + 1}`);
  const { row, window } = state;
  if (row !== null) parts.push(`row=${row + 1}`);
  if (window) parts.push(`map=${window.top + 1}-${window.bottom},${window.left + 1}-${window.right}`);
  // A reader who speaks to the computer, say, may not want single letters to do something.
  return `#${parts.join("&")}&lang=${state.lang}${state.keys ? "" : "&keys=off"}`;
}

/** The address under which another record is shown as this one is: its layer and head, and not its items. */
export function hashForOthers(hash) {
  return `#${partsOfHash(hash).filter(([name]) => OF_OTHERS.includes(name)).map((part) => part.join("=")).join("&")}`;
}
