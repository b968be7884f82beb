// Colours of weights: from the paper to one blue, light or dark as the page is.

/** The two ends of the scale, and what is drawn for hidden pairs, as the style sheet has them. */
export function scaleOf(element) {
  const style = getComputedStyle(element);
  const read = (name) => rgb(style.getPropertyValue(name).trim());
  return { low: read("--weight-low"), high: read("--weight-high"), masked: read("--masked"), broken: read("--broken") };
}

function rgb(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

/** The colour of a weight, whose square root is drawn so that small ones can be told from 0; -1 is hidden. */
export function colourOf(weight, high, scale) {
  if (weight === -1) return scale.masked;
  if (Number.isNaN(weight)) return scale.broken;
  const share = Math.sqrt(Math.max(0, Math.min(1, weight / high)));
  return scale.low.map((low, i) => Math.round(low + share * (scale.high[i] - low)));
}
