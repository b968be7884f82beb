// What differs most between two records, made from the numbers, in parts so that words can be coloured.
import { MOST_SHOWN } from "./answers.js";
import { clipped } from "./dom.js";
import { effectText, percent, probability } from "./numbers.js";
import { namesOfPair } from "./pairs.js";

// A difference below this may not change a percentage.
const LEAST_DIFFERENCE = 0.01;

/** The sentence as a list of [text, kind], as `sentenceOf` gives it; of names and answers `most` characters are written. */
export function differenceSentence(view, pairs, most = MOST_SHOWN) {
  const { both, state } = view, say = state.lang === "zh" ? CHINESE_SENTENCE : ENGLISH_SENTENCE;
  const absent = both.findIndex((each) => each.absent === "place");
  if (absent >= 0) return [[say.alone("AB"[1 - absent], "AB"[absent]), ""]];
  const parts = answersOf(view, say, most), records = both.map(({ data }) => data);
  const weights = widest(pairs, (a, b) => (both.every((each) => each.weights) ? [both[0].weights[a], both[1].weights[b]] : null));
  if (weights) {
    const { gap, values } = weights;
    if (gap === 0) parts.push([say.same, ""]);
    else if (gap < LEAST_DIFFERENCE) parts.push([say.close, ""]);
    else {
      parts.push([say.weight[0], ""], [joinedName(weights.pair, records, say, most), "weight"],
        [say.weight[1](...values.map(percent)), ""]);
    }
  }
  const { kind } = both[0];
  const own = ownItemOf(both[0]);
  const effects = kind === both[1].kind && both.every((each) => each.hidden.length && each.weights) ? widest(pairs, (a, b) =>
    (a === own ? null : [both[0].hidden[a].change, both[1].hidden[b].change])) : null;
  if (effects && effects.gap > 0 && (kind === "numbers" || effects.gap >= LEAST_DIFFERENCE)) {
    parts.push([say.effect[0], ""], [joinedName(effects.pair, records, say, most), "effect"],
      [say.effect[1](...both.map(({ hidden, place }, side) => effectText(hidden[effects.pair[side]], place, kind))), ""]);
  }
  return parts;
}

// The pair of which both values are known and differ most.
function widest({ pairs }, valuesOf) {
  let found = null;
  for (const pair of pairs.items) {
    const values = pair.includes(null) ? null : valuesOf(...pair);
    if (!values?.every(Number.isFinite)) continue;
    const gap = Math.abs(values[0] - values[1]);
    if (!found || gap > found.gap) found = { pair, values, gap };
  }
  return found;
}

// The item whose own prediction it is, which changes most where it is hidden itself.
function ownItemOf({ data, place }) {
  return data.queries === null && data.outcomes.places.length === data.items.length ? place.query : null;
}

function joinedName(pair, records, say, most) {
  return namesOfPair(pair, records, "items", most).map(say.quoted).join(" / ");
}

function answersOf({ both }, say, most) {
  const places = both.map(({ place }) => place), forms = both.map(({ form }) => form), kinds = both.map(({ kind }) => kind);
  const generated = forms.every((form) => form === "generated");
  let names = both.map((each) => nameOfPlace(each, most));
  if (places[0].name.trim() === places[1].name.trim()) names = [names[0], names[0]];
  const whole = names.every((each) => each === "the whole");
  const about = generated || whole ? "" : say.about([...new Set(names)].map(say.quoted).join(" / "), forms[0]);
  const labels = both.map(({ kind, form, place }) => (kind === "vectors" ? say.vector
    : form === "item" ? clipped(place.label, most) : say.quoted(clipped(place.label, most))));
  const scores = both.map(({ kind, place }) => (kind === "vectors" || place.score === null ? "" : probability(place.score)));
  if (labels[0] === labels[1] && kinds[0] === kinds[1]) {
    return [[about + say.both(generated, about), ""], [labels[0], "answer"], [scores.every(Boolean) ? say.scores(...scores) : say.end, ""]];
  }
  const texts = labels.map((label, i) => `${label} ${scores[i]}`.trimEnd());
  return [[`${about}A ${say.gives(generated)}`, ""], [texts[0], "answer"], [`${say.comma}B ${say.gives(generated)}`, ""],
    [texts[1], "answer"], [say.end, ""]];
}

function nameOfPlace({ data, place, names }, most) {
  const texts = data.queries || data.items;
  const name = place.query !== null && data.outcomes.places.length === texts.length ? (data.numbered_queries || names)[place.query]
    : place.name;
  return clipped(name, most);
}

const ENGLISH_SENTENCE = {
  quoted: (text) => `"${text.trim() || text}"`,
  alone: (own, other) => `The chosen item of ${own} has no partner in ${other}.`,
  about: (name, form) => `${form === "next" ? "After" : "For"} ${name}, `,
  both: (generated, about) => `${about ? "both" : "Both"} ${generated ? "wrote" : "give"} `,
  gives: (generated) => (generated ? "wrote " : "gives "),
  scores: (one, other) => `: ${one} in A, ${other} in B.`,
  vector: "a vector", comma: ", ", end: ".",
  same: " The weights are the same.",
  close: " No weight differs by a percentage point.",
  weight: [" The weight on ", (one, other) => ` differs most: ${one} in A, ${other} in B.`],
  effect: [" The effect of hiding ", (one, other) => ` differs most: ${one} in A, ${other} in B.`],
};

const CHINESE_SENTENCE = {
  quoted: (text) => `“${text.trim() || text}”`,
  alone: (own, other) => `${own} 中选中的项在 ${other} 中没有对应项。`,
  about: (name, form) => (form === "next" ? `${name} 之后，` : `对 ${name}，`),
  both: (generated) => (generated ? "两者都写出 " : "两者都给出 "),
  gives: (generated) => (generated ? "写出 " : "给出 "),
  scores: (one, other) => `：A ${one}，B ${other}。`,
  vector: "一个向量", comma: "，", end: "。",
  same: "权重相同。",
  close: "权重相差都不到一个百分点。",
  weight: ["相差最大的权重在 ", (one, other) => ` 上：A ${one}，B ${other}。`],
  effect: ["作用相差最大的是遮住 ", (one, other) => `：A ${one}，B ${other}。`],
};
