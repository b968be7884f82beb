// The scale of the map, for chips and drawings beside it: the same weight has the same colour in all of them.
import { colourOf, scaleOf } from "./colours.js";
import { fullColour } from "./uniform.js";
import { highestOf } from "./view.js";
import { known, rowOf } from "./weights.js";

// Of more weights than that the chosen row has a scale of its own, as the map of sums has.
const MOST_SCALED = 2 ** 17;
// The luminance above which black has more contrast than white: 1.05 / (L + 0.05) = (L + 0.05) / 0.05.
const MIDDLE = 0.179;

const largests = new WeakMap();

/** Whether the map of a view has one scale for all of its windows. */
export function isScaledWhole({ layer, head }) {
  return layer.queries * layer.keys * layer.heads <= MOST_SCALED && known(layer, head) === "all";
}

/** The scale of the map of a view, or where that is too large, of its row: {full, largest}, as `scaleLegend` takes it. */
export function mapScale({ scale, layer, head, weights }) {
  if (scale) return scale;
  const largest = isScaledWhole({ layer, head }) ? largestOfHead(layer, head) : highestOf(weights ?? [], 0);
  return { full: fullColour(largest, layer.keys), largest };
}

/** The one scale of several: {full, largest}. */
export function commonScale(scales) {
  return { full: Math.max(...scales.map(({ full }) => full)), largest: Math.max(...scales.map(({ largest }) => largest)) };
}

function largestOfHead(layer, head) {
  if (!largests.has(layer)) largests.set(layer, new Map());
  const found = largests.get(layer);
  if (!found.has(head)) {
    found.set(head, Array.from({ length: layer.queries }).reduce((most, _, query) => highestOf(rowOf(layer, head, query), most), 0));
  }
  return found.get(head);
}

/** The style of a chip with a weight: the colour of its cell in the map, and black or white on it. */
export function chipStyle(root, view, weight) {
  if (!(weight >= 0)) return {};
  const colour = colourOf(weight, mapScale(view).full, scaleOf(root));
  return { "--fill": `rgb(${colour.join(" ")})`, "--on-fill": luminance(colour) > MIDDLE ? "#000" : "#fff" };
}

function luminance(colour) {
  const [red, green, blue] = colour.map((each) => (each <= 10 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
