// What every page with a script has: its place in the document, the choice of its language, and what arrow keys mean.
import { button } from "./dom.js";

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Show the page in place of what can be read without a script, which has a style of its own. */
export function putUp(page) {
  document.querySelector("main").replaceWith(page);
  document.getElementById("still")?.remove();
  document.getElementById("lively").media = "all";
}

/** A button for each language. */
export function languageButtons(lang, choose) {
  return ["en", "zh"].map((each) => button(each, each === "en" ? "English" : "中文", () => choose(each),
    { class: "plain", lang: each, "aria-pressed": String(each === lang) }));
}

/** Say in the document which language the page is in. */
export function tellLanguage(lang) {
  document.documentElement.lang = lang === "zh" ? "zh-Hans" : "en";
}

/** How far an arrow key leads, [down, right]; undefined of other keys, and of those that are the browser's. */
export function arrowOf(event) {
  return isModified(event) ? undefined : ARROWS[event.key];
}

/** Whether a key is pressed together with another one, which makes it the browser's. */
export function isModified({ ctrlKey, metaKey, altKey }) {
  return ctrlKey || metaKey || altKey;
}
