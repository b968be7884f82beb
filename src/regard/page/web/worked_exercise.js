// The exercise in the page: blanks to fill in for the chosen query and key, each with what is said of an answer.
import { h } from "./dom.js";
import { verdictOn } from "./worked_blanks.js";
import { figure } from "./worked_numbers.js";
import { phraseOf } from "./worked_words.js";

/** The blanks, with a line that counts. */
export function exerciseView(blanks, names, words, phrases) {
  const answered = blanks.map(() => ({ tries: 0, right: false, shown: false })), items = [];
  const counted = h("p", { class: "counted", role: "status" });

  const count = () => {
    const right = answered.filter((each) => each.right), first = right.filter((each) => each.tries === 1);
    counted.textContent = phraseOf(phrases, "summary", { right: right.length, count: blanks.length, first: first.length,
      shown: answered.filter((each) => each.shown).length });
  };

  blanks.forEach((blank, i) => {
    const done = answered[i], said = h("p", { class: "verdict", role: "status" });
    let checked = null;
    const end = (text) => {
      input.readOnly = true;
      show.disabled = true;
      said.textContent = text;
      count();
    };
    const reveal = () => {
      done.shown = true;
      input.value = figure(blank.value);
      end(phraseOf(phrases, "answer", { value: figure(blank.value) }));
    };
    const check = () => {
      // Enter asks, and leaving the field; the same answer counts once.
      if (input.readOnly || !input.value.trim() || input.value === checked) return;
      checked = input.value;
      if (["?", "？"].includes(input.value.trim())) {
        reveal();
        return;
      }
      const verdict = verdictOn(blank, input.value), text = verdict === "no number" ? words.noNumber : phraseOf(phrases, verdict, names);
      done.tries += 1;
      done.right = verdict === "right";
      said.classList.toggle("right", done.right);
      if (done.right) end(text);
      else said.textContent = text;
    };
    const input = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", size: 8, id: `blank-${i}`, "data-id": `blank ${i}`,
      onchange: check, onkeydown: (event) => {
        if (event.key !== "Enter" || event.isComposing) return;
        event.preventDefault();
        check();
        if (input.readOnly) items[i + 1]?.input.focus();
      } });
    const show = h("button", { type: "button", "data-id": `show ${i}`, onclick: reveal }, words.show);
    const asked = phraseOf(phrases, "ask", { number: i + 1, count: blanks.length, name: phraseOf(phrases, blank.name),
      formula: blank.formula });
    items.push({ input, element: h("li", {}, h("label", { for: `blank-${i}` }, asked), h("div", { class: "answer" }, input, show), said) });
  });
  count();
  return [h("p", {}, words.exerciseIntro(names.query, names.key)),
    h("ol", { class: "blanks", role: "list" }, items.map(({ element }) => element)), counted];
}
