// Attended beside mattered: a row an item, one scale for each of the two.
import { h, token } from "./dom.js";
import { changeText, percent, probability } from "./numbers.js";
import { nounOf, wordsOf } from "./words.js";
import { orZero } from "./view.js";

const MOST_ROWS = 12;

/** The table of the items that were attended to most or mattered most. */
export function comparedView(root, choose) {
  return (view) => {
    const { data, weights, hidden, names, kind, state } = view, words = wordsOf(state.lang);
    if (!weights) {
      root.replaceChildren(h("p", {}, words.missing));
      return;
    }
    const rows = chosen(weights, hidden), third = hidden.length > 0 && kind !== "vectors";
    const high = Math.max(...rows.map((i) => orZero(weights[i])), 1e-12);
    const most = Math.max(...rows.map((i) => (hidden.length ? Math.abs(orZero(hidden[i].change)) : 0)), 1e-12);
    const head = [nounOf(data.noun, state.lang), words.attended, ...(hidden.length ? [words.mattered] : []),
      ...(third ? [words.without] : [])];
    const changed = (outcome) => outcome.label !== view.place.label;
    const body = rows.map((i) => h("tr", { "data-key": i, class: i === view.key ? "key" : "", onclick: () => choose({ key: i }) },
      h("th", { scope: "row" }, h("button", { type: "button", class: "plain", "data-id": `key ${i}`, onclick: () => choose({ key: i }) }, token(names[i]))),
      h("td", {}, bar(weights[i] / high, "weight"), h("span", { class: "number" }, percent(weights[i]))),
      hidden.length ? h("td", {}, bar(Math.abs(hidden[i].change) / most, "effect"),
        h("span", { class: "number" }, changeText(hidden[i].change, kind))) : null,
      third ? h("td", { class: changed(hidden[i]) ? "changed" : "" }, token(hidden[i].label),
        hidden[i].score === null ? "" : ` ${probability(hidden[i].score)}`) : null));
    const others = data.items.length - rows.length;
    root.replaceChildren(
      h("table", { class: "compared" },
        h("thead", {}, h("tr", {}, head.map((each) => h("th", { scope: "col" }, each)))), h("tbody", {}, body)),
      ...(others ? [h("p", { class: "quiet" }, words.others(others))] : []),
      ...(hidden.length ? [] : [h("p", { class: "quiet" }, words.noEffects)]));
  };
}

function bar(share, kind) {
  const width = Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0;
  return h("span", { class: `bar ${kind}`, "aria-hidden": "true", style: { width: `${(60 * width).toFixed(1)}%` } });
}

/** The items of the table, in turn the next by weight and the next by effect, in the order of the input. */
export function chosen(weights, hidden) {
  const all = [...weights.keys()];
  if (all.length <= MOST_ROWS) return all;
  const byWeight = [...all].sort((a, b) => orZero(weights[b]) - orZero(weights[a]));
  const byChange = hidden.length
    ? [...all].sort((a, b) => Math.abs(orZero(hidden[b].change)) - Math.abs(orZero(hidden[a].change))) : byWeight;
  const found = new Set();
  for (let i = 0; i < all.length && found.size < MOST_ROWS; i++) {
    found.add(byWeight[i]);
    if (found.size < MOST_ROWS) found.add(byChange[i]);
  }
  return [...found].sort((a, b) => a - b);
}
