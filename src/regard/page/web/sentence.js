// The one sentence of what is to be seen, made from the numbers, in parts so that words can be coloured.
import { MOST_SHOWN } from "./answers.js";
import { clipped } from "./dom.js";
import { percent, probability, sizeText } from "./numbers.js";
import { largest, orZero } from "./view.js";

// A change of the probability below this is called none: it may not change the percentage.
const NOTICED = 0.01;

/**
 * The sentence as a list of [text, kind], where kind is "", "weight", "effect" or "answer".
 *
 * Of names and answers `most` characters are written.
 */
export function sentenceOf(view, most = MOST_SHOWN) {
  const cut = (text) => clipped(text, most);
  return view.state.lang === "zh" ? chinese(view, cut) : english(view, cut);
}

function facts(view) {
  const { data, place, weights, hidden, names, kind } = view;
  const texts = data.queries || data.items, outcomes = data.outcomes;
  const own = data.queries === null && outcomes.places.length === data.items.length ? place.query : null;
  const most = weights ? largest(weights) : null;
  let found = null;
  hidden.forEach((each, item) => {
    if (item === own) return;
    if (found === null || Math.abs(orZero(each.change)) > Math.abs(orZero(hidden[found].change))) found = item;
  });
  const change = found === null ? null : hidden[found].change;
  const noticed = found !== null && (kind === "numbers" ? change !== 0 : !(Math.abs(change) < NOTICED));
  let name = place.name;
  if (place.query !== null && outcomes.places.length === texts.length) {
    name = (data.numbered_queries || names)[place.query];
  }
  return { own, most, found, noticed, name, whole: name === "the whole" };
}

function withScore(label, score) {
  return score === null ? label : `${label} ${probability(score)}`;
}

function english(view, cut) {
  const { place, weights, hidden, names, kind, form } = view;
  const { own, most, found, noticed, name, whole } = facts(view);
  const score = place.score === null ? "" : ` (${probability(place.score)})`;
  const quoted = (text) => `"${cut(text.trim() || text)}"`;
  const parts = [];
  if (kind === "vectors") parts.push([whole ? "The output is a vector." : `The output at ${quoted(name)} is a vector.`, ""]);
  else if (form === "next") parts.push([`After ${quoted(name)} comes `, ""], [quoted(place.label), "answer"], [`${score}.`, ""]);
  else if (form === "generated") parts.push([quoted(name), "answer"], [` was written${score}.`, ""]);
  else parts.push([`${whole ? "The answer" : quoted(name)} is `, ""], [cut(place.label), "answer"], [`${score}.`, ""]);
  if (most === null) return parts;
  parts.push([" It attended most to ", ""], [most === own ? "itself" : quoted(names[most]), "weight"],
    [` (${percent(weights[most])})`, ""]);
  if (found === null) {
    parts.push([hidden.length ? "." : ". What mattered wasn't measured.", ""]);
  } else if (!noticed) {
    parts.push([`, but hiding any one ${view.data.noun} changes next to nothing.`, ""]);
  } else {
    if (found === most) parts.push([", and hiding ", ""], ["it", "effect"]);
    else parts.push([", but hiding ", ""], [quoted(names[found]), "effect"]);
    parts.push([" changes the answer most: ", ""], ...becomes(view, hidden[found], cut), [".", ""]);
  }
  return parts;
}

function becomes({ place, kind }, outcome, cut) {
  if (kind === "vectors") return [[`the vector changes by ${sizeText(outcome.change, kind)} of its length`, ""]];
  if (kind === "numbers") return [[`${cut(place.label)} becomes `, ""], [cut(outcome.label), "effect"]];
  if (outcome.label !== place.label) {
    return [[`${withScore(cut(place.label), place.score)} becomes `, ""], [withScore(cut(outcome.label), outcome.score), "effect"]];
  }
  const [before, after] = [place.score ?? 0, outcome.score ?? 0];
  return [[`${cut(place.label)} ${after < before ? "falls" : "rises"} from ${probability(before)} to `, ""],
    [probability(after), "effect"]];
}

function chinese(view, cut) {
  const { place, weights, hidden, names, kind, form } = view;
  const { own, most, found, noticed, name, whole } = facts(view);
  const score = place.score === null ? "" : `（${probability(place.score)}）`;
  const quoted = (text) => `“${cut(text.trim() || text)}”`;
  const parts = [];
  if (kind === "vectors") parts.push([whole ? "输出是一个向量。" : `${quoted(name)} 处的输出是一个向量。`, ""]);
  else if (form === "next") parts.push([`${quoted(name)} 之后是 `, ""], [quoted(place.label), "answer"], [`${score}。`, ""]);
  else if (form === "generated") parts.push(["写出了 ", ""], [quoted(name), "answer"], [`${score}。`, ""]);
  else parts.push([`${whole ? "答案" : quoted(name)} 是 `, ""], [cut(place.label), "answer"], [`${score}。`, ""]);
  if (most === null) return parts;
  parts.push(["它最注意 ", ""], [most === own ? "自己" : quoted(names[most]), "weight"], [`（${percent(weights[most])}）`, ""]);
  if (found === null) {
    parts.push([hidden.length ? "。" : "。没有测量作用。", ""]);
  } else if (!noticed) {
    parts.push(["，但遮住任何一项，答案几乎不变。", ""]);
  } else {
    parts.push(found === most ? ["，遮住", ""] : ["，但遮住 ", ""], [found === most ? "它" : quoted(names[found]), "effect"],
      [" 对答案影响最大：", ""]);
    const outcome = hidden[found];
    if (kind === "vectors") parts.push([`向量改变了其长度的 ${sizeText(outcome.change, kind)}`, ""]);
    else if (kind === "numbers") parts.push([`${cut(place.label)} 变成 `, ""], [cut(outcome.label), "effect"]);
    else parts.push([`${withScore(cut(place.label), place.score)} 变成 `, ""], [withScore(cut(outcome.label), outcome.score), "effect"]);
    parts.push(["。", ""]);
  }
  return parts;
}
