// What the tables of the page show: which there are, their numbers, and which of these an edit changed.
import { filledIn, formulaOf } from "./worked_numbers.js";
import { partsOf } from "./worked_state.js";
import { vectorsOf, walkOf } from "./worked_walk.js";

/** A state with everything that is computed from it; `say` gives the phrase of a name, or else what is said `instead`. */
export function workedView(data, state) {
  const vectors = vectorsOf(data.form, state.numbers), parts = partsOf(state, data.masked);
  const walks = vectors.query.map((_, row) => walkOf(parts, vectors, row));
  const phrases = data.phrases[state.lang], say = (name, fields = {}, instead = name) => filledIn((phrases[name] ?? instead).replaceAll("sqrt(d)", "√d"), fields);
  const view = { data, state, vectors, parts, walks, say };
  view.tables = tablesOf(view);
  view.figures = figuresOf(view);
  return view;
}

// The steps that have a number for each pair, in the order of the walk: before the mask, and after it; and those that have
// one for each query.
function tablesOf({ walks }) {
  const seeing = walks.find(({ allowed }) => allowed.includes(true)) ?? walks[0];
  const ofPairs = ({ axes }) => axes.length === 1 && axes[0] === "key";
  const named = (steps) => steps.filter(ofPairs).map((step) => ({ name: step.name, formula: formulaOf(step) }));
  const positions = new Set(["position bias", "position"]);
  const before = named(seeing.before), names = new Set(["mask", ...before.map(({ name }) => name)]);
  const after = named(seeing.steps).filter(({ name }) => !names.has(name));
  const ofRows = seeing.steps.filter(({ axes }) => !axes.length).map((step) => ({ name: step.name, formula: formulaOf(step) }));
  return { before, after, ofRows, scores: before.filter(({ name }) => !positions.has(name)),
    positions: before.filter(({ name }) => positions.has(name)) };
}

// The numbers of every table, by its name: one row for each query, or for each item.
function figuresOf({ walks, vectors, state, tables: { before, after, ofRows } }) {
  const found = new Map();
  for (const [name, values] of Object.entries(vectors)) found.set(name, values);
  const stepIn = (walk, name) => walk.named(name) ?? walk.before.find((each) => each.name === name);
  for (const { name } of [...before, ...after]) {
    found.set(name, walks.map((walk) => stepIn(walk, name)?.values ?? walk.allowed.map(() => null)));
  }
  found.set("mask", walks.map(({ before: steps }, row) => steps.at(-1).values.map((s, j) => (state.allowed[row][j] ? s : -Infinity))));
  found.set("of rows", walks.map((walk) => ofRows.map(({ name }) => walk.named(name)?.values ?? null)));
  found.set("output", walks.map(({ output }) => output));
  return found;
}

/** By the name of a table, the cells whose numbers differ between two views: "row column". */
export function movedCells(before, after) {
  const found = new Map();
  for (const [name, values] of after.figures) {
    const old = before.figures.get(name), cells = new Set();
    values.forEach((each, row) => each.forEach((value, column) => {
      if (old && !isSame(old[row]?.[column], value)) cells.add(`${row} ${column}`);
    }));
    found.set(name, cells);
  }
  return found;
}

function isSame(first, second) {
  if (first === undefined || first === null || second === null) return first === second;
  return Object.is(first, second) || Math.abs(first - second) <= 1e-12 * Math.max(Math.abs(first), Math.abs(second), 1e-9);
}
