// What is told of the heads of two records: how much of the weight of each is on other items, and the answers without it.
import { button, clipped, h } from "./dom.js";
import { effectText, percent, probability } from "./numbers.js";
import { sideMark } from "./sides.js";
import { patternOf, wordsOf } from "./words.js";

// Heads that differ most, named above the pictures.
const MOST_NAMED = 3;

/** The form of the heads, as `headsView` takes it. */
export function headsOfBoth({ against: { heads: gaps }, ofOneModel }) {
  // Of two models which heads have the same number is chance, and which of them differ most tells nothing.
  const ranked = !ofOneModel ? [] : gaps.flatMap((heads, layer) => heads.map((gap, head) => ({ layer, head, gap })))
    .filter(({ gap }) => gap > 0).sort((a, b) => b.gap - a.gap).slice(0, MOST_NAMED);
  const largest = Math.max(1e-9, ...gaps.flat());
  return (root, line, choose) => {
    const named = h("p", { class: "named" }), list = h("div", { class: "rows-of-heads" }), key = h("p", { class: "heads-key" });
    root.append(named, list, line, key);
    return {
      list,
      frame(rows, many, { state }) {
        named.replaceChildren(...(ranked.length ? [`${wordsOf(state.lang).differMost} `] : []), ...ranked.map(({ layer, head, gap }) =>
          button(`named ${layer} ${head}`, [h("strong", {}, `${layer + 1}.${head + 1}`), ` ${percent(gap)}`],
            () => choose({ side: 0, layer, head, key: null }))));
        named.hidden = !ranked.length;
        list.classList.toggle("dense", many);
        list.replaceChildren(...rows);
      },
      parts(tile, pictures, { state }) {
        const words = wordsOf(state.lang), from = tile.removed.flatMap((each, side) => (each ? ["AB"[side]] : []));
        tile.gap = tile.head === null || from.length ? null : gaps[tile.layer]?.[tile.head] ?? null;
        return [h("span", { class: "two-heads" }, pictures),
          h("span", { class: "under" }, h("span", {}, tile.short), h("span", { class: "gap" }, tile.gap === null ? "" : percent(tile.gap)),
            from.length ? h("span", { class: "pattern" }, words.removedFrom({ sides: from.join(words.and) })) : null)];
      },
      show(tiles, { state: { lang } }) {
        const words = wordsOf(lang), bars = tiles.some(({ gap }) => gap > 0) ? words.barsOfGaps({ share: percent(largest) }) : "";
        key.textContent = tiles.some(({ gap }) => gap !== null) ? `${words.keyOfGaps}${bars}${lang === "zh" ? "。" : "."}` : "";
        for (const { button, gap } of tiles) button.style.setProperty("--gap-share", gap === null ? 0 : (gap / largest).toFixed(3));
      },
      told(tile, { both, state }) {
        const words = wordsOf(state.lang);
        const parts = both.map((view, side) => {
          const said = toldOf(tile, view, words, state.lang);
          return said && [" · ", sideMark(side), ` ${said}`];
        });
        return [h("strong", {}, tile.name), ...(tile.gap === null ? [] : [` · ${words.moved({ share: percent(tile.gap) })}`]),
          ...parts.filter(Boolean).flat()];
      },
    };
  };
}

// What a head is in one of the records: its pattern, and the answer without it.
function toldOf({ layer, head }, { data, removed, kind, place }, words, lang) {
  const own = layer === null ? null : data.layers[layer];
  if (!own || head === null || head >= own.heads) return "";
  const outcome = removed[layer]?.[head], pattern = patternOf(own.patterns[head] || "", lang);
  const without = outcome && (outcome.label && kind === "labels"
    ? `${words.without} ${clipped(outcome.label, 40)} ${outcome.score === null ? "" : probability(outcome.score)}`.trim()
    : `${words.without} ${effectText(outcome, place, kind, words)}`);
  return [pattern, without].filter(Boolean).join(", ");
}
