// Attended beside mattered in both records: a row an item, the first record's value above the second's, on one scale.
import { MOST_SHOWN } from "./answers.js";
import { chosen } from "./compared.js";
import { clipped, h, token } from "./dom.js";
import { missingText } from "./left_out.js";
import { effectText, percentChange, probability } from "./numbers.js";
import { changeSize, fullChange, orZero, weightText } from "./view.js";
import { twoLines } from "./sides.js";
import { nounOf, wordsOf } from "./words.js";

/** The table of both; `pairs` says which items correspond. */
export function differenceTable(root, choose, pairs) {
  return (view) => {
    const { both, state } = view, words = wordsOf(state.lang), list = pairs.pairs.items, records = both.map(({ data }) => data);
    const at = (row, read) => both.map((each, side) => (list[row][side] === null || !each.weights ? null : read(each, list[row][side])));
    const weights = (row) => at(row, (each, i) => each.weights[i]);
    const hidden = (row) => at(row, (each, i) => each.hidden[i] ?? null);
    const known = [...list.keys()].filter((row) => weights(row).some((each) => each !== null));
    if (!known.length) {
      root.replaceChildren(h("p", {}, missingText(both.find((each) => !each.absent) ?? view)));
      return;
    }
    const largest = (numbers) => Math.max(0, ...numbers.map(orZero));
    const measured = both.some((each) => each.hidden.length), alike = both[0].kind === both[1].kind;
    const kept = chosen(known.map((row) => largest(weights(row).filter((each) => each !== null))),
      measured ? known.map((row) => ({ change: largest(hidden(row).filter(Boolean).map(changeSize)) })) : [], both[0].kind);
    const own = pairs.indexOf("items", state.record, view.key);
    const rows = [...new Set([...kept.map((i) => known[i]), ...(known.includes(own) ? [own] : [])])].sort((a, b) => a - b);
    const high = Math.max(largest(rows.flatMap(weights)), 1e-12);
    const effects = (side) => rows.map((row) => hidden(row)[side]).filter(Boolean);
    // Changes of other kinds, such as a probability's and a number's, have no scale in common.
    const full = [0, 1].map((side) => fullChange(alike ? [...effects(0), ...effects(1)] : effects(side), both[side].kind));
    const third = measured && both.some(({ kind }) => kind !== "vectors");
    const head = [nounOf(records[0].noun, state.lang), words.attended, words.change, ...(measured ? [words.mattered] : []),
      ...(third ? [words.without] : [])];
    const body = rows.map((row) => {
      const outcomes = hidden(row), found = weights(row), alone = list[row].indexOf(null);
      const side = list[row][0] === null ? 1 : 0, go = () => choose({ side, key: list[row][side] });
      const gap = found.includes(null) ? NaN : found[1] - found[0];
      return h("tr", { "data-key": row, class: row === own ? "key" : "", onclick: go },
        h("th", { scope: "row" }, h("button", { type: "button", class: "plain", "data-id": `row ${row}`, onclick: go },
          pairs.namesOf(list[row]).flatMap((each, i) => [i ? " / " : "", token(each)])),
        alone < 0 ? null : h("span", { class: "quiet only" }, words.onlyIn({ side: "AB"[1 - alone] }))),
        h("td", {}, twoLines(found.map((each, i) => (each === null ? null
          : [lineBar(each / high, "weight"), weightText(both[i], list[row][i])])))),
        h("td", { class: gap > 0 ? "more" : gap < 0 ? "less" : "" }, Number.isNaN(gap) ? "" : percentChange(...found)),
        measured ? h("td", {}, twoLines(outcomes.map((each, i) => (each === null ? null
          : [lineBar(changeSize(each) / full[i], "effect"), effectText(each, both[i].place, both[i].kind)])))) : null,
        third ? h("td", { class: "said" }, twoLines(outcomes.map((each, i) => (each === null ? null
          : [h("span", { class: each.label === both[i].place.label ? "" : "changed" }, token(clipped(each.label, MOST_SHOWN)),
            each.score === null ? "" : ` ${probability(each.score)}`)])))) : null);
    });
    const others = known.length - rows.length;
    root.replaceChildren(
      h("table", { class: "compared two" }, h("thead", {}, h("tr", {}, head.map((each) => h("th", { scope: "col" }, each)))),
        h("tbody", {}, body)),
      ...(others ? [h("p", { class: "quiet" }, words.others({ count: others }))] : []),
      ...(measured ? [] : [h("p", { class: "quiet" }, words.noEffects)]));
  };
}

function lineBar(share, kind) {
  const width = Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0;
  return h("span", { class: `bar ${kind}`, "aria-hidden": "true", style: { width: `${(60 * width).toFixed(1)}%` } });
}
