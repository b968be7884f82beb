// The heads of both records side by side, by layer and number, with how much of the weight of each is on other items.
import { scaleOf } from "./colours.js";
import { clipped, h } from "./dom.js";
import { draw, highOfLayer, thumbnail } from "./heads.js";
import { changeText, percent, probability } from "./numbers.js";
import { sideMark } from "./sides.js";
import { isComing } from "./weights.js";
import { patternOf, wordsOf } from "./words.js";

// Heads that differ most, named above the pictures.
const MOST_NAMED = 3;
// More heads than that in a layer are drawn smaller.
const MOST_LARGE = 6;

/** The pictures of the heads; `choose` is called with the layer, the head and the record that has them. */
export function differenceHeads(root, choose, pairs, signal) {
  const named = h("p", { class: "named" }), rows = h("div", { class: "rows-of-heads" });
  const line = h("p", { class: "quiet line" });
  root.append(named, rows, line);
  const waiting = new Map();
  let built = null, tiles = [], shown = null;
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) drawNow(target);
  }, { rootMargin: "100px" });
  root.addEventListener("arrived", ({ detail }) => {
    for (const [picture, { layer }] of waiting) if (layer === detail) seen.observe(picture);
  });
  addEventListener("beforeprint", () => [...waiting.keys()].forEach(drawNow), { signal });

  function drawNow(picture) {
    const found = waiting.get(picture);
    seen.unobserve(picture);
    if (!found || (!found.layer.overview && isComing(found.layer))) return;
    waiting.delete(picture);
    draw(picture, thumbnail(found.layer, found.head), found.scale, found.high);
  }

  return (view) => {
    shown = view;
    const { state } = view, { high } = scaleOf(root), name = `${state.lang} ${high}`;
    if (built !== name) {
      build(view);
      built = name;
    }
    for (const each of tiles) {
      each.pressed = view.both.some(({ usesPooling, number, head, data, absent }) => absent !== "layer" && (each.layer === null
        ? usesPooling : !usesPooling && each.layer === number && (each.head === head || data.layers[number].heads === 1)));
      each.button.setAttribute("aria-pressed", String(each.pressed));
      if (each.pressed && !each.button.matches(":hover")) reveal(each.button);
    }
    tell(null);
  };

  // Scrolls the list, and nothing else.
  function reveal(button) {
    const own = button.getBoundingClientRect(), list = rows.getBoundingClientRect();
    if (own.top < list.top) rows.scrollTop += own.top - list.top;
    else if (own.bottom > list.bottom) rows.scrollTop += own.bottom - list.bottom;
  }

  // What a head is in both, or the chosen one.
  function tell(asked) {
    const tile = asked || tiles.find(({ pressed }) => pressed), words = wordsOf(shown.state.lang);
    line.replaceChildren();
    if (!tile) return;
    const parts = shown.both.map(({ data, removed, kind }, side) => {
      const layer = tile.layer === null ? null : data.layers[tile.layer];
      if (!layer || tile.head === null || tile.head >= layer.heads) return null;
      const outcome = removed[tile.layer]?.[tile.head], pattern = patternOf(layer.patterns[tile.head] || "", shown.state.lang);
      const without = outcome && (outcome.label && kind === "labels"
        ? `${words.without} ${clipped(outcome.label, 40)} ${outcome.score === null ? "" : probability(outcome.score)}`.trim()
        : `${words.without} ${changeText(outcome.change, kind)}`);
      const said = [pattern, without].filter(Boolean).join(", ");
      return said && [" · ", sideMark(side), ` ${said}`];
    });
    line.append(h("strong", {}, tile.name), ...(tile.gap === null ? [] : [` · ${words.moved({ share: percent(tile.gap) })}`]),
      ...parts.filter(Boolean).flat());
  }

  function build({ both, state }) {
    const words = wordsOf(state.lang), scale = scaleOf(root), records = both.map(({ data }) => data);
    const high = Math.max(1e-9, ...records.flatMap(({ layers }) => layers.map(highOfLayer)));
    const count = Math.max(...records.map(({ layers }) => layers.length)), gaps = pairs.against.heads;
    const pictures = records.flatMap(({ layers }) => layers).reduce((sum, { heads }) => sum + heads, 0);
    tiles = [];
    seen.disconnect();
    waiting.clear();
    const ranked = gaps.flatMap((heads, layer) => heads.map((gap, head) => ({ layer, head, gap })))
      .filter(({ gap }) => gap > 0).sort((a, b) => b.gap - a.gap).slice(0, MOST_NAMED);
    const largest = ranked.length ? Math.max(ranked[0].gap, 1e-9) : 1;
    named.replaceChildren(...(ranked.length ? [`${words.differMost} `] : []), ...ranked.map(({ layer, head, gap }) =>
      h("button", { type: "button", "data-id": `named ${layer} ${head}`, onclick: () => choose({ side: 0, layer, head, key: null }) },
        h("strong", {}, `${layer + 1}.${head + 1}`), ` ${percent(gap)}`)));
    named.hidden = !ranked.length;
    rows.classList.toggle("dense", records.some(({ layers }) => layers.some(({ heads }) => heads > MOST_LARGE)));
    const tile = (layer, head) => {
      const own = records.map(({ layers }) => (layer === null ? null : layers[layer]));
      const there = own.map((each) => Boolean(each) && (head === null || head < each.heads));
      const gap = head === null || layer === null ? null : gaps[layer]?.[head] ?? null;
      const name = layer === null ? words.pooling : head === null ? `${layer + 1} · ${words.allHeads}` : `${layer + 1}.${head + 1}`;
      const drawn = own.map((each, side) => {
        if (layer !== null && !there[side]) return h("span", { class: "head missing", "aria-hidden": "true" });
        const picture = h("canvas", { class: "head", width: 1, height: 1, "aria-hidden": "true" });
        waiting.set(picture, { layer: layer === null ? records[side].pooling : each, head, scale, high });
        if (pictures <= 64) drawNow(picture);
        else seen.observe(picture);
        return picture;
      });
      const button = h("button", { type: "button", class: "tile", "data-id": layer === null ? "pooling" : `head ${layer} ${head}`,
        title: name, onclick: () => choose({ side: layer === null || there[0] ? 0 : 1, layer, head, key: null }) },
      h("span", { class: "two-heads" }, drawn), h("span", { class: "under" }, h("span", {}, head === null ? words.allHeads : name),
        h("span", { class: "gap" }, gap === null ? "" : percent(gap))));
      button.style.setProperty("--gap-share", gap === null ? 0 : (gap / largest).toFixed(3));
      const made = { layer, head, button, name, gap, pressed: false };
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => tell(made));
      for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => tell(null));
      tiles.push(made);
      return button;
    };
    const lines = Array.from({ length: count }, (_, layer) => {
      const most = Math.max(...records.map(({ layers }) => layers[layer]?.heads ?? 0));
      const heads = [...(most === 1 ? [] : [null]), ...Array(most).keys()];
      return h("div", { class: "layer", role: "group", "aria-label": words.layerOf({ layer: layer + 1, count }) },
        h("span", { class: "name" }, String(layer + 1)), h("div", { class: "tiles", style: { "--count": heads.length } }, heads.map((head) => tile(layer, head))));
    });
    const pooled = both.every(({ data }) => data.pooling && data.outcomes.places.some(({ query }) => query === null));
    rows.replaceChildren(...(pooled ? [h("div", { class: "layer" }, h("span", { class: "name" }), h("div", { class: "tiles" }, tile(null, null)))] : []),
      ...lines.reverse());
  }
}
