// A window of a map as cells: weights summed over the keys of a cell and averaged over its queries, and the largest.
import { HIDDEN, allowedKeys, headVectors, maskOf, weightOf } from "./weights.js";

/**
 * The cells of a window.
 *
 * window: {top, bottom, left, right} in queries and keys; rows, columns: the most cells on each side.
 * Gives {rows, columns, tall, wide, sums, most}: how many cells, how many queries and keys a cell joins, and their
 * values. A cell whose pairs are all hidden is HIDDEN.
 */
export function cells(layer, heads, window, rows, columns) {
  const { top, bottom, left, right } = window;
  const tall = Math.max(1, Math.ceil((bottom - top) / rows)), wide = Math.max(1, Math.ceil((right - left) / columns));
  const high = Math.ceil((bottom - top) / tall), broad = Math.ceil((right - left) / wide);
  const sums = new Float64Array(high * broad), most = new Float64Array(high * broad);
  const seen = new Uint8Array(high * broad), table = layer.table ? layer.table.data : null;
  for (const head of heads) {
    const part = table ? { mask: maskOf(layer, head), keys: layer.keys } : headVectors(layer, head);
    const { pair } = part.mask;
    for (let query = top; query < bottom; query++) {
      const line = Math.floor((query - top) / tall), row = line * broad;
      const factor = 1 / heads.length / Math.min(tall, bottom - top - line * tall);
      const { from, to } = allowedKeys(part, query), before = (head * layer.queries + query) * layer.keys;
      for (let key = Math.max(left, from); key < Math.min(right, to); key++) {
        if (pair && !pair[query * layer.keys + key]) continue;
        const weight = table ? table[before + key] : weightOf(part, query, key);
        const cell = row + Math.floor((key - left) / wide);
        sums[cell] += factor * weight;
        if (weight > most[cell]) most[cell] = weight;
        seen[cell] = 1;
      }
    }
  }
  for (let cell = 0; cell < sums.length; cell++) if (!seen[cell]) sums[cell] = HIDDEN;
  return { rows: high, columns: broad, tall, wide, sums, most };
}
