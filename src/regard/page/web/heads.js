// All heads, small, each with its pattern and the answer without it; one is chosen, or their average.
import { paint, scaleOf } from "./colours.js";
import { h } from "./dom.js";
import { changeText, probability } from "./numbers.js";
import { cells } from "./tiles.js";
import { hasHead } from "./weights.js";
import { patternOf, wordsOf } from "./words.js";

const THUMBNAIL = 64;

/** The heads; `choose` is called with the layer and the head. */
export function headsView(root, choose) {
  let built = null, tiles = [];

  return (view) => {
    const { data, state } = view, { high } = scaleOf(root), name = `${state.record} ${state.lang} ${high}`;
    if (built !== name) {
      build(view);
      built = name;
    }
    for (const { layer, head, button, after } of tiles) {
      const pressed = layer === null ? view.usesPooling
        : layer === view.number && (head === view.head || data.layers[layer].heads === 1);
      button.setAttribute("aria-pressed", String(Boolean(pressed)));
      const outcome = layer === null || head === null || !view.removed.length ? null : view.removed[layer][head];
      after.textContent = outcome ? answer(view, outcome) : "";
      after.classList.toggle("changed", outcome !== null && outcome.label !== view.place.label);
    }
  };

  function build({ data, state }) {
    const words = wordsOf(state.lang), scale = scaleOf(root);
    tiles = [];
    // The pooling comes after the layers, so it stands above them.
    const pooling = data.pooling && data.outcomes.places.some(({ query }) => query === null)
      ? [h("div", { class: "layer" }, h("span", { class: "name" }), h("div", { class: "tiles" },
        tile({ ...data.pooling, patterns: [] }, null, null, words, state.lang, scale)))] : [];
    root.replaceChildren(...pooling, ...data.layers.map((layer, number) => {
      const heads = [...(layer.heads === 1 ? [] : [null]), ...Array(layer.heads).keys()];
      return h("div", { class: "layer", role: "group", "aria-label": words.layerOf(number + 1, data.layers.length) },
        h("span", { class: "name" }, String(number + 1)),
        h("div", { class: "tiles" }, heads.map((head) => tile(layer, number, head, words, state.lang, scale))));
    }).reverse());
  }

  function tile(layer, number, head, words, lang, scale) {
    const name = number === null ? words.pooling : head === null ? words.allHeads : `${number + 1}.${head + 1}`;
    const pattern = head === null ? "" : patternOf(layer.patterns[head] || "", lang);
    const picture = h("canvas", { class: "head", width: 1, height: 1, "aria-hidden": "true" });
    draw(picture, layer, head, scale);
    const after = h("span", { class: "after" });
    const id = number === null ? "pooling" : `head ${number} ${head}`;
    const button = h("button", { type: "button", class: "tile", "data-id": id, title: name,
      onclick: () => choose({ layer: number, head, key: null }) },
    picture, h("span", { class: "under" }, pattern && h("span", { class: "hidden" }, `${name} `),
      h("span", {}, pattern || name), after));
    tiles.push({ layer: number, head, button, after });
    return button;
  }
}

function answer({ kind, place }, outcome) {
  if (kind === "vectors" || kind === "numbers") return ` ${changeText(outcome.change, kind)}`;
  const score = outcome.score === null ? "" : probability(outcome.score);
  return outcome.label === place.label ? ` ${score}` : ` ${outcome.label} ${score}`;
}

function draw(picture, layer, head, scale) {
  const found = thumbnail(layer, head, scale);
  if (!found) return;
  picture.width = found.width;
  picture.height = found.height;
  picture.getContext("2d").putImageData(found, 0, 0);
}

function thumbnail(layer, head, scale) {
  const heads = head === null ? [...Array(layer.heads).keys()] : [head];
  let found;
  if (layer.overview) found = fromOverview(layer, heads);
  else if (hasHead(layer, head)) {
    found = cells(layer, heads, { top: 0, bottom: layer.queries, left: 0, right: layer.keys }, THUMBNAIL, THUMBNAIL);
  } else return null;
  return imageOf(found, scale);
}

/** The cells of the overview, averaged over heads. */
export function fromOverview(layer, heads) {
  const [, rows, columns] = layer.overview.shape, size = rows * columns;
  const sums = new Float32Array(size), most = new Float32Array(size);
  for (const head of heads) {
    for (let i = 0; i < size; i++) {
      sums[i] += layer.overview.data[head * size + i] / heads.length;
      most[i] = Math.max(most[i], layer.largest.data[head * size + i]);
    }
  }
  return { rows, columns, tall: layer.rows_joined, wide: layer.keys_joined, sums, most };
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
