// How much each item contributes by a method of attribution, beside the weights: the layer and the head are those that were asked for.
import { MOST_SHOWN } from "./answers.js";
import { tracked } from "./compared.js";
import { clipped, h, headedTable, token } from "./dom.js";
import { nameOfPlace } from "./facts.js";
import { percent, signedPercent } from "./numbers.js";
import { highestOf, orZero, scaleOfSigned } from "./view.js";
import { nounOf, wordsOf } from "./words.js";

const MOST_ATTRIBUTED = 12;

/** What the method gives where the layer and the head are those that were asked for, as {method, shares}; null elsewhere. */
export function attributedAt({ attributed, shown }, { place, layer, head }) {
  const row = attributed && layer === shown.layer && head === shown.head ? attributed.rows.find((each) => each.place === place) : null;
  return row ? { method: methodOf(attributed), shares: sharesOf(row) } : null;
}

function methodOf({ name }) {
  return name.endsWith("weighted") ? `${name} attention` : name;
}

function sharesOf({ shares }) {
  return shares.map((each) => each ?? NaN);
}

/** The part of the page; null without an attribution. */
export function attributedPart({ attributed }) {
  if (!attributed) return null;
  const { name, misleads, rows } = attributed, method = methodOf(attributed);
  const title = h("h2", {}), note = h("span", { class: "quiet" }), table = h("div", {}), means = h("p", { class: "quiet" }), where = h("p", { class: "quiet" });
  const section = h("section", { class: "attributed-part" }, h("div", { class: "title" }, title, note),
    h("div", { class: "attributed" }, table, h("div", {}, means, where)));
  return { section, show(view) {
    const { data, state, names } = view, words = wordsOf(state.lang);
    // What wasn't computed for the chosen prediction is shown for the first one.
    const row = rows.find(({ place }) => place === state.place) ?? rows[0], place = data.outcomes.places[row.place];
    const called = nameOfPlace({ data, place, names });
    title.textContent = words.attributedBy({ method });
    section.setAttribute("aria-label", title.textContent);
    note.textContent = called === "the whole" ? row.title : words.attributedFor({ title: row.title, name: clipped(called, MOST_SHOWN) });
    table.replaceChildren(shareBars(sharesOf(row), view, words));
    const of = !attributed.of_answer ? "" : words[place.score === null ? "ofNumber" : "ofProbability"]({ label: clipped(place.label, MOST_SHOWN) });
    means.textContent = words.attribution({ name, means: attributed.means + of });
    where.textContent = words.misleads({ misleads });
  } };
}

// The items with the largest shares, in the order of the input.
function shareBars(shares, { data, names, state }, words) {
  const sizes = shares.map((each) => Math.abs(orZero(each))), all = [...shares.keys()];
  const kept = [...all].sort((a, b) => sizes[b] - sizes[a]).slice(0, MOST_ATTRIBUTED).sort((a, b) => a - b), others = all.filter((i) => !kept.includes(i));
  const texts = shares.map(signedPercent), scale = scaleOfSigned(kept.map((i) => shares[i]));
  const room = Math.max(...kept.map((i) => texts[i].length));
  return h("div", {}, headedTable({ class: "compared" }, [nounOf(data.noun, state.lang), words.attributedShare], kept.map((i) => h("tr", {},
    h("th", { scope: "row" }, token(clipped(names[i], MOST_SHOWN))), h("td", {}, tracked(orZero(shares[i]), scale, texts[i], room, "weight"))))),
  others.length ? h("p", { class: "quiet" }, words.others({ count: others.length, weight: percent(highestOf(others.map((i) => sizes[i]), 0)).replace(/^</, "") })) : null);
}
