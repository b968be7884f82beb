// What all drawn inputs have: the sheet that is drawn on, a line about one item, a legend, the answers; and how an item
// is chosen.
import { answerChips } from "./answers.js";
import { scaleLegend } from "./colours.js";
import { h, token } from "./dom.js";
import { clamp, effectText, isProbability, probability } from "./numbers.js";
import { isScaledWhole, mapScale } from "./map_scale.js";
import { toldItem } from "./marked.js";
import { patchName } from "./ties.js";
import { equalAmong, equalShare } from "./uniform.js";
import { heaviest, isMasked, orZero, placeAt, weightText } from "./view.js";
import { weightsName, wordsOf } from "./words.js";

/**
 * The parts around a sheet. `draw` is called with the view and the item under the pointer, or null; `keyOf` gives what the
 * legend says besides the scale, of a view and the words; cover: how much the full colour of a weight hides of what is below it.
 */
export function drawingOf(root, choose, kind, draw, keyOf = () => [], cover = 0) {
  const sheet = h("div", { class: "sheet" }), line = h("p", { class: "quiet line", "aria-live": "polite" });
  const legend = h("p", { class: "legend" }), note = h("p", { class: "quiet" });
  const answers = h("ol", { class: "chips written", role: "list" });
  const figure = h("div", { class: "figure" }, sheet, line, legend, note);
  root.append(h("div", { class: `drawn ${kind}` }, figure, answers));
  let view = null, hovered = null, width = 0;
  new ResizeObserver(() => {
    if (!view || !sheet.clientWidth || sheet.clientWidth === width) return;
    width = sheet.clientWidth;
    draw(view, hovered);
  }).observe(sheet);

  return {
    sheet,
    /** Put an element below the drawing and what is said of it. */
    below: (element) => figure.append(element),
    /** Draw a view, with some sentences below. */
    show(next, notes = []) {
      view = next;
      const words = wordsOf(view.state.lang), chips = answerChips(view, choose);
      answers.replaceChildren(...chips);
      answers.hidden = !chips.length;
      answers.classList.toggle("several", chips.length > 4);
      note.textContent = notes.filter(Boolean).join(" ");
      note.hidden = !note.textContent;
      const scale = view.weights ? scaleLegend(words, mapScale(view), {
        name: isScaledWhole(view) ? words.legend : words.legendOfRow, equal: equalShare(view), among: equalAmong(view), cover }) : [], key = keyOf(view, words);
      legend.replaceChildren(...scale, ...(scale.length && key.length ? [" · "] : []), ...key);
      legend.hidden = !legend.firstChild;
      tell();
      width = sheet.clientWidth;
      draw(view, hovered);
    },
    /** Say what an item got, and show it in the other parts of the page; null: the chosen one again. */
    light(item) {
      if (item === hovered) return;
      hovered = item;
      tell();
      draw(view, hovered);
      root.dispatchEvent(new CustomEvent("lit", { bubbles: true, detail: { key: item } }));
    },
    /** What is predicted from an item, or else the weight of the item. */
    pick(item) {
      const place = view.data.queries === null ? placeAt(view.data, item) : -1;
      choose(place >= 0 ? { place, key: null } : { key: item });
    },
    /** Let the pointer light and pick the items of an element; `itemAt` gives that of an event, or null. */
    listen(element, itemAt) {
      element.addEventListener("pointermove", (event) => this.light(itemAt(event)));
      element.addEventListener("pointerleave", () => this.light(null));
      element.addEventListener("click", (event) => itemAt(event) !== null && this.pick(itemAt(event)));
    },
    get view() {
      return view;
    },
  };

  function tell() {
    const item = hovered ?? ownItem(view) ?? toldItem(view);
    line.replaceChildren(...(item === null ? [] : aboutItem(view, item)));
  }
}

/** The item for which is predicted; null if it is none of those that are attended to. */
export function ownItem(view) {
  return view.pooled || view.data.queries !== null ? null : view.place.query;
}

/** The item that is chosen, as what is predicted for or as what is attended to. */
export function chosenItem(view) {
  return ownItem(view) ?? view.key;
}

/** The weight that has the full colour. */
export function highest(view) {
  return mapScale(view).full;
}

/** How much of its colour an item has, from 0 to 1; the root, as in the map. */
export function strengthOf({ weights }, item, high) {
  return weights ? Math.sqrt(clamp(orZero(weights[item]) / high, 0, 1)) : 0;
}

/** The items with the largest weights. */
export function heaviestItems({ weights }) {
  return weights ? heaviest(weights, [...weights.keys()]) : [];
}

function aboutItem(view, item) {
  const { data, weights, hidden, kind, names, place } = view, words = wordsOf(view.state.lang);
  const label = data.labels[item], score = data.scores[item];
  const parts = [
    label ? `${label}${score === undefined ? "" : ` ${probability(score)}`}` : "",
    !weights ? "" : isMasked(view, item) ? words.masked : `${weightsName(view, words)} ${weightText(view, item)}`,
    hidden.length ? `${isProbability(place, kind) ? words.without : words.mattered} ${effectText(hidden[item], place, kind, words)}` : "",
  ];
  return [token(patchName(names[item], data, view.state.lang) ?? names[item]), ...parts.filter(Boolean).map((each) => ` · ${each}`)];
}
