// The part of the page's address after #. A page inside of another one may have no address of its own.

let kept = null;

/** What is there. */
export function address() {
  return kept ?? location.hash;
}

/** Go on to another one, as a step that the reader can take back, or in place of this one. */
export function goTo(hash, instead = false) {
  if (kept === null) {
    try {
      history[instead ? "replaceState" : "pushState"](null, "", hash);
      return;
    } catch {
      // The address is that of the page around this one, which isn't ours to change.
    }
  }
  kept = hash;
}
