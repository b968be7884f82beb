// The weight of an item on itself: a small loop above its chip, with its number where nothing else stands.

// In pixels, where the items have one line, or several: how high a loop is, how far its ends stand apart, and its control points.
const LOOP = { line: { high: 20, ends: 8, wide: 38 }, lines: { high: 11, ends: 6, wide: 24 } };
// By how much the control points stand further apart for each pixel of the line: a loop has a hole.
const LOOP_WIDENS = 3.2;
// Room between a loop and its number.
const LOOP_APART = 4;

/** The line of a loop above {x, top}, which is so many pixels thick. */
export function loopAbove({ x, top }, thick, isLines) {
  const { high, ends, wide } = LOOP[isLines ? "lines" : "line"], peak = top - high * 1.33, across = (wide + LOOP_WIDENS * thick) / 2;
  return `M${x - ends / 2} ${top} C${x - across} ${peak} ${x + across} ${peak} ${x + ends / 2} ${top}`;
}

/** Put the number of a loop, which is drawn already, above it; or beside it, if one of `others` stands there: boxes with x, y, width and height. */
export function placeLoopNumber(text, loop, { top }, others) {
  const { x, y, width } = loop.getBBox(), half = Number(loop.getAttribute("stroke-width")) / 2, middle = x + width / 2;
  const aside = width / 2 + half + LOOP_APART + text.getBBox().width / 2;
  const spots = [{ x: middle, y: y - half - LOOP_APART }, { x: middle - aside, y: top - LOOP_APART }, { x: middle + aside, y: top - LOOP_APART }];
  const put = (spot) => {
    text.setAttribute("x", spot.x);
    text.setAttribute("y", spot.y);
    const own = text.getBBox();
    return others.reduce((sum, each) => sum + common(own, each), 0);
  };
  const covered = spots.map(put);
  put(spots[covered.indexOf(Math.min(...covered))]);
}

// The area that two boxes have in common.
function common(a, b) {
  const [wide, high] = [["x", "width"], ["y", "height"]].map(([start, size]) =>
    Math.min(a[start] + a[size], b[start] + b[size]) - Math.max(a[start], b[start]));
  return Math.max(0, wide) * Math.max(0, high);
}
