// The steps from one query and the keys to their scores.

/** Numbers with a symbol: of each key, of each feature, or one alone, as their axes say. */
export function quantity(symbol, values, axes = []) {
  return { symbol, values, axes };
}

/** Numbers, and how they follow from others: the template is their formula, with a field for each operand. */
export function stepOf(name, symbol, values, axes, template, operands = {}, reduces = null) {
  return { name, symbol, values, axes, template, operands, reduces };
}

/** The steps of a score: `{ kind, divisor }`. The last one's values are the scores, one for each key. */
export function scoreSteps({ kind, divisor }, query, key) {
  if (kind === "additive") return additive(query, key);
  if (kind === "cosine") return cosine(query, key);
  const steps = products(query, key), sum = steps.at(-1);
  if (divisor === 1) return steps;
  const by = divisor === "root" ? quantity("sqrt(d)", Math.sqrt(query.values.length)) : quantity("c", divisor);
  const scores = sum.values.map((each) => each / by.values);
  return [...steps, stepOf("scale", "s_j", scores, ["key"], "{s} / {d}", { s: sum, d: by })];
}

// With a vector u of ones, as `regard steps --score additive` has it.
function additive(query, key) {
  const ones = quantity("u_f", query.values.map(() => 1), ["feature"]);
  const sums = stepOf("sums of vectors", "x_jf", key.values.map((each) => each.map((x, f) => query.values[f] + x)),
    ["key", "feature"], "{q} + {k}", { q: query, k: key });
  const active = stepOf("activation", "a_jf", sums.values.map((each) => each.map(Math.tanh)), ["key", "feature"], "tanh({x})",
    { x: sums });
  return [sums, active, ...products(ones, active)];
}

function cosine(query, key) {
  const first = stepOf("query direction", "q'_f", direction(query.values), ["feature"], "{q} / {n}",
    { q: query, n: quantity("|q|", lengthOf(query.values)) });
  const second = stepOf("key directions", "k'_jf", key.values.map(direction), ["key", "feature"], "{k} / {n}",
    { k: key, n: quantity("|k_j|", key.values.map(lengthOf), ["key"]) });
  return [first, second, ...products(first, second)];
}

// A vector of zeros has no direction, and stays zero.
function direction(vector) {
  const largest = Math.max(...vector.map(Math.abs));
  if (!largest) return vector.map(() => 0);
  const scaled = vector.map((x) => x / largest), length = lengthOf(scaled);
  return scaled.map((x) => x / length);
}

function lengthOf(vector) {
  return Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
}

function products(first, second) {
  const each = stepOf("products", "p_jf", second.values.map((vector) => vector.map((x, f) => first.values[f] * x)),
    ["key", "feature"], "{q} * {k}", { q: first, k: second });
  const sums = each.values.map((terms) => terms.reduce((sum, x) => sum + x, 0));
  return [each, stepOf("sum", "s_j", sums, ["key"], "{p}", { p: each }, "sum")];
}
