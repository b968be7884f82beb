// The page of one computation of attention whose numbers can be edited: each edit is computed through to the outputs.
import { address, goTo, whenGone } from "./address.js";
import { button, h } from "./dom.js";
import { tellHeight } from "./frame.js";
import { languageButtons, putUp, tellLanguage } from "./shell.js";
import { blanksOf, exerciseView } from "./worked_exercise.js";
import { changedName, changedValue, sentenceOfEdits } from "./worked_names.js";
import { pairView } from "./worked_pair.js";
import { inputSections, maskSection, outputsSection, printedSections, scoresSection, weightsSection } from "./worked_sections.js";
import { backToStart, changesOf, firstWorked, readWorked, workedHash } from "./worked_state.js";
import { movedCells, workedView } from "./worked_view.js";

const LISTED = 8;  // changes that have a button of their own
const MOST_BESIDE = 4;  // keys of which two tables stand beside each other in a wide window

/** Build the page from its data in place of what is there. */
function startWorked(data) {
  const first = firstWorked(data), page = h("main", { class: "live worked" });
  // What the sections share: what is shown, which numbers the last edit changed, and what shows the view in each part.
  const sheet = { data, first, choose, view: null, moved: new Map(), shows: [] };
  let built = "", told = null;
  putUp(page);

  /** Go on to the state that a function makes of this one. */
  function choose(change) {
    const { state } = sheet.view, hash = workedHash(change(state), first);
    if (hash === workedHash(state, first)) return;
    goTo(hash, true);
    render();
  }

  function render() {
    const before = sheet.view, view = sheet.view = workedView(data, readWorked(address(), first)), { state } = view;
    tellLanguage(state.lang);
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
    const { say, state: { lang, exercise } } = sheet.view;
    sheet.shows = [];
    told = h("p", { class: "told", "aria-live": "polite" });
    const header = h("header", {}, h("h1", { class: "where" }, h("strong", {}, "regard"), ` · ${data.title[lang]}`),
      h("p", { class: "languages" }, languageButtons(lang, (chosen) => choose((now) => ({ ...now, lang: chosen })))));
    const isNarrow = data.items.length <= MOST_BESIDE;
    const left = h("div", { class: isNarrow ? "stages beside" : "stages" }, inputSections(sheet), scoresSection(sheet), maskSection(sheet), weightsSection(sheet),
      exercise ? [] : [outputsSection(sheet), ...printedSections(sheet)]);
    page.replaceChildren(header, ...(data.about ? [h("p", { class: "quiet" }, data.about[lang].replaceAll("sqrt(d)", "√d"))] : []), ...changesPart(),
      h("div", { class: "flow" }, left, pairPart()), told, h("footer", {}, h("p", {}, `${say("address")} ${say("keys")}`)));
  }

  // The exercise, and what differs from the start, each with the way back.
  function changesPart() {
    const { say, state } = sheet.view, list = h("p", { class: "changes" });
    const restart = button("restart", say("restart"), () => choose((now) => backToStart(now, first)));
    const exercise = button("exercise", say(state.exercise ? "end exercise" : "exercise"),
      () => choose((now) => ({ ...now, exercise: !now.exercise })), { "aria-pressed": String(state.exercise) });
    sheet.shows.push(() => {
      const found = changesOf(sheet.view.state, first);
      restart.disabled = list.hidden = !found.length;
      const buttons = found.slice(0, LISTED).map((each, i) => button(`back ${i}`,
        say("back", { what: changedName(sheet, each), before: changedValue(sheet, each, each.before) }), () => choose(each.back)));
      list.replaceChildren(say(found.length === 1 ? "one change" : "changes", { count: found.length }), ...buttons,
        found.length > LISTED ? say("more changes", { count: found.length - LISTED }) : "");
    });
    return [h("p", { class: "buttons" }, exercise, restart), list];
  }

  // The chosen pair, written out or asked for.
  function pairPart() {
    const title = h("h2", {}), panel = h("div", {}), selects = h("div", { class: "controls" }, selectOf("query"), selectOf("key"));
    const aside = h("section", { class: "pair" }, h("div", { class: "title" }, title), selects, panel);
    let asked = "";
    sheet.shows.push(() => {
      const { say, state, parts, vectors } = sheet.view, { row, column } = state;
      const names = { query: data.queryItems[row], key: data.items[column] }, hash = workedHash(state, first);
      title.textContent = say(state.exercise ? "exercise" : "pair", names);
      aside.setAttribute("aria-label", title.textContent);
      if (!state.exercise) panel.replaceChildren(...pairView(sheet.view).filter(Boolean));
      // Answers stay until something else is asked.
      else if (hash !== asked) panel.replaceChildren(...exerciseView(blanksOf(parts, vectors, row, column), names, say));
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
    return h("label", {}, sheet.view.say(`label ${name}`), " ", list);
  }

  whenGone(render);
  render();
  document.documentElement.classList.add("ready");
}

startWorked(JSON.parse(document.getElementById("values").textContent));
tellHeight();
