// The steps of scores and normalisers, computed from their formulas, which come with the page's data.

const SEARCHED = 2000;  // halvings that no search for a threshold in double precision needs

/** Numbers with a symbol: of each key, of each feature, or one alone, as their axes say. */
export function quantity(symbol, values, axes = []) {
  return { symbol, values, axes };
}

/** Numbers, and how they follow from others: the template is their formula, with a field for each operand. */
export function stepOf(name, symbol, values, axes, template, operands = {}, reduces = null) {
  return { name, symbol, values, axes, template, operands, reduces };
}

/** The number of a part that a reader may choose, with its limits; none if it has none. */
export function chosenNumber(formulas) {
  return formulas.find(({ given }) => given && "low" in given)?.given ?? null;
}

/** The steps of formulas: `known` are quantities by name, and `chosen` replaces given numbers. */
export function stepsFrom(formulas, known, chosen = {}) {
  const names = { ...known, inf: quantity("inf", Infinity) }, found = [];
  formulas.forEach((each, i) => {
    if (each.given) {
      const { name, symbol, axes, values, tree } = each.given;
      names[name] = chosen[name] ?? quantity(symbol, tree === undefined ? values : valueOf(tree, names).values, axes);
      return;
    }
    if (each.unless && names[each.unless[0]].values === each.unless[1]) return;
    const whole = each.tree[0] === "threshold" ? thresholdOf(each.tree, names, formulas[i + 1]) : valueOf(each.tree, names);
    const values = each.reduces ? along(whole, each.reduces === "sum" ? total : largestOf).values : whole.values;
    const operands = Object.fromEntries(each.operands.map((name) => [name, names[name]]));
    names[each.to] = stepOf(each.name, each.symbol, values, each.axes, each.text, operands, each.reduces);
    found.push(names[each.to]);
  });
  return found;
}

const NUMBERS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "**": (a, b) => a ** b,
  "==": (a, b) => a === b,
  negative: (a) => -a,
  if: (test, a, b) => (test ? a : b),
  min: Math.min,
  max: Math.max,
  exp: Math.exp,
  tanh: Math.tanh,
  sigmoid: (a) => 1 / (1 + Math.exp(-a)),
  log: Math.log,
  sqrt: Math.sqrt,
};

const VECTORS = {
  length: (x) => along(x, lengthOf),
  direction: (x) => ({ ...x, values: x.axes.length > 1 ? x.values.map(directionOf) : directionOf(x.values) }),
  first: (x) => ({ ...x, values: x.values.map((each, j) => j === x.values.indexOf(true)) }),
  among_the_largest: amongTheLargest,
};

// An expression, [function, argument, ...], a name or a number, as numbers with axes.
function valueOf(tree, names) {
  if (typeof tree === "string") return names[tree];
  if (typeof tree === "number") return quantity("", tree);
  const [name, ...rest] = tree, values = rest.map((each) => valueOf(each, names));
  return NUMBERS[name] ? eachOf(NUMBERS[name], values) : VECTORS[name](...values);
}

// A function of numbers, for each place of the axes that any of the operands has.
function eachOf(make, operands) {
  const axes = ["key", "feature"].filter((axis) => operands.some((each) => each.axes.includes(axis)));
  const computed = (places, given) => {
    if (!places.length) return make(...given.map(({ values }) => values));
    const [axis, ...others] = places, { length } = given.find((each) => each.axes[0] === axis).values;
    return Array.from({ length }, (_, i) => computed(others, given.map((each) =>
      (each.axes[0] === axis ? { values: each.values[i], axes: each.axes.slice(1) } : each))));
  };
  return { axes, values: computed(axes, operands) };
}

// A function of vectors, along the last axis.
function along({ values, axes }, make) {
  return { axes: axes.slice(0, -1), values: axes.length > 1 ? values.map(make) : make(values) };
}

// A vector of zeros has no direction, and stays zero.
function directionOf(vector) {
  const most = largestOf(vector.map(Math.abs));
  if (!most) return vector.map(() => 0);
  const scaled = vector.map((x) => x / most), length = lengthOf(scaled);
  return scaled.map((x) => x / length);
}

function lengthOf(vector) {
  return Math.sqrt(total(vector.map((x) => x * x)));
}

function amongTheLargest(scores, { values: count }) {
  const order = scores.values.map((_, j) => j).sort((a, b) => scores.values[b] - scores.values[a] || a - b);
  const kept = new Set(order.slice(0, count)), highest = largestOf(scores.values);
  return { ...scores, values: scores.values.map((s, j) => kept.has(j) && Math.exp(s - highest) > 0) };
}

// The largest t with which the weights, which the next formula makes of it, have their sum; read off the lowest score
// that has a weight, since it lies above t by what that weight says.
function thresholdOf([, scoresOf, totalOf, aboveOf], names, next) {
  const scores = valueOf(scoresOf, names).values, wanted = valueOf(totalOf, names).values;
  const weights = (t) => valueOf(next.tree, { ...names, t: quantity("t", t) });
  let low = Math.min(...scores.filter(Number.isFinite)) - 1, high = largestOf(scores);
  if (total(weights(low).values) < wanted) return quantity("t", low);
  for (let i = 0; i < SEARCHED; i++) {
    const middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    if (total(weights(middle).values) >= wanted) low = middle;
    else high = middle;
  }
  const above = valueOf(aboveOf, { ...names, w: weights(low) }).values;
  const last = scores.reduce((found, s, j) => (above[j] > 0 && (found < 0 || s < scores[found]) ? j : found), -1);
  return quantity("t", scores[last] - above[last]);
}

function total(values) {
  return values.reduce((sum, each) => sum + each, 0);
}

function largestOf(values) {
  return Math.max(...values);
}
