// All heads, small, each with its pattern and the answer without it; one is chosen, or their average.
import { paint, scaleOf } from "./colours.js";
import { clipped, h } from "./dom.js";
import { changeText, probability } from "./numbers.js";
import { cells, hideMasked } from "./tiles.js";
import { changeSize, fullChange } from "./view.js";
import { headsOf, isComing, known, sharedMask } from "./weights.js";
import { patternOf, wordsOf } from "./words.js";

const THUMBNAIL = 64;
// More heads are drawn when they come into sight.
const AT_FIRST = 40;
// More heads than that stand without their words, which a line tells of one of them.
const MOST_WITH_WORDS = 6;

/** The heads; `choose` is called with the layer and the head. */
export function headsView(root, choose, signal) {
  const line = h("p", { class: "quiet line" });
  let built = null, tiles = [];
  // Pictures that aren't drawn yet, of which layer and head.
  const waiting = new Map();
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting && waiting.has(target)) drawNow(target);
  }, { rootMargin: "100px" });
  root.addEventListener("arrived", ({ detail }) => {
    for (const [picture, { layer }] of waiting) if (layer === detail) seen.observe(picture);
  });
  addEventListener("beforeprint", () => [...waiting.keys()].forEach(drawNow), { signal });

  function drawNow(picture) {
    const { layer, head, scale, high } = waiting.get(picture);
    seen.unobserve(picture);
    // What the page is still unpacking is drawn when it is there.
    if (!layer.overview && isComing(layer)) return;
    waiting.delete(picture);
    draw(picture, thumbnail(layer, head), scale, high);
  }

  return (view) => {
    const { data, state } = view, { high } = scaleOf(root), name = `${state.record} ${state.lang} ${high}`;
    if (built !== name) {
      build(view);
      built = name;
    }
    const full = fullChange(view.removed.flat(), view.kind);
    for (const { layer, head, button, after } of tiles) {
      const pressed = layer === null ? view.usesPooling
        : layer === view.number && (head === view.head || data.layers[layer].heads === 1);
      button.setAttribute("aria-pressed", String(Boolean(pressed)));
      if (pressed) reveal(button);
      const outcome = layer === null || head === null || !view.removed.length ? null : view.removed[layer][head];
      after.textContent = outcome ? answer(view, outcome) : "";
      after.classList.toggle("numeric", view.kind === "numbers");
      after.classList.toggle("changed", outcome !== null && outcome.label !== view.place.label);
      button.style.setProperty("--effect-share", outcome ? (changeSize(outcome) / full).toFixed(3) : 0);
    }
    tell(null);
  };

  // What a head is, or the chosen one.
  function tell(asked) {
    const tile = asked || tiles.find(({ button }) => button.getAttribute("aria-pressed") === "true");
    line.textContent = tile ? [tile.name, tile.pattern, tile.after.textContent.trim()].filter(Boolean).join(" · ") : "";
  }

  // Scrolls the list, and nothing else.
  function reveal(button) {
    if (root.scrollHeight <= root.clientHeight) return;
    const own = button.getBoundingClientRect(), list = root.getBoundingClientRect();
    if (own.top < list.top) root.scrollTop += own.top - list.top;
    else if (own.bottom > list.bottom) root.scrollTop += own.bottom - list.bottom;
  }

  function build({ data, state }) {
    const words = wordsOf(state.lang), scale = scaleOf(root);
    // One scale, so that heads can be compared.
    const high = Math.max(1e-9, ...data.layers.map(highOfLayer), data.pooling ? highOfLayer(data.pooling) : 0);
    const many = data.layers.some((layer) => layer.heads > MOST_WITH_WORDS);
    const count = data.layers.reduce((sum, layer) => sum + layer.heads, 0);
    const drawLater = (picture, layer, head) => {
      waiting.set(picture, { layer, head, scale, high });
      if (count <= AT_FIRST) drawNow(picture);
      else seen.observe(picture);
    };
    tiles = [];
    seen.disconnect();
    waiting.clear();
    const rows = data.layers.map((layer, number) => {
      const heads = [...(layer.heads === 1 ? [] : [null]), ...Array(layer.heads).keys()];
      const pictures = heads.map((head) => tile(layer, number, head, words, state.lang, drawLater));
      return h("div", { class: "layer", role: "group", "aria-label": words.layerOf({ layer: number + 1, count: data.layers.length }) },
        h("span", { class: "name" }, String(number + 1)),
        h("div", { class: "tiles", style: { "--count": heads.length } }, pictures));
    });
    // The pooling comes after the layers, so it stands above them.
    const pooled = data.pooling && data.outcomes.places.some(({ query }) => query === null);
    const pooling = pooled ? [h("div", { class: "layer" }, h("span", { class: "name" }), h("div", { class: "tiles" },
      tile(data.pooling, null, null, words, state.lang, drawLater)))] : [];
    root.replaceChildren(...pooling, ...rows.reverse(), ...(many ? [line] : []));
    root.classList.toggle("many", many);
  }

  function tile(layer, number, head, words, lang, drawLater) {
    const name = number === null ? words.pooling : head === null ? words.allHeads : `${number + 1}.${head + 1}`;
    const pattern = head === null ? "" : patternOf(layer.patterns[head] || "", lang);
    const picture = h("canvas", { class: "head", width: 1, height: 1, "aria-hidden": "true" });
    drawLater(picture, layer, head);
    const after = h("span", { class: "after" });
    const id = number === null ? "pooling" : `head ${number} ${head}`;
    const button = h("button", { type: "button", class: "tile", "data-id": id, title: name,
      onclick: () => choose({ layer: number, head, key: null }) },
    picture, h("span", { class: "under" }, h("span", {}, name), pattern && h("span", { class: "pattern" }, ` ${pattern}`), after));
    const made = { layer: number, head, button, after, pattern,
      name: head === null && number !== null ? `${number + 1} · ${name}` : name };
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => tell(made));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => tell(null));
    tiles.push(made);
    return button;
  }
}

function answer({ kind, place }, outcome) {
  if (kind === "vectors" || kind === "numbers") return ` ${changeText(outcome.change, kind)}`;
  const score = outcome.score === null ? "" : probability(outcome.score);
  return outcome.label === place.label ? ` ${score}` : ` ${clipped(outcome.label, 40)} ${score}`;
}

/** Draw cells as a picture of one pixel each. */
export function draw(picture, found, scale, high) {
  if (!found) return;
  const image = imageOf(found, scale, high);
  picture.width = image.width;
  picture.height = image.height;
  picture.getContext("2d").putImageData(image, 0, 0);
}

/** The cells of the small picture of a head; null if the page doesn't hold its weights. */
export function thumbnail(layer, head) {
  if (layer.overview) return fromOverview(layer, head);
  const window = { top: 0, bottom: layer.queries, left: 0, right: layer.keys };
  return known(layer, head) === "all" ? cells(layer, headsOf(layer, head), window, THUMBNAIL, THUMBNAIL) : null;
}

/** The largest number in the pictures of a layer; no average is larger than the largest of the heads. */
export function highOfLayer(layer) {
  if (layer.overview_high !== undefined) return layer.overview_high;
  return Math.max(...headsOf(layer, null).map((head) => thumbnail(layer, head)).map((found) => (found ? highOf(found) : 0)));
}

/** The cells of the overview of a head, or averaged over all heads. */
export function fromOverview(layer, head) {
  const [, rows, columns] = layer.overview.shape, heads = headsOf(layer, head), size = rows * columns;
  const sums = new Float64Array(size), most = new Float64Array(size);
  for (const each of heads) {
    const own = layer.overview.part(each), largest = layer.largest.part(each);
    for (let i = 0; i < size; i++) {
      sums[i] += own[i] / heads.length;
      most[i] = Math.max(most[i], largest[i]);
    }
  }
  const found = { rows, columns, tall: layer.rows_joined, wide: layer.keys_joined, sums, most };
  const window = { top: 0, bottom: layer.queries, left: 0, right: layer.keys };
  hideMasked(found, window, { mask: sharedMask(layer, head), keys: layer.keys });
  return found;
}

/** The largest number that is drawn in full colour. */
export function highOf({ sums }) {
  let high = 1e-9;
  for (const each of sums) if (Number.isFinite(each) && each > high) high = each;
  return high;
}

/** Cells as pixels, one each. */
export function imageOf(found, scale, high = highOf(found)) {
  return new ImageData(paint(found.sums, high, scale), found.columns, found.rows);
}
