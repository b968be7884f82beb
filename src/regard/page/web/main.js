// The page: keeps one state, and shows it in each part.
import { address, goTo, wentTo } from "./address.js";
import { MOST_SHOWN } from "./answers.js";
import { comparedView } from "./compared.js";
import { readLater } from "./data.js";
import { clipped, h } from "./dom.js";
import { sentenceOf } from "./facts.js";
import { headsView } from "./heads.js";
import { inputView } from "./input.js";
import { leftOut } from "./left_out.js";
import { mapView } from "./map.js";
import { weightCells } from "./map_weights.js";
import { changed, firstState, hashOf, readState } from "./state.js";
import { stepsView } from "./steps.js";
import { tilesOf } from "./threads.js";
import { placeAt, placesOf, viewOf } from "./view.js";
import { nounOf, messageText, wordsOf } from "./words.js";

/**
 * Build the page from its data in place of what is there, until `signal` ends it; `bothOf` makes of the data what the page
 * of two records does in another way.
 */
export function start(all, signal, bothOf = null) {
  const both = bothOf && bothOf(all);
  const after = (state, change) => (both ? both.changed(state, change) : changed(state, change, all.records));
  const viewNow = (state) => (both ? both.viewOf(state) : viewOf(data, state));
  const read = () => (both ? both.normal(readState(address(), first, all.records)) : readState(address(), first, all.records));
  const choose = (change) => {
    const next = after(state, change);
    const hash = hashOf(next);
    if (hash === address()) return;
    goTo(hash);
    render();
  };
  const first = firstState(all, document.documentElement.lang.startsWith("zh") ? "zh" : "en");
  let state = read(), data = all.records[state.record];
  let peeked = null;
  const tiles = tilesOf(all.records, signal);

  const part = (name, ...children) => {
    const title = h("h2", {}), note = h("span", { class: "quiet" });
    const section = h("section", { class: name, "aria-label": name }, h("div", { class: "title" }, title, note), ...children);
    return { section, title, note };
  };
  const where = h("h1", { class: "where" }), ask = h("p", { class: "ask quiet" });
  const languages = h("p", { class: "languages" }), records = h("p", { class: "records" });
  const items = h("div", {}), sentence = h("p", { class: "sentence", "aria-live": "polite" });
  const compared = h("div", {}), heads = h("div", { class: "heads" }), map = h("div", {}), steps = h("div", {});
  const comparedPart = part("compared-part", compared), headsPart = part("heads-part", heads);
  const mapPart = part("map-part", map), stepsPart = part("steps-part", steps);
  const checked = h("footer", {});
  const help = h("dialog", {}), find = h("dialog", { class: "find" });
  const page = h("main", { class: "live" }, h("header", {}, where, languages), records, ask, items, sentence,
    h("div", { class: "columns" }, comparedPart.section, headsPart.section, mapPart.section, stepsPart.section),
    checked, help, find);
  document.querySelector("main").replaceWith(page);
  // The page without a script has a style of its own.
  document.getElementById("still")?.remove();
  document.getElementById("lively").media = "all";

  const views = both ? both.views({ page, items, compared, heads, map, steps, stepsTitle: stepsPart.title }, choose, peek, tiles, signal)
    : [inputView(items, choose, peek), comparedView(compared, choose), headsView(heads, choose, signal),
    mapView(map, choose, weightCells((...asked) => tiles(state.record, ...asked))), stepsView(steps, stepsPart.title)];
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
    const next = change && after(state, change), hash = next && hashOf(next);
    if (hash === peeked) return;
    peeked = hash;
    show(next || state);
  }

  function show(state) {
    const focused = focusNow();
    const view = viewNow(state), words = wordsOf(state.lang);
    document.documentElement.lang = state.lang === "zh" ? "zh-Hans" : "en";
    const layerText = view.usesPooling ? words.pooling : words.layerOf({ layer: view.number + 1, count: data.layers.length });
    const headText = view.layer.heads === 1 ? "" : view.head === null ? words.average({ count: view.layer.heads })
      : words.headOf({ head: view.head + 1, count: view.layer.heads });
    where.replaceChildren(h("strong", {}, "regard"), both ? ` · ${words.both}` : [data.model, layerText, headText,
      view.pooled && !view.usesPooling ? words.overAll({ count: (data.queries || data.items).length }) : ""]
      .filter(Boolean).map((each) => ` · ${each}`).join(""));
    languages.replaceChildren(...["en", "zh"].map((lang) => h("button", { type: "button", class: "plain", lang, "data-id": lang,
      "aria-pressed": String(lang === state.lang), onclick: () => choose({ lang }) }, lang === "en" ? "English" : "中文")),
    h("button", { type: "button", class: "plain", "data-id": "help", onclick: showHelp }, `? ${words.keys}`));
    showRecords(words);
    const noun = nounOf(data.queries ? "word" : data.noun, state.lang);
    ask.textContent = words.pick({ article: /^[aeiou]/.test(noun) ? "an" : "a", noun });
    const sentenceNow = both ? both.sentence : sentenceOf, parts = sentenceNow(view), uncut = sentenceNow(view, Infinity);
    sentence.title = messageText(uncut) === messageText(parts) ? "" : messageText(uncut);
    sentence.replaceChildren(...parts.map(([text, kind]) => (kind ? h("b", { class: kind }, h("bdi", {}, text)) : text)));
    const name = (found, title, note) => {
      found.title.textContent = title;
      found.note.textContent = note;
      found.section.setAttribute("aria-label", title);
    };
    name(comparedPart, words.compared, words.comparedNote);
    name(headsPart, words.heads, both ? words.bothHeadsNote : view.removed.length ? words.headsNote : "");
    name(mapPart, words.map({ noun: nounOf(data.noun, state.lang, true) }), words.mapNote);
    for (const each of views) each(view);
    // What was drawn anew keeps the focus.
    if (focused && focusNow()?.id !== focused.id) focusOn(focused);
    stepsPart.note.textContent = view.pooled || both ? "" : `${clipped(view.place.name, MOST_SHOWN)} → ${clipped(view.names[view.key], MOST_SHOWN)}`;
    stepsPart.section.setAttribute("aria-label", stepsPart.title.textContent);
    const told = both ? all.records : [data], differences = told.map(({ difference }) => difference).filter((each) => each !== null);
    const notes = told.flatMap((each) => [...leftOut(each, state.lang), ...(each.outcomes.note ? [each.outcomes.note] : [])]);
    checked.replaceChildren(h("p", {}, differences.length < told.length ? "" : `${words.checked({ difference: Math.max(...differences).toPrecision(1) })} `,
      words.about), ...[...new Set([...(both ? both.notes(view) : []), ...notes])].map((each) => h("p", {}, each)));
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
    records.hidden = all.records.length === 1 || both !== null;
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
    const texts = both ? both.texts() : (data.queries || data.items).map((text, i) => ({ text, i }));
    const options = h("ul", { class: "found" });
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
    const form = h("form", { onsubmit: (event) => {
      event.preventDefault();
      const found = matching(box.value);
      if (box.value && found.length) go(found[0]);
    } }, h("label", {}, words.find, " ", box));
    find.replaceChildren(form, options);
    opened(find);
  }

  const step = (by) => choose(both ? both.step(state, by) : { place: (state.place + by + placesOf(data)) % placesOf(data), key: null });
  const stepKey = (by) => {
    const { key } = viewNow(state);
    choose(both ? both.stepKey(state, key, by) : { key: (key + by + data.items.length) % data.items.length });
  };
  const layerNow = () => (state.layer === null ? data.layers.length - 1 : state.layer);
  const stepLayer = (by) => {
    if (data.layers.length) choose({ layer: Math.max(0, Math.min(data.layers.length - 1, layerNow() + by)) });
  };
  const stepHead = (by) => {
    if (!data.layers.length) return;
    const layer = layerNow(), count = data.layers[layer].heads;
    const now = state.head === null ? (by > 0 ? -1 : count) : state.head;
    choose({ layer, head: Math.max(0, Math.min(count - 1, now + by)), key: null });
  };
  const average = () => data.layers.length && choose({ layer: layerNow(), head: null, key: null });
  const actions = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => stepKey(-1), ArrowDown: () => stepKey(1),
    "[": () => stepLayer(-1), "]": () => stepLayer(1), ",": () => stepHead(-1), ".": () => stepHead(1),
    a: average, "/": showFind, "?": showHelp };
  document.addEventListener("keydown", (event) => {
    if (!state.keys || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.("input, textarea, select") || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }, { signal });
  for (const name of ["popstate", "hashchange"]) {
    addEventListener(name, () => {
      wentTo();
      render();
    }, { signal });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render, { signal });
  render();
  document.documentElement.classList.add("ready");
  const shown = () => viewNow(state).layer;
  const isShown = (layer) => (both ? viewNow(state).both.some((each) => each.layer === layer) : layer === shown());
  readLater(all, shown, (layer, isLast) => {
    if (isShown(layer) || isLast) render();
    heads.dispatchEvent(new CustomEvent("arrived", { detail: layer }));
  }, () => signal?.aborted);
}

// What a record is called among others: its text, or the name of its file.
function nameOf({ items, noun, title }) {
  if (!["word", "piece", "character"].includes(noun)) return title;
  const text = items.slice(0, 20).join(" ");
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
