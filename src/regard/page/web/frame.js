// Inside of a frame: the page around it is told how high this one is. That is all it is told.

/** Tell the height now and whenever it changes. */
export function tellHeight() {
  if (parent === window) return;
  const html = document.documentElement;
  const tell = () => {
    const { width, height } = html.getBoundingClientRect();
    if (width) parent.postMessage({ regardHeight: Math.ceil(height) }, "*");
  };
  new ResizeObserver(tell).observe(html);
  // What is observed may not be told before the frame is seen.
  if (document.readyState === "complete") tell();
  else addEventListener("load", tell);
}
