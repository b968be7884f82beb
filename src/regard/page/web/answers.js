// What the model says, as chips: the answers for the whole, or what it wrote, of which one is chosen.
import { button, clipped, h, titleOf, token } from "./dom.js";
import { probability } from "./numbers.js";
import { placeAt } from "./view.js";
import { wordsOf } from "./words.js";

// More items than that are shown as a window around the chosen one.
const WINDOW = 80;
const LINES = 140;
/** Characters of an item, a name or an answer that are shown. */
export const MOST_SHOWN = 60;

/** The chips; none where each item has an answer of its own. */
export function answerChips(view, choose) {
  const { queries, outcomes } = view.data, selected = view.pooled ? null : view.place.query;
  if (queries !== null) {
    const shown = around(queries.length, selected || 0);
    return range(shown.from, shown.to).map((i) => writtenChip(view, i, selected, choose));
  }
  if (selected !== null) return [];
  const shown = around(outcomes.places.length, view.state.place);
  return range(shown.from, shown.to).map((i) => answerChip(view, i, choose));
}

function writtenChip(view, i, selected, choose) {
  const place = placeAt(view.data, i), found = view.data.outcomes.places[place];
  const score = found && found.score !== null ? h("span", { class: "label" }, probability(found.score)) : null;
  return h("li", { class: i === selected ? "selected" : "" },
    chipButton(`written ${i}`, shownText(view.data.queries[i]), score, i === selected, () => choose({ place, key: null }),
      { "data-place": canPeek(view.data) && place >= 0 ? place : null, disabled: place < 0, title: titleOf(view.data.queries[i], MOST_SHOWN) }));
}

function answerChip(view, i, choose) {
  const { name, label, score } = view.data.outcomes.places[i], chosen = i === view.state.place;
  const note = h("span", { class: "label" }, name === "the whole" ? "" : `${clipped(name, MOST_SHOWN)} `, score === null ? "" : probability(score));
  return h("li", { class: chosen ? "selected" : "" },
    chipButton(`answer ${i}`, clipped(label, MOST_SHOWN) || wordsOf(view.state.lang).answer, note, chosen, () => choose({ place: i, key: null }),
      { "data-place": canPeek(view.data) ? i : null, title: titleOf(label, MOST_SHOWN) }));
}

/** A chip that can be chosen: a text, and what is said beside it. */
export function chipButton(id, text, note, isChosen, onclick, properties) {
  return button(id, [h("span", { class: "text" }, token(text)), note], onclick, { class: "chip", "aria-pressed": String(isChosen), ...properties });
}

/** A window of a list, around one of its items. */
export function around(count, centre) {
  if (count <= WINDOW) return { from: 0, to: count };
  const size = Math.min(LINES, count), from = Math.min(Math.max(0, centre - size / 2), count - size);
  return { from, to: from + size };
}

/** Whether a window of the items is shown, as lines. */
export function isLong({ items, queries }) {
  return Math.max(items.length, (queries || []).length) > WINDOW;
}

/** Whether the mouse shows what it is on: not in a window around the chosen item, which would move away from it. */
export function canPeek({ items, outcomes }) {
  return Math.max(items.length, outcomes.places.length) <= WINDOW;
}

/** Pieces of words begin with their space. The table has all of a long text. */
export function shownText(text) {
  return clipped(text.trim() || text, MOST_SHOWN);
}

/** The numbers from one to another. */
export function range(from, to) {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
