// What the marks on and below the bars of a table mean: on paper and under a finger nothing else says it.
import { MOST_SHOWN } from "./answers.js";
import { swatch } from "./colours.js";
import { clipped, h } from "./dom.js";
import { inPoints, percent, sizeText } from "./numbers.js";

/**
 * The paragraphs of the key; none of what isn't drawn.
 *
 * equal: what each item would have of equal weights; among: of how many, if the mask hides others; high: the weight of a full
 * bar; fulls: the changes of full bars, of which there may be several scales; view: a view of the changes; heads: how many boxes
 * there are below a bar; views: those whose bars of effects begin at a line; isNoise: whether there are pale bars; apart: why one
 * of two that read the same is pale.
 */
export function barKey({ equal, among, high, fulls, view, heads, views, isNoise, apart }, words) {
  const labels = new Set(views.map(({ kind, place: { label } }) => (kind === "labels" ? words.probabilityOf({ label: clipped(label, MOST_SHOWN) }) : words.theNumber)));
  const found = [
    equal ? ["equal-mark", among ? words.equalMarkAllowed({ share: percent(equal), count: among }) : words.equalMark({ share: percent(equal) })] : null,
    heads ? ["boxes-mark", words.boxesMark({ count: heads })] : null,
    labels.size ? ["zero-mark", words.zeroMark({ label: labels.size === 1 ? [...labels][0] : words.theAnswerItself })] : null,
  ].filter(Boolean);
  const line = (marks) => h("p", { class: "quiet bar-key" }, marks.map(([kind, text]) => h("span", {}, swatch(kind), ` ${text} `)));
  return [h("p", { class: "quiet full-bars" }, fullText(high, fulls, view, words)), ...(found.length ? [line(found)] : []), ...(isNoise ? [line([["pale-mark", [words.noiseMeans, apart].filter(Boolean).join(" ")]])] : [])];
}

// What bars of the full length are; changes of several kinds have no scale in common.
function fullText(high, fulls, { kind, place }, words) {
  const share = percent(high);
  if (new Set(fulls).size !== 1) return words.fullWeight({ share });
  return words.fullBars({ share, size: changeInWords(fulls[0], { kind, place }, words) });
}

// The size of a change with what it is measured in: points of a probability, a share of a vector's length.
function changeInWords(change, { kind, place }, words) {
  const size = kind === "labels" ? inPoints(percent(change), words) : sizeText(change, kind, place.decimals);
  return kind === "vectors" ? words.ofLength({ size }) : size;
}
