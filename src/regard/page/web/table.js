// Vectors as rows of a table with named columns, each beside its weight; the chosen row is framed.
import { around, range } from "./answers.js";
import { h, token } from "./dom.js";
import { chosenItem, drawingOf, highest, ownItem, strengthOf } from "./drawing.js";
import { brief, percent } from "./numbers.js";
import { nounOf, wordsOf } from "./words.js";

/** The table; `choose` is called with what changes in the state. */
export function tableView(root, choose) {
  const drawing = drawingOf(root, choose, "table", draw);
  const box = h("div", { class: "rows", tabindex: 0, role: "region", "data-id": "table" });
  drawing.sheet.append(box);
  let made = null;

  return (view) => {
    const { input, items } = view.data, words = wordsOf(view.state.lang), high = highest(view);
    const { from, to } = around(items.length, chosenItem(view)), shown = input.columns.length;
    const head = [nounOf(view.data.noun, view.state.lang), ...(view.weights ? [words.attended] : []), ...input.columns];
    made = range(from, to).map((i) => row(view, i, high));
    const gap = (count) => (count ? [h("tr", { class: "gap" }, h("td", { colspan: head.length }, `… ${count.toLocaleString("en")}`))] : []);
    box.setAttribute("aria-label", words.rows({ rows: items.length, columns: input.width }));
    box.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, head.map((each) => h("th", { scope: "col" }, token(each))))),
      h("tbody", {}, ...gap(from), ...made, ...gap(items.length - to))));
    drawing.show(view, [shown < input.width ? words.columns({ shown, all: input.width }) : ""]);
    made[chosenItem(view) - from]?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  };

  function row(view, i, high) {
    const { input, labels, items } = view.data, own = ownItem(view), { values: { data, shape: [, width] } } = input;
    const element = h("tr", { "data-item": i, class: [i === own ? "own" : "", i === view.key ? "key" : ""].filter(Boolean).join(" "),
      style: { "--weight-value": strengthOf(view, i, high).toFixed(3) }, onclick: () => drawing.pick(i),
      onpointerenter: () => drawing.light(i), onpointerleave: () => drawing.light(null) },
    h("th", { scope: "row" }, h("button", { type: "button", class: "plain", "data-id": `item ${i}`, "aria-pressed": String(i === own) },
      token(items[i]), labels[i] ? h("span", { class: "quiet" }, ` ${labels[i]}`) : null)),
    view.weights ? h("td", { class: "weighed" }, percent(view.weights[i])) : null,
    input.columns.map((_, column) => h("td", {}, brief(data[i * width + column]))));
    return element;
  }

  function draw(view, hovered) {
    for (const each of made ?? []) each.classList.toggle("lit", Number(each.dataset.item) === hovered);
  }
}
