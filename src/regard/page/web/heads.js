// All heads, small, each with its pattern and the answer without it; one is chosen, or their average.
import { paint, scaleOf } from "./colours.js";
import { clipped, h } from "./dom.js";
import { changeText, probability } from "./numbers.js";
import { cells } from "./tiles.js";
import { changeSize, fullChange } from "./view.js";
import { HIDDEN, hasHead } from "./weights.js";
import { patternOf, wordsOf } from "./words.js";

const THUMBNAIL = 64;
// More heads than that stand without their words, which a line tells of one of them.
const MOST_WITH_WORDS = 6;

/** The heads; `choose` is called with the layer and the head. */
export function headsView(root, choose) {
  const line = h("p", { class: "quiet line" });
  let built = null, tiles = [];

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
      const outcome = layer === null || head === null || !view.removed.length ? null : view.removed[layer][head];
      after.textContent = outcome ? answer(view, outcome) : "";
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

  function build({ data, state }) {
    const words = wordsOf(state.lang), scale = scaleOf(root);
    const made = data.layers.map((layer) => [...(layer.heads === 1 ? [] : [null]), ...Array(layer.heads).keys()]
      .map((head) => ({ head, found: thumbnail(layer, head) })));
    // One scale, so that heads can be compared.
    const high = Math.max(...made.flat().map(({ found }) => (found ? highOf(found) : 0)));
    const pictureOf = (found) => found && imageOf(found, scale, Math.max(high, 1e-9));
    const many = data.layers.some((layer) => layer.heads > MOST_WITH_WORDS);
    tiles = [];
    const rows = made.map((heads, number) => {
      const pictures = heads.map(({ head, found }) =>
        tile(data.layers[number], number, head, words, state.lang, pictureOf(found)));
      return h("div", { class: "layer", role: "group", "aria-label": words.layerOf(number + 1, data.layers.length) },
        h("span", { class: "name" }, String(number + 1)),
        h("div", { class: "tiles", style: { "--count": heads.length } }, pictures));
    });
    // The pooling comes after the layers, so it stands above them.
    const pooled = data.pooling && data.outcomes.places.some(({ query }) => query === null);
    const pooling = pooled ? [h("div", { class: "layer" }, h("span", { class: "name" }), h("div", { class: "tiles" },
      tile({ ...data.pooling, patterns: [] }, null, null, words, state.lang, pictureOf(thumbnail(data.pooling, null)))))] : [];
    root.replaceChildren(...pooling, ...rows.reverse(), ...(many ? [line] : []));
    root.classList.toggle("many", many);
  }

  function tile(layer, number, head, words, lang, image) {
    const name = number === null ? words.pooling : head === null ? words.allHeads : `${number + 1}.${head + 1}`;
    const pattern = head === null ? "" : patternOf(layer.patterns[head] || "", lang);
    const picture = h("canvas", { class: "head", width: 1, height: 1, "aria-hidden": "true" });
    draw(picture, image);
    const after = h("span", { class: "after" });
    const id = number === null ? "pooling" : `head ${number} ${head}`;
    const button = h("button", { type: "button", class: "tile", "data-id": id, title: name,
      onclick: () => choose({ layer: number, head, key: null }) },
    picture, h("span", { class: "under" }, pattern && h("span", { class: "hidden" }, `${name} `),
      h("span", {}, pattern || name), after));
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

function draw(picture, image) {
  if (!image) return;
  picture.width = image.width;
  picture.height = image.height;
  picture.getContext("2d").putImageData(image, 0, 0);
}

function thumbnail(layer, head) {
  const heads = head === null ? [...Array(layer.heads).keys()] : [head];
  if (layer.overview) return fromOverview(layer, heads);
  return hasHead(layer, head)
    ? cells(layer, heads, { top: 0, bottom: layer.queries, left: 0, right: layer.keys }, THUMBNAIL, THUMBNAIL) : null;
}

/** The cells of the overview, averaged over heads. */
export function fromOverview(layer, heads) {
  const [, rows, columns] = layer.overview.shape, size = rows * columns;
  const own = layer.overview.data, largest = layer.largest.data, seen = allowedCells(layer, rows, columns);
  const sums = new Float32Array(size), most = new Float32Array(size);
  for (const head of heads) {
    for (let i = 0; i < size; i++) {
      sums[i] += own[head * size + i] / heads.length;
      most[i] = Math.max(most[i], largest[head * size + i]);
    }
  }
  if (seen) for (let i = 0; i < size; i++) if (!seen[i]) sums[i] = HIDDEN;
  return { rows, columns, tall: layer.rows_joined, wide: layer.keys_joined, sums, most };
}

const allowed = new WeakMap();

// Which cells of the overview hold a pair that the mask allows in some head; null: all.
function allowedCells(layer, rows, columns) {
  const { mask, rows_joined: tall, keys_joined: wide, queries, keys } = layer;
  if (!mask.start && !mask.pair) return null;
  if (allowed.has(layer)) return allowed.get(layer);
  const found = new Uint8Array(rows * columns);
  for (let query = 0; query < queries; query++) {
    const before = Math.floor(query / tall) * columns;
    if (mask.start) {
      const from = mask.start.data[query], to = mask.stop.data[query];
      if (from < to) found.fill(1, before + Math.floor(from / wide), before + Math.ceil(to / wide));
      continue;
    }
    for (let head = 0; head < mask.pair.shape[0]; head++) {
      for (let key = 0; key < keys; key++) {
        if (mask.pair.data[(head * queries + query) * keys + key]) found[before + Math.floor(key / wide)] = 1;
      }
    }
  }
  allowed.set(layer, found);
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
