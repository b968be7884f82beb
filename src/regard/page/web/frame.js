// Inside of a frame: the page around it is told how high this one is. That is all it is told.

// How often the height is told again, once a second.
const TOLD_AGAIN = 30;

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
  // Out of sight and on a busy machine all of these may come before the frame has a width, or before anybody listens.
  let left = TOLD_AGAIN;
  const timer = setInterval(() => {
    tell();
    left -= 1;
    if (!left) clearInterval(timer);
  }, 1000);
}
