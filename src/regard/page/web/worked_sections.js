// The sections of the page that follow from the inputs: scores, mask, weights, outputs, and what the note prints.
import { h } from "./dom.js";
import { scoreControls, slopeControl, weightsControls } from "./worked_controls.js";
import { figures } from "./worked_numbers.js";
import { withTurned } from "./worked_state.js";
import { followingTable, pairTable, scrolled } from "./worked_tables.js";
import { phraseOf } from "./worked_words.js";

/** A section of the page, with its name and what is said beside it. */
export function sectionOf(name, title, note, ...children) {
  return h("section", { class: name, "aria-label": title },
    h("div", { class: "title" }, h("h2", {}, title), note ? h("span", { class: "quiet" }, note) : null), ...children);
}

/** A table of a sheet that follows; the row of the chosen query, or of the chosen key ("column"), is lit. */
export function followingIn(sheet, name, table, chosen = "row") {
  const made = followingTable(table);
  sheet.shows.push(() => made.show(sheet.view.figures.get(name), movedIn(sheet, name), [sheet.view.state[chosen], -1]));
  return made.element;
}

export function scoresSection(sheet) {
  const { words, vectors } = sheet.view, controls = scoreControls(words, sheet.first, sheet.choose);
  sheet.shows.push(() => controls.show(sheet.view.state, vectors.query[0].length));
  return sectionOf("scores", words.scores, words.scoresNote, controls.element, tablesIn(sheet, ({ scores }) => scores, stepTable));
}

export function maskSection(sheet) {
  const { view: { words }, choose, shows } = sheet, slope = slopeControl(words, choose);
  shows.push(() => slope.show(sheet.view.state));
  const buttons = rulesOf(sheet).map(([name, allowed], i) => {
    const made = h("button", { type: "button", "data-id": `rule ${i}`, onclick: () => choose((now) => ({ ...now, allowed })) }, name);
    shows.push(() => made.setAttribute("aria-pressed", String(String(sheet.view.state.allowed) === String(allowed))));
    return made;
  });
  // In an exercise the scores are what is asked for.
  const asked = ({ state }) => state.exercise && { values: state.allowed.map((row) => row.map((each) => (each ? "·" : "-inf"))) };
  const table = pairsIn(sheet, "mask", titled(said(sheet, "mask"), "s_j := s_j + mask_j"), { toggles: true, given: asked,
    press: (row, column) => choose((now) => withTurned({ ...now, row, column }, row, column)) });
  return sectionOf("mask", words.position, words.maskNote, slope.element, tablesIn(sheet, ({ positions }) => positions, stepTable),
    h("div", { class: "controls" }, buttons), h("div", { class: "matrices" }, table));
}

// Masks that a button gives: every key, and those that aren't after the query, unless these are all.
function rulesOf({ first: { allowed }, view: { words } }) {
  const [queries, keys] = [allowed.length, allowed[0].length];
  const ruled = (holds) => allowed.map((each, row) => each.map((_, column) => holds(row, column)));
  // The last query stands where the last key does.
  const all = [words.allShown, ruled(() => true)], causal = [words.causal, ruled((row, column) => column - keys <= row - queries)];
  return String(all[1]) === String(causal[1]) ? [all] : [all, causal];
}

export function weightsSection(sheet) {
  const { words } = sheet.view, controls = weightsControls(words, sheet.first, sheet.choose);
  sheet.shows.push(() => controls.show(sheet.view.state));
  const steps = ({ after, ofRows }) => [...after.slice(0, -1), ...(ofRows.length ? [ofRows] : []), after.at(-1)];
  return sectionOf("normalise", words.normalise, "", controls.element, tablesIn(sheet, steps, (_, step) => {
    if (Array.isArray(step)) return rowsTable(sheet, step);
    return step.name === "normalise" ? weightsTable(sheet, step) : stepTable(sheet, step);
  }));
}

// Steps that have one number for each query.
function rowsTable(sheet, steps) {
  return followingIn(sheet, "of rows", { title: steps.map(({ name }) => said(sheet, name)).join(", "), rows: sheet.data.queryItems,
    columns: steps.map(({ formula }) => formula) });
}

function weightsTable(sheet, { formula }) {
  return pairsIn(sheet, "normalise", titled(said(sheet, "weights"), formula), { end: sheet.view.words.rowSum, given: ({ walks }) => {
    const weights = walks.map((each) => each.weights), high = Math.max(1, ...weights.flat());
    return { shade: (weight) => Math.max(0, weight) / high, last: weights.map((row) => row.reduce((sum, each) => sum + each, 0)) };
  } });
}

export function outputsSection(sheet) {
  const { words, walks } = sheet.view;
  return sectionOf("outputs", words.outputs, words.outputsNote, h("div", { class: "matrices" }, followingIn(sheet, "output", {
    title: titled(said(sheet, "output"), "o_c = sum_j u_jc"), rows: sheet.data.queryItems, columns: walks[0].output.map((_, c) => String(c + 1)),
  })));
}

/** What the note prints of its first query, beside the numbers here; nothing if it prints none. */
export function printedSections(sheet) {
  const { printed, queryItems } = sheet.data, names = Object.keys(printed), here = names.map(() => h("td", {}));
  if (!names.length) return [];
  sheet.shows.push(() => names.forEach((name, i) => {
    const [values] = sheet.view.figures.get(name);
    here[i].textContent = values.includes(null) ? "–" : figures(values);
  }));
  const head = ["step", "note", "ours"].map((name) => h("th", { scope: "col" }, said(sheet, name)));
  const rows = names.map((name, i) => h("tr", {}, h("th", { scope: "row" }, said(sheet, name)), h("td", {}, figures(printed[name])), here[i]));
  const table = h("table", { class: "written" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
  return [sectionOf("printed", said(sheet, "printed"), queryItems[0], scrolled(said(sheet, "printed"), table))];
}

// Tables of some steps, made anew where the steps are others; the controls above them stay as they are.
function tablesIn(sheet, stepsOf, made) {
  const box = h("div", { class: "matrices" });
  let drawn = "", own = [];
  sheet.shows.push(() => {
    const { state, tables } = sheet.view, steps = state.exercise ? [] : stepsOf(tables), key = JSON.stringify(steps);
    if (key !== drawn) {
      const others = sheet.shows;
      sheet.shows = own = [];
      box.replaceChildren(...steps.map((step) => made(sheet, step)));
      sheet.shows = others;
    }
    drawn = key;
    for (const each of own) each();
  });
  return box;
}

function stepTable(sheet, { name, formula }) {
  return pairsIn(sheet, name, titled(said(sheet, name), formula));
}

// A table of all pairs; a click chooses one, unless `more` says something else of it.
function pairsIn(sheet, name, title, more = {}) {
  const { data: { items, queryItems } } = sheet, pick = (row, column) => sheet.choose((now) => ({ ...now, row, column }));
  const made = pairTable({ name, title, rows: queryItems, columns: items, press: pick, move: pick,
    label: (row, column, text) => `${queryItems[row]} → ${items[column]}: ${text}`, ...more });
  sheet.shows.push(() => {
    const { state, figures: numbers } = sheet.view;
    made.show({ values: numbers.get(name), chosen: [state.row, state.column], moved: movedIn(sheet, name),
      hidden: (row, column) => !state.allowed[row][column], ...more.given?.(sheet.view) });
  });
  return made.element;
}

function movedIn({ moved }, name) {
  return (row, column) => Boolean(moved.get(name)?.has(`${row} ${column}`));
}

function titled(name, formula) {
  return [name, h("span", { class: "quiet" }, ` ${formula}`)];
}

function said({ view: { phrases } }, name) {
  return phraseOf(phrases, name);
}
