// Weights as numbers on the chips of their items, where items fill so many rows that lines to them would merge.
import { h } from "./dom.js";
import { percent } from "./numbers.js";
import { rowsOf } from "./rows_between.js";

// In more rows, lines to different items share the gaps between words, and a number between two rows is read as the next row's.
const MOST_JOINED_ROWS = 2;

/** Whether the chips of a list fill more rows than lines lead through; what stands at the edge of a window has rows of its own. */
export function fillsManyRows(list) {
  const boxes = [...list.children].filter((each) => !each.classList.contains("edge")).map((each) => each.getBoundingClientRect());
  return rowsOf(boxes).length > MOST_JOINED_ROWS;
}

/** Write the weights of some items on their chips, which are found by the items' numbers, and remove those of other items. */
export function numberChips(chips, weights, keys) {
  for (const each of chips.values()) each.querySelector(".share")?.remove();
  for (const key of keys) chips.get(key).querySelector(".chip")?.append(h("span", { class: "share", "aria-hidden": "true" }, percent(weights[key])));
}
