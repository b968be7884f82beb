// The page: keeps one state, and shows it in each part.
import { address, goTo, whenGone } from "./address.js";
import { MOST_SHOWN } from "./answers.js";
import { readLater } from "./data.js";
import { button, clipped, h } from "./dom.js";
import { leftOut } from "./left_out.js";
import { clamp } from "./numbers.js";
import { isModified, languageButtons, putUp, tellLanguage } from "./shell.js";
import { firstState, hashOf, readState } from "./state.js";
import { termsOf } from "./terms.js";
import { tilesOf } from "./threads.js";
import { placeAt } from "./view.js";
import { warningsOf } from "./warned.js";
import { nounOf, messageText, wordsOf } from "./words.js";

// What a reader may pick: what was written, an item that has an answer of its own, or one of those that have one in common.
function askOf({ queries, noun, outcomes: { places } }, isMeasured, words, lang) {
  const isOfWhole = places.every(({ query }) => query === null), also = !isMeasured ? "" : isOfWhole && !queries ? words.alsoWithout : words.alsoMattered;
  if (queries) return words.pickWritten({ also });
  const name = nounOf(noun, lang), values = { article: /^[aeiou]/.test(name) ? "an" : "a", noun: name, also };
  return isOfWhole ? words.pickOfWhole(values) : words.pick(values);
}

/**
 * Build the page from its data in place of what is there, until `signal` ends it; `formOf` makes of the data what the page
 * does for one record at a time (`oneOf`), or for two (`bothOf`).
 */
export function start(all, formOf, signal) {
  const form = formOf(all);
  const read = () => form.normal(readState(address(), first, all.records));
  const choose = (change) => {
    const hash = hashOf(form.changed(state, change));
    if (hash === address()) return;
    goTo(hash);
    render();
  };
  const first = firstState(all, document.documentElement.lang.startsWith("zh") ? "zh" : "en");
  let state = read(), data = all.records[state.record];
  let peeked = null;

  const part = (name, ...children) => {
    const title = h("h2", {}), note = h("span", { class: "quiet" });
    const section = h("section", { class: name, "aria-label": name }, h("div", { class: "title" }, title, note), ...children);
    return { section, title, note };
  };
  const where = h("h1", { class: "where" }), ask = h("p", { class: "ask quiet" });
  const languages = h("p", { class: "languages" }), records = h("p", { class: "records" });
  const items = h("div", {}), warned = h("div", {}), sentence = h("p", { class: "sentence", "aria-live": "polite" });
  const glossary = h("p", { class: "glossary" }), compared = h("div", {}), heads = h("div", { class: "heads" }), map = h("div", {}), steps = h("div", {});
  const comparedPart = part("compared-part", compared), headsPart = part("heads-part", heads);
  const mapPart = part("map-part", map), stepsPart = part("steps-part", steps);
  const checked = h("footer", {});
  const help = h("dialog", {}), find = h("dialog", { class: "find" });
  const page = h("main", { class: "live" }, h("header", {}, where, languages), records, ask, items, warned, sentence, glossary,
    h("div", { class: "columns" }, comparedPart.section, headsPart.section, mapPart.section, stepsPart.section),
    checked, help, find);
  putUp(page);

  const views = form.views({ page, items, compared, heads, map, steps, stepsTitle: stepsPart.title }, choose, peek,
    tilesOf(all.records, signal), signal);
  page.addEventListener("lit", ({ detail: { key } }) => {
    for (const each of page.querySelectorAll("tr.lit")) each.classList.remove("lit");
    if (key !== null) page.querySelector(`tr[data-key="${key}"]`)?.classList.add("lit");
  });

  function render() {
    state = read();
    data = all.records[state.record];
    peeked = null;
    show(state);
  }

  // What the mouse is on is shown as if it were chosen, until the mouse is elsewhere.
  function peek(change) {
    const next = change && form.changed(state, change), hash = next && hashOf(next);
    if (hash === peeked) return;
    peeked = hash;
    show(next || state);
  }

  function show(state) {
    const focused = focusNow();
    const view = form.viewOf(state), words = wordsOf(state.lang);
    tellLanguage(state.lang);
    where.replaceChildren(h("strong", {}, "regard"), form.heading(view, words).filter(Boolean).map((each) => ` · ${each}`).join(""));
    languages.replaceChildren(...languageButtons(state.lang, (lang) => choose({ lang })), button("help", `? ${words.keys}`, showHelp, { class: "plain" }));
    showRecords(words);
    const isMeasured = (view.both ?? [view]).some(({ hidden }) => hidden.length);
    ask.textContent = askOf(data, isMeasured, words, state.lang);
    warned.replaceChildren(...warningsOf(form.warnings(view), words));
    const parts = form.sentence(view), uncut = messageText(form.sentence(view, Infinity));
    sentence.title = uncut === messageText(parts) ? "" : uncut;
    sentence.replaceChildren(...parts.map(([text, kind]) => (kind ? h("b", { class: kind }, h("bdi", {}, text)) : text)));
    const terms = termsOf(form.told(view), view.both ?? [view], words, state.lang);
    glossary.replaceChildren(...terms.map(([term, meaning], i) => `${i ? " · " : ""}${words.termMeans({ term, meaning })}`));
    glossary.hidden = !terms.length;
    const name = (found, title, note) => {
      found.title.textContent = title;
      found.note.textContent = note;
      found.section.setAttribute("aria-label", title);
    };
    name(comparedPart, isMeasured ? words.compared : words.comparedAlone, isMeasured ? words.comparedNote : words.comparedAloneNote);
    name(headsPart, words.heads, form.headsNote(view, words));
    name(mapPart, words.map({ noun: nounOf(data.noun, state.lang, true) }), words.mapNote);
    for (const each of views) each(view);
    // What was drawn anew keeps the focus.
    if (focused && focusNow()?.id !== focused.id) focusOn(focused);
    stepsPart.note.textContent = form.stepsNote(view, words);
    stepsPart.section.setAttribute("aria-label", stepsPart.title.textContent);
    const told = form.told(view), differences = told.map(({ difference }) => difference).filter((each) => each !== null);
    const notes = told.flatMap((each) => [...leftOut(each, state.lang), ...(each.outcomes.note ? [each.outcomes.note] : [])]);
    const most = Math.max(...differences), isChecked = differences.length === told.length;
    checked.replaceChildren(h("p", {}, !isChecked ? "" : `${most ? words.checked({ difference: most.toPrecision(1) }) : words.checkedEqual} `,
      view.layer.effective ? words.aboutEffective : words.about), ...[...new Set([...form.notes(view), ...notes])].map((each) => h("p", {}, each)));
  }

  // The name of the control that has the focus; two records have controls of the same names.
  function focusNow() {
    const found = document.activeElement, id = found?.dataset.id;
    return id === undefined ? null : { id, side: found.closest("[data-side]")?.dataset.side };
  }

  // The control of a name; what is chosen, if the control has gone with its part of the page.
  function focusOn({ id, side }) {
    const within = side === undefined ? "" : `[data-side="${side}"] `;
    for (const name of [`${within}[data-id="${id}"]`, ".chips .selected button", '[data-id="help"]']) {
      const found = page.querySelector(name);
      found?.focus({ preventScroll: true });
      if (found && document.activeElement === found) return;
    }
  }

  function showRecords(words) {
    records.hidden = !form.choosesRecord;
    if (records.hidden) return;
    const options = all.records.map((each, i) => h("option", { value: i, selected: i === state.record }, `${i + 1}  ${nameOf(each)}`));
    records.replaceChildren(h("label", {}, words.record({ count: all.records.length }), " ",
      h("select", { "data-id": "record", onchange: ({ target }) => choose({ record: Number(target.value) }) }, options)));
  }

  // A choice in a dialog draws anew what had the focus before.
  function opened(dialog) {
    const before = focusNow();
    dialog.showModal();
    dialog.addEventListener("close", () => {
      const now = document.activeElement;
      if (before && (now === document.body || dialog.contains(now))) focusOn(before);
    }, { once: true });
  }

  function showHelp() {
    const words = wordsOf(state.lang);
    help.replaceChildren(h("h2", {}, words.keys), h("dl", { class: "keys" }, words.help.map(([keys, what]) =>
      h("div", {}, h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)))),
    h("p", {}, h("label", {}, h("input", { type: "checkbox", checked: state.keys,
      onchange: ({ target }) => choose({ keys: target.checked }) }), ` ${words.keysWork}`)),
    h("form", { method: "dialog" }, h("button", {}, words.close)));
    opened(help);
  }

  function showFind() {
    const words = wordsOf(state.lang);
    const texts = form.texts(state), options = h("ul", { class: "found" });
    const go = ({ i, side }) => {
      find.close();
      const own = side === undefined ? data : all.records[side], place = placeAt(own, i), where = side === undefined ? {} : { side };
      choose(place >= 0 ? { ...where, place, key: null } : { ...where, key: i });
      focusOn({ id: place < 0 ? `key ${i}` : own.queries ? `written ${i}` : `item ${i}`, side });
    };
    const matching = (text) => texts.filter((each) => each.text.toLowerCase().includes(text.toLowerCase()));
    const box = h("input", { type: "text", "aria-label": words.find, autofocus: true, autocomplete: "off", oninput: () => {
      const found = box.value ? matching(box.value).slice(0, 20) : [];
      options.replaceChildren(...found.map((each) => h("li", {}, h("button", { type: "button", class: "plain",
        onclick: () => go(each) }, h("bdi", {}, clipped(each.text, MOST_SHOWN)), ` ${each.i + 1}${each.side === undefined ? "" : ` ${"AB"[each.side]}`}`))));
    } });
    find.replaceChildren(h("form", { onsubmit: (event) => {
      event.preventDefault();
      const found = matching(box.value);
      if (box.value && found.length) go(found[0]);
    } }, h("label", {}, words.find, " ", box)), options);
    opened(find);
  }

  const step = (by) => choose(form.step(state, by));
  const stepKey = (by) => choose(form.stepKey(state, form.viewOf(state).key, by));
  const layerNow = () => (state.layer === null ? data.layers.length - 1 : state.layer);
  const stepLayer = (by) => {
    if (data.layers.length) choose({ layer: clamp(layerNow() + by, 0, data.layers.length - 1) });
  };
  const stepHead = (by) => {
    if (!data.layers.length) return;
    const layer = layerNow(), count = data.layers[layer].heads;
    const now = state.head === null ? (by > 0 ? -1 : count) : state.head;
    choose({ layer, head: clamp(now + by, 0, count - 1), key: null });
  };
  const average = () => data.layers.length && choose({ layer: layerNow(), head: null, key: null });
  const actions = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => stepKey(-1), ArrowDown: () => stepKey(1),
    "[": () => stepLayer(-1), "]": () => stepLayer(1), ",": () => stepHead(-1), ".": () => stepHead(1),
    a: average, "/": showFind, "?": showHelp };
  document.addEventListener("keydown", (event) => {
    if (!state.keys || isModified(event) || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.("input, textarea, select") || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }, { signal });
  whenGone(render, signal);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render, { signal });
  render();
  document.documentElement.classList.add("ready");
  readLater(all, () => form.viewOf(state).layer, (layer, isLast) => {
    const view = form.viewOf(state);
    if (isLast || (view.both ?? [view]).some((each) => each.layer === layer)) render();
    heads.dispatchEvent(new CustomEvent("arrived", { detail: layer }));
  }, () => signal?.aborted);
}

// What a record is called among others: its text, or the name of its file.
function nameOf({ items, noun, title }) {
  if (!["word", "piece", "character"].includes(noun)) return title;
  const text = items.slice(0, 20).join(" ");
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
