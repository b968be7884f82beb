// The whole computation in double precision: from the numbers that are edited to the output of each query.
import { chosenNumber, quantity, stepOf, stepsFrom } from "./worked_formulas.js";

/** Query, key and value of the numbers: projected from the inputs, the inputs themselves, or given. */
export function vectorsOf(form, numbers) {
  if (form === "given") return { query: numbers.Q, key: numbers.K, value: numbers.V };
  if (form === "same") return { query: numbers.X, key: numbers.X, value: numbers.X };
  return { query: times(numbers.X, numbers.Wq), key: times(numbers.X, numbers.Wk), value: times(numbers.X, numbers.Wv) };
}

/** A product of matrices. */
export function times(left, right) {
  return left.map((row) => right[0].map((_, column) => row.reduce((sum, x, i) => sum + x * right[i][column], 0)));
}

/**
 * The steps of one query, as `steps` of regard.inspection gives them.
 *
 * `parts` holds the formulas of all scores and normalisers, the score, the slope of the position bias, the normaliser with
 * its parameter, which pairs are allowed, and whether there is a mask at all.
 */
export function walkOf(parts, { query, key, value }, row) {
  const allowed = parts.allowed[row];
  const q = quantity("q_f", query[row], ["feature"]), k = quantity("k_jf", key, ["key", "feature"]);
  const v = quantity("v_jc", value, ["key", "value"]), before = scoreSteps(parts, q, k);
  if (parts.slope) before.push(...positionSteps(parts.slope, before.at(-1), row + key.length - query.length));
  if (!allowed.includes(true)) return walk(row, allowed, hiddenSteps(allowed, v), before, allowed.map(() => 0));
  const steps = [...before];
  if (parts.masked) steps.push(maskStep(steps.at(-1), allowed));
  const scores = steps.at(-1).values;
  steps.push(...weightSteps(parts, steps.at(-1), allowed));
  const weights = steps.at(-1);
  const products = stepOf("weighted values", "u_jc", value.map((each, j) => each.map((x) => (allowed[j] ? weights.values[j] * x : 0))),
    ["key", "value"], "{w} * {v}", { w: weights, v });
  const output = value[0].map((_, c) => products.values.reduce((sum, each) => sum + each[c], 0));
  steps.push(products, stepOf("output", "o_c", output, ["value"], "{u}", { u: products }, "sum"));
  return walk(row, allowed, steps, before, scores);
}

// The inner product may be divided by any number.
function scoreSteps({ formulas, score: { kind, divisor } }, query, key) {
  const divided = kind === "dot" && divisor !== 1, by = divided && divisor !== "root" ? { d: quantity("c", divisor) } : {};
  const known = { q: query, k: key, size: quantity("d", query.values.length) };
  return stepsFrom(formulas.score[divided ? "scaled_dot" : kind], known, by);
}

function weightSteps({ formulas, weights, parameter }, scores, allowed) {
  if (scores.values.every((s) => s === -Infinity))
    return [stepOf("normalise", "w_j", scores.values.map(() => 0), ["key"], "0, as every score is minus infinity")];
  const known = { s: scores, count: quantity("n", allowed.filter(Boolean).length) };
  if (weights === "softmax" && parameter === 0) return stepsFrom(formulas.weights.hard, known);
  const number = chosenNumber(formulas.weights[weights]);
  // With this temperature all weights are equal to the last bit, and with an infinite one they are no numbers.
  const chosen = number ? { [number.name]: quantity(number.symbol, Math.min(parameter, 1e300)) } : {};
  return stepsFrom(formulas.weights[weights], known, chosen);
}

// `before`: the steps to the scores, which there are also of a query that may see nothing.
function walk(row, allowed, steps, before, scores) {
  const named = (name) => steps.find((each) => each.name === name);
  return { row, allowed, steps, before, scores, named, weights: named("normalise").values, output: steps.at(-1).values };
}

// The last query stands where the last key does.
function positionSteps(slope, scores, place) {
  const bias = stepOf("position bias", "b_j", scores.values.map((_, j) => -slope * Math.abs(j - place)), ["key"], "-slope * |j - i|");
  return [bias, stepOf("position", "s_j", scores.values.map((s, j) => s + bias.values[j]), ["key"], "{s} + {b}", { s: scores, b: bias })];
}

function maskStep(scores, allowed) {
  const mask = quantity("mask_j", allowed.map((each) => (each ? 0 : -Infinity)), ["key"]);
  return stepOf("mask", "s_j", scores.values.map((s, j) => (allowed[j] ? s : -Infinity)), ["key"], "{s} + {m}", { s: scores, m: mask });
}

function hiddenSteps(allowed, value) {
  return [
    stepOf("mask", "mask_j", allowed.map(() => -Infinity), ["key"], "-inf, as every key is hidden"),
    stepOf("normalise", "w_j", allowed.map(() => 0), ["key"], "0, as every key is hidden"),
    stepOf("weighted values", "u_jc", value.values.map((each) => each.map(() => 0)), ["key", "value"], "0"),
    stepOf("output", "o_c", value.values[0].map(() => 0), ["value"], "0"),
  ];
}
