// What the page doesn't hold of the weights, in sentences.
import { isComing } from "./weights.js";
import { wordsOf } from "./words.js";

/** A sentence for each kind of layer of which not all weights are there. */
export function leftOut({ layers }, lang) {
  const found = new Map();
  layers.forEach((layer, number) => {
    if (layer.table || isComing(layer)) return;
    const exact = layer.vectors ? layer.vectors.heads.length : 0;
    const largest = (layer.top || []).filter(({ head }) => head !== null && !layer.vectors?.heads.includes(head)).length;
    if (exact === layer.heads) return;
    const name = `${exact} ${largest} ${layer.heads}`;
    if (!found.has(name)) found.set(name, { exact, largest, heads: layer.heads, layers: [] });
    found.get(name).layers.push(number + 1);
  });
  return [...found.values()].map((each) => leftOutText(each, wordsOf(lang)));
}

function leftOutText({ layers, exact, largest, heads: all }, words) {
  const rest = all - exact - largest;
  const held = [exact ? words.heldExactly({ heads: exact, all }) : "",
    largest ? words[exact ? "heldLargest" : "heldLargestOf"]({ heads: largest, all }) : "",
    rest ? words[rest === all ? "heldOverviewOfAll" : "heldOverview"]({ heads: rest }) : ""].filter(Boolean);
  return words.leftOut({ count: layers.length, layers: ranges(layers), held: held.join(words.comma) });
}

/** Why there are no weights of the head that is chosen. */
export function missingText({ layer, number, head, state: { lang } }) {
  const held = layer.vectors?.heads ?? [], words = wordsOf(lang);
  if (isComing(layer)) return words.coming;
  if (head !== null || !held.length) return words.missingHead;
  const choices = held.map((each) => `${number + 1}.${each + 1}`).join(words.listed);
  return words.missingAverage({ held: held.length, heads: layer.heads, choices });
}

// 1, 2, 3, 5 as 1-3, 5.
function ranges(numbers) {
  const found = [];
  for (const each of numbers) {
    const last = found.at(-1);
    if (last && last[1] === each - 1) last[1] = each;
    else found.push([each, each]);
  }
  return found.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}
