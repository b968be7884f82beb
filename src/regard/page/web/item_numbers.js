// Weights as numbers on the chips of their items, where items fill so many rows that lines to them would merge.
import { h } from "./dom.js";
import { percent } from "./numbers.js";
import { rowsOf } from "./rows_between.js";

// In more rows, lines to different items share the gaps between words, and a number between two rows is read as that of a
// word in the next one.
const MOST_JOINED_ROWS = 2;

/** Whether the chips of a list fill so many rows; what stands at the edge of a window isn't counted. */
export function fillsManyRows(list) {
  const items = [...list.children].filter((each) => !each.classList.contains("edge"));
  return rowsOf(items.map((each) => each.getBoundingClientRect())).length > MOST_JOINED_ROWS;
}

/** Write the weights of some items on their chips, of which `chips` has each item's, and remove those of other items. */
export function numberChips(chips, weights, keys) {
  for (const each of chips.values()) each.querySelector(".share")?.remove();
  for (const key of keys) {
    const number = h("span", { class: "share", "aria-hidden": "true" }, percent(weights[key]));
    chips.get(key).querySelector(".chip")?.append(number);
  }
}
