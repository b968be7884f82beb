// Cells that are computed by a worker, so that the page doesn't stand still.
import { headPart } from "./weights.js";

/**
 * A function that computes cells of a view's layer: it gives a promise. The worker starts when it is needed first, and ends
 * with `signal`.
 */
export function tilesOf(records, signal) {
  let worker = null, count = 0;
  const waiting = new Map(), sent = new Set();
  return ({ data, number: layer }, heads, window, most) => {
    if (worker === null) {
      const source = document.getElementById("worker").textContent;
      worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      worker.onmessage = ({ data: { number, found } }) => {
        waiting.get(number)(found);
        waiting.delete(number);
      };
      signal?.addEventListener("abort", () => worker.terminate());
    }
    count += 1;
    const record = records.indexOf(data), names = heads.map((head) => `${record} ${layer} ${head}`), parts = {};
    for (const [i, name] of names.entries()) {
      if (!sent.has(name)) parts[name] = alone(headPart(data.layers[layer], heads[i]));
      sent.add(name);
    }
    worker.postMessage({ number: count, names, parts, window, most });
    return new Promise((resolve) => waiting.set(count, resolve));
  };
}

// A view of an array is sent with all that it is a view of, so it is copied first.
function alone(value) {
  if (ArrayBuffer.isView(value)) return value.slice();
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, alone(each)]));
}
