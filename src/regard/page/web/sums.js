// The numbers on the way to a weight, written so that what is printed adds up.
import { short, withMinus } from "./numbers.js";

const LEAST_PLACES = 3;  // the exponential of a score takes differences as they are, however large the scores
const MOST_PLACES = 6;
const LARGE = 1e6;  // from here on all have four digits
const DUST = 1e-8;  // what a difference of large numbers is beside them, if only rounding made it

/**
 * The texts of `scaled` + `bias` = `score`, and of `score` − `largest` = `difference`.
 *
 * All have the decimal places that give the largest of them four digits, three to six. `scaled` and `difference` are what
 * the printed numbers leave, and so may be up to one in the last place from their own values. A difference that can't be
 * seen is 0. From a million on each number has four digits of its own.
 */
export function scoreTexts({ scaled, bias = 0, score, largest = score }) {
  const size = Math.max(0, ...[scaled, bias, score, largest].filter(Number.isFinite).map(Math.abs));
  if (size >= LARGE) {
    const difference = score - largest;
    return textsOf({ scaled, bias, score, largest, difference: Math.abs(difference) < DUST * size ? 0 : difference }, short);
  }
  const wanted = size > 0 ? 3 - Math.floor(Math.log10(size)) : 0;
  const places = Math.min(MOST_PLACES, Math.max(LEAST_PLACES, wanted));
  const fixed = (value) => (Number.isFinite(value) ? value.toFixed(places) : short(value));
  const [b, s, l] = [bias, score, largest].map((value) => Number(fixed(value)));
  return textsOf({ scaled: Number.isFinite(score) ? s - b : scaled, bias: b, score: s, largest: l, difference: s - l },
    (value) => (Number(fixed(value)) === 0 ? "0" : fixed(value)));
}

/** A number in a formula: one below 0 in brackets. */
export function bracketed(text) {
  return text.startsWith("−") ? `(${text})` : text;
}

function textsOf(values, write) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, withMinus(write(value))]));
}
