// The part of the page's address after #. A page inside of another one may have no address of its own.

// Browsers stop a page that changes its address too often, as a key that is held down would.
const SEVERAL = 50;
const A_SECOND = 1.5;

let kept = null, later = null, left = SEVERAL, counted = 0;

/** What is there. */
export function address() {
  return kept ?? location.hash;
}

/** The parts of one, each a name and a value. */
export function partsOfHash(hash) {
  return hash.replace(/^#/, "").split("&").map((part) => part.split("="));
}

/** Go on to another one, as a step that the reader can take back, or in place of this one. */
export function goTo(hash, instead = false) {
  kept = hash;
  clearTimeout(later);
  later = null;
  const now = performance.now();
  left = Math.min(SEVERAL, left + A_SECOND * (now - counted) / 1000);
  counted = now;
  if (left < 1) {
    later = setTimeout(() => goTo(hash, instead), 1000 / A_SECOND);
    return;
  }
  // A step to where the reader is already couldn't be seen to be taken back.
  if (hash === location.hash) {
    kept = null;
    return;
  }
  left -= 1;
  try {
    history[instead ? "replaceState" : "pushState"](null, "", hash);
    kept = null;
  } catch {
    // The address is that of the page around this one, which isn't ours to change.
  }
}

/** Call `render` when the reader goes to another one: what was to be written then isn't any more. */
export function whenGone(render, signal) {
  for (const name of ["popstate", "hashchange"]) {
    addEventListener(name, () => {
      if (later !== null) {
        clearTimeout(later);
        later = kept = null;
      }
      render();
    }, { signal });
  }
}
