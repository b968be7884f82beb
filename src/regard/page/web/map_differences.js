// The cells of a map of differences: purple where a weight is smaller in B, green where it is larger.
import { colourOfDifference, scaleOfDifferences, swatch } from "./colours.js";
import { fromOverview } from "./thumbnails.js";
import { cropped } from "./map_weights.js";
import { briefChange, inPoints, percent, percentChange, roundHalfEven } from "./numbers.js";
import { cells } from "./tiles.js";
import { highestOf, isRemoved } from "./view.js";
import { HIDDEN, headsOf, isAllowed, known, rowOf, sharedMask } from "./weights.js";
import { wordsOf } from "./words.js";

const MOST_CELLS = 256;
// Differences of ten points or less don't have the full colour.
const LEAST_HIGH = 0.1;
// A number with its sign needs more room than one without.
const LEAST_SIGNED = 34;
// Weights, over all heads of both, that are computed at once without the page standing still; and by a worker.
const PAIRS_AT_ONCE = 2 ** 18;
const PAIRS_LATER = 2 ** 24;

/** The source of a map of differences, whose views are those of the first record with those of both as `both`. */
export function differenceCells(pairs, tiles) {
  return {
    name: "difference",
    scaled: (high) => () => high,
    title: ({ state }) => wordsOf(state.lang).differenceMap,
    look(view, window, later, show) {
      const words = wordsOf(view.state.lang), none = (why = words.noDifference) => show({ found: null, notes: [why] });
      const give = ([a, b], its) => {
        const sums = a.sums.map((one, i) => (one === HIDDEN && b.sums[i] === HIDDEN ? HIDDEN : zeroed(b.sums[i]) - zeroed(one)));
        // The scale has room for the difference of the rounded numbers, too, which is written.
        const written = (i) => Math.abs(roundHalfEven(100 * zeroed(b.sums[i])) - roundHalfEven(100 * zeroed(a.sums[i]))) / 100;
        const high = highestOf(sums.map((each, i) => Math.max(Math.abs(each), written(i))), LEAST_HIGH), { tall, wide } = a, notes = tall * wide > 1 ? [words.joined({ tall, wide })] : [];
        show({ found: { ...a, sums, most: null, both: [a.sums, b.sums] }, window: its, most: high, notes });
      };
      if (pairs.apart) none(pairs.unpaired ? words.noDifference : words.otherQuestionsMap);
      else if (view.both.some(({ absent, data, number, head }) => absent === "layer" || isRemoved(data, number, head))) none();
      else (pairs.same ? aligned : gathered)(view, window, give, none);
    },
    palette(root, high) {
      const scale = scaleOfDifferences(root), colour = (value) => colourOfDifference(value, high, scale);
      return { least: LEAST_SIGNED, colour, text: (_, both) => briefChange(...both.map(zeroed)), image: ({ sums, columns, rows }) => {
        const bytes = new Uint8ClampedArray(4 * sums.length);
        sums.forEach((each, i) => bytes.set([...colour(each), 255], 4 * i));
        return new ImageData(bytes, columns, rows);
      } };
    },
    names({ layer, place }, { top, bottom, left, right, list }) {
      const named = (kind, listed, from, to) => {
        const found = [];
        for (let i = from; i < to; i++) found[i] = pairs.namesOf((listed ?? pairs.pairs[kind])[i], kind).join(" / ");
        return found;
      };
      return { rows: layer.queries === 1 ? [place.name] : named("queries", list?.rows, top, bottom),
        columns: named("items", list?.columns, left, right) };
    },
    said(words, { both }, cell) {
      const [one, other] = both.map((each) => zeroed(each[cell]));
      return words.inBoth({ one: percent(one), other: percent(other), gap: inPoints(percentChange(one, other), words) });
    },
    legend: (words, high) => [`${words.bMinusA} −${percent(high).replace("%", "")} `, swatch("scale diverging"),
      ` ${inPoints(`+${percent(high)}`, words)} · `, swatch("patch less"), ` ${words.smallerInB} · `,
      swatch("patch more"), ` ${words.largerInB}`],
  };

  // Both have the same items: the windows of both maps, whose cells join the same pairs.
  function aligned({ both, state }, window, give, none) {
    const [a, b] = both.map(({ layer }) => layer);
    if (a.queries !== b.queries || a.keys !== b.keys) return none();
    const heads = both.map(({ layer, head }) => headsOf(layer, head)), exact = both.every(({ layer, head }) => known(layer, head) === "all");
    const size = (heads[0].length + heads[1].length) * (window.bottom - window.top) * (window.right - window.left);
    if (exact && (size <= PAIRS_AT_ONCE || both.some(({ layer }) => !layer.overview && size <= PAIRS_LATER))) {
      return give(both.map(({ layer }, side) => cells(layer, heads[side], window, MOST_CELLS, MOST_CELLS)), window);
    }
    if (exact && size <= PAIRS_LATER) {
      Promise.all(both.map((each, side) => tiles(each, heads[side], window, MOST_CELLS))).then((found) => give(found, window));
    }
    if (!both.every(({ layer }) => layer.overview)) return none(wordsOf(state.lang).tooLittle);
    const found = both.map(({ layer, head }) => cropped(fromOverview(layer, head), window, layer));
    return give(found.map(([each]) => each), found[0][1]);
  }

  // Both have other items: those in the window of the first map that have a partner, single pairs only.
  function gathered({ both, state }, _, give, none) {
    const { window } = both[0].state, inside = (number, from, to) => !window || number >= window[from] && number < window[to];
    const complete = (list, from, to) => list.filter((pair) => !pair.includes(null) && inside(pair[0], from, to));
    const pooled = both.every(({ layer }) => layer.queries === 1);
    const rows = pooled ? [[0, 0]] : complete(pairs.pairs.queries, "top", "bottom");
    const columns = complete(pairs.pairs.items, "left", "right");
    if (!rows.length || !columns.length || both.some(({ layer }) => (layer.queries === 1) !== pooled)) return none();
    if (Math.max(rows.length, columns.length) > MOST_CELLS) return none(wordsOf(state.lang).tooMany({ most: MOST_CELLS }));
    if (both.some(({ layer, head }) => known(layer, head) !== "all")) return none(wordsOf(state.lang).tooLittle);
    const found = both.map(({ layer, head }, side) => {
      const part = { mask: sharedMask(layer, head), keys: layer.keys };
      const sums = Float64Array.from(rows.flatMap((row) => {
        const weights = rowOf(layer, head, row[side]);
        return columns.map((column) => (isAllowed(part, row[side], column[side]) ? weights[column[side]] : HIDDEN));
      }));
      return { rows: rows.length, columns: columns.length, tall: 1, wide: 1, sums };
    });
    return give(found, { top: 0, left: 0, bottom: rows.length, right: columns.length, list: { rows, columns } });
  }
}

function zeroed(value) {
  return value === HIDDEN ? 0 : value;
}
