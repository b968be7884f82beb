// What the page draws from: the values in its JSON element, and the arrays in its packed element.
import { decimalsOf, roundedText, withMinus } from "./numbers.js";

/** Read both from the document. */
export function readPage() {
  const text = (name) => document.getElementById(name).textContent;
  return unpacked(JSON.parse(text("values")), text("packed"));
}

/** The values with the arrays of the first block, without which there is nothing to show, in their places. */
export async function unpacked(data, packed) {
  const ends = [];
  for (const length of data.blocks || [packed.length]) ends.push((ends.at(-1) || 0) + length);
  const texts = ends.map((end, i) => packed.slice(ends[i - 1] || 0, end));
  const first = await bytesIn(texts[0]);
  put(data, [first]);
  for (const each of data.records) if (each.outcomes.kind === "numbers") printNumbers(each);
  unread.set(data, { texts, first });
  return data;
}

// Predicted numbers have the decimals of the model's error, if it is known, and the minus sign that their changes have.
function printNumbers(record) {
  const { outcomes } = record, decimals = decimalsOf(outcomes.error);
  const written = (text) => withMinus(decimals === null ? text : roundedText(text, decimals));
  record.labels = record.labels.map(written);
  outcomes.labels = outcomes.labels.map(written);
  for (const place of outcomes.places) Object.assign(place, { label: written(place.label), decimals });
}

const unread = new WeakMap();

/**
 * Unpack the other blocks, those of `soon` first, and add to each layer what it has there.
 *
 * `soon` gives a layer, or nothing; `arrived` is called with each layer that has got something, and whether nothing is
 * left; `ended` says whether nobody waits any more.
 */
export async function readLater(data, soon, arrived, ended) {
  const { texts, first } = unread.get(data) || { texts: [] };
  const layers = data.records.flatMap((each) => each.layers);
  const left = new Set(texts.keys());
  left.delete(0);
  while (left.size && !ended()) {
    const wanted = soon()?.later?.[0]?.block, number = left.has(wanted) ? wanted : [...left][0];
    left.delete(number);
    const block = await bytesIn(texts[number]);
    for (const layer of layers.filter(({ later }) => later?.some((each) => each.block === number))) {
      for (const { block: own, ...what } of layer.later.filter((each) => each.block === number)) {
        put(what, { 0: first, [own]: block });
        Object.assign(layer, what);
      }
      layer.later = layer.later.filter((each) => each.block !== number);
      if (!ended()) arrived(layer, !layers.some((each) => each.later?.length));
    }
  }
}

async function bytesIn(text) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : bytesOf(atob(text));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function bytesOf(text) {
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i);
  return found;
}

const KINDS = { f32: Float32Array, i32: Int32Array, u16: Uint16Array, u8: Uint8Array };

// Put the arrays of some blocks in their places: {shape, data, part(i)}.
function put(value, blocks) {
  if (value === null || typeof value !== "object") return;
  for (const [name, each] of Object.entries(value)) {
    if (name === "later") continue;
    if (each && typeof each === "object" && "at" in each && "kind" in each) value[name] = array(each, blocks[each.block || 0]);
    else put(each, blocks);
  }
}

// An array, or a part of it along its first axis, is made when it is asked for first: a page may hold many that nobody
// looks at.
function array({ at, shape, kind }, buffer) {
  const size = shape.reduce((a, b) => a * b, 1), partSize = size / (shape[0] || 1);
  const parts = new Map();
  let whole = null;
  const make = (from, count) => (kind === "f16"
    ? widened(new Uint8Array(buffer, at + from, count), new Uint8Array(buffer, at + size + from, count))
    : new KINDS[kind](buffer, at + from * KINDS[kind].BYTES_PER_ELEMENT, count));
  return {
    shape,
    get data() {
      whole ??= make(0, size);
      return whole;
    },
    part(i) {
      if (whole) return whole.subarray(i * partSize, (i + 1) * partSize);
      if (!parts.has(i)) parts.set(i, make(i * partSize, partSize));
      return parts.get(i);
    },
  };
}

/** float16 as float32; of each number the low and the high byte. */
function widened(low, high) {
  const table = halfTable();
  const found = new Float32Array(low.length);
  for (let i = 0; i < low.length; i++) found[i] = table[high[i] << 8 | low[i]];
  return found;
}

let halves = null;

function halfTable() {
  if (halves) return halves;
  halves = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    halves[bits] = exponent === 31 ? (fraction ? NaN : sign * Infinity)
      : exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -24 * fraction;
  }
  return halves;
}
