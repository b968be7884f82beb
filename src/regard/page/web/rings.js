// The items that mattered, ringed on a drawing in the colour of effects: the wider the ring, the more; dashed where it rises.
import { MOST_SHOWN } from "./answers.js";
import { swatch } from "./colours.js";
import { clipped, h } from "./dom.js";
import { isTold, littleOf, ownItemOf } from "./facts.js";
import { namedItems } from "./marked.js";
import { sizeText } from "./numbers.js";
import { LITTLE_CHANGE, changeSize, highestOf, longChange } from "./view.js";

const MOST_RINGED = 8;
// Smaller parts of the largest effect, or of a long one, have no ring.
const LEAST_RINGED = 0.1;
// In pixels: the thinnest and the widest.
const RING = { least: 1.5, most: 4.5 };

/**
 * The items whose hiding changes the answer by what the sentence doesn't call little, or which it names for all that, the largest
 * first: {item, width, rises}.
 */
export function ringsOf(view) {
  const { hidden, kind, place } = view, own = ownItemOf(view), named = namedItems(view);
  const told = [...hidden.keys()].filter((item) => item !== own && !hidden[item].isNoise && isTold(place, hidden[item], kind)
    && (named.includes(item) || !littleOf(view, hidden[item])));
  const largest = Math.max(longChange(view), ...told.map((item) => changeSize(hidden[item])));
  return told.map((item) => ({ item, share: changeSize(hidden[item]) / largest })).filter(({ item, share }) => share >= LEAST_RINGED || named.includes(item))
    .sort((a, b) => b.share - a.share).slice(0, MOST_RINGED)
    .map(({ item, share }) => ({ item, width: RING.least + share * (RING.most - RING.least), rises: kind !== "vectors" && hidden[item].change > 0 }));
}

/** What the rings mean, for a legend; nothing if there are none. shape: "" for round ones, or "square". */
export function ringLegend(view, words, shape = "") {
  const rings = ringsOf(view), label = view.kind === "labels" ? words.probabilityOf({ label: clipped(view.place.label, MOST_SHOWN) }) : words.theNumber;
  if (!rings.length) return [];
  const key = (rises, text) => (rings.some((each) => each.rises === rises)
    ? [h("span", { class: "ring-key" }, swatch(["ring", rises && "rises", shape].filter(Boolean).join(" ")), ` ${text}`), " · "] : []);
  return [...key(false, view.kind === "vectors" ? words.ringChanged : words.ringLower({ label })), ...key(true, words.ringHigher({ label })),
    words.ringWidth({ least: leastRinged(view, rings) })];
}

// Below which size no effect has a ring. A smaller one has it where the answer becomes another one.
function leastRinged(view, rings) {
  const { kind, hidden, place, data: { outcomes: { error } } } = view, sizes = rings.map(({ item }) => changeSize(hidden[item]));
  const least = Math.max(kind === "numbers" ? error ?? 0 : LITTLE_CHANGE, LEAST_RINGED * highestOf(sizes, 0));
  return sizeText(Math.min(least, ...sizes), kind, place.decimals);
}
