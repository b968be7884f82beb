// The cells of a map of weights, from the whole map down to single pairs.
import { MOST_SHOWN } from "./answers.js";
import { colourOf, scaleLegend, scaleOf } from "./colours.js";
import { clipped } from "./dom.js";
import { fromOverview, highOf, imageOf } from "./thumbnails.js";
import { isScaledWhole, mapScale } from "./map_scale.js";
import { missingText } from "./left_out.js";
import { percent } from "./numbers.js";
import { cells, cellsOfTop } from "./tiles.js";
import { allowedEnds, equalShare } from "./uniform.js";
import { highestOf } from "./view.js";
import { headsOf, known } from "./weights.js";
import { nounOf, wordsOf } from "./words.js";

const CELLS = 256;
// Pairs, over all heads, that are computed at once without the page standing still.
const AT_ONCE = 2 ** 17;
// Where there is no overview, so many.
const AT_MOST = 2 ** 21;
// Pairs that a worker computes in less than a second; until then the overview is shown.
const LATER = 2 ** 23;
// Smaller cells have no numbers.
const LEAST_NUMBERED = 30;

/**
 * The source of a map of weights; `tiles` computes cells away from the page's own thread, `scaled` is given the scale of what is
 * drawn, {full, largest}, and gives a function of the one that it has.
 */
export function weightCells(tiles, scaled = (scale) => () => scale) {
  return {
    name: "map", zooms: true, scaled,
    title: ({ data, state: { lang } }) => wordsOf(lang).map({ noun: nounOf(data.noun, lang, true) }),
    look(view, window, later, show) {
      const { layer, head } = view, there = known(layer, head), heads = headsOf(layer, head), words = wordsOf(view.state.lang);
      const size = [window.bottom - window.top, window.right - window.left], pairs = heads.length * size[0] * size[1];
      const give = (found, its = window, ...notes) => {
        const { tall, wide } = found, joined = tall * wide > 1 ? [words.joined({ tall, wide })] : [];
        const scale = tall * wide === 1 && isScaledWhole(view) ? mapScale(view) : { full: highOf(found, layer), largest: highestOf(found.sums, 0) };
        show({ found, window: its, most: scale, notes: [...joined, ...notes] });
      };
      if (there === "all" && (pairs <= AT_ONCE || !layer.overview && pairs <= AT_MOST)) give(cells(layer, heads, window, CELLS, CELLS));
      else if (there === "largest" && Math.max(...size) <= CELLS) {
        give(cellsOfTop(layer, head, window, CELLS, CELLS), window, words.largestOnly);
      } else if (layer.overview) {
        const [found, its] = cropped(overviewOf(layer, head), window, layer), { rows_taken: rows } = layer;
        give(found, its, ...(rows < found.tall ? [words.taken({ rows, tall: found.tall })] : []));
        if (there === "all" && pairs <= LATER && later) tiles(view, heads, window, CELLS).then((exact) => give(exact));
      } else show({ found: null, notes: [missingText(view)] });
    },
    palette(root, { full: high }) {
      const scale = scaleOf(root);
      return { least: LEAST_NUMBERED, image: (found) => imageOf(found, scale, high), colour: (value) => colourOf(value, high, scale),
        dot: (value) => colourOf(value, 1, scale), text: percent };
    },
    names({ data, layer, place }) {
      return { rows: layer.queries === 1 ? [place.name] : data.numbered_queries || data.numbered, columns: data.numbered };
    },
    said: (words, { sums, most, tall, wide }, cell) => percent(sums[cell]) +
      (tall * wide === 1 ? "" : `, ${words.largestOne({ share: percent(most[cell]) })}`),
    legend: (words, scale, { tall, wide }, view) => [...scaleLegend(words, scale, {
      name: tall * wide === 1 ? words.legend : words.legendOfCell, equal: wide * equalShare(view, null) }), ...(tall * wide === 1 ? equalOfRows(view, words) : [])],
  };
}

// What equal weights would be in the rows with the most and the fewest items, where that differs.
function equalOfRows(view, words) {
  const { data, layer } = view, ends = isScaledWhole(view) && layer.queries > 1 ? allowedEnds(view) : null, names = data.numbered_queries || data.numbered;
  if (!ends) return [];
  const [[wide, most], [narrow, fewest]] = ends, named = (row) => words.quoted({ text: clipped(names[row], MOST_SHOWN) });
  return [" · ", words.scaleEqualRows({ wide: named(wide), least: percent(1 / most), narrow: named(narrow), most: percent(1 / fewest) })];
}

let last = { layer: null, head: null, found: null };

// While a window is moved, the cells stay the same.
function overviewOf(layer, head) {
  if (last.layer !== layer || last.head !== head) last = { layer, head, found: fromOverview(layer, head) };
  return last.found;
}

/** The cells of the overview that a window touches, and the window that they fill. */
export function cropped(found, window, { queries, keys }) {
  const { tall, wide } = found;
  const rows = [Math.floor(window.top / tall), Math.ceil(window.bottom / tall)];
  const columns = [Math.floor(window.left / wide), Math.ceil(window.right / wide)];
  const high = rows[1] - rows[0], broad = columns[1] - columns[0];
  const part = (numbers) => Float64Array.from({ length: high * broad }, (_, i) =>
    numbers[(rows[0] + Math.floor(i / broad)) * found.columns + columns[0] + i % broad]);
  return [{ ...found, rows: high, columns: broad, sums: part(found.sums), most: part(found.most) },
    { top: rows[0] * tall, bottom: Math.min(queries, rows[1] * tall), left: columns[0] * wide,
      right: Math.min(keys, columns[1] * wide) }];
}
