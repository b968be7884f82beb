// The matrices that can be edited, and query, key and value where they follow from them.
import { h } from "./dom.js";
import { cellName, itemsOf } from "./worked_names.js";
import { writtenNumber } from "./worked_numbers.js";
import { followingIn, sectionOf } from "./worked_sections.js";
import { LARGEST, isEntry, withNumber } from "./worked_state.js";
import { editableTable } from "./worked_tables.js";

/** The sections of a sheet's inputs. */
export function inputSections(sheet) {
  const { data: { form, items, queryItems }, view: { words, vectors } } = sheet;
  const matrices = h("div", { class: "matrices" }, Object.keys(sheet.first.numbers).map((name) => editable(sheet, name)));
  if (form === "given") return [sectionOf("inputs", words.given, "", matrices)];
  if (form === "same") return [sectionOf("inputs", words.same, "Q = K = V = X", matrices)];
  const following = [["query", "q", queryItems, "row"], ["key", "k", items, "column"], ["value", "v", items, "column"]]
    .map(([name, title, rows, chosen]) => followingIn(sheet, name, { title, rows, columns: numbered(vectors[name][0]) }, chosen));
  return [sectionOf("inputs", words.inputs, "", matrices),
    sectionOf("vectors", words.projected, words.projectedNote, h("div", { class: "matrices" }, following))];
}

function editable(sheet, name) {
  const matrix = sheet.first.numbers[name];
  const made = editableTable({ name, title: name, rows: itemsOf(sheet.data, name) ?? numbered(matrix), columns: numbered(matrix[0]),
    label: (row, column) => cellName(sheet, name, row, column), told: (...written) => entered(sheet, name, ...written) });
  sheet.shows.push(() => made.show(sheet.view.state.numbers[name], matrix));
  return made.element;
}

// What was written into a field: taken, or what is wrong with it.
function entered(sheet, name, row, column, text, kept) {
  const { words } = sheet.view, value = writtenNumber(text), field = cellName(sheet, name, row, column);
  if (value === null) return words.wrong(field, text.trim(), String(kept));
  const most = LARGEST.toLocaleString("en");
  if (!isEntry(value)) return words.outside(field, text.trim(), `-${most}`, most, String(kept));
  // No minus before a zero.
  sheet.choose((now) => withNumber(now, name, row, column, value + 0));
  return "";
}

function numbered(values) {
  return values.map((_, i) => String(i + 1));
}
