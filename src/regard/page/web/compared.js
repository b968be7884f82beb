// Attended beside mattered: a row an item, one scale for each of the two. Of one record, or of two.
import { MOST_SHOWN } from "./answers.js";
import { barKey } from "./bar_key.js";
import { button, clipped, h, headedTable, titleOf, token } from "./dom.js";
import { missingText } from "./left_out.js";
import { markedKey } from "./marked.js";
import { clamp, effectText, inPoints, isProbability, isShownNoise, isToldByChange, isUnchanged, percent, percentChange, probability, sizeText } from "./numbers.js";
import { floorText, floorsApart } from "./noise.js";
import { twoLines } from "./sides.js";
import { equalAmong, equalShare, fullBar } from "./uniform.js";
import { changeSize, highestOf, isMasked, orZero, scaleOfChanges, weightText } from "./view.js";
import { headsOf, known, weightAt } from "./weights.js";
import { messageParts, nounOf, weightsName, wordsOf } from "./words.js";

const MOST_ROWS = 12;
const LEAST_ROWS = 3;
// Of many items, those of which neither is as much as this have no row.
const NOTEWORTHY = 0.01;
// Of more items than that equal weights are below 5 %, and a weight is told if it is so many times as large.
const FEW_ITEMS = 20, OF_EQUAL = 1.5;
// Words of more letters than that may be broken.
const MOST_UNBROKEN = 20;
// Of more letters there is no room beside bars that are said to be noise.
const MOST_BESIDE_NOISE = 10;
// Boxes for more heads than that would be too small to see.
const MOST_BOXES = 16;

// What measures effects, as Python's `story.py` says it.
const MEASURES = { command: "regard see --effects", call: "see(..., effects=True)" };

/**
 * The table of the items that were attended to most or mattered most; of two records, whose items `pairs` says which
 * correspond, the value of the first stands above that of the second.
 */
export function comparedView(root, choose, pairs = null) {
  return (view) => {
    const { state } = view, both = view.both ?? [view], [first] = both, words = wordsOf(state.lang);
    const list = pairs ? pairs.pairs.items : first.names.map((_, i) => [i]);
    const at = (row, read) => both.map((each, side) => (list[row][side] === null || !each.weights ? null : read(each, list[row][side])));
    const weights = (row) => at(row, (each, i) => each.weights[i]);
    const hidden = (row) => at(row, (each, i) => each.hidden[i] ?? null);
    // What is written as unchanged has no row for its effect.
    const noticedOf = (row) => highestOf(at(row, (each, i) => each.hidden[i] && Math.abs(lengthOfChange(each.hidden[i], each))).filter(Boolean), 0);
    const there = [...list.keys()].filter((row) => weights(row).some((each) => each !== null));
    if (!there.length) {
      root.replaceChildren(h("p", {}, missingText(both.find((each) => !each.absent) ?? view)));
      return;
    }
    const measured = both.some((each) => each.hidden.length);
    const kept = chosen(there.map((row) => highestOf(weights(row), 0)),
      measured ? there.map((row) => ({ change: noticedOf(row) })) : [], first.kind);
    const own = pairs ? pairs.indexOf("items", state.record, view.key) : view.key;
    const some = [...new Set([...kept.map((i) => there[i]), ...(there.includes(own) ? [own] : [])])].sort((a, b) => a - b);
    // What would be said of a single item takes no less room than its row.
    const rows = some.length === there.length - 1 ? there : some;
    const high = Math.max(...both.map((each, side) => fullBar(highestOf(rows.map((row) => weights(row)[side]), 0), equalAmong(each) || (each.weights?.length ?? Infinity))));
    const effects = (side) => rows.map((row) => hidden(row)[side]).filter(Boolean);
    const third = both.some(({ place, kind }, side) => effects(side).some((outcome) => isSaid(outcome, place, kind)));
    // Changes of other kinds, such as a probability's and a number's, have no scale in common.
    const alike = both.every(({ kind }) => kind === first.kind);
    const scales = both.map((each, side) => scaleOfChanges(alike ? both.flatMap((_, other) => effects(other)) : effects(side), each));
    // What two models attended to for answers to different questions has no difference.
    const hasGap = pairs && !pairs.apart;
    const boxed = !pairs && isBoxed(view), drawn = pairs ? linesOf(both) : cellsOf(view, rows, boxed, high);
    const body = rows.map((row) => {
      const found = weights(row), outcomes = hidden(row), side = list[row][0] === null ? 1 : 0;
      const go = () => choose({ ...(pairs ? { side } : {}), key: list[row][side] });
      return h("tr", { "data-key": row, class: row === own && (pairs || markedKey(view) !== null) ? "key" : "", onclick: go },
        h("th", { scope: "row" }, pairs ? namesOfRow(pairs, list[row], row, go, words) : nameOfRow(view, row, go)),
        drawn.weight(found.map((each) => each / high), list[row]), hasGap ? gapOf(found, words) : null,
        measured ? drawn.effect(outcomes, scales) : null, third ? drawn.said(outcomes) : null);
    });
    const isGrid = first.data.grid || first.data.input?.grid;
    const head = [nounOf(first.data.noun, state.lang) + (isGrid ? words.rowColumn : ""), weightsName(first, words) + (boxed ? words.boxes : ""), ...(hasGap ? [words.change] : []),
      ...(measured ? [matteredName(both, words)] : []), ...(third ? [words.without] : [])];
    const isKept = new Set(rows), others = there.filter((row) => !isKept.has(row)), namesAt = (row) => (pairs ? pairs.namesOf(list[row]) : [first.names[row]]);
    // What is masked is told apart from what has little weight.
    const restOfRows = (all) => [false, true].map((areMasked) => all.filter((row) => (!pairs && isMasked(view, row)) === areMasked)).filter(({ length }) => length)
      .map((some) => aboutOthers(some.map((row) => highestOf(weights(row), 0)), measured && alike ? some.map((row) => noticedOf(row)) : [], first, words,
        !pairs && isMasked(view, some[0]))).join(state.lang === "zh" ? "" : " ");
    const longest = longestWord(rows.flatMap((row) => namesAt(row))), isNoise = both.some((each) => each.hidden.some((outcome) => isPale(outcome, each)));
    root.replaceChildren(
      headedTable({ class: pairs ? "compared two" : longest > MOST_BESIDE_NOISE && isNoise ? "compared noisy-names" : "compared",
        style: { "--name": `${longest}ch` } }, head, body),
      ...(others.length ? [h("p", { class: "quiet" }, !pairs && view.least !== null ? restOf(view)
        : restOfRows(others))] : []),
      ...barKey({ equal: pairs ? 0 : equalShare(view), among: pairs ? 0 : equalAmong(view), high, fulls: measured && alike ? scales.map(({ full }) => full) : [], view: first, heads: boxed ? view.layer.heads : 0, views: both.filter((_, side) => scales[side].zero),
        isNoise: isNoise || both.some((each) => each.removed.flat().some((outcome) => isPale(outcome, each))),
        apart: pairs ? "" : floorsApart(view, words) }, words),
      h("p", { class: "quiet" }, measured ? words.hiding : messageParts(state.lang, "noEffects", MEASURES)
        .map(([text, kind]) => (kind ? h("code", {}, text) : text))));
  };
}

function isPale(outcome, { place, kind, state }) {
  return isShownNoise(outcome, place, kind, wordsOf(state.lang));
}

// The letters of the longest word of some names, for which the first column has room.
function longestWord(names) {
  return Math.min(MOST_UNBROKEN, Math.max(...names.flatMap((each) => each.split(/\s+/)).map(({ length }) => length)));
}

function isBoxed({ layer, pooled }) {
  return layer.heads > 1 && layer.heads <= MOST_BOXES && !pooled && known(layer, null) === "all";
}

// The cells of one record: a bar with its number, a box a head, the answer.
function cellsOf(view, rows, boxed, high) {
  const words = wordsOf(view.state.lang);
  const { hidden, kind, layer, place } = view, longest = (texts) => Math.max(...texts.map((each) => each.length));
  // What is masked has no bar, in whose place it is written.
  const room = { weight: longest(rows.map((i) => (isMasked(view, i) ? "" : weightText(view, i)))),
    effect: hidden.length ? longest(rows.map((i) => effectText(hidden[i], place, kind, words))) : 0 };
  return {
    weight: ([share], [i]) => h("td", {}, barred(share, "weight", weightText(view, i), room.weight, isMasked(view, i) ? 0 : equalShare(view) / high),
      boxed ? boxes(headsOf(layer, null).map((each) => weightAt(layer, each, place.query, i)), view, i) : null),
    effect: ([outcome], [scale]) => h("td", { class: isPale(outcome, view) ? "noise" : "", title: floorText(outcome, view, words) || null }, tracked(lengthOfChange(outcome, view), scale, effectText(outcome, place, kind, words), room.effect)),
    said: ([outcome]) => h("td", { class: isOther(outcome, place, kind) ? "said changed" : "said", title: titleOf(outcome.label, MOST_SHOWN) },
      ...saidOf(outcome, place, kind)),
  };
}

// The same of two, the first above the second.
function linesOf(both) {
  const lines = (values, draw) => twoLines(values.map((each, side) => (each === null ? null : draw(each, side, both[side]))));
  return {
    weight: (shares, pair) => h("td", {}, lines(shares.map((each, side) => (pair[side] === null || !both[side].weights ? null : each)),
      (share, side, view) => [bar(share, "weight"), weightText(view, pair[side])])),
    effect: (outcomes, scales) => h("td", {}, lines(outcomes, (outcome, side, view) =>
      [track(lengthOfChange(outcome, view), scales[side]), effectText(outcome, view.place, view.kind, wordsOf(view.state.lang))])),
    said: (outcomes) => h("td", { class: "said" }, lines(outcomes, (outcome, side, { place, kind }) =>
      [h("span", { class: isOther(outcome, place, kind) ? "changed" : "" }, saidOf(outcome, place, kind))])),
  };
}

function nameOfRow({ names }, i, go) {
  return button(`key ${i}`, token(clipped(names[i], MOST_SHOWN)), go, { class: "plain", title: titleOf(names[i], MOST_SHOWN) });
}

function namesOfRow(pairs, pair, row, go, words) {
  const alone = pair.indexOf(null);
  return [button(`row ${row}`, pairs.namesOf(pair).flatMap((each, i) => [i ? " / " : "", token(each)]), go, { class: "plain" }),
  alone < 0 ? null : h("span", { class: "quiet only" }, words.alonePair)];
}

function gapOf(found, words) {
  const gap = found.includes(null) ? NaN : found[1] - found[0];
  return h("td", { class: gap > 0 ? "more" : gap < 0 ? "less" : "" }, Number.isNaN(gap) ? "" : inPoints(percentChange(...found), words));
}

// How much weight and effect the items without rows have at most.
function aboutOthers(weights, effects, { kind, place }, words, areMasked) {
  // What is less than 1 % is 1 % at most.
  const most = (text) => text.replace(/^</, ""), count = weights.length, weight = most(percent(highestOf(weights, 0)));
  const [said, saidHidden, unchanged] = areMasked ? [words.othersMasked, words.othersMaskedHidden, words.othersMaskedUnchanged]
    : [words.others, words.othersHidden, words.othersUnchanged];
  if (!effects.length) return said({ count, weight });
  const effect = highestOf(effects, 0);
  return effect ? saidHidden({ count, weight, effect: most(sizeText(effect, kind, place.decimals)) }) : unchanged({ count, weight });
}

// What is known of a row of which the page holds the largest weights.
function restOf({ weights, state, least }) {
  const largest = weights.filter((each) => each > 0);
  return wordsOf(state.lang).rest({ count: largest.length, sum: percent(largest.reduce((a, b) => a + b, 0)),
    others: weights.filter(Number.isNaN).length, least: percent(least) });
}

/** A bar with its number after it, and a mark at a share of the longest one, which leaves room for a number of so many characters. */
function barred(share, kind, text, room, mark = 0) {
  return h("span", { class: "barred", style: { "--room": `${room}ch` } },
    mark ? h("i", { class: "equal", "aria-hidden": "true", style: { left: `${(60 * mark).toFixed(1)}%` } }) : null,
    bar(share, kind), h("span", { class: "number", style: { "margin-left": `${(60 * Math.max(0, mark - orZero(share))).toFixed(1)}%` } }, text));
}

/** Where values go both ways, a track on which a bar begins at zero, with its number after it; else a bar. */
export function tracked(length, scale, text, room, kind = "effect") {
  if (!scale.zero) return barred(Math.abs(length) / scale.full, kind, text, room);
  return h("span", { class: "barred", style: { "--room": `${room}ch` } }, track(length, scale, kind), h("span", { class: "number" }, text));
}

function track(length, { full, zero }, kind = "effect") {
  if (!zero) return bar(Math.abs(length) / full, kind);
  const share = Math.abs(length) / full, left = length < 0 ? zero - share : zero;
  return h("span", { class: "track", "aria-hidden": "true" }, h("i", { class: "zero", style: { left: `${(100 * zero).toFixed(1)}%` } }),
    !length ? null : h("span", { class: `bar ${kind}`, style: { left: `${(100 * left).toFixed(1)}%`, width: `${(100 * share).toFixed(1)}%` } }));
}

// Of a label's probability the label is named, and where sides have different ones, that of each.
function matteredName(both, words) {
  const labels = both.map(({ kind, place }) => (isProbability(place, kind) ? clipped(place.label, MOST_SHOWN) : ""));
  const each = new Set(labels).size === 1 ? labels.slice(0, 1) : labels.map((label, side) => `${"AB"[side]} ${label}`);
  // Effects are those of the whole model, whichever head is chosen.
  const name = both.some(({ layer, head }) => head !== null && layer.heads > 1) ? words.matteredEverywhere : words.mattered;
  return labels.every(Boolean) ? `${name}: ${each.join(words.listed)}` : name;
}

// Whether the answer is another label; a number is always another.
function isOther({ label }, place, kind) {
  return kind !== "numbers" && label !== place.label;
}

// Whether what is predicted after a change has a name. That another piece than the one that was written stays the likeliest one is
// no prediction of it.
function isSaid(outcome, place, kind) {
  return kind !== "vectors" && (!place.likelier || isOther(outcome, place, kind));
}

function saidOf(outcome, place, kind) {
  if (!isSaid(outcome, place, kind)) return [];
  return [token(clipped(outcome.label, MOST_SHOWN)), outcome.score === null || isToldByChange(outcome, place, kind) ? ""
    : ` ${probability(outcome.score)}`];
}

// What the bar of a change is as long as: one that is written as unchanged has none.
function lengthOfChange(outcome, { place, kind, state }) {
  return isUnchanged(outcome, place, kind, wordsOf(state.lang)) ? 0 : orZero(outcome.change);
}

function bar(share, kind) {
  const width = clamp(orZero(share), 0, 1);
  return h("span", { class: `bar ${kind}${width ? "" : " none"}`, "aria-hidden": "true", style: { width: `${(60 * width).toFixed(1)}%` } });
}

// A box a head, as dark as its weight, so that one sees which of them the average comes from.
function boxes(found, view, item) {
  const { head } = view, textOf = (each) => (isMasked(view, item) ? weightText(view, item) : percent(each));
  const title = found.map((each, i) => `${i + 1}: ${textOf(each)}`).join(", ");
  return h("span", { class: "boxes", title, "aria-hidden": "true" }, found.map((each, i) => h("span",
    { class: i === head ? "box chosen" : "box", style: { "--weight-value": Math.sqrt(orZero(each)).toFixed(3) } })));
}

function sizeOf(hidden, i) {
  return hidden.length ? changeSize(hidden[i]) : 0;
}

// The items of the table, in turn the next by weight and the next by effect, in the order of the input.
function chosen(weights, hidden, kind) {
  const all = [...weights.keys()];
  if (all.length <= MOST_ROWS) return all;
  const byWeight = [...all].sort((a, b) => orZero(weights[b]) - orZero(weights[a]));
  // Where nothing changes the answer, no order of changes says which rows there are.
  const byChange = hidden.some((each) => changeSize(each) > 0) ? [...all].sort((a, b) => sizeOf(hidden, b) - sizeOf(hidden, a)) : byWeight;
  const least = kind === "numbers" ? NOTEWORTHY * sizeOf(hidden, byChange[0]) : NOTEWORTHY;
  const sum = weights.reduce((all, each) => all + orZero(each), 0);
  const enough = all.length <= FEW_ITEMS ? NOTEWORTHY : Math.max(NOTEWORTHY, OF_EQUAL * sum / all.length);
  const found = new Set();
  const add = (i, size, from) => {
    if (found.size < MOST_ROWS && (from > 0 && size >= from || found.size < LEAST_ROWS)) found.add(i);
  };
  for (let i = 0; i < all.length && found.size < MOST_ROWS; i++) {
    add(byWeight[i], orZero(weights[byWeight[i]]), enough);
    add(byChange[i], sizeOf(hidden, byChange[i]), least);
  }
  return [...found].sort((a, b) => a - b);
}
