// Attended beside mattered: a row an item, one scale for each of the two.
import { MOST_SHOWN } from "./answers.js";
import { clipped, h, titleOf, token } from "./dom.js";
import { missingText } from "./left_out.js";
import { effectText, percent, probability } from "./numbers.js";
import { changeSize, fullChange, orZero, weightText } from "./view.js";
import { headsOf, known, weightAt } from "./weights.js";
import { nounOf, wordsOf } from "./words.js";

const MOST_ROWS = 12;
const LEAST_ROWS = 3;
// Of many items, those of which neither is as much as this have no row.
const NOTEWORTHY = 0.01;
// Boxes for more heads than that would be too small to see.
const MOST_BOXES = 16;

/** The table of the items that were attended to most or mattered most. */
export function comparedView(root, choose) {
  return (view) => {
    const { data, weights, hidden, names, kind, state } = view, words = wordsOf(state.lang);
    if (!weights) {
      root.replaceChildren(h("p", {}, missingText(view)));
      return;
    }
    const rows = withKey(chosen(weights, hidden, kind), view.key), third = hidden.length > 0 && kind !== "vectors";
    const high = Math.max(...rows.map((i) => orZero(weights[i])), 1e-12);
    const most = fullChange(hidden.length ? rows.map((i) => hidden[i]) : [], kind);
    const { layer } = view, boxed = layer.heads > 1 && layer.heads <= MOST_BOXES && !view.pooled &&
      known(layer, null) === "all";
    const head = [nounOf(data.noun, state.lang), words.attended + (boxed ? words.boxes : ""), ...(hidden.length ? [words.mattered] : []),
      ...(third ? [words.without] : [])];
    const longest = (texts) => Math.max(...texts.map((each) => each.length));
    const room = { weight: longest(rows.map((i) => weightText(view, i))),
      effect: hidden.length ? longest(rows.map((i) => effectText(hidden[i], view.place, kind))) : 0 };
    const changed = (outcome) => outcome.label !== view.place.label;
    const body = rows.map((i) => h("tr", { "data-key": i, class: i === view.key ? "key" : "", onclick: () => choose({ key: i }) },
      h("th", { scope: "row" }, h("button", { type: "button", class: "plain", "data-id": `key ${i}`, title: titleOf(names[i], MOST_SHOWN),
        onclick: () => choose({ key: i }) }, token(clipped(names[i], MOST_SHOWN)))),
      h("td", {}, barred(weights[i] / high, "weight", weightText(view, i), room.weight),
        boxed ? boxes(headsOf(layer, null).map((each) => weightAt(layer, each, view.place.query, i)), view.head) : null),
      hidden.length ? h("td", {}, barred(changeSize(hidden[i]) / most, "effect", effectText(hidden[i], view.place, kind), room.effect)) : null,
      third ? h("td", { class: changed(hidden[i]) ? "said changed" : "said", title: titleOf(hidden[i].label, MOST_SHOWN) },
        token(clipped(hidden[i].label, MOST_SHOWN)),
        hidden[i].score === null ? "" : ` ${probability(hidden[i].score)}`) : null));
    const others = data.items.length - rows.length;
    root.replaceChildren(
      h("table", { class: "compared" },
        h("thead", {}, h("tr", {}, head.map((each) => h("th", { scope: "col" }, each)))), h("tbody", {}, body)),
      ...(others ? [h("p", { class: "quiet" }, view.least === null ? words.others({ count: others }) : restOf(view))] : []),
      ...(hidden.length ? [] : [h("p", { class: "quiet" }, words.noEffects)]));
  };
}

// What is known of a row of which the page holds the largest weights.
function restOf({ weights, state, least }) {
  const largest = weights.filter((each) => each > 0);
  return wordsOf(state.lang).rest({ count: largest.length, sum: percent(largest.reduce((a, b) => a + b, 0)),
    others: weights.filter(Number.isNaN).length, least: percent(least) });
}

// A bar with its number after it; the longest bar leaves room for a number of so many characters.
function barred(share, kind, text, room) {
  return h("span", { class: "barred", style: { "--room": `${room}ch` } }, bar(share, kind), h("span", { class: "number" }, text));
}

function bar(share, kind) {
  const width = Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0;
  return h("span", { class: `bar ${kind}`, "aria-hidden": "true", style: { width: `${(60 * width).toFixed(1)}%` } });
}

// A box a head, as dark as its weight, so that one sees which of them the average comes from.
function boxes(found, head) {
  const title = found.map((each, i) => `${i + 1}: ${percent(each)}`).join(", ");
  return h("span", { class: "boxes", title, "aria-hidden": "true" }, found.map((each, i) => h("span",
    { class: i === head ? "box chosen" : "box", style: { "--weight-value": Math.sqrt(orZero(each)).toFixed(3) } })));
}

function withKey(rows, key) {
  return rows.includes(key) ? rows : [...rows, key].sort((a, b) => a - b);
}

function sizeOf(hidden, i) {
  return hidden.length ? changeSize(hidden[i]) : 0;
}

/** The items of the table, in turn the next by weight and the next by effect, in the order of the input. */
export function chosen(weights, hidden, kind) {
  const all = [...weights.keys()];
  if (all.length <= MOST_ROWS) return all;
  const byWeight = [...all].sort((a, b) => orZero(weights[b]) - orZero(weights[a]));
  const byChange = hidden.length ? [...all].sort((a, b) => sizeOf(hidden, b) - sizeOf(hidden, a)) : byWeight;
  const least = kind === "numbers" ? NOTEWORTHY * sizeOf(hidden, byChange[0]) : NOTEWORTHY;
  const found = new Set();
  const add = (i, size, from) => {
    if (found.size < MOST_ROWS && (size >= from || found.size < LEAST_ROWS)) found.add(i);
  };
  for (let i = 0; i < all.length && found.size < MOST_ROWS; i++) {
    add(byWeight[i], orZero(weights[byWeight[i]]), NOTEWORTHY);
    add(byChange[i], sizeOf(hidden, byChange[i]), least);
  }
  return [...found].sort((a, b) => a - b);
}
