// The input itself, large: the chosen item is framed, what it attended to is shaded and joined to it by arcs. In many rows
// there are no arcs, and the weights stand on the chips.
import { MOST_SHOWN, answerChips, around, canPeek, chipButton, isLong, range, shownText } from "./answers.js";
import { button, clipped, h, s, titleOf, token } from "./dom.js";
import { fillsManyRows, numberChips } from "./item_numbers.js";
import { loopAbove, placeLoopNumber } from "./loops.js";
import { chipStyle } from "./map_scale.js";
import { markedKey } from "./marked.js";
import { percent, probability } from "./numbers.js";
import { fitPaper } from "./paper.js";
import { rowsOf, wayBetween } from "./rows_between.js";
import { tagMeaning } from "./terms.js";
import { nounOf, wordsOf } from "./words.js";
import { heaviest, placeAt, weightText } from "./view.js";
import { known, rowOf } from "./weights.js";

// Items outside of a window that its edge names.
const MOST_FAR = 3;
// Heights of arcs in pixels: of the lowest one, and of the highest where there are several lines.
const LEAST_ARC = { line: 28, lines: 8 }, MOST_ARC = { lines: 22 };
// How far the number of an arc stands from its end.
const BESIDE_ARC = 20;
// How far beside a loop other arcs begin, at most.
const BESIDE_LOOP = 16;
// Sizes of the letters: the first at which the items fit on one line, or the last.
const SIZES = [40, 34, 28, 23, 20];

/**
 * The picture of the items, until `signal` ends it; `choose` is called with what changes in the state, `peek` with what the
 * mouse is on.
 */
export function itemsView(root, choose, peek, signal) {
  const list = h("ol", { class: "chips", role: "list" });
  const written = h("ol", { class: "chips written", role: "list" });
  const arcs = s("svg", { class: "arcs", "aria-hidden": "true" });
  const box = h("div", { class: "items" }, arcs, list, written);
  // Whether the weights of all items are drawn, and not those of the chosen one alone.
  let every = false;
  const lines = button("lines", "", () => {
    every = !every;
    lines.setAttribute("aria-pressed", String(every));
    redraw();
  }, { "aria-pressed": "false" });
  const buttons = h("p", { class: "buttons lines-button" }, lines);
  root.append(box, buttons);
  let drawn = null, fitted = null, width = null;
  const redraw = () => {
    if (!drawn) return;
    const isNumbered = box.classList.contains("numbered"), all = every && drawn.hasRows;
    box.classList.toggle("all-lines", all);
    numberChips(drawn.chips, drawn.view.weights, isNumbered ? joinedTo(drawn) : []);
    if (all) drawAllArcs(drawn);
    else if (isNumbered) drawn.arcs.replaceChildren();
    else drawArcs(drawn);
  };
  const resize = () => {
    if (drawn && width !== box.clientWidth) fit();
    redraw();
  };
  new ResizeObserver(resize).observe(box);
  // On paper words would stand elsewhere than the ends of their arcs.
  fitPaper(box, resize, signal);

  // A movement of the mouse itself: what is drawn anew under a mouse that rests isn't chosen.
  box.addEventListener("pointermove", ({ pointerType, target }) => {
    const place = target.closest?.("[data-place]")?.dataset.place;
    if (pointerType === "mouse" && place !== undefined) peek({ place: Number(place), key: null });
  });
  box.addEventListener("pointerleave", () => peek(null));

  function fit() {
    width = box.clientWidth;
    box.classList.remove("numbered");
    const size = SIZES.find((each) => {
      box.style.setProperty("--letters", `${each / 16}rem`);
      box.classList.remove("lines");
      return [list, written].every(isOneLine);
    });
    box.classList.toggle("lines", size === undefined);
    box.classList.toggle("numbered", fillsManyRows(list));
  }

  return (view) => {
    const { data, state } = view;
    const pair = data.queries !== null, chips = new Map();
    const selected = view.pooled ? null : view.place.query;
    const shown = around(data.items.length, pair || selected === null ? (view.weights ? view.key : 0) : selected);
    box.classList.toggle("long", isLong(data));
    list.replaceChildren(...edge(view, shown, true, chips),
      ...range(shown.from, shown.to).map((i) => chip(view, i, pair ? null : selected, pair, chips)), ...edge(view, shown, false, chips));
    written.replaceChildren(...answerChips(view, choose));
    const chosen = written.querySelector(".selected");
    if (chosen) chips.set("answer", chosen);
    written.hidden = !written.firstChild;
    box.classList.toggle("two", !written.hidden);
    // The same items are as wide whichever is chosen.
    if (fitted !== data || width !== box.clientWidth) fit();
    fitted = data;
    // All rows of a window would hide each other.
    const hasRows = !pair && !view.pooled && !isLong(data) && known(view.layer, view.head) === "all";
    drawn = { box, arcs, view, chips, hasRows, from: pair || selected === null ? "answer" : selected };
    buttons.hidden = !hasRows || data.items.length < 3;
    lines.textContent = wordsOf(state.lang).allLines;
    redraw();
  };

  function chip(view, i, selected, pair, chips) {
    const { data, weights } = view, alone = pair || view.pooled;
    const label = data.labels[i], score = data.scores[i];
    const note = pair ? null : label === undefined || label === "" ? null
      : h("span", { class: "label", title: tagMeaning(data, label, view.state.lang) }, token(clipped(label, MOST_SHOWN)), score === undefined ? "" : ` ${probability(score)}`);
    const text = shownText(data.items[i]), title = titleOf(data.items[i], MOST_SHOWN);
    const place = alone ? -1 : placeAt(data, i), peeking = !alone && canPeek(data);
    // Of an answer for the whole what got weight is picked; of what was written, only the written pieces.
    const main = pair ? h("span", { class: "chip", title }, h("span", { class: "text" }, token(text)), note)
      : chipButton(`item ${i}`, text, note, view.pooled ? view.isChosen && i === view.key : i === selected,
        () => choose(view.pooled ? { key: i } : { place, key: null }),
        { "data-place": peeking && place >= 0 ? place : null, title });
    const element = h("li", { class: i === selected ? "selected" : "", title: weights && !peeking ? weightText(view, i) : null,
      style: i === selected || !weights ? {} : chipStyle(root, view, weights[i]) }, main);
    if (!peeking) {
      main.addEventListener("pointerenter", () => light(i, true));
      main.addEventListener("pointerleave", () => light(i, false));
    }
    if (i === markedKey(view) && weights) element.classList.add("key");
    chips.set(i, element);
    return element;
  }

  function light(i, on) {
    for (const each of box.querySelectorAll(`[data-key="${i}"]`)) each.classList.toggle("lit", on);
    root.dispatchEvent(new CustomEvent("lit", { bubbles: true, detail: { key: on ? i : null } }));
  }

  // What is outside of the window, at its edge: the largest weights there, which lead to their items.
  function edge(view, shown, before, all) {
    const { data, weights } = view;
    const [from, to] = before ? [0, shown.from] : [shown.to, data.items.length];
    if (from >= to) return [];
    const far = weights ? heaviest(weights, range(from, to), MOST_FAR) : [];
    const words = wordsOf(view.state.lang), selected = view.pooled ? 0 : view.place.query;
    // Where the item can be chosen, its chip there will have the name of this one, and with it the focus.
    const alone = data.queries !== null || view.pooled;
    const chips = far.map((i) => button(`${alone ? "far" : "item"} ${i}`,
      words[before ? "before" : "after"]({ share: percent(weights[i]), text: shownText(data.items[i]), distance: Math.abs(selected - i) }),
      () => choose(alone ? { key: i } : { place: placeAt(data, i), key: null }), { class: "far", "data-key": i }));
    // An arc leads to each as to an item; its text says the weight.
    chips.forEach((each, at) => all.set(far[at], each));
    const others = words[before ? "moreBefore" : "moreAfter"]({ count: to - from, noun: nounOf(data.noun, view.state.lang, true) });
    return [h("li", { class: "edge" }, h("span", {}, others), ...chips)];
  }
}

function isOneLine({ firstElementChild: first, lastElementChild: last }) {
  return first === null || first.offsetTop + first.offsetHeight > last.offsetTop;
}

// The items that are drawn as joined to the chosen one: those with the largest weights.
function joinedTo({ view, chips }) {
  return view.weights ? heaviest(view.weights, [...chips.keys()].filter((key) => key !== "answer")) : [];
}

function drawArcs({ box, arcs, view, chips, from }) {
  const { weights } = view, start = chips.get(from);
  arcs.replaceChildren();
  if (!weights || !start) return;
  const area = box.getBoundingClientRect();
  // A frame that isn't seen yet has no size; it is drawn when it has one.
  if (!area.width) return;
  arcs.setAttribute("viewBox", `0 0 ${area.width} ${area.height}`);
  const joined = joinedTo({ view, chips }), own = at(start, area);
  const hasLoop = joined.includes(from), endsOf = (key) => apart(own, at(chips.get(key), area), hasLoop);
  const numbers = [], room = roomOfArcs(box, joined.filter((key) => key !== from).map(endsOf));
  const thick = (key) => 1.5 + 9 * weights[key];
  const drawLine = (key, d) => arcs.append(s("path", { d, "data-key": key, "stroke-width": thick(key), "stroke-opacity": 0.45 + 0.4 * weights[key] }));
  const numberOf = (key, spot) => s("text", { ...spot, "data-key": key }, percent(weights[key]));
  // The lightest first, so that the heaviest lie on top; numbers above all.
  for (const key of joined.filter((each) => each !== from).reverse()) {
    const ends = endsOf(key);
    const path = from !== "answer" && isBeside(ends) ? arcAbove(...ends, room) : arcAcross(...ends, room);
    drawLine(key, path.line);
    if (chips.get(key).className !== "far") numbers.push(numberOf(key, { x: path.x, y: path.y }));
  }
  if (hasLoop) drawLine(from, loopAbove(own, thick(from), box.classList.contains("lines")));
  const loop = arcs.lastChild;
  arcs.append(...numbers);
  if (!hasLoop) return;
  const text = numberOf(from, {}), items = [...chips.values()].map((each) => boxIn(each, area));
  arcs.append(text);
  placeLoopNumber(text, loop, own, [...numbers.map((each) => each.getBBox()), ...items]);
}

// Of each item the weights that it gives, in one picture: without numbers, and as dark as they are large.
function drawAllArcs({ box, arcs, view, chips }) {
  arcs.replaceChildren();
  const area = box.getBoundingClientRect();
  if (!area.width) return;
  arcs.setAttribute("viewBox", `0 0 ${area.width} ${area.height}`);
  const found = [];
  for (const query of chips.keys()) {
    if (typeof query !== "number") continue;
    const weights = rowOf(view.layer, view.head, query);
    for (const key of heaviest(weights, [...chips.keys()].filter((each) => typeof each === "number"))) {
      found.push({ query, key, weight: weights[key] });
    }
  }
  const drawn = found.map((each) => ({ ...each, ends: [at(chips.get(each.query), area), at(chips.get(each.key), area)] }));
  const room = roomOfArcs(box, drawn.map(({ ends }) => ends));
  for (const { query, key, weight, ends } of drawn.sort((a, b) => a.weight - b.weight)) {
    const thick = 1 + 5 * weight, line = query === key ? loopAbove(ends[0], thick, box.classList.contains("lines"))
      : (isBeside(ends) ? arcAbove(...ends, room) : arcAcross(...ends, room)).line;
    arcs.append(s("path", { d: line, "data-key": key, "data-query": query, "stroke-width": thick, "stroke-opacity": 0.1 + 0.6 * weight }));
  }
}

function at(element, area) {
  const { x, y, width, height } = boxIn(element, area);
  return { x: x + width / 2, top: y, bottom: y + height, wide: width };
}

function boxIn(element, area) {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: left - area.left, y: top - area.top, width, height };
}

// The ends of an arc, which begins beside the loop of an item that has one.
function apart(start, end, hasLoop) {
  return [hasLoop ? { ...start, x: start.x + (end.x < start.x ? -1 : 1) * Math.min(BESIDE_LOOP, start.wide / 3) } : start, end];
}

// Whether both ends of an arc stand on one line.
function isBeside([one, other]) {
  return Math.abs(one.top - other.top) < 4;
}

// The room for arcs above a line: {high, wide}, the height of the highest one, and the distance that it spans; and for those
// from line to line: {rows, across}, the rows of items, and the width of all.
function roomOfArcs(box, ends) {
  const area = box.getBoundingClientRect(), boxes = [...box.querySelectorAll(".chips > li")].map((each) => boxIn(each, area));
  return { ...heightOfArcs(box, ends), rows: rowsOf(boxes), across: area.width };
}

function heightOfArcs(box, ends) {
  const beside = ends.filter(isBeside), wide = Math.max(1, ...beside.map(([one, other]) => Math.abs(one.x - other.x)));
  if (box.classList.contains("lines")) return { high: MOST_ARC.lines, wide, least: LEAST_ARC.lines };
  const most = Math.min(...beside.map(([one]) => one.top - 22));
  // Where there is room enough, near words have arcs as low as they have among others.
  return { high: Math.min(most, LEAST_ARC.line + 0.32 * wide), wide, least: LEAST_ARC.line };
}

// Above the line in which both stand: the further apart, the higher. The number stands over the item that it is of, beside
// the arc.
function arcAbove(start, end, { high, wide, least }) {
  const apart = Math.abs(start.x - end.x), height = least + Math.max(0, high - least) * Math.min(1, apart / wide);
  const peak = start.top - height * 1.33, away = end.x < start.x ? -1 : 1;
  const line = `M${start.x} ${start.top} C${start.x} ${peak} ${end.x} ${peak} ${end.x} ${end.top}`;
  return { line, x: end.x + away * BESIDE_ARC, y: end.top - 8 };
}

// From the edge of one line to that of another, between the items of the lines that it passes.
function arcAcross(start, end, { rows, across }) {
  const up = start.top > end.top;
  const [a, b] = up ? [start.top, end.bottom] : [start.bottom, end.top], near = up ? end.bottom + 14 : end.top - 6;
  return { line: wayBetween({ x: start.x, y: a }, { x: end.x, y: b }, rows, across), x: end.x + 16, y: near };
}
