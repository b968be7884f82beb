// What the page doesn't hold of the weights, in sentences.
import { isComing } from "./weights.js";

/** A sentence for each kind of layer of which not all weights are there. */
export function leftOut({ layers }, words) {
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
  return [...found.values()].map((each) => words.leftOut({ ...each, layers: ranges(each.layers) }));
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
