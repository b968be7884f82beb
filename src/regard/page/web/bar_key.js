// What the marks on and below the bars of a table mean: on paper and under a finger nothing else says it.
import { MOST_SHOWN } from "./answers.js";
import { swatch } from "./colours.js";
import { clipped, h } from "./dom.js";
import { percent } from "./numbers.js";

/**
 * The paragraphs of the key; none of what isn't drawn.
 *
 * equal: what each item would have of equal weights; heads: how many boxes there are below a bar; views: those whose bars of
 * effects begin at a line; isNoise: whether there are pale bars.
 */
export function barKey({ equal, heads, views, isNoise }, words) {
  const labels = new Set(views.map(({ kind, place: { label } }) => (kind === "labels" ? clipped(label, MOST_SHOWN) : words.theNumber)));
  const found = [
    equal ? ["equal-mark", words.equalMark({ share: percent(equal) })] : null,
    heads ? ["boxes-mark", words.boxesMark({ count: heads })] : null,
    labels.size ? ["zero-mark", words.zeroMark({ label: labels.size === 1 ? [...labels][0] : words.theAnswerItself })] : null,
  ].filter(Boolean);
  const line = (marks) => h("p", { class: "quiet bar-key" }, marks.map(([kind, text]) => h("span", {}, swatch(kind), ` ${text} `)));
  return [...(found.length ? [line(found)] : []), ...(isNoise ? [line([["pale-mark", words.noiseMeans]])] : [])];
}
