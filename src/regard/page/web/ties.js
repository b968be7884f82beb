// What reads like the largest: items whose numbers are the same when they are rounded, of which none is the one; as in
// Python's `ties.py`.
import { clamp, roundHalfEven } from "./numbers.js";
import { messageParts, nounOf, wordsOf } from "./words.js";

/** More tied items than that are counted, and not named. */
export const MOST_NAMED_TIED = 3;

/**
 * Names as a list in a sentence, as parts: a part for each name, of the kind that the page colours; of more than three tied
 * ones their number, by the message `counted`.
 */
export function listedParts(lang, names, kind, last, counted) {
  if (names.length > MOST_NAMED_TIED) return [[counted(), kind]];
  const words = wordsOf(lang), between = (i) => (i === 0 ? [] : [[i + 1 === names.length ? words[last] : words.listed, ""]]);
  return names.flatMap((name, i) => [...between(i), [name, kind]]);
}

/** The percentage that is certain when a probability is read: >99% may be 99%, and <1% may be 1%. */
export function printed(probability) {
  return clamp(roundHalfEven(100 * probability), 1, 99);
}

/** An item as a sentence names it: a patch of a picture by its row and column; null: it is none. */
export function patchName(name, data, lang) {
  const place = data.grid || data.input?.grid ? /^(\d+),(\d+)$/.exec(name) : null;
  return place && wordsOf(lang).patchAt({ row: place[1], column: place[2] });
}

/** The same, and of another item its text in quotation marks. */
export function quotedName(name, data, lang) {
  return patchName(name, data, lang) ?? wordsOf(lang).quoted({ text: name.trim() || name });
}

/** What a message says with a noun in the plural. */
export function withNoun(lang, message, noun, values) {
  return messageParts(lang, message, { ...values, noun: nounOf(noun, lang, true) }).map(([text]) => text).join("");
}
