// Why the prediction for an input may be wrong: the warnings that were given of it.
import { h } from "./dom.js";

/** A paragraph for each warning. */
export function warningsOf(warnings, words) {
  return warnings.map((text) => h("p", { class: "warning" }, words.warning({ text })));
}
