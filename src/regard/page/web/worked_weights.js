// The steps from the scores of one query to its weights, for each normaliser.
import { quantity, stepOf } from "./worked_scores.js";

const SEARCHED = 2000;  // halvings that no search for a threshold in double precision needs

/** What each normaliser can be told: the symbol, the number that it has of itself, and between which numbers it lies. */
export const PARAMETERS = {
  softmax: { symbol: "T", start: 1, low: 1e-6, high: 1e6 },
  relu: null,
  sigmoid: null,
  sparsemax: null,
  entmax: { symbol: "alpha", start: 1.5, low: 1.05, high: 20 },
  budget: { symbol: "budget", start: 2, low: 0.01, high: 1000 },
  top_k: { symbol: "k", start: 8, low: 1, high: 1000, whole: true },
  hard: null,
};

/** The steps of a normaliser. The scores are minus infinity where hidden, and at least one isn't. */
export function weightSteps(weights, parameter, scores, allowed) {
  const count = allowed.filter(Boolean).length;
  if (weights === "softmax" && parameter === 0) return hard(scores);
  if (weights === "softmax") return softmax(parameter, scores);
  if (weights === "relu") return relu(scores, count);
  if (weights === "sigmoid") return sigmoid(scores, count);
  if (weights === "sparsemax") return sparsemax(scores);
  if (weights === "entmax") return entmax(parameter, scores);
  if (weights === "budget") return budget(parameter, scores, count);
  return weights === "top_k" ? topK(parameter, scores) : hard(scores);
}

function softmax(temperature, scores) {
  if (temperature === 1) return shares(scores);
  // With this one all weights are equal to the last bit.
  const by = quantity("T", Math.min(temperature, 1e300));
  const cooled = stepOf("temperature", "z_j", scores.values.map((s) => s / by.values), ["key"], "{s} / {T}", { s: scores, T: by });
  return [cooled, ...shares(cooled)];
}

// After the maximum is subtracted the exponentials can't overflow.
function shares(scores) {
  const highest = maximum(scores);
  const powers = scores.values.map((s) => Math.exp(s - highest.values));
  const exp = stepOf("exp", "e_j", powers, ["key"], "exp({s} - {m})", { s: scores, m: highest });
  const total = stepOf("total", "Z", powers.reduce((sum, e) => sum + e, 0), [], "{e}", { e: exp }, "sum");
  return [highest, exp, total, normalised("{e} / {Z}", { e: exp, Z: total }, powers.map((e) => e / total.values))];
}

function maximum(scores) {
  return stepOf("maximum", "m", Math.max(...scores.values), [], "{s}", { s: scores }, "max");
}

function topK(count, scores) {
  const order = scores.values.map((_, j) => j).sort((a, b) => scores.values[b] - scores.values[a] || a - b);
  const kept = new Set(order.slice(0, count)), highest = Math.max(...scores.values);
  const values = scores.values.map((s, j) => (kept.has(j) && Math.exp(s - highest) > 0 ? s : -Infinity));
  const step = stepOf("largest", "z_j", values, ["key"], "{s} if among_the_largest({k}) else -inf",
    { s: scores, k: quantity("k", count) });
  return [step, ...shares(step)];
}

function relu(scores, count) {
  const positive = stepOf("positive part", "r_j", scores.values.map((s) => Math.max(s, 0)), ["key"], "max({s}, 0)", { s: scores });
  return [positive, normalised("{r} / {n}", { r: positive, n: quantity("n", count) }, positive.values.map((r) => r / count))];
}

function sigmoid(scores, count) {
  const bias = quantity("(-log(n))", -Math.log(count));
  const sums = stepOf("bias", "z_j", scores.values.map((s) => s + bias.values), ["key"], "{s} + {b}", { s: scores, b: bias });
  return [sums, normalised("1 / (1 + exp(-{z}))", { z: sums }, sums.values.map((z) => 1 / (1 + Math.exp(-z))))];
}

function sparsemax(scores) {
  // The largest scores, as many as lie above the threshold that they themselves give.
  const sorted = scores.values.filter(Number.isFinite).sort((a, b) => b - a);
  let sum = 0, threshold = 0;
  sorted.forEach((s, i) => {
    sum += s;
    if (1 + (i + 1) * s > sum) threshold = (sum - 1) / (i + 1);
  });
  const above = thresholdStep(threshold);
  const values = scores.values.map((s) => Math.max(s - threshold, 0));
  return [above, normalised("max({s} - {t}, 0)", { s: scores, t: above }, values)];
}

function entmax(alpha, scores) {
  const of = quantity("alpha", alpha), less = alpha - 1;
  const scaled = stepOf("scaled scores", "z_j", scores.values.map((s) => less * s), ["key"], "({a} - 1) * {s}", { a: of, s: scores });
  const weigh = (t) => scaled.values.map((z) => Math.max(z - t, 0) ** (1 / less));
  const highest = Math.max(...scaled.values);
  const above = thresholdStep(searched(highest - 1, highest, (t) => total(weigh(t)) > 1));
  return [scaled, above, normalised("max({z} - {t}, 0) ** (1 / ({a} - 1))", { z: scaled, t: above, a: of }, weigh(above.values))];
}

function budget(wanted, scores, count) {
  const finite = scores.values.filter(Number.isFinite), lowest = Math.min(...finite);
  const weigh = (t) => scores.values.map((s) => Math.min(Math.max(s - t, 0), 1));
  let threshold = lowest - 1;
  if (count > wanted) {
    threshold = searched(lowest - 1, Math.max(...finite), (t) => total(weigh(t)) > wanted);
    // Between two kinks the sum is a line, of which the threshold is exact.
    const inside = finite.filter((s) => s - threshold > 0 && s - threshold < 1);
    const whole = finite.filter((s) => s - threshold >= 1).length;
    if (inside.length) threshold = (total(inside) + whole - wanted) / inside.length;
    else threshold = Math.min(...finite.filter((s) => s - threshold >= 1)) - 1;
  }
  const above = thresholdStep(threshold);
  return [above, normalised("min(max({s} - {t}, 0), 1)", { s: scores, t: above }, weigh(threshold))];
}

// Where a test that holds at the low end and not at the high one ends to hold.
function searched(low, high, holds) {
  for (let i = 0; i < SEARCHED; i++) {
    const middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function thresholdStep(threshold) {
  return stepOf("threshold", "t", threshold, [], "the t for which the weights have their sum");
}

function hard(scores) {
  const highest = maximum(scores), first = scores.values.indexOf(highest.values);
  return [highest, normalised("1 if first({s} == {m}) else 0", { s: scores, m: highest },
    scores.values.map((_, j) => (j === first ? 1 : 0)))];
}

function total(values) {
  return values.reduce((sum, each) => sum + each, 0);
}

function normalised(template, operands, values) {
  return stepOf("normalise", "w_j", values, ["key"], template, operands);
}
