// What is told of a view: which numbers, and the sentence that they make, as in Python's `facts.py`.
import { MOST_SHOWN } from "./answers.js";
import { clipped } from "./dom.js";
import { percent, probability, signedPercent, sizeText } from "./numbers.js";
import { listedParts, patchName, printed, withNoun } from "./ties.js";
import { allowedIn, equalEnds, isUneven, uniformOver } from "./uniform.js";
import { LITTLE_CHANGE, changeSize, isRemoved, largest } from "./view.js";
import { messageParts, messageText, nounOf, wordsOf } from "./words.js";

// A change of the probability, or a difference, below this is called none: it may not change the percentage.
export const NOTICED = 0.01;
// Weights that are written as these are next to nothing.
const NOTHING = ["0%", "<1%"];

/** The number of the item whose own prediction it is; null if there is none. */
export function ownItemOf({ data, place }) {
  return data.queries === null && data.outcomes.places.length === data.items.length ? place.query : null;
}

/** The layer and the head of a view, in words; a layer with one head has no average. */
export function nameOfHead({ usesPooling, number, data, layer, head }, words) {
  return [usesPooling ? words.pooling : words.layerOf({ layer: number + 1, count: data.layers.length }),
    layer.heads === 1 ? "" : head === null ? words.average({ count: layer.heads }) : words.headOf({ head: head + 1, count: layer.heads })
      + (isRemoved(data, number, head) ? words.wasRemoved : "")];
}

/** Over what an average of rows is; "" where the weights are those of one row. */
export function overAll({ data: { queries, items, noun }, state: { lang }, pooled, usesPooling }, words) {
  if (!pooled || usesPooling) return "";
  const { length: count } = queries || items, name = nounOf(noun, lang, count > 1);
  return count === 2 ? words.overBoth({ noun: name }) : words.overAll({ count, noun: name });
}

/** The name of what is predicted for. */
export function nameOfPlace({ data, place, names }) {
  const every = place.query !== null && data.outcomes.places.length === (data.queries || data.items).length;
  return every ? (data.numbered_queries || names)[place.query] : place.name;
}

// Of which layer and head the weights are, and whether they are averages over the queries, as the subject of a sentence.
function whereOf({ usesPooling, number, data, layer, head, pooled }, words) {
  const count = data.layers.length;
  if (usesPooling) return count ? words.wherePoolingAfter({ count }) : words.wherePooling;
  const isHead = head !== null && layer.heads > 1;
  const name = isHead ? "Head" : count === 1 ? "" : number === count - 1 ? "Last" : "Layer";
  const found = words[pooled ? `onAverage${name}` : name ? `where${name}` : "whereIt"];
  return typeof found === "string" ? found : found({ layer: number + 1, head: head + 1 });
}

/** Whether a change is large enough for a sentence. */
export function isNoticed(change, kind) {
  return kind === "numbers" ? change !== 0 : !(Math.abs(change) < NOTICED);
}

/**
 * The sentence as a list of [text, kind], as `messageParts` gives it. Of names and answers `most` characters are written.
 *
 * Where the view has what a method of attribution gives, `attributed` as {method, shares}, that stands in place of the weights.
 */
export function sentenceOf(view, most = MOST_SHOWN) {
  const { data, attributed, state: { lang } } = view, own = ownItemOf(view), weights = attributed?.shares ?? view.weights;
  const tell = (name, values) => messageParts(lang, name, values), words = wordsOf(lang), nameOf = namedIn(view, most);
  const opening = openingOf(view, most);
  if (!weights) return opening;
  const top = largest(weights, Math.abs), shares = Array.from(weights, signedPercent);
  const count = equalOver(view), isNone = count || (isRaw(view) && NOTHING.includes(shares[top]));
  const tops = isNone ? [] : [...shares.keys()].filter((each) => shares[each] === shares[top]);
  const attended = [...opening, ...(count ? equally(view, count) : mostAttended(view, tops, shares[top], own, nameOf))];
  // Where no item has most of the attention, it is no surprise that none matters much.
  const joint = words[tops.length ? "but" : "andAlike"];
  // Effects are those of the whole model, whichever head is chosen.
  const everywhere = view.head !== null && view.layer.heads > 1 ? words.everywhere : "";
  const { none, tied, change, little } = changedMost(view, most);
  if (none) return [...attended, ...tell(none, { noun: nounOf(data.noun, lang), joint, everywhere })];
  const item = listedParts(lang, tied.map((each) => (tops.length === 1 && tops[0] === each && !little ? words.it : nameOf(each))), "effect", "lastOr",
    () => withNoun(lang, "anyTied", data.noun, { count: tied.length }));
  if (little) return [...attended, ...tell(little, { noun: nounOf(data.noun, lang), joint, item, change, everywhere })];
  return [...attended, ...(tied.some((each) => tops.includes(each)) ? tell("itMattered", { it: item, change, everywhere }) : tell("otherMattered", { item, joint, change, everywhere }))];
}

// Whether the sentence is of weights themselves, of which it says where they are about equal or next to nothing.
function isRaw({ attributed, layer }) {
  return !attributed && !layer.effective;
}

/** Over how many items the weights are about equal, as the sentence says then; 0: it names those with the largest. */
export function equalOver(view) {
  return view.weights && isRaw(view) ? uniformOver(view.weights, allowedIn(view)) : 0;
}

/** Whether the sentence says of weights that they are no more uneven than by chance. */
export function isByChance(view) {
  return equalOver(view) > 0 && isUneven(view.weights);
}

/**
 * The items that change the answer most where they are hidden: {tied, change, little}, those whose changes read the same, that
 * change in words, and the message which says that it is small; or {none}, the message which says why there are none.
 */
export function changedMost(view, most = MOST_SHOWN) {
  const { hidden, kind, place } = view, own = ownItemOf(view);
  const every = [...hidden.keys()].filter((each) => each !== own && Number.isFinite(hidden[each].change)), told = every.filter((each) => !hidden[each].isNoise);
  // What can't be told from noise is no finding while something else can.
  const others = told.length ? told : every, changesMost = (some) => some[largest(some, (each) => changeSize(hidden[each]))];
  if (!others.length) return { none: hidden.length ? "nothingHidden" : "notMeasured" };
  let changing = changesMost(others);
  if (hidden[changing].isNoise) return { none: "noiseMattered" };
  if (!isTold(place, hidden[changing], kind)) {
    // A small change may be that of the answer to another one.
    changing = changesMost(others.filter((each) => isTold(place, hidden[each], kind)));
    if (changing === undefined) return { none: "littleMattered" };
  }
  const change = changeOf(place, hidden[changing], view, most), same = messageText(change);
  return { tied: others.filter((each) => messageText(changeOf(place, hidden[each], view, most)) === same), change,
    little: littleOf(view, hidden[changing]) };
}

/** The message which says that a change is small, even if it is the largest; "": it isn't. */
export function littleOf({ kind, place, data: { outcomes: { error } } }, outcome) {
  if (kind === "numbers") return error !== null && changeSize(outcome) < error ? "matteredWithinError" : "";
  return outcome.label === place.label && changeSize(outcome) < LITTLE_CHANGE ? "matteredLittle" : "";
}

function mostAttended(view, tops, share, own, nameOf) {
  const { data, attributed, layer, state: { lang } } = view, words = wordsOf(lang), where = whereOf(view, words);
  if (!tops.length) return messageParts(lang, "attendedNone", { where, noun: nounOf(data.noun, lang) });
  const item = listedParts(lang, tops.map((each) => (each === own ? words.itself : nameOf(each))), "weight", "lastAnd",
    () => withNoun(lang, "tiedItems", data.noun, { count: tops.length, all: data.items.length }));
  // What nothing stands beside is no finding.
  if (!attributed && !layer.effective && share === "100%" && [allowedIn(view), data.items.length].includes(1)) return messageParts(lang, "attendedAlone", { where, item });
  const most = tops.length === 1 ? share : words.eachShare({ share });
  if (attributed) return messageParts(lang, attributed.shares[tops[0]] < 0 ? "loweredMost" : "tookMost", { method: attributed.method, item, share: most });
  return messageParts(lang, layer.effective ? "effectiveMost" : "attendedMost", { where, item, share: most });
}

// How sentences name the items of a view.
function namedIn({ data, names, state: { lang } }, most) {
  const quoted = quotedIn(lang, most);
  return (item) => patchName(names[item], data, lang) ?? quoted(names[item]);
}

/** Whether a change can be seen in the numbers as they are written, or is another answer. */
export function isTold(place, { label, score, change }, kind) {
  if (kind === "vectors") return isNoticed(change, kind);
  if (label !== place.label) return change !== 0;
  if (kind === "numbers" || !isNoticed(change, kind)) return false;
  return place.score === null || score === null || printed(place.score) !== printed(score);
}

function equally(view, count) {
  const { weights, data, state: { lang } } = view, where = whereOf(view, wordsOf(lang));
  const [least, most] = equalEnds(weights).map(percent), share = least === most ? least : wordsOf(lang).fromTo({ least, most });
  const name = count < weights.length ? (allowedIn(view) === count ? "attendedAllowed" : "attendedSome") : count === 2 ? "attendedBoth" : "attended";
  return messageParts(lang, `${name}${isUneven(weights) ? "Unevenly" : "Equally"}`, { where, count, all: weights.length, noun: nounOf(data.noun, lang, true), share });
}

/** A function that puts a text of the input in quotation marks, of which so many characters are written. */
export function quotedIn(lang, most) {
  return (text) => wordsOf(lang).quoted({ text: clipped(text.trim() || text, most) });
}

function openingOf(view, most) {
  const { place, kind, form, state: { lang } } = view, name = nameOfPlace(view), quoted = quotedIn(lang, most);
  const called = patchName(name, view.data, lang) ?? quoted(name);
  const sure = place.score === null ? "" : wordsOf(lang).sure({ share: probability(place.score) });
  if (kind === "vectors") return messageParts(lang, name === "the whole" ? "outputWhole" : "outputAt", { name: called });
  if (form === "next") return messageParts(lang, "comesAfter", { name: called, label: quoted(place.label), sure });
  if (form === "generated") return messageParts(lang, "wasWritten", { name: called, sure, likelier: likelierThan(place, quoted, lang) });
  // A number for the whole has the name of what it is.
  const subject = name === "the whole" ? wordsOf(lang).theAnswer : kind === "numbers" && place.query === null ? name : called;
  const { error } = view.data.outcomes, label = clipped(place.label, most);
  const told = error === null ? label : [[wordsOf(lang).error({ label, error: sizeText(error, "numbers", place.decimals) }), "answer"]];
  return messageParts(lang, "isLabel", { name: subject, label: told, sure });
}

// Of a text that a search found: the piece that is likelier than the one that was written, "" where none is.
function likelierThan(place, quoted, lang) {
  const { likelier } = place;
  if (!likelier) return "";
  const words = wordsOf(lang), [label, own] = [likelier[0], place.label].map(quoted), share = probability(likelier[1]);
  // Some vocabularies have a piece twice, with a space in front of it and without.
  return words.likelier({ label: label === own ? words.another({ label }) : label, sure: words.sure({ share }) });
}

/** A change as a part of a sentence. */
export function changeOf(place, outcome, { kind, form, state: { lang } }, most) {
  if (kind === "vectors") return messageParts(lang, "vectorChanges", { size: sizeText(outcome.change, kind) });
  // A word of a text would read as part of the sentence.
  const named = form === "item" ? (label) => clipped(label, most) : quotedIn(lang, most);
  const said = ({ label, score }) => named(label) + (score === null ? "" : wordsOf(lang).sure({ share: probability(score) }));
  const [from, to] = [place.score ?? 0, outcome.score ?? 0], same = kind !== "numbers" && outcome.label === place.label;
  const values = { before: said(place), after: said(outcome), label: named(place.label), from: probability(from), to: probability(to) };
  return messageParts(lang, !same ? "becomes" : to < from ? "falls" : "rises", values);
}
