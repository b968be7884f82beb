// Which item, query and prediction of one record is which of the other; and one state for both.
import { MOST_SHOWN } from "./answers.js";
import { areOfOneModel } from "./difference_sentence.js";
import { clipped } from "./dom.js";
import { commonScale, mapScale } from "./map_scale.js";
import { within, withoutRow } from "./state.js";
import { viewOf } from "./view.js";

/**
 * The pairs of two records. A state is in the terms of the first one where that has all that is chosen, and otherwise in
 * those of the record that `record` names, so that each choice has one address.
 */
export function pairsOf({ records, against }) {
  const pairs = { items: expanded(against.items), queries: expanded(against.queries), places: expanded(against.places) };
  const indexes = Object.fromEntries(Object.entries(pairs).map(([kind, list]) => [kind, [0, 1].map((side) =>
    new Map(list.map((pair, i) => [pair[side], i]).filter(([number]) => number !== null)))]));
  const indexOf = (kind, side, number) => indexes[kind][side].get(number) ?? -1;
  const partner = (kind, side, number) => pairs[kind][indexOf(kind, side, number)]?.[1 - side] ?? null;

  // Whether no prediction has a partner, as the labels of words and that of the whole.
  const apart = pairs.places.every((pair) => pair.includes(null));
  // Whether no item has one, as those of molecules of other sizes.
  const unpaired = pairs.items.every((pair) => pair.includes(null));

  // Whether a record has the layer and the head that are chosen.
  function has(side, { layer, head }) {
    const { layers } = records[side], found = layers[layer === null ? layers.length - 1 : layer];
    if (layer === null && head === null) return true;
    return found !== undefined && (head === null || head < found.heads);
  }

  function moved(state, side) {
    const from = state.record;
    if (from === side) return state;
    const there = has(side, state), place = partner("places", from, state.place);
    return { ...state, record: side, place: place ?? records[side].outcomes.chosen,
      layer: there ? state.layer : null, head: there ? state.head : null,
      key: state.key === null ? null : partner("items", from, state.key),
      row: state.row === null ? null : partner("queries", from, state.row), window: movedWindow(state.window, from) };
  }

  // The window from the partner of the first item in it that has one to that of the last one.
  function movedWindow(window, from) {
    if (!window) return null;
    const [top, bottom] = range("queries", from, window.top, window.bottom);
    const [left, right] = range("items", from, window.left, window.right);
    return top < bottom && left < right ? { top, bottom, left, right } : null;
  }

  function range(kind, side, first, last) {
    const found = [];
    for (let i = first; i < last; i++) if (partner(kind, side, i) !== null) found.push(partner(kind, side, i));
    return found.length ? [found[0], found.at(-1) + 1] : [0, 0];
  }

  /** The same state, in the terms of the first record if it has all that is chosen. */
  function normal(state) {
    if (state.record === 0) return state;
    const all = partner("places", 1, state.place) !== null && has(0, state)
      && (state.key === null || partner("items", 1, state.key) !== null) && (state.row === null || partner("queries", 1, state.row) !== null);
    return all ? within(moved(state, 0), records) : state;
  }

  // Whether both are of one model, by its name, so that a head of both is the same one.
  const ofOneModel = areOfOneModel(...records);

  return {
    pairs, apart, unpaired, ofOneModel, indexOf, partner, normal, against,
    /** The texts of a pair: of each record, numbered; the same text has one name. Of each `most` characters are written. */
    namesOf(pair, kind = "items", most = MOST_SHOWN) {
      const known = [0, 1].filter((side) => pair[side] !== null).map((side) => namesIn(kind, records[side], pair[side]));
      const [one, other = one] = known;
      return (one.text === other.text || one.name === other.name ? [one] : known).map(({ name }) => clipped(name, most));
    },
    /** Whether the records have as many items, of which each is that of the same number in the other. */
    same: ["items", "queries"].every((kind) => pairs[kind].every(([one, other]) => one === other)),
    /** A state after a change, which is in the terms of the record `side`, or of the state. */
    changed(state, { side = state.record, ...change }) {
      const found = { ...moved(state, side), ...change };
      if (found.layer !== state.layer && !("window" in change)) found.window = null;
      return normal(within(withoutRow(found, change), records));
    },
    /** The view of a state, with those of both records as `both`. */
    viewOf(state) {
      const own = viewOf(records[state.record], state), theirs = otherView(state, own);
      const both = state.record === 0 ? [own, theirs] : [theirs, own];
      // One scale for both.
      const scale = commonScale(both.map(mapScale));
      return { ...own, both: both.map((each) => ({ ...each, scale })) };
    },
    /** The next prediction in the order of both texts. */
    step: (state, by) => neighbour("places", state.record, state.place, by, "place"),
    /** The next item to be attended to. */
    stepKey: (state, key, by) => neighbour("items", state.record, key, by, "key"),
  };

  function neighbour(kind, side, number, by, name) {
    const list = pairs[kind], next = list[(indexOf(kind, side, number) + by + list.length) % list.length];
    const to = next[0] === null ? 1 : 0;
    return name === "place" ? { side: to, place: next[to], key: null } : { side: to, key: next[to] };
  }

  function otherView(state, own) {
    const side = 1 - state.record, data = records[side], there = has(side, state);
    const place = partner("places", state.record, state.place), key = partner("items", state.record, own.key);
    // Where nothing corresponds, as the labels of words and that of the whole, or items of other molecules, each record
    // shows what it shows alone.
    const known = place !== null || apart;
    const next = { ...moved(state, side), place: place ?? data.outcomes.chosen, key: key ?? null };
    const found = { ...viewOf(data, within(next, records)), isChosen: own.isChosen && key !== null };
    if (key === null && !apart && !unpaired) found.key = -1;
    if (known && there) return found;
    const nothing = { ...found, there: "", weights: null, least: null, hidden: [], absent: there ? "place" : "layer" };
    if (known) return nothing;
    return { ...nothing, removed: [], state: { ...found.state, place: -1 },
      place: { name: "", label: "", score: null, query: found.pooled ? null : -1 } };
  }
}

// Runs of [first, second, count] as single pairs.
function expanded(runs) {
  return runs.flatMap(([one, other, count]) => Array.from({ length: count }, (_, i) =>
    [one === null ? null : one + i, other === null ? null : other + i]));
}

// The text of an item or a query, and the same numbered if it occurs more than once.
function namesIn(kind, { items, queries, numbered, numbered_queries }, number) {
  const [texts, names] = kind === "items" || !queries ? [items, numbered] : [queries, numbered_queries];
  return { text: texts[number].trim(), name: names[number] };
}
