// The page of one computation of attention whose numbers can be edited: each edit is computed through to the outputs.
import { address, goTo, wentTo } from "./address.js";
import { h } from "./dom.js";
import { tellHeight } from "./frame.js";
import { blanksOf } from "./worked_blanks.js";
import { exerciseView } from "./worked_exercise.js";
import { inputSections } from "./worked_inputs.js";
import { changedName, changedValue, sentenceOfEdits } from "./worked_names.js";
import { pairView } from "./worked_pair.js";
import { maskSection, outputsSection, printedSections, scoresSection, weightsSection } from "./worked_sections.js";
import { backToStart, changesOf, firstWorked, readWorked, workedHash } from "./worked_state.js";
import { movedCells, workedView } from "./worked_view.js";
import { phraseOf } from "./worked_words.js";

const LISTED = 8;  // changes that have a button of their own

/** Build the page from its data in place of what is there. */
function startWorked(data) {
  const first = firstWorked(data), page = h("main", { class: "live worked" });
  // What the sections share: what is shown, which numbers the last edit changed, and what shows the view in each part.
  const sheet = { data, first, choose, view: null, moved: new Map(), shows: [] };
  let built = "", told = null;
  document.querySelector("main").replaceWith(page);
  // The page without a script has a style of its own.
  document.getElementById("still")?.remove();
  document.getElementById("lively").media = "all";

  /** Go on to the state that a function makes of this one. */
  function choose(change) {
    const { state } = sheet.view, hash = workedHash(change(state), first);
    if (hash === workedHash(state, first)) return;
    goTo(hash, true);
    render();
  }

  function render() {
    const before = sheet.view, view = sheet.view = workedView(data, readWorked(address(), first)), { state } = view;
    document.documentElement.lang = state.lang === "zh" ? "zh-Hans" : "en";
    const edits = before ? changesOf(state, before.state) : [];
    if (edits.length) sheet.moved = movedCells(before, view);
    const drawn = `${state.lang} ${state.exercise}`, focused = document.activeElement?.dataset.id;
    // Numbers are written into what is there; only another language and the exercise have other parts.
    if (drawn !== built) build();
    built = drawn;
    for (const each of sheet.shows) each();
    if (edits.length && !state.exercise) told.textContent = sentenceOfEdits(sheet, edits, before);
    if (focused && document.activeElement?.dataset.id !== focused) {
      page.querySelector(`[data-id="${focused}"]`)?.focus({ preventScroll: true });
    }
  }

  function build() {
    const { words, state: { lang, exercise } } = sheet.view;
    sheet.shows = [];
    told = h("p", { class: "told", "aria-live": "polite" });
    const header = h("header", {}, h("h1", { class: "where" }, h("strong", {}, "regard"), ` · ${data.title[lang]}`), languages(lang));
    const left = h("div", {}, inputSections(sheet), scoresSection(sheet), maskSection(sheet), weightsSection(sheet),
      exercise ? [] : [outputsSection(sheet), ...printedSections(sheet)]);
    page.replaceChildren(header, ...(data.about ? [h("p", { class: "quiet" }, data.about[lang])] : []), ...changesPart(),
      h("div", { class: "flow" }, left, pairPart()), told, h("footer", {}, h("p", {}, `${words.address} ${words.keys}`)));
  }

  function languages(lang) {
    return h("p", { class: "languages" }, ["en", "zh"].map((each) => h("button", { type: "button", class: "plain", lang: each, "data-id": each,
      "aria-pressed": String(each === lang), onclick: () => choose((now) => ({ ...now, lang: each })) }, each === "en" ? "English" : "中文")));
  }

  // The exercise, and what differs from the start, each with the way back.
  function changesPart() {
    const { words, state } = sheet.view, list = h("p", { class: "changes" });
    const restart = h("button", { type: "button", "data-id": "restart", onclick: () => choose((now) => backToStart(now, first)) }, words.restart);
    const exercise = h("button", { type: "button", "data-id": "exercise", "aria-pressed": String(state.exercise),
      onclick: () => choose((now) => ({ ...now, exercise: !now.exercise })) }, state.exercise ? words.exerciseEnds : words.exercise);
    sheet.shows.push(() => {
      const found = changesOf(sheet.view.state, first);
      restart.disabled = list.hidden = !found.length;
      const buttons = found.slice(0, LISTED).map((each, i) => h("button", { type: "button", "data-id": `back ${i}`,
        onclick: () => choose(each.back) }, words.back(changedName(sheet, each), changedValue(sheet, each, each.before))));
      list.replaceChildren(words.changes(found.length), ...buttons, found.length > LISTED ? words.more(found.length - LISTED) : "");
    });
    return [h("p", { class: "buttons" }, exercise, restart), list];
  }

  // The chosen pair, written out or asked for.
  function pairPart() {
    const title = h("h2", {}), panel = h("div", {}), selects = h("div", { class: "controls" }, selectOf("query"), selectOf("key"));
    const aside = h("section", { class: "pair" }, h("div", { class: "title" }, title), selects, panel);
    let asked = "";
    sheet.shows.push(() => {
      const { words, phrases, state, parts, vectors } = sheet.view, { row, column } = state;
      const names = { query: data.queryItems[row], key: data.items[column] }, hash = workedHash(state, first);
      title.textContent = state.exercise ? words.exercise : phraseOf(phrases, "pair", names);
      aside.setAttribute("aria-label", title.textContent);
      if (!state.exercise) panel.replaceChildren(...pairView(sheet.view).filter(Boolean));
      // Answers stay until something else is asked.
      else if (hash !== asked) panel.replaceChildren(...exerciseView(blanksOf(parts, vectors, row, column), names, words, phrases));
      asked = hash;
    });
    return aside;
  }

  function selectOf(name) {
    const [items, place] = name === "query" ? [data.queryItems, "row"] : [data.items, "column"];
    const list = h("select", { "data-id": name, onchange: () => choose((now) => ({ ...now, [place]: Number(list.value) })) },
      items.map((each, i) => h("option", { value: i }, each)));
    sheet.shows.push(() => {
      list.value = String(sheet.view.state[place]);
    });
    return h("label", {}, sheet.view.words[name], " ", list);
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
