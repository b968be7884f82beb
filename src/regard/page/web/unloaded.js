// What prints a page without anybody who looks at it does so when the page is loaded: until then it has to be unpacked and built.

// The smallest picture. Loading one holds back the event "load"; nothing else that takes time, such as unpacking, does.
const DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==";

/** Hold back the end of loading until a promise is kept, by loading one picture after the other; what the promise gives. */
export async function beforeLoaded(promise) {
  let ended = document.readyState === "complete", count = 0;
  const next = () => {
    if (ended) return;
    const picture = new Image();
    picture.onload = picture.onerror = next;
    // Each has an address of its own: a picture that is there already isn't loaded.
    picture.src = `${DOT}#${count++}`;
  };
  next();
  try {
    return await promise;
  } finally {
    ended = true;
  }
}
