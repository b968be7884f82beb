// All heads, small, each with its pattern and the answer without it; one is chosen, or their average.
import { colourOf, scaleOf } from "./colours.js";
import { h } from "./dom.js";
import { changeText, probability } from "./numbers.js";
import { cells } from "./tiles.js";
import { hasHead } from "./weights.js";
import { patternOf, wordsOf } from "./words.js";

const THUMBNAIL = 64;

/** The heads; `choose` is called with the layer and the head. */
export function headsView(root, choose) {
  const pictures = new WeakMap();
  return (view) => {
    const { data, state } = view, words = wordsOf(state.lang), scale = scaleOf(root);
    const rows = data.layers.map((layer, number) => {
      const chosen = !view.usesPooling && number === view.number;
      const average = layer.heads === 1 ? [] : [tile(number, null, chosen && view.head === null,
        words.allHeads, "", "")];
      const each = Array.from({ length: layer.heads }, (_, head) => {
        const outcome = view.removed.length ? view.removed[number][head] : null;
        return tile(number, head, chosen && view.head === head, patternOf(layer.patterns[head] || "", state.lang),
          outcome ? answer(outcome) : "", outcome && outcome.label !== view.place.label ? "changed" : "");
      });
      return h("div", { class: "layer", role: "group", "aria-label": layer.name },
        h("span", { class: "name" }, String(number + 1)), h("div", { class: "tiles" }, ...average, ...each));

      function tile(layerNumber, head, pressed, pattern, after, kind) {
        const name = `${layerNumber + 1}.${head === null ? words.allHeads : head + 1}`;
        const picture = h("canvas", { class: "head", width: THUMBNAIL, height: THUMBNAIL, "aria-hidden": "true" });
        draw(picture, data.layers[layerNumber], head, scale);
        return h("button", { type: "button", class: "tile", "aria-pressed": String(pressed), "aria-label":
          [name, pattern, after].filter(Boolean).join(", "), onclick: () => choose({ layer: layerNumber, head, key: null }) },
        picture, h("span", { class: "under" }, h("span", { class: "pattern" }, pattern || (head === null ? "" : name)),
          after ? h("span", { class: `after ${kind}` }, after) : null));
      }
    });
    root.replaceChildren(...rows.reverse());

    function answer(outcome) {
      if (view.kind === "vectors" || view.kind === "numbers") return changeText(outcome.change, view.kind);
      const score = outcome.score === null ? "" : probability(outcome.score);
      return outcome.label === view.place.label ? score : `${outcome.label} ${score}`;
    }
  };

  function draw(picture, layer, head, scale) {
    if (!pictures.has(layer)) pictures.set(layer, new Map());
    const drawn = pictures.get(layer), name = `${head} ${scale.high}`;
    if (!drawn.has(name)) drawn.set(name, thumbnail(layer, head, scale));
    const found = drawn.get(name);
    if (!found) return;
    picture.width = found.width;
    picture.height = found.height;
    picture.getContext("2d").putImageData(found, 0, 0);
  }
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
  const image = new ImageData(found.columns, found.rows);
  for (let i = 0; i < found.sums.length; i++) {
    const [red, green, blue] = colourOf(found.sums[i], high, scale);
    image.data.set([red, green, blue, 255], 4 * i);
  }
  return image;
}
