// The page of a running model: a form above it asks the server that the page came from, and what it answers is shown.
import { address, goTo } from "./address.js";
import { readPage, unpacked } from "./data.js";
import { h } from "./dom.js";
import { start } from "./main.js";
import { oneOf } from "./one.js";
import { hashForOthers } from "./state.js";
import { beforeLoaded } from "./unloaded.js";
import { wordsOf } from "./words.js";

/** Show the page with its form. */
async function converse() {
  const first = await readPage();
  const { takes, noun, model } = first.asks;
  // What is shown now: what ends it, what was asked, whether what mattered was measured.
  let showing = null, input = takes === "text" ? first.asks.text : null, measured = first.records.length > 0;
  let asking = null;

  const title = h("p", { class: "where" }, h("strong", {}, "regard"), ` · ${model}`);
  const name = h("label", { for: "input" });
  const box = takes === "text"
    ? h("textarea", { id: "input", rows: 1, autocomplete: "off", spellcheck: "false", maxlength: 50000 })
    : h("input", { id: "input", type: "file" });
  const see = h("button", { type: "submit" });
  const measure = h("button", { type: "button", "aria-pressed": "false" });
  const status = h("p", { class: "quiet", role: "status" }), failure = h("p", { class: "failure", role: "alert" });
  const notes = h("ul", { class: "notes quiet" });
  const form = h("form", { class: "live asking" }, first.records.length ? null : title, name, box,
    h("p", { class: "buttons" }, see, measure), status, failure, notes);

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (takes === "text") ask(box.value);
    else if (box.files.length) ask(box.files[0]);
  });
  if (takes === "text") {
    box.value = input;
    box.addEventListener("keydown", (event) => {
      // While a character is being composed, Enter ends that.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
  } else {
    box.addEventListener("change", () => box.files.length && ask(box.files[0]));
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer.files.length) ask(event.dataTransfer.files[0]);
    });
  }
  measure.addEventListener("click", () => {
    const on = measure.getAttribute("aria-pressed") !== "true";
    measure.setAttribute("aria-pressed", String(on));
    if (on && input !== null && !measured) ask(input);
  });

  // Ask for a text or a file, and show the answer. What was asked before is given up.
  async function ask(given) {
    asking?.abort();
    const own = asking = new AbortController();
    const effects = measure.getAttribute("aria-pressed") === "true";
    tell("busy");
    try {
      const response = await fetch(...requestOf(given, effects), { signal: own.signal });
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error);
      const all = await unpacked(answer.values, answer.packed);
      if (own !== asking) return;
      show(all, answer.notes);
      [input, measured] = [given, all.records.some(({ outcomes }) => outcomes.hidden)];
      tell("answered");
    } catch (error) {
      if (own !== asking) return;
      tell("failed", error instanceof TypeError || error instanceof SyntaxError ? null : error.message);
    }
  }

  function requestOf(given, effects) {
    const request = { method: "POST", credentials: "omit", cache: "no-store", redirect: "error" };
    if (takes === "text") {
      const headers = { "content-type": "application/json" };
      return ["/see", { ...request, headers, body: JSON.stringify({ text: given, effects }) }];
    }
    const query = new URLSearchParams({ name: given.name, ...(effects ? { effects: "1" } : {}) });
    return [`/see?${query}`, { ...request, headers: { "content-type": "application/octet-stream" }, body: given }];
  }

  function show(all, warnings) {
    showing?.abort();
    showing = new AbortController();
    title.remove();
    goTo(hashForOthers(address()), true);
    start(all, oneOf, showing.signal);
    // A record's own stand above its sentence.
    const others = warnings.filter((each) => !all.records.some((record) => record.warnings.includes(each)));
    notes.replaceChildren(...others.map((each) => h("li", {}, each)));
  }

  // What happens, and in the words of the language that was chosen last.
  let told = "", why = null;

  function tell(what, reason = null) {
    [told, why] = [what, reason];
    form.classList.toggle("busy", what === "busy");
    document.querySelector("main").setAttribute("aria-busy", String(what === "busy"));
    say();
  }

  function say() {
    const words = wordsOf(document.documentElement.lang.startsWith("zh") ? "zh" : "en");
    name.textContent = takes === "text" ? words.type : words.drop({ noun });
    see.textContent = words.see;
    measure.textContent = words.measure;
    status.textContent = told === "busy" ? words.busy
      : told === "answered" ? document.querySelector(".sentence")?.textContent ?? "" : "";
    status.classList.toggle("unseen", told === "answered");
    failure.textContent = told === "failed" ? why ?? words.noServer : "";
  }

  document.querySelector("main").before(form);
  document.getElementById("lively").media = "all";
  if (first.records.length) {
    showing = new AbortController();
    start(first, oneOf, showing.signal);
  } else {
    document.getElementById("still").remove();
    document.querySelector("main").replaceChildren();
    document.documentElement.classList.add("ready");
  }
  new MutationObserver(say).observe(document.documentElement, { attributeFilter: ["lang"] });
  say();
}

beforeLoaded(converse());
