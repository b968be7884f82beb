// A window of a map as cells: weights summed over the keys of a cell and averaged over its queries, and the largest.
import { HIDDEN, eachOfTop, headPart, keysBetween, sharedMask, topRow, weightOf } from "./weights.js";

/**
 * The cells of a window.
 *
 * window: {top, bottom, left, right} in queries and keys; rows, columns: the most cells on each side.
 * Gives {rows, columns, tall, wide, sums, most}: how many cells, how many queries and keys a cell joins, and their
 * values. A cell whose pairs are all hidden is HIDDEN.
 */
export function cells(layer, heads, window, rows, columns) {
  return cellsOfParts(heads.map((head) => headPart(layer, head)), window, rows, columns);
}

/** The same from what the weights of the heads are computed from. */
export function cellsOfParts(parts, window, rows, columns) {
  const found = empty(window, rows, columns), { top, bottom, left, right } = window;
  const { tall, wide, sums, most } = found, seen = new Uint8Array(sums.length);
  for (const part of parts) {
    const { pair } = part.mask;
    for (let query = top; query < bottom; query++) {
      const line = Math.floor((query - top) / tall), row = line * found.columns;
      const factor = 1 / parts.length / Math.min(tall, bottom - top - line * tall);
      const { from, to } = keysBetween(part, query);
      for (let key = Math.max(left, from); key < Math.min(right, to); key++) {
        if (pair && !pair[query * part.keys + key]) continue;
        const weight = weightOf(part, query, key), cell = row + Math.floor((key - left) / wide);
        sums[cell] += factor * weight;
        if (weight > most[cell]) most[cell] = weight;
        seen[cell] = 1;
      }
    }
  }
  for (let cell = 0; cell < sums.length; cell++) if (!seen[cell]) sums[cell] = HIDDEN;
  return found;
}

/** The same of the largest weights of each row, where the page knows no others: the others are 0. */
export function cellsOfTop(layer, head, window, rows, columns) {
  const found = empty(window, rows, columns), { top, bottom, left, right } = window;
  const { tall, wide, sums, most } = found, part = { mask: sharedMask(layer, head), keys: layer.keys };
  for (let query = top; query < bottom; query++) {
    const line = Math.floor((query - top) / tall), row = line * found.columns;
    const height = Math.min(tall, bottom - top - line * tall);
    eachOfTop(topRow(layer, head, query), (key, weight) => {
      if (key < left || key >= right) return;
      const cell = row + Math.floor((key - left) / wide);
      sums[cell] += weight / height;
      most[cell] = Math.max(most[cell], weight);
    });
  }
  hideMasked(found, window, part);
  return found;
}

/** Mark the cells of which the mask hides all pairs; part: {mask, keys}. */
export function hideMasked(found, { top, bottom, left, right }, part) {
  const { start, pair } = part.mask, { rows, columns, tall, wide, sums } = found;
  if (!start && !pair) return;
  for (let row = 0; row < rows; row++) {
    const seen = new Uint8Array(columns);
    for (let query = top + row * tall; query < Math.min(bottom, top + (row + 1) * tall); query++) {
      const { from, to } = keysBetween(part, query), first = Math.max(left, from), last = Math.min(right, to) - 1;
      if (!pair && first <= last) seen.fill(1, Math.floor((first - left) / wide), Math.floor((last - left) / wide) + 1);
      for (let key = first; pair && key <= last; key++) {
        if (pair[query * part.keys + key]) seen[Math.floor((key - left) / wide)] = 1;
      }
    }
    for (let column = 0; column < columns; column++) if (!seen[column]) sums[row * columns + column] = HIDDEN;
  }
}

/** The window of all queries and keys. */
export function wholeOf({ queries, keys }) {
  return { top: 0, bottom: queries, left: 0, right: keys };
}

function empty({ top, bottom, left, right }, rows, columns) {
  const tall = Math.max(1, Math.ceil((bottom - top) / rows)), wide = Math.max(1, Math.ceil((right - left) / columns));
  const high = Math.ceil((bottom - top) / tall), broad = Math.ceil((right - left) / wide);
  const size = high * broad;
  return { rows: high, columns: broad, tall, wide, sums: new Float64Array(size), most: new Float64Array(size) };
}
