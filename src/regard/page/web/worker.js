// The worker: gets each layer once, and computes the cells that it is asked for.
import { cells } from "./tiles.js";

const layers = new Map();

onmessage = ({ data: { number, name, layer, heads, window, most } }) => {
  if (layer !== null) layers.set(name, layer);
  postMessage({ number, found: cells(layers.get(name), heads, window, most, most) });
};
