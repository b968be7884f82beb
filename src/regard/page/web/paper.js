// A figure on paper, which is narrower than most windows: it is laid out for the paper's width before the page is printed.

// In pixels, before the style sheet makes it smaller: the width of text on A4 and Letter with margins of about 15 mm. A script can't ask
// for that of the printer.
const PAPER_WIDTH = 880;
// So many pixels wider letters break no word.
const SLACK = 8;
const FIXED = ["position", "left", "top", "width", "min-width", "max-width", "height"];

/** Give a box the width of paper while it is printed, and its own again; `redraw` draws it after each change. */
export function fitPaper(box, redraw, signal) {
  const change = (isPaper) => () => {
    box.classList.toggle("on-paper", isPaper);
    box.style.width = isPaper ? `${PAPER_WIDTH}px` : "";
    const lists = [...box.querySelectorAll("ol")];
    lists.forEach(release);
    redraw();
    if (isPaper) lists.forEach(fix);
  };
  addEventListener("beforeprint", change(true), { signal });
  addEventListener("afterprint", change(false), { signal });
}

// Letters aren't quite as wide on paper as on the screen: a line that breaks elsewhere would move the words below it.
function fix(list) {
  const area = list.getBoundingClientRect(), zoom = area.width / list.offsetWidth;
  if (!area.width) return;
  const spots = [...list.children].map((each) => each.getBoundingClientRect());
  list.style.height = `${area.height / zoom}px`;
  spots.forEach(({ left, top, width }, i) => Object.assign(list.children[i].style, { position: "absolute",
    left: `${(left - area.left) / zoom}px`, top: `${(top - area.top) / zoom}px`, width: "max-content",
    minWidth: `${width / zoom}px`, maxWidth: `${width / zoom + SLACK}px` }));
}

function release(list) {
  for (const each of [list, ...list.children]) for (const name of FIXED) each.style.removeProperty(name);
}
