// The numbers on the way to a weight, written so that what is printed adds up.
import { short, withMinus } from "./numbers.js";

const LEAST_PLACES = 3;  // the exponential of a score takes differences as they are, however large the scores
const MOST_PLACES = 6;
const LEAST_PLACES_OF_TERMS = 4;  // of small terms, too, three digits are to be seen
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
  const fixed = fixedFor(size);
  const [b, s, l] = [bias, score, largest].map((value) => Number(fixed(value)));
  return textsOf({ scaled: Number.isFinite(score) ? s - b : scaled, bias: b, score: s, largest: l, difference: s - l },
    (value) => (Number(fixed(value)) === 0 ? "0" : fixed(value)));
}

/**
 * The texts of terms and of their sum, {terms, sum}. All have the places of `scoreTexts`, but four or more; the last term is what the other
 * printed numbers leave, and so may be up to two in the last place from its own value.
 */
export function sumTexts(terms, sum) {
  const size = Math.max(0, ...[...terms, sum].filter(Number.isFinite).map(Math.abs));
  if (size >= LARGE || ![...terms, sum].every(Number.isFinite)) return { terms: terms.map((each) => withMinus(short(each))), sum: withMinus(short(sum)) };
  const fixed = fixedFor(size, LEAST_PLACES_OF_TERMS), first = terms.slice(0, -1).map((each) => Number(fixed(each))), total = Number(fixed(sum));
  const written = [...first, first.reduce((left, each) => left - each, total)];
  const text = (value) => withMinus(Number(fixed(value)) === 0 ? "0" : fixed(value));
  return { terms: written.map(text), sum: text(total) };
}

/** A number in a formula: one below 0 in brackets. */
export function bracketed(text) {
  return text.startsWith("−") ? `(${text})` : text;
}

// What writes numbers with the decimal places that give one of such a size four digits, `least` to six.
function fixedFor(size, least = LEAST_PLACES) {
  const wanted = size > 0 ? 3 - Math.floor(Math.log10(size)) : 0;
  const places = Math.min(MOST_PLACES, Math.max(least, wanted));
  return (value) => (Number.isFinite(value) ? value.toFixed(places) : short(value));
}

function textsOf(values, write) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, withMinus(write(value))]));
}
