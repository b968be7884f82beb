// The exercise in the page: numbers to find for the chosen query and key, and what a wrong answer shows was forgotten. The
// rules are those of `regard steps --exercise`.
import { button, h } from "./dom.js";
import { figure, formulaOf, writtenNumber } from "./worked_numbers.js";
import { formulaNodesIn } from "./worked_typeset.js";
import { walkOf } from "./worked_walk.js";

const ASKED = ["sum", "scale", "exp", "normalise"];

/** The blanks of a query for one key: sum, scale, exp, the weight, and each feature of the output. */
export function blanksOf(parts, vectors, row, column) {
  const walk = walkOf(parts, vectors, row), wrong = slipsOf(parts, vectors, walk), found = [];
  const { query, key } = vectors;
  for (const step of walk.steps) {
    if (!ASKED.includes(step.name) || !walk.allowed[column]) continue;
    const slips = Object.entries(wrong[step.name]).map(([name, values]) => [name, values[column]]);
    if (step.name === "sum" && sameShape(query, key) && Math.max(row, column) < query[0].length) {
      slips.push(["column", query.reduce((sum, each, i) => sum + each[row] * key[i][column], 0)]);
    }
    found.push(blank(step.name, formulaOf(step), step.values[column], slips));
  }
  const last = walk.steps.at(-1);
  last.values.forEach((value, feature) => {
    const slips = Object.entries(wrong.output).map(([name, values]) => [name, values[feature]]);
    found.push(blank("output", `${formulaOf(last)}, c = ${feature + 1}`, value, slips));
  });
  return found;
}

/** What an answer is: "right", "wrong", "no number", or the name of a slip. */
export function verdictOn({ value, slips }, answer) {
  const given = writtenNumber(answer);
  if (given === null) return "no number";
  if (isEqual(given, value)) return "right";
  return slips.find(([, each]) => isEqual(given, each))?.[0] ?? "wrong";
}

// By step and slip, the numbers that the slip gives for every key, or for every feature of the output.
function slipsOf(parts, vectors, walk) {
  const { query, key, value } = vectors, { row, allowed } = walk, others = {};
  if (sameShape(query, key)) others.transposed = walkOf(parts, { query: key, key: query, value }, row);
  if (walk.named("scale") && parts.score.divisor === "root") {
    for (const [name, divisor] of [["forgot sqrt(d)", 1], ["divided by d", query[0].length]]) {
      others[name] = walkOf({ ...parts, score: { kind: "dot", divisor } }, vectors, row);
    }
  }
  const taken = (names, take) => Object.fromEntries(Object.entries(others).filter(([name, each]) => names(name, each))
    .map(([name, each]) => [name, take(each)]));
  const found = {
    sum: taken((name, each) => name === "transposed" && each.named("sum"), (each) => each.named("sum").values),
    scale: taken(() => true, (each) => each.scores),
    exp: taken((_, each) => each.named("exp"), (each) => each.named("exp").values),
    normalise: taken((name) => name !== "divided by d", (each) => each.weights),
  };
  if (parts.weights === "softmax" && parts.parameter === 1) {
    const scores = walk.scores.map((s, j) => (allowed[j] ? s : 0));
    if (walk.named("exp")) {
      found.exp["forgot exp"] = scores.map((s) => s - walk.named("maximum").values);
      found.exp["forgot maximum"] = scores.map(Math.exp);
    }
    const sum = scores.reduce((all, s) => all + s, 0);
    found.normalise["forgot exp"] = scores.map((s) => s / sum);
    if (query.length > 1) {
      const rows = query.map((_, i) => walkOf(parts, vectors, i).scores);
      found.normalise["wrong axis"] = allowed.map((each, j) => (each ? share(rows.map((scores) => scores[j]), row) : 0));
    }
  }
  found.output = Object.fromEntries(Object.entries(found.normalise).map(([name, weights]) =>
    [name, value[0].map((_, c) => weights.reduce((sum, w, j) => sum + w * value[j][c], 0))]));
  return found;
}

function share(scores, at) {
  const highest = Math.max(...scores);
  return Math.exp(scores[at] - highest) / scores.reduce((sum, s) => sum + Math.exp(s - highest), 0);
}

function blank(name, formula, value, slips) {
  return { name, formula, value, slips: slips.filter(([, each]) => !isEqual(each, value)) };
}

function sameShape(first, second) {
  return first.length === second.length && first[0].length === second[0].length;
}

// Whether a number written with two decimals, or four digits, is this one.
function isEqual(given, value) {
  return Math.abs(given - value) <= Math.max(0.005, 0.0005 * Math.abs(value)) * (1 + 1e-9);
}

/** The blanks, with a line that counts. */
export function exerciseView(blanks, names, say) {
  const answered = blanks.map(() => ({ tries: 0, right: false, shown: false })), items = [];
  const counted = h("p", { class: "counted", role: "status" });

  const count = () => {
    const right = answered.filter((each) => each.right), first = right.filter((each) => each.tries === 1);
    counted.textContent = say("summary", { right: right.length, count: blanks.length, first: first.length,
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
      end(say("answer", { value: figure(blank.value) }));
    };
    const check = () => {
      // Enter asks, and leaving the field; the same answer counts once.
      if (input.readOnly || !input.value.trim() || input.value === checked) return;
      checked = input.value;
      if (["?", "？"].includes(input.value.trim())) {
        reveal();
        return;
      }
      const verdict = verdictOn(blank, input.value), text = say(verdict === "no number" ? "write a number" : verdict, names);
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
    const show = button(`show ${i}`, say("show answer"), reveal);
    const asked = formulaNodesIn(say, "ask", { number: i + 1, count: blanks.length, name: say(blank.name), formula: blank.formula }, "formula");
    items.push({ input, element: h("li", {}, h("label", { for: `blank-${i}` }, asked), h("div", { class: "answer" }, input, show), said) });
  });
  count();
  return [h("p", {}, say("page intro", names)),
    h("ol", { class: "blanks", role: "list" }, items.map(({ element }) => element)), counted];
}
