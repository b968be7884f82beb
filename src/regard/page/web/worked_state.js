// What is computed and shown: the edited numbers, as the part of the address after #, so that they can be sent as a link.
import { partsOfHash } from "./address.js";
import { chosenNumber } from "./worked_formulas.js";

/** Numbers beyond this can't be entered: products of products would overflow. */
export const LARGEST = 1e6;
const HARD = 0, UNIFORM = Infinity;

/** The state that a page begins with. */
export function firstWorked(data) {
  const parameter = data.parameter === "inf" ? UNIFORM : data.parameter;
  return { lang: data.lang, row: data.row, column: data.column, exercise: false, numbers: data.matrices, allowed: data.allowed,
    kind: data.score === "scaled_dot" ? "dot" : data.score, divisor: data.score === "scaled_dot" ? "root" : 1,
    slope: 0, weights: data.weights, parameter, formulas: data.steps };
}

/** The scores to choose from: that of "dot" may be divided by the root of the size. */
export function scoreKinds({ formulas }) {
  return Object.keys(formulas.score).filter((name) => name !== "scaled_dot");
}

/** The number that a normaliser takes, with its symbol and limits; none if it takes none. */
export function parameterOf({ formulas, weights }) {
  return chosenNumber(formulas.weights[weights]);
}

/** The parts of a state, as `walkOf` takes them. */
export function partsOf(state, masked) {
  return { formulas: state.formulas, score: { kind: state.kind, divisor: state.divisor }, slope: state.slope,
    weights: state.weights, parameter: state.parameter, allowed: state.allowed, masked: masked || state.allowed.some((row) => row.includes(false)) };
}

/** The state with one number of a matrix replaced. */
export function withNumber(state, name, row, column, value) {
  const matrix = state.numbers[name].map((each, i) => (i === row ? replaced(each, column, value) : each));
  return { ...state, numbers: { ...state.numbers, [name]: matrix } };
}

/** The state with the mask of one pair turned. */
export function withTurned(state, row, column) {
  const allowed = state.allowed.map((each, i) => (i === row ? replaced(each, column, !each[column]) : each));
  return { ...state, allowed };
}

function replaced(values, at, value) {
  return values.map((each, i) => (i === at ? value : each));
}

/** The state with another normaliser, which begins with its own number. */
export function withWeights(state, weights) {
  const found = { ...state, weights };
  return { ...found, parameter: parameterOf(found)?.values ?? null };
}

/** Whether a number can be entered into a matrix, or as the slope of the position bias. */
export function isEntry(value) {
  return value !== null && Math.abs(value) <= LARGEST;
}

/** Whether a normaliser takes this number; the temperature may be 0 and infinite. */
export function isParameter(state, value) {
  const limits = parameterOf(state);
  if (!limits || value === null) return false;
  if (state.weights === "softmax" && (value === HARD || value === UNIFORM)) return true;
  return value >= limits.low && value <= limits.high && (!limits.whole || Number.isInteger(value));
}

/** Whether scores can be divided by this number. */
export function isDivisor(value) {
  return value !== null && value >= 1e-6 && value <= LARGEST;
}

/** What differs from the start: the state without each change, in the order of the page. */
export function changesOf(state, first) {
  const found = [];
  for (const [name, matrix] of Object.entries(state.numbers)) {
    matrix.forEach((values, row) => values.forEach((value, column) => {
      const before = first.numbers[name][row][column];
      if (!Object.is(value, before)) {
        found.push({ what: "number", name, row, column, before, value, back: (now) => withNumber(now, name, row, column, before) });
      }
    }));
  }
  const other = (what, field, more = {}) => {
    const before = first[field], value = state[field];
    if (value !== before) found.push({ what, before, value, back: (now) => ({ ...now, [field]: before, ...more }) });
    return value !== before;
  };
  other("score", "kind");
  other("divisor", "divisor");
  other("slope", "slope");
  state.allowed.forEach((values, row) => values.forEach((value, column) => {
    if (value !== first.allowed[row][column]) {
      found.push({ what: "mask", row, column, before: !value, value, back: (now) => withTurned(now, row, column) });
    }
  }));
  // Another normaliser has a number of its own.
  if (!other("weights", "weights", { parameter: first.parameter })) other("parameter", "parameter");
  return found;
}

/** A state as it was at the start, but for what is chosen to be looked at. */
export function backToStart(state, first) {
  const { lang, row, column, exercise } = state;
  return { ...first, lang, row, column, exercise };
}

/** The address of a state: what differs from the start. Rows and columns count from 1. */
export function workedHash(state, first) {
  const chosen = [`lang=${state.lang}`, `query=${state.row + 1}`, `key=${state.column + 1}`], parts = [], lists = new Map();
  for (const { what, name = what, row, column, value } of changesOf(state, first)) {
    const cell = `${row + 1}.${column + 1}`;
    if (row === undefined) parts.push(`${what}=${value}`);
    else lists.set(name, [...(lists.get(name) ?? []), what === "mask" ? cell : `${cell}:${value}`]);
    if (what === "weights" && state.parameter !== null) parts.push(`parameter=${state.parameter}`);
  }
  const cells = [...lists].map(([name, each]) => `${name}=${each.join(",")}`);
  return `#${[...chosen, ...cells, ...parts, ...(state.exercise ? ["exercise=on"] : [])].join("&")}`;
}

/** The state that an address names; what it doesn't name, or names wrongly, is as at the start. */
export function readWorked(hash, first) {
  let found = { ...first }, parameter = null;
  for (const [name, value = ""] of partsOfHash(hash)) {
    if (name === "lang" && (value === "en" || value === "zh")) found.lang = value;
    if (name === "exercise") found.exercise = value === "on";
    if (name === "query" && isPlace(value, first.allowed.length)) found.row = Number(value) - 1;
    if (name === "key" && isPlace(value, first.allowed[0].length)) found.column = Number(value) - 1;
    if (name === "score" && scoreKinds(first).includes(value)) found.kind = value;
    if (name === "divisor" && (value === "root" || isDivisor(numberIn(value)))) found.divisor = value === "root" ? value : Number(value);
    if (name === "slope" && isEntry(numberIn(value))) found.slope = Number(value);
    if (name === "weights" && Object.hasOwn(first.formulas.weights, value)) found = withWeights(found, value);
    if (name === "parameter") parameter = value === "Infinity" ? UNIFORM : numberIn(value);
    if (name === "mask" || Object.hasOwn(first.numbers, name)) found = withCells(found, name, value);
  }
  return isParameter(found, parameter) ? { ...found, parameter } : found;
}

function withCells(state, name, text) {
  let found = state;
  for (const each of text.split(",")) {
    const [cell, value] = each.split(":"), [row, column] = cell.split("."), matrix = name === "mask" ? state.allowed : state.numbers[name];
    if (!isPlace(row, matrix.length) || !isPlace(column, matrix[0].length)) continue;
    if (name === "mask") found = withTurned(found, Number(row) - 1, Number(column) - 1);
    else if (isEntry(numberIn(value))) found = withNumber(found, name, Number(row) - 1, Number(column) - 1, Number(value));
  }
  return found;
}

function isPlace(text, count) {
  return /^\d+$/.test(text || "") && Number(text) >= 1 && Number(text) <= count;
}

function numberIn(text) {
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text || "") && Number.isFinite(Number(text)) ? Number(text) : null;
}
