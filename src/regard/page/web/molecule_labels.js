// Where the names and numbers of atoms or nodes and their weights stand in a drawing, so that none stands on another one, on a bond
// or beside an atom that it isn't of.
const TURNS = 24;
// What a place costs: on another label, outside of the sheet, across a bond, close to one, on another atom, nearer to another atom.
const COSTS = { label: 100, outside: 100, bond: 4, near: 1, atom: 3, stranger: 8 };
// A label that was placed is placed again when the others are there.
const ROUNDS = 3;
// How much of the height of a line digits have.
const DIGITS = 0.7;
// A bond that is so near a label, in pixels, is close to it.
const NEAR = 4;
// How far labels are apart, in pixels.
const LABELS_APART = 1;

/** Put labels where none stands on another one, and leave out those for which there is no such place. */
export function placeLabels(labels, sheet) {
  placedLabels(labels, sheet).forEach((spot, i) => {
    const { element, shift } = labels[i];
    if (!spot) return element.remove();
    element.setAttribute("x", spot.x - shift.x);
    element.setAttribute("y", spot.y - shift.y);
  });
}

/** A text of a drawing as a label of its item, without spots. */
export function labelOf(element) {
  const { width, height, x, y } = measured(element);
  return { element, item: Number(element.dataset.item), width, height, shift: { x: x - Number(element.getAttribute("x")), y: y - Number(element.getAttribute("y")) } };
}

/** The size of a text and its middle. */
export function measured(element) {
  const { x, y, width, height } = element.getBBox();
  return { x: x + width / 2, y: y + height / 2, width, height };
}

/** The places around an atom for a label of a size: on ellipses whose edges are so far from the middle, each with what it costs. */
export function spotsAround({ x, y }, { width, height }, rings) {
  return rings.flatMap(({ across, down, cost }) => Array.from({ length: TURNS }, (_, i) => {
    const turn = 2 * Math.PI * i / TURNS;
    return { x: x + (across + width / 2) * Math.cos(turn), y: y + (down + height / 2) * Math.sin(turn), cost };
  }));
}

/**
 * Where each label stands, {x, y} of its middle; null where it would stand on another one.
 *
 * labels: {width, height, item, spots} each; sheet: {width, height, atoms, radius, boxes, lines}, where labels stand and what
 * they avoid: discs around atoms, boxes of other texts, and bonds as {from, to}.
 */
export function placedLabels(labels, sheet) {
  const found = labels.map(() => null);
  for (let round = 0; round < ROUNDS; round++) {
    labels.forEach((label, i) => {
      const others = [...sheet.boxes, ...found.map((spot, other) => (spot && other !== i ? boxAt(spot, labels[other]) : null)).filter(Boolean)];
      let least = Infinity;
      for (const spot of label.spots) {
        const cost = spot.cost + costOfSpot(boxAt(spot, label), spot, label, others, sheet, least);
        if (cost < least - 1e-9) [found[i], least] = [spot, cost];
      }
      if (least >= COSTS.label && round === ROUNDS - 1) found[i] = null;
    });
  }
  return found;
}

function costOfSpot(box, spot, { item }, others, { width, height, atoms, radius, lines }, most) {
  let cost = box.left < 0 || box.top < 0 || box.right > width || box.bottom > height ? COSTS.outside : 0;
  for (const each of others) if (overlaps(box, each)) cost += COSTS.label;
  if (cost >= most) return cost;
  const own = Math.hypot(spot.x - atoms[item].x, spot.y - atoms[item].y);
  atoms.forEach((atom, i) => {
    if (i === item) return;
    if (isOnDisc(box, atom, radius)) cost += COSTS.atom;
    if (Math.hypot(spot.x - atom.x, spot.y - atom.y) < own) cost += COSTS.stranger;
  });
  const inner = inkOf(box);
  for (const { from, to } of lines) cost += isCrossed(inner, from, to) ? COSTS.bond : isCrossed(grown(inner, NEAR), from, to) ? COSTS.near : 0;
  return cost;
}

/** The box of a label whose middle is at a spot. */
export function boxAt({ x, y }, { width, height }) {
  return { left: x - width / 2, top: y - height / 2, right: x + width / 2, bottom: y + height / 2 };
}

function overlaps(one, other) {
  return one.left < other.right + LABELS_APART && other.left < one.right + LABELS_APART
    && one.top < other.bottom + LABELS_APART && other.top < one.bottom + LABELS_APART;
}

function grown({ left, top, right, bottom }, by) {
  return { left: left - by, top: top - by, right: right + by, bottom: bottom + by };
}

/** What digits fill of the box of a text. */
export function inkOf({ top, bottom, ...sides }) {
  const spare = (bottom - top) * (1 - DIGITS) / 2;
  return { top: top + spare, bottom: bottom - spare, ...sides };
}

/** Whether a box is over a disc. */
export function isOnDisc({ left, top, right, bottom }, { x, y }, radius) {
  return Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom)) < radius;
}

// Whether a line goes through a box: some part of it is between all four sides.
function isCrossed({ left, top, right, bottom }, from, to) {
  let [start, end] = [0, 1];
  for (const [at, by, low, high] of [[from.x, to.x - from.x, left, right], [from.y, to.y - from.y, top, bottom]]) {
    if (Math.abs(by) < 1e-9) {
      if (at <= low || at >= high) return false;
    } else {
      const ends = [(low - at) / by, (high - at) / by];
      [start, end] = [Math.max(start, Math.min(...ends)), Math.min(end, Math.max(...ends))];
    }
  }
  return start < end;
}
