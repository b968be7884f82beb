// Cells that are computed by a worker, so that the page doesn't stand still.

/** A function that computes cells of a layer: it gives a promise. The worker starts when it is needed first. */
export function tilesOf(records) {
  let worker = null, count = 0;
  const waiting = new Map();
  return (record, layer, heads, window, most) => {
    if (worker === null) {
      const source = document.getElementById("worker").textContent;
      worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      worker.onmessage = ({ data: { number, found } }) => {
        waiting.get(number)(found);
        waiting.delete(number);
      };
      worker.postMessage({ records: records.map(({ layers }) => layers) });
    }
    count += 1;
    worker.postMessage({ number: count, record, layer, heads, window, most });
    return new Promise((resolve) => waiting.set(count, resolve));
  };
}
