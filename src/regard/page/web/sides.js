// What names the two records on the page of both: A and B.
import { h } from "./dom.js";

/** The letter of a record. */
export function sideMark(side) {
  return h("span", { class: "mark" }, "AB"[side]);
}

/** A value of A above one of B; null where there is none. */
export function twoLines(values) {
  return values.map((each, side) => (each === null ? null : h("span", { class: "side-line" }, sideMark(side), ...each)));
}

/** A percentage that is the difference of two percentages, in percentage points; other texts stay as they are. */
export function inPoints(text, words) {
  return text.endsWith("%") ? words.points({ size: text.slice(0, -1), count: /^[+−]?<?1%$/.test(text) ? 1 : 2 }) : text;
}
