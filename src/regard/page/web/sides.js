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
