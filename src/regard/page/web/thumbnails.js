// The weights of a head as a small picture, which is drawn when it comes into sight.
import { paint } from "./colours.js";
import { h } from "./dom.js";
import { cells, hideMasked, wholeOf } from "./tiles.js";
import { fullColour } from "./uniform.js";
import { highestOf } from "./view.js";
import { headsOf, isComing, known, sharedMask } from "./weights.js";

const THUMBNAIL = 64;
// Of more pictures, each is drawn when it comes into sight.
const AT_FIRST = 96;

/** The pictures in an element, which is told by an event, "arrived", when the page has unpacked a layer. */
export function thumbnailsIn(root, signal) {
  // Those that aren't drawn yet, of which layer and head.
  const waiting = new Map();
  let atOnce = true;
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

  return {
    /** Forget the pictures, in place of which so many will be added. */
    begin(count) {
      seen.disconnect();
      waiting.clear();
      atOnce = count <= AT_FIRST;
    },
    /** The picture of a head. */
    add(layer, head, scale, high) {
      const picture = h("canvas", { class: "head", width: 1, height: 1, "aria-hidden": "true" });
      waiting.set(picture, { layer, head, scale, high });
      if (atOnce) drawNow(picture);
      else seen.observe(picture);
      return picture;
    },
  };
}

// Draw cells as a picture of one pixel each.
function draw(picture, found, scale, high) {
  if (!found) return;
  const image = imageOf(found, scale, high);
  picture.width = image.width;
  picture.height = image.height;
  picture.getContext("2d").putImageData(image, 0, 0);
}

// The cells of the small picture of a head; null if the page doesn't hold its weights.
function thumbnail(layer, head) {
  if (layer.overview) return fromOverview(layer, head);
  return known(layer, head) === "all" ? cells(layer, headsOf(layer, head), wholeOf(layer), THUMBNAIL, THUMBNAIL) : null;
}

/** The largest number in the pictures of a layer; no average is larger than the largest of the heads. */
export function highOfLayer(layer) {
  if (layer.overview_high !== undefined) return fullColour(layer.overview_high, layer.keys / layer.keys_joined);
  return Math.max(...headsOf(layer, null).map((head) => thumbnail(layer, head)).map((found) => (found ? highOf(found, layer) : 0)));
}

/** Whether a cell of the small pictures of a layer joins several weights. */
export function isJoined(layer) {
  return layer.overview ? layer.keys_joined * layer.rows_joined > 1 : Math.max(layer.keys, layer.queries) > THUMBNAIL;
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
  hideMasked(found, wholeOf(layer), { mask: sharedMask(layer, head), keys: layer.keys });
  return found;
}

/** The number that has the full colour, of cells that each join some keys of a layer. */
export function highOf({ sums, wide }, { keys }) {
  return fullColour(highestOf(sums, 1e-9), keys / wide);
}

/** Cells as pixels, one each. */
export function imageOf(found, scale, high) {
  return new ImageData(paint(found.sums, high, scale), found.columns, found.rows);
}
