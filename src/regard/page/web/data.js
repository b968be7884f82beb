// What the page draws from: the values in its JSON element, and the arrays in its packed element.

/** Read both from the document. */
export function readPage() {
  const text = (name) => document.getElementById(name).textContent;
  return readData(text("values"), text("packed"));
}

/** Read both. */
export function readData(values, packed) {
  return unpacked(JSON.parse(values), packed);
}

/** The values with the arrays in their places. */
export async function unpacked(data, packed) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(packed) : bytesOf(atob(packed));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  unpack(data, await new Response(stream).arrayBuffer());
  return data;
}

function bytesOf(text) {
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i);
  return found;
}

const KINDS = { f32: Float32Array, i32: Int32Array, u16: Uint16Array, u8: Uint8Array };

/** Put the arrays in their places: {shape, data}. */
function unpack(value, buffer) {
  if (value === null || typeof value !== "object") return;
  for (const [name, each] of Object.entries(value)) {
    if (each && typeof each === "object" && "at" in each && "kind" in each) value[name] = array(each, buffer);
    else unpack(each, buffer);
  }
}

// An array is made when it is asked for first: a page may hold many that nobody looks at.
function array({ at, shape, kind }, buffer) {
  const size = shape.reduce((a, b) => a * b, 1);
  let made = null;
  return { shape, get data() {
    made ??= kind === "f16" ? widened(new Uint16Array(buffer, at, size)) : new KINDS[kind](buffer, at, size);
    return made;
  } };
}

/** float16 as float32. */
function widened(halves) {
  const table = halfTable();
  const found = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) found[i] = table[halves[i]];
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
