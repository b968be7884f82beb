// The sections of the page: the matrices that can be edited, and what follows from them.
import { button, h, headedTable } from "./dom.js";
import { problem, scoreControls, slopeControl, weightsControls } from "./worked_controls.js";
import { cellName, itemsOf } from "./worked_names.js";
import { figure, figures, writtenNumber } from "./worked_numbers.js";
import { LARGEST, changesOf, isEntry, withNumber, withTurned } from "./worked_state.js";
import { editableTable, followingTable, pairTable, scrolled } from "./worked_tables.js";
import { formulaIn, formulaNodes, matrixName, numbersInPrint } from "./worked_typeset.js";

// A section of the page, with its name and what is said beside it.
function sectionOf(name, title, note, ...children) {
  return h("section", { class: name, "aria-label": title },
    h("div", { class: "title" }, h("h2", {}, title), note ? h("span", { class: "quiet" }, note) : null), ...children);
}

// A table of a sheet that follows; the row of the chosen query, or of the chosen key ("column"), is lit.
function followingIn(sheet, name, table, chosen = "row") {
  const made = followingTable(table);
  sheet.shows.push(() => made.show(sheet.view.figures.get(name), movedIn(sheet, name), [sheet.view.state[chosen], -1]));
  return made.element;
}

/** The inputs, and query, key and value where they follow from them. */
export function inputSections(sheet) {
  const { data: { form, items, queryItems }, view: { say, vectors } } = sheet;
  const matrices = h("div", { class: "matrices" }, Object.keys(sheet.first.numbers).map((name) => editable(sheet, name)));
  if (form === "given") return [sectionOf("inputs", say("matrices"), "", matrices)];
  if (form === "same") return [sectionOf("inputs", say("same inputs"), "Q = K = V = X", matrices)];
  const following = [["query", "q", queryItems, "row"], ["key", "k", items, "column"], ["value", "v", items, "column"]]
    .map(([name, title, rows, chosen]) => followingIn(sheet, name, { title, rows, columns: numbered(vectors[name][0]) }, chosen));
  return [sectionOf("inputs", say("inputs"), "", matrices),
    sectionOf("vectors", say("matrices"), projectionsOf(say), h("div", { class: "matrices" }, following))];
}

// The formulas of the projections, in which x is a vector.
function projectionsOf(say) {
  return say("projections").split(/x (W[qkv])/).flatMap((each, i) =>
    (i % 2 ? [h("var", {}, "x"), " ", ...matrixName(each)] : formulaNodes(each)));
}

function editable(sheet, name) {
  const matrix = sheet.first.numbers[name];
  const made = editableTable({ name, title: matrixName(name), rows: itemsOf(sheet.data, name) ?? numbered(matrix), columns: numbered(matrix[0]),
    label: (row, column) => cellName(sheet, name, row, column), told: (...written) => entered(sheet, name, ...written) });
  sheet.shows.push(() => made.show(sheet.view.state.numbers[name], matrix));
  return made.element;
}

// What was written into a field: taken, or what is wrong with it.
function entered(sheet, name, row, column, text, kept) {
  const value = writtenNumber(text), range = [`-${LARGEST.toLocaleString("en")}`, LARGEST];
  if (!isEntry(value)) return problem(sheet.view.say, cellName(sheet, name, row, column), text, value, range, kept);
  // No minus before a zero.
  sheet.choose((now) => withNumber(now, name, row, column, value + 0));
  return "";
}

function numbered(values) {
  return values.map((_, i) => String(i + 1));
}

export function scoresSection(sheet) {
  const { say, vectors } = sheet.view, controls = scoreControls(say, sheet.first, sheet.choose);
  sheet.shows.push(() => controls.show(sheet.view.state, vectors.query[0].length));
  return sectionOf("scores", say("scores"), say("scores note"), controls.element, tablesIn(sheet, ({ scores }) => scores, stepTable));
}

export function maskSection(sheet) {
  const { view: { say }, choose, shows } = sheet, slope = slopeControl(say, choose);
  shows.push(() => slope.show(sheet.view.state));
  const buttons = rulesOf(sheet).map(([name, allowed], i) => {
    const made = button(`rule ${i}`, name, () => choose((now) => ({ ...now, allowed })));
    shows.push(() => made.setAttribute("aria-pressed", String(String(sheet.view.state.allowed) === String(allowed))));
    return made;
  });
  // In an exercise the scores are what is asked for.
  const asked = ({ state }) => state.exercise && { values: state.allowed.map((row) => row.map((each) => (each ? "·" : "-inf"))) };
  const table = pairsIn(sheet, "mask", titled(say("mask"), "s_j := s_j + mask_j"), { toggles: true, given: asked,
    press: (row, column) => choose((now) => withTurned({ ...now, row, column }, row, column)) });
  return sectionOf("mask", say("position and mask"), say("mask note"), slope.element, tablesIn(sheet, ({ positions }) => positions, stepTable),
    h("div", { class: "controls" }, buttons), h("div", { class: "matrices" }, table));
}

// Masks that a button gives: every key, and those that aren't after the query, unless these are all.
function rulesOf({ first: { allowed }, view: { say } }) {
  const [queries, keys] = [allowed.length, allowed[0].length];
  const ruled = (holds) => allowed.map((each, row) => each.map((_, column) => holds(row, column)));
  // The last query stands where the last key does.
  const all = [say("all keys"), ruled(() => true)], causal = [say("causal"), ruled((row, column) => column - keys <= row - queries)];
  return String(all[1]) === String(causal[1]) ? [all] : [all, causal];
}

export function weightsSection(sheet) {
  const { say } = sheet.view, controls = weightsControls(say, sheet.first, sheet.choose);
  sheet.shows.push(() => controls.show(sheet.view.state));
  const steps = ({ after, ofRows }) => [...after.slice(0, -1), ...(ofRows.length ? [ofRows] : []), after.at(-1)];
  return sectionOf("normalise", say("to weights"), "", controls.element, tablesIn(sheet, steps, (_, step) => {
    if (Array.isArray(step)) return rowsTable(sheet, step);
    return step.name === "normalise" ? weightsTable(sheet, step) : stepTable(sheet, step);
  }));
}

// Steps that have one number for each query.
function rowsTable(sheet, steps) {
  return followingIn(sheet, "of rows", { title: steps.map(({ name }) => sheet.view.say(name)).join(", "), rows: sheet.data.queryItems,
    columns: steps.map(({ formula }) => formulaIn("span", formula)) });
}

function weightsTable(sheet, { formula }) {
  return pairsIn(sheet, "normalise", titled(sheet.view.say("weights"), formula), { end: sheet.view.say("in all"), given: ({ walks }) => {
    const weights = walks.map((each) => each.weights), high = Math.max(1, ...weights.flat());
    return { shade: (weight) => Math.max(0, weight) / high, last: weights.map((row) => row.reduce((sum, each) => sum + each, 0)) };
  } });
}

export function outputsSection(sheet) {
  const { say, walks } = sheet.view;
  return sectionOf("outputs", say("all outputs"), say("outputs note"), h("div", { class: "matrices" }, followingIn(sheet, "output", {
    title: titled(say("output"), "o_c = sum_j u_jc"), rows: sheet.data.queryItems, columns: numbered(walks[0].output),
  })));
}

/** What the note prints of its first query, beside the numbers here; nothing if it prints none. */
export function printedSections(sheet) {
  const { data: { printed, queryItems }, view: { say } } = sheet, names = Object.keys(printed), here = names.map(() => h("td", {}));
  if (!names.length) return [];
  const why = h("p", { class: "quiet" });
  sheet.shows.push(() => {
    names.forEach((name, i) => {
      const [values] = sheet.view.figures.get(name);
      here[i].textContent = values.includes(null) ? "–" : numbersInPrint(figures(values));
    });
    why.textContent = besideTheNote(sheet, printed);
  });
  const rows = names.map((name, i) => h("tr", {}, h("th", { scope: "row" }, say(name)), h("td", {}, numbersInPrint(figures(printed[name]))), here[i]));
  const table = headedTable({ class: "written" }, ["step", "note", "ours"].map((name) => say(name)), rows);
  return [sectionOf("printed", say("printed"), queryItems[0], scrolled(say("printed"), table), why)];
}

// Why the numbers differ from those of the note: because it rounds its weights to halves, or because they are of something else.
function besideTheNote({ view: { state, figures: numbers, say }, first }, printed) {
  const ours = Object.fromEntries(Object.keys(printed).map((name) => [name, numbers.get(name)[0]]));
  const isLike = (name, rounded) => ours[name].every((value, i) => value !== null && Math.abs(rounded(value) - printed[name][i]) < 1e-9);
  if (changesOf(state, first).length || !isLike("sum", (value) => value) || !isLike("normalise", (value) => Math.round(2 * value) / 2)) return say("not the note");
  const gap = Math.max(...ours.output.map((value, i) => Math.abs(value - printed.output[i])));
  return gap > 1e-9 ? say("rounded", { gap: numbersInPrint(figure(gap)) }) : say("equal");
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
  return pairsIn(sheet, name, titled(sheet.view.say(name), formula));
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
  return [name, h("span", { class: "quiet" }, " ", formulaIn("span", formula))];
}
