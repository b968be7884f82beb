// What is told of two records: the sentence about what differs most, as in Python's `comparison.py`.
import { MOST_SHOWN } from "./answers.js";
import { clipped } from "./dom.js";
import { NOTICED, changeOf, isNoticed, nameOfPlace, ownItemOf, quotedIn } from "./facts.js";
import { effectText, percent, probability } from "./numbers.js";
import { MOST_NAMED_TIED, listedParts } from "./ties.js";
import { equalShare } from "./uniform.js";
import { LITTLE_CHANGE } from "./view.js";
import { messageParts, wordsOf } from "./words.js";

// Of more heads that were removed the first ones are named.
const MOST_REMOVED = 4;

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
