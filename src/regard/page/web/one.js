// The parts of the page of one record, or of several, of which one is shown at a time.
import { attributedAt, attributedPart } from "./attributed.js";
import { comparedView } from "./compared.js";
import { nameOfHead, overAll, sentenceOf } from "./facts.js";
import { headsView } from "./heads.js";
import { inputView } from "./input.js";
import { mapView } from "./map.js";
import { weightCells } from "./map_weights.js";
import { changed } from "./state.js";
import { stepsFocus, stepsView } from "./steps.js";
import { placesOf, viewOf } from "./view.js";

/** What the page of records does, each shown by itself. */
export function oneOf(all) {
  const { records } = all, dataOf = (state) => records[state.record], stepped = (now, by, count) => (now + by + count) % count;
  return {
    changed: (state, change) => changed(state, change, records), normal: (state) => state,
    viewOf: (state) => ({ ...viewOf(dataOf(state), state), attributed: attributedAt(all, state) }),
    step: (state, by) => ({ place: stepped(state.place, by, placesOf(dataOf(state))), key: null }),
    stepKey: (state, key, by) => ({ key: stepped(key, by, dataOf(state).items.length) }),
    sentence: sentenceOf,
    heading: (view, words) => [view.data.model, ...nameOfHead(view, words), overAll(view, words)],
    headsNote: (view, words) => (view.removed.length ? words.headsNote : ""),
    stepsNote: stepsFocus,
    told: (view) => [view.data], warnings: ({ data }) => data.warnings, notes: () => [], choosesRecord: records.length > 1,
    texts: (state) => (dataOf(state).queries || dataOf(state).items).map((text, i) => ({ text, i })),
    views: ({ page, items, compared, heads, map, steps, stepsTitle }, choose, peek, tiles, signal) => {
      const part = attributedPart(all);
      // In place of the first bars.
      if (part) page.querySelector(".compared-part").before(part.section);
      return [inputView(items, choose, peek, signal), comparedView(compared, choose), headsView(heads, choose, signal),
        mapView(map, choose, weightCells(tiles)), stepsView(steps, stepsTitle), ...(part ? [part.show] : [])];
    },
  };
}
