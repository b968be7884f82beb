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
  return view.say("cell", { matrix, row: items ? items[row] : row + 1, column: column + 1 });
}

/** What was changed. */
export function changedName(sheet, { what, name, row, column }) {
  const { data, view: { say, state } } = sheet;
  if (what === "number") return cellName(sheet, name, row, column);
  if (what === "mask") return `${data.queryItems[row]} → ${data.items[column]}`;
  return what === "parameter" ? parameterName(say, state) : say(`label ${what}`);
}

/** A value before or after a change. */
export function changedValue({ view: { say } }, { what }, value) {
  if (what === "mask") return say(value ? "shown" : "hidden");
  if (what === "score") return say(value);
  if (what === "parameter") return temperatureText(value);
  return what === "divisor" && value === "root" ? "√d" : String(value);
}

/** What an edit did, in a sentence that a screen reader hears. */
export function sentenceOfEdits(sheet, edits, before) {
  const { data, view, moved } = sheet, { say, state: { row, column } } = view, found = [];
  if (edits.length === 1) {
    const [old, now] = [edits[0].before, edits[0].value].map((value) => changedValue(sheet, edits[0], value));
    found.push(`${changedName(sheet, edits[0])}: ${old} → ${now}.`);
  }
  const count = [...moved.values()].reduce((sum, cells) => sum + cells.size, 0);
  found.push(say(`${["none", "one"][count] ?? "several"} moved`, { count }));
  const [old, now] = [before, view].map(({ walks }) => figure(walks[row].weights[column])), query = data.queryItems[row];
  found.push(!view.walks[row].allowed.includes(true) ? say("nothing seen", { query })
    : say(old === now ? "weight stays" : "weight moved", { query, key: data.items[column], before: old, after: now }));
  return found.join(" ");
}
