// What is shown, as the part of the address after #, so that a view can be linked.

const NUMBERS = ["place", "layer", "head", "key"];

/** The view that an address names, within what the record has; fields that it doesn't name are those of `first`. */
export function readState(hash, first, limits) {
  const found = { ...first };
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, value] = part.split("=");
    if (name === "lang" && (value === "en" || value === "zh")) found.lang = value;
    if (name === "map") found.window = windowFrom(value);
    if (!NUMBERS.includes(name)) continue;
    if (value === "all" && name !== "place") found[name] = null;
    else if (/^\d+$/.test(value || "") && Number(value) >= 1) found[name] = Number(value) - 1;
  }
  return within(found, first, limits);
}

/** The view with everything that isn't there replaced. */
export function within(state, first, { places, layers, queries, keys }) {
  const found = { ...state };
  if (found.place >= places) found.place = first.place;
  if (found.layer !== null && found.layer >= layers.length) found.layer = first.layer;
  const heads = found.layer === null ? 1 : layers[found.layer].heads;
  if (found.head !== null && found.head >= heads) found.head = null;
  if (found.key !== null && found.key >= keys) found.key = null;
  if (found.window && (found.window.bottom > queries || found.window.right > keys)) found.window = null;
  return found;
}

function windowFrom(text) {
  const found = /^(\d+)-(\d+),(\d+)-(\d+)$/.exec(text || "");
  if (!found) return null;
  const [first, last, left, right] = found.slice(1).map(Number);
  return first >= 1 && left >= 1 && first <= last && left <= right ? { top: first - 1, bottom: last, left: left - 1, right } : null;
}

/** The address of a view. Numbers count from 1, as they do on the page. */
export function hashOf(state) {
  const parts = [`place=${state.place + 1}`];
  for (const name of ["layer", "head", "key"]) {
    parts.push(`${name}=${state[name] === null ? "all" : state[name] + 1}`);
  }
  const { window } = state;
  if (window) parts.push(`map=${window.top + 1}-${window.bottom},${window.left + 1}-${window.right}`);
  return `#${parts.join("&")}&lang=${state.lang}`;
}
