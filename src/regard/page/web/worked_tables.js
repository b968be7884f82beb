// Tables of numbers: some to edit, some that follow, and those of all pairs, in which a pair is chosen or hidden.
import { button, h, headedTable, token } from "./dom.js";
import { arrowOf, isModified } from "./shell.js";
import { figure, writtenNumber } from "./worked_numbers.js";
import { numbersInPrint } from "./worked_typeset.js";

/** A table whose numbers are fields. `told` says what is wrong with what was written, or takes it and says nothing. */
export function editableTable({ name, title, rows, columns, label, told }) {
  const wrong = h("p", { class: "wrong", role: "alert" });
  let shown = null;
  const fields = rows.map((_, row) => columns.map((_, column) => {
    const input = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", "data-id": `${name} ${row} ${column}`,
      "aria-label": label(row, column), onfocus: () => input.select(), onkeydown: (event) => walkFields(event, fields, row, column),
      oninput: () => take(input, row, column, false), onchange: () => take(input, row, column, true) });
    return input;
  }));

  // What is half written, such as a minus sign, isn't wrong before the field is left.
  function take(input, row, column, left) {
    const message = told(row, column, input.value, shown[row][column]);
    const waits = !left && /^[+-]?\d*[.,]?(\d+e[+-]?)?$/i.test(input.value.trim());
    wrong.textContent = message && !waits ? message : "";
    input.toggleAttribute("aria-invalid", Boolean(wrong.textContent) && !left);
    if (left) write(row, column);
  }

  function write(row, column) {
    const input = fields[row][column], value = shown[row][column];
    input.value = String(value);
    input.size = Math.max(3, input.value.length);
    input.removeAttribute("aria-invalid");
  }

  const cells = fields.map((inputs) => inputs.map((input) => h("td", {}, input)));
  const element = framed(title, rows, columns, cells, wrong);
  const show = (values, first) => {
    const before = shown;
    shown = values;
    fields.forEach((inputs, row) => inputs.forEach((input, column) => {
      const value = values[row][column];
      input.classList.toggle("edited", !Object.is(first[row][column], value));
      // What is being written stays as it is written.
      const isWritten = input === document.activeElement && (writtenNumber(input.value) === value || before?.[row][column] === value);
      if (!isWritten) write(row, column);
    }));
  };
  return { element, show };
}

/** A table of numbers that follow from others; `moved` says which of them an edit changed, `chosen` which names are lit. */
export function followingTable({ title, rows, columns }) {
  const cells = rows.map(() => columns.map(() => h("td", {})));
  const element = framed(title, rows, columns, cells);
  return { element, show: (values, moved, chosen) => {
    cells.forEach((each, row) => each.forEach((cell, column) => {
      cell.textContent = textOf(values[row][column]);
      cell.classList.toggle("moved", moved(row, column));
    }));
    light(element, chosen);
  } };
}

/**
 * A table of all pairs of query and key. Each is a button that calls `press`; arrow keys call `move` with the pair that
 * they lead to.
 *
 * It shows `values`, numbers or texts; the `chosen` pair; which pairs are `hidden` and which `moved`; how blue each is, if
 * there is `shade`; and what stands at the end of a row, if it has a name.
 */
export function pairTable({ name, title, rows, columns, end, press, move, label, toggles }) {
  const buttons = rows.map((_, row) => columns.map((_, column) => button(`${name} ${row} ${column}`, "", () => press(row, column),
    { class: "plain", onkeydown: (event) => {
      const by = arrowOf(event);
      if (!by) return;
      event.preventDefault();
      const next = buttons[row + by[0]]?.[column + by[1]];
      if (!next) return;
      move(row + by[0], column + by[1]);
      next.focus();
    } })));
  const ends = end ? rows.map(() => h("td", { class: "end" })) : [];
  const cells = buttons.map((each, row) => [...each.map((button) => h("td", {}, button)), ...(end ? [ends[row]] : [])]);
  const element = framed(title, rows, end ? [...columns, end] : columns, cells);
  return { element, show: ({ values, chosen, hidden, moved, shade, last }) => {
    buttons.forEach((each, row) => each.forEach((button, column) => {
      const value = values[row][column], isChosen = chosen[0] === row && chosen[1] === column, cell = button.parentElement;
      button.textContent = textOf(value);
      button.tabIndex = isChosen ? 0 : -1;
      button.setAttribute("aria-label", label(row, column, button.textContent));
      button.setAttribute("aria-pressed", String(toggles ? hidden(row, column) : isChosen));
      for (const [kind, holds] of [["chosen", isChosen], ["masked", hidden(row, column)], ["moved", moved(row, column)]]) {
        cell.classList.toggle(kind, holds);
      }
      if (shade) cell.style.setProperty("--weight-value", shade(value).toFixed(3));
    }));
    ends.forEach((cell, row) => {
      cell.textContent = textOf(last[row]);
    });
    light(element, chosen);
  } };
}

function textOf(value) {
  return value === null ? "–" : numbersInPrint(typeof value === "string" ? value : figure(value));
}

// The names of the chosen row and column are lit.
function light(element, [row, column]) {
  element.querySelectorAll("thead th").forEach((each, i) => each.classList.toggle("lit", i === column));
  element.querySelectorAll("tbody tr").forEach((each, i) => each.classList.toggle("lit", i === row));
}

function framed(title, rows, columns, cells, ...below) {
  const body = rows.map((each, row) => h("tr", {}, h("th", { scope: "row" }, token(each)), cells[row]));
  const table = headedTable({ class: "figures" }, columns.map((each) => (typeof each === "string" ? token(each) : each)), body, h("caption", {}, title));
  table.querySelector("thead tr").prepend(h("td", {}));
  return h("div", { class: "matrix" }, scrolled(table.caption.textContent, table), below);
}

/** A table in a box of this name, which scrolls where the table is wider. */
export function scrolled(name, table) {
  const box = h("div", { class: "wide", "data-name": name }, table);
  watched.observe(box);
  return box;
}

// A box that scrolls can be reached by keys.
const watched = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth + 1;
    const attributes = { tabindex: 0, role: "group", "aria-label": target.dataset.name };
    for (const [name, value] of Object.entries(attributes)) {
      if (scrolls) target.setAttribute(name, value);
      else target.removeAttribute(name);
    }
  }
});

function walkFields(event, fields, row, column) {
  const by = event.key === "Enter" && !isModified(event) ? [1, 0] : arrowOf(event), { target } = event;
  if (!by || event.shiftKey || event.isComposing) return;
  // Within a number that is being written, left and right move the cursor.
  const { selectionStart: start, selectionEnd: end, value } = target, whole = start === 0 && end === value.length;
  if (by[1] && !whole && !(by[1] < 0 ? end === 0 : start === value.length)) return;
  const next = fields[row + by[0]]?.[column + by[1]];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
