// Vectors as rows of a table with named columns, each beside its weight; the chosen row is framed.
import { around, range } from "./answers.js";
import { button, h, headedTable, token } from "./dom.js";
import { chosenItem, drawingOf, ownItem } from "./drawing.js";
import { chipStyle } from "./map_scale.js";
import { markedKey } from "./marked.js";
import { brief } from "./numbers.js";
import { weightText } from "./view.js";
import { nounOf, weightsName, wordsOf } from "./words.js";

/** The table; `choose` is called with what changes in the state. */
export function tableView(root, choose) {
  const drawing = drawingOf(root, choose, "table", draw);
  const box = h("div", { class: "rows", tabindex: 0, role: "region", "data-id": "table" });
  drawing.sheet.append(box);
  let made = null;

  return (view) => {
    const { input, items } = view.data, words = wordsOf(view.state.lang);
    const { from, to } = around(items.length, chosenItem(view)), shown = input.columns.length;
    const head = [nounOf(view.data.noun, view.state.lang), ...(view.weights ? [weightsName(view, words)] : []), ...input.columns];
    made = range(from, to).map((i) => row(view, i));
    const gap = (count) => (count ? [h("tr", { class: "gap" }, h("td", { colspan: head.length }, `… ${count.toLocaleString("en")}`))] : []);
    box.setAttribute("aria-label", words.rows({ rows: items.length, columns: input.width }));
    box.replaceChildren(headedTable({}, head.map(token), [...gap(from), ...made, ...gap(items.length - to)]));
    drawing.show(view, [shown < input.width ? words.columns({ shown, all: input.width }) : ""]);
    made[chosenItem(view) - from]?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  };

  function row(view, i) {
    const { input, labels, items } = view.data, own = ownItem(view), { values: { data, shape: [, width] } } = input;
    return h("tr", { "data-item": i, class: [i === own ? "own" : "", i === markedKey(view) ? "key" : ""].filter(Boolean).join(" "),
      style: view.weights ? chipStyle(root, view, view.weights[i]) : {}, onclick: () => drawing.pick(i),
      onpointerenter: () => drawing.light(i), onpointerleave: () => drawing.light(null) },
    h("th", { scope: "row" }, button(`item ${i}`, [token(items[i]), labels[i] ? h("span", { class: "quiet" }, ` ${labels[i]}`) : null], null,
      { class: "plain", "aria-pressed": String(i === own) })),
    view.weights ? h("td", { class: "weighed" }, weightText(view, i)) : null,
    input.columns.map((_, column) => h("td", {}, brief(data[i * width + column]))));
  }

  function draw(view, hovered) {
    for (const each of made ?? []) each.classList.toggle("lit", Number(each.dataset.item) === hovered);
  }
}
