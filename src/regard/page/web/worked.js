// The page of one computation of attention whose numbers can be edited: each edit is computed through to the outputs.
import { address, goTo, wentTo } from "./address.js";
import { h } from "./dom.js";
import { tellHeight } from "./frame.js";
import { blanksOf } from "./worked_blanks.js";
import { scoreControls, slopeControl, temperatureText, weightsControls } from "./worked_controls.js";
import { exerciseView } from "./worked_exercise.js";
import { figure, figures, writtenNumber } from "./worked_numbers.js";
import { pairView } from "./worked_pair.js";
import { LARGEST, backToStart, changesOf, firstWorked, isEntry, readWorked, withNumber, withTurned, workedHash } from "./worked_state.js";
import { editableTable, followingTable, pairTable, scrolled } from "./worked_tables.js";
import { movedCells, workedView } from "./worked_view.js";
import { phraseOf } from "./worked_words.js";

const LISTED = 8;  // changes that have a button of their own

/** Build the page from its data in place of what is there. */
function startWorked(data) {
  const first = firstWorked(data), page = h("main", { class: "live worked" });
  let state = readWorked(address(), first), view = null, moved = new Map(), built = "", shows = [], told = null, asked = "";
  document.querySelector("main").replaceWith(page);
  // The page without a script has a style of its own.
  document.getElementById("still")?.remove();
  document.getElementById("lively").media = "all";

  function choose(change) {
    const hash = workedHash(change(state), first);
    if (hash === workedHash(state, first)) return;
    goTo(hash, true);
    render();
  }

  function render() {
    const before = view;
    state = readWorked(address(), first);
    view = workedView(data, state);
    document.documentElement.lang = state.lang === "zh" ? "zh-Hans" : "en";
    const edits = before ? changesOf(state, before.state) : [];
    if (edits.length) moved = movedCells(before, view);
    const drawn = `${state.lang} ${state.exercise}`, focused = document.activeElement?.dataset.id;
    // Numbers are written into what is there; only another language and the exercise have other parts.
    if (drawn !== built) build();
    built = drawn;
    for (const each of shows) each();
    if (edits.length && !state.exercise) told.textContent = sentenceOf(edits, before);
    if (focused && document.activeElement?.dataset.id !== focused) page.querySelector(`[data-id="${focused}"]`)?.focus({ preventScroll: true });
  }

  // What an edit did, in a sentence that a screen reader hears.
  function sentenceOf(edits, before) {
    const { words } = view, { row, column } = state, [query, key] = [data.queryItems[row], data.items[column]];
    const count = [...moved.values()].reduce((sum, cells) => sum + cells.size, 0);
    const weights = [before, view].map(({ walks }) => figure(walks[row].weights[column]));
    return [...(edits.length === 1 ? [`${nameOf(edits[0])}: ${valueOf(edits[0], edits[0].before)} → ${valueOf(edits[0], edits[0].value)}.`] : []),
      words.moved(count), view.walks[row].allowed.includes(true) ? words.weightNow(query, key, ...weights) : words.nothingSeen(query)].join(" ");
  }

  function nameOf({ what, name, row, column }) {
    const { words } = view;
    if (what === "number") return cellName(name, row, column);
    if (what === "mask") return `${data.queryItems[row]} → ${data.items[column]}`;
    if (what === "parameter") return state.weights === "softmax" ? words.temperature : words.parameter[state.weights];
    return words[what];
  }

  function valueOf({ what, value: now }, value) {
    const { words } = view;
    if (what === "mask") return (value === undefined ? !now : value) ? words.shown : words.hidden;
    if (what === "score") return words.kinds[value];
    if (what === "weights") return value;
    if (what === "parameter") return temperatureText(value);
    return what === "divisor" && value === "root" ? "√d" : String(value);
  }

  function cellName(name, row, column) {
    const items = { X: data.items, Q: data.queryItems, K: data.items, V: data.items }[name];
    return view.words.cell(name, items ? items[row] : String(row + 1), String(column + 1));
  }

  function build() {
    const { words, phrases } = view, said = (name, fields) => phraseOf(phrases, name, fields);
    shows = [];
    const restart = h("button", { type: "button", "data-id": "restart", onclick: () => choose((now) => backToStart(now, first)) }, words.restart);
    const exercise = h("button", { type: "button", "data-id": "exercise", "aria-pressed": String(state.exercise),
      onclick: () => choose((now) => ({ ...now, exercise: !now.exercise })) }, state.exercise ? words.exerciseEnds : words.exercise);
    const changes = h("p", { class: "changes" });
    shows.push(() => showChanges(changes, restart));
    told = h("p", { class: "told", "aria-live": "polite" });
    const panel = h("div", {}), title = h("h2", {}), aside = h("section", { class: "pair" }, h("div", { class: "title" }, title), panel);
    const selects = ["query", "key"].map((name) => selectOf(name));
    aside.append(h("div", { class: "controls" }, selects), panel);
    shows.push(() => showPair(aside, title, panel));
    page.replaceChildren(
      h("header", {}, h("h1", { class: "where" }, h("strong", {}, "regard"), ` · ${data.title[state.lang]}`), languages()),
      ...(data.about ? [h("p", { class: "quiet" }, data.about[state.lang])] : []),
      h("p", { class: "buttons" }, exercise, restart), changes,
      h("div", { class: "flow" }, h("div", {}, ...inputs(), scoresPart(said), maskPart(said), normalisePart(said), ...(state.exercise ? [] : [outputsPart(said), ...printedPart(said)])), aside),
      told, h("footer", {}, h("p", {}, `${words.address} ${words.keys}`)));
  }

  function languages() {
    return h("p", { class: "languages" }, ["en", "zh"].map((lang) => h("button", { type: "button", class: "plain", lang, "data-id": lang,
      "aria-pressed": String(lang === state.lang), onclick: () => choose((now) => ({ ...now, lang })) }, lang === "en" ? "English" : "中文")));
  }

  function section(name, title, note, ...children) {
    return h("section", { class: name, "aria-label": title }, h("div", { class: "title" }, h("h2", {}, title),
      note ? h("span", { class: "quiet" }, note) : null), ...children);
  }

  function showChanges(line, restart) {
    const { words } = view, found = changesOf(state, first);
    restart.disabled = !found.length;
    line.hidden = !found.length;
    line.replaceChildren(words.changes(found.length), ...found.slice(0, LISTED).map((each, i) => h("button", { type: "button", "data-id": `back ${i}`,
      onclick: () => choose(each.back) }, words.back(nameOf(each), valueOf(each, each.before)))),
    found.length > LISTED ? ` ${words.more(found.length - LISTED)}` : "");
  }

  function inputs() {
    const { words } = view, { form } = data, numbered = (count) => Array.from({ length: count }, (_, i) => String(i + 1));
    const editable = (name) => {
      const items = { X: data.items, Q: data.queryItems, K: data.items, V: data.items }[name];
      const matrix = first.numbers[name], made = editableTable({ name, title: name, rows: items ?? numbered(matrix.length),
        columns: numbered(matrix[0].length), label: (row, column) => cellName(name, row, column),
        told: (row, column, text, kept) => entered(name, row, column, text, kept) });
      shows.push(() => made.show(state.numbers[name], first.numbers[name]));
      return made.element;
    };
    const following = (name, letter) => {
      const items = name === "query" ? data.queryItems : data.items, made = followingTable({ title: letter, rows: items,
        columns: numbered(view.vectors[name][0].length) });
      shows.push(() => made.show(view.vectors[name], movedIn(name), [name === "query" ? state.row : state.column, -1]));
      return made.element;
    };
    const matrices = h("div", { class: "matrices" }, Object.keys(first.numbers).map(editable));
    if (form !== "projected") return [section("inputs", form === "same" ? words.same : words.given, form === "same" ? "Q = K = V = X" : "", matrices)];
    return [section("inputs", words.inputs, "", matrices), section("vectors", words.projected, words.projectedNote,
      h("div", { class: "matrices" }, following("query", "q"), following("key", "k"), following("value", "v")))];
  }

  // What was written into a field: taken, or what is wrong with it.
  function entered(name, row, column, text, kept) {
    const { words } = view, value = writtenNumber(text), field = cellName(name, row, column);
    // No minus before a zero.
    if (isEntry(value)) choose((now) => withNumber(now, name, row, column, value + 0));
    if (value === null) return words.wrong(field, text.trim(), String(kept));
    const most = LARGEST.toLocaleString("en");
    return isEntry(value) ? "" : words.outside(field, text.trim(), `-${most}`, most, String(kept));
  }

  function movedIn(name) {
    return (row, column) => Boolean(moved.get(name)?.has(`${row} ${column}`));
  }

  // A table of all pairs, which follows.
  function pairsOf(name, title, more = {}) {
    const pick = (row, column) => choose((now) => ({ ...now, row, column }));
    const made = pairTable({ name, title, rows: data.queryItems, columns: data.items, press: pick, move: pick,
      label: (row, column, text) => `${data.queryItems[row]} → ${data.items[column]}: ${text}`, ...more });
    shows.push(() => made.show({ values: view.figures.get(name), chosen: [state.row, state.column], moved: movedIn(name),
      hidden: (row, column) => !state.allowed[row][column], ...more.given?.() }));
    return made.element;
  }

  // Tables of some steps, made anew where the steps are others; the controls above them stay as they are.
  function tablesFor(stepsOf, made) {
    const box = h("div", { class: "matrices" });
    let drawn = "", own = [];
    shows.push(() => {
      const steps = state.exercise ? [] : stepsOf(view.tables), key = JSON.stringify(steps);
      if (key !== drawn) {
        const others = shows;
        shows = own = [];
        box.replaceChildren(...steps.map(made));
        shows = others;
      }
      drawn = key;
      for (const each of own) each();
    });
    return box;
  }

  function scoresPart(said) {
    const { words } = view, controls = scoreControls(words, choose);
    shows.push(() => controls.show(state, view.vectors.query[0].length));
    return section("scores", words.scores, words.scoresNote, controls.element,
      tablesFor(({ scores }) => scores, ({ name, formula }) => pairsOf(name, titled(said(name), formula))));
  }

  function maskPart(said) {
    const { words } = view, slope = slopeControl(words, choose);
    shows.push(() => slope.show(state));
    const positions = tablesFor((steps) => steps.positions, ({ name, formula }) => pairsOf(name, titled(said(name), formula)));
    const pairs = (holds) => first.allowed.map((each, row) => each.map((_, column) => holds(row, column)));
    const [queries, keys] = [first.allowed.length, first.allowed[0].length];
    // The last query is the one that sees the last key, as everywhere in regard.
    const all = [words.allShown, pairs(() => true)], causal = [words.causal, pairs((row, column) => column - keys <= row - queries)];
    const rules = String(all[1]) === String(causal[1]) ? [all] : [all, causal];
    const buttons = rules.map(([name, allowed], i) => {
      const made = h("button", { type: "button", "data-id": `rule ${i}`, onclick: () => choose((now) => ({ ...now, allowed })) }, name);
      shows.push(() => made.setAttribute("aria-pressed", String(String(state.allowed) === String(allowed))));
      return made;
    });
    const asked = () => state.exercise && { values: state.allowed.map((row) => row.map((each) => (each ? "·" : "-inf"))) };
    const table = pairsOf("mask", titled(said("mask"), "s_j := s_j + mask_j"), { toggles: true, given: asked,
      press: (row, column) => choose((now) => withTurned({ ...now, row, column }, row, column)) });
    return section("mask", words.position, words.maskNote, slope.element, positions,
      h("div", { class: "controls" }, buttons), h("div", { class: "matrices" }, table));
  }

  function normalisePart(said) {
    const { words } = view, controls = weightsControls(words, choose);
    shows.push(() => controls.show(state));
    const tables = tablesFor(({ after, ofRows }) => [...after.slice(0, -1), ...(ofRows.length ? [ofRows] : []), after.at(-1)], (step) => {
      if (Array.isArray(step)) return rowsTable(step, said);
      return step.name === "normalise" ? weightsTable(step.formula, said) : pairsOf(step.name, titled(said(step.name), step.formula));
    });
    return section("normalise", words.normalise, "", controls.element, tables);
  }

  // Steps that have one number for each query.
  function rowsTable(steps, said) {
    const made = followingTable({ title: steps.map(({ name }) => said(name)).join(", "), rows: data.queryItems,
      columns: steps.map(({ formula }) => formula) });
    shows.push(() => made.show(view.figures.get("of rows"), movedIn("of rows"), [state.row, -1]));
    return made.element;
  }

  function weightsTable(formula, said) {
    return pairsOf("normalise", titled(said("weights"), formula), { end: view.words.rowSum, given: () => {
      const weights = view.walks.map((each) => each.weights), high = Math.max(1, ...weights.flat());
      return { shade: (weight) => Math.max(0, weight) / high, last: weights.map((row) => row.reduce((sum, each) => sum + each, 0)) };
    } });
  }

  function outputsPart(said) {
    const { words } = view, columns = view.walks[0].output.map((_, c) => String(c + 1));
    const made = followingTable({ title: titled(said("output"), "o_c = sum_j u_jc"), rows: data.queryItems, columns });
    shows.push(() => made.show(view.walks.map((each) => each.output), movedIn("output"), [state.row, -1]));
    return section("outputs", words.outputs, words.outputsNote, h("div", { class: "matrices" }, made.element));
  }

  // What the note prints of its first query, beside the numbers here.
  function printedPart(said) {
    const printed = Object.entries(data.printed);
    if (!printed.length) return [];
    const here = printed.map(() => h("td", {}));
    shows.push(() => printed.forEach(([name], i) => {
      here[i].textContent = figures(view.walks[0].named(name)?.values ?? view.walks[0].output);
    }));
    return [section("printed", said("printed"), data.queryItems[0], scrolled(said("printed"), h("table", { class: "written" },
      h("thead", {}, h("tr", {}, ["step", "note", "ours"].map((name) => h("th", { scope: "col" }, said(name))))),
      h("tbody", {}, printed.map(([name, values], i) => h("tr", {}, h("th", { scope: "row" }, said(name)), h("td", {}, figures(values)), here[i]))))))];
  }

  function titled(name, formula) {
    return [name, h("span", { class: "quiet" }, ` ${formula}`)];
  }

  function selectOf(name) {
    const [items, place] = name === "query" ? [data.queryItems, "row"] : [data.items, "column"];
    const list = h("select", { "data-id": name, onchange: () => choose((now) => ({ ...now, [place]: Number(list.value) })) },
      items.map((each, i) => h("option", { value: i }, each)));
    shows.push(() => {
      list.value = String(state[place]);
    });
    return h("label", {}, view.words[name], " ", list);
  }

  function showPair(aside, title, panel) {
    const { words, phrases } = view, names = { query: data.queryItems[state.row], key: data.items[state.column] };
    title.textContent = state.exercise ? words.exercise : phraseOf(phrases, "pair", names);
    aside.setAttribute("aria-label", title.textContent);
    if (!state.exercise) {
      asked = "";
      panel.replaceChildren(...pairView(view).filter(Boolean));
      return;
    }
    // Answers stay until something else is asked.
    const hash = workedHash(state, first);
    if (hash !== asked || !panel.firstChild) panel.replaceChildren(...exerciseView(blanksOf(view.parts, view.vectors, state.row, state.column), names, words, phrases));
    asked = hash;
  }

  for (const name of ["popstate", "hashchange"]) {
    addEventListener(name, () => {
      wentTo();
      render();
    });
  }
  render();
  document.documentElement.classList.add("ready");
}

startWorked(JSON.parse(document.getElementById("values").textContent));
tellHeight();
