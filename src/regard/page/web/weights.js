// The weights of a layer: from its table, from the vectors of queries and keys, or the largest ones of each row.

/** What stands in a map instead of the weight of a pair that the mask hides. */
export const HIDDEN = -Infinity;

/**
 * What the page knows of the weights of a head; null: of the average of all heads.
 *
 * "all" of them, the "largest" of each row, or "" for the overview, if there is one.
 */
export function known(layer, head) {
  if (layer.table) return "all";
  const exact = layer.vectors?.heads ?? [];
  if (head === null ? exact.length === layer.heads : exact.includes(head)) return "all";
  return topOf(layer, head) ? "largest" : "";
}

function topOf(layer, head) {
  return layer.top?.find((each) => each.head === head);
}

/** Whether the page is still unpacking what it holds of a layer. */
export function isComing(layer) {
  return layer.later?.length > 0;
}

/** The same of one row, of which there may be more than of others. */
export function knownOfRow(layer, head, query) {
  return known(layer, head) || (firstRow(layer, head, query) ? "all" : "");
}

// The row that the page shows first is there before the rest.
function firstRow({ row }, head, query) {
  return row && row.head === head && row.query === query ? row.weights.data : null;
}

/** The numbers of all heads, or of the one. */
export function headsOf(layer, head) {
  return head === null ? [...Array(layer.heads).keys()] : [head];
}

/** One row of weights of a head, or of the average of the heads: Float64Array of the keys. NaN isn't known. */
export function rowOf(layer, head, query) {
  const there = known(layer, head);
  if (!there) return Float64Array.from(firstRow(layer, head, query));
  const found = new Float64Array(layer.keys);
  if (there === "largest") {
    const part = { mask: sharedMask(layer, head), keys: layer.keys };
    for (let key = 0; key < layer.keys; key++) found[key] = isAllowed(part, query, key) ? NaN : 0;
    eachOfTop(topRow(layer, head, query), (key, weight) => {
      found[key] = weight;
    });
    return found;
  }
  const heads = headsOf(layer, head);
  for (const each of heads) addRow(headPart(layer, each), query, found, 1 / heads.length);
  return found;
}

/** The largest weights of a row of a head, or of the average, and their keys. */
export function topRow(layer, head, query) {
  const { keys, weights } = topOf(layer, head);
  return { keys: keys.part(query), weights: weights.part(query) };
}

/** The smallest of them: no other weight of the row is larger. */
export function leastOfTop(layer, head, query) {
  return topRow(layer, head, query).weights.at(-1);
}

/** Call `use` with each key and weight of a row of the largest ones. */
export function eachOfTop({ keys, weights }, use) {
  for (let i = 0; i < keys.length; i++) use(keys[i], weights[i]);
}

/** Whether the average of all rows of a head is known, or computed in no time. */
export function hasMeanRow(layer, head) {
  if (layer.mean) return true;
  return known(layer, head) === "all" && layer.heads * layer.queries * layer.keys <= 2 ** 22;
}

/** The average of all rows. */
export function meanRow(layer, head) {
  const found = new Float64Array(layer.keys), heads = headsOf(layer, head);
  for (const each of heads) {
    if (layer.mean) layer.mean.part(each).forEach((weight, key) => (found[key] += weight / heads.length));
    else {
      const part = headPart(layer, each);
      for (let query = 0; query < layer.queries; query++) addRow(part, query, found, 1 / heads.length / layer.queries);
    }
  }
  return found;
}

/** Add the weights of a row, times a factor. */
function addRow(part, query, found, factor) {
  const { from, to } = keysBetween(part, query);
  for (let key = from; key < to; key++) {
    if (isAllowed(part, query, key)) found[key] += factor * weightOf(part, query, key);
  }
}

const made = new WeakMap();

/** What the weights of a head are computed from: views of its arrays. */
export function headPart(layer, head) {
  if (!made.has(layer)) made.set(layer, new Map());
  const parts = made.get(layer);
  if (!parts.has(head)) {
    parts.set(head, layer.table
      ? { queries: layer.queries, keys: layer.keys, mask: maskOf(layer, head), table: partOf(layer.table, head) }
      : headVectors(layer, head));
  }
  return parts.get(head);
}

/** What computes the scores of a head. */
export function headVectors(layer, head) {
  const { vectors } = layer, place = vectors.heads.indexOf(head);
  const [, queries, size] = vectors.query.shape, [, keys] = vectors.key.shape;
  const { distance, first, near, reach, pair } = vectors.bias, own = (array) => array && partOf(array, place);
  return {
    queries, keys, size, bias: { distance: own(distance), first, near: own(near), reach, pair: own(pair) }, mask: maskOf(layer, head), scale: vectors.scale,
    query: partOf(vectors.query, place), key: partOf(vectors.key, place), logSum: partOf(vectors.log_sum, place),
    logSumRest: partOf(vectors.log_sum_rest, place),
  };
}

// Which keys the queries of a head may attend to.
function maskOf({ mask }, head) {
  if (mask.start) return { start: mask.start.data, stop: mask.stop.data };
  return mask.pair ? { pair: partOf(mask.pair, head) } : {};
}

/** Which keys the queries of all heads, or of the one, may attend to; {} if that depends on the head. */
export function sharedMask(layer, head) {
  return head === null && layer.mask.pair?.shape[0] > 1 ? {} : maskOf(layer, head || 0);
}

function partOf(array, place) {
  // One row may stand for all heads.
  return array.part(array.shape[0] === 1 ? 0 : place);
}

const allowed = new WeakMap();

/**
 * Over how many keys equal weights of a row would be spread: those that its mask allows; null: of all rows together. 0: it
 * depends on the head or, of all rows, on the row, or it isn't known; as in Python's `allowed_keys.py`.
 */
export function allowedKeys(layer, head, row) {
  const { mask, keys, queries } = layer;
  if (layer.allowed !== undefined) return layer.allowed;
  if (!mask.start && !mask.pair) return keys;
  const name = `${head} ${row}`;
  if (!allowed.has(layer)) allowed.set(layer, new Map());
  if (!allowed.get(layer).has(name)) {
    const part = { mask: sharedMask(layer, head), keys }, known = part.mask.start || part.mask.pair;
    const counts = new Set(known ? (row === null ? [...Array(queries).keys()] : [row]).map((each) => countOf(part, each)) : [0]);
    allowed.get(layer).set(name, counts.size === 1 ? [...counts][0] : 0);
  }
  return allowed.get(layer).get(name);
}

/** Which keys the mask hides from a query: in the head, or of the average in all of its heads; as in Python's `masked_keys`. */
export function maskedKeys(layer, head, row) {
  if (!layer.mask.start && !layer.mask.pair) return [];
  const parts = headsOf(layer, head).map((each) => ({ mask: maskOf(layer, each), keys: layer.keys }));
  const some = layer.mask.pair?.shape[0] > 1 ? parts : parts.slice(0, 1);
  return Array.from({ length: layer.keys }, (_, key) => some.every((part) => !isAllowed(part, row, key)));
}

function countOf(part, query) {
  const { from, to } = keysBetween(part, query);
  if (!part.mask.pair) return to - from;
  let count = 0;
  for (let key = from; key < to; key++) count += isAllowed(part, query, key);
  return count;
}

/** The keys between which all allowed ones lie; part: {mask, keys}. */
export function keysBetween(part, query) {
  return part.mask.start ? { from: part.mask.start[query], to: part.mask.stop[query] } : { from: 0, to: part.keys };
}

/** The inner product of a query and a key. */
export function product(part, query, key) {
  let sum = 0;
  for (let i = 0, q = query * part.size, k = key * part.size; i < part.size; i++, q++, k++) {
    sum += part.query[q] * part.key[k];
  }
  return sum;
}

/** What the position adds to a score. */
export function biasOf(part, query, key) {
  if (part.bias.pair) return part.bias.pair[query * part.keys + key];
  const distance = key - (query + part.keys - part.queries);
  if (part.bias.distance) return part.bias.distance[distance + part.bias.first];
  if (!part.bias.near) return 0;
  const { near, reach } = part.bias;
  return near[query * (2 * reach + 1) + Math.max(-reach, Math.min(reach, distance)) + reach];
}

/** Whether the mask allows a pair; part: {mask, keys}. */
export function isAllowed(part, query, key) {
  if (part.mask.pair) return part.mask.pair[query * part.keys + key] > 0;
  const { from, to } = keysBetween(part, query);
  return key >= from && key < to;
}

/** The weight of a pair that the mask allows. */
export function weightOf(part, query, key) {
  if (part.table) return part.table[query * part.keys + key];
  const score = part.scale * product(part, query, key) + biasOf(part, query, key), sum = logSumOf(part, query);
  return sum === -Infinity ? 0 : Math.exp(score - sum);
}

/** The weight of any pair of a head of which all are known. */
export function weightAt(layer, head, query, key) {
  const part = headPart(layer, head);
  return isAllowed(part, query, key) ? weightOf(part, query, key) : 0;
}

/** The logarithm of the sum of exp(score) over a row, more exact than one number of 32 bits. */
export function logSumOf(part, query) {
  return part.logSum[query] + part.logSumRest[query];
}
