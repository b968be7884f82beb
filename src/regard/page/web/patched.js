// What each head, and each position of each layer, of A brings back of its answer in the run of B.
import { h, headedTable, token } from "./dom.js";
import { clamp, percent } from "./numbers.js";
import { wordsOf } from "./words.js";

/** The part of the page, which is the same whatever is chosen; null without patches. */
export function patchedPart({ patched }) {
  // What replaces everything gives everything back, which is no finding.
  if (!patched || Math.max(patched.heads.flat().length, patched.positions.flat().length) === 1) return null;
  const title = h("h2", {}), text = h("p", { class: "quiet" }), heads = h("div", { class: "wide-table" }), positions = h("div", { class: "wide-table" });
  const section = h("section", { class: "patched-part" }, h("div", { class: "title" }, title), text, heads,
    h("p", { class: "quiet" }), positions);
  // Of the only head of a model its number would be no finding.
  const layers = patched.heads.length, isAlone = patched.heads.flat().length === 1;
  if (isAlone) heads.remove();
  return { section, show({ state: { lang } }) {
    const words = wordsOf(lang);
    title.textContent = words.patched;
    section.setAttribute("aria-label", words.patched);
    text.textContent = [words.patchedMeans({ name: patched.name }), words.patchedColour, isAlone ? "" : words.patchedHeads].join(lang === "zh" ? "" : " ").trim();
    section.querySelectorAll("p")[1].textContent = words.patchedPositions;
    const layerName = (number) => words.layerOf({ layer: number + 1, count: layers });
    heads.replaceChildren(shareTable(["", ...patched.heads[0].map((_, head) => words.headOf({ head: head + 1, count: patched.heads[0].length }))],
      patched.heads.map((row, layer) => [layerName(layer), row]).reverse()));
    positions.replaceChildren(shareTable(["", ...patched.items.map((each) => token(each))],
      patched.positions.map((row, layer) => [layerName(layer), row]).reverse()));
  } };
}

function shareTable(names, rows) {
  return headedTable({ class: "shares" }, names, rows.map(([name, shares]) => h("tr", {}, h("th", { scope: "row" }, name),
    shares.map((share) => h("td", { style: { "--effect-share": clamp(share ?? 0, 0, 1).toFixed(3) } }, shareText(share))))));
}

function shareText(share) {
  if (share === null) return "";
  const rounded = Math.round(100 * share);
  return rounded < 0 ? `−${percent(-rounded / 100)}` : `${rounded}%`;
}
