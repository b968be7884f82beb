// An exercise: numbers to find, and what a wrong answer shows was forgotten. The rules are those of `regard steps --exercise`.
import { formulaOf, writtenNumber } from "./worked_numbers.js";
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
