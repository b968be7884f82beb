// What the numbers that can be edited are called, and what is said of a change.
import { parameterName, temperatureText } from "./worked_controls.js";
import { figure } from "./worked_numbers.js";

/** The names of the rows of a matrix; none where its rows are features. */
export function itemsOf({ items, queryItems }, matrix) {
  return { X: items, Q: queryItems, K: items, V: items }[matrix] ?? null;
}

/** The name of a number of a matrix. */
export function cellName({ data, view }, matrix, row, column) {
  const items = itemsOf(data, matrix);
  return view.words.cell(matrix, items ? items[row] : String(row + 1), String(column + 1));
}

/** What was changed. */
export function changedName(sheet, { what, name, row, column }) {
  const { data, view: { words, state } } = sheet;
  if (what === "number") return cellName(sheet, name, row, column);
  if (what === "mask") return `${data.queryItems[row]} → ${data.items[column]}`;
  if (what === "parameter") return parameterName(words, state);
  return words[what];
}

/** A value before or after a change. */
export function changedValue({ view: { words } }, { what }, value) {
  if (what === "mask") return value ? words.shown : words.hidden;
  if (what === "score") return words.kinds[value] ?? value;
  if (what === "parameter") return temperatureText(value);
  return what === "divisor" && value === "root" ? "√d" : String(value);
}

/** What an edit did, in a sentence that a screen reader hears. */
export function sentenceOfEdits(sheet, edits, before) {
  const { data, view, moved } = sheet, { words, state: { row, column } } = view, found = [];
  if (edits.length === 1) {
    const [old, now] = [edits[0].before, edits[0].value].map((value) => changedValue(sheet, edits[0], value));
    found.push(`${changedName(sheet, edits[0])}: ${old} → ${now}.`);
  }
  found.push(words.moved([...moved.values()].reduce((sum, cells) => sum + cells.size, 0)));
  const weights = [before, view].map(({ walks }) => figure(walks[row].weights[column]));
  found.push(view.walks[row].allowed.includes(true) ? words.weightNow(data.queryItems[row], data.items[column], ...weights)
    : words.nothingSeen(data.queryItems[row]));
  return found.join(" ");
}
