// Cells that are computed by a worker, so that the page doesn't stand still.

/**
 * A function that computes cells of a layer: it gives a promise. The worker starts when it is needed first, and ends
 * with `signal`.
 */
export function tilesOf(records, signal) {
  let worker = null, count = 0;
  const waiting = new Map(), sent = new Set();
  return (record, layer, heads, window, most) => {
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
    const name = `${record} ${layer}`, known = sent.has(name);
    if (!known) sent.add(name);
    worker.postMessage({ number: count, name, layer: known ? null : plain(records[record].layers[layer]), heads, window, most });
    return new Promise((resolve) => waiting.set(count, resolve));
  };
}

// What a worker can be sent: arrays instead of what makes them.
function plain(value) {
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}
