// Whether attention is about equal, and scales on which equal weights are half of the full colour or bar at most; as in Python's `uniform.py` and `scale.py`.
import { percent } from "./numbers.js";
import { highestOf, orZero } from "./view.js";
import { allowedKeys } from "./weights.js";

// Weights are about equal if they are spread over at least 95 % of their items, by the exponential of their entropy.
const EVEN_SPREAD = 0.95;
// Scores with a normal distribution and this variance give weights of that spread.
const EVEN_VARIANCE = -2 * Math.log(EVEN_SPREAD);

/** The standard deviation of such scores. */
export const EVEN_DEVIATION = Math.sqrt(EVEN_VARIANCE);

// Of two items, the larger one has this at most. Two among others that could have weight and have none are named.
const OF_TWO = 0.55;
// Of weights that are said to be about equal, the largest is at most so many times the smallest.
const MOST_ALIKE = 1.5;

/**
 * Over how many items the weights of a row are about equal; 0: over none. Those of weight 0 aren't counted. allowed: how many the mask
 * doesn't hide; 0: that isn't known, and taken for all.
 */
export function uniformOver(weights, allowed = 0) {
  const some = completed(weights).filter((each) => each !== 0), count = some.length;
  const total = some.reduce((sum, each) => sum + each, 0);
  if (count < 2 || !some.every((each) => each > 0 && Number.isFinite(each)) || !Number.isFinite(total)) return 0;
  if (count === 2) return (allowed || weights.length) === 2 && highestOf(some, 0) / total <= OF_TWO ? 2 : 0;
  const entropy = some.reduce((sum, each) => sum - each / total * Math.log(each / total), 0);
  if (entropy < Math.log(EVEN_SPREAD * count)) return 0;
  // The largest of so many scores of that variance.
  return highestOf(some, 0) / total <= Math.exp(Math.sqrt(2 * EVEN_VARIANCE * Math.log(count))) / count ? count : 0;
}

/** The smallest and the largest weight of a row, without those of weight 0. */
export function equalEnds(weights) {
  const some = completed(weights).filter((each) => each !== 0);
  return [-highestOf(some.map((each) => -each), -Infinity), highestOf(some, 0)];
}

/** Whether the largest of about equal weights stands out all the same: it is over 1.5 times the smallest, and written otherwise. */
export function isUneven(weights) {
  const [least, most] = equalEnds(weights);
  return most > MOST_ALIKE * least && percent(least) !== percent(most);
}

// Of a row of which the page has the largest weights, the others have what is left, in equal parts.
function completed(weights) {
  const others = weights.reduce((count, each) => count + Number.isNaN(each), 0);
  const rest = Math.max(0, 1 - weights.reduce((sum, each) => sum + orZero(each), 0)) / others;
  return others ? weights.map((each) => (Number.isNaN(each) ? rest : each)) : weights;
}

/** The weight that has the full colour, of so many items with this largest weight: colours are drawn by the square root. */
export function fullColour(largest, count) {
  return Math.max(largest, Math.min(1, 4 / Math.max(1, count)));
}

/** The weight that has the longest bar. */
export function fullBar(largest, count) {
  return Math.max(largest, Math.min(1, 2 / Math.max(1, count)));
}

/** Of how many items of a view equal weights are, if the mask hides others; 0: of all. */
export function equalAmong(view, row = undefined) {
  const share = equalShare(view, row), count = share ? Math.round(1 / share) : 0;
  return view.weights && count < view.weights.length ? count : 0;
}

/** Over how many items equal weights of a view would be spread; 0 if the mask doesn't hide the same ones for all, or isn't known. */
export function allowedIn({ weights, layer, head, usesPooling, pooled, place }, row = usesPooling ? 0 : pooled ? null : place.query) {
  return weights ? allowedKeys(layer, head, row) : 0;
}

/**
 * The rows with the most and the fewest items that their masks allow, the first ones of those: [[row, count], [row, count]]; null if all
 * have as many, if it isn't known, or if weights don't sum to 1; as in Python's `allowed_ends`.
 */
export function allowedEnds(view) {
  const { layer, head, usesPooling } = view;
  // Of the average of rows, or of a pooling, there is one row.
  if (usesPooling || allowedIn(view, null) || !sumsToOne(view.weights)) return null;
  const counts = Array.from({ length: layer.queries }, (_, row) => [row, allowedKeys(layer, head, row)]).filter(([, count]) => count);
  if (!counts.length) return null;
  const found = counts.reduce(([most, fewest], each) => [each[1] > most[1] ? each : most, each[1] < fewest[1] ? each : fewest], [counts[0], counts[0]]);
  return found[0][1] === found[1][1] ? null : found;
}

function sumsToOne(weights) {
  return Boolean(weights) && (weights.some(Number.isNaN) || Math.abs(weights.reduce((sum, each) => sum + orZero(each), 0) - 1) < 1e-3);
}

/** What each of the items of a view would have of equal weights; 0 if they don't sum to 1, or aren't the same items for all. */
export function equalShare(view, row = undefined) {
  const { weights } = view, count = allowedIn(view, row);
  return count && sumsToOne(weights) ? 1 / count : 0;
}
