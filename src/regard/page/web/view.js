// What is shown, computed once for all parts of the page: the chosen place, the weights of its row, the effects.
import { percent } from "./numbers.js";
import { hasMeanRow, knownOfRow, leastOfTop, maskedKeys, meanRow, rowOf } from "./weights.js";
import { wordsOf } from "./words.js";

/** The view of a state. */
export function viewOf(data, state) {
  const outcomes = data.outcomes, place = outcomes.places[state.place];
  const pooled = place.query === null;
  const usesPooling = pooled && isPooling(data, state);
  const number = usesPooling ? null : state.layer === null ? data.layers.length - 1 : state.layer;
  const layer = usesPooling ? data.pooling : data.layers[number];
  // A layer with one head has no average.
  const head = layer.heads === 1 ? 0 : state.head;
  // Whether all weights of the row are there, its largest, or none.
  const averaged = pooled && !usesPooling, row = usesPooling ? 0 : place.query;
  // Of the average of several rows no item is masked as a whole.
  const masked = averaged && layer.queries > 1 ? [] : maskedKeys(layer, head, averaged ? 0 : row);
  const there = averaged ? (hasMeanRow(layer, head) ? "all" : "") : knownOfRow(layer, head, row);
  const weights = !there ? null : averaged ? meanRow(layer, head) : rowOf(layer, head, row);
  const least = there === "largest" ? leastOfTop(layer, head, row) : null;
  const at = (rows, change) => outcomeOf(outcomes, rows, change, state.place);
  const hidden = outcomes.hidden ? data.items.map((_, key) => at(outcomes.hidden, key)) : [];
  let before = 0;
  const removed = !outcomes.removed ? [] : data.layers.map((each) => {
    const found = Array.from({ length: each.heads }, (_, i) => at(outcomes.removed, before + i));
    before += each.heads;
    return found;
  });
  const key = state.key === null ? (weights ? largest(weights) : 0) : state.key;
  return { data, state, place, pooled, usesPooling, number, layer, head, there, weights, masked, least, hidden, removed, key,
    // Whether the reader chose the key, which is else the item with the largest weight.
    isChosen: state.key !== null,
    // Of an average of rows the one whose steps are shown; null: the average.
    row: state.row, kind: outcomes.kind, form: outcomes.form, names: data.numbered };
}

function isPooling({ pooling }, { layer, head }) {
  return pooling && layer === null && head === null;
}

/** Whether the weights of a state are averages of several rows. */
export function averagesRows(data, state) {
  const { outcomes: { places }, layers } = data, layer = layers[state.layer ?? layers.length - 1];
  return places[state.place].query === null && !isPooling(data, state) && layer !== undefined && layer.queries > 1;
}

/** The view of the row of an average that is chosen, as if it were predicted from it; the same view if none is. */
export function viewOfRow(view) {
  const { layer, head, place, row } = view;
  if (row === null) return view;
  const there = knownOfRow(layer, head, row);
  return { ...view, there, pooled: false, place: { ...place, query: row }, masked: maskedKeys(layer, head, row),
    weights: there ? rowOf(layer, head, row) : null, least: there === "largest" ? leastOfTop(layer, head, row) : null };
}

/** The index of the largest number; NaN counts as 0. */
export function largest(numbers, sizes = (value) => value) {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) {
    if (orZero(sizes(numbers[i])) > orZero(sizes(numbers[best]))) best = i;
  }
  return best;
}

/** Whether the mask hides an item, so that it has no weight. */
export function isMasked({ weights, masked }, key) {
  return Boolean(masked[key]) && weights[key] === 0;
}

/** A weight in words: that the item is masked, and of a weight that isn't known what it is at most. */
export function weightText(view, key) {
  const { weights, least, layer, state: { lang } } = view;
  if (isMasked(view, key)) return wordsOf(lang).maskedItem;
  // Of a large layer whose mask follows no rule the page doesn't hold the mask.
  if (layer.mask_unknown && weights[key] === 0) return wordsOf(lang).maskedOrNone;
  if (least === null || !Number.isNaN(weights[key])) return percent(weights[key]);
  return least < 0.005 ? percent(least) : `≤ ${percent(least)}`;
}

/** The value, or 0 if it isn't finite. */
export function orZero(value) {
  return Number.isFinite(value) ? value : 0;
}

/** The largest of some numbers that are finite, and of `least`. */
export function highestOf(numbers, least) {
  return numbers.reduce((most, each) => Math.max(most, orZero(each)), least);
}

// Arcs below this weight would be hairs. As many numbers are written beside items as there are arcs, and of the same weights.
const LEAST_DRAWN = 0.02;
const MOST_DRAWN = 8;

/** Of some items those with the largest weights, which are drawn, the largest first. */
export function heaviest(weights, items, most = MOST_DRAWN) {
  return items.filter((i) => weights[i] >= LEAST_DRAWN).sort((a, b) => weights[b] - weights[a]).slice(0, most);
}

/** The size of a change; 0 if it isn't finite. */
export function changeSize(outcome) {
  return Math.abs(orZero(outcome.change));
}

/** A change of a probability or a vector below this is called little. */
export const LITTLE_CHANGE = 0.1;
// Changes have bars as long as this or longer: small ones short ones, even if there is no other.
const LONG_CHANGE = 0.5;

/** The change that has a bar of the full length, or a longer one: of a number the error of the model, if it is known. */
export function longChange({ kind, data }) {
  return kind === "numbers" ? data.outcomes.error ?? 1e-12 : LONG_CHANGE;
}

/** The size of a change whose bar has its full length. */
export function fullChange(outcomes, view) {
  return Math.max(1e-12, longChange(view), ...outcomes.map(changeSize));
}

/** The scale of bars of numbers: {full, zero}: what the longest has, `least` or more, and where they begin, as a share of it. */
export function scaleOfSigned(numbers, least = 0) {
  const known = numbers.map(orZero), low = Math.min(0, ...known), high = Math.max(0, ...known), size = high - low;
  return { full: Math.max(1e-12, least, size), zero: size ? -low / size : 0 };
}

/** The same of changes. */
export function scaleOfChanges(outcomes, view) {
  return scaleOfSigned(outcomes.map(({ change }) => change), longChange(view));
}

/** Whether the model of a record ran without a head, whose weights were computed, but not used. */
export function isRemoved({ without }, layer, head) {
  return without.some(([number, own]) => number === layer && own === head);
}

/** How many places there are. */
export function placesOf(data) {
  return data.outcomes.places.length;
}

const places = new WeakMap();

/** The number of the place that is predicted from a query; -1 if there is none. */
export function placeAt(data, query) {
  if (!places.has(data)) {
    const found = new Map();
    data.outcomes.places.forEach((each, i) => found.has(each.query) || found.set(each.query, i));
    places.set(data, found);
  }
  return places.get(data).get(query) ?? -1;
}

function outcomeOf(outcomes, rows, change, place) {
  const i = change * rows.change.shape[1] + place;
  const score = rows.score.data[i];
  return { label: outcomes.labels[rows.label.data[i]], score: Number.isNaN(score) ? null : score,
    change: rows.change.data[i], floor: rows.floor === undefined ? NaN : rows.floor.data[i],
    // Where it was measured: the size that at most 1 in 20 changes as large in random directions exceed.
    isNoise: rows.floor !== undefined && Math.abs(rows.change.data[i]) <= rows.floor.data[i] };
}
