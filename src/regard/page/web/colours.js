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

// Between so many places a legend mixes its colours.
const STRETCHES = 16;

/**
 * The beginning of the legend of weights: their colours from 0 to the largest that is drawn, and what they mean.
 *
 * scale: {full, largest}: the weight that has the full colour, and the largest that is drawn; name: what has these weights;
 * equal: where the colours have a mark, what each would have of equal weights; 0: nowhere; among: of how many, if the mask
 * hides others; cover: how much of what is below it the full colour hides, where weights are drawn over something.
 */
export function scaleLegend(words, { full, largest }, { name = words.legend, equal = 0, among = 0, cover = 0 } = {}) {
  const end = Math.max(largest, equal) || full, mark = { class: "equal", style: { left: `${(100 * equal / end).toFixed(1)}%` } };
  const colours = Array.from({ length: STRETCHES + 1 }, (_, i) => {
    const place = (i / STRETCHES) ** 2, share = (100 * (cover || 1) * shareOfColour(end * place, full)).toFixed(1);
    return `color-mix(in srgb, var(--weight-high) ${share}%, ${cover ? "transparent" : "var(--weight-low)"}) ${(100 * place).toFixed(2)}%`;
  });
  // Black above white, as a picture may be either.
  const below = cover ? ", linear-gradient(#000 50%, #fff 50%)" : "";
  const scale = h("span", { class: "scaled" }, "0% ", h("span", { class: cover ? "scale over" : "scale", "aria-hidden": "true",
    style: { background: `linear-gradient(90deg, ${colours.join(", ")})${below}` } }, equal ? h("i", mark) : null), ` ${percent(end)}`);
  const share = percent(equal), said = [words.scaleMeans, cover ? words.scaleOver : "",
    equal ? (among ? words.scaleEqualAllowed({ share, count: among }) : words.scaleEqual({ share })) : "",
    percent(full) === percent(end) ? "" : words.scaleFull({ share: percent(full) })];
  return [`${name} `, scale, ...said.filter(Boolean).map((each) => ` · ${each}`)];
}

// How much of the full colour a weight has: the square root, so that small ones can be told from 0.
function shareOfColour(weight, high) {
  return Math.sqrt(clamp(weight / high, 0, 1));
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
