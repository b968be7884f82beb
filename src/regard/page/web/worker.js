// The worker: gets each head once, and computes the cells that it is asked for.
import { cellsOfParts } from "./tiles.js";

const received = new Map();

onmessage = ({ data: { number, names, parts, window, most } }) => {
  for (const [name, part] of Object.entries(parts)) received.set(name, part);
  postMessage({ number, found: cellsOfParts(names.map((name) => received.get(name)), window, most, most) });
};
