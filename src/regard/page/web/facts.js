// What is told of a view, and of two records: which numbers, and the sentence that they make, as in Python's `facts.py`.
import { MOST_SHOWN } from "./answers.js";
import { clipped } from "./dom.js";
import { effectText, percent, probability, signedPercent, sizeText } from "./numbers.js";
import { MOST_NAMED_TIED, listedParts, patchName, printed, withNoun } from "./ties.js";
import { allowedIn, equalEnds, equalShare, isUneven, uniformOver } from "./uniform.js";
import { LITTLE_CHANGE, changeSize, isRemoved, largest } from "./view.js";
import { messageParts, messageText, nounOf, wordsOf } from "./words.js";

// A change of the probability, or a difference, below this is called none: it may not change the percentage.
const NOTICED = 0.01;
// Of more heads that were removed the first ones are named.
const MOST_REMOVED = 4;
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

function isNoticed(change, kind) {
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

function quotedIn(lang, most) {
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

function changeOf(place, outcome, { kind, form, state: { lang } }, most) {
  if (kind === "vectors") return messageParts(lang, "vectorChanges", { size: sizeText(outcome.change, kind) });
  // A word of a text would read as part of the sentence.
  const named = form === "item" ? (label) => clipped(label, most) : quotedIn(lang, most);
  const said = ({ label, score }) => named(label) + (score === null ? "" : wordsOf(lang).sure({ share: probability(score) }));
  const [from, to] = [place.score ?? 0, outcome.score ?? 0], same = kind !== "numbers" && outcome.label === place.label;
  const values = { before: said(place), after: said(outcome), label: named(place.label), from: probability(from), to: probability(to) };
  return messageParts(lang, !same ? "becomes" : to < from ? "falls" : "rises", values);
}

/** What differs most between two records, as `sentenceOf` gives it; `pairs` says which items correspond. */
export function differenceSentence({ both, state: { lang } }, pairs, most = MOST_SHOWN) {
  const tell = (name, values) => messageParts(lang, name, values), quoted = quotedIn(lang, most);
  // Where its layer is absent, too, that is told instead.
  const absent = both.findIndex((each) => each.absent === "place" || (each.absent && each.state.place < 0));
  if (absent >= 0) return tell("aloneChosen", { side: "AB"[1 - absent], other: "AB"[absent] });
  const [{ kind }, { kind: otherKind }] = both, own = ownItemOf(both[0]), told = answersOf(both, lang, most);
  if (pairs.apart) return [...told, ...(pairs.pairs.items.some((pair) => !pair.includes(null)) ? tell("otherQuestions") : [])];
  if (both.some(({ weights }) => !weights)) return told;
  const named = (pair) => pairs.namesOf(pair, "items", most).map(quoted).join(" / ");
  const attended = widest(pairs, (pair) => both.map(({ weights }, side) => weights[pair[side]]));
  if (attended) {
    const { gap, pair, values: [one, other] } = attended;
    told.push(...(gap >= NOTICED ? tell(gap < LITTLE_CHANGE ? "weightDiffersLittle" : "weightDiffers", { item: named(pair), one: percent(one), other: percent(other) })
      : tell(gap === 0 ? "sameWeights" : "closeWeights")));
    // Of fewer items each has more, without anything being attended to.
    const [fair, otherFair] = both.map((each) => equalShare(each)), [fairText, otherText] = [fair, otherFair].map(percent);
    if (gap >= NOTICED && fair && otherFair && fairText !== otherText) told.push(...tell("equalInBoth", { one: fairText, other: otherText }));
  }
  if (kind !== otherKind || both.some(({ hidden }) => !hidden.length)) return told;
  const changesOf = (pair) => (pair[0] === own ? null : both.map(({ hidden }, side) => hidden[pair[side]].change));
  // Another answer in one of the two says more than points of the same one.
  const flipped = widest(pairs, (pair) => (changedSides(both, pair).length === 1 ? changesOf(pair) : null));
  if (flipped) {
    const [side] = changedSides(both, flipped.pair), view = both[side];
    const names = pairs.pairs.items.filter((pair) => !pair.includes(null) && changesOf(pair)?.every(Number.isFinite) && changedSides(both, pair).length === 2).map(named);
    return [...told, ...tell("effectFlips", { item: named(flipped.pair), side: "AB"[side], change: changeOf(view.place, view.hidden[flipped.pair[side]], view, most) }),
      ...(names.length && names.length <= MOST_NAMED_TIED ? tell("flipsBoth", { items: listedParts(lang, names, "effect", "lastAnd") }) : [])];
  }
  const mattered = widest(pairs, changesOf);
  if (mattered && mattered.gap > 0 && isNoticed(mattered.gap, kind)) {
    const [one, other] = both.map(({ hidden, place }, side) => effectText(hidden[mattered.pair[side]], place, kind, wordsOf(lang))
      .replace(" → ", wordsOf(lang).changesTo));
    told.push(...tell(kind !== "numbers" && mattered.gap < LITTLE_CHANGE ? "effectDiffersLittle" : "effectDiffers", { item: named(mattered.pair), one, other }));
  }
  return told;
}

// The sides of which hiding an item changes the label.
function changedSides(both, pair) {
  const isChanged = ({ hidden, place, kind }, side) => kind === "labels" && hidden[pair[side]].label !== place.label && hidden[pair[side]].change !== 0;
  return [0, 1].filter((side) => isChanged(both[side], side));
}

// The pair of which both values are known and differ most.
function widest({ pairs }, valuesOf) {
  let found = null;
  for (const pair of pairs.items) {
    const values = pair.includes(null) ? null : valuesOf(pair);
    if (!values?.every(Number.isFinite)) continue;
    const gap = Math.abs(values[0] - values[1]);
    if (!found || gap > found.gap) found = { pair, values, gap };
  }
  return found;
}

function answersOf(both, lang, most) {
  const words = wordsOf(lang), quoted = quotedIn(lang, most), places = both.map(({ place }) => place);
  const generated = both.every(({ form }) => form === "generated");
  const names = [...new Set(places[0].name.trim() === places[1].name.trim() ? [nameOfPlace(both[0])] : both.map(nameOfPlace))];
  const whole = names.every((each) => each === "the whole");
  const about = generated || whole ? "" : words[both[0].form === "next" ? "aboutNext" : "aboutItem"]({ name: names.map(quoted).join(" / ") });
  const labels = both.map(({ kind, form, place: { label } }) => (kind === "vectors" ? words.aVector
    : form === "item" ? clipped(label, most) : quoted(label)));
  const scores = both.map(({ kind, place: { score } }) => (kind === "vectors" || score === null ? "" : probability(score)));
  if (labels[0] === labels[1] && both[0].kind === both[1].kind) {
    const [one, other] = scores, values = { about, label: labels[0], scores: one && other ? words.bothScores({ one, other }) : words.noScores };
    return messageParts(lang, generated ? "bothWrote" : about ? "bothGive" : "bothGiveWhole", values);
  }
  const [one, other] = labels.map((label, side) => `${label} ${scores[side]}`.trimEnd());
  if (names.length > 1 && names.includes("the whole")) {
    const [first, second] = names.map((each) => (each === "the whole" ? words.wholeInput : quoted(each)));
    return messageParts(lang, "eachGivesOwn", { one, other, first, second });
  }
  const heads = generated ? "" : withoutHeads(both, words);
  if (heads) return messageParts(lang, about ? "changedWithout" : "changedWithoutWhole", { about, heads, one, other });
  return messageParts(lang, generated ? "eachWrote" : "eachGives", { about, one, other });
}

/** Whether two records are of one model, by its name, after which changes of it stand behind a comma. */
export function areOfOneModel(first, second) {
  return modelNameOf(first) === modelNameOf(second);
}

/** The name of the model of a record, without the changes. */
export function modelNameOf({ model }) {
  return model.split(", ")[0];
}

// The heads that only the second of two records of one model is without, as the sentence names them; "": none.
function withoutHeads(both, words) {
  const [first, second] = both.map(({ data }) => data);
  if (!second.without.length || first.without.length || !areOfOneModel(first, second)) return "";
  const names = second.without.map(([layer, head]) => `${layer + 1}.${head + 1}`);
  return words.removedHeads({ count: names.length, heads: [...names.slice(0, MOST_REMOVED), ...(names.length > MOST_REMOVED ? ["..."] : [])].join(", ") });
}
