// Inside of a frame: the page around it is told how high this one is. That is all it is told.

/**
 * Wait until this frame has a width, for ten seconds at most: its document may be read before, and what was drawn
 * without a width isn't drawn again until the frame is seen.
 */
export async function untilSized() {
  for (let i = 0; i < 200 && parent !== window && !innerWidth; i++) await new Promise((wake) => setTimeout(wake, 50));
}

/** Tell the height now and whenever it changes. */
export function tellHeight() {
  if (parent === window) return;
  const html = document.documentElement;
  const tell = () => {
    const { width, height } = html.getBoundingClientRect();
    if (width) parent.postMessage({ regardHeight: Math.ceil(height) }, "*");
  };
  new ResizeObserver(tell).observe(html);
  // Sizes are observed when a frame is drawn, which one out of sight isn't: a change there is measured as it is made.
  new MutationObserver(tell).observe(html, { subtree: true, childList: true, attributes: true, characterData: true });
  // And what is observed first may not be told before the frame is seen.
  if (document.readyState === "complete") tell();
  else addEventListener("load", tell);
}
