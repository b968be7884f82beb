// The way of a line from one row of items to another: between the items of the rows that stand between them.

// Items whose tops differ by less stand in one row.
const ONE_ROW = 4;
// How far beside the first or the last item of a row a line passes it.
const BESIDE_ROW = 6;

/** The items of some lists in rows, from the top; boxes: {x, y, width, height}. */
export function rowsOf(boxes) {
  const rows = [];
  for (const each of [...boxes].sort((a, b) => a.y - b.y || a.x - b.x)) {
    if (rows.length && each.y - rows.at(-1)[0].y < ONE_ROW) rows.at(-1).push(each);
    else rows.push([each]);
  }
  return rows.map((row) => row.sort((a, b) => a.x - b.x));
}

/**
 * A line downwards or upwards, as the commands of a path: curves between the rows, and straight where it passes one.
 *
 * start, end: {x, y}; rows: as `rowsOf` gives them; wide: the width that lines have.
 */
export function wayBetween(start, end, rows, wide) {
  const up = start.y > end.y, [low, high] = up ? [end.y, start.y] : [start.y, end.y];
  const passed = rows.filter((row) => row[0].y > low && row[0].y + row[0].height < high);
  let { x, y } = start, way = `M${x} ${y}`;
  const to = (nextX, nextY) => {
    const middle = (y + nextY) / 2;
    way += ` C${x} ${middle} ${nextX} ${middle} ${nextX} ${nextY}`;
    [x, y] = [nextX, nextY];
  };
  for (const row of up ? passed.reverse() : passed) {
    const top = Math.min(...row.map((each) => each.y)), bottom = Math.max(...row.map((each) => each.y + each.height));
    // Where a straight line from here would pass the row.
    const aim = x + (end.x - x) * ((top + bottom) / 2 - y) / (end.y - y);
    to(nearestGap(row, aim, wide), up ? bottom : top);
    y = up ? top : bottom;
    way += ` L${x} ${y}`;
  }
  to(end.x, end.y);
  return way;
}

// Between two items of a row, or beside it where there is room.
function nearestGap(row, aim, wide) {
  const last = row.at(-1), ends = [row[0].x - BESIDE_ROW, last.x + last.width + BESIDE_ROW].filter((x) => x > 0 && x < wide);
  const gaps = row.slice(1).map((each, i) => (row[i].x + row[i].width + each.x) / 2);
  return [...gaps, ...ends].reduce((best, x) => (Math.abs(x - aim) < Math.abs(best - aim) ? x : best), ends[0] ?? gaps[0] ?? aim);
}
