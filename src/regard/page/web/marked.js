// Which items are marked: those that the reader chose, that have the largest weight, or that the sentence names.
import { changedMost, equalOver } from "./facts.js";
import { MOST_NAMED_TIED } from "./ties.js";
import { heaviest } from "./view.js";

const namedOfViews = new WeakMap();

// What the sentence says of a view, found once for all of its items: {isEqual, named}.
function namedOf(view) {
  if (!namedOfViews.has(view)) {
    const isEqual = equalOver(view) > 0, { tied = [] } = isEqual ? changedMost(view) : {};
    namedOfViews.set(view, { isEqual, named: tied.length > MOST_NAMED_TIED ? [] : tied });
  }
  return namedOfViews.get(view);
}

// Whether the largest weight is no more than the others, and the reader chose no item.
function isFlat(view) {
  return !view.isChosen && namedOf(view).isEqual;
}

/** The item that is marked as attended to: the chosen one, or that with the largest weight; null if all are about equal. */
export function markedKey(view) {
  return isFlat(view) ? null : view.key;
}

/** The items whose weights are written: the largest ones; of about equal ones that of the chosen item alone. */
export function weighedItems(view) {
  const { weights, key, isChosen } = view;
  if (!weights) return [];
  return heaviest(weights, !namedOf(view).isEqual ? [...weights.keys()] : isChosen && key >= 0 ? [key] : []);
}

/** Where weights are about equal, the items that the sentence names as what changes the answer most, however little. */
export function namedItems(view) {
  return namedOf(view).named;
}

/** The item that is told of while the pointer is on none; null: there is none to tell of. */
export function toldItem(view) {
  const named = isFlat(view) ? namedItems(view) : [];
  return markedKey(view) ?? (named.length === 1 ? named[0] : null);
}
