// The weights of a layer: from its table, or from the vectors of queries and keys.

/** What stands in a map instead of the weight of a pair that the mask hides. */
export const HIDDEN = -Infinity;

/** Whether the page holds the weights of a head; null: of all heads, whose average is wanted. */
export function hasHead(layer, head) {
  if (layer.table) return true;
  if (!layer.vectors) return false;
  return head === null ? layer.vectors.heads.length === layer.heads : layer.vectors.heads.includes(head);
}

/** One row of weights of a head, or of the average of the heads: Float64Array of the keys. */
export function rowOf(layer, head, query) {
  const found = new Float64Array(layer.keys);
  const heads = head === null ? [...Array(layer.heads).keys()] : [head];
  for (const each of heads) addRow(layer, each, query, found, 1 / heads.length);
  return found;
}

/** The average of all rows. */
export function meanRow(layer, head) {
  const found = new Float64Array(layer.keys);
  const heads = head === null ? [...Array(layer.heads).keys()] : [head];
  for (let query = 0; query < layer.queries; query++) {
    for (const each of heads) addRow(layer, each, query, found, 1 / heads.length / layer.queries);
  }
  return found;
}

/** Add the weights of a row of a head, times a factor. */
function addRow(layer, head, query, found, factor) {
  if (layer.table) {
    const { data } = layer.table, from = (head * layer.queries + query) * layer.keys;
    for (let key = 0; key < layer.keys; key++) found[key] += factor * data[from + key];
    return;
  }
  const part = headVectors(layer, head), { from, to } = allowedKeys(part, query);
  for (let key = from; key < to; key++) {
    if (isAllowed(part, query, key)) found[key] += factor * weightOf(part, query, key);
  }
}

/** What computes the scores of a head: views of its arrays. */
export function headVectors(layer, head) {
  const { vectors } = layer, place = vectors.heads.indexOf(head);
  const [, queries, size] = vectors.query.shape, [, keys] = vectors.key.shape;
  const bias = {};
  if (vectors.bias.distance) {
    bias.distance = slice(vectors.bias.distance, place);
    bias.first = vectors.bias.first;
  }
  if (vectors.bias.near) {
    bias.near = slice(vectors.bias.near, place);
    bias.reach = vectors.bias.reach;
  }
  if (vectors.bias.pair) bias.pair = slice(vectors.bias.pair, place);
  return {
    queries, keys, size, bias, mask: maskOf(layer, head), scale: vectors.scale,
    query: slice(vectors.query, place), key: slice(vectors.key, place), logSum: slice(vectors.log_sum, place),
  };
}

/** Which keys the queries of a head may attend to. */
export function maskOf({ mask }, head) {
  if (mask.start) return { start: mask.start.data, stop: mask.stop.data };
  return mask.pair ? { pair: slice(mask.pair, head) } : {};
}

function slice({ shape, data }, place) {
  const size = data.length / (shape[0] || 1);
  // One row may stand for all heads.
  return shape[0] === 1 ? data : data.subarray(place * size, (place + 1) * size);
}

/** The keys between which all allowed ones lie; part: {mask, keys}. */
export function allowedKeys(part, query) {
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
  const { from, to } = allowedKeys(part, query);
  return key >= from && key < to;
}

/** The weight of a pair that the mask allows. */
export function weightOf(part, query, key) {
  const score = part.scale * product(part, query, key) + biasOf(part, query, key), sum = part.logSum[query];
  return sum === -Infinity ? 0 : Math.exp(score - sum);
}
