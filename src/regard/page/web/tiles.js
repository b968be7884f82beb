// A window of a map as cells: weights summed over the keys of a cell and averaged over its queries, and the largest.
import { allowedKeys, headVectors, scoreOf } from "./weights.js";

/**
 * The cells of a window.
 *
 * window: {top, bottom, left, right} in queries and keys; rows, columns: the most cells on each side.
 * Gives {rows, columns, tall, wide, sums, most}: how many cells, how many queries and keys a cell joins, and their
 * values. A cell whose pairs are all hidden is -1.
 */
export function cells(layer, heads, window, rows, columns) {
  const { top, bottom, left, right } = window;
  const tall = Math.max(1, Math.ceil((bottom - top) / rows)), wide = Math.max(1, Math.ceil((right - left) / columns));
  const high = Math.ceil((bottom - top) / tall), broad = Math.ceil((right - left) / wide);
  const sums = new Float32Array(high * broad), most = new Float32Array(high * broad);
  const seen = new Uint8Array(high * broad);
  for (const head of heads) {
    const part = layer.table ? null : headVectors(layer, head);
    for (let query = top; query < bottom; query++) {
      const row = Math.floor((query - top) / tall) * broad;
      const joined = Math.min(tall, bottom - top - Math.floor((query - top) / tall) * tall);
      const factor = 1 / heads.length / joined;
      const keys = part ? allowedKeys(part, query) : { from: 0, to: layer.keys };
      for (let key = Math.max(left, keys.from); key < Math.min(right, keys.to); key++) {
        let weight;
        if (part) {
          const score = scoreOf(part, query, key);
          if (score === -Infinity) continue;
          weight = part.logSum[query] === -Infinity ? 0 : Math.exp(score - part.logSum[query]);
        } else {
          weight = layer.table.data[(head * layer.queries + query) * layer.keys + key];
        }
        const cell = row + Math.floor((key - left) / wide);
        sums[cell] += factor * weight;
        if (weight > most[cell]) most[cell] = weight;
        seen[cell] = 1;
      }
    }
  }
  for (let cell = 0; cell < sums.length; cell++) if (!seen[cell]) sums[cell] = -1;
  return { rows: high, columns: broad, tall, wide, sums, most };
}
