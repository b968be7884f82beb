// Numbers and formulas of the steps as text, by the same rules as the terminal's.

const MOST = 6;  // of a longer vector or sum, the first ones and the last are shown
const INDICES = { key: "j", feature: "f", value: "c" };

/** A number with four significant digits. */
export function figure(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  // Sums leave remainders like 1e-17 where the result is 0.
  if (size < 1e-12) return "0";
  const [digits, power] = fourDigits(size), sign = value < 0 ? "-" : "";
  const exponent = power < -4 || power >= 4;
  if (exponent && (size >= 1e9 || size < 1e-4)) {
    return `${sign}${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  return sign + String(Number(`${digits}e${power}`));
}

// The digits and the power of ten. Python rounds a number in the middle to the even one.
function fourDigits(size) {
  const exact = size.toExponential(100), power = Number(exact.slice(exact.indexOf("e") + 1));
  const middle = /^50*$/.test(exact.slice(5, exact.indexOf("e")));
  if (middle && Number(exact[4]) % 2 === 0) return [Number(exact.slice(0, 5)), power];
  const [digits, rounded] = size.toExponential(3).split("e").map(Number);
  return [digits, rounded];
}

/** A number, or a vector in brackets. */
export function figures(values) {
  return Array.isArray(values) ? `[${cut(values.map(figures)).join(", ")}]` : figure(values);
}

/** A number that a reader wrote; null if it is none. Full-width digits and a decimal comma are taken too. */
export function writtenNumber(text) {
  let written = text.normalize("NFKC").trim().replaceAll("。", ".").replaceAll("−", "-");
  if (written.split(",").length === 2 && !written.includes(".")) written = written.replace(",", ".");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written)) return null;
  return Number.isFinite(Number(written)) ? Number(written) : null;
}

/** The formula of a step in one line. */
export function formulaOf(step) {
  const symbols = Object.entries(step.operands).map(([name, each]) => [name, each.symbol]);
  let expression = filledIn(step.template, Object.fromEntries(symbols));
  if (step.reduces) expression = `${step.reduces}_${INDICES[reducedAxis(step)]} ${expression}`;
  // Some steps change what they began with, as the scale does the scores.
  const equals = symbols.some(([, symbol]) => symbol === step.symbol) ? ":=" : "=";
  return `${step.symbol} ${equals} ${typeset(expression)}`;
}

/** The formula of a step with its numbers put in, and the result, for one key. */
export function workedOut(step, column) {
  const result = figures(atKey(step, column)), operands = Object.entries(step.operands);
  // Functions that the formula only names have no numbers to put in.
  if (!operands.length) return result;
  if (!step.reduces) {
    const given = operands.map(([name, each]) => [name, putIn(atKey(each, column), step.template)]);
    return `${typeset(filledIn(step.template, Object.fromEntries(given)))} = ${result}`;
  }
  const [[, operand]] = operands, values = reducedAxis(step) === "key" ? operand.values : atKey(operand, column);
  const terms = cut(values.map(figures));
  if (step.reduces === "max") return `max(${terms.join(", ")}) = ${result}`;
  return `${terms.map((each) => (each.startsWith("-") ? `(${each})` : each)).join(" + ")} = ${result}`;
}

/** A text with its fields, which stand in braces, filled in. */
export function filledIn(template, texts) {
  return template.replace(/\{(\w+)\}/g, (_, name) => texts[name]);
}

function typeset(expression) {
  return expression.replaceAll("**", "^").replaceAll("*", "x");
}

function reducedAxis({ axes, operands }) {
  return Object.values(operands)[0].axes.find((axis) => !axes.includes(axis));
}

function atKey(quantity, column) {
  return quantity.axes.includes("key") ? quantity.values[column] : quantity.values;
}

function putIn(values, template) {
  const text = figures(values);
  return text.startsWith("-") && !template.includes("(") ? `(${text})` : text;
}

function cut(texts) {
  return texts.length <= MOST ? texts : [...texts.slice(0, MOST - 1), "...", texts.at(-1)];
}
