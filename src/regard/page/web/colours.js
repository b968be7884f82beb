// Colours of weights: from the paper to one blue, light or dark as the page is.
import { h } from "./dom.js";
import { clamp, percent } from "./numbers.js";
import { HIDDEN } from "./weights.js";

/** The two ends of the scale, and what is drawn for hidden pairs, as the style sheet has them. */
export function scaleOf(element) {
  const style = getComputedStyle(element);
  const read = (name) => rgb(style.getPropertyValue(name).trim());
  return { low: read("--weight-low"), high: read("--weight-high"), masked: read("--masked"), broken: read("--broken") };
}

/** A patch of colour in a legend. */
export function swatch(kind) {
  return h("span", { class: kind, "aria-hidden": "true" });
}

/**
 * The beginning of the legend of weights, with the weight in the middle of the scale; `equal`: where the scale has a mark, what
 * each would have of equal weights; 0: nowhere. `among`: of how many, if the mask hides others.
 */
export function scaleLegend(words, high, equal = 0, among = 0) {
  const mark = equal ? shareOfColour(equal, high) : null;
  const half = (name, from, holds) => h("span", { class: `scale ${name}`, "aria-hidden": "true" },
    mark !== null && holds ? h("i", { class: "equal", style: { left: `${(200 * (mark - from)).toFixed(1)}%` } }) : null);
  const scale = h("span", { class: "scaled" }, "0% ", half("lower", 0, mark <= 0.5), ` ${percent(weightOfColour(0.5, high))} `,
    half("upper", 0.5, mark > 0.5), ` ${percent(high)}`);
  const share = percent(equal), said = among ? words.equalWeightsAllowed({ share, count: among }) : words.equalWeights({ share });
  return [`${words.legend} `, scale, equal ? ` · ${said}` : ""];
}

// How much of the full colour a weight has: the square root, so that small ones can be told from 0; and the weight that has so much.
function shareOfColour(weight, high) {
  return Math.sqrt(clamp(weight / high, 0, 1));
}

function weightOfColour(share, high) {
  return high * share ** 2;
}

/** A colour of the style sheet as three numbers. */
export function colourNamed(element, name) {
  return rgb(getComputedStyle(element).getPropertyValue(name).trim());
}

function rgb(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

/** The colour of a weight. */
export function colourOf(weight, high, scale) {
  if (weight === HIDDEN) return scale.masked;
  if (Number.isNaN(weight)) return scale.broken;
  return between(scale, shareOfColour(weight, high));
}

/** The scale of differences: that of weights, with an end for those below 0 and one for those above. */
export function scaleOfDifferences(element) {
  return { ...scaleOf(element), less: colourNamed(element, "--less"), more: colourNamed(element, "--more") };
}

/** The colour of a difference: along a straight line from 0 to one of the ends. */
export function colourOfDifference(value, high, { low, less, more, masked, broken }) {
  if (value === HIDDEN) return masked;
  return Number.isNaN(value) ? broken : between({ low, high: value < 0 ? less : more }, Math.min(1, Math.abs(value) / high));
}

function between({ low, high }, share) {
  return low.map((each, i) => Math.round(each + share * (high[i] - each)));
}

/** The same colours for many weights at once, four bytes each. */
export function paint(weights, high, scale) {
  const steps = 1023, table = new Uint32Array(steps + 1);
  for (let i = 0; i <= steps; i++) table[i] = packed(between(scale, i / steps));
  const masked = packed(scale.masked), broken = packed(scale.broken), found = new Uint32Array(weights.length);
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i];
    found[i] = weight === HIDDEN ? masked : Number.isNaN(weight) ? broken
      : table[Math.round(steps * shareOfColour(weight, high))];
  }
  return new Uint8ClampedArray(found.buffer);
}

function packed([red, green, blue]) {
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}
